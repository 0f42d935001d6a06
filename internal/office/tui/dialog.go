package tui

import (
	"context"
	"slices"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// dialog is the open dialog of an agent's client. It can be answered only here and not in the list, so that the
// person has seen all of it.
type dialog struct {
	card mail.Card
	all  bool   // card has its texts in full
	top  int    // the first line on the screen
	sent bool   // an answer is being sent
	hold string // why answers wait until the person presses Enter; "": they do not

	// For a form: the current question, the answers to earlier ones, and the ticked options.
	at     int
	given  []mail.QuestionAnswer
	ticked []string

	set   []line // its lines laid out for width; nil: not laid out yet
	width int
}

// press is the meaning of a digit at a dialog.
type press struct {
	triage.DialogChoice
	option string // an option of the current question; "": an answer to the whole dialog
}

func dialogKey(id mail.ID) string { return "dialog/" + string(id) }

// dialogRows makes rows of dialogs, longest waiting first.
func dialogRows(cards []mail.Card) []row {
	rows := make([]row, len(cards))
	for i := range cards {
		c := &cards[i]
		rows[i].card = c
		rows[i].Room, rows[i].From, rows[i].Sent = c.Room, mail.AgentAddress(c.Agent), c.Since
		rows[i].Subject, rows[i].Preview = triage.DialogTitle(c), triage.DialogGist(c)
	}
	return rows
}

// question returns the current question of a form. A single question with one option to choose is not a form, but may
// take an answer in words.
func (d *dialog) question() *mail.AskedQuestion {
	if asks, _ := triage.DialogAsks(&d.card); !asks || d.at >= len(d.card.Questions) {
		return nil
	}
	return &d.card.Questions[d.at]
}

// presses are the meanings of the digits.
func (d *dialog) presses() (list []press) {
	q := d.question()
	if _, form := triage.DialogAsks(&d.card); form && q != nil {
		for _, o := range q.Options {
			list = append(list, press{triage.DialogChoice{Label: o.Label, Note: o.Note}, o.Label})
		}
	}
	for _, c := range triage.DialogChoices(&d.card) {
		list = append(list, press{c, ""})
	}
	return list
}

// underCursor is the dialog under the list's cursor, or nil.
func (m *model) underCursor() *mail.Card {
	if l := m.shown(); l != nil && m.talk == nil {
		if c := l.current(); c != nil {
			return c.card
		}
	}
	return nil
}

func (m *model) openDialog(c *mail.Card) []effect {
	m.dialog, m.notice = &dialog{card: *c}, ""
	return []effect{loadDialog(c.ID)}
}

// dialogLoaded is a dialog in full; nil: it is no longer open.
type dialogLoaded struct {
	id   mail.ID
	card *mail.Card
	err  error
}

func loadDialog(id mail.ID) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		list, err := p.Dialogs(ctx, mail.DialogQuery{ID: id})
		for i := range list.Cards {
			if list.Cards[i].ID == id {
				return dialogLoaded{id, &list.Cards[i], err}
			}
		}
		return dialogLoaded{id, nil, err}
	})
}

func (msg dialogLoaded) change(m *model) []effect {
	d := m.dialog
	switch {
	case d == nil:
		m.peek.takeDialog(msg)
		return nil
	case d.card.ID != msg.id:
		return nil
	case msg.err != nil && m.notice != "":
		return nil // keep the earlier error on the screen
	case msg.err != nil:
		return m.unseen(msg.err)
	case msg.card == nil && d.sent:
		return nil // the answer's own result will be shown
	case msg.card == nil:
		m.closeDialog()
		return m.say("This dialog has closed: it was answered elsewhere, or its agent has left. Nothing was sent.")
	}
	if d.all && d.card.Sum != msg.card.Sum { // earlier answers were to another question
		d.hold, d.top, d.at, d.given, d.ticked = asksElse, 0, 0, nil, nil
	}
	d.card, d.all, d.set = *msg.card, true, nil
	return nil
}

