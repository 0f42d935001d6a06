package realclient

import (
	"maps"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// showsIn is the limit between a dialog on the screen and its card on the desk, for a client that reports it
// immediately.
const showsIn = time.Second

// beside describes a client that shows its own dialog while the desk has the card.
type beside struct {
	install func(l *lab) // nil: (*lab).install
	// open opens a session that asks before it runs a command.
	open func(l *lab) *terminal
	// asks and askedWhich are on the screen during a permission dialog and during a question.
	asks, askedWhich string
	// allows are the keys that allow a permission there; first answers a question with its first option.
	allows, first []string
	refuses       func(w *terminal) // refuses a permission there
	// question is the directive that makes the model ask "Which database?" with the options Postgres and SQLite, and
	// answered is the tool result when the answer is SQLite.
	question, answered string
	// denied is the tool result after a refusal, with %s for the person's words.
	denied string
	// more are additional scenarios.
	more map[string]func(*testing.T, *lab)
}

// scenarios are the scenarios of such a client; their names begin with word.
func (b beside) scenarios(word string) []scenario {
	all := map[string]func(*testing.T, *lab){
		word + "Allow": b.allow, word + "There": b.there, word + "Refused": b.refused, word + "Deny": b.deny,
		word + "Question": b.asked, word + "QuestionThere": b.askedThere,
		word + "Esc": b.esc, word + "Frozen": b.frozen, word + "NoOffice": b.noOffice,
		word + "Restart": b.restart, word + "Killed": b.killed, word + "Together": b.together,
	}
	maps.Copy(all, b.more)
	return dialogScenarios(all)
}

// begin opens a session and gives it a prompt.
func (b beside) begin(l *lab, prompt string) *terminal {
	l.t.Helper()
	b.setUp(l)
	w := b.open(l)
	w.prompt(prompt)
	return w
}

func (b beside) setUp(l *lab) {
	l.t.Helper()
	if b.install == nil {
		l.install()
		return
	}
	b.install(l)
}

// shown waits until a dialog is on the screen and its card on the desk.
func (l *lab) shown(w *terminal, screen string, texts ...string) mail.Card {
	l.t.Helper()
	w.sees(screen)
	began := time.Now()
	c := l.card(texts...)
	took := time.Since(began)
	l.t.Logf("on the desk %v after it was on the screen", took)
	if took > showsIn {
		l.t.Errorf("the card came %v after the dialog, want at most %v", took, showsIn)
	}
	if s := l.state(c.Agent); s != mail.Asking {
		l.t.Errorf("%s is at a dialog, and is said to be %s", c.Agent, s)
	}
	return c
}

// types presses keys at a person's speed.
func (w *terminal) types(keys ...string) {
	w.l.t.Helper()
	for _, key := range keys {
		w.press(key)
		time.Sleep(fingers)
	}
}

// closed waits until a dialog has left the screen.
func (w *terminal) closed(dialog string) {
	w.l.t.Helper()
	w.l.until("the dialog has gone: "+dialog, func() bool { return !strings.Contains(w.screen(), dialog) })
}

// turnOver waits until the turn has ended.
func (l *lab) turnOver() {
	l.t.Helper()
	l.until("the turn has ended", func() bool { return l.state(l.agent) == mail.Idle })
}

// goesOn waits until the model was asked again in a turn that used one tool.
func (l *lab) goesOn(prompt string) {
	l.t.Helper()
	l.until("the model was asked again", func() bool {
		n := 0
		for _, r := range l.model.Requests() {
			if len(r.Tools) > 0 && r.Has(prompt) && r.Answer != "" {
				n++
			}
		}
		return n >= 2
	})
}

// allow: a command is on the desk while its dialog is open, and is allowed from there, once.
func (b beside) allow(t *testing.T, l *lab) {
	w := b.begin(l, "hello dialog [[sh touch dialog]] [[say bye]]")
	c := l.shown(w, b.asks, "touch dialog")
	if c.Text != "touch dialog" || c.Form != mail.FormCommand || !c.Beside || !c.Here {
		t.Errorf("the card is %+v", c)
	}
	began := time.Now()
	l.answers(c, "allow")
	l.runs("dialog")
	l.seconds = time.Since(began)
	l.settled()
	w.closed(b.asks)
	l.turnOver()
	l.refused(c, "called", "allow")
	l.ended("allowed user terminal")
}

// there: a dialog answered at the client leaves the desk, and a late answer changes nothing, not even the next
// dialog.
func (b beside) there(t *testing.T, l *lab) {
	w := b.begin(l, "hello there [[sh touch one]] [[sh touch two]] [[say bye]]")
	c := l.shown(w, b.asks, "touch one")
	w.types(b.allows...)
	l.runs("one")
	two := l.card("touch two")
	l.ended("allowed client")
	l.refused(c, "called", "allow")
	time.Sleep(time.Second) // time for a late answer to do harm
	if l.exists("two") {
		t.Error("a late answer allowed the next tool")
	}
	l.answers(two, "allow")
	l.runs("two")
	l.settled()
	l.turnOver()
	l.ended("allowed client", "allowed user terminal")
}

// refused: a dialog refused at the client leaves the desk.
func (b beside) refused(t *testing.T, l *lab) {
	w := b.begin(l, "hello refused [[sh touch refused]] [[say bye]]")
	l.shown(w, b.asks, "touch refused")
	b.refuses(w)
	w.closed(b.asks)
	l.settled()
	if got := l.outcomes(); len(got) != 1 || !strings.HasSuffix(got[0], " client") ||
		strings.HasPrefix(got[0], "allowed") || l.exists("refused") {
		t.Errorf("it ended %q; the tool ran: %t", got, l.exists("refused"))
	}
}

// deny: the person's words with a denial reach the model, and the turn continues.
func (b beside) deny(t *testing.T, l *lab) {
	const words = `Not here: use the branch <x> & "wait".`
	w := b.begin(l, "hello denied [[sh touch denied]] [[say bye]]")
	c := l.shown(w, b.asks, "touch denied")
	l.answers(c, "deny", words)
	r := l.request("hello denied", words)
	l.settled()
	if l.exists("denied") {
		t.Error("what was denied has run")
	}
	if want := strings.ReplaceAll(b.denied, "%s", words); !r.Has(want) {
		t.Errorf("the model is not told %q", want)
	}
	w.closed(b.asks)
	l.ended("denied user terminal")
}

// asked: a question has its options on the desk, and is answered with one.
func (b beside) asked(t *testing.T, l *lab) {
	w := b.begin(l, "hello question "+b.question+" [[say bye]]")
	c := l.shown(w, b.askedWhich, "Which database?")
	if c.Kind != mail.AsksQuestion || len(c.Questions) != 1 || len(c.Questions[0].Options) != 2 || !c.Here {
		t.Errorf("the card is %+v", c)
	}
	l.answers(c, "2")
	l.request("hello question", b.answered)
	l.settled()
	w.closed(b.askedWhich)
	l.ended("answered user terminal")
}

// askedThere: a question answered at the client leaves the desk.
func (b beside) askedThere(_ *testing.T, l *lab) {
	w := b.begin(l, "hello question "+b.question+" [[say bye]]")
	l.shown(w, b.askedWhich, "Which database?")
	w.types(b.first...)
	l.request("hello question", strings.ReplaceAll(b.answered, "SQLite", "Postgres"))
	l.settled()
	l.ended("answered client")
}

// esc: a turn interrupted at its dialog leaves no card, and the next question is another dialog.
func (b beside) esc(t *testing.T, l *lab) {
	w := b.begin(l, "hello esc [[sh touch esc]] [[say never]]")
	l.shown(w, b.asks, "touch esc")
	l.until("the dialog has gone", func() bool {
		w.types("Escape")
		return !strings.Contains(w.screen(), b.asks)
	})
	l.settled()
	w.waitReady()
	time.Sleep(time.Second) // a letter right after Esc is another key
	w.prompt("hello again [[sh touch again]] [[say bye]]")
	l.answers(l.shown(w, b.asks, "touch again"), "allow")
	l.runs("again")
	if l.exists("esc") {
		t.Error("what was broken off has run")
	}
	l.settled()
}

// frozen: a frozen post office leaves the dialog as it is, and its card is removed once there is proof of the end.
func (b beside) frozen(_ *testing.T, l *lab) {
	w := b.begin(l, "hello frozen [[sh touch frozen]] [[say bye]]")
	l.shown(w, b.asks, "touch frozen")
	l.must(l.office.Process.Signal(sigStop))
	time.Sleep(5 * time.Second) // the hook has given up
	w.sees(b.asks)
	w.types(b.allows...)
	l.runs("frozen")
	l.goesOn("hello frozen")
	l.must(l.office.Process.Signal(sigCont))
	w.prompt("hello again [[sh touch again]] [[say bye]]")
	l.answers(l.shown(w, b.asks, "touch again"), "allow")
	l.runs("again")
	l.settled()
}

// noOffice: a post office that is killed, or was never there, disturbs neither dialog nor client.
func (b beside) noOffice(_ *testing.T, l *lab) {
	w := b.begin(l, "hello killed [[sh touch killed]] [[say bye]]")
	l.shown(w, b.asks, "touch killed")
	l.must(l.office.Process.Kill())
	_ = l.office.Wait() // it was killed
	l.office = nil
	time.Sleep(time.Second)
	w.sees(b.asks)
	w.types(b.allows...)
	l.runs("killed")
	l.goesOn("hello killed")
	w.waitReady()
	w.prompt("hello without [[sh touch without]] [[say bye]]")
	w.sees(b.asks)
	w.types(b.allows...)
	l.runs("without")
	l.goesOn("hello without")
	l.startOffice()
	w.waitReady()
	w.prompt("hello again [[sh touch again]] [[say bye]]")
	l.answers(l.shown(w, b.asks, "touch again"), "allow")
	l.runs("again")
	l.turnOver()
	l.settled()
}

// restart: a dialog that is open while the post office restarts is still on the desk, takes no answer there, and is
// removed when it is answered at the client.
func (b beside) restart(_ *testing.T, l *lab) {
	w := b.begin(l, "hello restart [[sh touch restart]] [[say bye]]")
	l.shown(w, b.asks, "touch restart")
	l.stopOffice()
	l.startOffice()
	l.refused(l.asks("touch restart"), "its terminal", "allow")
	w.types(b.allows...)
	l.runs("restart")
	l.settled()
	l.turnOver()
}

// killed: a client that is killed at its dialog leaves no card and no process.
func (b beside) killed(_ *testing.T, l *lab) {
	w := b.begin(l, "hello gone [[sh touch gone]] [[say never]]")
	l.shown(w, b.asks, "touch gone")
	l.kill()
	l.settled()
	l.alone()
}

// together: the desk and the person at the client answer at the same moment, one yes and the other no. One answer
// counts each time, and the journal has that one.
func (b beside) together(t *testing.T, l *lab) {
	b.setUp(l)
	w := b.open(l)
	desk := 0
	for i := range 8 {
		name := "together" + string(rune('a'+i))
		w.closed(b.asks)
		w.waitReady()
		time.Sleep(time.Second) // an extra key may have gone into the prompt
		w.prompt("hello " + name + " [[sh touch " + name + "]] [[say bye]]")
		looks := 0
		l.until("the dialog of "+name, func() bool { // Copilot CLI gives back a prompt that follows too soon
			if looks++; looks%100 == 0 && l.client.pastes {
				t.Logf("%s: Enter again", name)
				w.press("Enter")
			}
			return strings.Contains(w.screen(), b.asks)
		})
		c := l.shown(w, b.asks, "touch "+name)
		said := make(chan error, 1)
		go func() {
			time.Sleep(time.Duration(i) * 20 * time.Millisecond)
			_, err := l.try("answer", string(c.ID), "deny", "from the desk")
			said <- err
		}()
		w.types(b.allows...)
		err := <-said
		l.turnOver()
		l.settled()
		want := "allowed client"
		if err == nil {
			want, desk = "denied user terminal", desk+1
		}
		if got := l.outcomes(); len(got) != i+1 || got[i] != want || l.exists(name) != (err != nil) {
			t.Errorf("%s: the desk: %v; the tool ran: %t; the journal: %q", name, err, l.exists(name), got)
		}
	}
	t.Logf("the desk was first %d times of 8", desk)
}
