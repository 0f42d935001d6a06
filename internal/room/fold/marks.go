package fold

import (
	"unique"

	"pennypost/internal/mail"
)

// marks are the latest receipts of one member. A zero time means "not so".
type marks struct {
	Who            *Member
	read, Archived mail.Time
	more           *shown // nil: it was only read or archived, or nothing
}

// shown is how a message was presented to its reader, and put off by it.
type shown struct {
	notified, Presented         mail.Time
	Told                        mail.Time // when a client was handed it, until that is proven or refuted
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

// Shown returns how a message was presented to its reader.
func (k *marks) Shown() shown {
	if k.more == nil {
		return shown{}
	}
	return *k.more
}

// pending reports whether the session that was told is still there, and may still show that its model was given the
// text.
func (k *marks) pending() bool {
	was := k.Shown()
	return was.Told != 0 && k.Who.Session != "" && was.handedOver > k.Who.Began
}

// MarksOf returns the marks of a member, nil if there are none.
func (r *Record) MarksOf(m *Member) *marks {
	for i := range r.marks {
		if r.marks[i].Who == m {
			return &r.marks[i]
		}
	}
	return nil
}

func (r *Record) readBy(m *Member) bool {
	k := r.MarksOf(m)
	return k != nil && k.read != 0
}

// SnoozedBy returns until when m has put r off, zero if that is over.
func (r *Record) SnoozedBy(m *Member, now mail.Time) mail.Time {
	if k := r.MarksOf(m); k != nil && k.Shown().snoozed > now {
		return k.more.snoozed
	}
	return 0
}

// SettledBy reports whether m has read or archived r.
func (r *Record) SettledBy(m *Member) bool {
	k := r.MarksOf(m)
	return k != nil && (k.read != 0 || k.Archived != 0)
}

// set makes a receipt one of its reader's marks.
func (k *marks) set(rc *mail.Receipt, at mail.Time) {
	was := k.Shown()
	switch rc.Mark {
	case mail.MarkNotified:
		was.notified, was.notifiedDoor = at, doorOf(rc.Door)
	case mail.MarkTold:
		was.Told = at
	case mail.MarkUntold:
		was.Told, was.notified, was.notifiedDoor = 0, 0, door{}
	case mail.MarkPresented:
		was.Presented, was.presentedDoor, was.Told = at, doorOf(rc.Door), 0
	case mail.MarkRead:
		k.read, was.snoozed = at, 0
	case mail.MarkUnread:
		k.read, was.snoozed = 0, 0
	case mail.MarkArchived:
		k.Archived, was.snoozed = at, 0
	case mail.MarkUnarchived:
		k.Archived = 0
	case mail.MarkSnoozed:
		was.snoozed = rc.Until
	}
	k.setShown(was)
}

// setShown changes how a message was presented to its reader.
func (k *marks) setShown(now shown) {
	switch {
	case now == k.Shown():
	case now == shown{}:
		k.more = nil
	default:
		k.more = new(now) // records on their way to the archive share the old one
	}
}
