package mailroom

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// repeat stands for what makes two messages the same: the beginning of a hash, because those of minutes are
// remembered. The zero value: nothing is the same as this message.
type repeat [16]byte

type sentAt struct {
	id mail.ID
	at int64 // in nanoseconds since 1970
}

func (s sentAt) ago(now time.Time) time.Duration { return time.Duration(now.UnixNano() - s.at) }

// tripOfRepeat is the trip of a message that repeats another. The caller holds mu.
func (b *breaker) tripOfRepeat(m *mail.Message) *trip {
	return &trip{
		what: fmt.Sprint("repeat ", b.originOf(m.From), " ", b.originOf(m.To[0])), limit: "repeat_window",
		note: fmt.Sprintf("%s sent the same text to %s again within %v. It was not delivered twice.", m.From.Signer(),
			m.To[0], b.limits.RepeatWindow),
	}
}

// repetition is tripOfRepeat for who has not asked admit, but apply.
func (b *breaker) repetition(m *mail.Message) *trip {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tripOfRepeat(m)
}

// repeated returns the id of the message that was last sent with the same r, "" if none was within the window.
func (b *breaker) repeated(r repeat, now time.Time) mail.ID {
	if s, known := b.repeats[r]; known && s.ago(now) <= b.limits.RepeatWindow {
		return s.id
	}
	return ""
}

// sent remembers a message that was sent. Of one that says in the journal what would be the same, it is called before
// anybody sees the message in the state: what is sent from then on is compared with it here, and what was checked
// before by apply.
func (b *breaker) sent(r repeat, id mail.ID, at time.Time) {
	if r == (repeat{}) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.repeats[r] = sentAt{id, at.UnixNano()}
}

// repeatOf returns what identifies a repetition of m: only mail to one agent by name can be one.
func (b *breaker) repeatOf(m *mail.Message) repeat {
	ownKey := m.Key != "" && !strings.HasPrefix(m.Key, mail.MadeKey) // its sender says by the key what is the same
	if b.limits.RepeatWindow < 0 || len(m.To) != 1 || m.To[0].Kind() != mail.ToAgent || ownKey ||
		m.From == mail.ToUser || m.From == mail.FromSystem {
		return repeat{}
	}
	b.mu.Lock()
	from, to := b.originOf(m.From), b.originOf(m.To[0])
	b.mu.Unlock()
	var room [2 << 10]byte // for most messages, without an allocation
	text := room[:0]
	for _, part := range []string{string(from), string(to), string(m.Type), string(m.ReplyTo), m.Subject, m.Body} {
		text = append(append(text, part...), 0)
	}
	if m.Suggests { // the same words of somebody who has been passed the question on meanwhile are its answer
		text = append(text, "suggests\x00"...)
	}
	sum := sha256.Sum256(append(text, m.Metadata...))
	return repeat(sum[:len(repeat{})])
}

// sameText is a message that a repetition is known by.
type sameText struct {
	same string // mail.Message.Same
	id   mail.ID
	seq  mail.Seq
}

// maxRecent is how many messages another may be found to repeat that was checked before they were known: those of
// seconds, in a room with as much mail as there can be.
const maxRecent = 4096

// repeats returns the message that m repeats and that its post office did not know of; nil if there is none. What came
// before the last checkpoint is not asked about, so that replay of a compacted journal finds the same.
func (s *state) repeats(m *mail.Message) *sameText {
	if m.Same == "" {
		return nil
	}
	return sameBehind(s.recent, m)
}

// sameBehind returns the last of some messages with the text of m that its post office did not know of.
func sameBehind(recent []sameText, m *mail.Message) *sameText {
	for i := len(recent) - 1; i >= 0 && recent[i].seq > m.Checked; i-- {
		if recent[i].same == m.Same {
			return &recent[i]
		}
	}
	return nil
}

// repeated returns the message because of which m did not count. A checkpoint may have come since.
func (s *state) repeated(m *mail.Message) sameText {
	if first := cmp.Or(sameBehind(s.recent, m), sameBehind(s.formerly, m)); first != nil {
		return *first
	}
	return sameText{}
}

// noteText remembers a message for repeats.
func (s *state) noteText(r *record, same string) {
	if same == "" {
		return
	}
	if len(s.recent) == maxRecent {
		s.recent = append(s.recent[:0], s.recent[maxRecent/2:]...)
	}
	s.recent = append(s.recent, sameText{strings.Clone(same), r.msg.ID, r.seq})
}

// String returns r as it stands in a journal.
func (r repeat) String() string { return base64.RawURLEncoding.EncodeToString(r[:]) }

// repeatIn returns what stands in a journal, the zero value if there is nothing, or it is another version's.
func repeatIn(text string) (r repeat) {
	if base64.RawURLEncoding.DecodedLen(len(text)) != len(r) {
		return repeat{}
	}
	if _, err := base64.RawURLEncoding.Decode(r[:], []byte(text)); err != nil {
		return repeat{}
	}
	return r
}
