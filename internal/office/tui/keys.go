package tui

import (
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// named are the names of keys that are not characters.
var named = []string{"enter", "esc", "tab", "backspace", "delete", "up", "down", "left", "right", "home", "end",
	"pgup",
	"pgdn", "insert"}

// key handles a key.
func (m *model) key(k string) []effect {
	m.first = false
	switch {
	case k == "ctrl+z":
		return []effect{suspend{}}
	case k == "ctrl+c" && m.box == nil:
		return m.quit()
	case m.leaving:
		return nil
	case m.help:
		m.help = false
		return nil
	case m.choice != nil:
		return m.choose(k)
	case m.box != nil:
		return m.write(k)
	}
	if out, ok := m.atDialog(k); ok {
		return out
	}
	if out, ok := m.anywhere(k); ok {
		return out
	}
	if m.talk != nil {
		return m.keyInTalk(k)
	}
	return m.keyInList(k)
}

// anywhere handles keys that mean the same in lists and conversations.
func (m *model) anywhere(k string) ([]effect, bool) {
	switch k {
	case "?":
		m.help = true
		return nil, true
	case "R", "ctrl+e":
		return m.replyInEditor(), true
	case "w":
		return m.switchScope(), true
	case "S":
		return m.sendHeld(), true
	}
	if out, ok := m.mend(k); ok {
		return out, true
	}
	switch triage.Of(k) {
	case triage.Undo:
		return m.takeBack(), true
	case triage.Compose:
		return m.composeHere(), true
	case triage.Reply:
		return m.reply(), true
	case triage.Archive:
		return m.archive(), true
	case triage.Read:
		return m.toggleRead(), true
	case triage.Snooze:
		return m.askSnooze(), true
	case triage.Decline:
		return m.askDecline(), true
	case triage.Adopt:
		return m.adopt(), true
	case triage.Option:
		return m.press(int(k[0] - '0')), true
	}
	return nil, false
}

func (m *model) keyInTalk(k string) []effect {
	if n, ok := steps(k, m.talkRows()-1); ok {
		m.scroll(n)
		return nil
	}
	switch k {
	case "n", "p":
		return append(m.move(map[string]int{"n": 1, "p": -1}[k]), m.open()...)
	case "q", "esc", "left", "backspace":
		m.talk = nil
		m.settle()
	}
	return nil
}

func (m *model) keyInList(k string) []effect {
	if n, ok := steps(k, m.listRows()); ok {
		return m.move(n)
	}
	switch k {
	case "tab", "right", "]":
		return m.show((m.tab + 1) % tabs)
	case "shift+tab", "left", "[":
		return m.show((m.tab + tabs - 1) % tabs)
	case "enter":
		return m.open()
	case "/":
		m.box = newBox("/", m.filter.words, toFilter)
	case "esc":
		return m.clearFilter()
	case "q":
		return m.quit()
	}
	return nil
}

// show switches to another list.
func (m *model) show(t tab) []effect {
	m.tab = t
	m.notice = ""
	if p := m.entries(); p != nil {
		p.settle(m.bodyRows())
		return m.lookAround()
	}
	return m.more()
}

func (m *model) move(n int) []effect {
	if l := m.shown(); l != nil {
		l.move(n, m.listRows())
		return m.more()
	}
	m.entries().move(n, m.bodyRows())
	return nil
}

// clearFilter clears all filters.
func (m *model) clearFilter() []effect {
	if m.filter == (filter{}) {
		return nil
	}
	if m.filter.from != "" || m.filter.status || m.filter.search != "" {
		m.lists[updates] = newList()
	}
	m.filter = filter{}
	m.notice = ""
	m.sift()
	return m.reload()
}

// row returns the current conversation: the open one, or the one under the cursor.
func (m *model) row() *mail.Conversation {
	if m.talk != nil {
		for i := range m.lists {
			if at := m.lists[i].at(m.talk.key()); at >= 0 {
				return &m.lists[i].rows[at].Conversation
			}
		}
		return nil
	}
	if l := m.shown(); l != nil {
		if c := l.current(); c != nil && c.card == nil {
			return &c.Conversation
		}
	}
	return nil
}

// subject is a message to answer, fixed when the person begins: the cursor may move meanwhile.
type subject struct {
	room mail.RoomName
	mail.Item
}

// about returns the message that an answer would reply to, nil if there is none.
func (m *model) about() *subject {
	if m.talk != nil {
		if it := m.talk.target(); it != nil {
			return &subject{m.talk.room, *it}
		}
		return nil
	}
	if c := m.row(); c != nil && c.Folded == 0 {
		return &subject{c.Room, c.Item}
	}
	return nil
}

// key is the key of its conversation.
func (s *subject) key() string { return talkKey(s.room, s.ThreadRoot()) }
