package check

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// sentAt is a remembered message, and when it was sent.
type sentAt struct {
	id mail.ID
	at int64 // in nanoseconds since 1970
}

func (s sentAt) ago(now time.Time) time.Duration { return time.Duration(now.UnixNano() - s.at) }

// TripOfRepeat is the trip of a message that repeats another.
func (b *Breaker) TripOfRepeat(m *mail.Message) *Trip {
	return &Trip{
		What: fmt.Sprint("repeat ", b.originOf(m.From), " ", b.originOf(m.To[0])), Limit: "repeat_window",
		Note: fmt.Sprintf("%s sent the same text to %s again within %v. It was delivered only once.", m.From.Signer(),
			m.To[0], b.limits.RepeatWindow),
	}
}

// repeated returns the id of the message that was last sent with the same r, "" if none was within the window.
func (b *Breaker) repeated(r fold.Repeat, now time.Time) mail.ID {
	if s, known := b.repeats[r]; known && s.ago(now) <= b.limits.RepeatWindow {
		return s.id
	}
	return ""
}

// Sent remembers a message that was sent. For a message whose event carries its repetition, it is called before
// anyone sees the message in the state: later sends are compared with it here, and sends that were checked before are
// compared by apply.
func (b *Breaker) Sent(r fold.Repeat, id mail.ID, at time.Time) {
	if r == (fold.Repeat{}) {
		return
	}
	b.repeats[r] = sentAt{id, at.UnixNano()}
}

// Ends returns the two agents between whom m may be a repetition, as only mail to one agent by name can be; "" if it
// is none.
func (b *Breaker) Ends(m *mail.Message) (from, to mail.Address) {
	ownKey := m.Key != "" && !strings.HasPrefix(m.Key, mail.MadeKey) // its sender marks repetitions by the key
	if b.limits.RepeatWindow < 0 || len(m.To) != 1 || m.To[0].Kind() != mail.ToAgent || ownKey ||
		m.From == mail.ToUser || m.From == mail.FromSystem {
		return "", ""
	}
	return b.originOf(m.From), b.originOf(m.To[0])
}

// RepeatOf returns the hash that identifies a repetition of m between its Ends.
func RepeatOf(m *mail.Message, from, to mail.Address) fold.Repeat {
	if to == "" {
		return fold.Repeat{}
	}
	var room [2 << 10]byte // for most messages, without an allocation
	text := room[:0]
	for _, part := range []string{string(from), string(to), string(m.Type), string(m.ReplyTo), m.Subject, m.Body} {
		text = append(append(text, part...), 0)
	}
	if m.Suggests { // the same words from someone who has since been passed the question are its answer
		text = append(text, "suggests\x00"...)
	}
	sum := sha256.Sum256(append(text, m.Metadata...))
	return fold.Repeat(sum[:len(fold.Repeat{})])
}
