package tui

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// permission is a dialog about a command.
func permission(id mail.ID, command string) mail.Card {
	return mail.Card{Room: "lab", Agent: "builder-1", Client: "claude-code", Here: true, Beside: true,
		Dialog: mail.Dialog{ID: id, Kind: mail.AsksPermission, Tool: "Bash", Sum: strings.Repeat("ab", 32),
			Since: mail.TimeOf(now.Add(-7 * 60e9))},
		Ask: mail.Ask{Form: mail.FormCommand, Text: command, Dir: "/src/lab", Says: "Cleans up",
			Offers: []mail.Offer{{Verdict: mail.SayAllow}, {Verdict: mail.SayAllow, Rule: 1, Writes: "Bash(rm:*)"},
				{Verdict: mail.SayDeny, Words: true}}}}
}

// form is a dialog of questions.
func form(id mail.ID, questions ...mail.AskedQuestion) mail.Card {
	c := permission(id, "")
	c.Kind, c.Tool, c.Form, c.Says = mail.AsksQuestion, "AskUserQuestion", "", ""
	c.Questions, c.Offers = questions, []mail.Offer{{Verdict: mail.SayAnswer}, {Verdict: mail.SayDeny, Words: true}}
	return c
}

func database(several bool) mail.AskedQuestion {
	return mail.AskedQuestion{Text: "Which database?", Several: several, Free: true,
		Options: []mail.Choice{{Label: "SQLite", Note: "one file"}, {Label: "Postgres"}}}
}

func TestDialogIsAnswered(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	c := permission("d-one", "rm -rf build\nls")
	c.Waiters = []mail.Waiting{{Asker: "reviewer", Subject: "Is it built?"}}
	o.dialogs.Ask(c)
	b := newBench(t, o)
	b.sees("Needs you 2", "May builder-1 run this command?", "rm -rf build ls", "7 min")
	if s := b.screen(); strings.Index(s, "May builder-1") > strings.Index(s, "Which port?") {
		t.Errorf("the dialog does not come first:\n%s", s)
	}
	b.press("1").sees("builder-1 · claude-code · lab · since 13:53 · d-one", " │ rm -rf build\n │ ls\n",
		"Bash, in /src/lab · 2 lines, 15 characters, none hidden",
		"What the model says about it (not checked):", "Cleans up", "Waiting for it:", "reviewer",
		"Is it built?",
		"  1  Allow once", "  2  Allow always  Bash(rm:*)", "  3  Deny, and say why",
		"An answer is sent immediately and cannot be undone", "the first answer wins")
	if len(o.dialogs.Answers) != 0 {
		t.Fatalf("a digit in the list has answered what was not shown: %+v", o.dialogs.Answers)
	}
	b.press("4").sees("There are only 3 answers.").press("1")
	want := []mail.DialogAnswer{{Dialog: "d-one", Sum: c.Sum, Verdict: mail.SayAllow}}
	if diff := cmp.Diff(want, o.dialogs.Answers); diff != "" {
		t.Errorf("answered: -want +got\n%s", diff)
	}
	b.sees("Answered “Allow once” to builder-1. It was delivered and cannot be undone.", "Needs you 1", "Which port?").
		seesNot("May builder-1", "Ship it")
	b.press("z").sees("Nothing to undo.")
}

func TestDialogDeniedWithWords(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(permission("d-one", "rm -rf build"))
	b := newBench(t, o)
	b.press("enter 3").sees(" Deny, and say why:\n", "enter answer now", "rm -rf build").type_("Not that one")
	b.press("esc").sees("Kept, not sent.", "  1  Allow once").press("3").sees("Deny, and say why: Not that one")
	o.err = errors.New("the post office is gone")
	b.press("enter").sees("Not answered. the post office is gone (Your text is kept.)", "  1  Allow once")
	o.err = nil
	b.press("3").sees("Not that one").press("enter")
	if a := o.dialogs.Answers; len(a) != 1 || a[0].Verdict != mail.SayDeny || a[0].Words != "Not that one" {
		t.Errorf("answered %+v", a)
	}
	b.sees("Nothing needs you.")
}

