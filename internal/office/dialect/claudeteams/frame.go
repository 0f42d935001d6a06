package claudeteams

import (
	"slices"
	"strconv"

	"pennypost/internal/mail"
)

// frame is a protocol message: a JSON object in the text of an entry.
type frame struct {
	kind    string
	payload object
	rule    rule // zero if the frame is unknown or lacks a required member
}

// classify parses a text as a frame. Text that does not begin with '{', is not JSON or has no type is plain.
func classify(text string) (f frame, ok bool) {
	if text == "" || text[0] != '{' {
		return f, false
	}
	if f.payload, ok = parseObject([]byte(text)); !ok {
		return f, false
	}
	if f.kind = f.payload.string("type"); f.kind == "" {
		return f, false
	}
	all := rules()
	if i := slices.IndexFunc(all, func(r rule) bool { return r.frame == f.kind }); i >= 0 && f.fits(all[i]) {
		f.rule = all[i]
	}
	return f, true
}

func (f *frame) fits(r rule) bool {
	for _, need := range r.needs {
		_, isText := unquote(f.payload.raw(need))
		_, isBool := f.payload.bool(need)
		if isText == (need == "approved") || isBool != (need == "approved") {
			return false
		}
	}
	return true
}

// known reports whether a rule matches the frame.
func (f *frame) known() bool { return f.rule.frame != "" }

// typ returns the frame's type in the room.
func (f *frame) typ() mail.Type {
	if !f.known() {
		return mail.Custom
	}
	return f.rule.typ
}

// request returns the id of the request that the frame makes or answers; both spellings occur.
func (f *frame) request() string {
	if id := f.payload.string("requestId"); id != "" {
		return id
	}
	return f.payload.string("request_id")
}

// approved returns the verdict of a response.
func (f *frame) approved() bool {
	yes, _ := f.payload.bool("approved")
	return yes || f.kind == "shutdown_approved"
}

// verdict returns the verdict in the room's words, or "" if the frame is not a review.
func (f *frame) verdict() string {
	switch {
	case f.typ() != mail.ReviewResult:
		return ""
	case f.approved():
		return "approved"
	}
	return "changes-requested"
}

// subject describes the frame in one line. derived contains "subject" if the line is not in the frame.
func (f *frame) subject() (line string, derived []string) {
	r := f.rule
	if own := f.payload.string(r.subject); r.subject != "" && own != "" {
		return oneLine(own, mail.MaxSubject), nil
	}
	line = r.about
	switch {
	case !f.known():
		line = f.kind
	case r.detail != "" && f.payload.string(r.detail) != "":
		line += ": " + f.payload.string(r.detail)
	case slices.Contains(r.needs, "approved") && f.approved():
		line += " approved"
	case slices.Contains(r.needs, "approved"):
		line += " rejected"
	}
	return oneLine(line, mail.MaxSubject), []string{"subject"}
}

// words returns the frame's text for a reader, or "" if it has none.
func (f *frame) words() string {
	for _, name := range f.rule.text {
		if s := f.payload.string(name); s != "" {
			return s
		}
	}
	return ""
}

// at returns the frame's time, or 0 if it has none.
func (f *frame) at() mail.Time {
	t, _ := parseTime(f.payload.raw("timestamp"))
	return t
}

// pair is a member of a new frame.
type pair struct {
	name  string
	value string
	raw   bool // value is JSON
}

func isBool(name string, v bool) pair { return pair{name, strconv.FormatBool(v), true} }
func isText(name, v string) pair      { return pair{name: name, value: v} }

// makeFrame returns the text of a frame. Empty members are left out.
func makeFrame(kind string, pairs ...pair) string {
	text := append([]byte(`{"type":`), quote(kind)...)
	for _, p := range pairs {
		if p.value == "" {
			continue
		}
		text = append(append(append(text, ','), quote(p.name)...), ':')
		if p.raw {
			text = append(text, p.value...)
		} else {
			text = append(text, quote(p.value)...)
		}
	}
	return string(append(text, '}'))
}
