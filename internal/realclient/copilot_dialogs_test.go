package realclient

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

// Texts on the screen during Copilot's dialogs.
const (
	copilotAsks      = "Do you want to run this command?"
	copilotAsksWhich = "ctrl+d decline"
)

const copilotQuestion = `[[tool ask_user {"message":"Which database?","requestedSchema":{"type":"object","properties":` +
	`{"db":{"type":"string","title":"Database","enum":["Postgres","SQLite"]}},"required":["db"]}}]]`

// copilotDialogs are the scenarios of Copilot's dialogs without our extension: they are reported, and answered at the
// client.
func copilotDialogs() []scenario {
	return dialogScenarios(map[string]func(*testing.T, *lab){
		"dialogSeen": copilotSeen, "dialogRefused": copilotRefused, "dialogClosed": copilotClosed,
		"dialogQuestion": copilotAsked, "dialogForms": copilotForms, "dialogAway": copilotAway,
		"dialogAwayEsc": copilotAwayEsc, "dialogNoOffice": copilotNoOffice, "dialogHeadless": copilotHeadless,
		"dialogTwo": copilotTwo, "dialogNoConsent": copilotNoConsent, "dialogSubagent": copilotBesideSubagent,
	})
}

// copilotAt opens a session and gives it a prompt.
func (l *lab) copilotAt(prompt string) *terminal {
	l.t.Helper()
	l.install()
	w := l.open(l.version.program)
	w.waitReady()
	w.prompt(prompt)
	return w
}

// copilotSeen: a command is on the desk while its dialog is open, takes no answer there, and leaves when it is
// allowed at the client.
func copilotSeen(t *testing.T, l *lab) {
	w := l.copilotAt("hello seen [[sh touch seen]] [[hold on]] [[say bye]]")
	c := l.shown(w, copilotAsks, "touch seen")
	if c.Text != "touch seen" || c.Form != mail.FormCommand || c.Here || c.Cut {
		t.Errorf("the card is %+v", c)
	}
	l.refused(c, "its terminal", "allow")
	w.types("Enter")
	l.runs("seen")
	l.settled()
	l.model.Release("on")
	l.turnOver()
	l.ended("allowed client")
}

// copilotRefused: it leaves the desk when it is refused at the client.
func copilotRefused(t *testing.T, l *lab) {
	w := l.copilotAt("hello refused [[sh touch refused]] [[hold on]] [[say bye]]")
	l.shown(w, copilotAsks, "touch refused")
	copilotRefuses(w)
	w.closed(copilotAsks)
	l.settled()
	l.model.Release("on")
	if l.exists("refused") {
		t.Error("what was refused has run")
	}
	l.ended("denied client")
}

// copilotRefuses says no in the dialog, and gives a reason.
func copilotRefuses(w *terminal) {
	w.types("3")
	w.press("-l", "rather not")
	w.sees("rather not")
	w.types("Enter")
}

// copilotClosed: it leaves the desk when it is closed with Esc, which runs no hook.
func copilotClosed(t *testing.T, l *lab) {
	w := l.copilotAt("hello esc [[sh touch esc]] [[say never]]")
	l.shown(w, copilotAsks, "touch esc")
	w.types("Escape")
	w.closed(copilotAsks)
	l.settled()
	l.ended("ended client")
	w.waitReady()
	w.prompt("hello again [[sh touch again]] [[say bye]]")
	l.shown(w, copilotAsks, "touch again")
	w.types("Enter")
	l.runs("again")
	l.settled()
	if l.exists("esc") {
		t.Error("what was broken off has run")
	}
}

// copilotAsked: a question is on the desk with its options, and leaves when it is answered.
func copilotAsked(t *testing.T, l *lab) {
	w := l.copilotAt("hello question " + copilotQuestion + " [[hold on]] [[say bye]]")
	c := l.shown(w, copilotAsksWhich, "Which database?")
	if c.Kind != mail.AsksQuestion || len(c.Questions) != 1 || len(c.Questions[0].Options) != 2 || c.Here {
		t.Errorf("the card is %+v", c)
	}
	w.types("Enter")
	l.request("hello question", "User responded: Postgres")
	l.settled()
	l.ended("answered client")
	l.model.Release("on")
}

// copilotForms: a file to write is shown as Copilot shows it.
func copilotForms(t *testing.T, l *lab) {
	path := l.project + "/new.txt"
	w := l.copilotAt(`hello forms [[tool create {"path":"` + path + `","file_text":"one\n\ttwo\n"}]] [[say bye]]`)
	c := l.asks("+one\n+\ttwo\n")
	if c.Form != mail.FormPatch || c.Path != path || c.Cut {
		t.Errorf("the card is %+v", c)
	}
	w.sees("Do you want to create")
	w.types("Enter")
	l.runs("new.txt")
	l.settled()
}

// copilotAway: while the person is away, the desk asks instead of the client, and nothing else changes.
func copilotAway(t *testing.T, l *lab) {
	const words = `Not here: use the branch <x> & "wait".`
	l.install()
	l.pp("away", "--for", "10m")
	w := l.open(l.version.program)
	w.waitReady()
	w.prompt("hello away [[sh touch away]] [[sh touch denied]] [[say bye]]")
	c := l.asks("touch away")
	if !c.Here || c.Beside {
		t.Errorf("the card is %+v", c)
	}
	time.Sleep(12 * time.Second) // it waits without a limit
	l.answers(l.asks("touch away"), "allow")
	l.runs("away")
	l.answers(l.asks("touch denied"), "deny", words)
	l.request("hello away", "Permission denied by a PermissionRequest hook: "+words)
	l.settled()
	l.turnOver()
	if l.exists("denied") {
		t.Error("what was denied has run")
	}
	l.ended("allowed user terminal", "denied user terminal")
	l.pp("away", "--back")
	w.waitReady()
	w.prompt("hello back [[sh touch back]] [[say bye]]")
	l.shown(w, copilotAsks, "touch back")
	w.types("Enter")
	l.runs("back")
	l.settled()
}

