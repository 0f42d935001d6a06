package systemtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/office/wake/codextest"
)

// codexHome is Codex with a server, started by one of its windows.
type codexHome struct {
	*codextest.Codex
	t      *testing.T
	office *office
	server *codextest.Server
	said   int
}

// newCodex returns Codex, whose server has the variables of a window.
func newCodex(t *testing.T, variables ...string) *codexHome {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells with which variables a program was started")
	}
	o := newOffice(t)
	o.must(t, "agents") // a hook waits for a second only while a post office starts
	c := &codexHome{Codex: codextest.New(t, o.root), t: t, office: o}
	c.server = c.Server(t, c.environ(variables...))
	return c
}

func (c *codexHome) environ(variables ...string) []string {
	return c.office.environ(append([]string{"CODEX_HOME=" + c.Home}, variables...)...)
}

// window opens a window with variables.
func (c *codexHome) window(variables ...string) *codextest.Window {
	c.t.Helper()
	return c.Codex.Window(c.t, c.environ(variables...))
}

// thread is a conversation in a window.
type thread struct {
	*hooktest.Harness
	codex *codexHome
}

// thread begins a conversation in a window, with a prompt: that is when Codex runs the first hooks. It returns the
// text for the model.
func (c *codexHome) thread(w *codextest.Window, number int, dir string) (th *thread, told string) {
	c.t.Helper()
	id := fmt.Sprintf("0199a213-81c0-7800-8aa1-bbab2a035a%02d", number)
	w.Begin(id)
	th = &thread{&hooktest.Harness{Client: hooktest.Codex(), Session: id, Dir: dir, Home: c.Home,
		Run: func(client, event, stdin string) hooktest.Result {
			e := c.server.Run(c.t, codextest.Command{Args: []string{binary, "hook", client, event}, Dir: dir,
				Stdin: stdin})
			return hooktest.Result{Out: e.Out, Err: e.Err, Exit: e.Exit}
		}}, c}
	th.Start("startup")
	told = strings.Join(th.Context, "\n")
	th.Prompt("go on")
	return th, told
}

// shell runs pennypost in the thread's shell.
func (th *thread) shell(args ...string) codextest.Ended {
	th.codex.t.Helper()
	return th.codex.server.Run(th.codex.t, codextest.Command{Args: append([]string{binary}, args...), Dir: th.Dir,
		Environ: []string{"CODEX_THREAD_ID=" + th.Session, "CODEX_SESSION_ID=" + th.Session}})
}

// tool calls send_message with the thread's server.
func (th *thread) tool(body string) codextest.Ended {
	th.codex.t.Helper()
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"codex-mcp-client","version":"0.169.0"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":`+
		`{"to":["user"],"type":"status","body":%q},"_meta":{"threadId":%q,"sessionId":%[2]q}}}`+"\n", body, th.Session)
	return th.codex.server.Run(th.codex.t, codextest.Command{Args: []string{binary, "mcp"}, Dir: th.Dir,
		Stdin: begin + call, Lines: 2})
}

// speaksAs holds that messages from a thread's shell and tools are from an agent of its directory's room, or of
// another room.
func (th *thread) speaksAs(name mail.Name, room ...string) {
	c := th.codex
	c.t.Helper()
	c.said++
	shell, tool := fmt.Sprintf("by shell %d", c.said), fmt.Sprintf("by tool %d", c.said)
	sent := []codextest.Ended{th.shell("send", "--to", "user", "--type", "status", "--body", shell), th.tool(tool)}
	from, there := map[string]mail.Address{}, *c.office
	there.dir = th.Dir
	for _, name := range room {
		there.env = append(there.env, "PENNYPOST_ROOM="+name)
	}
	for line := range strings.Lines(there.must(c.t, "export")) {
		it := decode[mail.Item](c.t, line)
		from[it.Body] = it.From
	}
	for i, body := range []string{shell, tool} {
		if from[body] != mail.AgentAddress(name) {
			c.t.Errorf("%q is from %q, want %s\n%+v", body, from[body], name, sent[i])
		}
	}
}

