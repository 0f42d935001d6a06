package install

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"pennypost/internal/mail"
)

// tomlExpr is a table header, or a key with its value, as lines of the text.
type tomlExpr struct {
	kind  unstable.Kind
	key   []string // with the table's
	text  string   // the value, if it is a string
	value span
	lines span // from the beginning of its first line to the end of its last
}

type span struct{ start, end int }

// expressions splits a document that decoding has accepted.
func expressions(text []byte) ([]tomlExpr, error) {
	skip := 0
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		skip = 3
	}
	p := unstable.Parser{}
	p.Reset(text[skip:])
	var all []tomlExpr
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		e := tomlExpr{kind: n.Kind}
		at := -1
		var key []string
		for it := n.Key(); it.Next(); {
			if at < 0 {
				at = skip + int(it.Node().Raw.Offset)
			}
			key = append(key, string(it.Node().Data))
		}
		if n.Kind == unstable.KeyValue {
			e.key = append(slices.Clone(table), key...)
			if v := n.Value(); v.Kind == unstable.String {
				e.text = string(v.Data)
				e.value = span{skip + int(v.Raw.Offset), skip + int(v.Raw.Offset+v.Raw.Length)}
			}
		} else {
			table, e.key = key, key
		}
		e.lines.start = max(skip, bytes.LastIndexByte(text[:at], '\n')+1)
		all = append(all, e)
	}
	if err := p.Error(); err != nil {
		return nil, mail.Errorf(mail.Invalid, "this is not TOML: %s. Nothing was changed", err.Error())
	}
	for i := range all {
		next := len(text)
		if i+1 < len(all) {
			next = all[i+1].lines.start
		}
		all[i].lines.end = all[i].lines.start + lastCode(text[all[i].lines.start:next])
	}
	return all, nil
}

// lastCode returns the end of the last line that is neither empty nor a comment.
func lastCode(text []byte) int {
	for end := len(text); end > 0; {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		if line := bytes.TrimSpace(text[start:end]); len(line) > 0 && line[0] != '#' {
			return end
		}
		end = start
	}
	return 0
}

func hasPrefix(key []string, prefix ...string) bool {
	return len(key) >= len(prefix) && slices.Equal(key[:len(prefix)], prefix)
}

func lineOf(text []byte, path ...string) int {
	all, _ := expressions(text)
	for _, e := range all {
		if hasPrefix(e.key, path...) {
			return 1 + bytes.Count(text[:e.lines.start], []byte("\n"))
		}
	}
	return 1
}

// setKey replaces the value of a key, a string or an array.
func setKey(text []byte, value string, path ...string) ([]byte, error) {
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.kind != unstable.KeyValue || !slices.Equal(e.key, path) {
			continue
		}
		at := e.value
		if at == (span{}) {
			at = arrayIn(text, e.lines)
		}
		return slices.Concat(text[:at.start], []byte(value), text[at.end:]), nil
	}
	return nil, inlineTable()
}

// arrayIn returns the position of the array that is the value in these lines. The parser does not give it, and
// comments and strings in the array may hold brackets too.
func arrayIn(text []byte, lines span) span {
	start := lines.start + bytes.IndexByte(text[lines.start:lines.end], '[')
	for end := start; end < lines.end; end++ {
		if text[end] == ']' && toml.Unmarshal(append([]byte("x = "), text[start:end+1]...),
			new(map[string]any)) == nil {
			return span{start, end + 1}
		}
	}
	return lines // decodeTOML refuses it afterwards
}

// runsBelow returns the lines of the expressions below a key, one span for each run of consecutive ones.
func runsBelow(all []tomlExpr, prefix ...string) []span {
	var runs []span
	open := false
	for _, e := range all {
		below := hasPrefix(e.key, prefix...)
		switch {
		case below && open:
			runs[len(runs)-1].end = e.lines.end
		case below:
			runs = append(runs, e.lines)
		}
		open = below
	}
	return runs
}

// cut removes lines, and the empty line that separates them.
func cut(text []byte, lines span) ([]byte, piece) {
	p := piece{raw: string(text[lines.start:lines.end])}
	head, tail := text[:lines.start], text[lines.end:]
	if n := emptyLine(tail); len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))) == 0 {
		tail = tail[n:]
	}
	shorter := bytes.TrimSuffix(bytes.TrimSuffix(head, []byte("\n")), []byte("\r"))
	if len(shorter) < len(head) && bytes.HasSuffix(shorter, []byte("\n")) {
		head = shorter
	}
	return slices.Concat(head, tail), p
}

// cutBelow removes everything below a key.
func cutBelow(text []byte, path ...string) (rest []byte, taken []piece, err error) {
	all, err := expressions(text)
	for _, run := range slices.Backward(runsBelow(all, path...)) { // the other positions stay valid
		var p piece
		text, p = cut(text, run)
		taken = slices.Insert(taken, 0, p)
	}
	return text, taken, err
}

// emptyLine returns the length of the empty line that text begins with, 0 if it does not.
func emptyLine(text []byte) int {
	if bytes.HasPrefix(text, []byte("\r\n")) {
		return 2
	}
	if bytes.HasPrefix(text, []byte("\n")) {
		return 1
	}
	return 0
}

// dig returns the value at a path of keys.
func dig(m map[string]any, path ...string) any {
	var v any = m
	for _, key := range path {
		t, _ := v.(map[string]any)
		v = t[key]
	}
	return v
}

// tomlString returns s as a basic string. TOML has the same escapes as JSON, but for DEL.
func tomlString(s string) string { return strings.ReplaceAll(raw(s), "\x7f", `\u007f`) }

func tomlStrings(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = tomlString(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