// copilotAwayEsc: Esc while the desk waits leaves nothing.
func copilotAwayEsc(t *testing.T, l *lab) {
	l.install()
	l.pp("away", "--for", "10m")
	w := l.open(l.version.program)
	w.waitReady()
	w.prompt("hello away [[sh touch away]] [[say bye]]")
	l.asks("touch away")
	w.breakOff()
	began := time.Now()
	l.until("no dialog is on the desk", func() bool { return len(l.cards()) == 0 })
	t.Logf("off the desk %v after Esc\n%s", time.Since(began), w.screen())
	if l.exists("away") {
		t.Error("what was broken off has run")
	}
	l.leftAlone(w)
}

// leftAlone closes a terminal, and waits until none of its processes is left.
func (l *lab) leftAlone(w *terminal) {
	l.must(l.tmux("kill-session", "-t", w.name()).Run())
	l.alone()
}

// copilotNoOffice: a post office that is frozen, or killed, disturbs neither dialog nor client.
func copilotNoOffice(_ *testing.T, l *lab) {
	w := l.copilotAt("hello frozen [[sh touch frozen]] [[say bye]]")
	l.shown(w, copilotAsks, "touch frozen")
	l.must(l.office.Process.Signal(sigStop))
	w.types("Enter")
	l.runs("frozen")
	l.goesOn("hello frozen")
	w.waitReady()
	w.prompt("hello second [[sh touch second]] [[say bye]]")
	w.sees(copilotAsks)
	w.types("Enter")
	l.runs("second")
	l.goesOn("hello second")
	l.must(l.office.Process.Signal(sigCont))
	l.settled()
	l.must(l.office.Process.Kill())
	_ = l.office.Wait() // it was killed
	l.office = nil
	w.waitReady()
	w.prompt("hello killed [[sh touch killed]] [[say bye]]")
	w.sees(copilotAsks)
	w.types("Enter")
	l.runs("killed")
	l.goesOn("hello killed")
}

// copilotHeadless: a headless run asks no one, unless the person is away.
func copilotHeadless(t *testing.T, l *lab) {
	l.install()
	<-l.begin("hello headless [[sh touch never]] [[say bye]]")
	if l.exists("never") || len(l.dialogEvents()) > 0 {
		t.Errorf("the tool ran: %t; the journal has %+v", l.exists("never"), l.dialogEvents())
	}
	l.pp("away", "--for", "10m")
	done := l.begin("hello again [[sh touch headless]] [[say bye]]")
	l.answers(l.asks("touch headless"), "allow")
	l.finished(done)
	l.runs("headless")
	l.ended("allowed user terminal")
}

// copilotTwo: for two commands in one message there are two dialogs, and each shows its own command.
func copilotTwo(t *testing.T, l *lab) {
	w := l.copilotAt("hello two [[sh touch one]] [[sh touch two]] [[say bye]]")
	for _, name := range []string{"one", "two"} {
		c := l.asks("touch " + name)
		if c.Cut {
			t.Errorf("the card is %+v", c)
		}
		w.sees(copilotAsks)
		w.types("Enter")
		l.runs(name)
	}
	l.settled()
	l.ended("allowed client", "allowed client")
}

// copilotBeside describes Copilot with our extension, which may answer.
func copilotBeside() beside {
	return beside{
		install: func(l *lab) {
			l.pp("install", "copilot", "--dialogs")
			l.startOffice()
		},
		open: func(l *lab) *terminal {
			w := l.open(l.version.program, "--experimental")
			w.sees("This extension wants to: handle permission requests.")
			w.types("2") // always, in this repository
			w.closed("This extension wants to")
			w.waitReady()
			return w
		},
		asks: copilotAsks, askedWhich: copilotAsksWhich,
		allows: []string{"Enter"}, first: []string{"Enter"}, refuses: copilotRefuses,
		question: copilotQuestion, answered: "User responded: SQLite",
		denied: "The user rejected this tool call. User feedback: %s",
	}
}

// copilotNoConsent: an extension that may not answer leaves the dialogs to the hooks.
func copilotNoConsent(t *testing.T, l *lab) {
	copilotBeside().setUp(l)
	w := l.open(l.version.program, "--experimental")
	w.sees("This extension wants to")
	w.types("3")
	w.closed("This extension wants to")
	w.waitReady()
	w.prompt("hello no [[sh touch no]] [[say bye]]")
	c := l.shown(w, copilotAsks, "touch no")
	if c.Here {
		t.Errorf("the card is %+v", c)
	}
	w.types("Enter")
	l.runs("no")
	l.settled()
}

// copilotBesideSubagent: a subagent's dialog is one card, and answered there.
func copilotBesideSubagent(t *testing.T, l *lab) {
	b := copilotBeside()
	w := b.begin(l, "hello parent "+l.client.subagent("hello child [[sh touch child]] [[say done]]")+" [[say bye]]")
	l.shown(w, b.asks, "touch child")
	time.Sleep(2 * time.Second) // until every source has reported it
	cards := l.cards()
	if len(cards) != 1 || !cards[0].Here {
		t.Fatalf("the cards are %+v", cards)
	}
	l.answers(cards[0], "allow")
	l.runs("child")
	l.settled()
	l.turnOver()
	l.ended("allowed user terminal")
}
