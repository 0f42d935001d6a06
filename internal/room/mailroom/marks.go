package mailroom

import (
	"unique"

	"pennypost/internal/mail"
)

// marks are the latest receipts of one member. A zero time means "not so".
type marks struct {
	who            *member
	read, archived mail.Time
	more           *shown // nil: it was only read or archived, or nothing
}

// shown is how a message was brought before its reader, and put off by it.
type shown struct {
	notified, presented         mail.Time
	told                        mail.Time // when a client was handed it, until that is proven or refuted
	mentioned                   mail.Seq  // where it was last handed over, or a hook last pointed to it
	handedOver                  mail.Seq  // where its text was last handed over
	snoozed                     mail.Time // until then
	notifiedDoor, presentedDoor door
}

// door is the name of a door. There are few, and they are written often.
type door struct{ unique.Handle[string] }

func doorOf(name string) door {
	if name == "" {
		return door{}
	}
	return door{unique.Make(name)}
}

func (d door) name() string {
	if d == (door{}) {
		return ""
	}
	return d.Value()
}

// shown returns how it was brought before its reader.
func (k *marks) shown() shown {
	if k.more == nil {
		return shown{}
	}
	return *k.more
}

// pending reports whether the session that was told is still there, and may yet show that its model was given the
// text.
func (k *marks) pending() bool {
	was := k.shown()
	return was.told != 0 && k.who.Session != "" && was.handedOver > k.who.Began
}

// marksOf returns the marks of a member, nil if there are none.
func (r *record) marksOf(m *member) *marks {
	for i := range r.marks {
		if r.marks[i].who == m {
			return &r.marks[i]
		}
	}
	return nil
}

func (r *record) readBy(m *member) bool {
	k := r.marksOf(m)
	return k != nil && k.read != 0
}

// snoozedBy returns until when m has put r off, zero if that is over.
func (r *record) snoozedBy(m *member, now mail.Time) mail.Time {
	if k := r.marksOf(m); k != nil && k.shown().snoozed > now {
		return k.more.snoozed
	}
	return 0
}

// settledBy reports whether m has read or archived r.
func (r *record) settledBy(m *member) bool {
	k := r.marksOf(m)
	return k != nil && (k.read != 0 || k.archived != 0)
}

// set makes a receipt one of its reader's marks.
func (k *marks) set(rc *mail.Receipt, at mail.Time) {
	was := k.shown()
	switch rc.Mark {
	case mail.MarkNotified:
		was.notified, was.notifiedDoor = at, doorOf(rc.Door)
	case mail.MarkTold:
		was.told = at
	case mail.MarkUntold:
		was.told, was.notified, was.notifiedDoor = 0, 0, door{}
	case mail.MarkPresented:
		was.presented, was.presentedDoor, was.told = at, doorOf(rc.Door), 0
	case mail.MarkRead:
		k.read, was.snoozed = at, 0
	case mail.MarkUnread:
		k.read, was.snoozed = 0, 0
	case mail.MarkArchived:
		k.archived, was.snoozed = at, 0
	case mail.MarkUnarchived:
		k.archived = 0
	case mail.MarkSnoozed:
		was.snoozed = rc.Until
	}
	k.setShown(was)
}

// setShown changes how it was brought before its reader.
func (k *marks) setShown(now shown) {
	switch {
	case now == k.shown():
	case now == shown{}:
		k.more = nil
	default:
		k.more = new(now) // records on their way to the archive share the old one
	}
}
