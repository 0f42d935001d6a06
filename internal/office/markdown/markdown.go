// Package markdown renders what agents write as HTML that can do nothing.
//
// It knows the part of GitHub Flavored Markdown that people and models write: paragraphs, headings, lists with tasks,
// quotes, code, tables, emphasis, links. HTML is no part of it and comes out as the text that it is; so does what else
// it does not know, link references and footnotes among it. A line break is one. Links lead to the web or into mail
// only; an image is a link to it, since to load it would tell its owner who reads. All tags and attributes that can
// come out are written in this package, and none holds text from the input but href and class, both checked.
//
// It is not goldmark, which the specification names, because that costs every command 2 ms before its first line, as
// much as all the rest together; goldmark is what the tests compare it with.
package markdown

import (
	"html"
	"strings"
	"unicode/utf8"
)

// HTML renders text. What is not UTF-8 comes out as U+FFFD.
func HTML(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00",
		"\uFFFD").Replace(strings.ToValidUTF8(text, string(utf8.RuneError)))
	var w writer
	w.blocks(strings.Split(text, "\n"), 0, false)
	return w.String()
}

// writer collects HTML.
type writer struct{ strings.Builder }

// text writes what has no meaning of its own.
func (w *writer) text(s string) { w.WriteString(html.EscapeString(s)) }

// maxDepth is how deeply quotes and lists nest. What is below is shown as text.
const maxDepth = 16

// blocks writes lines as blocks. In a tight list, paragraphs bear no tags.
func (w *writer) blocks(lines []string, depth int, tight bool) {
	for len(lines) > 0 {
		n := 1
		line := lines[0]
		indent := indentOf(line)
		switch {
		case blank(line):
		case indent >= 4:
			n = w.indented(lines)
		case fenceOf(line) != "":
			n = w.fenced(lines)
		case headingLevel(line) > 0:
			w.heading(headingLevel(line), headingText(line))
		case isRule(line):
			w.WriteString("<hr>\n")
		case depth < maxDepth && strings.HasPrefix(line[indent:], ">"):
			n = w.quote(lines, depth)
		case depth < maxDepth && markerOf(line).width > 0:
			n = w.list(lines, depth)
		case isTable(lines):
			n = w.table(lines)
		default:
			n = w.paragraph(lines, tight)
		}
		lines = lines[n:]
	}
}

// startsBlock reports whether a line ends the paragraph before it.
func startsBlock(lines []string) bool {
	line := lines[0]
	if indentOf(line) >= 4 {
		return false
	}
	if m := markerOf(line); m.width > 0 && !blank(line[min(m.width, len(line)):]) &&
		(m.kind != '.' && m.kind != ')' || m.start == "1") {
		return true // an empty item, or a number in running text, is no list
	}
	return fenceOf(line) != "" || headingLevel(line) > 0 || isRule(line) ||
		strings.HasPrefix(strings.TrimLeft(line, " "), ">") || isTable(lines)
}

// paragraph writes lines up to what ends them. A line of = or - below makes them a heading.
func (w *writer) paragraph(lines []string, tight bool) int {
	n := 1
	for n < len(lines) && !blank(lines[n]) {
		if level := underline(lines[n]); level > 0 {
			w.heading(level, joined(lines[:n]))
			return n + 1
		}
		if startsBlock(lines[n:]) {
			break
		}
		n++
	}
	if tight {
		w.inline(joined(lines[:n]))
		w.WriteString("\n")
		return n
	}
	w.WriteString("<p>")
	w.inline(joined(lines[:n]))
	w.WriteString("</p>\n")
	return n
}

// joined is the text of a paragraph's lines.
func joined(lines []string) string {
	trimmed := make([]string, len(lines))
	for i, l := range lines {
		trimmed[i] = strings.Trim(l, " \t")
	}
	return strings.Join(trimmed, "\n")
}

// underline returns the level of the heading that a line below a paragraph makes of it; 0 for none.
func underline(line string) int {
	text := strings.TrimRight(strings.TrimLeft(line, " "), " \t")
	switch {
	case indentOf(line) >= 4 || text == "":
	case strings.Trim(text, "=") == "":
		return 1
	case strings.Trim(text, "-") == "":
		return 2
	}
	return 0
}

func (w *writer) heading(level int, text string) {
	tag := string("0123456"[level])
	w.WriteString("<h" + tag + ">")
	w.inline(text)
	w.WriteString("</h" + tag + ">\n")
}

