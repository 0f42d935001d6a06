package tui

// From fromTwo columns on, the letter under the cursor is shown beside the list, which is then listWidth wide.
const (
	fromTwo   = 120
	listWidth = 62
)

// twoPanes reports whether the letter under the cursor is shown beside the list.
func (m *model) twoPanes() bool {
	return m.width >= fromTwo && m.tab != agents && m.talk == nil && m.dialog == nil
}

// beside is the model for the letter beside the list.
func (m *model) beside() *model {
	right := *m
	right.width, right.height = m.width-listWidth-1, m.height-m.boxHeight()
	right.talk, right.dialog, right.box = m.peek.talk, m.peek.dialog, nil
	return &right
}

// peek is shown beside the list, which does not mark it read.
type peek struct {
	key    string
	talk   *talk
	dialog *dialog
}

// glance shows the row under the cursor beside the list. It opens no closed room.
func (m *model) glance() []effect {
	if !m.twoPanes() {
		return nil
	}
	p := peek{}
	if l := m.shown(); l != nil {
		if c := l.current(); c != nil && c.card != nil {
			p.key, p.dialog = keyOf(c), &dialog{card: *c.card}
		} else if c != nil && c.Folded == 0 {
			p.talk = &talk{room: c.Room, root: c.ThreadRoot(), subject: headline(&c.Message, c.Preview)}
			p.key = p.talk.key()
		}
	} else if e := m.pointed(); e != nil && e.asOf == 0 && e.thread() != "" {
		p.talk = &talk{room: e.room, root: e.thread(), subject: cleanLine(e.about())}
		p.key = p.talk.key()
	}
	if p.key == m.peek.key {
		return nil
	}
	m.peek = p
	return m.loadPeek()
}

// loadPeek loads the content beside the list.
func (m *model) loadPeek() []effect {
	switch {
	case m.peek.talk != nil:
		return []effect{loadTalk(m.peek.talk.room, m.peek.talk.root)}
	case m.peek.dialog != nil:
		return []effect{loadDialog(m.peek.dialog.card.ID)}
	}
	return nil
}

// viewPanes draws the list with the letter beside it.
func (m *model) viewPanes() []line {
	left := *m
	left.width, left.height, left.box = listWidth, m.height-m.boxHeight(), nil
	rows := left.viewRows()
	letter := m.viewLetter()
	out := make([]line, m.bodyRows())
	for i := range out {
		var l line
		if i < len(rows) {
			l = rows[i]
		}
		l = append(fill(l, listWidth), span{"│", grey})
		if i < len(letter) {
			l = append(l, letter[i]...)
		}
		out[i] = l
	}
	return out
}

// viewLetter draws the content beside the list.
func (m *model) viewLetter() []line {
	right := m.beside()
	switch {
	case right.dialog != nil:
		right.height--
		return append([]line{right.viewTitle()}, right.viewDialog()...)
	case right.talk != nil:
		right.height--
		return append([]line{right.viewTitle()}, right.viewTalk()...)
	}
	return nil
}

// takeTalk shows a loaded conversation beside the list, if it is still under the cursor.
func (m *model) takeTalk(msg talkLoaded) {
	t := m.peek.talk
	if t == nil || t.key() != msg.key || msg.err != nil {
		return
	}
	first := !t.loaded
	t.items, t.earlier, t.loaded, t.set = msg.page.Messages, msg.page.More, true, nil
	if first {
		t.top = m.beside().opening()
	}
}

// takeDialog shows a loaded dialog beside the list, if it is still under the cursor.
func (p *peek) takeDialog(msg dialogLoaded) {
	if d := p.dialog; d != nil && d.card.ID == msg.id && msg.card != nil && msg.err == nil {
		d.card, d.all, d.set = *msg.card, true, nil
	}
}
