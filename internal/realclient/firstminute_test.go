package realclient

import (
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// dialog is a question of a client, and the keys with which its user says yes.
type dialog struct {
	shows string
	keys  []string
}

// firstMinute: after install, in a folder that is new to the client, its user answers the dialogs that
// docs/clients.md names, and no other comes before a tool of ours, in any of its modes.
func firstMinute(t *testing.T, l *lab) {
	modes := l.client.modes
	if modes == nil {
		modes = [][]string{nil}
	}
	for _, mode := range modes {
		c := l.client
		c.trust, c.tui = nil, slices.Concat(c.tui, mode)
		first := newLab(t, c, l.version)
		first.pp("install", c.name)
		first.startOffice()
		id := first.letterForAll()
		w := first.open(append([]string{l.version.program}, first.client.tui...)...)
		w.begins()
		w.prompt("hello first [[say hi]]")
		w.answers(func() bool { return first.asked("hello first") })
		w.sees("hi") // the tools are loaded by then
		w.prompt("hello second " + first.allTools())
		first.usedAll(id)
		if len(first.agreed) != len(c.once) {
			t.Errorf("of the dialogs %v only %v came", c.once, first.agreed)
		}
	}
}

// unattended: a headless run that may use no tool without asking, and cannot ask, uses all of ours.
func unattended(_ *testing.T, l *lab) {
	l.install()
	id := l.letterForAll()
	l.finished(l.begin("hello alone " + l.allTools()))
	l.usedAll(id)
}

// answers answers the dialogs that the client's user answers, each once, until a condition holds.
func (t *terminal) answers(holds func() bool) {
	t.l.t.Helper()
	t.l.until(t.l.client.title+" goes on after its first dialogs", func() bool {
		screen := t.screen()
		for _, d := range t.l.client.once {
			if t.l.agreed[d.shows] || !strings.Contains(screen, d.shows) {
				continue
			}
			for _, key := range d.keys {
				t.answer(key)
			}
			t.l.agreed[d.shows] = true
			return false
		}
		return holds()
	})
}

// begins answers all questions that the client asks at its start, until it takes a prompt. The client may show a
// prompt before it asks, and between two of its questions.
func (t *terminal) begins() {
	t.l.t.Helper()
	t.answers(func() bool {
		return len(t.l.agreed) == len(t.l.client.once) && t.l.client.ready.MatchString(t.screen())
	})
}

// answer presses a key when the screen is still, as a person does, until the screen shows that it was accepted.
func (t *terminal) answer(key string) {
	t.l.t.Helper()
	before, still, looks, pressed := "", 0, 0, false
	t.l.until("the dialog takes "+key, func() bool {
		screen := t.screen()
		if screen == before {
			still++
		} else if before, still = screen, 0; pressed {
			return true
		}
		if looks++; still >= 20 || looks%60 == 0 { // a second, or three on a screen that is never still
			t.press(key) // again, because a starting client may lose it
			still, pressed = -20, true
		}
		return false
	})
}

// asked reports whether the model was asked with a text.
func (l *lab) asked(text string) bool {
	return slices.ContainsFunc(l.model.Requests(), func(r model.Request) bool { return r.Has(text) })
}

// letterForAll is mail for the script of allTools.
func (l *lab) letterForAll() mail.ID {
	l.t.Helper()
	l.pp("agents", "register", string(l.agent))
	return l.send(l.agent, "ZEBRA in the first minute", "--type", "status") // wakes no one
}

// allTools is a script in which an agent uses each of our tools once.
func (l *lab) allTools() string {
	use := func(name, input string) string { return "[[tool " + name + " " + input + "]] " }
	if l.client.uses != nil {
		use = l.client.uses
	}
	return use("list_agents", "{}") + use("read_messages", "{}") +
		use("mark_messages", `{"ids":["{{(msg_[A-Za-z0-9_-]+)}}"],"mark":"read"}`) +
		use("set_presence", `{"task":"TIGER at work"}`) +
		use("send_message", `{"to":["user"],"type":"status","body":"LION from the agent"}`) +
		use("wait_for_messages", `{"timeout_seconds":1}`) + " [[say bye]]"
}

// usedAll checks that an agent reached the end of allTools, and that its tools worked.
func (l *lab) usedAll(id mail.ID) {
	l.t.Helper()
	l.request("No mail came within 1s") // in the answer of the last
	if from := l.from("LION from the agent"); from != mail.AgentAddress(l.agent) {
		l.t.Errorf("its mail is from %s", from)
	}
	if marks := l.marks(id, l.agent); !slices.Contains(marks, mail.MarkRead) {
		l.t.Errorf("its letter has the marks %v", marks)
	}
	if a := l.agents(); a[0].Task != "TIGER at work" {
		l.t.Errorf("the roster has %+v", a)
	}
}
