package fold

import (
	"cmp"
	"encoding/binary"
	"strings"

	"pennypost/internal/mail"
)

// Header is the state's knowledge of a message: everything except the text. The text stays in the journal and is read
// from there when it is shown; see text.go.
type Header struct {
	ID   mail.ID
	Sent mail.Time
	Key  string // the sender's idempotency key
	*envelope
	refs *references // nil: it begins its thread, and names no issue
}

// envelope has the common fields of the messages that one sender sends to the same addresses. They share it.
type envelope struct {
	Type       mail.Type
	From       mail.Address
	To         []mail.Address
	Priority   mail.Priority
	TTLSeconds int64
	Audience   string

	key  string // in State.envelopes
	uses int    // hot messages
	// whom they reach, if that follows from the addresses alone; else nil, and each has its own audience
	shared *audience
}

// references say where a message belongs.
type references struct {
	thread, replyTo mail.ID
	issue           string
}

// audience is the sender of a message, and its recipients.
type audience struct {
	Sender  *Member
	Bound   []bound        // audiences that are lists of members
	dynamic []mail.Address // audiences that are conditions
}

// HeaderOf returns the header of a message that is not in the state. It shares memory with the event.
func HeaderOf(e *mail.Event) Header {
	m := e.Message
	h := Header{ID: m.ID, Sent: cmp.Or(m.Sent, e.At), Key: m.Key, envelope: new(envelopeOf(m))}
	if m.Thread != "" || m.ReplyTo != "" || m.Issue != "" {
		h.refs = &references{m.Thread, m.ReplyTo, m.Issue}
	}
	return h
}

// forPresent reports whether a message to a tag, or to all, is only for agents that were live when it was sent.
func (h *Header) forPresent() bool {
	return h.Audience == mail.AudiencePresent || h.Audience == mail.AudienceTeam
}

func envelopeOf(m *mail.Message) envelope {
	return envelope{Type: m.Type, From: m.From, To: m.To, Priority: m.Priority, TTLSeconds: m.TTLSeconds,
		Audience: m.Audience}
}

// header returns the header of a new message. It shares memory with other headers, and none with the event, which
// holds the text.
func (s *State) header(e *mail.Event) Header {
	m := e.Message
	h := Header{ID: mail.ID(strings.Clone(string(m.ID))), Sent: cmp.Or(m.Sent, e.At), Key: strings.Clone(m.Key),
		envelope: s.envelope(m)}
	if m.Thread != "" || m.ReplyTo != "" || m.Issue != "" {
		h.refs = &references{s.sameID(m.Thread), s.sameID(m.ReplyTo), strings.Clone(m.Issue)}
	}
	return h
}

// sameID returns an id, sharing the string of the message that has it.
func (s *State) sameID(id mail.ID) mail.ID {
	if r := s.Records[id]; r != nil {
		return r.Msg.ID
	}
	return mail.ID(strings.Clone(string(id)))
}

// envelope returns the envelope for a new message.
func (s *State) envelope(m *mail.Message) *envelope {
	b := s.scratch[:0]
	add := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	add(string(m.Type))
	add(string(m.From))
	add(string(m.Priority))
	add(m.Audience)
	for _, a := range m.To {
		add(string(a))
	}
	s.scratch = binary.AppendVarint(b, m.TTLSeconds)
	env := s.envelopes[string(s.scratch)]
	if env == nil {
		env = new(envelopeOf(m))
		env.key = string(s.scratch)
		env.Type, env.From = mail.Type(strings.Clone(string(m.Type))), mail.Address(strings.Clone(string(m.From)))
		env.Priority, env.Audience = mail.Priority(strings.Clone(string(m.Priority))), strings.Clone(m.Audience)
		env.To = make([]mail.Address, len(m.To))
		for i, a := range m.To {
			env.To[i] = mail.Address(strings.Clone(string(a)))
		}
		s.envelopes[env.key] = env
	}
	env.uses++
	return env
}

// drop forgets an envelope that hot messages no longer use.
func (s *State) drop(env *envelope) {
	if env.uses--; env.uses == 0 {
		delete(s.envelopes, env.key)
	}
}

// ThreadRoot returns the id of the message that began the thread.
func (h *Header) ThreadRoot() mail.ID {
	if h.refs != nil && h.refs.thread != "" {
		return h.refs.thread
	}
	return h.ID
}

// ReplyTo returns the message that this one answers, "" if it answers none.
func (h *Header) ReplyTo() mail.ID {
	if h.refs == nil {
		return ""
	}
	return h.refs.replyTo
}

// issue returns the issue that the message is about, "" if it names none.
func (h *Header) issue() string {
	if h.refs == nil {
		return ""
	}
	return h.refs.issue
}

// Message returns the message as far as the header tells, without its key, which is never shown.
func (h *Header) Message() mail.Message {
	m := mail.Message{ID: h.ID, Type: h.Type, From: h.From, To: h.To, Priority: h.Priority,
		TTLSeconds: h.TTLSeconds, Audience: h.Audience, Sent: h.Sent}
	if h.refs != nil {
		m.Thread, m.ReplyTo, m.Issue = h.refs.thread, h.refs.replyTo, h.refs.issue
	}
	return m
}
