package claudeteams

import (
	"bytes"

	"pennypost/internal/base/jsonx"
)

// The files are kept by programs that parse them whole and print them whole, and they are shared with us. So what
// stands there is never decoded and encoded again: values are found in the text, and keep every byte of their strings,
// numbers and member names. Only the white space between them becomes that of JSON.stringify(value, null, 2) when a
// file is written. Like JSON.parse we take repeated member names, and like a reader of UTF-8 any bytes in strings.

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
	all, err := jsonx.Split(text, '{')
	o = make(object, 0, len(all)/2)
	for i := 0; i < len(all); i += 2 {
		o = append(o, field{all[i], all[i+1]})
	}
	return o, err == nil
}

// parseArray reads a text that is an array.
func parseArray(text []byte) (elements [][]byte, ok bool) {
	elements, err := jsonx.Split(text, '[')
	return elements, err == nil
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
	return jsonx.AppendIndented(nil, append(raw, '}'), depth)
}

// neatArray prints an array as a whole text.
func neatArray(elements [][]byte) []byte {
	raw := append([]byte{'['}, bytes.Join(elements, []byte{','})...)
	return jsonx.AppendIndented(nil, append(raw, ']'), 0)
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
