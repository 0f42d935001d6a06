package tui

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"pennypost/internal/front/cli"
)

// style is the look of a text, as a set of bits, and the action of a click on it. Colours are the terminal's own
// sixteen, which suit its background; no information is in the colour alone.
type style uint32

const (
	bold    style = 1 << iota
	grey          // times, rooms, notes
	red           // it asks you
	amber         // another waits, or it is late
	green         // done
	blue          // keys
	label         // white on red: keys to press, urgent mail
	reverse       // the tab
	chosen        // white on blue: the row under the cursor
)

// The action of a click is stored above the look: its kind, and a number.
const (
	clickDigit style = (1 + iota) << 9 // the number of an option
	clickTab                           // of a tab
	clickRow                           // of a row on the screen
	clickKind  = clickDigit | clickTab | clickRow
	numbered   = 11 // the bits below the number
)

// on adds a style to a whole line.
func on(l line, st style) line {
	out := slices.Clone(l)
	for i := range out {
		out[i].style |= st
	}
	return out
}

// rowLine styles a line of a row, which may be under the cursor.
func rowLine(l line, at int, under bool) line {
	st := clickRow | style(at)<<numbered
	if under {
		st |= chosen
	}
	return on(l, st)
}

// span is a part of a line in one style. Its text is clean.
type span struct {
	text string
	style
}

// line is a line of the screen.
type line []span

// String returns the text of l.
func (l line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// clean makes multi-line text harmless for a terminal. Tabs become spaces.
func clean(s string) string { return strings.ReplaceAll(cli.Visible(s), "\t", "    ") }

// cleanLine is clean for text on one line.
func cleanLine(s string) string { return cli.OneLine(s) }

// columns returns the width of s in terminal columns, as tcell counts them.
func columns(s string) int { return displaywidth.String(s) }

// shorten truncates s to a width, with an ellipsis.
func shorten(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return displaywidth.TruncateString(s, width, "…")
}

// fit truncates or pads s to a width.
func fit(s string, width int) string {
	s = shorten(s, width)
	return s + strings.Repeat(" ", max(0, width-columns(s)))
}

// spread puts left at the start and right at the end of a line; left is truncated if necessary.
func spread(left, right line, width int) line {
	room := width - columns(right.String())
	left = cut(left, max(0, room-1))
	gap := strings.Repeat(" ", max(0, room-columns(left.String())))
	return append(append(slices.Clip(left), span{text: gap}), right...)
}

// fill pads or truncates a line to a width.
func fill(l line, width int) line {
	l = cut(l, width)
	return append(slices.Clip(l), span{text: strings.Repeat(" ", max(0, width-columns(l.String())))})
}

// cut truncates a line to a width.
func cut(l line, width int) line {
	var out line
	for _, s := range l {
		n := columns(s.text)
		if n > width {
			return append(out, span{shorten(s.text, width), s.style})
		}
		out, width = append(out, s), width-n
	}
	return out
}

// cell is a character with its combining marks.
type cell struct {
	text  string
	width int
	style
}

// cells splits text into cells.
func cells(text string, st style) []cell {
	var out []cell
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		out = append(out, cell{g.Value(), g.Width(), st})
	}
	return out
}

// wrap returns the start and end of each line, broken between words where possible, and at every line break. A line
// includes the space at which it is broken.
func wrap(all []cell, width int) [][2]int {
	width = max(width, 2) // of a wide character
	var out [][2]int
	start, used, space := 0, 0, -1
	for i := 0; i < len(all); i++ {
		c := &all[i]
		if c.text == "\n" {
			out = append(out, [2]int{start, i})
			start, used, space = i+1, 0, -1
			continue
		}
		if used+c.width > width && c.text != " " {
			end := i
			if space >= start {
				end = space + 1
			}
			out = append(out, [2]int{start, end})
			start, used, space = end, 0, -1
			i = end - 1
			continue
		}
		used += c.width
		if c.text == " " {
			space = i
		}
	}
	return append(out, [2]int{start, len(all)})
}

// lineOf makes a line of cells.
func lineOf(part []cell) line {
	var out line
	for _, c := range part {
		if n := len(out); n > 0 && out[n-1].style == c.style {
			out[n-1].text += c.text
		} else {
			out = append(out, span{c.text, c.style})
		}
	}
	return out
}
