package door

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/process"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// ClaudeSocket is the inbox socket of a Claude Code session: a working session is shown a message from it between two
// tool calls, and an idle session begins a turn with it. It never counts as the user's word.
//
// The ring succeeded if the socket took the whole message and did not reject it immediately. That proves nothing more:
// the session never replies, so the mail is not "presented", and the session may still drop the message, or hold it
// until the user agrees. The agent's next turn, or its reading, is the proof.
//
// The message names its sender, but gives no address, because nothing listens there; and it claims no class of
// permissions, because that is not ours to claim. A session that bypasses permission prompts holds a message without
// such a claim behind a dialog that takes over its screen (seen in 2.1.330), unless its user has set
// crossSessionInbound to "accept", which is looked up in the user's own settings. Otherwise this door refuses, and the
// next one is tried.
//
// The socket, its variables and its access rules are documented (code.claude.com, cross-session messaging, from
// 2.1.224 on). The message format is not: ours worked in 2.1.226 to 2.1.268, and the types of 2.1.329 do not
// contradict it. So only versions from 2.1.224 on and below Below are rung. A session with a socket but an unknown
// version is assumed to be one of them. Windows has named pipes instead, which are not supported.
type ClaudeSocket struct {
	Sessions *sessions.List
	// Config is Claude Code's own directory, which has a session's version and the user's settings; "": not used.
	Config  string
	Below   string        // the first version that is not rung; default 2.2.0
	Timeout time.Duration // for the socket to take the message; default 5 s. The session waits 30 s for a line
}

var _ wake.Waker = (*ClaudeSocket)(nil)

const (
	claudeTimeout = 5 * time.Second
	// claudeLinger is how long the connection stays open after the message: a session was seen to lose it if the
	// connection closes immediately.
	claudeLinger = 150 * time.Millisecond
)

// Door implements wake.Waker.
func (c *ClaudeSocket) Door() string { return "claude-socket" }

// Ring implements wake.Waker.
func (c *ClaudeSocket) Ring(ctx context.Context, r wake.Ring) error {
	s, err := sessionFor(c.Sessions, &r, "claude")
	if err != nil {
		return err
	}
	if c.Holds(&s) {
		return errors.New(
			"the session can bypass permission prompts, and would ask its user before it accepts the message; " +
				`to accept messages, add "crossSessionInbound": "accept" to settings.json of Claude Code`)
	}
	return c.Post(ctx, &s, r.ID, r.Pointer())
}

// leads reports whether the session takes messages without asking its user.
func (c *ClaudeSocket) leads(s *sessions.Session) bool {
	return s.Client == "claude" && !s.Over && !s.Socket.None() && !s.Held
}

