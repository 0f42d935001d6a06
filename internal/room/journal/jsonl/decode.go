package jsonl

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// decode returns the event in a checked line; covered comes from check. It never fails: if a newer Pennypost wrote a
// line in an unknown way, only its sequence number and time are returned.
func (p *parser) decode(seq mail.Seq, covered []byte) mail.Event {
	e, err := p.read(seq, covered)
	if err != nil {
		var envelope struct {
			At mail.Time `json:"at"`
		}
		_ = jsonx.UnmarshalLenient(closeObject(covered), &envelope)
		return mail.Event{Seq: seq, At: envelope.At}
	}
	return e
}

// read is decode for callers that must know whether the line was understood.
func (p *parser) read(seq mail.Seq, covered []byte) (mail.Event, error) {
	if e, ok := p.decodeFast(seq, covered); ok {
		return e, nil
	}
	return decodeSlowly(seq, covered)
}

// known reports whether an event has any content that this version knows.
func known(e mail.Event) bool { return e != mail.Event{Seq: e.Seq, At: e.At} }

// decodeSlowly reads any JSON line that fits the mail types.
func decodeSlowly(seq mail.Seq, covered []byte) (mail.Event, error) {
	var e mail.Event
	if err := jsonx.UnmarshalLenient(closeObject(covered), &e); err != nil {
		return mail.Event{}, err
	}
	e.Seq = seq
	return e, nil
}

func closeObject(covered []byte) []byte {
	return append(append(make([]byte, 0, len(covered)+1), covered...), '}')
}

// decodeFast reads messages and receipts in the encoder's form: members in order, no white space. It leaves anything
// else to decodeSlowly. A fuzz test checks that the two agree on every line that decodeFast takes.
//
// It is written by hand because replay and every start of a room wait for it: jsonx takes 1.6 times as long for a line
// and allocates twice as much. Leaving only strings with escapes to jsontext makes a line 20 % slower (BenchmarkLine,
// interleaved).
func (p *parser) decodeFast(seq mail.Seq, covered []byte) (mail.Event, bool) {
	if !plainText(covered) {
		return mail.Event{}, false
	}
	p.rest, p.failed, p.scratch, p.list = covered, false, p.scratch[:0], p.list[:0]
	p.want(head)
	p.digits()
	if p.skip(prevHead) {
		if _, ok := hexSum(p.rest); !ok {
			return mail.Event{}, false
		}
		p.rest = p.rest[crcDigits:]
		p.want(`"`)
	}
	p.want(`,"at":`)
	e := mail.Event{Seq: seq, At: p.time()}
	if p.skip(`,"message":`) {
		e.Message = p.message()
	}
	if p.skip(`,"receipt":`) {
		e.Receipt = p.receipt()
	}
	return e, !p.failed && len(p.rest) == 0
}

// parser reads the bytes of a line from left to right. After a failure its results mean nothing. Reuse it for further
// lines to save allocations: events share no memory with it, except those decoded into a frame.
type parser struct {
	into    *frame // nil: allocate, and decode messages whole
	rest    []byte
	failed  bool
	scratch []byte   // unescaped strings
	list    [][]byte // items of lists
	day     [10]byte // the last date read, and when it began: most lines repeat the date of the line before
	began   mail.Time
}

// message collects its strings as slices of the line and copies them at the end. The short ones share one allocation,
// and the body, most of the line, is not kept alive by a caller that keeps an id.
func (p *parser) message() *mail.Message {
	alone := p.newMessage()
	m := &alone.Message
	p.want(`{"id":`)
	id := p.text()
	p.want(`,"type":`)
	kind := p.text()
	p.want(`,"from":`)
	from := p.text()
	p.want(`,"to":`)
	to := p.texts()
	subject := p.optional(`,"subject":`)
	p.want(`,"body":`)
	body := p.text()
	priority := p.optional(`,"priority":`)
	thread := p.optional(`,"thread":`)
	replyTo := p.optional(`,"reply_to":`)
	issue := p.optional(`,"issue_id":`)
	docs := p.docs()
	m.Metadata = p.metadata()
	if p.skip(`,"ttl_seconds":`) {
		m.TTLSeconds = p.integer()
	}
	audience := p.optional(`,"audience":`)
	key := p.optional(`,"key":`)
	via := p.optional(`,"via":`)
	by := p.optional(`,"by":`)
	m.Suggests = p.skip(`,"suggests":true`)
	if p.skip(`,"sent":`) {
		m.Sent = p.time()
	}
	same := p.optional(`,"same":`)
	if p.skip(`,"checked":`) {
		m.Checked = mail.Seq(p.integer())
	}
	p.want(`}`)
	if p.failed {
		return nil
	}

	if p.into != nil {
		subject, docs = nil, nil
	}
	var a arena
	a.reserve(id, kind, from, subject, priority, thread, replyTo, issue, audience, key, via, by, same)
	a.reserve(to...)
	a.reserve(docs...)
	m.ID = mail.ID(a.take(id))
	m.Type = messageType(kind, &a)
	m.From = mail.Address(a.take(from))
	if m.To = alone.to[:]; len(to) != 1 {
		m.To = make([]mail.Address, len(to))
	}
	for i := range to {
		m.To[i] = mail.Address(a.take(to[i]))
	}
	m.Subject = a.take(subject)
	if p.into != nil {
		m.Body = blank(len(body))
	} else {
		m.Body = string(body)
	}
	m.Priority = mail.Priority(a.take(priority))
	m.Thread = mail.ID(a.take(thread))
	m.ReplyTo = mail.ID(a.take(replyTo))
	m.Issue = a.take(issue)
	m.Audience = a.take(audience)
	m.Key = a.take(key)
	m.Via = a.take(via)
	m.By = mail.Means(a.take(by))
	m.Same = a.take(same)
	for i := 0; i < len(docs); i += 2 {
		m.Docs = append(m.Docs, mail.Doc{Path: a.take(docs[i]), Revision: a.take(docs[i+1])})
	}
	return m
}

func (p *parser) receipt() *mail.Receipt {
	p.want(`{"message":`)
	id := p.text()
	p.want(`,"reader":`)
	reader := p.text()
	p.want(`,"mark":`)
	mark := p.text()
	door := p.optional(`,"door":`)
	var until mail.Time
	if p.skip(`,"until":`) {
		until = p.time()
	}
	machine := p.optional(`,"machine":`)
	p.want(`}`)
	if p.failed {
		return nil
	}
	var a arena
	a.reserve(id, reader, mark, door, machine)
	rc := mail.Receipt{
		Message: mail.ID(a.take(id)), Reader: mail.Address(a.take(reader)), Mark: receiptMark(mark, &a),
		Door: a.take(door), Until: until, Machine: mail.Machine(a.take(machine)),
	}
	if p.into == nil {
		return new(rc)
	}
	p.into.receipts = append(p.into.receipts, rc)
	return &p.into.receipts[len(p.into.receipts)-1]
}

// loneMessage is one allocation for a message to one address, the usual case.
type loneMessage struct {
	mail.Message
	to [1]mail.Address
}

func (p *parser) newMessage() *loneMessage {
	if p.into == nil {
		return new(loneMessage)
	}
	p.into.messages = append(p.into.messages, loneMessage{})
	return &p.into.messages[len(p.into.messages)-1]
}

var blanks = sync.OnceValue(func() string { return strings.Repeat(" ", mail.MaxBody) })

// blank returns n blanks, without an allocation up to the largest body.
func blank(n int) string {
	if n > mail.MaxBody {
		return strings.Repeat(" ", n)
	}
	return blanks()[:n]
}

// Words of a small set are shared constants, not copies.

var messageTypes = mail.Types()

func messageType(b []byte, a *arena) mail.Type {
	for _, t := range messageTypes {
		if string(b) == string(t) {
			return t
		}
	}
	return mail.Type(a.take(b))
}

func receiptMark(b []byte, a *arena) mail.Mark {
	switch string(b) {
	case string(mail.MarkNotified):
		return mail.MarkNotified
	case string(mail.MarkPresented):
		return mail.MarkPresented
	case string(mail.MarkRead):
		return mail.MarkRead
	}
	return mail.Mark(a.take(b))
}

// arena makes strings that share one allocation.
type arena struct {
	space int
	text  strings.Builder
}

func (a *arena) reserve(parts ...[]byte) {
	for _, p := range parts {
		a.space += len(p)
	}
}

func (a *arena) take(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	from := a.text.Len()
	if from == 0 {
		// grow once, to the reserved size: growing later would leave earlier strings in another allocation
		a.text.Grow(a.space)
	}
	a.text.Write(b)
	return a.text.String()[from:]
}

// want skips s, or fails.
func (p *parser) want(s string) {
	if !p.skip(s) {
		p.failed = true
	}
}

func (p *parser) skip(s string) bool {
	if len(p.rest) < len(s) || string(p.rest[:len(s)]) != s {
		return false
	}
	p.rest = p.rest[len(s):]
	return true
}

func (p *parser) digits() []byte {
	n := 0
	for n < len(p.rest) && p.rest[n]-'0' < 10 {
		n++
	}
	d := p.rest[:n]
	p.rest = p.rest[n:]
	return d
}

