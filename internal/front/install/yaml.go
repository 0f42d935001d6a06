package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// yamlFile is the editor of Goose's config.yaml. It knows as much YAML as that file has, a top level of keys in block
// style, and refuses what it does not know.
type yamlFile struct{ o *Options }

const extensions = "extensions"

// yamlLines is a file of which every line is known to belong to a key of the top level.
type yamlLines struct {
	lines      []string // with their ends
	eol        string
	start, end int // of the lines below extensions; start is 0 if there is no such key
	indent     string
}

func readYAML(text []byte) (*yamlLines, error) {
	y := &yamlLines{lines: slices.Collect(strings.Lines(string(text))), eol: "\n", indent: "  "}
	if len(y.lines) > 0 && strings.HasSuffix(y.lines[0], "\r\n") {
		y.eol = "\r\n"
	}
	seen := map[string]bool{}
	for i, line := range y.lines {
		body := strings.TrimRight(strings.TrimPrefix(line, "\ufeff"), " \t\r\n")
		switch {
		case body == "" || strings.HasPrefix(body, "#"), body == "---" && len(seen) == 0:
			continue
		case strings.HasPrefix(strings.TrimLeft(body, " "), "\t"):
			return nil, oddYAML(i, "is indented with a tab")
		case body[0] == ' ' || strings.HasPrefix(body, "- ") || body == "-":
			if len(seen) == 0 {
				return nil, oddYAML(i, "belongs to no key")
			}
			continue
		}
		key, value, ok := strings.Cut(body, ":")
		if !ok || value != "" && value[0] != ' ' || strings.ContainsAny(key, "{}[],&*!|>%@`") {
			return nil, oddYAML(i, "is no key with a value")
		}
		key = strings.Trim(key, `"' `)
		if seen[key] {
			return nil, oddYAML(i, "repeats the key "+key)
		}
		if open := strings.TrimSpace(value); open != "" && strings.ContainsAny(open[:1], `"'`) &&
			!strings.Contains(open[1:], open[:1]) {
			return nil, oddYAML(i, "begins a quotation that does not end there")
		}
		if seen[key] = true; key != extensions {
			continue
		}
		if value = strings.TrimSpace(stripComment(value)); value != "" && value != "{}" {
			return nil, oddYAML(i, "has its extensions on one line")
		}
		y.start = i + 1
		y.end = y.blockEnd(i+1, "")
	}
	for i := y.start; y.start > 0 && i < y.end; i++ {
		if ind, body := indentation(y.lines[i]); body != "" && body[0] != '#' {
			if ind == "" {
				return nil, oddYAML(i, "has its extensions as a list")
			}
			y.indent = ind
			break
		}
	}
	return y, nil
}

func oddYAML(line int, what string) error {
	return mail.Errorf(mail.Invalid, "line %d %s, which is more than is understood here. Nothing was changed; mend "+
		"it, or add the extension by hand: goose configure", line+1, what)
}

func stripComment(s string) string {
	if i := strings.Index(s, " #"); i >= 0 {
		return s[:i]
	}
	return s
}

func indentation(line string) (indent, body string) {
	body = strings.TrimRight(line, " \t\r\n")
	trimmed := strings.TrimLeft(body, " ")
	return body[:len(body)-len(trimmed)], trimmed
}

// blockEnd returns the line behind the last one of a block, which stands deeper than indent. Empty lines and comments
// at its end are not of it.
func (y *yamlLines) blockEnd(from int, indent string) int {
	end := from
	for i := from; i < len(y.lines); i++ {
		ind, body := indentation(y.lines[i])
		if body == "" || body[0] == '#' && len(ind) <= len(indent) {
			continue
		}
		if len(ind) <= len(indent) && (indent != "" || body[0] != '-') {
			break
		}
		end = i + 1
	}
	return end
}

// extension returns the lines of our extension.
func (y *yamlLines) extension() (start, end int, found bool) {
	for i := y.start; y.start > 0 && i < y.end; i++ {
		ind, body := indentation(y.lines[i])
		key, _, ok := strings.Cut(body, ":")
		if ok && ind == y.indent && strings.Trim(key, `"'`) == serverName {
			return i, y.blockEnd(i+1, y.indent), true
		}
	}
	return 0, 0, false
}

// field returns a value of our extension: a scalar or the items of a list, and the line of it.
func (y *yamlLines) field(name string) (values []string, line int) {
	start, end, _ := y.extension()
	for i := start + 1; i < end; i++ {
		ind, body := indentation(y.lines[i])
		key, value, ok := strings.Cut(body, ":")
		if !ok || key != name || len(ind) <= len(y.indent) {
			continue
		}
		if value = strings.TrimSpace(value); value != "" {
			if inner, list := strings.CutPrefix(value, "["); list {
				inner, _, _ = strings.Cut(inner, "]")
				for item := range strings.SplitSeq(inner, ",") {
					values = append(values, yamlScalar(item))
				}
				return values, i
			}
			return []string{yamlScalar(value)}, i
		}
		for j := i + 1; j < end; j++ {
			_, item := indentation(y.lines[j])
			item, ok := strings.CutPrefix(item, "-")
			if !ok {
				break
			}
			values = append(values, yamlScalar(item))
		}
		return values, i
	}
	return nil, -1
}

