package claudeteams

import (
	"bytes"

	"pennypost/internal/base/jsonx"
)

// The files are kept by programs that parse them whole and print them whole, and they are shared with us. So what
// stands there is never decoded and encoded again: values are found in the text, and keep every byte of their strings,
// numbers and member names. Only the white space between them becomes that of JSON.stringify(value, null, 2) when a
// file is written.

// maxDepth bounds how deep values are nested; JSON.stringify overflows its own stack not far above it.
const maxDepth = 1000

// scanner walks over JSON text. Like JSON.parse it takes repeated member names, and like a reader of UTF-8 it takes
// any bytes in strings.
type scanner struct {
	b    []byte
	i    int
	bad  bool // the text is not JSON
	neat bool // all white space so far is as JSON.stringify(value, null, 2) prints it
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// space skips white space and returns it.
func (s *scanner) space() []byte {
	from := s.i
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
	return s.b[from:s.i]
}

// line skips white space where a new line belongs whose content is indented by depth.
func (s *scanner) line(depth int) {
	if got := s.space(); !newLine(got, depth) {
		s.neat = false
	}
}

func newLine(got []byte, depth int) bool {
	return len(got) == 1+2*depth && got[0] == '\n' && bytes.Count(got, []byte{' '}) == 2*depth
}

// value skips a value whose own lines are indented by depth.
func (s *scanner) value(depth int) {
	if depth > maxDepth {
		s.bad = true
		return
	}
	switch c := s.peek(); {
	case c == '{':
		s.object(depth, nil)
	case c == '[':
		s.array(depth, nil)
	case c == '"':
		s.text()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	default:
		s.word()
	}
}

// array skips an array and calls each, if it is not nil, with its elements.
func (s *scanner) array(depth int, each func(raw []byte)) {
	s.i++
	if !s.empty(']') {
		s.elements(depth, each)
	}
}

// elements skips the rest of an array, from where an element begins.
func (s *scanner) elements(depth int, each func(raw []byte)) {
	for more := true; more && !s.bad; more = s.more(']', depth) {
		s.line(depth + 1)
		from := s.i
		if s.value(depth + 1); s.bad {
			return
		}
		if each != nil {
			each(s.b[from:s.i])
		}
	}
}

// object skips an object and calls each, if it is not nil, with its members.
func (s *scanner) object(depth int, each func(name, raw []byte)) {
	s.i++
	if s.empty('}') {
		return
	}
	for !s.bad {
		s.line(depth + 1)
		from := s.i
		if s.peek() != '"' {
			s.bad = true
			return
		}
		s.text()
		name := s.b[from:s.i]
		if len(s.space()) > 0 {
			s.neat = false
		}
		if s.bad || s.peek() != ':' {
			s.bad = true
			return
		}
		s.i++
		if got := s.space(); len(got) != 1 || got[0] != ' ' {
			s.neat = false
		}
		from = s.i
		if s.value(depth + 1); !s.bad && each != nil {
			each(name, s.b[from:s.i])
		}
		if !s.bad && !s.more('}', depth) {
			return
		}
	}
}

// empty skips the end of a list without elements, if it comes.
func (s *scanner) empty(end byte) bool {
	from := s.i
	got := s.space()
	if s.peek() != end {
		s.i = from
		return false
	}
	s.i++
	s.neat = s.neat && len(got) == 0
	return true
}

// more skips what stands behind an element: a comma, or the end of the list, upon which it returns false.
func (s *scanner) more(end byte, depth int) bool {
	got := s.space()
	switch s.peek() {
	case ',':
		s.neat = s.neat && len(got) == 0
	case end:
		s.neat = s.neat && newLine(got, depth)
		s.i++
		return false
	default:
		s.bad = true
		return false
	}
	s.i++
	return true
}

func (s *scanner) text() {
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return
		case c < ' ':
			s.bad = true
			return
		case c == '\\':
			s.i++
			s.escape()
		}
	}
	s.i, s.bad = len(s.b), true
}

// escape stays on the last byte of what stands behind a backslash.
func (s *scanner) escape() {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		for range 4 {
			s.i++
			if c := s.peek() | 0x20; !(c >= '0' && c <= '9' && s.peek() >= '0' || c >= 'a' && c <= 'f') {
				s.bad = true
			}
		}
	default:
		s.bad = true
	}
}

func (s *scanner) number() {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.i++
		s.digits()
	}
	if s.peek()|0x20 == 'e' {
		if s.i++; s.peek() == '+' || s.peek() == '-' {
			s.i++
		}
		s.digits()
	}
}

func (s *scanner) digits() {
	from := s.i
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.i++
	}
	s.bad = s.bad || s.i == from
}

func (s *scanner) word() {
	for _, w := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.b[s.i:], []byte(w)) {
			s.i += len(w)
			return
		}
	}
	s.bad = true
}

// end skips white space and reports whether the text ends here and was JSON.
func (s *scanner) end() bool {
	if len(s.space()) > 0 {
		s.neat = false
	}
	return !s.bad && s.i == len(s.b)
}

// object is a JSON object: its members in order, in the bytes in which they stand in the text.
type object []field

