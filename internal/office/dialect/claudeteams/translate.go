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

// maxText is the longest text, in bytes, that becomes mail: what the room takes of messages that were accepted
// elsewhere.
const maxText = 1 << 20

// letter is an entry of somebody's inbox, as the room names those concerned.
type letter struct {
	entry
	id   mail.ID
	team string
	from mail.Address
	to   mail.Name
}

// item is the letter as mail of the room.
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
		// When it was read nobody wrote down. Not later than its expiry, or it would count as never read.
		it.Deliveries = []mail.Delivery{{Address: m.To[0], Agent: l.to, State: mail.Read, At: l.sent}}
	}
	return it
}

// others are the members of the entry that have no place in a message.
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

// saysAs reports whether a message of the room says what the letter says.
func (l *letter) saysAs(m *mail.Message) bool {
	same := l.item()
	return same.Body == m.Body &&
		bytes.Equal(carriedBy(same.Metadata).raw("payload"), carriedBy(m.Metadata).raw("payload"))
}

// issue is the task that a frame is about. Teams count their tasks from 1, so the team belongs to it.
func (f *frame) issue(team string) string {
	id := dialect.Clean(f.payload.string("taskId"))
	if !f.known() || id == "" || len(team)+1+len(id) > mail.MaxName {
		return ""
	}
	return team + "#" + id
}

// carried is what the room has no place for, in a message's metadata under "claudeteams".
type carried struct {
	Team      string      `json:"team"`
	Type      string      `json:"type,omitempty"` // of a frame
	From      string      `json:"from,omitempty"` // if it cannot be a name
	Color     string      `json:"color,omitempty"`
	Timestamp string      `json:"timestamp,omitempty"` // if it is not as JavaScript prints times
	Refused   bool        `json:"refused,omitzero"`    // Claude Code hands it to nobody
	Derived   []string    `json:"derived,omitempty"`   // what of the message is not in the files: subject, body
	Extra     jsonx.Value `json:"extra,omitempty"`     // members of the entry that are not known
	Payload   jsonx.Value `json:"payload,omitempty"`   // of a frame
}

// metadata prints c, without what makes it too long, or cannot be said again.
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
			c.Payload = nil // the whole text is the body then
		case c.Extra != nil:
			c.Extra = nil
		default:
			c = carried{Team: c.Team, Type: oneLine(c.Type, mail.MaxName), Refused: c.Refused}
		}
	}
}

// carriedBy returns what a message carries of a team's, nil if nothing.
func carriedBy(m mail.Metadata) object {
	outer, _ := parseObject(m)
	inner, _ := parseObject(outer.raw("claudeteams"))
	return inner
}

// json prints an object without white space; nil if it is empty. What jsonx cannot take is printed as JavaScript would
// print what it has read: of repeated members the last.
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

// disarm keeps a text from being taken for a frame of the protocol: Claude Code parses what it gets, white space in
// front or not.
func disarm(text string) string {
	bare := strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	_, ok := parseObject([]byte(bare))
	// others may know how to read it
	deep := strings.HasPrefix(bare, "{") && strings.Count(bare, "[")+strings.Count(bare, "{") > jsonx.MaxDepth
	if ok || deep {
		return "```json\n" + text + "\n```"
	}
	return text
}

// summary is the line that a message shows in a list.
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

// oneLine makes a line of at most n bytes of s.
func oneLine(s string, n int) string {
	return wording.Clip(strings.TrimSpace(dialect.Line(s)), n)
}

// space is the name space of the ids that are derived, itself a UUID chosen by lot.
const space = "8f0c5d1e-3b7a-4c56-9d2e-6a41b7e0f9c3"

// deriveID returns a UUID of version 5 (RFC 9562) for a thing that these words name.
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

// entryID is the id of an entry in the room: its own, if it has one, else one made of what it says. nth counts entries
// that say the same.
func (e *entry) entryID(team, owner string, nth int) mail.ID {
	if id, err := mail.ParseID(e.MsgID); err == nil {
		return id
	}
	return deriveID(team, owner, e.From, e.Timestamp, e.Text, strconv.Itoa(nth))
}

// same reports whether two entries say the same.
func (e *entry) same(o *entry) bool {
	return e.MsgID == o.MsgID && e.From == o.From && e.Timestamp == o.Timestamp && e.Text == o.Text
}

// isUUID reports whether an id may stand as msg_id.
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
