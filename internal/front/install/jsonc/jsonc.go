// Package jsonc edits JSON as people keep it, with comments, trailing commas and their own indentation, as text:
// everything else stays byte for byte.
//
// hujson reads and writes the syntax; this package decides where an insertion goes and how it is laid out. The file
// keeps its byte order mark, line ends, comments, order of members and white space, and an insertion is laid out like
// its neighbours. Inserting something and deleting it again restores the first text (but for an empty object or
// array, which comes back as {} or []).
package jsonc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Kind is the type of a value: its first character, with '0' for numbers.
type Kind byte

// The kinds of value that callers test for.
const (
	Object Kind = '{'
	Array  Kind = '['
	True   Kind = 't'
	False  Kind = 'f'
)

// String names the kind in a sentence.
func (k Kind) String() string {
	switch k {
	case Object:
		return "an object"
	case Array:
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	}
	return "a literal"
}

// Node is a value in a document. It is valid until the document is edited.
type Node struct {
	Kind  Kind
	Items []*Item // of an object or array, in order

	doc   *document
	value *hujson.Value
	after *hujson.Extra // of an object or array: white space and comments before its end
}

// Item is a member of an object or an element of an array.
type Item struct {
	Name   string // of a member
	Value  *Node
	before *hujson.Extra // white space and comments before the name or the element
}

// document is a parsed text.
type document struct {
	text []byte // without mark
	mark string // the byte order mark, or nothing
	end  string // text added to end the last line
	root hujson.Value
	top  *Node
}

// SyntaxError says where a text is not JSON.
type SyntaxError struct{ msg string }

func (e *SyntaxError) Error() string { return e.msg }

// maxDepth bounds the nesting, so that a hostile file cannot exhaust the stack.
const maxDepth = 100_000

// bom is the byte order mark with which some Windows editors begin a file.
const bom = "\xef\xbb\xbf"

// space is the white space of JSON.
const space = " \t\r\n"

// Parse returns the value of a document, or nil for one that is empty or only white space.
func Parse(text []byte) (*Node, error) {
	d := &document{text: text}
	if bytes.HasPrefix(text, []byte(bom)) {
		d.text, d.mark = text[len(bom):], bom
	}
	if len(bytes.Trim(d.text, space)) == 0 {
		return nil, nil
	}
	if bytes.Contains(d.text[lineStart(d.text, len(d.text)):], []byte("//")) {
		d.end = "\n" // hujson requires an end of the last comment
	}
	if tooDeep(d.text) {
		return nil, &SyntaxError{"values are nested too deeply"}
	}
	var err error
	if d.root, err = hujson.Parse(append(bytes.Clone(d.text), d.end...)); err != nil {
		msg, _, literal := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), "invalid literal: ")
		if literal {
			msg += "a value is malformed" // the value may be a secret
		}
		return nil, &SyntaxError{msg}
	}
	d.top = d.node(&d.root)
	return d.top, nil
}

func tooDeep(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > maxDepth {
			return true
		}
	}
	return false
}

func (d *document) node(v *hujson.Value) *Node {
	n := &Node{Kind: Kind(v.Value.Kind()), doc: d, value: v}
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			n.Items = append(n.Items, &Item{m.Name.Value.(hujson.Literal).String(), d.node(&m.Value),
				&m.Name.BeforeExtra})
		}
		n.after = &c.AfterExtra
	case *hujson.Array:
		for i := range c.Elements {
			n.Items = append(n.Items, &Item{"", d.node(&c.Elements[i]), &c.Elements[i].BeforeExtra})
		}
		n.after = &c.AfterExtra
	}
	return n
}

// pack returns the edited text.
func (d *document) pack() []byte {
	return append([]byte(d.mark), bytes.TrimSuffix(d.root.Pack(), []byte(d.end))...)
}

// Line returns the line of the document, from 1, on which the value begins.
func (n *Node) Line() int { return 1 + bytes.Count(n.doc.text[:n.value.StartOffset], []byte("\n")) }

// Raw returns the value's text.
func (n *Node) Raw() []byte { return n.doc.text[n.value.StartOffset:n.value.EndOffset] }

// Text returns the value of a string, "" for other kinds.
func (n *Node) Text() string {
	if n == nil || n.Kind != '"' {
		return ""
	}
	return n.value.Value.(hujson.Literal).String()
}

// Member returns the value of an object's member, nil if there is none. Of several it returns the last, as JSON.parse
// does.
func (n *Node) Member(name string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i := len(n.Items) - 1; i >= 0; i-- {
		if n.Items[i].Name == name {
			return n.Items[i].Value
		}
	}
	return nil
}

// At returns the value at the end of a path of member names, nil if there is none.
func (n *Node) At(path ...string) *Node {
	for _, name := range path {
		n = n.Member(name)
	}
	return n
}

// Equal reports whether two values mean the same. The order of members does not matter.
func Equal(a, b *Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return a == b
	}
	switch a.Kind {
	case Object:
		for _, it := range a.Items {
			if !Equal(a.Member(it.Name), b.Member(it.Name)) {
				return false
			}
		}
		return true
	case Array:
		for i, it := range a.Items {
			if !Equal(it.Value, b.Items[i].Value) {
				return false
			}
		}
		return true
	case '"':
		return a.Text() == b.Text()
	}
	return bytes.Equal(a.Raw(), b.Raw())
}

// Quote returns s as a JSON string.
func Quote(s string) string { return string(hujson.String(s)) }

// PathError says that a path cannot be followed in a document.
type PathError struct {
	Line int
	Msg  string
}

func (e *PathError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }
