package claudeteams

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// maxText is the maximum length, in bytes, of a text that becomes mail: the room's limit for messages that were
// accepted elsewhere.
const maxText = 1 << 20

// letter is an inbox entry with the room's names of sender and recipient.
type letter struct {
	entry
	id   mail.ID
	team string
	from mail.Address
	to   mail.Name
}

// item returns the letter as mail of the room.
func (l *letter) item() mail.Item {
	m := mail.Message{
		ID: l.id, Type: mail.Custom, From: l.from, To: []mail.Address{mail.AgentAddress(l.to)},
		Subject: oneLine(l.Summary, mail.MaxSubject), Body: dialect.Clean(l.Text), Sent: l.sent,
	}
	note := carried{Team: l.team, Color: dialect.Clean(l.Color), Refused: l.refused, Extra: l.others().json()}
	if l.Timestamp != l.sent.String() {
		note.Timestamp = dialect.Clean(l.Timestamp)
	}
	if !signs(l.From) {
		note.From = oneLine(l.From, mail.MaxSubject)
	}
	f, ok := classify(l.Text)
	if ok {
		m.Type = f.typ()
		m.Issue = f.issue(l.team)
		note.Type, note.Payload = dialect.Clean(f.kind), f.payload.json()
		if m.Subject == "" {
			m.Subject, note.Derived = f.subject()
		}
		if f.known() && note.Payload != nil && dialect.Clean(f.words()) == "" {
			note.Derived = append(note.Derived, "body")
		}
	}
	m.Metadata = note.metadata(f.verdict())
	if ok && f.known() && carriedBy(m.Metadata).raw("payload") != nil {
		m.Body = cmp.Or(dialect.Clean(f.words()), m.Subject)
	}
	it := mail.Item{Message: m}
	if l.Read {
		// No one recorded when it was read. After its expiry it would count as never read.
		it.Deliveries = []mail.Delivery{{Address: m.To[0], Agent: l.to, State: mail.Read, At: l.sent}}
	}
	return it
}

// others returns the entry's members that a message has no field for.
func (l *letter) others() (o object) {
	for _, f := range l.stamp {
		s, _ := unquote(f.raw)
		usual := f.called("type") && s == "message" || f.called("msgV") && string(f.raw) == "1" ||
			f.called("msg_id") && s == string(l.id)
		if !usual {
			o = append(o, f)
		}
	}
	return append(o, l.extra...)
}

// saysAs reports whether a message of the room has the letter's content.
func (l *letter) saysAs(m *mail.Message) bool {
	same := l.item()
	return same.Body == m.Body &&
		bytes.Equal(carriedBy(same.Metadata).raw("payload"), carriedBy(m.Metadata).raw("payload"))
}

// issue returns the task of a frame. Every team numbers its tasks from 1, so the result contains the team.
func (f *frame) issue(team string) string {
	id := dialect.Clean(f.payload.string("taskId"))
	if !f.known() || id == "" || len(team)+1+len(id) > mail.MaxName {
		return ""
	}
	return team + "#" + id
}

// carried holds the data that the room has no field for, in a message's metadata under "claudeteams".
type carried struct {
	Team      string      `json:"team"`
	Type      string      `json:"type,omitempty"` // of the frame
	From      string      `json:"from,omitempty"` // if it is not a valid name
	Color     string      `json:"color,omitempty"`
	Timestamp string      `json:"timestamp,omitempty"` // if it is not in JavaScript's format
	Refused   bool        `json:"refused,omitzero"`    // Claude Code delivers it to no one
	Derived   []string    `json:"derived,omitempty"`   // parts of the message that are not in the files: subject, body
	Extra     jsonx.Value `json:"extra,omitempty"`     // unknown members of the entry
	Payload   jsonx.Value `json:"payload,omitempty"`   // of the frame
}

// metadata prints c without the parts that make it too long or cannot be encoded.
func (c carried) metadata(verdict string) mail.Metadata {
	for {
		text, err := jsonx.Marshal(struct {
			Verdict string  `json:"verdict,omitempty"`
			Carried carried `json:"claudeteams"`
		}{verdict, c})
		switch {
		case err == nil && len(text) <= mail.MaxKept:
			return text
		case c.Payload != nil:
			c.Payload = nil // then the body is the whole text
		case c.Extra != nil:
			c.Extra = nil
		default:
			c = carried{Team: c.Team, Type: oneLine(c.Type, mail.MaxName), Refused: c.Refused}
		}
	}
}

// carriedBy returns a message's "claudeteams" metadata, or nil.
func carriedBy(m mail.Metadata) object {
	outer, _ := parseObject(m)
	inner, _ := parseObject(outer.raw("claudeteams"))
	return inner
}

// json prints an object without white space, or returns nil if it is empty. An object that jsonx refuses is printed
// as JavaScript would print it after parsing: the last of repeated members counts.
func (o object) json() jsonx.Value {
	if len(o) == 0 {
		return nil
	}
	text := o.neat(0)
	if compact := jsonx.Value(jsonx.AppendCompact(nil, text)); compact.IsValid() {
		return compact
	}
	return appendParsed(nil, text)
}

// disarm keeps a text from being taken for a protocol frame: Claude Code parses texts even after leading white
// space.
func disarm(text string) string {
	bare := strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	_, ok := parseObject([]byte(bare))
	// too deep for our parser, but not for every other
	deep := strings.HasPrefix(bare, "{") && strings.Count(bare, "[")+strings.Count(bare, "{") > jsonx.MaxDepth
	if ok || deep {
		return "```json\n" + text + "\n```"
	}
	return text
}

// summary returns the line that a list shows for a message.
func summary(m *mail.Message) string {
	if s := oneLine(m.Subject, len(m.Subject)); s != "" {
		return wording.ClipRunes(s, maxSummary)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(m.Body), "\n")
	if first = wording.ClipRunes(oneLine(first, len(first)), maxSummary); first == "" && len(m.Docs) > 0 {
		first = wording.ClipRunes(m.Docs[0].Path, maxSummary)
	}
	return first
}

// oneLine makes s a line of at most n bytes.
func oneLine(s string, n int) string {
	return wording.Clip(strings.TrimSpace(dialect.Line(s)), n)
}

// space is the namespace of derived ids, a random UUID.
const space = "8f0c5d1e-3b7a-4c56-9d2e-6a41b7e0f9c3"

// deriveID returns a version 5 UUID (RFC 9562) derived from words.
func deriveID(words ...string) mail.ID {
	ns, _ := hex.DecodeString(strings.ReplaceAll(space, "-", ""))
	h := sha1.New()
	h.Write(ns)
	for _, w := range words {
		h.Write([]byte(strconv.Itoa(len(w)) + ":" + w))
	}
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	s := hex.EncodeToString(b)
	return mail.ID(strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-"))
}

// entryID returns the entry's id in the room: its own if it has one, else one derived from its content. nth counts
// entries with the same content.
func (e *entry) entryID(team, owner string, nth int) mail.ID {
	if id, err := mail.ParseID(e.MsgID); err == nil {
		return id
	}
	return deriveID(team, owner, e.From, e.Timestamp, e.Text, strconv.Itoa(nth))
}

// same reports whether two entries have the same content.
func (e *entry) same(o *entry) bool {
	return e.MsgID == o.MsgID && e.From == o.From && e.Timestamp == o.Timestamp && e.Text == o.Text
}

// isUUID reports whether an id can be a msg_id.
func isUUID(id mail.ID) bool {
	parts := strings.Split(string(id), "-")
	if len(id) != 36 || len(parts) != 5 {
		return false
	}
	return !slices.ContainsFunc(parts, func(p string) bool {
		_, err := strconv.ParseUint(p, 16, 64)
		return err != nil
	}) &&
		len(parts[0]) == 8 && len(parts[1]) == 4 && len(parts[2]) == 4 && len(parts[3]) == 4
}