func yamlScalar(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s = s[:strings.LastIndexByte(s, s[0])+1] // a comment may follow
	}
	switch {
	case len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"':
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s[1 : len(s)-1])
	case len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'':
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	return stripComment(s)
}

func (y *yamlLines) command() []string {
	cmd, _ := y.field("cmd")
	args, _ := y.field("args")
	return append(cmd, args...)
}

func (f *yamlFile) put(text []byte) ([]byte, error) {
	y, err := readYAML(text)
	if err != nil {
		return nil, err
	}
	at, _, found := y.extension()
	if !found {
		return f.add(text, f.block())
	}
	old := y.command()
	if _, ours := serverOf(old); !ours {
		return nil, notOurs(at + 1)
	}
	wanted := serverCommand(f.o, old)
	_, line := y.field("cmd")
	if old[0] != wanted[0] {
		y.lines[line] = y.setValue(line, raw(wanted[0]))
	}
	if !slices.Equal(old[1:], wanted[1:]) {
		_, line = y.field("args")
		ind, _ := indentation(y.lines[line])
		list := y.setValue(line, tomlStrings(wanted[1:])) // YAML writes such a list in the same way
		y.lines = slices.Replace(y.lines, line, y.listEnd(line, ind), list)
	}
	return []byte(strings.Join(y.lines, "")), nil
}

// setValue returns a line with another value.
func (y *yamlLines) setValue(line int, value string) string {
	key, old, _ := strings.Cut(y.lines[line], ":")
	old = strings.TrimSpace(old)
	if old != "" && (old[0] == '"' || old[0] == '\'') { // in which a # is none of a comment
		old = old[strings.LastIndexByte(old, old[0])+1:]
	}
	comment := ""
	if i := strings.Index(" "+old, " #"); i >= 0 {
		comment = " " + old[i:]
	}
	return key + ": " + value + comment + y.eol
}

// listEnd returns the line behind the items of a list in block style, which may stand no deeper than their key.
func (y *yamlLines) listEnd(line int, indent string) int {
	end := line + 1
	for end < len(y.lines) {
		ind, body := indentation(y.lines[end])
		if len(ind) < len(indent) || !strings.HasPrefix(body, "-") {
			break
		}
		end++
	}
	return end
}

// block returns the lines of the extension, without what indents them.
func (f *yamlFile) block() string {
	return serverName + ":\n" +
		"  enabled: true\n" +
		"  type: stdio\n" +
		"  name: " + serverName + "\n" +
		"  description: Mail between agents, and with the user\n" +
		"  cmd: " + raw(f.o.Binary) + "\n" +
		"  args: " + tomlStrings(mcpArgs(f.o)) + "\n" +
		"  envs: {}\n" +
		fmt.Sprintf("  timeout: %d\n", toolTimeout)
}

// add puts a block at the end of the extensions.
func (f *yamlFile) add(text []byte, block string) ([]byte, error) {
	y, err := readYAML(text)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if y.start == 0 {
		if n := len(y.lines); n > 0 && !strings.HasSuffix(y.lines[n-1], "\n") {
			b.WriteString(y.eol)
		}
		b.WriteString(extensions + ":" + y.eol)
		y.end = len(y.lines)
	} else {
		if head := y.lines[y.start-1]; strings.Contains(head, "{}") {
			y.lines[y.start-1] = strings.Replace(head, " {}", "", 1)
		}
		if last := y.lines[y.end-1]; !strings.HasSuffix(last, "\n") {
			b.WriteString(y.eol)
		}
	}
	for line := range strings.Lines(block) {
		b.WriteString(y.indent + strings.TrimRight(line, "\r\n") + y.eol)
	}
	return []byte(strings.Join(slices.Insert(y.lines, y.end, b.String()), "")), nil
}

func (f *yamlFile) strip(text, base []byte) ([]byte, []piece, error) {
	y, err := readYAML(text)
	if err != nil {
		return nil, nil, err
	}
	start, end, found := y.extension()
	if _, ours := serverOf(y.command()); !found || !ours {
		return text, nil, nil
	}
	var block strings.Builder
	for _, line := range y.lines[start:end] {
		block.WriteString(strings.TrimPrefix(line, y.indent))
	}
	taken := []piece{{raw: block.String()}}
	was, err := readYAML(base)
	if err != nil {
		was = &yamlLines{}
	}
	if start == y.start && end == y.end { // no other extension is left
		if was.start == 0 {
			start--
		} else if head := was.lines[was.start-1]; strings.Contains(head, "{}") {
			y.lines[start-1] = head
		}
	}
	return []byte(strings.Join(slices.Delete(y.lines, start, end), "")), taken, nil
}

func (f *yamlFile) replay(base []byte, taken []piece) ([]byte, error) {
	text, err := base, error(nil)
	for _, p := range taken {
		if text, err = f.add(text, p.raw); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (f *yamlFile) entries(text []byte) ([]Entry, error) {
	y, err := readYAML(text)
	if err != nil {
		return nil, err
	}
	at, _, found := y.extension()
	if binary, ours := serverOf(y.command()); found && ours {
		return []Entry{{"extension " + serverName, binary, at + 1}}, nil
	}
	return nil, nil
}

func (f *yamlFile) blank(text []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))) == 0
}