// TestQuestionsOneByOne tests a form of several questions, with multiple options and free words.
func TestQuestionsOneByOne(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(form("d-one", database(false), database(true), mail.AskedQuestion{Text: "Its password?", Free: true,
		Secret: true}))
	b := newBench(t, o)
	b.press("enter").sees("1 of 3  Which database?", "  1  SQLite  one file", "  3  Do not answer, and say why",
		"  r  In your own words").seesNot("2 of 3")
	b.press("2").sees("2 of 3  Which database?", "     Postgres", "  1  ☐ SQLite").press("enter").
		sees("Nothing chosen")
	b.press("1 2 1 1").sees("  1  ☑ SQLite", "  2  ☑ Postgres").press("enter").sees("3 of 3  Its password?")
	b.press("backspace").sees("  1  ☐ SQLite").press("1 enter r").type_("hunter2").sees("In your own words: •••••••").
		seesNot("hunter2").press("enter")
	want := []mail.DialogAnswer{{Dialog: "d-one", Sum: strings.Repeat("ab", 32), Verdict: mail.SayAnswer,
		Answers: []mail.QuestionAnswer{{Labels: []string{"Postgres"}}, {Labels: []string{"SQLite"}},
			{Words: "hunter2"}}}}
	if diff := cmp.Diff(want, o.dialogs.Answers); diff != "" {
		t.Errorf("answered: -want +got\n%s", diff)
	}
	o.dialogs.Ask(form("d-two", database(false)))
	b.tell(changed{})
	b.press("enter 1").sees("Answered “SQLite”")
	if a := o.dialogs.Answers[1].Answers; len(a) != 1 || a[0].Labels[0] != "SQLite" {
		t.Errorf("answered %+v", a)
	}
}

// TestDialogEndsMeanwhile tests that a dialog answered elsewhere disappears, and that text being typed is not sent.
func TestDialogEndsMeanwhile(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(permission("d-one", "rm"))
	b := newBench(t, o)
	b.press("enter 3").type_("no")
	err := o.dialogs.AnswerDialog(t.Context(), mail.DialogAnswer{Dialog: "d-one", Sum: permission("d-one", "rm").Sum,
		Verdict: mail.SayAllow})
	if err != nil {
		t.Fatal(err)
	}
	b.tell(changed{})
	b.sees("This dialog has closed", "Nothing needs you.")
	if len(o.dialogs.Answers) != 1 || b.model.box != nil {
		t.Errorf("answered %+v, box %v", o.dialogs.Answers, b.model.box)
	}
}

func TestDialogElsewhere(t *testing.T) {
	o := &office{}
	c := permission("d-one", "rm")
	c.Here, c.Why, c.Cut = false, "its question is on laptop", true
	o.dialogs.Ask(c)
	b := newBench(t, o)
	b.sees("in its terminal only").press("enter")
	b.sees("It cannot be answered from here: its question is on laptop.", "This is only a part")
	b.seesNot("Allow once")
	b.press("1 3 r").sees("It cannot be answered from here")
	b.press("q e").sees("This is a dialog, not mail").press("x u s a").sees("This is a dialog, not mail")
	if len(o.dialogs.Answers)+len(o.marked)+len(o.sent) != 0 {
		t.Errorf("something was done: %+v %+v %+v", o.dialogs.Answers, o.marked, o.sent)
	}
}

// TestDialogComesIntoSight tests that a new dialog is on the screen, while the cursor keeps its row.
func TestDialogComesIntoSight(t *testing.T) {
	o := &office{}
	for n := range 20 {
		o.question(n, "Question "+itoa(n)+".", ports)
	}
	b := newBench(t, o)
	b.press("j j")
	o.dialogs.Ask(permission("d-one", "rm"))
	b.tell(changed{})
	b.sees("Needs you 21", "May builder-1 run this command?", "▌ ? Question 2.").seesNot(" new")
	b.press("G").seesNot("May builder-1")
	b.tell(changed{}) // nothing changed
	b.seesNot("May builder-1").sees("▌ ? Question 19.")
}

// TestNextIsNotAnsweredByTheSameKey tests that answering mail does not open a dialog in the next row, so that a key
// meant for mail answers no client.
func TestNextIsNotAnsweredByTheSameKey(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.dialogs.Ask(permission("d-one", "rm"))
	b := newBench(t, o)
	b.press("j enter 1 1")
	if len(o.dialogs.Answers) != 0 {
		t.Errorf("answered %+v", o.dialogs.Answers)
	}
}

// TestQuitWaitsForTheAnswer tests that the view waits for an answer being sent, and reports the result.
func TestQuitWaitsForTheAnswer(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(permission("d-one", "rm"))
	b := newBench(t, o)
	b.press("enter")
	on := b.model.update(key("1"))
	b.press("ctrl+c")
	if b.quit || !b.model.sending() {
		t.Fatalf("quit: %t, sending: %t", b.quit, b.model.sending())
	}
	b.do(on)
	if !b.quit || b.model.unsent() != nil || len(o.dialogs.Answers) != 1 {
		t.Errorf("quit: %t, %v, answers %+v", b.quit, b.model.unsent(), o.dialogs.Answers)
	}
}

