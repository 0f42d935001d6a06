package realclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// nativeDialog is a client's own dialog, for the scenarios of clients that show it and report it.
type nativeDialog struct {
	shows string   // on the screen during the dialog
	yes   []string // keys that allow it
	no    []string // keys that refuse it
}

// The longest delay of a card after its dialog, and of its removal after proof that the dialog is over.
const (
	cardWithin    = time.Second
	settledWithin = 2 * time.Second
)

// shows prompts for a tool that the client asks about, and returns the card, which must appear within a second of the
// dialog.
func (l *lab) shows(w *terminal, d nativeDialog, name, tool string, fits func(*mail.Card) bool) mail.Card {
	l.t.Helper()
	before := strings.Count(w.screen(), d.shows)
	w.prompt("hello " + name + " " + tool + " [[say bye " + name + "]]")
	shown := make(chan time.Time, 1)
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with this function
		for tick := time.Tick(20 * time.Millisecond); ; {
			if strings.Count(w.screen(), d.shows) > before {
				shown <- time.Now()
				return
			}
			select {
			case <-tick:
			case <-done:
				return
			}
		}
	}()
	c := l.cardOf(name, fits)
	seen := time.Now()
	select {
	case at := <-shown:
		l.t.Logf("%s: the card came %v after the dialog", name, seen.Sub(at))
		if late := seen.Sub(at); late > cardWithin {
			l.t.Errorf("%s: the card came %v after the dialog", name, late)
		}
	default:
		l.t.Logf("%s: the card came before the dialog", name)
		l.until("the dialog of "+name, func() bool { return strings.Count(w.screen(), d.shows) > before })
	}
	if s := l.state(l.agent); s != mail.Asking {
		l.t.Errorf("%s: the agent is said to be %s", name, s)
	}
	return c
}

// offDesk checks that a dialog is off the desk within two seconds from now.
func (l *lab) offDesk(c mail.Card) {
	l.t.Helper()
	began := time.Now()
	l.until("the dialog is settled", func() bool {
		for _, o := range l.cards() {
			if o.ID == c.ID {
				return false
			}
		}
		return true
	})
	took := time.Since(began)
	l.t.Logf("%s is off the desk within %v: %s", c.ID, took, l.howEnded(c.ID))
	if took > settledWithin {
		l.t.Errorf("%s was settled after %v", c.ID, took)
	}
}

// presses presses keys in a dialog until a condition holds: a terminal may lose one.
func (l *lab) presses(w *terminal, what string, holds func() bool, keys ...string) {
	l.t.Helper()
	looks := 0
	l.until(what, func() bool {
		if holds() {
			return true
		}
		if looks%60 == 0 {
			w.press(keys...)
		}
		looks++
		return false
	})
}

// cardOf waits for a card that fits.
func (l *lab) cardOf(what string, fits func(*mail.Card) bool) (c mail.Card) {
	l.t.Helper()
	l.until("a card of "+what, func() bool {
		for _, c = range l.cards() {
			if fits(&c) {
				return true
			}
		}
		return false
	})
	return c
}

// howEnded returns a dialog's outcome in the journal.
func (l *lab) howEnded(id mail.ID) (how string) {
	l.t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.dir, "pp", "rooms", "*", "mailbox.jsonl"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		l.must(err)
		for line := range strings.Lines(string(text)) {
			var event struct {
				Dialog mail.DialogChange `json:"dialog"`
			}
			l.must(json.Unmarshal([]byte(line), &event))
			if d := event.Dialog; d.ID == id && d.Outcome != "" {
				how = strings.Join(strings.Fields(string(d.Outcome)+" "+string(d.By)+" "+d.Where), " ")
			}
		}
	}
	return how
}

// textIs matches a card with a text.
func textIs(text string) func(*mail.Card) bool {
	return func(c *mail.Card) bool { return c.Text == text }
}

