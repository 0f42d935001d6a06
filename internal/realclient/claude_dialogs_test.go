package realclient

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// claudeDialogs are the scenarios of Claude Code's dialogs: each covers behaviour that its documentation does not
// describe.
func claudeDialogs() []scenario {
	return dialogScenarios(map[string]func(*testing.T, *lab){
		"dialogAllow": claudeDialogAllow, "dialogDeny": claudeDialogDeny, "dialogRule": claudeDialogRule,
		"dialogWrite": claudeDialogWrite, "dialogTool": claudeDialogTool, "dialogQuestion": claudeDialogQuestion,
		"dialogWords": claudeDialogWords, "dialogPlan": claudeDialogPlan, "dialogPlanBack": claudeDialogPlanBack,
		"dialogThere": claudeDialogThere, "dialogEsc": claudeDialogEsc, "dialogKilled": claudeDialogKilled,
		"dialogSubagent": claudeDialogSubagent, "dialogAway": claudeDialogAway, "dialogHeadless": claudeDialogHeadless,
		"dialogNoOffice": claudeDialogNoOffice, "dialogFrozen": claudeDialogFrozen,
		"dialogRestart": claudeDialogRestart, "dialogTwo": claudeDialogTwo, "dialogForm": claudeDialogForm,
	})
}

// atDialog opens a session that asks about everything, and gives it a prompt.
func (l *lab) atDialog(prompt string, args ...string) *terminal {
	l.t.Helper()
	l.install()
	w := l.open(append([]string{l.version.program, "--permission-mode", "default"}, args...)...)
	w.waitReady()
	w.prompt(prompt)
	return w
}

// claudeDialogAllow: a command is on the desk while its dialog is open, and is allowed from there, once.
func claudeDialogAllow(t *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch dialog]] [[say bye]]")
	c := l.asks("touch dialog")
	w.sees("Do you want to")
	if c.Text != "touch dialog" || !c.Beside || !c.Here {
		t.Errorf("the card is %+v", c)
	}
	began := time.Now()
	l.answers(c, "allow")
	l.runs("dialog")
	l.seconds = time.Since(began)
	l.settled()
	l.request("hello dialog", "bye")
	l.refused(c, "called", "allow")
	l.ended("allowed user terminal")
}

// claudeDialogDeny: the person's words with a denial are the tool's result, byte for byte, and the turn continues.
func claudeDialogDeny(t *testing.T, l *lab) {
	l.atDialog("hello dialog [[sh touch dialog]] [[say bye]]")
	l.answers(l.asks("touch dialog"), "deny", "Not here: use the branch <x> & wait.")
	l.request("hello dialog", "Not here: use the branch <x> & wait.")
	if l.exists("dialog") {
		t.Error("what was denied has run")
	}
	l.settled()
	l.ended("denied user terminal")
}

// claudeDialogRule: the client's lasting offer says which rule it writes, and the rule applies.
func claudeDialogRule(t *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh mkdir one]] [[sh mkdir two]] [[say bye]]")
	c := l.asks("mkdir one")
	at := ""
	for i, o := range c.Offers {
		if o.Rule > 0 && strings.Contains(o.Writes, "session") && strings.Contains(o.Writes, "acceptEdits") {
			at = string(rune('1' + i))
		}
	}
	if at == "" {
		t.Fatalf("no rule for the session is offered: %+v", c.Offers)
	}
	l.answers(c, at)
	l.runs("two") // without a dialog
	l.settled()
	if strings.Contains(w.screen(), "Do you want to") {
		t.Error("it asks again")
	}
	l.ended("allowed user terminal")
}

// claudeDialogWrite: the whole text of a file to write is shown.
func claudeDialogWrite(t *testing.T, l *lab) {
	path := l.project + "/new.txt"
	l.atDialog(`hello dialog [[tool Write {"file_path":"` + path + `","content":"one\ntwo\n"}]] [[say bye]]`)
	c := l.asks("one\ntwo\n")
	if c.Path != path || c.Form != "content" {
		t.Errorf("the card is %+v", c)
	}
	l.answers(c, "allow")
	l.runs("new.txt")
	l.settled()
}