// Each window of Codex is the agent as which it was started, in hooks, shells and tools, though all of these have
// the variables of the first window; it is told so, and its mail rings its own thread.
func TestCodexWindows(t *testing.T) {
	t.Parallel()
	c := newCodex(t, "PENNYPOST_AGENT=builder")
	for i, name := range []mail.Name{"builder", "reviewer", "builder-2", "codex-work"} {
		variables := []string{"PENNYPOST_AGENT=" + strings.TrimSuffix(string(name), "-2")}
		if name == "codex-work" {
			variables = nil
		}
		th, told := c.thread(c.window(variables...), i+1, c.office.dir)
		if !strings.Contains(told, "the agent "+string(name)) {
			t.Errorf("%s is told %q", name, told)
		}
		th.speaksAs(name)
		th.End()
		forged := th.shell("send", "--as", "builder", "--to", "user", "--body", "forged")
		if name == "reviewer" && forged.Exit == 0 {
			t.Errorf("%s has spoken as builder: %+v", name, forged)
		}
		c.office.must(t, "send", "--to", string(name), "--type", "question", "--body", "how far?")
		eventually(t, string(name)+" is rung", func() bool { return len(c.Queued(th.Session)) == 1 })
	}
	for _, a := range c.office.roster(t) {
		if a.Client != "" && a.State != mail.Idle {
			t.Errorf("%s is %s", a.Name, a.State)
		}
	}
}

// A closed window leaves its thread with the server, without a person: the agent is gone, no door is promised, an
// unfinished turn ends, and the name is free for the next window.
func TestCodexWindowCloses(t *testing.T) {
	t.Parallel()
	c := newCodex(t)
	w := c.window("PENNYPOST_AGENT=builder")
	c.thread(w, 1, c.office.dir)
	w.Close()
	w = c.window("PENNYPOST_AGENT=builder") // immediately
	th, told := c.thread(w, 9, c.office.dir)
	if !strings.Contains(told, "the agent builder in") {
		t.Errorf("the next is told %q", told)
	}
	w.Close()
	eventually(t, "builder is gone", func() bool { return c.office.agentState(t, "builder") == mail.Gone })
	sent := c.office.must(t, "send", "--to", "builder", "--type", "question", "--urgent", "--body", "how far?")
	if strings.Contains(sent, "codex-queue") {
		t.Errorf("the sender is told %q", sent)
	}
	if n := th.End(); n != 0 {
		t.Errorf("the turn went on %d times", n)
	}
	if state := c.office.agentState(t, "builder"); state != mail.Gone || len(c.Queued(th.Session)) > 0 {
		t.Errorf("builder is %s, and rung with %q", state, c.Queued(th.Session))
	}
	next, told := c.thread(c.window("PENNYPOST_AGENT=builder"), 2, c.office.dir)
	if !strings.Contains(told, "how far?") {
		t.Errorf("the next is told %q", told)
	}
	next.speaksAs("builder")
	w = c.window("PENNYPOST_AGENT=somebody")
	w.Begin(th.Session) // resumed there
	if th.Start("resume"); c.office.agentState(t, "somebody") != mail.Idle {
		t.Errorf("the roster is %+v", c.office.roster(t))
	}
	w.Close() // and again, while it works
	eventually(t, "somebody is gone", func() bool { return c.office.agentState(t, "somebody") == mail.Gone })
	c.window("PENNYPOST_AGENT=somebody").Begin(th.Session)
	if th.Tool("Bash", "ls"); c.office.agentState(t, "somebody") != mail.Working {
		t.Errorf("the roster is %+v", c.office.roster(t))
	}
}

// A window that begins another conversation is the same agent there; a working conversation continues alongside it.
func TestCodexWindowMovesOn(t *testing.T) {
	t.Parallel()
	c := newCodex(t)
	w := c.window("PENNYPOST_AGENT=builder")
	first, _ := c.thread(w, 1, c.office.dir)
	first.End()
	second, _ := c.thread(w, 2, c.office.dir)
	second.speaksAs("builder")
	second.Prompt("go on")                   // its connection has ended in this test, with the session
	third, _ := c.thread(w, 3, c.office.dir) // while the second works
	third.speaksAs("builder-2")
	second.End()
	first.Prompt("go on")
	first.speaksAs("builder")
}

// Rooms, too, belong to the windows: one that a variable of the first window names, and those of projects where
// others have been before.
func TestCodexWindowRooms(t *testing.T) {
	t.Parallel()
	c := newCodex(t, "PENNYPOST_AGENT=builder", "PENNYPOST_ROOM=annex")
	depot := filepath.Join(c.office.root, "depot")
	if err := exec.Command("git", "init", "-q", depot).Run(); err != nil {
		t.Fatal(err)
	}
	first, _ := c.thread(c.window("PENNYPOST_AGENT=builder", "PENNYPOST_ROOM=annex"), 1, c.office.dir)
	first.speaksAs("builder", "annex")
	plain, _ := c.thread(c.window(), 2, depot)
	plain.speaksAs("codex-depot")

	c.server = c.Server(t, c.environ("PENNYPOST_AGENT=builder")) // the next day
	again, _ := c.thread(c.window("PENNYPOST_AGENT=builder"), 3, c.office.dir)
	again.speaksAs("builder")
	plain, _ = c.thread(c.window(), 4, depot)
	plain.speaksAs("codex-depot")
}
