package policy

import (
	"time"

	"pennypost/internal/mail"
)

// Retention limits the messages of a room that are not archived. A zero field means the default, a negative one no
// limit.
type Retention struct {
	Age   time.Duration // default 7 days
	Count int           // default 5,000 messages
}

// Keeps returns the maximum age of a message; ok is false if there is no limit on age.
func (r Retention) Keeps() (age time.Duration, ok bool) { return orDefault(r.Age, DefaultAge) }

// The defaults of Retention.
const (
	DefaultAge   = 7 * 24 * time.Hour
	DefaultCount = 5000
	readGrace    = 24 * time.Hour // over the count, read messages older than this go first
)

// Held describes a message to retention.
type Held struct {
	ID      mail.ID
	Sent    mail.Time
	Settled bool // all its readers have read it, or no longer can: it goes before others
	Unread  bool // some reader has not read it; counted when it goes
	// unread by the person, or with its sender's own TTL and unread by another, alive or dead: age alone does not
	// remove it
	Lives bool
	// role mail unread by its holder, mail that the person postponed, open questions, mail that a bridge has not
	// written yet: never removed
	Unsettled bool
}

// Trim returns the messages to remove, in order, and their number by reason. msgs are in journal order.
//
// The two limits are independent. First everything over the age goes, except Lives; then, while there are more than
// Count, read messages older than a day, oldest first; then the oldest of the rest.
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

// Crowd returns the number of messages at which retention runs before its hour, given how many the last run left; 0:
// it never does. That is half again as many as the limit, or as the last run left, so that each new message costs the
// rewriting of two others at most.
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

// drop removes the messages for which which returns true, oldest first, at most limit of them, and returns their
// number.
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
