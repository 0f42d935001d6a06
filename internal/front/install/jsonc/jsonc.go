// Package jsonc edits JSON as people keep it, with comments, trailing commas and their own indentation, as text: what
// is not edited stays byte for byte.
//
// A document is a byte slice; every edit returns another one. Byte order marks, line ends, comments, the order of
// members and white space are the file's own, and what is inserted is laid out as its neighbours are. Putting
// something in and taking it out again gives the first text back (but for an empty object or array, which comes back
// as {} or []).
package jsonc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is what a value is: its first character, with '0' for numbers.
type Kind byte

// The kinds of value.
const (
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

// String names the kind in a sentence.
func (k Kind) String() string {
	switch k {
	case Object:
		return "an object"
	case Array:
		return "an array"
	case String:
		return "a string"
	case Number:
		return "a number"
	}
	return "a literal"
}

// Node is a value in a document. It is valid as long as the text is not edited.
type Node struct {
	Kind       Kind
	Start, End int     // of the value in the text
	Items      []*Item // of an object or array, in order
	text       []byte
}

// Item is a member of an object or an element of an array.
type Item struct {
	Name  string // of a member
	Value *Node
	start int // where the name or the element begins
	comma int // where the comma behind it stands; -1 if there is none
}

// SyntaxError says where a text is no JSON.
type SyntaxError struct {
	Line, Column int // from 1, the column in bytes
	Msg          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// maxDepth bounds the nesting, as other parsers do, so that a hostile file cannot exhaust the stack.
const maxDepth = 1000

// bom is the byte order mark that some editors on Windows put in front.
const bom = "\xef\xbb\xbf"

// Parse returns the value of a document. An empty one, or one of white space only, has none: nil.
func Parse(text []byte) (*Node, error) {
	p := parser{text: text}
	if bytes.HasPrefix(text, []byte(bom)) {
		p.at = len(bom)
	}
	if p.trivia(); p.err == nil && p.at == len(text) {
		if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(bom)))) > 0 {
			return nil, p.fail("there are only comments")
		}
		return nil, nil
	}
	n := p.value(0)
	p.trivia()
	if p.err == nil && p.at < len(text) {
		return nil, p.fail("something stands behind the value")
	}
	if p.err != nil {
		return nil, p.err
	}
	return n, nil
}

// Line returns the line of the document, from 1, on which the value begins.
func (n *Node) Line() int { return 1 + bytes.Count(n.text[:n.Start], []byte("\n")) }

// Raw returns the value's text.
func (n *Node) Raw() []byte { return n.text[n.Start:n.End] }

// Text returns the value of a string, "" for other kinds.
func (n *Node) Text() string {
	if n == nil || n.Kind != String {
		return ""
	}
	return unquote(n.Raw())
}

// Member returns the value of an object's member, nil if there is none. Of several, it is the last, which is what
// JSON.parse takes.
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

// Equal reports whether two values mean the same. Members may stand in another order.
func Equal(a, b *Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return a == b
	}
	switch a.Kind {
	case String:
		return a.Text() == b.Text()
	case Object:
		for _, it := range a.Items {
			if !Equal(a.Member(it.Name), b.Member(it.Name)) {
				return false
			}
		}
	case Array:
		for i, it := range a.Items {
			if !Equal(it.Value, b.Items[i].Value) {
				return false
			}
		}
	default:
		return bytes.Equal(a.Raw(), b.Raw())
	}
	return true
}

type parser struct {
	text []byte
	at   int
	err  error // the first
}

func (p *parser) fail(format string, args ...any) error {
	if p.err == nil {
		at := min(p.at, len(p.text))
		line := 1 + bytes.Count(p.text[:at], []byte("\n"))
		column := at - bytes.LastIndexByte(p.text[:at], '\n')
		p.err = &SyntaxError{line, column, fmt.Sprintf(format, args...)}
	}
	p.at = len(p.text) // nothing more is read
	return p.err
}

// peek returns the next byte, 0 at the end. A NUL is no JSON either.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// trivia skips white space and comments.
func (p *parser) trivia() {
	for p.at < len(p.text) {
		switch rest := p.text[p.at:]; {
		case isSpace(rest[0]):
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			p.at += lineLength(rest)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				_ = p.fail("a comment is not closed")
				return
			}
			p.at += 2 + end + 2
		default:
			return
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// lineLength returns how far text goes until its line ends.
func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		if i > 0 && text[i-1] == '\r' {
			i--
		}
		return i
	}
	return len(text)
}