// Post writes to the socket of a session as Ring does, but in any permission mode. Sessions that bypass permission
// prompts accept messages from processes that they started, such as their hooks.
func (c *ClaudeSocket) Post(ctx context.Context, s *sessions.Session, id, text string) error {
	path := s.Socket.Reveal()
	switch {
	case path == "":
		return errors.New("the session reported no socket; Claude Code has one from 2.1.224 on, if it can fetch " +
			"its feature flags")
	case strings.HasPrefix(path, `\\`):
		return fmt.Errorf("named pipes of Windows are not supported: %w", wake.ErrOff)
	case !filepath.IsAbs(path):
		return errors.New("the session reported a socket without a full path")
	}
	if err := c.checkVersion(s); err != nil {
		return err
	}
	frame, err := claudeFrame(id, text, s.Token.Reveal())
	if err != nil {
		return err
	}
	limit := cmp.Or(c.Timeout, claudeTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return socketError(post(ctx, path, frame), limit)
}

// claudeFrame returns the bytes to write: our credentials, if we have any, and the message.
func claudeFrame(id, text, token string) ([]byte, error) {
	var m claudeMessage
	m.MsgV, m.MsgID, m.Type, m.Priority = 1, ringUUID(id), "user", "next"
	m.Message.Role, m.Message.Content = "user", crossSession(text)
	line, err := jsonx.Marshal(&m)
	if err != nil || token == "" {
		return append(line, '\n'), err
	}
	auth, err := jsonx.Marshal(&claudeAuth{Type: "auth", Token: token})
	return bytes.Join([][]byte{auth, line, nil}, []byte{'\n'}), err
}

type claudeAuth struct {
	Type  string `json:"type"`
	Token string `json:"token"`
}

type claudeMessage struct {
	MsgV    int    `json:"msgV"`
	MsgID   string `json:"msg_id"`
	Type    string `json:"type"`
	Message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"message"`
	Priority string `json:"priority"`
}

// crossSession puts a text into the envelope of messages between sessions. The reader writes the parsed envelope again
// and trusts the attributes only if the result is identical, so the format must not vary. No closing tag passes,
// whatever its name.
func crossSession(text string) string {
	return "<cross-session-message from-name=\"pennypost\">\n" + strings.ReplaceAll(text, "</", `<\/`) +
		"\n</cross-session-message>"
}

// ringUUID returns an id in the form of a random UUID that depends only on the ring, so that a retry is the same
// message.
func ringUUID(id string) string {
	sum := sha256.Sum256([]byte(id))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// post writes to a Unix socket and waits a moment for a rejection.
func post(ctx context.Context, path string, frame []byte) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(frame); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	end := time.Now().Add(claudeLinger)
	for {
		// No reply is expected. Reading reveals a reset: the session closed the connection with the message unread.
		_ = conn.SetReadDeadline(end)
		switch _, err := conn.Read(make([]byte, 1<<10)); {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
			if half, ok := conn.(*net.UnixConn); ok {
				_ = half.CloseWrite()
			}
			return nil
		default:
			return err
		}
	}
}

// socketError describes an error for the user, without the path, because anyone who knows the path can write there.
func socketError(err error, limit time.Duration) error {
	inner := err
	if op, ok := errors.AsType[*net.OpError](err); ok {
		inner = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](inner); ok {
		inner = call.Err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the session's socket is gone; the session has ended or was restarted")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("the session no longer listens at its socket")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.New("the session closed the connection before it read the message")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the session did not accept the message within %s", limit)
	}
	return fmt.Errorf("the session's socket cannot be reached: %w", inner)
}

// checkVersion rejects sessions of versions known to be unsupported.
func (c *ClaudeSocket) checkVersion(s *sessions.Session) error {
	text := s.Version
	if text == "" {
		notes, _ := c.notes(s)
		text = notes.Version
	}
	if text == "" {
		return nil
	}
	return c.Understood(text)
}

// Understood returns why sessions of a version of Claude Code, as printed by claude --version, are not rung; nil if
// they are.
func (c *ClaudeSocket) Understood(text string) error {
	first, end := version{2, 1, 224}, version{2, 2, 0} // the socket is supported from first on, below end
	if below, ok := parseVersion(c.Below); ok {
		end = below
	}
	v, ok := parseVersion(text)
	switch {
	case !ok:
		return fmt.Errorf("the session reported an invalid version %q", child.Plain(text))
	case v.less(first):
		return fmt.Errorf("the session is Claude Code %s, which has no inbox; %s is the first with one", v, first)
	case !v.less(end):
		return fmt.Errorf("the session is Claude Code %s, but this Pennypost supports only versions below %s; "+
			"update Pennypost, or try it with claude_below in the configuration", v, end)
	}
	return nil
}

// Holds reports whether a session asks its user before it accepts a message, or may do so: hooks do not know the
// permission mode before the first prompt.
func (c *ClaudeSocket) Holds(s *sessions.Session) bool {
	if s.Client != "claude" || s.Socket.None() || s.Mode != "" && s.Mode != bypass || c.accepts() {
		return false
	}
	return s.Mode == bypass || c.mayBypass(s)
}

// bypass is the permission mode without prompts.
const bypass = "bypassPermissions"

// mayBypass reports whether a session of unknown mode may have started in that mode, according to its command line and
// the settings. If the command line cannot be read, it may.
func (c *ClaudeSocket) mayBypass(s *sessions.Session) bool {
	words := process.Args(s.Process)
	if len(words) == 0 {
		return true
	}
	for _, w := range words {
		if w == bypass || strings.HasSuffix(w, "dangerously-skip-permissions") || strings.HasSuffix(w, "="+bypass) ||
			strings.HasPrefix(w, "--settings") {
			return true
		}
	}
	project := filepath.Join(s.Dir, ".claude")
	for _, path := range []string{filepath.Join(c.Config, "settings.json"), filepath.Join(project, "settings.json"),
		filepath.Join(project, "settings.local.json")} {
		var settings struct {
			Permissions struct {
				Mode string `json:"defaultMode"`
			} `json:"permissions"`
		}
		if readJSON(&settings, path) && settings.Permissions.Mode == bypass {
			return true
		}
	}
	return false
}

// accepts reports whether the user's own settings accept messages of any class of permissions.
func (c *ClaudeSocket) accepts() bool {
	var settings struct {
		Inbound string `json:"crossSessionInbound"`
	}
	return c.read(&settings, "settings.json") && settings.Inbound == "accept"
}

// maxRead exceeds the size of the Claude Code files that we read.
const maxRead = 1 << 20

// read reads a file of Claude Code's own directory.
func (c *ClaudeSocket) read(into any, path ...string) bool {
	return c.Config != "" && readJSON(into, filepath.Join(c.Config, filepath.Join(path...)))
}

func readJSON(into any, path string) bool {
	f, err := durable.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRead))
	return err == nil && jsonx.UnmarshalLenient(text, into) == nil
}

// version is a version number of three parts.
type version [3]int

// parseVersion parses the three numbers and ignores the rest.
func parseVersion(s string) (version, bool) {
	var v version
	s, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "v"), " ")
	s, _, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

func (v version) less(w version) bool { return slices.Compare(v[:], w[:]) < 0 }

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }
