package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/width"

	"pennypost/internal/mail"
)

// Visible makes text from a stranger harmless for a terminal: the only control characters that pass are line breaks
// and tabs, and characters that reorder the text around them, or are invisible, are spelled out. --json gives the
// exact text.
func Visible(s string) string { return visible(s, "") }

// visible is Visible, except for the escape sequences in allowed, each of which ends with m.
func visible(s, allowed string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return harmful(r) || joins(r) }) {
		return s
	}
	var b strings.Builder
	s = strings.ReplaceAll(s, "\r\n", "\n")
	before := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		after, _ := utf8.DecodeRuneInString(s[i+size:])
		if r == '\x1b' {
			if end := strings.IndexByte(s[i:], 'm') + 1; end > 0 && strings.Contains(allowed, s[i:i+end]) {
				b.WriteString(s[i : i+end])
				i += end
				continue
			}
		}
		b.WriteString(written(r, size, before, after))
		before = r
		i += size
	}
	return b.String()
}

// written is how a character is shown between two others. A single byte may be no valid character.
func written(r rune, size int, before, after rune) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return string(utf8.RuneError)
	case joins(r) && (after == 0x20e3 || before >= 0x2000 || before >= 0x300 && unicode.In(before, unicode.L,
		unicode.M)):
		return string(r) // scripts and emoji need it: after their characters its effect is visible
	case !harmful(r) && !joins(r):
		return string(r)
	case r < ' ':
		return string('\u2400' + r) // the control pictures: ␛ for escape
	case r == 0x7f:
		return "\u2421"
	}
	return fmt.Sprintf("<%U>", r)
}

// harmful reports characters that a terminal obeys, that reorder the text around them, or that are invisible.
func harmful(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t':
		return false
	case r == utf8.RuneError, unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\u2800':
		return true
	}
	return mail.Ignorable(r) && !joins(r)
}

// joins reports the ignorable characters that scripts and emoji need: joiners and variation selectors.
func joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || r == '\u034f' || r >= '\ufe00' && r <= '\ufe0f' ||
		r >= '\u180b' && r <= '\u180f' && r != '\u180e'
}

// JSONWriter passes JSON on, with every character that a terminal obeys, that reorders text or that is invisible as a
// \u escape. Such characters occur only in strings, so the output parses as the input. Text that is not JSON stays
// readable and is made as harmless. A character may be split between two writes.
type JSONWriter struct {
	To   io.Writer
	rest []byte // the beginning of a character
}

// Write implements io.Writer.
func (j *JSONWriter) Write(p []byte) (int, error) {
	text := append(j.rest, p...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		switch {
		case !harmful(r):
			out = append(out, text[:size]...)
		case r == utf8.RuneError:
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	j.rest = bytes.Clone(text)
	if _, err := j.To.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// OneLine is Visible where a line break would forge another line.
func OneLine(s string) string {
	s = Visible(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "␊"), "\t", " ")
}

// Columns returns the number of terminal columns of s: none for our colours and for combining marks, two for
// characters that East Asian type sets full width (Unicode TR 11), one for the rest.
func Columns(s string) int {
	n, colour := 0, false
	for _, r := range s {
		w, within := runeColumns(r, colour)
		n, colour = n+w, within
	}
	return n
}

// runeColumns returns the columns of r, and whether a colour sequence continues after it. Text of others contains
// none.
func runeColumns(r rune, colour bool) (n int, goesOn bool) {
	if colour || r == '\x1b' {
		return 0, r != 'm'
	}
	if r < 0x300 {
		return 1, false
	}
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // a soft hyphen takes one
		return 0, false
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 2, false
	}
	return 1, false
}

// Pad fills s with spaces to a width in columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Columns(s)))
}

// Shorten cuts s to a width in columns, with an ellipsis.
func Shorten(s string, width int) string {
	if Columns(s) <= width {
		return s
	}
	n, colour, painted := 0, false, ""
	for i, r := range s {
		w, within := runeColumns(r, colour)
		if within {
			painted = noColour
		}
		if n, colour = n+w, within; n >= width {
			return strings.TrimRight(s[:i], " ") + "…" + painted
		}
	}
	return s
}
