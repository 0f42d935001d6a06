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

// Desktop shows notifications on the desktop of this machine: through notify-send, which speaks the protocol of
// freedesktop.org, or on macOS through terminal-notifier or osascript. A click opens the letter, where notify-send
// (0.8 or later) can wait for it.
type Desktop struct {
	Env    []string // NAME=value
	System string   // as runtime.GOOS; "": that of this program

	offers  sync.Once
	actions bool // notify-send can wait for a click

	open    sync.WaitGroup // who waits for clicks
	mu      sync.Mutex
	waiting []context.CancelFunc // of these, the oldest first
}

var _ Channel = (*Desktop)(nil)

const (
	desktopTime = 28 * time.Second // for a notification to be shown: who is to show it is asked for 25 s
	clickTime   = 12 * time.Hour   // a process waits so long for a click
	maxClicks   = 5                // processes that wait
)

// Send implements Channel.
func (d *Desktop) Send(ctx context.Context, n *Note) (string, error) {
	switch cmp.Or(d.System, runtime.GOOS) {
	case "darwin":
		return d.mac(ctx, n)
	case "windows":
		return "", errors.New("the desktop of Windows is not supported; use [notify.command] with a program of yours")
	}
	return d.freedesktop(ctx, n)
}

// Wait waits for those who wait for clicks, whose contexts have ended.
func (d *Desktop) Wait() { d.open.Wait() }

func (d *Desktop) mac(ctx context.Context, n *Note) (string, error) {
	if _, err := exec.LookPath("terminal-notifier"); err == nil {
		argv := []string{"terminal-notifier", "-title", safe(n.Subject), "-message", safe(n.Text), "-group", n.ID}
		if n.URL != "" {
			argv = append(argv, "-open", n.URL)
		}
		return d.run(ctx, argv)
	}
	// The words are arguments, and no part of the script.
	return d.run(ctx, []string{"osascript", "-e", "on run argv",
		"-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--",
		n.Subject, n.Text})
}

// safe keeps terminal-notifier from taking words for an option, or for a list.
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
	return argv[0] + " ended well", nil
}

func (d *Desktop) freedesktop(ctx context.Context, n *Note) (string, error) {
	if _, err := exec.LookPath("notify-send"); err != nil {
		return "", errors.New("notify-send is not installed; on Debian it comes with: apt install libnotify-bin")
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
	// The text is read as markup; the summary is not.
	markup := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	argv = append(argv, "--", n.Subject, markup.Replace(n.Text))
	if !clicks {
		return d.run(ctx, argv)
	}
	return d.clickable(ctx, argv, n.Open)
}

// clickable shows a notification and leaves a process behind that waits for the click. That tells nothing while it
// waits, but it ends soon if the notification cannot be shown.
func (d *Desktop) clickable(ctx context.Context, argv []string, open func()) (string, error) {
	waits, cancel := context.WithTimeout(ctx, clickTime)
	cmd := exec.CommandContext(waits, argv[0], argv[1:]...)
	var out, errs child.Tail
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d.Env, &out, &errs, child.DrainTime
	child.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		cancel()
		return "", fmt.Errorf("notify-send could not be run: %w", err)
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
		return "shown, and closed", nil
	case <-time.After(desktopTime):
	case <-ctx.Done(): // the post office closes; the notification stays
	}
	d.keep(cancel)
	return "shown", nil
}

// keep has a process wait for a click, and ends the oldest of too many.
func (d *Desktop) keep(cancel context.CancelFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting = append(d.waiting, cancel); len(d.waiting) > maxClicks {
		d.waiting[0]()
		d.waiting = d.waiting[1:]
	}
}

// openPages has the browser of this desktop show a letter or, of several, the inbox of the first.
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
