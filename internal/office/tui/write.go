package tui

import (
	"context"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// press answers with an option of the question.
func (m *model) press(n int) []effect {
	q := m.about()
	if q == nil {
		return nil
	}
	options := choices(&q.Item)
	switch {
	case len(options) == 0 && triage.AsksUser(&q.Item):
		return m.say("This question offers no options: r writes an answer.")
	case len(options) == 0:
		return nil
	case n > len(options):
		return m.say("There are " + wording.Plural(len(options), "option") + ".")
	}
	return m.onward(m.chooses(q, n))
}

// reply opens a box for an answer.
func (m *model) reply() []effect {
	q := m.about()
	if q == nil && m.tab >= agents {
		return m.composeHere()
	}
	return m.replyTo(q)
}

// replyTo opens a box for an answer to q. q is nil while a conversation is loading.
func (m *model) replyTo(q *subject) []effect {
	if q == nil {
		return nil
	}
	to := q.AnswerTo(mail.User)
	if len(to) == 0 {
		return m.say("No reply is possible: this is from the post office itself.")
	}
	verb := "Reply to "
	if triage.AsksUser(&q.Item) {
		verb = "Answer "
	}
	m.box = newBox(verb+recipients(to)+": "+headline(&q.Message, ""), m.draft(q.key()), toReply)
	m.box.subject = q
	return m.say("")
}

// replyInEditor opens the editor for an answer.
func (m *model) replyInEditor() []effect {
	if m.reply(); m.box == nil {
		return nil
	}
	return m.toEditor()
}

// toEditor moves the text of the box into the editor, with the message that it answers.
func (m *model) toEditor() []effect {
	q := m.box.subject
	if q == nil {
		return []effect{editor{text: m.box.String()}}
	}
	if q.Body != "" {
		return []effect{editor{m.box.String(), q.Body}}
	}
	return []effect{call(func(ctx context.Context, p mail.Office) message { // a row has no body
		svc, err := p.Room(ctx, q.room, mail.User)
		var full mail.Item
		if err == nil {
			full, err = svc.Message(ctx, q.ID)
		}
		return beside{full.Body, err}
	})}
}

// beside is the body of the message to quote in the editor.
type beside struct {
	text string
	err  error
}

func (msg beside) change(m *model) []effect {
	if msg.err != nil {
		return m.wrong(msg.err)
	}
	if m.box == nil {
		return nil
	}
	return []effect{editor{m.box.String(), msg.text}}
}

// Empty text is not sent.
func (msg edited) change(m *model) []effect {
	if m.box == nil {
		return nil
	}
	if msg.err != nil {
		return m.wrong(msg.err)
	}
	m.box.set(msg.text)
	return m.submit()
}

// write handles keys in a box.
func (m *model) write(k string) []effect {
	switch k {
	case "esc", "ctrl+c":
		return m.closeBox()
	case "ctrl+s", "ctrl+enter", "alt+enter", "ctrl+x":
		return m.submit()
	case "ctrl+e":
		if !m.box.single {
			return m.toEditor()
		}
	case "enter":
		if m.box.single {
			return m.submit()
		}
	}
	m.box.key(k, m.width-2)
	return m.boxChanged()
}

// boxChanged filters the list while its words are being typed.
func (m *model) boxChanged() []effect {
	if m.box.for_ != toFilter {
		return nil
	}
	m.filter.words = m.box.String()
	m.sift()
	return nil
}

// sift applies the filter's words to the lists.
func (m *model) sift() {
	for i := range m.lists {
		m.lists[i].filter(m.filter.words)
		m.lists[i].settle(m.listRows())
	}
	for i := range m.fleet {
		m.fleet[i].filter(m.filter.words)
		m.fleet[i].settle(m.bodyRows())
	}
}

// closeBox closes the box and saves its text as a draft.
func (m *model) closeBox() []effect {
	b := m.box
	m.box = nil
	switch b.for_ {
	case toFilter:
		return m.clearFilter()
	case toCompose:
		m.drafts[""] = b.String()
	case toReply:
		m.drafts[b.subject.key()] = b.String()
	case toDialog:
		m.keepWords(b)
	}
	if strings.TrimSpace(b.String()) != "" {
		m.notice = "Kept, not sent."
	}
	return nil
}

// submit acts on the text of the box.
func (m *model) submit() []effect {
	b := m.box
	text := strings.TrimRight(b.String(), "\n ")
	if b.for_ == toFilter {
		return m.searchFor(strings.TrimSpace(text))
	}
	if b.for_ == toDialog {
		return m.submitWords(b, strings.TrimSpace(text))
	}
	if strings.TrimSpace(text) == "" {
		m.box = nil
		return m.say("The text is empty. Nothing was sent.")
	}
	if b.for_ == toCompose {
		return m.sendComposed(text)
	}
	m.box = nil
	out := m.answer(b.subject, text)
	if triage.AsksUser(&b.subject.Item) {
		return m.onward(out)
	}
	return out
}

// searchFor searches all mail.
func (m *model) searchFor(words string) []effect {
	m.box = nil
	if m.tab >= agents || words == "" {
		return nil
	}
	m.filter = filter{search: words}
	m.sift()
	m.tab = updates
	m.lists[updates] = newList()
	m.notice = "Searching…"
	return []effect{search(m.room, words)}
}
