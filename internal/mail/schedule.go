package mail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Scheduler manages messages to be sent later.
type Scheduler interface {
	// Scheduled lists pending messages, first due first: the caller's own or, for the user, all.
	Scheduled(ctx context.Context) (ScheduledList, error)
	// Reschedule changes when a pending message is next sent.
	Reschedule(ctx context.Context, r Rescheduling) (Scheduled, error)
	// Unschedule cancels a pending message: it is not sent, and its text is not kept.
	Unschedule(ctx context.Context, id ID) error
}

// Later says when to send a draft, if not now: at a time, after a delay, or repeatedly.
type Later struct {
	At Time `json:"at,omitzero"`
	In int  `json:"in,omitzero"` // seconds from now, instead of At
	// Every is a cron line of five fields in the time zone Zone (IANA, such as Europe/Berlin). It repeats until
	// Until, or until cancelled. Only the user may set it.
	Every string `json:"every,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Until Time   `json:"until,omitzero"`
}

// IsLater reports whether l sets any time.
func (l Later) IsLater() bool { return l != Later{} }

// Limits on scheduled messages.
const (
	MaxScheduled     = 1000                 // of the user
	MaxAhead         = 366 * 24 * time.Hour // of the user
	MaxScheduledMine = 20                   // per agent
	MaxAheadMine     = 7 * 24 * time.Hour   // of an agent
	ScheduledApart   = 5 * time.Minute      // minimum distance between two scheduled messages of an agent
)

// Scheduled is a message waiting to be sent.
type Scheduled struct {
	// ID becomes the id of the message when it is sent. A repeated message gets a new one each time.
	ID    ID     `json:"id"`
	From  Name   `json:"from"`
	At    Time   `json:"at"` // when it is next sent
	Every string `json:"every,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Until Time   `json:"until,omitzero"`
	Made  Time   `json:"made"`
	Draft Draft  `json:"draft"`
	// Entry is its name in the configuration; empty if a command created it.
	Entry string `json:"entry,omitempty"`
}

// ScheduledList answers Scheduled.
type ScheduledList struct {
	Scheduled []Scheduled `json:"scheduled"`
}

// Rescheduling asks for another time: At, or In seconds from now.
type Rescheduling struct {
	ID ID   `json:"-"` // in the path
	At Time `json:"at,omitzero"`
	In int  `json:"in,omitzero"`
}

// ScheduleChange is the journal's record of a change to a scheduled message: Draft creates it, End ends it;
// otherwise it gets another time.
type ScheduleChange struct {
	ID    ID     `json:"id"`
	By    Name   `json:"by,omitempty"` // who made the change
	Draft *Draft `json:"draft,omitempty"`
	// From is its sender.
	From Name `json:"from,omitempty"`
	Right
	Due   Time   `json:"due,omitzero"`
	Every string `json:"every,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Until Time   `json:"until,omitzero"`
	// Was is the time it was due at: if it is due at another time by now, the change does not count.
	Was Time `json:"was,omitzero"`
	End bool `json:"end,omitzero"`
	// Entry says that the configuration creates it, replacing the entry's previous message; with End, that the
	// entry is gone. An entry whose content is unchanged does not count.
	Entry *ScheduleEntry `json:"entry,omitempty"`
}

// ScheduleEntry is an entry of the configuration that was obeyed. It is remembered even after its message was
// cancelled or is over, so that it does not begin again.
type ScheduleEntry struct {
	Name    string  `json:"name"`
	Sum     string  `json:"sum"`               // hash of its content; see Standing.Sum
	Machine Machine `json:"machine,omitempty"` // whose configuration has it, among those that have the room open
}

// Standing is an entry of the configuration: a message that is sent repeatedly.
type Standing struct {
	Name  string
	From  Name
	Draft Draft // with its schedule
}

// Sum returns a hash of the content of s, used to detect changes.
func (s *Standing) Sum() string {
	text, err := json.Marshal(s)
	if err != nil { // an invalid time in it, which is refused
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Scheduling is a message waiting to be sent, with the credentials of its maker.
type Scheduling struct {
	Scheduled
	Seq Seq // sequence number at which it was made
	Right
}

// Right is how the maker of a scheduled message was identified. It must still be valid when the message is due.
type Right struct {
	Means   Means   `json:"means,omitempty"`   // of the user
	Token   string  `json:"token,omitempty"`   // hash of the agent's token, if it used one
	Through Machine `json:"through,omitempty"` // the admitted machine that vouched for the maker
	Pass    string  `json:"pass,omitempty"`    // ID of that machine's Pass
}

// ScheduledAt is a checkpoint's entry for a scheduled message, whose text stays in the journal.
type ScheduledAt struct {
	ID  ID   `json:"id"`
	Due Time `json:"due"`
}

// DueAt returns the time that at or in denotes.
func DueAt(at Time, in int, now Time) (Time, error) {
	switch {
	case at != 0 && in != 0:
		return 0, Errorf(Invalid, "at and in exclude each other: give one of them. Nothing was changed")
	case in < 0 || at != 0 && at <= now:
		return 0, Errorf(Invalid, "that time is past: give a later one, or none to send now. Nothing was changed")
	case int64(in) > int64(MaxAhead/time.Second), at > now.Add(MaxAhead):
		return 0, Errorf(Invalid, "that is more than a year ahead: give an earlier time. Nothing was changed")
	case in != 0:
		return now.Add(time.Duration(in) * time.Second), nil
	}
	return at, nil
}
