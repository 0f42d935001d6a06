package realclient

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// Scenarios of sessions over time: models that think for as long as real ones do, sessions that are left, killed and
// reopened, and people who type meanwhile.

// thinks is how long a model thinks in these scenarios: longer than any pause by which anyone could guess.
const thinks = 6 * time.Second

// once checks that no request has a text more than once.
func (l *lab) once(text string) {
	l.t.Helper()
	for _, r := range l.model.Requests() {
		if n := r.Copies(text); n > 1 {
			l.t.Errorf("request %d has %q %d times", r.N, text, n)
		}
	}
}

// rests waits until the agent is idle.
func (l *lab) rests() {
	l.t.Helper()
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
}

// toldInATool makes the agent work, and tells it of mail after a tool; then the model thinks, until "on" is released.
func (l *lab) toldInATool(body string) (*terminal, mail.ID) {
	l.t.Helper()
	l.install()
	l.shell()
	w := l.tui()
	tool, open := l.gate("gate")
	w.prompt("hello work " + tool + " [[hold on]] [[say bye]]")
	l.began("gate")
	id := l.send(l.agent, body)
	open()
	l.told(l.request("hello work", passed), body)
	time.Sleep(thinks)
	return w, id
}

// typedAhead: a prompt that the person types while the model thinks does not cause mail to be told twice.
func typedAhead(_ *testing.T, l *lab) {
	w, id := l.toldInATool("ZEBRA while it works")
	w.prompt("and then this [[say bye]]")
	time.Sleep(thinks)
	l.model.Release("on")
	l.told(l.request("hello work", "and then this"), "ZEBRA while it works")
	l.presented(id)
	l.rests()
	l.once("ZEBRA while it works")
}

// killed: a session that is killed while the model thinks, and continued, has mail once: mail told in its first
// request, and mail told after a tool.
func killed(t *testing.T, l *lab) {
	l.install()
	l.shell()
	l.pp("agents", "register", string(l.agent))
	l.send(l.agent, "ZEBRA at the start")
	l.tui().prompt("hello work [[hold on]] [[say bye]]")
	l.told(l.request("hello work"), "ZEBRA at the start")
	time.Sleep(thinks)
	l.kill()
	w := l.goOn()
	tool, open := l.gate("gate")
	w.prompt("hello again " + tool + " [[hold on]] [[say bye]]")
	l.told(l.request("hello again"), "ZEBRA at the start")
	l.began("gate")
	l.send(l.agent, "LION behind a tool")
	open()
	l.told(l.request("hello again", passed), "LION behind a tool")
	time.Sleep(thinks)
	l.kill()
	w = l.goOn()
	w.prompt("hello at last [[say bye]]")
	r := l.request("hello at last")
	l.told(r, "ZEBRA at the start")
	l.told(r, "LION behind a tool")
	l.rests()
	l.once("ZEBRA at the start")
	l.once("LION behind a tool")
}

// goOn reopens the session that was killed.
func (l *lab) goOn() *terminal {
	l.t.Helper()
	w := l.tui(l.client.resume...)
	if l.client.inUse != "" {
		time.Sleep(thinks) // it asks only if the session was used a moment ago
		if strings.Contains(w.screen(), l.client.inUse) {
			w.press("Enter")
		}
		l.until("the session goes on", func() bool { return !strings.Contains(w.screen(), l.client.inUse) })
		w.waitReady()
	}
	return w
}

// kill ends the client's programs as kill -9 does.
func (l *lab) kill() {
	l.t.Helper()
	killed := false
	for pid, args := range l.processes() {
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe") // missing for a process that has just ended
		if strings.Contains(exe+" "+args, string(filepath.Separator)+l.client.name+"-"+l.version.version) &&
			!strings.HasPrefix(filepath.Base(exe), "pennypost") {
			killed = signal(pid, syscall.SIGKILL) == nil || killed
		}
	}
	if !killed {
		l.t.Fatalf("%s does not run\n%s", l.client.title, l.scene())
	}
}

// killedIdle: a session that is killed while idle is soon no longer listed as idle, or as able to be woken.
func killedIdle(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello idle [[say bye]]")
	l.request("hello idle")
	l.rests()
	l.kill()
	killed := time.Now()
	l.until("the session has ended", func() bool { return l.state(l.agent) == mail.Gone })
	if l.seconds = time.Since(killed); l.seconds > 15*time.Second {
		t.Errorf("that took %v", l.seconds)
	}
	sent := ask[mail.Sent](l, "send", "--to", string(l.agent), "--type", "question", "--body", "ZEBRA too late")
	if d := sent.Recipients[0]; d.Awaits() != "its session has ended; gets it when it comes back" {
		t.Errorf("the sender is told %q", d.Awaits())
	}
}

// escPrompt: after Esc in a turn that had tools, and an immediate prompt of the person's, told mail is there once.
func escPrompt(_ *testing.T, l *lab) {
	w, id := l.toldInATool("ZEBRA before Esc")
	w.breakOff()
	w.prompt("and then this [[say bye]]")
	l.told(l.request("and then this"), "ZEBRA before Esc")
	l.presented(id)
	l.once("ZEBRA before Esc")
}

// reopened: mail that arrived while the session was closed is seen when it is reopened, even if no one types.
func reopened(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello first [[say bye]]")
	l.request("hello first")
	l.rests()
	l.quit(w)
	l.until("the session has ended", func() bool {
		return slices.Contains([]mail.State{mail.Gone, mail.Frozen}, l.state(l.agent))
	})
	id := l.send(l.agent, "ZEBRA while it was closed", "--urgent")
	l.tui()
	l.until("the session is there", func() bool { return l.state(l.agent) == mail.Idle })
	began := time.Now()
	r := l.request("ZEBRA while it was closed")
	if l.seconds = r.At.Sub(began); l.seconds > 20*time.Second {
		t.Errorf("the model was asked after %v", l.seconds)
	}
	l.told(r, "ZEBRA while it was closed")
	l.presented(id)
	l.once("ZEBRA while it was closed")
}

// quit leaves a session as its person would.
func (l *lab) quit(w *terminal) {
	l.t.Helper()
	w.prompt(l.client.quit)
}

// typing: no ring comes while the person types the first prompt of a session, and their text stays as typed.
func typing(t *testing.T, l *lab) {
	l.install()
	l.pp("agents", "register", string(l.agent))
	l.send(l.agent, "ZEBRA at the opening")
	w := l.tui()
	for range 12 { // half a minute
		w.press("-l", "word ")
		time.Sleep(2500 * time.Millisecond)
	}
	if n := len(l.model.Requests()); n > 0 {
		t.Errorf("it was rung while the person typed\n%s", l.scene())
	}
	w.prompt("and an end [[say bye]]")
	l.told(l.request("word word word", "and an end"), "ZEBRA at the opening")
	l.once("ZEBRA at the opening")
}