// TestNothingIsAnsweredUnseen tests that a digit does nothing before the whole dialog is shown, and answers only
// once.
func TestNothingIsAnsweredUnseen(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(permission("d-one", "rm"))
	b := newBench(t, o)
	load := b.model.update(key("1"))
	b.sees("Looking…").press("1 1 r enter")
	if len(o.dialogs.Answers) != 0 || b.model.answers != 0 {
		t.Fatalf("answered %+v before it was shown", o.dialogs.Answers)
	}
	b.do(load)
	first := b.model.update(key("1"))
	if again := b.model.update(key("1")); len(again) != 0 {
		t.Errorf("a second answer goes: %v", again)
	}
	b.do(first)
	if len(o.dialogs.Answers) != 1 {
		t.Errorf("answered %+v", o.dialogs.Answers)
	}
}

// asksElse replaces a dialog's question under the same id.
func (b *bench) asksElse(c mail.Card) {
	c.Sum = strings.Repeat("cd", 32)
	b.office.dialogs.Forget(c.ID)
	b.office.dialogs.Ask(c)
	b.tell(changed{})
}

// TestDialogAsksElse tests that a key meant for the former question does not answer the new one.
func TestDialogAsksElse(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(permission("d-one", "ls"))
	b := newBench(t, o)
	b.press("enter").sees(" │ ls\n")
	b.asksElse(permission("d-one", "rm -rf /"))
	b.sees(" │ rm -rf /\n", "The question has changed; press Enter to continue.").press("1 3 r 1")
	b.tell(changed{})
	b.press("1 j 1").sees("press Enter to continue.")
	if len(o.dialogs.Answers) != 0 || b.model.box != nil {
		t.Fatalf("answered %+v, box %v", o.dialogs.Answers, b.model.box)
	}
	b.press("enter").sees("An answer is sent immediately").seesNot("something else").press("1")
	if a := o.dialogs.Answers; len(a) != 1 || a[0].Sum != strings.Repeat("cd", 32) {
		t.Errorf("answered %+v", a)
	}
}

// TestFormAsksElse tests that neither answers to former questions nor text being typed are sent.
func TestFormAsksElse(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(form("d-one", database(false), database(true)))
	b := newBench(t, o)
	b.press("enter 1 2 r").type_("the big one")
	b.asksElse(form("d-one", mail.AskedQuestion{Text: "Which disk to erase?", Free: true}))
	b.sees("Which disk to erase?").press("enter").sees("The question has changed; press Enter to continue.")
	if len(o.dialogs.Answers) != 0 || b.model.box != nil {
		t.Fatalf("answered %+v, box %v", o.dialogs.Answers, b.model.box)
	}
	b.press("enter r").sees("In your own words: the big one").press("enter")
	if a := o.dialogs.Answers; len(a) != 1 || len(a[0].Answers) != 1 || a[0].Answers[0].Words != "the big one" ||
		len(a[0].Answers[0].Labels) != 0 {
		t.Errorf("answered %+v", a)
	}
}

func TestAgentsThatAsk(t *testing.T) {
	o := &office{agents: []mail.Agent{{Name: "busy", State: mail.Working, Task: "the parser"}, {Name: "builder-1",
		State: mail.Asking, Task: "the lexer", Since: mail.TimeOf(now.Add(-3600e9)),
		Dialogs: []mail.Dialog{{ID: "d-one", Since: mail.TimeOf(now.Add(-7 * 60e9))}}}}}
	o.dialogs.Ask(permission("d-one", "rm -rf build"))
	b := newBench(t, o)
	b.press("tab tab").sees("asking", "7 min", "asks: rm -rf build", "the parser")
	if s := b.screen(); strings.Index(s, "builder-1") > strings.Index(s, "busy") {
		t.Errorf("who asks does not come first:\n%s", s)
	}
}

// TestLongDialog tests that the answers are on the screen however long the text is, with the number of hidden lines.
func TestLongDialog(t *testing.T) {
	o := &office{}
	o.dialogs.Ask(permission("d-one", strings.Repeat("echo and so on\n", 100)+"rm -rf /"))
	b := newBench(t, o)
	b.press("enter").sees("  1  Allow once", " more lines: space").seesNot("rm -rf /")
	b.press("G").sees("Cleans up", "  1  Allow once").seesNot("more lines").press("k k k k k").sees("rm -rf /")
}
