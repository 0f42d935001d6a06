package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/mail"
)

// Desktop shows notifications on this machine's desktop: through notify-send, which uses freedesktop.org's protocol,
// or on macOS through terminal-notifier or osascript. A click opens the letter if notify-send (0.8 or later) can
// wait for it.
type Desktop struct {
	Env    []string // NAME=value
	System string   // as runtime.GOOS; "": this program's

	offers  sync.Once
	actions bool // notify-send can wait for a click

	open    sync.WaitGroup // processes waiting for clicks
	mu      sync.Mutex
	waiting []context.CancelFunc // cancels these, oldest first
}

var _ Channel = (*Desktop)(nil)

const (
	desktopTime = 28 * time.Second // for showing a notification: D-Bus waits 25 s for the daemon
	clickTime   = 12 * time.Hour   // how long a process waits for a click
	maxClicks   = 5                // waiting processes
)

func (d *Desktop) Send(ctx context.Context, n *Note) (string, error) {
	switch cmp.Or(d.System, runtime.GOOS) {
	case "darwin":
		return d.mac(ctx, n)
	case "windows":
		return "", errors.New("the Windows desktop is not supported; use [notify.command] with your own program")
	}
	return d.freedesktop(ctx, n)
}

// Wait waits for the processes that wait for clicks, whose contexts have ended.
func (d *Desktop) Wait() { d.open.Wait() }

func (d *Desktop) mac(ctx context.Context, n *Note) (string, error) {
	if _, err := exec.LookPath("terminal-notifier"); err == nil {
		argv := []string{"terminal-notifier", "-title", safe(n.Subject), "-message", safe(n.Text), "-group", n.ID}
		if n.URL != "" {
			argv = append(argv, "-open", n.URL)
		}
		return d.run(ctx, argv)
	}
	// The texts are arguments, not part of the script.
	return d.run(ctx, []string{"osascript", "-e", "on run argv",
		"-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--",
		n.Subject, n.Text})
}

// safe keeps terminal-notifier from reading a text as an option or a list.
func safe(s string) string {
	if s != "" && strings.ContainsRune("-[({<\"", rune(s[0])) {
		return "\\" + s
	}
	return s
}

func (d *Desktop) run(ctx context.Context, argv []string) (string, error) {
	cmd := child.Command{Argv: argv, Env: d.Env, Timeout: desktopTime}
	if _, err := cmd.Run(ctx); err != nil {
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	return argv[0] + " succeeded", nil
}

func (d *Desktop) freedesktop(ctx context.Context, n *Note) (string, error) {
	if _, err := exec.LookPath("notify-send"); err != nil {
		return "", errors.New("notify-send is not installed; on Debian: apt install libnotify-bin")
	}
	d.offers.Do(func() {
		cmd := child.Command{Argv: []string{"notify-send", "--help"}, Env: d.Env, Timeout: desktopTime}
		help, err := cmd.Run(ctx)
		d.actions = err == nil && strings.Contains(help, "--action")
	})
	argv := []string{"notify-send", "--app-name=Pennypost", "--icon=mail-unread", "--category=im.received"}
	if n.Urgent {
		argv = append(argv, "--urgency=critical")
	}
	clicks := d.actions && n.Open != nil
	if clicks {
		argv = append(argv, "--action=default=Open")
	}
	// The text is parsed as markup; the summary is not.
	markup := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	argv = append(argv, "--", n.Subject, markup.Replace(n.Text))
	if !clicks {
		return d.run(ctx, argv)
	}
	return d.clickable(ctx, argv, n.Open)
}

// clickable shows a notification and leaves a process that waits for the click. The process prints nothing while it
// waits, but ends soon if the notification cannot be shown.
func (d *Desktop) clickable(ctx context.Context, argv []string, open func()) (string, error) {
	waits, cancel := context.WithTimeout(ctx, clickTime)
	cmd := exec.CommandContext(waits, argv[0], argv[1:]...)
	var out, errs child.Tail
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d.Env, &out, &errs, child.DrainTime
	child.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		cancel()
		return "", fmt.Errorf("cannot run notify-send: %w", err)
	}
	ended := make(chan error, 1)
	d.open.Go(func() {
		defer cancel()
		err := cmd.Wait()
		if err == nil && out.Text() == "default" {
			open()
		}
		ended <- child.Explain(waits, err, clickTime, errs.Text())
	})
	select {
	case err := <-ended:
		if err != nil {
			return "", fmt.Errorf("notify-send: %w", err)
		}
		return "shown and closed", nil
	case <-time.After(desktopTime):
	case <-ctx.Done(): // the post office stops; the notification stays
	}
	d.keep(cancel)
	return "shown", nil
}

// keep adds a process that waits for a click, and ends the oldest of too many.
func (d *Desktop) keep(cancel context.CancelFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting = append(d.waiting, cancel); len(d.waiting) > maxClicks {
		d.waiting[0]()
		d.waiting = d.waiting[1:]
	}
}

// openPages opens a letter in this desktop's browser or, for several letters, the inbox of the first one's room.
func openPages(login func(mail.RoomName, mail.ID) (string, error), letters []Letter) error {
	id := letters[0].ID
	if len(letters) > 1 {
		id = ""
	}
	link, err := login(letters[0].Room, id)
	if err != nil {
		return err
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := child.Command{Argv: []string{program, link}, Env: os.Environ()}
	_, err = cmd.Run(context.Background())
	return err
}