// claudeDialogTool: so is the input of a server's tool.
func claudeDialogTool(t *testing.T, l *lab) {
	l.pp("install", "claude", "--ask")
	l.startOffice()
	w := l.tui()
	w.prompt("hello first [[say hi]]")
	w.sees("● hi") // the tools are loaded by then
	w.prompt(`hello ask [[tool list_agents {"role":"needle"}]] [[say bye]]`)
	c := l.asks("needle")
	if !strings.HasSuffix(c.Tool, "list_agents") || c.Form != "json" {
		t.Errorf("the card is %+v", c)
	}
	l.answers(c, "allow")
	l.request("hello ask", `"you":`)
	l.settled()
}

const whichDatabase = `[[tool AskUserQuestion {"questions":[{"question":"Which database?","header":"Database",` +
	`"multiSelect":false,"options":[{"label":"Postgres","description":"large"},{"label":"SQLite",` +
	`"description":"small"}]}]}]]`

// claudeDialogQuestion: a question has its options on the desk, and is answered with one.
func claudeDialogQuestion(t *testing.T, l *lab) {
	w := l.atDialog("hello question " + whichDatabase + " [[say bye]]")
	c := l.asks("Which database?")
	w.sees("Which database?")
	l.answers(c, "2")
	l.request("hello question", `"Which database?"="SQLite"`)
	l.settled()
	l.ended("answered user terminal")
}

// claudeDialogWords: a question can be answered in one's own words; so can several, one of which takes several
// options.
func claudeDialogWords(t *testing.T, l *lab) {
	l.atDialog(`hello question [[tool AskUserQuestion {"questions":[{"question":"Which database?","header":"DB",` +
		`"multiSelect":false,"options":[{"label":"Postgres","description":"x"},{"label":"SQLite",` +
		`"description":"y"}]},` +
		`{"question":"Which parts?","header":"Parts","multiSelect":true,"options":[{"label":"A","description":"a"},` +
		`{"label":"B","description":"b"},{"label":"C","description":"c"}]}]}]] [[say bye]]`)
	l.answers(l.asks("Which database?"), "neither: DuckDB", "A,3")
	l.request("hello question", "neither: DuckDB", "A, C")
	l.settled()
}

// planFile matches the file that Claude Code tells its model to write the plan to.
var planFile = regexp.MustCompile(`/\S+/plans/\S+?\.md`)

// planned makes a session in plan mode present a plan, and returns its card.
func (l *lab) planned() mail.Card {
	l.t.Helper()
	l.install()
	w := l.open(l.version.program, "--permission-mode", "plan")
	w.waitReady()
	w.prompt("hello plan [[hold plan]] [[tool ExitPlanMode {}]] [[say bye]]")
	r := l.request("hello plan")
	for _, p := range r.Parts {
		if path := planFile.FindString(p.Text); path != "" {
			l.write(path, "# The plan\n\nSplit the lexer.\n")
		}
	}
	l.model.Release("plan")
	c := l.asks("Split the lexer.")
	w.sees("Split the lexer.")
	return c
}

// claudeDialogPlan: a plan is approved from the desk.
func claudeDialogPlan(_ *testing.T, l *lab) {
	l.answers(l.planned(), "allow")
	l.request("hello plan", "approved your plan")
	l.settled()
	l.ended("allowed user terminal")
}

// claudeDialogPlanBack: a plan is sent back with words.
func claudeDialogPlanBack(_ *testing.T, l *lab) {
	l.answers(l.planned(), "deny", "Smaller steps, please.")
	l.request("hello plan", "Smaller steps, please.")
	l.settled()
	l.ended("denied user terminal")
}

