package door

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/process"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// Tmux is the last door: it types the pointer into the tmux pane of a session, and presses Enter. It is for clients
// that cannot be woken otherwise, and only for users who asked for it: the client takes typed text for its user's own
// words, which is why the text says that it is not.
//
// The ring succeeded if the text was complete in the client's prompt, Enter was pressed, and the text then left the
// prompt. That does not prove that a model saw it.
//
// It types only into an empty prompt that it recognises. Enter in a dialog approves the request; so in any doubt
// (another program, a shell, copy mode, a dialog, half-typed text, a person at the keyboard, an unknown screen) it
// does not type, and says why. It looks at the screen again before it presses Enter. Typed text that could not be sent
// stays, and the next try of the same ring sends it.
//
// The screen layouts are those of Claude Code, Codex and Gemini CLI as of November 2026 and are undocumented; other
// clients are refused. tmux must be 3.0 or later.
type Tmux struct {
	Sessions *sessions.List
	Binary   string        // default tmux
	Timeout  time.Duration // for the whole ring; default 15 s
	Quiet    time.Duration // how long no one must have typed; default 3 s
}

var _ wake.Waker = (*Tmux)(nil)

// Limits of an exchange with tmux.
const (
	tmuxTimeout = 15 * time.Second
	tmuxQuiet   = 3 * time.Second
	// tmuxSettle is how long a client has to draw typed text. It exceeds the 120 ms after a paste in which Codex takes
	// Enter for a line break.
	tmuxSettle = 300 * time.Millisecond
	// tmuxLooks is how often we check that Enter was taken: for five seconds, which a busy client may need.
	tmuxLooks = 16
)

// Door implements wake.Waker.
func (t *Tmux) Door() string { return "tmux" }

// Ring implements wake.Waker.
func (t *Tmux) Ring(ctx context.Context, r wake.Ring) error {
	if runtime.GOOS == "windows" {
		return fmt.Errorf("there is no tmux on Windows: %w", wake.ErrOff)
	}
	s, err := sessionFor(t.Sessions, &r, "")
	if err != nil {
		return err
	}
	limit := cmp.Or(t.Timeout, tmuxTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := t.pane(&s)
	if err != nil {
		return err
	}
	if err = p.ring(ctx, r.Pointer()); err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("tmux did not finish within %s", limit)
	}
	return err
}

func (t *Tmux) leads(s *sessions.Session) bool {
	return s.Pane != "" && !hasNoTerminal(process.Number(s.Terminal()))
}

// AtSessions implements wake.AtSessions.
func (t *Tmux) AtSessions() {}

// pane is the pane in which a session's client should run.
type pane struct {
	tmux    *Tmux
	server  string // tmux's socket
	number  string // tmux's process
	id      string
	client  string
	program int // the client's process; 0: not known
}