// closeDialog returns to the list.
func (m *model) closeDialog() {
	if m.box != nil && m.box.for_ == toDialog {
		m.keepWords(m.box)
		m.box = nil
	}
	m.dialog = nil
	m.settle()
}

// atDialog handles keys at a dialog, in the list or open, where they differ from those for mail.
func (m *model) atDialog(k string) ([]effect, bool) {
	if m.dialog != nil {
		return m.inDialog(k)
	}
	c := m.underCursor()
	if c == nil {
		return nil, false
	}
	switch triage.Of(k) {
	case triage.Option, triage.Reply:
		out := m.openDialog(c)
		m.notice = "This is the question. A digit answers it."
		return out, true
	case triage.Archive, triage.Read, triage.Snooze, triage.Decline, triage.Adopt:
		return m.say("This is a dialog, not mail: it goes when it is answered, here or at its client. Enter shows " +
				"it."),
			true
	}
	if k == "R" || k == "ctrl+e" {
		return m.openDialog(c), true
	}
	return nil, false
}

// inDialog handles keys at the open dialog.
func (m *model) inDialog(k string) ([]effect, bool) {
	d := m.dialog
	if n, ok := steps(k, m.dialogRows()); ok {
		m.scrollDialog(n)
		return nil, true
	}
	switch k {
	case "?":
		return nil, false
	case "enter":
		if d.hold != "" {
			d.hold = ""
			return m.say(""), true
		}
		return m.ticked(), true
	case "backspace", "left":
		if d.at > 0 && !d.sent {
			d.at, d.ticked, d.top, d.set = d.at-1, nil, 0, nil
			return nil, true
		}
		m.closeDialog()
	case "q", "esc":
		m.closeDialog()
	case "n", "p":
		m.closeDialog()
		return append(m.move(map[string]int{"n": 1, "p": -1}[k]), m.open()...), true
	}
	switch triage.Of(k) {
	case triage.Undo:
		return m.takeBack(), true
	case triage.Reply:
		return m.ownWords(), true
	case triage.Option:
		return m.pressAt(int(k[0] - '0')), true
	}
	return nil, true
}

// Why a dialog takes no answer before Enter: it changed on the screen, or it opened by itself after an answer. A key
// pressed for one dialog must not answer the next.
const (
	asksElse   = "The question has changed; press Enter to continue."
	cameItself = "This is the next dialog. Press Enter, then an answer."
)

// takes reports whether the dialog can be answered here now; if not, it tells the person why.
func (m *model) takes() bool {
	switch d := m.dialog; {
	case d.sent, !d.all:
		return false
	case !d.card.Here:
		m.say("It cannot be answered from here: " + cleanLine(d.card.Why) + ".")
		return false
	case d.hold != "":
		m.say(d.hold)
		return false
	}
	return true
}

// pressAt handles the n-th digit.
func (m *model) pressAt(n int) []effect {
	d := m.dialog
	list := d.presses()
	switch {
	case !m.takes():
		return nil
	case n > len(list):
		return m.say("There are only " + wording.Plural(len(list), "answer") + ".")
	}
	p := list[n-1]
	switch q := d.question(); {
	case p.option != "" && q.Several:
		if at := slices.Index(d.ticked, p.option); at >= 0 {
			d.ticked = slices.Delete(d.ticked, at, at+1)
		} else {
			d.ticked = append(d.ticked, p.option)
		}
		return m.say("")
	case p.option != "":
		return m.answered(mail.QuestionAnswer{Labels: []string{p.option}})
	case p.Words:
		return m.words(cleanLine(p.Label), p.Answer, false)
	}
	return m.answerDialog(p.Answer, p.Label)
}

// ticked leaves a question that takes several options.
func (m *model) ticked() []effect {
	q := m.dialog.question()
	switch {
	case q == nil || !q.Several || !m.takes():
		return nil
	case len(m.dialog.ticked) == 0:
		return m.say("Nothing chosen: digits choose, enter continues.")
	}
	return m.answered(mail.QuestionAnswer{Labels: m.dialog.ticked})
}