func (p *parser) value(depth int) *Node {
	n := &Node{Start: p.at, text: p.text}
	switch c := p.peek(); {
	case depth > maxDepth:
		_ = p.fail("values are nested too deeply")
	case c == '{', c == '[':
		n.Kind = Kind(c)
		p.items(n, depth)
	case c == '"':
		n.Kind = String
		p.str()
	case c == '-', c >= '0' && c <= '9':
		n.Kind = Number
		p.number()
	default:
		n.Kind = p.literal()
	}
	n.End = p.at
	return n
}

func (p *parser) items(n *Node, depth int) {
	closing := byte('}')
	if n.Kind == Array {
		closing = ']'
	}
	p.at++
	for p.trivia(); p.peek() != closing; p.trivia() {
		it := &Item{start: p.at, comma: -1}
		if n.Kind == Object {
			it.Name = p.name()
		}
		it.Value = p.value(depth + 1)
		n.Items = append(n.Items, it)
		p.trivia()
		switch p.peek() {
		case ',':
			it.comma = p.at
			p.at++
		case closing:
		default:
			_ = p.fail("a comma or %q is missing", closing)
		}
		if p.err != nil {
			return
		}
	}
	p.at++
}

func (p *parser) name() string {
	start := p.at
	if p.peek() != '"' {
		_ = p.fail("the name of a member is missing")
		return ""
	}
	p.str()
	end := p.at
	p.trivia()
	if p.peek() != ':' {
		_ = p.fail("a colon is missing")
		return ""
	}
	p.at++
	p.trivia()
	return unquote(p.text[start:end])
}

func (p *parser) str() {
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return
		case c < ' ':
			_ = p.fail("a string has a control character or is not closed")
			return
		case c == '\\':
			if n := escapeLength(p.text[p.at:]); n > 0 {
				p.at += n - 1
			} else {
				_ = p.fail("a string has a wrong escape")
				return
			}
		}
	}
	_ = p.fail("a string is not closed")
}

// escapeLength returns the length of the escape that text begins with, 0 if it is wrong.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, text[1]) < 0 {
			return 0
		}
		return 2
	}
	if len(text) < 6 {
		return 0
	}
	if _, err := strconv.ParseUint(string(text[2:6]), 16, 16); err != nil {
		return 0
	}
	return 6
}

func (p *parser) number() {
	digits := func() bool {
		from := p.at
		for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
			p.at++
		}
		return p.at > from
	}
	if p.peek() == '-' {
		p.at++
	}
	zero := p.peek() == '0'
	from := p.at
	ok := digits() && !(zero && p.at > from+1)
	if ok && p.peek() == '.' {
		p.at++
		ok = digits()
	}
	if ok && (p.peek() == 'e' || p.peek() == 'E') {
		p.at++
		if p.peek() == '+' || p.peek() == '-' {
			p.at++
		}
		ok = digits()
	}
	if !ok {
		_ = p.fail("a number is malformed")
	}
}

func (p *parser) literal() Kind {
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(p.text[p.at:], []byte(word)) {
			p.at += len(word)
			return Kind(word[0])
		}
	}
	if p.at == len(p.text) {
		_ = p.fail("the file ends in the middle of a value")
	} else {
		_ = p.fail("a value is missing")
	}
	return Null
}

// unquote returns what a checked string means. A lone surrogate becomes U+FFFD.
func unquote(quoted []byte) string {
	s := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	var b []byte
	for len(s) > 0 {
		if s[0] != '\\' {
			b, s = append(b, s[0]), s[1:]
			continue
		}
		r, n := unescape(s)
		b, s = utf8.AppendRune(b, r), s[n:]
	}
	return string(b)
}

func unescape(s []byte) (r rune, n int) {
	if s[1] != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, s[1])
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r = hex(s)
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex(s[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6 // a lone surrogate is written as U+FFFD
}

func hex(escape []byte) rune {
	v, _ := strconv.ParseUint(string(escape[2:6]), 16, 16) // it was checked
	return rune(v)
}
