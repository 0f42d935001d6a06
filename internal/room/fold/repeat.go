package fold

import (
	"cmp"
	"encoding/base64"
	"strings"

	"pennypost/internal/mail"
)

// Repeat identifies messages that count as the same: the beginning of a hash, which suffices because only those of
// minutes are remembered. The zero value: nothing is the same as this message.
type Repeat [16]byte

// SameText is a message that later messages may repeat.
type SameText struct {
	same string // mail.Message.Same
	ID   mail.ID
	Seq  mail.Seq
}

// maxRecent is how many messages are remembered that a message may repeat although it was checked before they were
// known: those of seconds, in a room with as much mail as there can be.
const maxRecent = 4096

// repeats returns the message that m repeats and that its post office did not know of; nil if there is none. Messages
// before the last checkpoint are not considered, so that replay of a compacted journal finds the same.
func (s *State) repeats(m *mail.Message) *SameText {
	if m.Same == "" {
		return nil
	}
	return lastAlike(s.recent, m)
}

// lastAlike returns the last of some messages with the text of m that its post office did not know of.
func lastAlike(recent []SameText, m *mail.Message) *SameText {
	for i := len(recent) - 1; i >= 0 && recent[i].Seq > m.Checked; i-- {
		if recent[i].same == m.Same {
			return &recent[i]
		}
	}
	return nil
}

// Repeated returns the message that kept m from counting. A checkpoint may have come since.
func (s *State) Repeated(m *mail.Message) SameText {
	if first := cmp.Or(lastAlike(s.recent, m), lastAlike(s.formerly, m)); first != nil {
		return *first
	}
	return SameText{}
}

// noteText remembers a message for repeats.
func (s *State) noteText(r *Record, same string) {
	if same == "" {
		return
	}
	if len(s.recent) == maxRecent {
		s.recent = append(s.recent[:0], s.recent[maxRecent/2:]...)
	}
	s.recent = append(s.recent, SameText{strings.Clone(same), r.Msg.ID, r.Seq})
}

// String returns r as a journal has it.
func (r Repeat) String() string { return base64.RawURLEncoding.EncodeToString(r[:]) }

// RepeatIn parses the text in a journal; it returns the zero value if there is none, or it is another version's.
func RepeatIn(text string) (r Repeat) {
	if base64.RawURLEncoding.DecodedLen(len(text)) != len(r) {
		return Repeat{}
	}
	if _, err := base64.RawURLEncoding.Decode(r[:], []byte(text)); err != nil {
		return Repeat{}
	}
	return r
}
