package jsonl

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// encoder writes the part of a line between seq and crc, and remembers the first error.
//
// It is written by hand because every send waits for it. Members have the order of the mail types' fields; fuzz tests
// compare it with jsonx.
type encoder struct {
	b   []byte
	err error
}

// appendPayload appends the part between seq and crc of the line of e.
func appendPayload(b []byte, e *mail.Event) ([]byte, error) {
	w := encoder{b: b}
	w.raw(`,"at":`)
	w.time(e.At)
	if e.Machine != nil && e.Machine.Admits {
		w.raw(needsHead + `"features":["` + machineKeys + `"]}`)
	}
	if e.Message != nil {
		w.raw(`,"message":`)
		w.message(e.Message)
	}
	if e.Receipt != nil {
		w.raw(`,"receipt":`)
		w.receipt(e.Receipt)
	}
	rare(&w, `,"agent":`, e.Agent)
	rare(&w, `,"erased":`, e.Erased)
	rare(&w, `,"checkpoint":`, e.Checkpoint)
	rare(&w, `,"bridge":`, e.Bridge)
	rare(&w, `,"workspace":`, e.Workspace)
	rare(&w, `,"settled":`, e.Settled)
	rare(&w, `,"machine":`, e.Machine)
	rare(&w, `,"grant":`, e.Grant)
	rare(&w, `,"dialog":`, e.Dialog)
	rare(&w, `,"claim":`, e.Claim)
	rare(&w, `,"schedule":`, e.Schedule)
	return w.b, w.err
}

func (w *encoder) message(m *mail.Message) {
	w.raw(`{"id":`)
	w.text(string(m.ID))
	w.member(`,"type":`, string(m.Type))
	w.member(`,"from":`, string(m.From))
	w.raw(`,"to":[`)
	for i, a := range m.To {
		w.comma(i)
		w.text(string(a))
	}
	w.raw(`]`)
	w.optional(`,"subject":`, m.Subject)
	w.member(`,"body":`, m.Body)
	w.optional(`,"priority":`, string(m.Priority))
	w.optional(`,"thread":`, string(m.Thread))
	w.optional(`,"reply_to":`, string(m.ReplyTo))
	w.optional(`,"issue_id":`, m.Issue)
	w.docs(m.Docs)
	w.metadata(m.Metadata)
	w.number(`,"ttl_seconds":`, m.TTLSeconds)
	w.optional(`,"audience":`, m.Audience)
	w.optional(`,"key":`, m.Key)
	w.optional(`,"via":`, m.Via)
	w.optional(`,"by":`, string(m.By))
	w.flag(`,"suggests":true`, m.Suggests)
	if m.Sent != 0 {
		w.raw(`,"sent":`)
		w.time(m.Sent)
	}
	w.optional(`,"same":`, m.Same)
	w.number(`,"checked":`, int64(m.Checked))
	w.raw(`}`)
}

func (w *encoder) docs(docs []mail.Doc) {
	if len(docs) == 0 {
		return
	}
	w.raw(`,"docs":[`)
	for i, d := range docs {
		w.comma(i)
		w.member(`{"path":`, d.Path)
		w.optional(`,"revision":`, d.Revision)
		w.raw(`}`)
	}
	w.raw(`]`)
}

func (w *encoder) receipt(r *mail.Receipt) {
	w.member(`{"message":`, string(r.Message))
	w.member(`,"reader":`, string(r.Reader))
	w.member(`,"mark":`, string(r.Mark))
	w.optional(`,"door":`, r.Door)
	if r.Until != 0 {
		w.raw(`,"until":`)
		w.time(r.Until)
	}
	w.optional(`,"machine":`, string(r.Machine))
	w.raw(`}`)
}

// rare leaves the rarer members to jsonx. It checks that they can be read back: once a checkpoint is written, the
// events that it replaces are dropped.
func rare[T any](w *encoder, name string, v *T) {
	if v == nil {
		return
	}
	b, err := jsonx.Marshal(v)
	if err == nil {
		err = jsonx.UnmarshalLenient(b, new(T))
	}
	if err != nil {
		w.fail("it is not valid JSON: " + err.Error())
	}
	w.b = append(append(w.b, name...), b...)
}

func (w *encoder) raw(s string) { w.b = append(w.b, s...) }

func (w *encoder) comma(i int) {
	if i > 0 {
		w.raw(`,`)
	}
}

func (w *encoder) text(s string) {
	if !utf8.ValidString(s) {
		w.fail("it contains text that is not valid UTF-8")
	}
	w.b = jsonx.AppendQuote(w.b, s)
}

func (w *encoder) member(name, s string) {
	w.raw(name)
	w.text(s)
}

func (w *encoder) optional(name, s string) {
	if s != "" {
		w.member(name, s)
	}
}

// number writes n unless it is 0.
func (w *encoder) number(name string, n int64) {
	if n != 0 {
		w.raw(name)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *encoder) flag(text string, on bool) {
	if on {
		w.raw(text)
	}
}

// The years 1 to 9999, which RFC 3339 can express and ParseTime reads back.
const (
	minTime mail.Time = -62135596800000
	maxTime mail.Time = 253402300799999
)

func (w *encoder) time(t mail.Time) {
	if t < minTime || t > maxTime {
		w.fail("it has a time outside the years 1 to 9999")
		return
	}
	w.raw(`"`)
	w.b, _ = t.AppendText(w.b)
	w.raw(`"`)
}

// metadata writes the object unchanged. It must be one that jsonx can read back, or the line would be unreadable.
func (w *encoder) metadata(m mail.Metadata) {
	if len(m) == 0 {
		return
	}
	if m[0] != '{' || !jsonx.Value(m).IsValid() {
		w.fail("its metadata is not a JSON object with unique keys")
		return
	}
	w.raw(`,"metadata":`)
	w.b = append(w.b, m...)
}

func (w *encoder) fail(why string) {
	if w.err == nil {
		w.err = mail.Errorf(mail.Invalid, "this cannot be written to the journal: %s. Nothing was stored", why)
	}
}

// settle returns e as it will be read back. JSON white space may contain line breaks, which would end the line, and
// may surround metadata. Strings in JSON contain no raw line breaks, so replacing them does not change the metadata's
// meaning.
func settle(e mail.Event) mail.Event {
	if e.Message == nil || e.Message.Metadata == nil {
		return e
	}
	was := e.Message.Metadata
	now := bytes.TrimSpace(was)
	if bytes.ContainsAny(now, "\r\n") && jsonx.Value(now).IsValid() {
		now = bytes.ReplaceAll(bytes.ReplaceAll(now, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
	}
	if len(now) == 0 {
		now = nil
	} else if len(now) == len(was) && &now[0] == &was[0] {
		return e
	}
	m := *e.Message
	m.Metadata = now
	e.Message = &m
	return e
}
