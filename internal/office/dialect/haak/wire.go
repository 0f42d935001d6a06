package haak

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// object is a JSON object, in the order in which it stands in its line.
type object []jsonx.Member

func parseObject(line []byte) (object, error) {
	o, err := jsonx.Members(bytes.ToValidUTF8(line, []byte("\uFFFD")))
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "%s", jsonx.Explain(err))
	}
	return o, nil
}

func (o object) find(name string) int {
	return slices.IndexFunc(o, func(m jsonx.Member) bool { return m.Name == name })
}

// value returns the first member that bears one of the names, nil if there is none.
func (o object) value(names ...string) jsonx.Value {
	for _, n := range names {
		if i := o.find(n); i >= 0 {
			return o[i].Value
		}
	}
	return nil
}

// text returns the first member that bears one of the names, if it is a string.
func (o object) text(names ...string) string {
	s, _ := unquote(o.value(names...))
	return s
}

// put replaces a member, or adds it at the end.
func (o *object) put(name string, v jsonx.Value) {
	if i := o.find(name); i >= 0 {
		(*o)[i].Value = v
		return
	}
	*o = append(*o, jsonx.Member{Name: name, Value: v})
}

func (o object) line() []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonx.AppendQuote(out, m.Name), ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

func quote(s string) jsonx.Value { return jsonx.AppendQuote(nil, s) }

func unquote(v jsonx.Value) (s string, ok bool) {
	return s, len(v) > 0 && v[0] == '"' && jsonx.Unmarshal(v, &s) == nil
}

const (
	null    = "null"
	nothing = "[]"
)

// Names of members. In the document's text the reads lost their underscores; files written after it may have lost them
// too. The amendment and later memos call sender, recipient and content from, to and body.
var (
	senderNames    = [...]string{"sender", "from"}
	recipientNames = [...]string{"recipient", "to"}
	contentNames   = [...]string{"content", "body"}
	messageNames   = [...]string{"message_id", "messageid"}
	readerNames    = [...]string{"reader_session_id", "readersession_id", "readersessionid"}
)

// timeLayout is ISO 8601 in UTC, to the second where that is all there is to say.
const timeLayout = "2006-01-02T15:04:05.999Z07:00"

func stamp(t mail.Time) string { return t.Std().Format(timeLayout) }

// parseTime reads RFC 3339, and what Python writes for a time without a zone, which is taken for UTC.
func parseTime(s string) (mail.Time, error) {
	s = strings.Replace(strings.TrimSpace(s), " ", "T", 1)
	if t, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
		return mail.TimeOf(t), nil
	}
	return mail.ParseTime(s)
}

// directTTL is how long mail to a session waits.
const directTTL = 24 * time.Hour

func direct(to []mail.Address) bool {
	return !slices.ContainsFunc(to, func(a mail.Address) bool { return a.Kind() != mail.ToAgent })
}

// defaultTTL returns the seconds that a message without ttl_hours lives; 0 where HAAK's default is the room's.
func defaultTTL(to []mail.Address) int64 {
	if direct(to) {
		return int64(directTTL / time.Second)
	}
	return 0
}

// ttlHours is what the file says of a message's life: whole hours, the last one begun.
func ttlHours(m *mail.Message) string {
	seconds := m.TTLSeconds
	if seconds == 0 && direct(m.To) {
		seconds = int64(policy.DefaultAgentTTL / time.Second)
	}
	if seconds == 0 || seconds == defaultTTL(m.To) {
		return null
	}
	return strconv.FormatInt((seconds+3599)/3600, 10)
}

// maxHours is a century, the longest life that a message may have.
const maxHours = 100 * 366 * 24

func ttlSeconds(v jsonx.Value, to []mail.Address) (int64, error) {
	if len(v) == 0 || string(v) == null {
		return defaultTTL(to), nil
	}
	hours, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0, mail.Errorf(mail.Invalid, "ttl_hours is %s, not a number of hours", v)
	}
	return max(1, int64(math.Round(min(hours, maxHours)*3600))), nil
}

// encodeMessage writes the line of a message. What a foreign line said otherwise than this package would, and the
// members that only others know, are taken from the message's metadata, unless they contradict the message.
func encodeMessage(m *mail.Message, known sessions) []byte {
	o, kept := plain(m, known), keptOf(m)
	if len(kept) == 0 {
		return o.line()
	}
	again := slices.Clone(o)
	for _, k := range kept {
		again.put(k.Name, k.Value)
	}
	if back, _, err := messageOf(again, known); err == nil && sameMessage(&back, m, o, known) {
		o = again
	}
	return o.line()
}

// sameMessage reports whether back, read from a line with kept members, says what the plain line o of m says.
func sameMessage(back, m *mail.Message, o object, known sessions) bool {
	want, _, err := messageOf(o, known)
	return err == nil && back.ID == m.ID && back.From == want.From && slices.Equal(back.To, m.To) &&
		back.Subject == want.Subject &&
		back.Body == want.Body && back.ReplyTo == want.ReplyTo && back.Sent == want.Sent &&
		ttlHours(back) == ttlHours(m)
}

// plain returns the eight members of a message, and its subject if it has one.
func plain(m *mail.Message, known sessions) object {
	parent := m.ReplyTo
	if parent == "" {
		parent = m.Thread
	}
	thread := jsonx.Value(null)
	if parent != "" {
		thread = quote(string(parent))
	}
	o := object{
		{Name: "id", Value: quote(string(m.ID))},
		{Name: "sender", Value: quote(string(m.From.Signer()))},
		{Name: "recipient", Value: quote(spellAll(m.To, known))},
		{Name: "timestamp", Value: quote(stamp(m.Sent))},
		{Name: "content", Value: quote(content(m))},
		{Name: "thread", Value: thread},
		{Name: "ttl_hours", Value: jsonx.Value(ttlHours(m))},
		{Name: "read_by", Value: jsonx.Value(nothing)},
	}
	if m.Subject != "" {
		o.put("subject", quote(m.Subject))
	}
	return o
}

