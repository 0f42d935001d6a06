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
	Timestamp                  string // as in the file
	Read                       bool
	MsgID                      string // native wire only
	native                     bool   // native wire
	extra                      object // unknown members
	stamp                      object // members that the native wire adds, as in the file

	sent    mail.Time // 0 if unknown
	refused bool      // Claude Code drops it: its model never sees it
}

// tag is the element in which Claude Code gives an entry to the model: sender and summary are attributes, the text
// is the content. Not all releases escape them.
const tag = "teammate-message"

// guard removes from an entry of ours only what would end an attribute or a tag there. A frame keeps its meaning.
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

// neat prints the entry as an inbox holds it.
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

// parseEntry parses an element of an inbox. why is "" for a message, else the reason that it is none; junk means
// that it cannot be meant as a message.
//
// Every entry that Claude Code accepts is a message, and so are variants of other writers: null for a summary or a
// color, milliseconds as the time, "content" for "text". A missing read flag is false.
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

// readTexts reads the string members except the sender. It returns an error text, or "".
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

// refused reports whether Claude Code (2.1.330) rejects an object as a message: then it delivers it to no one and
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

// year10000 is the first time that RFC 3339 cannot express, in milliseconds.
const year10000 = 253402300800000

// parseTime parses a timestamp. Claude Code accepts any string: an unreadable one gives 0. Numbers are milliseconds
// since 1970; ok is false for anything else.
func parseTime(raw []byte) (t mail.Time, ok bool) {
	if len(raw) == 0 {
		return 0, false
	}
	s, ok := unquote(raw)
	if !ok {
		ms, err := strconv.ParseFloat(string(raw), 64)
		return mail.Time(ms), err == nil && ms >= 1 && ms < year10000
	}
	s, _, _ = strings.Cut(s, " (") // JavaScript adds the zone's name
	for _, layout := range timeLayouts() {
		if at, err := time.Parse(layout, s); err == nil {
			if t := mail.TimeOf(at); t > 0 && t < year10000 {
				return t, true
			}
		}
	}
	return 0, true
}

// timeLayouts are the time formats that programs print by default: JSON's, with an offset or, as Python prints UTC,
// without; dates; JavaScript's for people; and HTTP's.
func timeLayouts() []string {
	return []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime, time.DateOnly,
		"2006-01-02T15:04Z07:00", "Mon Jan _2 2006 15:04:05 GMT-0700", "Mon, 02 Jan 2006 15:04:05 GMT"}
}

// isoTime prints a time as JavaScript does.
func isoTime(t time.Time) string { return mail.TimeOf(t).String() }

// array is the text of an inbox.
type array struct {
	text     []byte
	elements [][]byte
	neat     bool // the text has Claude Code's layout
}

// parseInbox parses the text of an inbox. The first known bytes, up to the end of an element, are known to be valid
// and in Claude Code's layout; a.elements are those after them.
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

// join returns the text with more elements, which already have the layout.
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
