package policy

import (
	"time"

	"pennypost/internal/mail"
)

// Retention limits what a room keeps at hand. A zero field means the default, a negative one "no limit".
type Retention struct {
	Age   time.Duration // default 7 days
	Count int           // default 5,000 messages
}

// Keeps returns how old a message may be; ok is false if age alone lets nothing go.
func (r Retention) Keeps() (age time.Duration, ok bool) { return orDefault(r.Age, DefaultAge) }

// The defaults of Retention.
const (
	DefaultAge   = 7 * 24 * time.Hour
	DefaultCount = 5000
	readGrace    = 24 * time.Hour // over the count, messages read longer ago than they are this old go first
)

// Held is what retention has to know of a message.
type Held struct {
	ID      mail.ID
	Sent    mail.Time
	Settled bool // everybody it is for has read it, or can no longer: it goes before others
	Unread  bool // somebody it was for has not read it, and is counted when it goes
	// the person has not read it, or somebody else has not and its sender gave it a time of its own: age alone does
	// not take it
	Lives bool
	// role mail that its holder has not read, what the person put off, what asks and is open, what a bridge has not
	// written yet: never let go
	Unsettled bool
}

// Trim returns the messages that go, in order, and how many for which reason. msgs are in journal order.
//
// The two limits are independent. First everything over the age goes, but for what Lives; then, while there are more
// than Count, messages that were read and are older than a day, oldest first; then the oldest of the rest.
func (r Retention) Trim(msgs []Held, now mail.Time) ([]mail.ID, mail.Trimmed) {
	age, limitAge := r.Keeps()
	t := trimmer{gone: make([]bool, len(msgs)), msgs: msgs}
	if limitAge {
		t.Age = t.drop(len(msgs), func(m Held) bool { return !m.Lives && now.Sub(m.Sent) > age })
	}
	count := r.Count
	if count == 0 {
		count = DefaultCount
	}
	if count > 0 {
		t.Trimmed.Read = t.drop(t.left()-count, func(m Held) bool { return m.Settled && now.Sub(m.Sent) > readGrace })
		t.Oldest = t.drop(t.left()-count, func(Held) bool { return true })
	}
	return t.result()
}

// Crowd returns with how many messages retention does not wait for its hour, if the last time left so many; 0: it
// always waits. That is half as much again as there may be, or as could not be let go, so that a message that is sent
// costs the rewriting of two others at most.
func (r Retention) Crowd(left int) int {
	count := r.Count
	if count == 0 {
		count = DefaultCount
	}
	if count < 0 {
		return 0
	}
	most := max(count, left)
	return most + most/2 + 1
}

type trimmer struct {
	mail.Trimmed
	msgs []Held
	gone []bool
	n    int
}

func (t *trimmer) left() int { return len(t.msgs) - t.n }

// drop lets go of at most limit messages for which which holds, oldest first, and returns how many.
func (t *trimmer) drop(limit int, which func(Held) bool) int {
	dropped := 0
	for i, m := range t.msgs {
		if dropped >= limit {
			break
		}
		if t.gone[i] || m.Unsettled || !which(m) {
			continue
		}
		t.gone[i] = true
		t.n++
		dropped++
		if m.Unread {
			t.Unread++
		}
	}
	return dropped
}

func (t *trimmer) result() ([]mail.ID, mail.Trimmed) {
	t.Kept = t.left()
	if t.n == 0 {
		return nil, t.Trimmed
	}
	ids := make([]mail.ID, 0, t.n)
	for i, m := range t.msgs {
		if t.gone[i] {
			ids = append(ids, m.ID)
		}
	}
	return ids, t.Trimmed
}
