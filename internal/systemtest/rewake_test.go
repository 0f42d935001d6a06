package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
)

// rewaking returns Claude Code as set up by pennypost install, with the real program for its hooks and for the
// waiting hook.
func (o *office) rewaking(session string) *hooktest.Harness {
	h := o.hooks(hooktest.Claude(), session, "PENNYPOST_AGENT=ann")
	h.Background = h.Run
	return h
}

// proven returns the door that the roster says has worked for ann.
func (o *office) proven(t testing.TB) string {
	t.Helper()
	for _, a := range o.roster(t) {
		if a.Name == "ann" {
			return a.Door
		}
	}
	return ""
}

// TestP8_Rewake holds that an idle session without an inbox socket is woken by the waiting hook, once, even by a
// post office that was restarted meanwhile, and that the hook ends with its session.
func TestP8_Rewake(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.rewaking("s1")
	h.Start("startup")
	h.Prompt("go on")
	h.End()
	one := ask[mail.Sent](t, o, "send", "--to", "ann", "--type", "question", "--body", "how far?")
	if !h.Rewoken() {
		t.Fatal("the session was not woken")
	}
	if whole, _ := hooktest.Shown(strings.Join(h.Context, "\n")); len(h.Context) != 2 ||
		!strings.Contains(h.Context[0], "1 unread in room") || len(whole) != 1 || whole[0] != one.ID {
		t.Errorf("the model was shown %q, want a pointer and then the mail", h.Context)
	}
	if got := o.stateOf(t, one.ID, "ann"); got != mail.Presented {
		t.Errorf("the message is %q", got)
	}
	if got := o.proven(t); got != mail.RewakeDoor {
		t.Errorf("the roster says that %q has worked", got)
	}
	o.must(t, "mark", "--read", "--all", "--as", "ann")
	if h.Rewoken() { // the turn ended twice and began two hooks: one remains, or the other could not have replaced it
		t.Error("one whose place another took has woken the session")
	}

	o.must(t, "stop")
	d := o.mustServe(t)
	two := ask[mail.Sent](t, o, "send", "--to", "ann", "--type", "question", "--body", "and now?")
	if !h.Rewoken() { // the waiting hook comes back, now or in a moment, and is rung either way
		t.Fatal("the session was not woken after a restart")
	}
	if got := o.stateOf(t, two.ID, "ann"); got != mail.Presented {
		t.Errorf("after a restart the message is %q", got)
	}
	h.Exit("prompt_input_exit")
	if h.Rewoken() {
		t.Error("the end of the session has woken it")
	}
	d.kill()
	h.End() // this begins another that finds no post office
	if began := time.Now(); h.Rewoken() || time.Since(began) > 3*time.Second {
		t.Errorf("with no post office it ended after %s", time.Since(began))
	}
	stranger(t, filepath.Join(o.home, "pennypost.sock"))
	if h.End(); h.Rewoken() {
		t.Error("a stranger in the post office's place has woken the session")
	}
	h.Quit()
	for _, f := range h.Faults {
		t.Error(f)
	}
}

// TestShellSpeaksAsTheAgent holds that the messages of a session's commands are from the session's agent, even for
// the second agent of a name.
func TestShellSpeaksAsTheAgent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, session := range []string{"s1", "s2"} {
		file := filepath.Join(o.root, session)
		h := o.hooks(hooktest.Claude(), session, "CLAUDE_ENV_FILE="+file)
		h.Start("startup")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"s1": "claude-work", "s2": "claude-work-2"}[session]
		if string(text) != "export PENNYPOST_AGENT="+want+"\n" {
			t.Errorf("the commands of %s are run after %q", session, text)
		}
	}
}
