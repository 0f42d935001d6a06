package jsonc

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PathError says that a path cannot be followed in a document.
type PathError struct {
	Line int
	Msg  string
}

func (e *PathError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Set gives the member at the end of path a value, which is JSON without comments. Objects on the way are made; a
// value that is there is replaced where it stands. An empty document becomes an object.
func Set(text []byte, path []string, value string) ([]byte, error) {
	return put(text, path, Object, value)
}

// Append adds a value to the end of the array at path, which is made if it is not there.
func Append(text []byte, path []string, value string) ([]byte, error) {
	return put(text, path, Array, value)
}

// put does both: into is what the path leads to, the object that holds its last name or an array.
func put(text []byte, path []string, into Kind, value string) ([]byte, error) {
	v, err := Parse([]byte(value))
	if err != nil || v == nil {
		return nil, fmt.Errorf("the value %q is no JSON: %w", value, err)
	}
	root, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		text = slices.Concat(text, []byte("{}"))
		if len(text) == len("{}") || string(text) == bom+"{}" {
			text = append(text, '\n')
		}
		return put(text, path, into, value)
	}
	last := len(path)
	if into == Object {
		last--
	}
	at := root
	for i, name := range path[:last] {
		if err := want(at, Object, path[:i]); err != nil {
			return nil, err
		}
		next, err := only(at, name)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return insert(text, at, name, wrap(path[i+1:], into, v)), nil
		}
		at = next.Value
	}
	if err := want(at, into, path[:last]); err != nil {
		return nil, err
	}
	if into == Array {
		return insert(text, at, "", v), nil
	}
	old, err := only(at, path[last])
	if err != nil {
		return nil, err
	}
	if old == nil {
		return insert(text, at, path[last], v), nil
	}
	return Replace(text, old.Value, value), nil
}

// Replace returns text with the value n replaced by another, JSON without comments.
func Replace(text []byte, n *Node, value string) []byte {
	v, err := Parse([]byte(value))
	if err != nil || v == nil {
		return text
	}
	var b bytes.Buffer
	l := layoutOf(text)
	if len(n.Items) > 0 {
		l.inline = !bytes.Contains(n.Raw(), []byte("\n"))
	}
	l.write(&b, v, lineIndent(text, n.Start))
	return slices.Concat(text[:n.Start], b.Bytes(), text[n.End:])
}

// want refuses to go through a value of another kind than the path needs.
func want(n *Node, k Kind, path []string) error {
	if n.Kind == k {
		return nil
	}
	what := "the whole document"
	if len(path) > 0 {
		what = strconv.Quote(strings.Join(path, "."))
	}
	return &PathError{n.Line(), fmt.Sprintf("%s is %s, and should be %s", what, n.Kind, k)}
}

// only returns the one member of the name, nil if there is none. Two of one name are an error: parsers differ on which
// one counts.
func only(n *Node, name string) (*Item, error) {
	var found *Item
	for _, it := range n.Items {
		if it.Name != name {
			continue
		}
		if found != nil {
			return nil, &PathError{it.Value.Line(), fmt.Sprintf("the member %q stands here a second time", name)}
		}
		found = it
	}
	return found, nil
}

// wrap returns v inside of the objects that the rest of a path names, and of an array if into is one.
func wrap(rest []string, into Kind, v *Node) *Node {
	raw := string(v.Raw())
	if into == Array {
		raw = "[" + raw + "]"
	}
	for _, name := range slices.Backward(rest) {
		raw = "{" + quote(name) + ":" + raw + "}"
	}
	n, err := Parse([]byte(raw))
	if err != nil {
		panic("jsonc: " + err.Error()) // it was made of a parsed value
	}
	return n
}

// quote returns s as JSON.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Quote returns s as a JSON string.
func Quote(s string) string { return quote(strings.ToValidUTF8(s, "\uFFFD")) }

// insert adds an item to the end of a container of text.
func insert(text []byte, in *Node, name string, v *Node) []byte {
	l := layoutOf(text)
	inner := text[in.Start+1 : in.End-1]
	l.inline = len(in.Items) > 0 && !bytes.Contains(inner, []byte("\n"))
	l.tight = l.inline && !bytes.Contains(text, []byte(": ")) && !bytes.Contains(text, []byte(", "))
	indent := l.itemIndent(text, in)

	var item bytes.Buffer
	if !l.inline {
		item.WriteString(l.eol + indent)
	}
	l.name(&item, in.Kind, name)
	l.write(&item, v, indent)

	end := lastOf(in)                    // behind the last item, its comma and the comments that follow
	if len(in.Items) == 0 && end == -1 { // nothing but white space: it is laid out anew
		item.WriteString(l.eol + lineIndent(text, in.Start))
		return slices.Concat(text[:in.Start+1], item.Bytes(), text[in.End-1:])
	}
	if !bytes.Contains(text[end:in.End-1], []byte("\n")) && !l.inline {
		item.WriteString(l.eol + lineIndent(text, in.Start))
	}
	if len(in.Items) == 0 {
		return slices.Concat(text[:end], item.Bytes(), text[end:])
	}
	last := in.Items[len(in.Items)-1]
	if last.comma >= 0 { // the file has commas behind last items, so this one gets one
		sep := ""
		if l.inline && !l.tight {
			sep = " "
		}
		body := item.String()
		comma := strings.TrimSuffix(body, l.eol+lineIndent(text, in.Start))
		return slices.Concat(text[:end], []byte(sep+comma+","+body[len(comma):]), text[end:])
	}
	sep := ","
	if l.inline && !l.tight {
		sep = ", "
	}
	if l.inline {
		return slices.Concat(text[:last.Value.End], []byte(sep), item.Bytes(), text[last.Value.End:])
	}
	return slices.Concat(text[:last.Value.End], []byte(sep), text[last.Value.End:end], item.Bytes(), text[end:])
}

