package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake/sessions"
)

// Front shows a live session to the person who asks for it. It types nothing and marks nothing.
//
//   - A session in a tmux pane: the most recently used client of that tmux switches to the pane, and the terminal of
//     that client is brought to the front. If it has no open client, or the person asks from a terminal outside tmux,
//     a client must be started there: Attach says how.
//   - A session in a terminal of its own: kitty (kitten @ focus-window, if it listens), WezTerm (wezterm cli
//     activate-pane), and on macOS iTerm2 and Terminal, which find it by its device.
//
// Only Linux reveals the environment of a program, and so its terminal; the macOS part is untested.
type Front struct {
	Sessions *sessions.List
	Binary   string        // the tmux program; default tmux
	Timeout  time.Duration // for the whole request; default 5 s
}

const frontTimeout = 5 * time.Second

// From says from where the person asks.
type From struct {
	Terminal bool   // from a terminal, which can show the session
	Tmux     string // the variable TMUX there
}

// Shown is the result.
type Shown struct {
	Client, ID, Dir string // of the session, according to its hooks; it may be over
	Live            bool
	Front           bool     // the person sees it now
	Where           string   // a description of where it is
	Attach          []string // the command that shows it in a terminal; nil: none
	Why             error    // why nothing was brought to the front
}

// Bring brings the session of an agent to the front.
func (f *Front) Bring(ctx context.Context, room mail.RoomName, agent mail.Name, from From) Shown {
	s, live := f.Sessions.Get(room, agent)
	if !live {
		s = f.Sessions.Look(room, agent)
		return Shown{Client: s.Client, ID: s.ID, Dir: s.Dir, Why: errors.New("no live session of it is known")}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.Timeout, frontTimeout))
	defer cancel()
	out := Shown{Client: s.Client, ID: s.ID, Dir: s.Dir, Live: true}
	if s.Pane != "" && runtime.GOOS != "windows" {
		out.Where, out.Attach, out.Why = f.pane(ctx, &s, from)
	} else {
		out.Where, out.Why = raise(ctx, process.Number(s.Terminal()))
	}
	out.Front = out.Why == nil && out.Attach == nil
	return out
}

// pane shows the pane of a session. If no client can, attach is the command that starts one.
func (f *Front) pane(ctx context.Context, s *sessions.Session, from From) (where string, attach []string, err error) {
	p, err := (&Tmux{Sessions: f.Sessions, Binary: f.Binary}).pane(s)
	if err != nil {
		return "", nil, err
	}
	session, err := p.stands(ctx)
	if err != nil {
		return "", nil, err
	}
	where = "pane " + p.id + " of tmux session " + child.Plain(session)
	socket, _, _ := strings.Cut(from.Tmux, ",")
	name, pid, err := p.lastClient(ctx)
	if err != nil {
		return "", nil, err
	}
	if from.Terminal && from.Tmux == "" || name == "" {
		// the new client then shows the pane first
		_, err = p.run(ctx, "", "select-window", "-t", p.id, ";", "select-pane", "-t", p.id)
		return where, []string{cmp.Or(f.Binary, "tmux"), "-S", p.server, "attach-session", "-t", p.id}, err
	}
	if _, err = p.run(ctx, "", "switch-client", "-c", name, "-t", p.id); err != nil {
		return "", nil, err
	}
	if socket != p.server { // otherwise it is where the person types
		if terminal, err := raise(ctx, pid); err == nil {
			where += ", in " + terminal
		}
	}
	return where, nil, nil
}

// stands checks that the pane is still the session's, and returns its tmux session.
func (p *pane) stands(ctx context.Context) (session string, err error) {
	f, err := p.ask(ctx, "#{pane_tty}", "#{session_name}")
	if err != nil {
		return "", err
	}
	if there, known := onTerminal(p.program, f[0]); known && !there {
		return "", errors.New("the tmux pane that it reported is not its own: it runs elsewhere")
	}
	return f[1], nil
}

// lastClient returns the tmux client that was used last, and its process; "" if none is open.
func (p *pane) lastClient(ctx context.Context) (name string, pid int, err error) {
	out, err := p.run(ctx, "", "list-clients", "-F", "#{client_activity} #{client_pid} #{client_name}")
	if err != nil {
		return "", 0, err
	}
	last := int64(-1)
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", 3)
		if len(f) < 3 {
			continue
		}
		if at, err := strconv.ParseInt(f[0], 10, 64); err == nil && at > last {
			last, name = at, f[2]
			pid, _ = strconv.Atoi(f[1])
		}
	}
	return name, pid, nil
}

// raise brings the terminal window of a program to the front, and returns its description.
func raise(ctx context.Context, pid int) (where string, err error) {
	if pid <= 0 {
		return "", errors.New("its program and terminal are not known")
	}
	environ := process.Environ(pid)
	env := func(name string) string { return config.Getenv(environ, name) }
	if id, at := env("KITTY_WINDOW_ID"), env("KITTY_LISTEN_ON"); number(id) && at != "" {
		return "window " + id + " of kitty", control(ctx, nil, "kitten", "@", "--to", at, "focus-window", "--match",
			"id:"+id)
	}
	if id, at := env("WEZTERM_PANE"), env("WEZTERM_UNIX_SOCKET"); number(id) && at != "" {
		return "pane " + id + " of WezTerm", control(ctx, []string{"WEZTERM_UNIX_SOCKET=" + at}, "wezterm", "cli",
			"activate-pane", "--pane-id", id)
	}
	if runtime.GOOS == "darwin" {
		return raiseByDevice(ctx, pid)
	}
	return "",
		errors.New("its terminal cannot be controlled; kitty with listen_on, WezTerm and tmux can")
}

// number reports whether an id is a plain number: the environment is not to be trusted.
func number(id string) bool {
	_, err := strconv.ParseUint(id, 10, 32)
	return err == nil
}

// raiseByDevice looks for the program's device among the terminals of macOS.
func raiseByDevice(ctx context.Context, pid int) (where string, err error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "tty=", "-p", strconv.Itoa(pid)).Output()
	tty := "/dev/" + strings.TrimSpace(string(out))
	if err != nil || !strings.HasPrefix(tty, "/dev/tty") {
		return "", errors.New("it runs in no terminal")
	}
	out, err = exec.CommandContext(ctx, "osascript", "-e", appleScript, tty).Output()
	if where = strings.TrimSpace(string(out)); err != nil || where == "" {
		return "", errors.New("neither iTerm2 nor Terminal has its terminal, or Automation is not allowed (System " +
			"Settings, Privacy & Security)")
	}
	return where, nil
}

// appleScript selects the tab with a device. It asks a program only if it is running, because asking would start it.
const appleScript = `on run {device}
if application "iTerm2" is running then
tell application "iTerm2"
repeat with w in windows
repeat with t in tabs of w
repeat with s in sessions of t
if tty of s is device then
select w
tell t to select
tell s to select
activate
return "iTerm2"
end if
end repeat
end repeat
end repeat
end tell
end if
if application "Terminal" is running then
tell application "Terminal"
repeat with w in windows
repeat with t in tabs of w
if tty of t is device then
set selected of t to true
set index of w to 1
activate
return "Terminal"
end if
end repeat
end repeat
end tell
end if
return ""
end run`

// control runs the program that controls a terminal.
func control(ctx context.Context, environ []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.WaitDelay = child.DrainTime
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("its terminal is controlled by %s, which is not installed", program)
	} else if err != nil {
		return child.WithOutput(fmt.Errorf("%s: %w", program, err), strings.TrimSpace(string(out)))
	}
	return nil
}