// notHere checks that a card cannot be answered from the desk, and says why.
func (l *lab) notHere(c mail.Card) {
	l.t.Helper()
	out, err := l.try("answer", string(c.ID), "allow")
	if c.Here || len(c.Offers) > 0 || c.Why == "" || err == nil {
		l.t.Errorf("%s is offered here: %+v\n%s", c.ID, c, out)
	}
}

// qwenDialogs: Qwen Code's dialog is seen immediately and answered in its terminal, or from the desk while the person
// is away. Qwen Code shows its dialog only after its hook has ended.
func qwenDialogs(t *testing.T, l *lab) {
	l.install()
	w := l.tui("--approval-mode", "default")
	d := nativeDialog{shows: "Yes, allow once", yes: []string{"Enter"}}
	c := l.shows(w, d, "one", "[[sh touch one]]", textIs("touch one"))
	l.notHere(c)
	l.presses(w, "the tool has run", func() bool { return l.exists("one") }, d.yes...)
	l.offDesk(c)
	w.sees("✦ bye one")
	c = l.shows(w, d, "two", "[[sh touch two]]", textIs("touch two"))
	w.breakOff()
	l.offDesk(c)
	if l.exists("two") {
		t.Error("something has allowed it")
	}
	l.pp("away", "--for", "10m")
	w.prompt("hello three [[sh touch three]] [[say bye three]]")
	c = l.cardOf("three", textIs("touch three"))
	if !c.Here || c.Beside {
		t.Errorf("away, the card is %+v", c)
	}
	began := time.Now()
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("three") })
	l.seconds = time.Since(began)
	l.offDesk(c)
	w.sees("✦ bye three")
	w.prompt("hello four [[sh touch four]] [[say bye four]]")
	c = l.cardOf("four", textIs("touch four"))
	l.pp("answer", string(c.ID), "deny", "use", "the", "OTTER", "instead")
	r := l.request("hello four", "use the OTTER instead")
	t.Logf("the model got %q", r.Parts[len(r.Parts)-1].Text)
	l.offDesk(c)
	if l.exists("four") {
		t.Error("what was denied was done")
	}
}

// geminiDialogs: Gemini CLI's dialog is seen, and answered in its terminal. Gemini CLI waits for the hook that
// reports a dialog, which must not delay it. After Esc no hook reports the end.
func geminiDialogs(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	d := nativeDialog{shows: "1. Allow once", yes: []string{"Enter"}}
	c := l.shows(w, d, "one", "[[sh touch one]]", textIs("touch one"))
	l.notHere(c)
	l.presses(w, "the tool has run", func() bool { return l.exists("one") }, d.yes...)
	w.sees("✦ bye one") // this request follows the hook that reports the tool's end
	l.offDesk(c)
	c = l.shows(w, d, "two", "[[sh touch two]]", textIs("touch two"))
	w.breakOff()
	began := time.Now()
	l.until("it is in doubt", func() bool {
		for _, o := range l.cards() {
			if o.ID == c.ID && o.Doubt {
				return true
			}
		}
		return false
	})
	t.Logf("in doubt after %v", time.Since(began))
	w.prompt("hello three [[say bye three]]")
	w.sees("✦ bye three")
	l.offDesk(c)
	if l.exists("two") {
		t.Error("something has allowed it")
	}
	question := `[[tool ask_user {"questions":[{"header":"DB","question":"Which database","type":"choice",` +
		`"options":[{"label":"SQLite","description":"small"},{"label":"Postgres","description":"big"}]}]}]]`
	d.shows = "Which database" // a question mark is a key of its own there
	w.prompt("hello four " + question + " [[say bye four]]")
	c = l.cardOf("four", func(c *mail.Card) bool { return c.Kind == mail.AsksQuestion })
	if len(c.Questions) != 1 || c.Questions[0].Text != d.shows || len(c.Questions[0].Options) != 2 {
		t.Errorf("the question is %+v", c)
	}
	l.notHere(c)
	w.sees("SQLite")
	l.presses(w, "it is answered", func() bool { return len(l.cards()) == 0 }, "Enter")
	w.sees("✦ bye four")
	l.offDesk(c)
	d.shows = "1. Allow once"
	c = l.shows(w, d, "five", `[[tool write_file {"file_path":"`+l.project+`/five","content":"ZEBRA\n"}]]`,
		func(c *mail.Card) bool { return c.Form == mail.FormContent })
	if c.Text != "ZEBRA\n" || c.Path != l.project+"/five" || c.Cut {
		t.Errorf("the write is %+v", c)
	}
	l.presses(w, "the tool has run", func() bool { return l.exists("five") }, d.yes...)
	l.offDesk(c)
}