func (p *parser) integer() int64 {
	start := p.rest
	p.skip(`-`)
	d := p.digits()
	if len(d) == 0 || d[0] == '0' {
		p.failed = true
		return 0
	}
	n, err := strconv.ParseInt(string(start[:len(start)-len(p.rest)]), 10, 64)
	p.failed = p.failed || err != nil
	return n
}

// text returns the string that begins here: a slice of the line, or of scratch if it has escapes.
func (p *parser) text() []byte {
	if len(p.rest) == 0 || p.rest[0] != '"' {
		p.failed = true
		return nil
	}
	b := p.rest[1:]
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		p.failed = true
		return nil
	}
	if bytes.IndexByte(b[:end], '\\') >= 0 {
		return p.escaped(b)
	}
	p.rest = b[end+1:]
	return b[:end:end]
}

// escapes maps the letter after a backslash to its character.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped is text for a string with a backslash. It leaves surrogates to decodeSlowly: the encoder writes none.
func (p *parser) escaped(b []byte) []byte {
	from := len(p.scratch)
	for {
		i := quoteOrBackslash(b)
		if i < 0 || b[i] == '\\' && i+1 == len(b) {
			p.failed = true
			return nil
		}
		p.scratch = append(p.scratch, b[:i]...)
		if b[i] == '"' {
			p.rest = b[i+1:]
			return p.scratch[from:len(p.scratch):len(p.scratch)]
		}
		c := b[i+1]
		b = b[i+2:]
		switch meant := escapes[c]; {
		case meant != 0:
			p.scratch = append(p.scratch, meant)
		case c == 'u' && len(b) >= 4 && string(b[:2]) == "00":
			n, err := strconv.ParseUint(string(b[2:4]), 16, 8)
			if err != nil || n >= 0x80 {
				p.failed = true
				return nil
			}
			p.scratch = append(p.scratch, byte(n))
			b = b[4:]
		default:
			p.failed = true
			return nil
		}
	}
}

func (p *parser) optional(name string) []byte {
	if p.skip(name) {
		return p.text()
	}
	return nil
}

func (p *parser) texts() [][]byte {
	p.want(`[`)
	if p.skip(`]`) {
		return nil
	}
	from := len(p.list)
	for !p.failed {
		p.list = append(p.list, p.text())
		if p.skip(`]`) {
			break
		}
		p.want(`,`)
	}
	return p.list[from:]
}

// docs returns the path and revision of each document in turn.
func (p *parser) docs() [][]byte {
	if !p.skip(`,"docs":[`) {
		return nil
	}
	from := len(p.list)
	for !p.failed {
		p.want(`{"path":`)
		p.list = append(p.list, p.text())
		p.list = append(p.list, p.optional(`,"revision":`))
		p.want(`}`)
		if p.skip(`]`) {
			break
		}
		p.want(`,`)
	}
	return p.list[from:]
}

// metadata returns a copy of the object, byte for byte.
func (p *parser) metadata() mail.Metadata {
	if !p.skip(`,"metadata":`) {
		return nil
	}
	n := objectLen(p.rest)
	if n == 0 || !jsonx.Value(p.rest[:n]).IsValid() {
		p.failed = true
		return nil
	}
	object := bytes.Clone(p.rest[:n])
	p.rest = p.rest[n:]
	return object
}

// objectLen returns the length of the object at the start of b, 0 if there is none.
func objectLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
		if depth == 0 {
			return 0
		}
	}
	return 0
}

// time reads the one form that mail.Time writes.
func (p *parser) time() mail.Time {
	const form = `"` + timeForm + `"`
	if len(p.rest) < len(form) {
		p.failed = true
		return 0
	}
	b := p.rest[:len(form)]
	for i := range form {
		digit := form[i] >= '0' && form[i] <= '9'
		if digit != (b[i]-'0' < 10) || !digit && b[i] != form[i] {
			p.failed = true
			return 0
		}
	}
	hour, minute, second := number(b[12:14]), number(b[15:17]), number(b[18:20])
	if hour > 23 || minute > 59 || second > 59 || string(b[1:11]) != string(p.day[:]) && !p.date(b[1:11]) {
		p.failed = true
		return 0
	}
	p.rest = p.rest[len(form):]
	return p.began + mail.Time(((hour*60+minute)*60+second)*1000+number(b[21:24]))
}

// date sets the current day to b, which has the form of a date, if the date exists.
func (p *parser) date(b []byte) bool {
	year, month, day := number(b[:4]), number(b[5:7]), number(b[8:])
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	// Date normalises values that are out of range into the next unit
	if year == 0 || t.Day() != day || int(t.Month()) != month {
		return false
	}
	p.day, p.began = [10]byte(b), mail.TimeOf(t)
	return true
}

func number(digits []byte) (n int) {
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}
