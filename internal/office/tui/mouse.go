package tui

// wheelStep is how many lines a step of the wheel scrolls.
const wheelStep = 3

type (
	// clicked is a press of the first mouse button.
	clicked struct{ x, y int }
	// wheeled is a step of the wheel, 1 down or -1 up.
	wheeled int
)

// A click chooses the tab, row or option drawn there. While a text or choice is open it does nothing, since its
// effect would be hidden.
func (at clicked) change(m *model) []effect {
	if m.leaving || m.box != nil || m.choice != nil {
		return nil
	}
	s := m.view()
	if m.help || at.y >= len(s.lines) {
		m.help = false
		return nil
	}
	var st style
	x := 0
	for _, part := range s.lines[at.y] {
		if x += columns(part.text); at.x < x {
			st = part.style
			break
		}
	}
	number := int(st >> numbered)
	switch st & clickKind {
	case clickTab:
		m.talk, m.dialog = nil, nil
		return m.show(tab(number))
	case clickRow:
		return m.clickRow(number)
	case clickDigit:
		return m.key(itoa(number))
	}
	return nil
}

// clickRow moves the cursor to a row and opens it. With two panes, the first click only shows its letter beside the
// list.
func (m *model) clickRow(at int) []effect {
	top, cursor := 0, 0
	if l := m.shown(); l != nil {
		top, cursor = l.top, l.cursor
	} else {
		top, cursor = m.entries().top, m.entries().cursor
	}
	out := m.move(top + at - cursor)
	if m.twoPanes() && top+at != cursor {
		return out
	}
	return append(out, m.open()...)
}

func (n wheeled) change(m *model) []effect {
	switch lines := wheelStep * int(n); {
	case m.leaving || m.box != nil || m.choice != nil || m.help:
		return nil
	case m.dialog != nil:
		m.scrollDialog(lines)
	case m.talk != nil:
		m.scroll(lines)
	default:
		return m.move(int(n))
	}
	return nil
}
