package tui

import (
	"slices"
	"strings"
	"unicode"

	"pennypost/internal/mail"
)

// box is a text being written.
type box struct {
	title  string
	text   []cell // each line break is a cell
	at     int    // the cell after the cursor
	single bool   // one line, which Enter ends
	for_   purpose

	subject *subject      // of an answer
	room    mail.RoomName // of a new message

	answer mail.DialogAnswer // the answer to a dialog that the text accompanies
	secret bool              // the text is masked
}

// purpose is the use of a box's text.
type purpose int

const (
	toReply purpose = iota
	toCompose
	toFilter
	toDialog
)

func newBox(title, text string, p purpose) *box {
	b := &box{title: title, for_: p, single: p == toFilter}
	b.insert(text)
	return b
}

// set replaces the text.
func (b *box) set(text string) {
	b.text, b.at = nil, 0
	b.insert(text)
}

// String returns the text.
func (b *box) String() string {
	var s strings.Builder
	for _, c := range b.text {
		s.WriteString(c.text)
	}
	return s.String()
}

// insert inserts s at the cursor. Control characters are written out, as everywhere.
func (b *box) insert(s string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if b.single {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	before := string(join(b.text[:b.at])) + clean(s)
	// split everything before the cursor again, since a combining mark joins the character before it
	head := cells(before, 0)
	b.text = append(head, b.text[b.at:]...)
	b.at = len(head)
}

func join(text []cell) []byte {
	var out []byte
	for _, c := range text {
		out = append(out, c.text...)
	}
	return out
}

// key applies an editing key, and reports whether it had a meaning.
func (b *box) key(k string, width int) bool {
	switch k {
	case "enter", "ctrl+j":
		if b.single {
			return false
		}
		b.insert("\n")
	case "backspace", "ctrl+h":
		b.remove(b.at-1, b.at)
	case "delete":
		b.remove(b.at, b.at+1)
	case "left", "ctrl+b":
		b.at = max(0, b.at-1)
	case "right", "ctrl+f":
		b.at = min(len(b.text), b.at+1)
	case "home", "ctrl+a":
		b.at = b.lineStart()
	case "end":
		b.at = b.lineEnd()
	case "up", "ctrl+p":
		b.vertical(-1, width)
	case "down", "ctrl+n":
		b.vertical(1, width)
	case "ctrl+u":
		b.remove(b.lineStart(), b.at)
	case "ctrl+k":
		b.remove(b.at, max(b.lineEnd(), b.at+1))
	case "ctrl+w", "alt+backspace":
		b.remove(b.wordStart(), b.at)
	default:
		return b.typed(k)
	}
	return true
}

// typed inserts the character of a key, if it has one.
func (b *box) typed(k string) bool {
	if strings.Contains(k, "+") && len(k) > 1 || !printable(k) {
		return false
	}
	b.insert(k)
	return true
}

// printable reports whether a key is a character.
func printable(k string) bool {
	runes := []rune(k)
	return len(runes) > 0 && (len(runes) == 1 || !slices.Contains(named, k)) && unicode.IsGraphic(runes[0])
}

func (b *box) remove(from, to int) {
	from, to = max(0, from), min(to, len(b.text))
	if from < to {
		b.text = slices.Delete(b.text, from, to)
		b.at = from
	}
}

func (b *box) lineStart() int {
	i := b.at
	for i > 0 && b.text[i-1].text != "\n" {
		i--
	}
	return i
}

func (b *box) lineEnd() int {
	i := b.at
	for i < len(b.text) && b.text[i].text != "\n" {
		i++
	}
	return i
}

func (b *box) wordStart() int {
	i := b.at
	for i > 0 && strings.TrimSpace(b.text[i-1].text) == "" {
		i--
	}
	for i > 0 && strings.TrimSpace(b.text[i-1].text) != "" {
		i--
	}
	return i
}

// place returns the wrapped lines, and the position of the cursor in them.
func (b *box) place(width int) (lines [][2]int, row, column int) {
	lines = wrap(b.text, width)
	for row = len(lines) - 1; row > 0 && lines[row][0] > b.at; row-- {
	}
	for _, c := range b.text[lines[row][0]:b.at] {
		column += c.width
	}
	return lines, row, column
}

// vertical moves the cursor n lines down, keeping the column.
func (b *box) vertical(n, width int) {
	lines, row, column := b.place(width)
	row += n
	switch {
	case row < 0:
		b.at = 0
		return
	case row >= len(lines):
		b.at = len(b.text)
		return
	}
	i := lines[row][0]
	for used := 0; i < lines[row][1] && used+b.text[i].width <= column; i++ {
		used += b.text[i].width
	}
	if i == lines[row][1] && row < len(lines)-1 && i == lines[row+1][0] {
		i = max(lines[row][0], i-1) // the position after it is on the next line
	}
	b.at = i
}