// content is the body, with the documents behind it: the format has no place of their own for them.
func content(m *mail.Message) string { return dialect.WithDocs(m, " (%s)") }

// decodeMessage reads a line of the mailbox. readers are those that the line itself calls readers; HAAK leaves that
// list empty.
func decodeMessage(line []byte, known sessions) (m mail.Message, readers []mail.Address, err error) {
	o, err := parseObject(line)
	if err != nil {
		return m, nil, err
	}
	return messageOf(o, known)
}

func messageOf(o object, known sessions) (m mail.Message, readers []mail.Address, err error) {
	m = mail.Message{Type: mail.Custom, Subject: subject(o.text("subject"))}
	if m.ID, err = mail.ParseID(o.text("id")); err != nil {
		return m, nil, fmt.Errorf("id: %w", err)
	}
	if m.From, err = signer(o.text(senderNames[:]...)); err != nil {
		return m, nil, err
	}
	if list := listed(o.value(recipientNames[:]...)); list != nil {
		m.To, err = union(list, known)
	} else {
		m.To, err = recipients(o.text(recipientNames[:]...), known)
	}
	if err != nil {
		return m, nil, err
	}
	if m.Sent, err = parseTime(o.text("timestamp")); err != nil {
		return m, nil, err
	}
	if m.TTLSeconds, err = ttlSeconds(o.value("ttl_hours"), m.To); err != nil {
		return m, nil, err
	}
	text, ok := unquote(o.value(contentNames[:]...))
	if !ok || m.Sent <= 0 || len(m.To) == 0 || len(m.To) > mail.MaxRecipients {
		return m, nil, mail.Errorf(mail.Invalid,
			"the line has no content, lies before 1970, or has no recipients or too many")
	}
	m.Body = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if parent := o.text("thread"); parent != "" {
		if m.ReplyTo, err = mail.ParseID(parent); err != nil {
			return m, nil, err
		}
	}
	var names []string
	_ = jsonx.Unmarshal(o.value("read_by"), &names) // a list of anything else is kept as it is
	for _, n := range names {
		if a, err := signer(n); err == nil {
			readers = append(readers, a)
		}
	}
	m.Metadata = kept(o, plain(&m, known))
	return m, readers, nil
}

// subject makes a subject of foreign text: one line that is not too long.
func subject(s string) string {
	return dialect.Subject(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == 0
	}), " "))
}

// keptKey is the member of metadata that holds what a line says otherwise than this package would, or beyond it.
const keptKey = "haak"

// kept returns, as metadata, the members of a foreign line that its plain form would not say, in the order in which
// they would be written again; nil if there are none.
func kept(foreign, plain object) mail.Metadata {
	var rest, unknown object
	for _, m := range foreign {
		switch said := plain.find(m.Name); {
		case slices.Contains([]string{"id", "content", "from", "to", "body"}, m.Name):
		case said < 0:
			unknown = append(unknown, m)
		case !sameValue(m.Value, plain[said].Value):
			rest = append(rest, m)
		}
	}
	slices.SortFunc(rest, func(a, b jsonx.Member) int { return plain.find(a.Name) - plain.find(b.Name) })
	if rest = append(rest, unknown...); len(rest) == 0 {
		return nil
	}
	all := object{{Name: keptKey, Value: rest.line()}}.line()
	if len(all) > mail.MaxMetadata {
		return nil // the file still has it
	}
	return all
}

func sameValue(a, b jsonx.Value) bool {
	s, isText := unquote(a)
	t, isToo := unquote(b)
	return isText && isToo && s == t || bytes.Equal(a, b)
}

func keptOf(m *mail.Message) object {
	if len(m.Metadata) == 0 {
		return nil
	}
	all, err := jsonx.Members(m.Metadata)
	if err != nil {
		return nil
	}
	rest, err := jsonx.Members(object(all).value(keptKey))
	if err != nil {
		return nil
	}
	return rest
}

// asWritten is the metadata by which a line spells its recipient as its sender did.
func asWritten(recipient jsonx.Value) mail.Metadata {
	return object{{Name: keptKey, Value: object{{Name: "recipient", Value: recipient}}.line()}}.line()
}

// reading is a line of the reads file.
type reading struct {
	message mail.ID
	reader  mail.Address
	at      mail.Time
}

func encodeReading(r reading) []byte {
	return object{
		{Name: messageNames[0], Value: quote(string(r.message))},
		{Name: readerNames[0], Value: quote(string(r.reader.Signer()))},
		{Name: "timestamp", Value: quote(stamp(r.at))},
	}.line()
}

// decodeReading reads a line of the reads file. A time that cannot be read is none.
func decodeReading(line []byte) (r reading, err error) {
	o, err := parseObject(line)
	if err != nil {
		return r, err
	}
	if r.message, err = mail.ParseID(o.text(messageNames[:]...)); err != nil {
		return r, fmt.Errorf("%s: %w", messageNames[0], err)
	}
	if r.reader, err = signer(o.text(readerNames[:]...)); err != nil {
		return r, fmt.Errorf("%s: %w", readerNames[0], err)
	}
	r.at, _ = parseTime(o.text("timestamp"))
	return r, nil
}