var paneID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^%[0-9]+$`) })

// pane parses the variables that tmux sets for a session: TMUX is socket,process,session.
func (t *Tmux) pane(s *sessions.Session) (*pane, error) {
	parts := strings.Split(s.Tmux, ",")
	if len(parts) < 3 || !paneID().MatchString(s.Pane) {
		return nil, errors.New("the session reported no tmux pane; it does not run in one, or its hooks are old")
	}
	return &pane{
		tmux: t, server: strings.Join(parts[:len(parts)-2], ","), number: parts[len(parts)-2], id: s.Pane,
		client: s.Client, program: process.Number(s.Terminal()),
	}, nil
}

func (p *pane) ring(ctx context.Context, text string) error {
	typed, err := p.look(ctx)
	switch {
	case err != nil:
		return err
	case typed == "":
		if err := p.paste(ctx, text); err != nil {
			return err
		}
	case !sameWords(typed, text):
		return errors.New("the prompt is not empty, so nothing was typed")
	}
	if err := p.drawn(ctx, text); err != nil {
		return fmt.Errorf("the text was typed but not sent: %w", err)
	}
	if _, err := p.run(ctx, "", "send-keys", "-t", p.id, "Enter"); err != nil {
		return err
	}
	for range tmuxLooks {
		if err := settle(ctx); err != nil {
			return err
		}
		screen, err := p.capture(ctx)
		if err != nil {
			return err
		}
		if typed, _, ok := promptOf(p.client, screen); !ok || !sameWords(typed, text) {
			return nil
		}
	}
	return errors.New("the text was typed, but Enter did not send it; it is still in the prompt")
}

// drawn waits until the prompt shows the typed text. A busy client may be slow to draw it, and typing again would
// duplicate it.
func (p *pane) drawn(ctx context.Context, text string) error {
	for {
		typed, err := p.look(ctx)
		if err != nil {
			return err
		}
		if sameWords(typed, text) {
			return nil
		}
		if !strings.HasPrefix(squeeze(text), squeeze(typed)) {
			return errors.New("the prompt shows other text")
		}
		if err := settle(ctx); err != nil {
			return err
		}
	}
}

// paste types a line as one paste, so that no character is taken for a key.
func (p *pane) paste(ctx context.Context, text string) error {
	buffer := "pennypost" + p.id[1:]
	_, err := p.run(ctx, text, "load-buffer", "-b", buffer, "-", ";", "paste-buffer", "-p", "-r", "-d", "-b", buffer,
		"-t", p.id)
	if err != nil {
		return err
	}
	return settle(ctx)
}

func settle(ctx context.Context) error {
	pause.For(ctx, tmuxSettle)
	return ctx.Err()
}

// sameWords compares texts without white space: a prompt may break lines anywhere.
func sameWords(a, b string) bool { return squeeze(a) == squeeze(b) }

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// look returns the text in the client's prompt, if it is safe to type there.
func (p *pane) look(ctx context.Context) (typed string, err error) {
	f, err := p.ask(ctx, "#{session_activity}", "#{pane_in_mode}", "#{pane_input_off}", "#{pane_synchronized}",
		"#{pane_tty}", "#{pane_current_command}") // the last may contain spaces
	if err == nil {
		err = p.check(f)
	}
	if err != nil {
		return "", err
	}
	screen, err := p.capture(ctx)
	if err != nil {
		return "", err
	}
	return p.read(screen)
}

// ask returns tmux's facts about the pane, by formats. An error says that it is no longer the pane that the session
// named.
func (p *pane) ask(ctx context.Context, formats ...string) ([]string, error) {
	out, err := p.run(ctx, "", "display-message", "-p", "-t", p.id,
		"#{pane_id} #{pid} #{pane_dead} "+strings.Join(formats, " "))
	f := strings.SplitN(strings.TrimRight(out, "\n"), " ", 3+len(formats))
	switch {
	case err != nil:
		return nil, err
	case len(f) < 3+len(formats) || f[0] != p.id:
		return nil, errors.New("the pane is gone")
	case f[1] != p.number:
		return nil, errors.New("tmux was restarted since, so the pane is a different one")
	case f[2] != "0":
		return nil, errors.New("the program in the pane has ended")
	}
	return f[3:], nil
}

// check rejects panes that do not pass on typed text, or in which another program runs.
func (p *pane) check(f []string) error {
	activity, err := strconv.ParseInt(f[0], 10, 64)
	quiet := cmp.Or(p.tmux.Quiet, tmuxQuiet)
	command := f[5]
	switch {
	case f[1] != "0":
		return errors.New("the pane is in copy mode")
	case f[2] != "0", f[3] != "0":
		return errors.New("the pane accepts no input, or shares it with others")
	case err != nil || time.Since(time.Unix(activity, 0)) < quiet:
		return errors.New("the keyboard is in use")
	case isShell(command):
		return fmt.Errorf("a shell (%s) runs in the pane, not the client", child.Plain(command))
	}
	if p.program > 0 && hasNoTerminal(p.program) {
		return errors.New(
			"the session runs in a server that several terminals share, and its own terminal is not known")
	}
	front, known := inForeground(p.program, f[4])
	if known && !front || !known && command != p.client {
		return fmt.Errorf("another program (%s) runs in the pane, not the client of the session", child.Plain(command))
	}
	return nil
}

func isShell(command string) bool {
	return slices.Contains([]string{"sh", "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh",
		"tcsh", "xonsh", "zsh", "su", "sudo", "ssh", "mosh-client", "tmux"},
		strings.TrimPrefix(command, "-"))
}

// read returns the text in the prompt of a screen, unless the screen shows something other than a prompt.
func (p *pane) read(screen []line) (string, error) {
	typed, live, ok := promptOf(p.client, screen)
	if what := dialog(p.client, live); what != "" {
		return "", fmt.Errorf("the screen shows %q: a dialog, or a turn", what)
	}
	if !ok {
		return "", fmt.Errorf("no prompt of %s is recognised on the screen", child.Plain(p.client))
	}
	return typed, nil
}

func (p *pane) capture(ctx context.Context) ([]line, error) {
	out, err := p.run(ctx, "", "capture-pane", "-p", "-e", "-t", p.id)
	return parseScreen(out), err
}

// run runs a tmux command. With -u it does not replace non-ASCII characters.
func (p *pane) run(ctx context.Context, input string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, cmp.Or(p.tmux.Binary, "tmux"), append([]string{"-u", "-S", p.server}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	cmd.WaitDelay = child.DrainTime
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("tmux is not installed")
	}
	return "", child.WithOutput(fmt.Errorf("tmux %s: %w", args[0], err), strings.TrimSpace(errs.String()))
}
