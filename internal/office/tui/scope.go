package tui

import "pennypost/internal/mail"

// keep stores the choice of rooms for the next time.
type keep struct{ room mail.RoomName }

// switchScope switches between the room of the current item and all rooms.
func (m *model) switchScope() []effect {
	room := mail.RoomName("")
	if m.room == "" {
		if room = m.roomHere(); room == "" {
			return m.say("No row here whose room can be shown alone.")
		}
	}
	m.room, m.talk = room, nil
	m.lists, m.fleet = [agents]list{newList(), newList()}, newFleet()
	m.notRead, m.closed, m.filter = nil, nil, filter{}
	m.notice = "Showing all rooms."
	if room != "" {
		m.notice = "Showing only " + cleanLine(string(room)) + " · w shows all rooms"
	}
	return append(m.reload(), keep{room})
}

// otherScope names the scope that w switches to.
func (m *model) otherScope() string {
	if m.room != "" {
		return "all rooms"
	}
	return "this room"
}

// roomHere is the room of the current item; "": none.
func (m *model) roomHere() mail.RoomName {
	if m.talk != nil {
		return m.talk.room
	}
	if e := m.pointed(); e != nil {
		return e.room
	}
	if l := m.shown(); l != nil {
		if c := l.current(); c != nil && c.Folded == 0 {
			return c.Room
		}
	}
	return ""
}
