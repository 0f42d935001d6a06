package claudeteams

import (
	"bytes"

	"pennypost/internal/base/jsonx"
)

// The files belong to programs that parse and print them whole, and that share them with us. So we never decode and
// re-encode their content: we find values in the text and keep every byte of their strings, numbers and member
// names. Only the white space between them becomes that of JSON.stringify(value, null, 2) when we write a file. Like
// JSON.parse we accept repeated member names, and like a UTF-8 reader any bytes in strings.

// object is a JSON object: its members in order, as the bytes of the text.
type object []field

type field struct{ name, raw []byte }

func (f *field) called(name string) bool {
	if bytes.IndexByte(f.name, '\\') < 0 {
		return string(f.name[1:len(f.name)-1]) == name
	}
	s, _ := unquote(f.name)
	return s == name
}

// parseObject parses a text that is an object.
func parseObject(text []byte) (o object, ok bool) {
	all, err := jsonx.Split(text, '{')
	o = make(object, 0, len(all)/2)
	for i := 0; i < len(all); i += 2 {
		o = append(o, field{all[i], all[i+1]})
	}
	return o, err == nil
}

// parseArray parses a text that is an array.
func parseArray(text []byte) (elements [][]byte, ok bool) {
	elements, err := jsonx.Split(text, '[')
	return elements, err == nil
}

// find returns the index of the last member called name, the one that JSON.parse keeps, or -1.
func (o object) find(name string) int {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].called(name) {
			return i
		}
	}
	return -1
}

// raw returns the value of a member, or nil if it is missing or null.
func (o object) raw(name string) []byte {
	i := o.find(name)
	if i < 0 || string(o[i].raw) == "null" {
		return nil
	}
	return o[i].raw
}

// text returns a string member. ok is false if it is not a string; a missing member is "".
func (o object) text(name string) (s string, ok bool) {
	raw := o.raw(name)
	if raw == nil {
		return "", true
	}
	return unquote(raw)
}

// string returns a string member, or "".
func (o object) string(name string) string {
	s, _ := o.text(name)
	return s
}

// bool returns a boolean member.
func (o object) bool(name string) (value, ok bool) {
	raw := string(o.raw(name))
	return raw == "true", raw == "true" || raw == "false"
}

// set changes a member or adds it at the end.
func (o object) set(name string, raw []byte) object {
	if i := o.find(name); i >= 0 {
		o[i].raw = raw
		return o
	}
	return append(o, field{quote(name), raw})
}

// neat prints an object, its lines indented by depth.
func (o object) neat(depth int) []byte {
	raw := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(append(raw, f.name...), ':'), f.raw...)
	}
	return jsonx.AppendIndented(nil, append(raw, '}'), depth)
}

// neatArray prints an array as a whole text.
func neatArray(elements [][]byte) []byte {
	raw := append([]byte{'['}, bytes.Join(elements, []byte{','})...)
	return jsonx.AppendIndented(nil, append(raw, ']'), 0)
}

// appendParsed appends JSON text as JSON.stringify prints it after JSON.parse: a repeated member has the position of
// the first and the value of the last, and invalid bytes in strings become U+FFFD.
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

// unquote decodes a JSON string. Invalid bytes become U+FFFD.
func unquote(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return s, jsonx.UnmarshalLenient(raw, &s) == nil
}

// quote encodes s as JSON.stringify does: it does not escape U+2028, '<' and the like.
func quote(s string) []byte { return jsonx.AppendQuote(nil, s) }
