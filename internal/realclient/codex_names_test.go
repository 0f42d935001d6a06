package realclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/base/durable"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// Windows of Codex share one server, whose variables are those of the window that started it. These scenarios check
// that each window still has the identity it was started with, and that a session without a window is no one.

// depot is a second project.
func (l *lab) depot() string { return filepath.Join(l.dir, "depot") }

// window opens a terminal in a directory with an interactive session that is given variables.
func (l *lab) window(dir string, variables ...string) *terminal {
	l.t.Helper()
	w := l.openIn(dir, append(append(append([]string{"env"}, variables...), l.version.program), l.client.tui...)...)
	w.waitReady()
	return w
}

// speaks returns directives that make a session say something through its shell and through its tools.
func speaks(who string) string {
	return "[[sh sleep 1; pennypost send --to user --type status --body 'by shell " + who + "']]" +
		` [[tool send_message {"to":["user"],"type":"status","body":"by tool ` + who + `"}]]`
}

// spoke checks that a session's messages are from an agent.
func (l *lab) spoke(who string, agent mail.Name) {
	l.t.Helper()
	for _, by := range []string{"by shell ", "by tool "} {
		if from := l.from(by + who); from != mail.AgentAddress(agent) {
			l.t.Errorf("%q is from %s, want %s", by+who, from, agent)
		}
	}
}

// isIdle waits until an agent is between turns.
func (l *lab) isIdle(name mail.Name) {
	l.t.Helper()
	l.until(string(name)+" is idle", func() bool { return l.state(name) == mail.Idle })
}

// wakes checks that mail to an agent begins a turn in the conversation that contains a text, and in no other.
func (l *lab) wakes(name mail.Name, conversation, body string) {
	l.t.Helper()
	l.send(name, body)
	l.told(l.request(conversation, body), body)
	for _, r := range l.model.Requests() {
		if r.Has(body) && !r.Has(conversation) {
			l.t.Errorf("request %d of another conversation has %q", r.N, body)
		}
	}
	l.isIdle(name)
}

// names checks that a request tells its agent its name, and no other name.
func (l *lab) names(r model.Request, name mail.Name) {
	l.t.Helper()
	if !r.Has("the agent " + string(name) + " ") {
		l.t.Errorf("request %d does not say that it is %s", r.N, name)
	}
}

// windows: two windows with different names in one project are these two agents in hooks, tools and shells; each is
// told so in its first turn, and is woken by its own mail.
func windows(t *testing.T, l *lab) {
	l.install()
	l.shell()
	for _, name := range []string{"builder", "reviewer"} {
		w := l.window(l.project, "PENNYPOST_AGENT="+name)
		w.prompt("hello " + name + " " + speaks(name) +
			" [[sh pennypost send --as builder --to user --body forged || touch refused]] [[say bye]]")
		l.names(l.request("hello "+name), mail.Name(name))
		l.spoke(name, mail.Name(name))
	}
	l.until("the reviewer is not let speak as builder", func() bool { return l.exists("refused") })
	for _, a := range l.agents() {
		if a.Client != "" && a.Name != "builder" && a.Name != "reviewer" {
			t.Errorf("the roster has %s", a.Name)
		}
	}
	for _, name := range []mail.Name{"reviewer", "builder"} {
		l.isIdle(name)
		l.wakes(name, "hello "+string(name), "ZEBRA for "+string(name))
	}
}

// windowsOnlyServer: the same holds without hooks, by the names in their calls alone.
func windowsOnlyServer(_ *testing.T, l *lab) {
	l.install()
	l.shell()
	l.must(os.Remove(filepath.Join(l.home, ".codex", "hooks.json")))
	for _, name := range []string{"builder", "reviewer"} {
		w := l.window(l.project, "PENNYPOST_AGENT="+name)
		w.prompt("hello " + name + ` [[tool list_agents {}]] ` + speaks(name) + " [[say bye]]")
		l.spoke(name, mail.Name(name))
	}
}

// otherProject: a name is its window's, whichever windows were there before and are closed: a session in another
// project is named after its directory, and one that is given the name has it.
func otherProject(t *testing.T, l *lab) {
	l.must(exec.Command("git", "init", "-q", l.depot()).Run())
	l.install()
	l.shell()
	first := l.window(l.project, "PENNYPOST_AGENT=builder")
	first.prompt("hello first [[say bye]]")
	l.request("hello first")
	l.isIdle("builder")
	first.prompt("/quit")
	l.until("builder is gone", func() bool { return l.state("builder") == mail.Gone })
	second := l.window(l.depot())
	l.project = l.depot() // the next commands use its room
	second.prompt("hello second " + speaks("second") + " [[say bye]]")
	l.names(l.request("hello second"), "codex-depot")
	l.spoke("second", "codex-depot")
	third := l.window(l.depot(), "PENNYPOST_AGENT=builder")
	third.prompt("hello third " + speaks("third") + " [[say bye]]")
	l.names(l.request("hello third"), "builder")
	l.spoke("third", "builder")
}

// renamed: a session remains the same agent under a new name.
func renamed(_ *testing.T, l *lab) {
	l.install()
	l.shell()
	l.window(l.project, "PENNYPOST_AGENT=builder")
	w := l.window(l.project, "PENNYPOST_AGENT=reviewer")
	w.prompt("hello reviewer [[say bye]]")
	l.request("hello reviewer")
	l.isIdle("reviewer")
	l.pp("agents", "rename", "reviewer", "critic")
	w.prompt("hello critic " + speaks("critic") + " [[say bye]]")
	l.request("hello critic")
	l.spoke("critic", "critic")
	l.isIdle("critic")
	l.wakes("critic", "hello reviewer", "ZEBRA for the critic")
}

// newThread: a window that begins another conversation is still the same agent, and is woken there.
func newThread(t *testing.T, l *lab) {
	l.install()
	l.shell()
	w := l.window(l.project, "PENNYPOST_AGENT=builder")
	w.prompt("hello old [[say bye]]")
	l.request("hello old")
	l.isIdle("builder")
	before := len(l.threadsLoaded())
	w.prompt("/new")
	w.sees("1. Use current Git worktree")
	w.press("Enter")
	l.until("there is another thread", func() bool { return len(l.threadsLoaded()) > before })
	l.until("it is shown", func() bool { return !strings.Contains(w.screen(), "hello old") })
	w.prompt("hello new " + speaks("new") + " [[say bye]]")
	l.names(l.request("hello new"), "builder")
	l.spoke("new", "builder")
	l.isIdle("builder")
	l.wakes("builder", "hello new", "ZEBRA for the builder")
}

// threadsLoaded are the locks of the threads that the shared server has in memory and will write.
func (l *lab) threadsLoaded() []string {
	found, _ := filepath.Glob(filepath.Join(l.home, ".codex", "thread-writer-locks", "*-*.lock"))
	return found
}

// quit: a session without a window is no one's. Its mail is promised no door, begins no turn, and is told in the next
// window.
func quit(t *testing.T, l *lab) {
	l.install()
	l.shell()
	l.window(l.project) // the server keeps running with it
	w := l.window(l.project, "PENNYPOST_AGENT=builder")
	w.prompt("hello builder [[say bye]]")
	l.request("hello builder")
	l.isIdle("builder")
	w.prompt("/quit")
	l.until("builder is gone", func() bool { return l.state("builder") == mail.Gone })
	sent := l.pp("send", "--to", "builder", "--type", "question", "--urgent", "--body", "ZEBRA after /quit")
	if strings.Contains(sent, "codex-queue") {
		t.Errorf("a door is promised: %s", sent)
	}
	l.nextWindow("ZEBRA after /quit")
}

// nextWindow checks that mail waiting for builder is told in the next window, and was in no earlier request.
func (l *lab) nextWindow(body string) {
	l.t.Helper()
	w := l.window(l.project, "PENNYPOST_AGENT=builder")
	w.prompt("hello next [[say bye]]")
	r := l.request("hello next")
	l.told(r, body)
	for _, old := range l.model.Requests() {
		if old.N < r.N && (old.Has(body) || old.Has("("+fence.RingID)) {
			l.t.Errorf("request %d was made where there was no window, for %q", old.N,
				old.Parts[len(old.Parts)-1].Text)
		}
	}
}

// quitAtWork: a turn that a closed window left running ends without continuing for mail, whatever arrives meanwhile.
func quitAtWork(_ *testing.T, l *lab) {
	l.install()
	l.shell()
	l.window(l.project)
	w := l.window(l.project, "PENNYPOST_AGENT=builder")
	tool, open := l.gate("gate")
	w.prompt("hello builder " + tool + " [[say bye]]")
	l.began("gate")
	w.press("-l", "/quit")
	w.sees("/quit")
	w.press("Enter")
	l.until("builder is gone", func() bool { return l.state("builder") == mail.Gone })
	l.send("builder", "ZEBRA after /quit", "--urgent")
	open()
	l.nextWindow("ZEBRA after /quit")
}

// slowOffice: a post office that takes long to start does not keep the tools out of the first request, for which
// Codex waits a second (0.169.0), nor from working once it is there.
func slowOffice(t *testing.T, l *lab) {
	l.pp("install", "codex", "--trust")
	home := filepath.Join(l.dir, "pp")
	l.must(os.MkdirAll(home, 0o700))
	starting, err := durable.TryLock(filepath.Join(home, "start.lock")) // held by a process that starts a post office
	l.must(err)
	done := l.begin(`hello slow [[hold office]] ` +
		`[[tool send_message {"to":["user"],"type":"status","body":"by tool"}]] [[say bye]]`)
	r := l.request("hello slow")
	for _, name := range []string{"send_message", "read_messages"} {
		if !r.Offers(name) {
			t.Errorf("request %d does not offer %s", r.N, name)
		}
	}
	if !r.Has("Pennypost is your mailbox") && !strings.Contains(string(r.Body), "Pennypost is your mailbox") {
		t.Errorf("request %d lacks the instructions", r.N)
	}
	l.must(starting.Unlock())
	l.model.Release("office") // the model's call starts it
	defer l.pp("stop")
	l.finished(done)
	if from := l.from("by tool"); from != mail.AgentAddress(l.agent) {
		t.Errorf("the tool's message is from %s", from)
	}
}