type field struct{ name, raw []byte }

func (f *field) called(name string) bool {
	if bytes.IndexByte(f.name, '\\') < 0 {
		return string(f.name[1:len(f.name)-1]) == name
	}
	s, _ := unquote(f.name)
	return s == name
}

// parseObject reads a text that is an object.
func parseObject(text []byte) (o object, ok bool) {
	s := scanner{b: text}
	s.space()
	if s.peek() != '{' {
		return nil, false
	}
	s.object(0, func(name, raw []byte) { o = append(o, field{name, raw}) })
	return o, s.end()
}

// parseArray reads a text that is an array.
func parseArray(text []byte) (elements [][]byte, ok bool) {
	s := scanner{b: text}
	s.space()
	if s.peek() != '[' {
		return nil, false
	}
	s.array(0, func(raw []byte) { elements = append(elements, raw) })
	return elements, s.end()
}

// find returns the place of the last member called name, the one that JSON.parse keeps, or -1.
func (o object) find(name string) int {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].called(name) {
			return i
		}
	}
	return -1
}

// raw returns the value of a member; nil if there is none or it is null.
func (o object) raw(name string) []byte {
	i := o.find(name)
	if i < 0 || string(o[i].raw) == "null" {
		return nil
	}
	return o[i].raw
}

// text returns a member that is a string. ok is false if it is something else; a member that is not there is "".
func (o object) text(name string) (s string, ok bool) {
	raw := o.raw(name)
	if raw == nil {
		return "", true
	}
	return unquote(raw)
}

// string returns a member that is a string, or "".
func (o object) string(name string) string {
	s, _ := o.text(name)
	return s
}

// bool returns a member that is true or false.
func (o object) bool(name string) (value, ok bool) {
	raw := string(o.raw(name))
	return raw == "true", raw == "true" || raw == "false"
}

// set changes a member, or adds it at the end.
func (o object) set(name string, raw []byte) object {
	if i := o.find(name); i >= 0 {
		o[i].raw = raw
		return o
	}
	return append(o, field{quote(name), raw})
}

// neat prints an object whose own lines are indented by depth.
func (o object) neat(depth int) []byte {
	raw := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(append(raw, f.name...), ':'), f.raw...)
	}
	return appendNeat(nil, append(raw, '}'), depth)
}

// neatArray prints an array as a whole text.
func neatArray(elements [][]byte) []byte {
	raw := append([]byte{'['}, bytes.Join(elements, []byte{','})...)
	return appendNeat(nil, append(raw, ']'), 0)
}

// appendNeat appends JSON text with the white space of JSON.stringify(value, null, 2).
func appendNeat(dst, raw []byte, depth int) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		i++
		switch c {
		case ' ', '\n', '\t', '\r':
		case '{', '[':
			for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
				i++
			}
			dst = append(dst, c)
			if end := c + 2; raw[i] == end { // in ASCII the two ends of a list lie so far apart
				dst = append(dst, end)
				i++
				continue
			}
			depth++
			dst = indent(dst, depth)
		case '}', ']':
			depth--
			dst = append(indent(dst, depth), c)
		case ',':
			dst = indent(append(dst, c), depth)
		case ':':
			dst = append(dst, ": "...)
		case '"':
			end := i + stringEnd(raw[i:])
			dst = append(dst, raw[i-1:end]...)
			i = end
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func indent(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, "  "...)
	}
	return dst
}

// stringEnd returns the length of a string behind its first quote, its last quote included.
func stringEnd(b []byte) int {
	for i := 0; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// appendCompact appends JSON text without white space.
func appendCompact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\n', '\t', '\r':
		case '"':
			end := i + 1 + stringEnd(raw[i+1:])
			dst = append(dst, raw[i:end]...)
			i = end - 1
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}

// appendParsed appends JSON text as JSON.stringify prints what JSON.parse has made of it: members that are repeated
// stand where the first stood and have the value of the last, and what is not valid in strings is U+FFFD.
func appendParsed(dst, raw []byte) []byte {
	switch raw[0] {
	case '{':
		o, _ := parseObject(raw)
		return append(appendMembers(append(dst, '{'), o), '}')
	case '[':
		elements, _ := parseArray(raw)
		dst = append(dst, '[')
		for i, e := range elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendParsed(dst, e)
		}
		return append(dst, ']')
	case '"':
		s, _ := unquote(raw)
		return append(dst, quote(s)...)
	}
	return append(dst, raw...)
}

func appendMembers(dst []byte, o object) []byte {
	last := make(map[string][]byte, len(o))
	var order []string
	for _, f := range o {
		name, _ := unquote(f.name)
		if last[name] == nil {
			order = append(order, name)
		}
		last[name] = f.raw
	}
	for i, name := range order {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendParsed(append(append(dst, quote(name)...), ':'), last[name])
	}
	return dst
}

// unquote decodes a JSON string. What is not valid in it becomes U+FFFD.
func unquote(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return s, jsonx.UnmarshalLenient(raw, &s) == nil
}

// quote encodes s as JSON.stringify does: U+2028, '<' and the like stand for themselves.
func quote(s string) []byte { return jsonx.AppendQuote(nil, s) }