// ownWords opens a line for an answer in the person's own words.
func (m *model) ownWords() []effect {
	q := m.dialog.question()
	switch {
	case !m.takes():
		return nil
	case q == nil || !q.Free:
		return m.say("Choose one of its answers: digits answer.")
	}
	return m.words("In your own words", mail.DialogAnswer{}, q.Secret)
}

// words opens a line for the words of an answer; without a verdict, they answer the current question.
func (m *model) words(title string, a mail.DialogAnswer, secret bool) []effect {
	m.box = newBox(title, "", toDialog)
	m.box.single, m.box.answer, m.box.secret = true, a, secret
	m.box.insert(m.drafts[dialogKey(m.dialog.card.ID)])
	return m.say("")
}

// keepWords saves unsent words as a draft.
func (m *model) keepWords(b *box) {
	if m.dialog != nil && !b.secret {
		m.drafts[dialogKey(m.dialog.card.ID)] = b.String()
	}
}

// submitWords answers with the written words.
func (m *model) submitWords(b *box, text string) []effect {
	m.keepWords(b)
	m.box = nil
	switch {
	case !m.takes():
		return nil
	case b.answer.Verdict != "":
		b.answer.Words = text
		return m.answerDialog(b.answer, b.title)
	case text == "":
		return m.say("The text is empty. Nothing was sent.")
	}
	return m.answered(mail.QuestionAnswer{Labels: m.dialog.ticked, Words: text})
}

// answered records the answer to the current question, and shows the next question or sends all answers.
func (m *model) answered(a mail.QuestionAnswer) []effect {
	d := m.dialog
	d.given = append(slices.Clip(d.given[:d.at]), a)
	if len(d.given) < len(d.card.Questions) {
		d.at, d.ticked, d.top, d.set = d.at+1, nil, 0, nil
		delete(m.drafts, dialogKey(d.card.ID))
		return m.say("")
	}
	what := "your answers"
	if len(d.given) == 1 && len(a.Labels) == 1 && a.Words == "" {
		what = a.Labels[0]
	}
	return m.answerDialog(mail.DialogAnswer{Dialog: d.card.ID, Sum: d.card.Sum, Verdict: mail.SayAnswer,
		Answers: d.given}, what)
}

// dialogAnswered is the result of an answer.
type dialogAnswered struct {
	id     mail.ID
	notice string
	err    error
}

// answerDialog sends an answer immediately: the client continues with it.
func (m *model) answerDialog(a mail.DialogAnswer, what string) []effect {
	d := m.dialog
	d.sent = true
	m.answers++
	m.notice = "Answering " + cleanLine(string(d.card.Agent)) + "…"
	notice := "Answered “" + shorten(cleanLine(what), 40) + "” to " + cleanLine(string(d.card.Agent)) +
		". It was delivered and cannot be undone."
	return []effect{call(func(ctx context.Context, p mail.Office) message {
		return dialogAnswered{a.Dialog, notice, p.AnswerDialog(ctx, a)}
	})}
}

func (msg dialogAnswered) change(m *model) []effect {
	m.answers--
	open := m.dialog != nil && m.dialog.card.ID == msg.id
	if msg.err == nil {
		delete(m.drafts, dialogKey(msg.id))
		m.lists[needs].remove(dialogKey(msg.id), m.listRows())
		m.waiting = max(0, m.waiting-1)
		if m.notice = msg.notice; open {
			m.closeDialog()
			return m.leave(nil, append(m.openNext(), m.reload()...))
		}
	} else {
		if open {
			m.dialog.sent = false
		}
		m.notice = "Not answered. " + cleanLine(msg.err.Error())
		if m.drafts[dialogKey(msg.id)] != "" {
			m.notice += " (Your text is kept.)"
		}
	}
	return m.leave(msg.err, m.reload())
}
