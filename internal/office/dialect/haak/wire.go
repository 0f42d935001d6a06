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

type object = dialect.Object

func parseObject(line []byte) (object, error) {
	o, err := jsonx.Members(jsonx.Mended(line))
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "%s", jsonx.Explain(err))
	}
	return o, nil
}

func quote(s string) jsonx.Value { return jsonx.AppendQuote(nil, s) }

const (
	null    = "null"
	nothing = "[]"
)

// Member names. The document's text lost the underscores of the reads, and files that follow it may lack them too.
// The amendment and later memos rename sender, recipient and content to from, to and body.
var (
	senderNames    = [...]string{"sender", "from"}
	recipientNames = [...]string{"recipient", "to"}
	contentNames   = [...]string{"content", "body"}
	messageNames   = [...]string{"message_id", "messageid"}
	readerNames    = [...]string{"reader_session_id", "readersession_id", "readersessionid"}
)

// timeLayout is ISO 8601 in UTC, with milliseconds only if they are not zero.
const timeLayout = "2006-01-02T15:04:05.999Z07:00"

func stamp(t mail.Time) string { return t.Std().Format(timeLayout) }

// parseTime parses RFC 3339, and Python's format without a zone, which is taken as UTC.
func parseTime(s string) (mail.Time, error) {
	s = strings.Replace(strings.TrimSpace(s), " ", "T", 1)
	if t, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
		return mail.TimeOf(t), nil
	}
	return mail.ParseTime(s)
}

// directTTL is the time to live of mail to a session.
const directTTL = 24 * time.Hour

func direct(to []mail.Address) bool {
	return !slices.ContainsFunc(to, func(a mail.Address) bool { return a.Kind() != mail.ToAgent })
}

// audience returns the audience of HAAK's role mail: every live holder sees it until one has read it.
func audience(to []mail.Address) string {
	if slices.ContainsFunc(to, func(a mail.Address) bool { return a.Kind() == mail.ToRole }) {
		return mail.AudienceHolders
	}
	return ""
}

// defaultTTL returns the time to live, in seconds, of a message without ttl_hours; 0 means the room's default.
func defaultTTL(to []mail.Address) int64 {
	if direct(to) {
		return int64(directTTL / time.Second)
	}
	return 0
}

// ttlHours returns the file's value for a message's time to live, in whole hours, rounded up.
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

// maxHours is a century, the longest time to live.
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

// encodeMessage returns the line of a message. Foreign spellings and members that only others know are restored from
// the message's metadata, unless they contradict the message.
func encodeMessage(m *mail.Message, known sessions) []byte {
	o, kept := plain(m, known), keptOf(m)
	if len(kept) == 0 {
		return o.Line()
	}
	again := slices.Clone(o)
	for _, k := range kept {
		again.Put(k.Name, k.Value)
	}
	if back, _, err := messageOf(again, known); err == nil && sameMessage(&back, m, o, known) {
		o = again
	}
	return o.Line()
}

// sameMessage reports whether back, parsed from a line with kept members, equals the message in the plain line o of
// m.
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
		o.Put("subject", quote(m.Subject))
	}
	return o
}

// content returns the body followed by the documents, for which the format has no member.
func content(m *mail.Message) string { return dialect.WithDocs(m, " (%s)") }

// decodeMessage parses a line of the mailbox. readers are those that the line itself lists; HAAK leaves that list
// empty.
func decodeMessage(line []byte, known sessions) (m mail.Message, readers []mail.Address, err error) {
	o, err := parseObject(line)
	if err != nil {
		return m, nil, err
	}
	return messageOf(o, known)
}