// claudeDialogThere: a dialog answered at the client leaves the desk, and a late answer there is refused.
func claudeDialogThere(t *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch dialog]] [[hold on]] [[say bye]]")
	c := l.asks("touch dialog")
	w.sees("Do you want to")
	time.Sleep(7 * time.Second) // its notification has arrived by then
	w.press("Enter")
	l.runs("dialog")
	l.settled()
	l.refused(c, "called", "deny", "too late")
	l.model.Release("on")
	if r := l.request("hello dialog", "bye"); r.Has("too late") {
		t.Error("the model got a late answer")
	}
	l.ended("allowed client")
}

// claudeDialogEsc: Esc at the client does the same, and the next question is another dialog.
func claudeDialogEsc(t *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch dialog]] [[say never]]")
	l.asks("touch dialog")
	w.sees("Do you want to")
	w.breakOff()
	l.settled()
	w.prompt("hello again [[sh touch again]] [[say bye]]")
	c := l.asks("touch again")
	l.answers(c, "allow")
	l.runs("again")
	if l.exists("dialog") {
		t.Error("what was broken off has run")
	}
	l.settled()
	l.ended("ended client", "allowed user terminal")
}

// claudeDialogKilled: killing the client does the same.
func claudeDialogKilled(_ *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch dialog]] [[say never]]")
	l.asks("touch dialog")
	w.sees("Do you want to")
	l.kill()
	l.settled()
}

// claudeDialogSubagent: a subagent's dialog is reported immediately, the client draws it without delay, and it can be
// answered only there.
func claudeDialogSubagent(t *testing.T, l *lab) {
	w := l.atDialog(l.asksBelow())
	c := l.asks("touch child")
	began := time.Now()
	w.sees("Do you want to")
	t.Logf("drawn %v after the card", time.Since(began))
	if c.Here || c.Worker == "" {
		t.Errorf("the card is %+v", c)
	}
	l.refused(c, "its terminal", "allow")
	time.Sleep(3 * time.Second)
	if len(l.cards()) != 1 {
		t.Error("the card has gone while the dialog stands")
	}
	w.press("Enter")
	l.runs("child")
	l.settled()
	l.request("hello parent", "bye")
	l.ended("allowed client")
}

// asksBelow is a prompt that makes a subagent ask.
func (l *lab) asksBelow() string {
	return "hello parent " + l.client.subagent("hello child [[sh touch child]] [[say done]]") + " [[say bye]]"
}

// claudeDialogAway: while the person is away, a subagent's dialog waits for the desk, for as long as they said.
func claudeDialogAway(t *testing.T, l *lab) {
	l.install()
	l.pp("away", "--for", "10m")
	l.atDialogOf(l.asksBelow())
	c := l.asks("touch child")
	l.answers(c, "allow")
	l.runs("child")
	l.settled()
	l.request("hello parent", "bye")
	l.pp("away", "--back")
	l.ended("allowed user terminal")
}

// atDialogOf is atDialog in a lab with an installation.
func (l *lab) atDialogOf(prompt string) *terminal {
	l.t.Helper()
	w := l.open(l.version.program, "--permission-mode", "default")
	w.waitReady()
	w.prompt(prompt)
	return w
}

// claudeDialogHeadless: a headless run's dialog is not reported and not delayed; while the person is away, it is
// approved from the desk.
func claudeDialogHeadless(t *testing.T, l *lab) {
	l.install()
	began := time.Now()
	l.finished(l.begin("hello headless [[sh touch never]] [[say bye]]"))
	t.Logf("the headless run took %v", time.Since(began))
	if l.exists("never") || len(l.outcomes()) > 0 {
		t.Errorf("a headless run asked: %q", l.outcomes())
	}
	l.pp("away", "--for", "10m")
	done := l.begin("hello again [[sh touch headless]] [[say bye]]")
	l.answers(l.asks("touch headless"), "allow")
	l.finished(done)
	l.runs("headless")
	l.ended("allowed user terminal")
}