// headingLevel counts the # that begin a heading.
func headingLevel(line string) int {
	text := strings.TrimLeft(line, " ")
	n := len(text) - len(strings.TrimLeft(text, "#"))
	if n == 0 || n > 6 || indentOf(line) >= 4 || n < len(text) && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return n
}

func headingText(line string) string {
	text := strings.Trim(strings.TrimLeft(strings.TrimLeft(line, " "), "#"), " \t")
	if cut := strings.TrimRight(text, "#"); cut == "" || strings.HasSuffix(cut, " ") || strings.HasSuffix(cut, "\t") {
		text = strings.TrimRight(cut, " \t")
	}
	return text
}

// isRule reports three or more of one of * - _ and nothing else.
func isRule(line string) bool {
	text := strings.TrimLeft(line, " ")
	if text == "" || strings.IndexByte("*-_", text[0]) < 0 || indentOf(line) >= 4 {
		return false
	}
	return strings.Trim(text, text[:1]+" \t") == "" && strings.Count(text, text[:1]) >= 3
}

// fenceOf returns the characters that begin a fenced block of code, or "".
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " ")
	if indentOf(line) >= 4 || !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
		return ""
	}
	rest := strings.TrimLeft(text, text[:1])
	if text[0] == '`' && strings.Contains(rest, "`") {
		return "" // code in running text
	}
	return text[:len(text)-len(rest)]
}

func (w *writer) fenced(lines []string) int {
	fence, indent := fenceOf(lines[0]), indentOf(lines[0])
	info, _, _ := strings.Cut(strings.TrimSpace(lines[0][indent+len(fence):]), " ")
	w.code(info)
	for i, line := range lines[1:] {
		if end := fenceOf(line); len(end) >= len(fence) && end[0] == fence[0] &&
			blank(strings.TrimLeft(line, " ")[len(end):]) {
			w.WriteString("</code></pre>\n")
			return i + 2
		}
		w.text(line[min(indent, indentOf(line)):] + "\n")
	}
	w.WriteString("</code></pre>\n")
	return len(lines)
}

// code begins a block of code in a language, if that has a name that can be a class.
func (w *writer) code(language string) {
	known := language != "" && len(language) <= 32
	for _, r := range language {
		known = known && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("+-_.#", r))
	}
	if !known {
		w.WriteString("<pre><code>")
		return
	}
	w.WriteString(`<pre><code class="language-` + language + `">`)
}

func (w *writer) indented(lines []string) int {
	n, last := 0, 0
	for ; n < len(lines) && (blank(lines[n]) || indentOf(lines[n]) >= 4); n++ {
		if !blank(lines[n]) {
			last = n + 1
		}
	}
	w.code("")
	for _, line := range lines[:last] {
		w.text(cutIndent(line, 4) + "\n")
	}
	w.WriteString("</code></pre>\n")
	return last
}

// quote writes lines that begin with >, and what goes on in the paragraph that they end in.
func (w *writer) quote(lines []string, depth int) int {
	var inner []string
	n := 0
	for ; n < len(lines); n++ {
		line := lines[n]
		text := strings.TrimLeft(line, " ")
		if indentOf(line) < 4 && strings.HasPrefix(text, ">") {
			inner = append(inner, strings.TrimPrefix(text[1:], " "))
			continue
		}
		if blank(line) || !goesOn(inner) || startsBlock(lines[n:]) {
			break
		}
		inner = append(inner, line)
	}
	w.WriteString("<blockquote>\n")
	w.blocks(inner, depth+1, false)
	w.WriteString("</blockquote>\n")
	return n
}

// goesOn reports whether lines end in text that a line without a mark of its own may go on.
func goesOn(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	return !inFence(lines) && !blank(last) && headingLevel(last) == 0 && fenceOf(last) == "" && !isRule(last)
}

func blank(line string) bool { return strings.Trim(line, " \t") == "" }

// indentOf counts the columns before the text of a line, of which only the first four matter.
func indentOf(line string) int {
	n := 0
	for _, c := range []byte(line) {
		switch c {
		case ' ':
			n++
		case '\t':
			return max(n, 4)
		default:
			return n
		}
	}
	return n
}

// cutIndent takes n columns of indentation off a line.
func cutIndent(line string, n int) string {
	for n > 0 && line != "" {
		switch line[0] {
		case ' ':
			n--
		case '\t':
			n = max(0, n-4)
		default:
			return line
		}
		line = line[1:]
	}
	return line
}