// qwenDialogsOffice: a post office that is stopped blocks no dialog of Qwen Code: neither an open one, nor one whose
// hook waits for the person. An answer given meanwhile removes the card with the next prompt.
func qwenDialogsOffice(t *testing.T, l *lab) {
	l.install()
	w := l.tui("--approval-mode", "default")
	d := nativeDialog{shows: "Yes, allow once", yes: []string{"Enter"}}
	c := l.shows(w, d, "one", "[[sh touch one]]", textIs("touch one"))
	time.Sleep(20 * time.Second) // no one answers for a while
	l.stopOffice()
	l.presses(w, "the tool has run", func() bool { return l.exists("one") }, d.yes...)
	w.sees("✦ bye one")
	l.startOffice()
	w.prompt("hello two [[say bye two]]")
	w.sees("✦ bye two")
	l.offDesk(c)
	l.pp("away", "--for", "10m")
	w.prompt("hello three [[sh touch three]] [[say bye three]]")
	c = l.cardOf("three", textIs("touch three"))
	before := strings.Count(w.screen(), d.shows)
	l.stopOffice()
	began := time.Now()
	l.until("the dialog", func() bool { return strings.Count(w.screen(), d.shows) > before })
	t.Logf("the dialog stands %v after the post office was stopped", time.Since(began))
	l.presses(w, "the tool has run", func() bool { return l.exists("three") }, d.yes...)
	l.startOffice()
	w.prompt("hello four [[say bye four]]")
	w.sees("✦ bye four")
	l.offDesk(c)
}

// qwenDialogsOthers: Qwen Code's questions are seen, and answered in its terminal, even if the person is away; the
// whole text to write into a file is on the desk.
func qwenDialogsOthers(t *testing.T, l *lab) {
	l.install()
	l.pp("away", "--for", "10m")
	w := l.tui("--approval-mode", "default")
	question := `[[tool ask_user_question {"questions":[{"header":"DB","question":"Which database",` +
		`"multiSelect":false,"options":[{"label":"SQLite","description":"small"},{"label":"Postgres",` +
		`"description":"big"}]}]}]]`
	w.prompt("hello one " + question + " [[say bye one]]")
	c := l.cardOf("one", func(c *mail.Card) bool { return c.Kind == mail.AsksQuestion })
	if len(c.Questions) != 1 || c.Questions[0].Text != "Which database" || len(c.Questions[0].Options) != 2 {
		t.Errorf("the question is %+v", c)
	}
	l.notHere(c)
	w.sees("SQLite")
	l.presses(w, "it is answered", func() bool { return len(l.cards()) == 0 }, "Enter")
	w.sees("✦ bye one")
	w.prompt(`hello two [[tool write_file {"file_path":"` + l.project + `/two","content":"ZEBRA\n"}]] [[say bye two]]`)
	c = l.cardOf("two", func(c *mail.Card) bool { return c.Form == mail.FormContent })
	if c.Text != "ZEBRA\n" || c.Path != l.project+"/two" || c.Cut || !c.Here {
		t.Errorf("the write is %+v", c)
	}
	l.pp("answer", string(c.ID), "allow")
	l.until("the file is there", func() bool { return l.exists("two") })
	l.endedAs(c, "allowed user terminal")
}