// lastOf returns where the last thing in a container ends that is no white space: an item, its comma, a comment. It is
// -1 in an empty one.
func lastOf(in *Node) int {
	from := in.Start + 1
	if n := len(in.Items); n > 0 {
		last := in.Items[n-1]
		from = max(last.Value.End, last.comma+1)
	}
	p := parser{text: in.text[:in.End-1], at: from}
	end := from
	for p.at < len(p.text) {
		if isSpace(p.text[p.at]) {
			p.at++
			continue
		}
		p.trivia1()
		end = p.at
	}
	if len(in.Items) == 0 && end == in.Start+1 {
		return -1
	}
	return end
}

// trivia1 skips one comment, or one byte where a comma stands behind comments.
func (p *parser) trivia1() {
	switch rest := p.text[p.at:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		p.at += lineLength(rest)
	case bytes.HasPrefix(rest, []byte("/*")):
		p.at += 4 + bytes.Index(rest[2:], []byte("*/"))
	default:
		p.at++
	}
}

// Delete returns text without the item of a container. If none is left, and no comment, the container is {} or [].
func Delete(text []byte, in *Node, it *Item) []byte {
	i := slices.Index(in.Items, it)
	start, end := it.start, it.Value.End
	if it.comma >= 0 {
		end = it.comma + 1
	}
	before := in.Start + 1 // where what stands before the item ends
	if i > 0 {
		before = in.Items[i-1].comma + 1
	}
	start = before + trimmed(text[before:start])
	if afterLineComment(text[before:start]) && !endsLine(text[end:]) {
		start = it.start // what follows on the line would fall into the comment
	}
	if i == 0 && start == before && in.Items[len(in.Items)-1] != it &&
		!bytes.Contains(text[start:it.start], []byte("\n")) {
		// the first of several on one line: what separates it from the next goes with it
		end += len(text[end:]) - len(bytes.TrimLeft(text[end:], " \t"))
		start = it.start
	}
	if i == len(in.Items)-1 && it.comma < 0 && i > 0 {
		comma := in.Items[i-1].comma
		return slices.Concat(text[:comma], text[comma+1:start], text[end:])
	}
	if len(in.Items) == 1 && len(bytes.TrimSpace(text[in.Start+1:start])) == 0 &&
		len(bytes.TrimSpace(text[end:in.End-1])) == 0 {
		start, end = in.Start+1, in.End-1
	}
	return slices.Concat(text[:start], text[end:])
}

// trimmed returns the length of text without the white space at its end.
func trimmed(text []byte) int { return len(bytes.TrimRight(text, " \t\r\n")) }

// afterLineComment reports whether trivia ends in a comment that only the end of the line ends.
func afterLineComment(trivia []byte) bool {
	p := parser{text: trivia}
	line := false
	for p.at < len(trivia) {
		if !isSpace(trivia[p.at]) {
			line = bytes.HasPrefix(trivia[p.at:], []byte("//"))
			p.trivia1()
			continue
		}
		p.at++
	}
	return line
}

func endsLine(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t")
	return len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r' || bytes.HasPrefix(rest, []byte("//"))
}

// layout is how a document is written.
type layout struct {
	eol, unit     string
	inline, tight bool // in one line; without blanks
}

func layoutOf(text []byte) layout {
	l := layout{eol: "\n", unit: "  "}
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		l.eol = "\r\n"
	}
	if root, err := Parse(text); err == nil && root != nil && len(root.Items) > 0 {
		first := root.Items[0]
		if own := lineIndent(text, first.start); own != "" && ownLine(text, first.start) {
			l.unit = strings.TrimPrefix(own, lineIndent(text, root.Start))
			if l.unit == "" {
				l.unit = own
			}
		}
	}
	return l
}

// itemIndent returns how far items of a container stand from the left: as the last one does, if it begins a line.
func (l *layout) itemIndent(text []byte, in *Node) string {
	if n := len(in.Items); n > 0 && ownLine(text, in.Items[n-1].start) {
		return lineIndent(text, in.Items[n-1].start)
	}
	return lineIndent(text, in.Start) + l.unit
}

// lineIndent returns the white space with which the line around at begins.
func lineIndent(text []byte, at int) string {
	line := text[lineStart(text, at):]
	line = bytes.TrimPrefix(line, []byte(bom))
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// ownLine reports whether only white space stands before at on its line.
func ownLine(text []byte, at int) bool {
	return len(bytes.TrimSpace(text[lineStart(text, at):at])) == 0
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func (l *layout) name(b *bytes.Buffer, in Kind, name string) {
	if in == Object {
		b.WriteString(quote(name))
		b.WriteByte(':')
		if !l.tight {
			b.WriteByte(' ')
		}
	}
}

// write writes v behind an indentation.
func (l *layout) write(b *bytes.Buffer, v *Node, indent string) {
	if v.Kind != Object && v.Kind != Array || len(v.Items) == 0 {
		b.Write(v.Raw())
		return
	}
	b.WriteByte(byte(v.Kind))
	for i, it := range v.Items {
		if i > 0 {
			b.WriteByte(',')
			if l.inline && !l.tight {
				b.WriteByte(' ')
			}
		}
		if !l.inline {
			b.WriteString(l.eol + indent + l.unit)
		}
		l.name(b, v.Kind, it.Name)
		l.write(b, it.Value, indent+l.unit)
	}
	if !l.inline {
		b.WriteString(l.eol + indent)
	}
	b.WriteByte(byte(v.Kind) + 2) // } and ] stand two behind { and [
}
