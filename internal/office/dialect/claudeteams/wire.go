package claudeteams

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
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
	stamp                      object // what the native wire adds, as it stands in the file

	sent    mail.Time // 0 if nobody can say when
	refused bool      // Claude Code drops it: its model never sees it
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
// What Claude Code takes is a message, and so is what other writers make of it: null for a summary or a color, times
// as a number of milliseconds, "content" for "text". A read flag that is not there says false.
func parseEntry(raw []byte) (e entry, why string, junk bool) {
	o, ok := parseObject(raw)
	if !ok {
		return e, "it is not an object", true
	}
	if e.From, ok = unquote(o.raw("from")); !ok {
		return e, "it has no sender", true
	}
	if why := e.readTexts(o); why != "" {
		return e, why, false
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
	e.MsgID = o.string("msg_id")
	e.native = e.MsgID != "" || o.raw("msgV") != nil
	e.refused = refused(o)
	for _, f := range o {
		switch {
		case f.called("msgV"), f.called("msg_id"), f.called("type"):
			e.stamp = append(e.stamp, f)
		case !f.known():
			e.extra = append(e.extra, f)
		}
	}
	return e, "", false
}

// readTexts reads the members that are texts, but for the sender. It returns what is wrong with them.
func (e *entry) readTexts(o object) (why string) {
	raw := o.raw("text")
	if raw == nil {
		raw = o.raw("content")
	}
	var text, summary, color bool
	e.Text, text = unquote(raw)
	e.Summary, summary = o.text("summary")
	e.Color, color = o.text("color")
	switch {
	case !text:
		return "it has no text"
	case !summary || !color:
		return "a member is not a string"
	}
	return ""
}

// refused reports whether Claude Code (2.1.330) takes an object for no message: then it hands it to nobody, and
// removes it from the inbox.
func refused(o object) bool {
	for _, name := range []string{"from", "text", "timestamp", "type", "color", "summary", "from_plugin"} {
		_, isText := unquote(o.raw(name))
		needed := name == "from" || name == "text" || name == "timestamp"
		if !isText && (needed || o.find(name) >= 0) {
			return true
		}
	}
	_, isBool := o.bool("read")
	return !isBool && o.find("read") >= 0
}

func (f *field) known() bool {
	for _, name := range []string{"from", "text", "content", "summary", "timestamp", "color", "read"} {
		if f.called(name) {
			return true
		}
	}
	return false
}

// year10000 is the first time that RFC 3339 cannot say, in milliseconds.
const year10000 = 253402300800000

// parseTime reads a timestamp. To Claude Code any string is one: of a string that is no time that can be told the time
// is 0. Numbers are milliseconds since 1970; ok is false of anything else.
func parseTime(raw []byte) (t mail.Time, ok bool) {
	if len(raw) == 0 {
		return 0, false
	}
	s, ok := unquote(raw)
	if !ok {
		ms, err := strconv.ParseFloat(string(raw), 64)
		return mail.Time(ms), err == nil && ms >= 1 && ms < year10000
	}
	s, _, _ = strings.Cut(s, " (") // JavaScript adds the name of the zone
	for _, layout := range timeLayouts() {
		if at, err := time.Parse(layout, s); err == nil {
			if t := mail.TimeOf(at); t > 0 && t < year10000 {
				return t, true
			}
		}
	}
	return 0, true
}

// timeLayouts are the spellings of times that programs print of themselves: that of JSON, with an offset or, as Python
// prints it and means UTC, without; dates; what JavaScript prints for people; and HTTP's.
func timeLayouts() []string {
	return []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime, time.DateOnly,
		"2006-01-02T15:04Z07:00", "Mon Jan _2 2006 15:04:05 GMT-0700", "Mon, 02 Jan 2006 15:04:05 GMT"}
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
	a.text = text
	list := text[known:]
	if known > 0 && string(list) == "\n]" {
		a.neat = true
		return a, true
	}
	if known > 0 {
		more, grown := bytes.CutPrefix(list, []byte{','})
		if !grown {
			return a, false
		}
		list = append([]byte{'['}, more...)
	}
	a.elements, ok = parseArray(list)
	a.neat = ok && bytes.Equal(jsonx.AppendIndented(make([]byte, 0, len(list)), list, 0), list)
	return a, ok && (known == 0 || len(a.elements) > 0)
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
