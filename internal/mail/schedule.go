package mail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Scheduler keeps what is to be sent later.
type Scheduler interface {
	// Scheduled lists what waits to be sent, the first due first: the caller's own, or all of it for the user.
	Scheduled(ctx context.Context) (ScheduledList, error)
	// Reschedule changes when it is sent next.
	Reschedule(ctx context.Context, r Rescheduling) (Scheduled, error)
	// Unschedule takes it back: it is not sent, and its text is not kept.
	Unschedule(ctx context.Context, id ID) error
}

// Later says when a draft is to be sent, if that is not now: at a time, after a time, or again and again.
type Later struct {
	At Time `json:"at,omitzero"`
	In int  `json:"in,omitzero"` // seconds from now, in place of At
	// Every is a line of cron, five fields, in the time zone Zone (IANA, such as Europe/Berlin). It lasts until Until,
	// or until it is taken back. Only the user may say it.
	Every string `json:"every,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Until Time   `json:"until,omitzero"`
}

// IsLater reports whether l says any time.
func (l Later) IsLater() bool { return l != Later{} }

// Limits of what is sent later.
const (
	MaxScheduled     = 1000                 // of the user
	MaxAhead         = 366 * 24 * time.Hour // of the user
	MaxScheduledMine = 20                   // of one agent
	MaxAheadMine     = 7 * 24 * time.Hour   // of an agent
	ScheduledApart   = 5 * time.Minute      // what an agent has sent later, from one to the next
)

// Scheduled is a message that waits to be sent.
type Scheduled struct {
	// ID is that of the message, once it is sent. What is sent again and again has a new one each time.
	ID    ID     `json:"id"`
	From  Name   `json:"from"`
	At    Time   `json:"at"` // when it is sent next
	Every string `json:"every,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Until Time   `json:"until,omitzero"`
	Made  Time   `json:"made"`
	Draft Draft  `json:"draft"`
	// Entry is the name that it has in the configuration; empty if somebody's command made it.
	Entry string `json:"entry,omitempty"`
}

// ScheduledList answers Scheduled.
type ScheduledList struct {
	Scheduled []Scheduled `json:"scheduled"`
}

// Rescheduling asks for another time: At, or In, in seconds from now.
type Rescheduling struct {
	ID ID   `json:"-"` // in the path
	At Time `json:"at,omitzero"`
	In int  `json:"in,omitzero"`
}

// ScheduleChange is the journal's record of what becomes of a message that is to be sent later: with Draft it is made;
// with End it is over; otherwise it is due at another time.
type ScheduleChange struct {
	ID    ID     `json:"id"`
	By    Name   `json:"by,omitempty"` // who changes it
	Draft *Draft `json:"draft,omitempty"`
	// From is whose it is.
	From Name `json:"from,omitempty"`
	Right
	Due   Time   `json:"due,omitzero"`
	Every string `json:"every,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Until Time   `json:"until,omitzero"`
	// Was is the time that it was due at: if it is due at another by now, the change does not count.
	Was Time `json:"was,omitzero"`
	End bool `json:"end,omitzero"`
	// Entry says that the configuration makes it, in place of what the entry had sent before; with End, that the entry
	// is no longer there. An entry that says what it said before does not count.
	Entry *ScheduleEntry `json:"entry,omitempty"`
}

// ScheduleEntry is an entry of the configuration that was obeyed. It is known although what it has sent was taken back
// or is over, so that it does not begin again.
type ScheduleEntry struct {
	Name    string  `json:"name"`
	Sum     string  `json:"sum"`               // of what it says; see Standing.Sum
	Machine Machine `json:"machine,omitempty"` // whose configuration has it, of those that have the room open
}

// Standing is an entry of the configuration: a message that is sent again and again.
type Standing struct {
	Name  string
	From  Name
	Draft Draft // says when
}

// Sum returns a hash of what s says, by which a change of it is noticed.
func (s *Standing) Sum() string {
	text, err := json.Marshal(s)
	if err != nil { // an odd time in it, which is refused
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Scheduling is a message that waits to be sent, and what is known of its maker.
type Scheduling struct {
	Scheduled
	Seq Seq // where it was made
	Right
}

// Right is by what the maker of a message that is to be sent later was known. When it is due, that must hold still.
type Right struct {
	Means   Means   `json:"means,omitempty"`   // of the user
	Token   string  `json:"token,omitempty"`   // the hash of the agent's token, if it spoke by that
	Through Machine `json:"through,omitempty"` // the machine, of those that were let in, that vouched for the maker
	Pass    string  `json:"pass,omitempty"`    // the ID of that machine's Pass
}

// ScheduledAt is what a checkpoint says of a message that is to be sent later, whose text stays in the journal.
type ScheduledAt struct {
	ID  ID   `json:"id"`
	Due Time `json:"due"`
}

// DueAt returns the time that at, or in, stands for.
func DueAt(at Time, in int, now Time) (Time, error) {
	switch {
	case at != 0 && in != 0:
		return 0, Errorf(Invalid, "at and in both say when to send it: say one of them. Nothing was changed")
	case in < 0 || at != 0 && at <= now:
		return 0, Errorf(Invalid, "that time is past: say a later one, or none to send it at once. Nothing was "+
			"changed")
	case int64(in) > int64(MaxAhead/time.Second), at > now.Add(MaxAhead):
		return 0, Errorf(Invalid, "that is more than a year ahead: say an earlier time. Nothing was changed")
	case in != 0:
		return now.Add(time.Duration(in) * time.Second), nil
	}
	return at, nil
}