func messageOf(o object, known sessions) (m mail.Message, readers []mail.Address, err error) {
	m = mail.Message{Type: mail.Custom, Subject: subject(o.Text("subject"))}
	if m.ID, err = mail.ParseID(o.Text("id")); err != nil {
		return m, nil, fmt.Errorf("id: %w", err)
	}
	if m.From, err = by(o.Text(senderNames[:]...), known); err != nil {
		return m, nil, err
	}
	if list := listed(o.Value(recipientNames[:]...)); list != nil {
		m.To, err = union(list, known)
	} else {
		m.To, err = recipients(o.Text(recipientNames[:]...), known)
	}
	if err != nil {
		return m, nil, err
	}
	m.Audience = audience(m.To)
	if m.Sent, err = parseTime(o.Text("timestamp")); err != nil {
		return m, nil, err
	}
	if m.TTLSeconds, err = ttlSeconds(o.Value("ttl_hours"), m.To); err != nil {
		return m, nil, err
	}
	text, ok := dialect.Unquote(o.Value(contentNames[:]...))
	if !ok || m.Sent <= 0 || len(m.To) == 0 || len(m.To) > mail.MaxRecipients {
		return m, nil, mail.Errorf(mail.Invalid,
			"the line has no content, a time before 1970, no recipients or too many")
	}
	m.Body = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if parent := o.Text("thread"); parent != "" {
		if m.ReplyTo, err = mail.ParseID(parent); err != nil {
			return m, nil, err
		}
	}
	var names []string
	_ = jsonx.Unmarshal(o.Value("read_by"), &names) // a list of anything else is kept as it is
	for _, n := range names {
		if a, err := by(n, known); err == nil {
			readers = append(readers, a)
		}
	}
	m.Metadata = kept(o, plain(&m, known))
	return m, readers, nil
}

// subject turns foreign text into a subject: one line of limited length.
func subject(s string) string {
	return dialect.Subject(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == 0
	}), " "))
}

// keptKey is the metadata member that holds the parts of a foreign line that its plain form lacks.
const keptKey = "haak"

// kept returns, as metadata, the members of a foreign line that its plain form lacks or spells differently, in the
// order of writing; nil if there are none.
func kept(foreign, plain object) mail.Metadata {
	var rest, unknown object
	for _, m := range foreign {
		switch said := plain.Find(m.Name); {
		case slices.Contains([]string{"id", "content", "from", "to", "body"}, m.Name):
		case said < 0:
			unknown = append(unknown, m)
		case !sameValue(m.Value, plain[said].Value):
			rest = append(rest, m)
		}
	}
	slices.SortFunc(rest, func(a, b jsonx.Member) int { return plain.Find(a.Name) - plain.Find(b.Name) })
	if rest = append(rest, unknown...); len(rest) == 0 {
		return nil
	}
	all := object{{Name: keptKey, Value: rest.Line()}}.Line()
	if len(all) > mail.MaxKept {
		return nil // the file still has it
	}
	return all
}

func sameValue(a, b jsonx.Value) bool {
	s, isText := dialect.Unquote(a)
	t, isToo := dialect.Unquote(b)
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
	rest, err := jsonx.Members(object(all).Value(keptKey))
	if err != nil {
		return nil
	}
	return rest
}

// asWritten returns metadata that preserves the sender's spelling of the recipient.
func asWritten(recipient jsonx.Value) mail.Metadata {
	return object{{Name: keptKey, Value: object{{Name: "recipient", Value: recipient}}.Line()}}.Line()
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
	}.Line()
}

// decodeReading parses a line of the reads file. An unreadable time is dropped.
func decodeReading(line []byte, known sessions) (r reading, err error) {
	o, err := parseObject(line)
	if err != nil {
		return r, err
	}
	if r.message, err = mail.ParseID(o.Text(messageNames[:]...)); err != nil {
		return r, fmt.Errorf("%s: %w", messageNames[0], err)
	}
	if r.reader, err = by(o.Text(readerNames[:]...), known); err != nil {
		return r, fmt.Errorf("%s: %w", readerNames[0], err)
	}
	r.at, _ = parseTime(o.Text("timestamp"))
	return r, nil
}
