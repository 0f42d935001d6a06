//go:build linux

package notify

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is a desktop without a screen: an X server, a bus and a notification daemon.
type screen struct {
	env []string
	mu  sync.Mutex
	bus bytes.Buffer // the traffic on the bus
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bus.Write(p)
}

func (s *screen) heard(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.bus.String(), what)
}

// background starts a program and, with line, returns the first line of its output.
func (s *screen) background(t *testing.T, line bool, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = s.env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if !line {
		return ""
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(first)
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	for _, program := range []string{"notify-send", "dunst", "Xvfb", "dbus-daemon", "dbus-monitor"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not here; on Debian: apt install libnotify-bin dunst xvfb dbus", program)
		}
	}
	s := &screen{env: append(os.Environ(), "HOME="+t.TempDir())}
	s.env = append(s.env, "DISPLAY=:"+s.background(t, true, "Xvfb", "-displayfd", "1"))
	conf := filepath.Join(t.TempDir(), "bus.conf") // without services that start by themselves
	if err := os.WriteFile(conf, []byte(`<busconfig><type>session</type><listen>unix:dir=`+os.TempDir()+`</listen>
		<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
		<allow own="*"/></policy></busconfig>`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "DBUS_SESSION_BUS_ADDRESS="+s.background(t, true, "dbus-daemon", "--config-file="+conf,
		"--nofork", "--nopidfile", "--print-address=1"))
	monitor := exec.Command("dbus-monitor", "interface='org.freedesktop.Notifications'")
	monitor.Env, monitor.Stdout = s.env, s
	if err := monitor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = monitor.Process.Kill(); _ = monitor.Wait() })
	return s
}

// dunst sends a command to the notification daemon.
func (s *screen) dunst(what string, args ...string) {
	cmd := exec.Command("dbus-send", append([]string{"--session", "--dest=org.freedesktop.Notifications",
		"--print-reply", "/org/freedesktop/Notifications", "org.dunstproject.cmd0." + what}, args...)...)
	cmd.Env = s.env
	_ = cmd.Run() // the result shows whether it helped
}

// TestDesktop shows a note through a real notification daemon, as plain text whatever its content, and opens the
// letter on a click.
func TestDesktop(t *testing.T) {
	s := newScreen(t)
	d := &Desktop{Env: s.env}
	defer d.Wait()
	if _, err := d.Send(t.Context(), &Note{Subject: "x", Text: "y"}); err == nil ||
		!strings.Contains(err.Error(), "notify-send: exit status 1") {
		t.Errorf("without a daemon: %v", err)
	}
	s.background(t, false, "dunst", "-conf", "/dev/null")
	wait(t, "the daemon shows", func() bool {
		_, err := d.Send(t.Context(), &Note{Subject: "--help", Text: "<b>bold</b> & more", Urgent: true})
		return err == nil
	})
	for _, want := range []string{`string "--help"`, `string "&lt;b&gt;bold&lt;/b&gt; &amp; more"`,
		`string "Pennypost"`} {
		wait(t, "on the bus: "+want, func() bool { return s.heard(want) })
	}
	s.dunst("NotificationCloseAll")
	opened := make(chan bool, 1)
	sent := make(chan error, 1)
	go func() {
		_, err := d.Send(t.Context(), &Note{Subject: "click", Text: "here", Open: func() { opened <- true }})
		sent <- err
	}()
	wait(t, "the click", func() bool {
		if s.heard(`string "click"`) {
			s.dunst("NotificationAction", "uint32:0")
		}
		select {
		case <-opened:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
	if err := <-sent; err != nil {
		t.Errorf("Send = %v", err)
	}
}
