package markdown

import "strings"

// isTable reports whether lines begin with a row of headings and the row below that makes a table of it.
func isTable(lines []string) bool {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || indentOf(lines[0]) >= 4 {
		return false
	}
	aligns := alignments(lines[1])
	return len(aligns) > 0 && len(aligns) == len(cells(lines[0]))
}

// alignments reads the row below the headings; nil if it is none.
func alignments(line string) []string {
	if !strings.ContainsAny(line, "|:") || indentOf(line) >= 4 {
		return nil
	}
	var out []string
	for _, c := range cells(line) {
		left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		if bar := strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":"); bar == "" || strings.Trim(bar, "-") != "" {
			return nil
		}
		switch {
		case left && right:
			out = append(out, "center")
		case right:
			out = append(out, "right")
		case left:
			out = append(out, "left")
		default:
			out = append(out, "")
		}
	}
	return out
}

// cells splits a row at its bars, but for those behind a backslash.
func cells(line string) []string {
	line = strings.Trim(line, " \t")
	line = strings.TrimPrefix(line, "|")
	var out []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case line[i] == '|':
			out = append(out, strings.Trim(cell.String(), " \t"))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	if !strings.HasSuffix(line, "|") || strings.HasSuffix(line, `\|`) {
		out = append(out, strings.Trim(cell.String(), " \t"))
	}
	return out
}

// table writes a table, whose rows all have as many cells as its headings.
func (w *writer) table(lines []string) int {
	aligns := alignments(lines[1])
	w.WriteString("<table>\n<thead>\n")
	w.tableRow("th", cells(lines[0]), aligns)
	w.WriteString("</thead>\n")
	n := 2
	for ; n < len(lines) && !blank(lines[n]) && !startsBlock(lines[n:n+1]); n++ {
		if n == 2 {
			w.WriteString("<tbody>\n")
		}
		w.tableRow("td", cells(lines[n]), aligns)
	}
	if n > 2 {
		w.WriteString("</tbody>\n")
	}
	w.WriteString("</table>\n")
	return n
}

func (w *writer) tableRow(tag string, row, aligns []string) {
	w.WriteString("<tr>\n")
	for i, align := range aligns {
		w.WriteString("<" + tag)
		if align != "" && i < len(row) {
			w.WriteString(` align="` + align + `"`)
		}
		w.WriteString(">")
		if i < len(row) {
			w.inline(row[i])
		}
		w.WriteString("</" + tag + ">\n")
	}
	w.WriteString("</tr>\n")
}
