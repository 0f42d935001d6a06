package markdown

import "strings"

// marker is what begins an item of a list.
type marker struct {
	kind  byte   // '-', '*', '+', or what follows a number: '.', ')'
	start string // the number
	width int    // columns before the text of the item; 0: the line begins none
}

// markerOf reads the marker at the beginning of a line.
func markerOf(line string) marker {
	indent := indentOf(line)
	if indent >= 4 || isRule(line) {
		return marker{}
	}
	text := line[indent:]
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	m := marker{start: text[:digits]}
	text = text[digits:]
	switch {
	case text == "" || digits > 9:
		return marker{}
	case digits > 0 && (text[0] == '.' || text[0] == ')'), digits == 0 && strings.IndexByte("-*+", text[0]) >= 0:
		m.kind = text[0]
	default:
		return marker{}
	}
	text = text[1:]
	before := indent + digits + 1
	switch spaces := indentOf(text); {
	case blank(text):
		m.width = before + 1
	case spaces == 0:
		return marker{}
	case spaces > 4 || text[0] == '\t':
		m.width = before + 1 // the item begins with indented code, or with a tab that stands for one space
	default:
		m.width = before + spaces
	}
	return m
}

// item is one item of a list: its lines without the indentation.
type item struct {
	lines []string
	loose bool // a blank line divides it, or follows and more of the list comes
}

// list writes the items that follow each other with one kind of marker.
func (w *writer) list(lines []string, depth int) int {
	first := markerOf(lines[0])
	var items []item
	n, loose := 0, false
	for n < len(lines) {
		m := markerOf(lines[n])
		if m.width == 0 || m.kind != first.kind {
			break
		}
		it, used := itemOf(lines[n:], m.width)
		n += used
		items = append(items, it)
		loose = loose || it.loose
		skip := n
		for skip < len(lines) && blank(lines[skip]) {
			skip++
		}
		if skip == len(lines) {
			break
		}
		if next := markerOf(lines[skip]); skip > n && next.width > 0 && next.kind == first.kind {
			loose = true
			n = skip
		}
	}
	tag := w.openList(first)
	for _, it := range items {
		w.item(it, depth, !loose)
	}
	w.WriteString("</" + tag + ">\n")
	return n
}

func (w *writer) openList(m marker) (tag string) {
	if m.start == "" {
		w.WriteString("<ul>\n")
		return "ul"
	}
	if start := strings.TrimLeft(m.start, "0"); start != "1" && start != "" {
		w.WriteString(`<ol start="` + start + "\">\n")
	} else {
		w.WriteString("<ol>\n")
	}
	return "ol"
}

// itemOf collects the lines of the item that begins lines: what is indented to its text, and what goes on in its last
// paragraph.
func itemOf(lines []string, width int) (it item, n int) {
	it.lines = []string{afterMarker(lines[0], width)}
	blanks := 0
	for n = 1; n < len(lines); n++ {
		line := lines[n]
		switch {
		case blank(line):
			if blank(it.lines[0]) && n == 1 {
				return it, n // an item that begins with nothing ends with a blank line
			}
			blanks++
			continue
		case columns(line) >= width:
			line = cutIndent(line, width)
			it.loose = it.loose || blanks > 0 && !inFence(it.lines)
		case blanks > 0 || !goesOn(it.lines) || startsBlock(lines[n:]) || markerOf(line).width > 0:
			return it, n - blanks
		}
		for ; blanks > 0; blanks-- {
			it.lines = append(it.lines, "")
		}
		it.lines = append(it.lines, line)
	}
	return it, n - blanks
}

// columns counts the indentation of a line in full, a tab as what is missing to a multiple of four.
func columns(line string) int {
	n := 0
	for _, c := range []byte(line) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

func inFence(lines []string) bool {
	open := ""
	for _, l := range lines {
		switch f := fenceOf(l); {
		case open == "":
			open = f
		case f != "" && len(f) >= len(open) && f[0] == open[0]:
			open = ""
		}
	}
	return open != ""
}

// afterMarker returns the text behind an item's marker.
func afterMarker(line string, width int) string {
	if len(line) <= width {
		return strings.Trim(line[strings.IndexAny(line, "-*+.)")+1:], " \t")
	}
	return line[width:]
}

func (w *writer) item(it item, depth int, tight bool) {
	first := it.lines[0]
	w.WriteString("<li>")
	if len(first) >= 4 && first[0] == '[' && first[2] == ']' && first[3] == ' ' &&
		strings.IndexByte(" xX", first[1]) >= 0 {
		if first[1] == ' ' {
			w.WriteString(`<input type="checkbox" disabled aria-label="to do"> `)
		} else {
			w.WriteString(`<input type="checkbox" disabled checked aria-label="done"> `)
		}
		it.lines[0] = first[4:]
	}
	w.blocks(it.lines, depth+1, tight)
	w.WriteString("</li>\n")
}
