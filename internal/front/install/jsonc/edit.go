package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// Set gives the member at the end of path a value. It creates missing objects on the path, and replaces an existing
// value in place. An empty document becomes an object.
func Set(text []byte, path []string, value string) ([]byte, error) {
	return put(text, path, Object, value)
}

// Append adds a value to the end of the array at path, which it creates if it is missing.
func Append(text []byte, path []string, value string) ([]byte, error) {
	return put(text, path, Array, value)
}

// put does both: into is the kind of the path's target, the object that holds its last name or an array.
func put(text []byte, path []string, into Kind, value string) ([]byte, error) {
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
			return at.insert(name, wrap(path[i+1:], into, value))
		}
		at = next.Value
	}
	if err := want(at, into, path[:last]); err != nil {
		return nil, err
	}
	if into == Array {
		return at.insert("", value)
	}
	old, err := only(at, path[last])
	if err != nil {
		return nil, err
	}
	if old == nil {
		return at.insert(path[last], value)
	}
	return old.Value.Replace(value)
}

// want refuses a value of another kind than the path needs.
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

// only returns the one member with the name, or nil if there is none. Two are an error: parsers differ on which
// counts.
func only(n *Node, name string) (*Item, error) {
	var found *Item
	for _, it := range n.Items {
		if it.Name != name {
			continue
		}
		if found != nil {
			return nil, &PathError{it.Value.Line(), fmt.Sprintf("the member %q occurs twice here", name)}
		}
		found = it
	}
	return found, nil
}

// wrap returns value inside the objects that the rest of a path names, and inside an array if into is one.
func wrap(rest []string, into Kind, value string) string {
	if into == Array {
		value = "[" + value + "]"
	}
	for _, name := range slices.Backward(rest) {
		value = "{" + Quote(name) + ":" + value + "}"
	}
	return value
}

// Replace returns the text of the document with another value in place of n.
func (n *Node) Replace(value string) ([]byte, error) {
	l := n.doc.layout()
	l.inline = len(n.Items) > 0 && !bytes.Contains(n.Raw(), []byte("\n"))
	v, err := l.format(value, n.doc.lineIndent(n))
	if err != nil {
		return nil, err
	}
	n.value.Value = v
	return n.doc.pack(), nil
}

// insert adds an item to the end of a container, after any comments there.
func (n *Node) insert(name, value string) ([]byte, error) {
	d := n.doc
	l := d.layout()
	l.inline = len(n.Items) > 0 && !bytes.Contains(n.Raw(), []byte("\n"))
	l.tight = l.inline && !bytes.Contains(d.text, []byte(": ")) && !bytes.Contains(d.text, []byte(", "))
	closing := d.lineIndent(n)
	indent := closing + l.unit
	var behind hujson.Extra // between the item and its comma; nil if no comma follows
	if len(n.Items) > 0 {
		last := n.Items[len(n.Items)-1]
		if last.Value.value.AfterExtra != nil {
			behind = hujson.Extra{} // the file has commas after last items, so this one gets one
		}
		if own, begins := lastIndent(*last.before); begins {
			indent = own
		}
	}
	v, err := l.format(value, indent)
	if err != nil {
		return nil, err
	}
	comments := bytes.TrimRight(*n.after, space)
	end := (*n.after)[len(comments):]
	before := slices.Concat(comments, []byte(l.between(indent)))
	if !l.inline && (len(n.Items) == 0 && len(comments) == 0 || !bytes.Contains(end, []byte("\n"))) {
		end = []byte(l.eol + closing)
	}
	*n.after = end
	switch c := n.value.Value.(type) {
	case *hujson.Object:
		blank := l.between(" ")
		if !l.inline {
			blank = " "
		}
		c.Members = append(c.Members, hujson.ObjectMember{
			Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(name)},
			Value: hujson.Value{BeforeExtra: hujson.Extra(blank), Value: v, AfterExtra: behind},
		})
	case *hujson.Array:
		c.Elements = append(c.Elements, hujson.Value{BeforeExtra: before, Value: v, AfterExtra: behind})
	}
	return d.pack(), nil
}

