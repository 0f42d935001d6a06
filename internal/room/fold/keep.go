package fold

import (
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TrimStep is how many messages, or keys, retention handles at a time: the room is locked for a millisecond.
const TrimStep = 500

// ToRetain returns the facts about a message that retention needs. The files of all bridges have the messages up to
// written.
func (s Sight) ToRetain(r *Record, now mail.Time, written mail.Seq) policy.Held {
	settled, read, dead := s.settledEverywhere(r, now)
	return policy.Held{ID: r.Msg.ID, Sent: r.Msg.Sent, Settled: settled, Unread: !read,
		Lives: (!settled || dead) && r.Msg.TTLSeconds > 0 || !settled && r.waitsFor(s.Members[mail.User]),
		Unsettled: r.Open() || s.aboutOpen(r) || s.unsettledRole(r, now) ||
			r.SnoozedBy(s.Members[mail.User], now) != 0 || r.Seq > written}
}

// waitsFor reports whether m has r and has not read it.
func (r *Record) waitsFor(m *Member) bool { return r.Reaches(m) && !r.SettledBy(m) }

// HotAt returns a message that was hot at a checkpoint, nil if it was not: another machine may have trimmed it since,
// with a step after the checkpoint.
func (s *State) HotAt(id mail.ID, mark mail.Seq) *Record {
	if r := s.Records[id]; r != nil {
		return r
	}
	if s.Trims[id] > mark {
		return s.Leaving[id]
	}
	return nil
}

// Counts reports whether a receipt says something about a message that was hot at mark. A read that was taken back
// before does not.
func (s *State) Counts(rc *mail.Receipt, mark mail.Seq) bool {
	r, m := s.HotAt(rc.Message, mark), s.Members[rc.Reader.Signer()]
	return r != nil && (rc.Mark != mail.MarkRead || m != nil && r.readBy(m) || s.takenBack[rc.Message] > mark)
}
