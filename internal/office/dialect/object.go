package dialect

import (
	"slices"

	"pennypost/internal/base/jsonx"
)

// Object is a JSON object in a shared file: all members, known or not, keep their order and their values' bytes.
type Object []jsonx.Member

// Find returns the index of a member, or -1.
func (o Object) Find(name string) int {
	return slices.IndexFunc(o, func(m jsonx.Member) bool { return m.Name == name })
}

// Value returns the value of the first of names that exists, or nil.
func (o Object) Value(names ...string) jsonx.Value {
	for _, n := range names {
		if i := o.Find(n); i >= 0 {
			return o[i].Value
		}
	}
	return nil
}

// Text returns the value of the first of names that exists, if it is a string.
func (o Object) Text(names ...string) string {
	s, _ := Unquote(o.Value(names...))
	return s
}

// Put replaces a member, or adds it at the end.
func (o *Object) Put(name string, v jsonx.Value) {
	if i := o.Find(name); i >= 0 {
		(*o)[i].Value = v
		return
	}
	*o = append(*o, jsonx.Member{Name: name, Value: v})
}

// Line returns the object on one line, if its values are on one line.
func (o Object) Line() []byte { return o.print("", ":", "") }

// Lines returns the object with one member per line after an indent, and end before the closing brace. Values stay
// as they are.
func (o Object) Lines(indent, end string) []byte { return o.print("\n"+indent, ": ", "\n"+end) }

func (o Object) print(before, colon, end string) []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonx.AppendQuote(append(out, before...), m.Name), colon...)
		out = append(out, m.Value...)
	}
	if len(o) > 0 {
		out = append(out, end...)
	}
	return append(out, '}')
}

// Unquote decodes a value that is a string.
func Unquote(v jsonx.Value) (s string, ok bool) {
	return s, len(v) > 0 && v[0] == '"' && jsonx.Unmarshal(v, &s) == nil
}