// claudeDialogNoOffice: a post office that ends, or is killed, disturbs neither dialog nor client.
func claudeDialogNoOffice(t *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch one]] [[sh touch two]] [[say bye]]")
	l.asks("touch one")
	w.sees("Do you want to")
	l.must(l.office.Process.Kill())
	_ = l.office.Wait() // it was killed
	l.office = nil
	time.Sleep(time.Second)
	w.sees("Do you want to")
	w.press("Enter")
	l.runs("one")
	w.sees("touch two")
	w.sees("Do you want to")
	w.press("Enter")
	l.runs("two")
	l.request("hello dialog", "bye")
	l.startOffice()
	l.settled()
	if s := w.screen(); strings.Contains(s, "hook error") || strings.Contains(s, "PermissionRequest hook") {
		t.Errorf("the client tells of a hook:\n%s", s)
	}
}

// claudeDialogFrozen: a frozen one does not either; its cards stay on the desk until there is proof of the end.
func claudeDialogFrozen(_ *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch one]] [[sh touch two]] [[hold on]] [[say bye]]")
	c := l.asks("touch one")
	w.sees("Do you want to")
	l.must(l.office.Process.Signal(sigStop))
	time.Sleep(5 * time.Second) // the hook has given up
	w.sees("Do you want to")
	l.must(l.office.Process.Signal(sigCont))
	l.card("touch one")
	l.refused(c, "its terminal", "allow")
	l.must(l.office.Process.Signal(sigStop))
	w.press("Enter")
	l.runs("one")
	w.sees("touch two") // it was not reported
	l.must(l.office.Process.Signal(sigCont))
	l.card("touch two") // reported by its notification
	w.press("Enter")
	l.runs("two")
	l.settled()
	l.model.Release("on")
}

// claudeDialogRestart: a dialog that is open while the post office restarts is still on the desk, and is removed when
// it is answered at the client.
func claudeDialogRestart(_ *testing.T, l *lab) {
	w := l.atDialog("hello dialog [[sh touch dialog]] [[hold on]] [[say bye]]")
	l.asks("touch dialog")
	w.sees("Do you want to")
	l.stopOffice()
	l.startOffice()
	c := l.asks("touch dialog")
	l.refused(c, "its terminal", "allow")
	w.press("Enter")
	l.runs("dialog")
	l.settled()
	l.model.Release("on")
	files, _ := os.ReadDir(l.dir + "/pp/dialogs")
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "d-") {
			l.t.Errorf("what was asked is still on the disk: %s", f.Name())
		}
	}
}

// claudeDialogTwo: with two dialogs in a row, each answer goes to its own.
func claudeDialogTwo(t *testing.T, l *lab) {
	l.atDialog("hello dialog [[sh touch one]] [[sh touch two]] [[say bye]]")
	one := l.asks("touch one")
	l.answers(one, "allow")
	two := l.asks("touch two")
	l.refused(one, "called", "allow")
	l.answers(two, "deny", "Enough.")
	l.request("hello dialog", "Enough.")
	if l.exists("two") {
		t.Error("what was denied has run")
	}
	l.settled()
	l.ended("allowed user terminal", "denied user terminal")
}

// claudeDialogForm: a form of an MCP server is reported, and the client shows it without delay.
func claudeDialogForm(_ *testing.T, l *lab) {
	l.install()
	l.write(filepath.Join(l.project, ".mcp.json"), map[string]any{"mcpServers": map[string]any{"forms": map[string]any{
		"command": os.Args[0], "args": []string{}, "env": map[string]string{formsVar: "1"}}}})
	l.write(".claude/settings.json", withMember(l, ".claude/settings.json", "enableAllProjectMcpServers", true))
	w := l.open(l.version.program, "--permission-mode", "default", "--allowedTools", "mcp__forms__ask")
	w.waitReady()
	w.prompt("hello first [[say hi]]")
	w.sees("● hi") // the tools are loaded by then
	w.prompt("hello form [[tool mcp__forms__ask {}]] [[say bye]]")
	c := l.asks("Where to?")
	if c.Kind != mail.AsksForm || c.Here || !strings.Contains(c.Text, "city") {
		l.t.Errorf("the card is %+v", c)
	}
	w.sees("Where to?")
	w.press("Escape")
	l.settled()
	l.request("hello form", "cancel")
}
