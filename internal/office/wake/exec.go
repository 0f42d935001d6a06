package wake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Exec is a door that is a command. It was rung if the command ended with status 0 within its time.
//
// The command is run without a shell. Each {room}, {agent}, {role}, {unread} and {urgent} in Argv is replaced; the
// same stands in the variables PENNYPOST_ROOM, PENNYPOST_AGENT, PENNYPOST_ROLE, PENNYPOST_UNREAD and PENNYPOST_URGENT,
// and the whole Ring, as JSON, on its standard input. What it leaves running must not keep its output open: that is
// closed when the command has ended.
//
// With Gone the command is one that resumes the agent's latest session: {session} is the client's id of that, and it
// runs in the session's directory. It is run only if the room holds the agent for gone and the session's program is
// known to have ended, because two programs in one session spoil its transcript. Nothing is proven of sessions from
// before the post office started.
type Exec struct {
	Argv    []string
	Env     []string      // NAME=value, under the variables of the ring
	Dir     string        // where it runs
	Home    string        // PENNYPOST_HOME
	Timeout time.Duration // then it is killed with all that it started in its process group; default 30 s
	Log     *slog.Logger  // default: discard

	Gone     bool
	Sessions *Sessions // with Gone
}

// Bounds of a command.
const (
	defaultTimeout = 30 * time.Second
	maxOutput      = 4 << 10         // bytes that are kept of what it writes
	drainTime      = 2 * time.Second // for what it wrote last to arrive
	maxAnswer      = 200             // characters of a door's own words
)

var _ Waker = (*Exec)(nil)

// Door implements Waker.
func (x *Exec) Door() string { return "exec" }

// Ring implements Waker.
func (x *Exec) Ring(ctx context.Context, r Ring) error {
	session, err := x.session(&r)
	if err != nil {
		return err
	}
	argv, err := fill(x.Argv, &r, session.ID)
	if err != nil {
		return err
	}
	input, err := jsonx.Marshal(&r)
	if err != nil {
		return err
	}
	limit := timeout(x.Timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out bounded
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = cmp.Or(session.Dir, x.Dir), append(append([]string{}, x.Env...), x.variables(&r)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(input, '\n')), &out, &out
	cmd.WaitDelay = drainTime
	ownGroup(cmd)
	err = cmd.Run()
	if x.Log != nil {
		x.Log.Debug("wake command ended", "command", argv[0], "agent", r.Agent, "err", err, "output", out.text())
	}
	return explain(ctx, err, limit, out.text())
}

// session returns what is to be resumed; the zero value if nothing is.
func (x *Exec) session(r *Ring) (Session, error) {
	if !x.Gone {
		return Session{}, nil
	}
	s, known, gone := x.Sessions.Gone(r.Room, r.Agent)
	switch {
	case !known:
		return Session{}, errors.New(
			"was not run: no session of the agent has been heard of since the post office started")
	case r.State != mail.Gone || !gone:
		return Session{}, errors.New(
			"was not run: the agent's session is not known to have ended, and a live one is not resumed")
	}
	return s, nil
}

func timeout(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultTimeout
	}
	return d
}

// explain says what became of a command in words for the user.
func explain(ctx context.Context, err error, limit time.Duration, output string) error {
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well; something that it started holds its output
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return withOutput(fmt.Errorf("was killed because it had not ended after %s", limit), output)
	case exited:
		return withOutput(errors.New(exit.ProcessState.String()), output)
	}
	return fmt.Errorf("could not be run: %w", err)
}

// withOutput adds the last line of what a command wrote, which is where commands say what is wrong.
func withOutput(err error, output string) error {
	if last := output[strings.LastIndexByte(output, '\n')+1:]; last != "" {
		return fmt.Errorf("%w: %s", err, plain(last))
	}
	return err
}

// plain makes foreign text fit for one line of a notice.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	if long := []rune(s); len(long) > maxAnswer {
		return string(long[:maxAnswer]) + "…"
	}
	return s
}

func (x *Exec) variables(r *Ring) []string {
	return []string{
		"PENNYPOST_HOME=" + x.Home, "PENNYPOST_ROOM=" + string(r.Room), "PENNYPOST_AGENT=" + string(r.Agent),
		"PENNYPOST_ROLE=" + r.Role,
		"PENNYPOST_UNREAD=" + strconv.Itoa(r.Unread), "PENNYPOST_URGENT=" + strconv.Itoa(r.Urgent),
	}
}

// fill replaces the names in braces. Agents choose their names, so a name must not become an option of the command.
func fill(argv []string, r *Ring, session string) ([]string, error) {
	names := strings.NewReplacer("{room}", string(r.Room), "{agent}", string(r.Agent), "{role}", r.Role,
		"{unread}", strconv.Itoa(r.Unread), "{urgent}", strconv.Itoa(r.Urgent), "{session}", session)
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = names.Replace(arg)
		if i > 0 && strings.HasPrefix(out[i], "-") && !strings.HasPrefix(arg, "-") {
			return nil,
				fmt.Errorf("was not run: %q would be read as an option; let the command take the name from "+
					"PENNYPOST_AGENT", out[i])
		}
	}
	return out, nil
}

// bounded keeps the end of what is written to it.
type bounded struct{ tail []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.tail = append(b.tail, p...)
	if n := len(b.tail) - maxOutput; n > 0 {
		b.tail = append([]byte{}, b.tail[n:]...)
	}
	return len(p), nil
}

func (b *bounded) text() string { return strings.TrimSpace(string(b.tail)) }
