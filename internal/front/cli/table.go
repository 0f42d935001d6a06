package cli

import (
	"bytes"
	"slices"
	"strings"

	"pennypost/internal/base/wording"
)

// Table writes rows in columns, two spaces apart; an empty column takes no space. dimmed are the secondary columns.
// On a terminal the last column is broken between words, and continues below itself.
func (p *Printer) Table(rows [][]string, dimmed ...int) {
	widths := widthsOf(rows)
	var all []byte // written in one call: a system call per line would cost more than the rest
	for _, row := range rows {
		all = append(bytes.TrimRight(all, " "), p.tableRow(row, widths, dimmed)...)
		all = append(bytes.TrimRight(all, " "), '\n')
	}
	p.Write(string(all))
}

// TableOr is Table, or the line none if there are no rows.
func (p *Printer) TableOr(none string, rows [][]string, dimmed ...int) {
	if len(rows) == 0 {
		p.Line("%s", none)
	}
	p.Table(rows, dimmed...)
}

func widthsOf(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Columns(cell))
		}
	}
	return widths
}

// leastLast is the least width of a table's last column. If less is left, that column begins on a line of its own.
const leastLast = 24

func (p *Printer) tableRow(row []string, widths, dimmed []int) []byte {
	var line []byte
	at := 0
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		lines := []string{cell}
		if i == len(row)-1 {
			if p.Wide > 0 && at > 8 && p.Wide-at < leastLast && at+Columns(cell) > p.Wide {
				at = 8
				line = append(bytes.TrimRight(line, " "), "\n        "...)
			}
			lines = p.wrap(cell, at)
		} else {
			lines[0] = Pad(cell, widths[i]+2)
		}
		for n, text := range lines {
			if n > 0 {
				line = append(append(line, '\n'), strings.Repeat(" ", at)...)
			}
			if slices.Contains(dimmed, i) {
				text = p.Dim(text)
			}
			line = append(line, text...)
		}
		at += widths[i] + 2
	}
	return line
}

// A Step is how a column of a list shrinks when the list is wider than the terminal.
type Step struct {
	column int
	to     func(cell string) string // nil: it is removed
}

// At describes how the column with a number shrinks; to is nil if it is removed.
func At(column int, to func(cell string) string) Step { return Step{column, to} }

// AtMost cuts a column to a width.
func AtMost(width int) func(string) string {
	return func(cell string) string { return Shorten(cell, width) }
}

// Beginning cuts a column to n bytes.
func Beginning(n int) func(string) string {
	return func(cell string) string { return wording.Beginning(cell, n) }
}

// comfort is the width to which a list's last column is cut before the others shrink: enough for a subject.
const comfort = 40

// List writes rows as Table does, each on one line. If the terminal is too narrow, columns shrink step by step, and
// the last one is cut. Output to a pipe or a file is complete.
func (p *Printer) List(rows [][]string, steps []Step, dimmed ...int) {
	if p.Wide > 0 {
		fit(rows, p.Wide, steps)
	}
	p.Table(rows, dimmed...)
}

// fit makes rows narrow enough for a terminal.
func fit(rows [][]string, wide int, steps []Step) {
	// room is the width left by the other columns, and the width of the last.
	room := func() (left, last int) {
		widths := widthsOf(rows)
		left = wide
		for _, w := range widths[:max(0, len(widths)-1)] {
			if w > 0 {
				left -= w + 2
			}
		}
		if last = widths[len(widths)-1]; last == 0 {
			left += 2 // no gap before an empty column
		}
		return left, last
	}
	if len(rows) == 0 {
		return
	}
	left, last := room()
	for _, s := range steps {
		if left >= min(last, comfort) {
			break
		}
		for _, row := range rows {
			cell := ""
			if s.to != nil {
				cell = s.to(row[s.column])
			}
			row[s.column] = cell
		}
		left, last = room()
	}
	for _, row := range rows {
		row[len(row)-1] = Shorten(row[len(row)-1], max(left, 8))
	}
}

// wrap breaks text into lines that fit the terminal after a margin of behind columns. Text that is not for a terminal
// stays one line.
func (p *Printer) wrap(text string, behind int) []string {
	width := p.Wide - behind
	if p.Wide == 0 || Columns(text) <= width || width < 8 {
		return []string{text}
	}
	var lines []string
	line, filled := "", 0
	for _, piece := range pieces(text) {
		word := strings.TrimLeft(piece, " ")
		if n := Columns(piece); filled == 0 || filled+n <= width {
			line, filled = line+piece, filled+n
			continue
		}
		lines = append(lines, line)
		line, filled = word, Columns(word)
	}
	return append(lines, line)
}

// pieces cuts text where a line may be broken: before the spaces in front of a word, and around characters of two
// columns.
func pieces(text string) []string {
	var out []string
	begin, word, wasWide := 0, false, false
	for i, r := range text {
		wide := r >= 0x1100 && Columns(string(r)) == 2
		if r == ' ' && word || i > begin && word && (wide || wasWide) {
			out = append(out, text[begin:i])
			begin, word = i, false
		}
		word = word || r != ' '
		wasWide = wide
	}
	return append(out, text[begin:])
}

// Text writes text of several lines, indented by margin. On a narrower terminal, it fills again a paragraph that was
// broken into full lines, and breaks any other line between words.
func (p *Printer) Text(text string, margin int) {
	space := strings.Repeat(" ", margin)
	for _, line := range p.refilled(strings.Split(strings.TrimRight(text, "\n"), "\n"), margin) {
		inner := len(line) - len(strings.TrimLeft(line, " "))
		for n, part := range p.wrap(line[inner:], margin+inner) {
			if part != "" || n > 0 {
				part = space + line[:inner] + part
			}
			p.Write(strings.TrimRight(part, " ") + "\n")
		}
	}
}

// full is the least length of a line of a filled paragraph, in bytes.
const full = 70

// refilled joins the lines of paragraphs if the terminal is too narrow for them.
func (p *Printer) refilled(lines []string, margin int) []string {
	if p.Wide == 0 || !slices.ContainsFunc(lines, func(l string) bool { return Columns(l)+margin > p.Wide }) {
		return lines
	}
	var out []string
	goesOn := false // the line before was full
	for _, line := range lines {
		if goesOn && line != "" && line[0] != ' ' {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, line)
		}
		goesOn = len(line) >= full && line[0] != ' '
	}
	return out
}