// Delete returns the text of the document without the item it of a container. Comments before the item stay. If no
// item and no comment is left, the container is {} or [].
func (n *Node) Delete(it *Item) []byte {
	i := slices.Index(n.Items, it)
	next := n.after
	if i+1 < len(n.Items) {
		next = n.Items[i+1].before
	} else if i > 0 {
		n.becomeLast(n.Items[i-1].Value.value, it.Value.value.AfterExtra != nil)
	}
	before := *it.before
	comments := bytes.TrimRight(before, space)
	following := bytes.TrimLeft(*next, " \t")
	switch {
	case bytes.Contains(comments[lineStart(comments, len(comments)):], []byte("//")) && !endsLine(following):
		*next = slices.Concat(before, *next) // otherwise the rest of the line would become part of the comment
	case i == 0 && len(n.Items) > 1 && !bytes.Contains(before, []byte("\n")):
		*next = slices.Concat(before, following) // the separator goes with it
	default:
		*next = slices.Concat(comments, *next)
	}
	if len(n.Items) == 1 && len(bytes.TrimSpace(*next)) == 0 {
		*next = nil
	}
	switch c := n.value.Value.(type) {
	case *hujson.Object:
		c.Members = slices.Delete(c.Members, i, i+1)
	case *hujson.Array:
		c.Elements = slices.Delete(c.Elements, i, i+1)
	}
	return n.doc.pack()
}

// becomeLast lets the item before the last keep its comma, or removes the comma but not the comment before it.
func (n *Node) becomeLast(v *hujson.Value, comma bool) {
	switch {
	case !comma:
		*n.after = slices.Concat(v.AfterExtra, *n.after)
		v.AfterExtra = nil
	case v.AfterExtra == nil:
		v.AfterExtra = hujson.Extra{}
	}
}

func endsLine(rest []byte) bool {
	return bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n")) ||
		bytes.HasPrefix(rest, []byte("//"))
}

// layout is the formatting of a document.
type layout struct {
	eol, unit     string
	inline, tight bool // in one line; without blanks
}

func (d *document) layout() layout {
	l := layout{eol: "\n", unit: "  "}
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		l.eol = "\r\n"
	}
	if len(d.top.Items) > 0 {
		if own, begins := lastIndent(*d.top.Items[0].before); begins && own != "" {
			l.unit = own
		}
	}
	return l
}

// between is the separator of two items.
func (l *layout) between(indent string) string {
	switch {
	case l.tight:
		return ""
	case l.inline:
		return " "
	}
	return l.eol + indent
}

// format lays a value out at an indentation, without its comments.
func (l *layout) format(value, indent string) (hujson.ValueTrimmed, error) {
	text, err := hujson.Standardize([]byte(value))
	var b bytes.Buffer
	switch {
	case err != nil:
	case l.tight:
		err = json.Compact(&b, text)
	case l.inline:
		err = json.Indent(&b, text, "", "")
	default:
		err = json.Indent(&b, text, indent, l.unit)
	}
	if err != nil {
		return nil, fmt.Errorf("the value %q is not JSON: %w", value, err)
	}
	ends := strings.NewReplacer("\n", l.eol)
	if l.inline {
		ends = strings.NewReplacer(",\n", ", ", "\n", "") // no string contains a line end
	}
	v, err := hujson.Parse([]byte(ends.Replace(b.String())))
	return v.Value, err
}

// lastIndent returns the white space at the end of extra, and whether it begins a line.
func lastIndent(extra []byte) (indent string, begins bool) {
	line := extra[lineStart(extra, len(extra)):]
	return string(line), bytes.Contains(extra, []byte("\n")) && len(bytes.TrimSpace(line)) == 0
}

// lineIndent returns the white space at the beginning of a value's line.
func (d *document) lineIndent(n *Node) string {
	line := d.text[lineStart(d.text, n.value.StartOffset):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }
