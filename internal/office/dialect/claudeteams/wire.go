package claudeteams

import (
	"strconv"
	"strings"
	"time"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// entry is a message in an inbox.
type entry struct {
	From, Text, Summary, Color string
	Timestamp                  string // as it stands in the file
	Read                       bool
	MsgID                      string // of the native wire
	native                     bool   // it is of the native wire
	extra                      object // members that are not known

	sent mail.Time
}

// tag is in what Claude Code hands an entry to the model: sender and summary are attributes, the text stands between
// two. Not all releases escape them.
const tag = "teammate-message"

// guard takes from an entry of ours what ends an attribute or a tag there, and nothing else. A frame keeps its
// meaning.
func (e *entry) guard() {
	e.From, e.Summary = fence.Quoted(e.From), fence.Quoted(e.Summary)
	if fence.Without(tag, e.Text) == e.Text {
		return
	}
	if _, isFrame := classify(e.Text); isFrame {
		e.Text = fence.EscapeJSON(e.Text)
	} else {
		e.Text = fence.Without(tag, e.Text)
	}
}

// neat prints the entry as it stands in an inbox.
func (e *entry) neat() []byte {
	o := object{}.set("from", quote(e.From)).set("text", quote(e.Text))
	if e.Summary != "" {
		o = o.set("summary", quote(e.Summary))
	}
	o = o.set("timestamp", quote(e.Timestamp))
	if e.Color != "" {
		o = o.set("color", quote(e.Color))
	}
	if e.native {
		o = o.set("msgV", []byte("1")).set("msg_id", quote(e.MsgID)).set("type", []byte(`"message"`))
	}
	return append(o.set("read", strconv.AppendBool(nil, e.Read)), e.extra...).neat(1)
}

// parseEntry reads an element of an inbox. why says what is wrong with it, "" if it is a message; junk, that nobody
// could take it for one.
//
// What Claude Code ever wrote is a message, and so is what other writers make of it: null for a summary or a color,
// times with an offset or as a number of milliseconds, "content" for "text". A read flag that is not there says false.
func parseEntry(raw []byte) (e entry, why string, junk bool) {
	o, ok := parseObject(raw)
	if !ok {
		return e, "it is not an object", true
	}
	var from, text, summary, color, id bool
	e.From, from = o.text("from")
	if !from || e.From == "" {
		return e, "it has no sender", true
	}
	e.Text, text = o.text("text")
	if o.raw("text") == nil && o.raw("content") != nil {
		e.Text, text = o.text("content")
	}
	if !text || o.raw("text") == nil && o.raw("content") == nil {
		return e, "it has no text", false
	}
	e.Summary, summary = o.text("summary")
	e.Color, color = o.text("color")
	e.MsgID, id = o.text("msg_id")
	if !summary || !color || !id {
		return e, "a member is not a string", false
	}
	if e.sent, ok = parseTime(o.raw("timestamp")); !ok {
		return e, "it has no time", false
	}
	if e.Timestamp, ok = unquote(o.raw("timestamp")); !ok {
		e.Timestamp = string(o.raw("timestamp"))
	}
	if e.Read, ok = o.bool("read"); !ok && o.raw("read") != nil {
		return e, "read is neither true nor false", false
	}
	e.native = e.MsgID != "" || o.raw("msgV") != nil
	for _, f := range o {
		if !f.known() {
			e.extra = append(e.extra, f)
		}
	}
	return e, "", false
}

func (f *field) known() bool {
	for _, name := range []string{"from", "text", "content", "summary", "timestamp", "color", "msgV", "msg_id", "type",
		"read"} {
		if f.called(name) {
			return true
		}
	}
	return false
}

// year10000 is the first time that RFC 3339 cannot say, in milliseconds.
const year10000 = 253402300800000

// parseTime reads a timestamp: RFC 3339, the same without an offset (which Python prints, and means UTC), or
// milliseconds since 1970.
func parseTime(raw []byte) (mail.Time, bool) {
	if len(raw) == 0 {
		return 0, false
	}
	s, ok := unquote(raw)
	if !ok {
		ms, err := strconv.ParseFloat(string(raw), 64)
		return mail.Time(ms), err == nil && ms >= 1 && ms < year10000
	}
	t, err := mail.ParseTime(s)
	if err != nil {
		t, err = mail.ParseTime(strings.Replace(s, " ", "T", 1) + "Z")
	}
	return t, err == nil && t > 0
}

// isoTime is how JavaScript prints a time.
func isoTime(t time.Time) string { return mail.TimeOf(t).String() }

// array is an inbox as a text.
type array struct {
	text     []byte
	elements [][]byte
	neat     bool // the text is laid out as Claude Code does
}

// parseInbox reads the text of an inbox. known is how much of it, up to the end of an element, is known to be in order
// and to be laid out so; elements are those behind it.
func parseInbox(text []byte, known int) (a array, ok bool) {
	s := scanner{b: text, neat: true}
	a.text = text
	take := func(raw []byte) { a.elements = append(a.elements, raw) }
	if s.i = known; known > 0 {
		if s.more(']', 0) {
			s.elements(0, take)
		}
	} else {
		s.neat = len(s.space()) == 0
		if s.peek() != '[' {
			return a, false
		}
		s.array(0, take)
	}
	ok = s.end()
	a.neat = s.neat
	return a, ok
}

// join returns the text with elements added, which are laid out already.
func (a *array) join(more [][]byte) []byte {
	if !a.neat || string(a.text) == "[]" {
		return neatArray(append(a.elements, more...))
	}
	out := append([]byte(nil), a.text[:len(a.text)-len("\n]")]...)
	for _, raw := range more {
		out = append(append(out, ",\n  "...), raw...)
	}
	return append(out, "\n]"...)
}
