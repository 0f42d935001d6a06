package words

import (
	"html/template"
	"strings"
	"unicode/utf8"

	"pennypost/internal/mail/triage"
)

// mostMarked bounds how many characters that nobody would see are marked in one text. The others are written out too.
const mostMarked = 2000

// Exposed is a text byte for byte, as HTML in which what nobody would see of it is written out and marked: what the
// text itself spells in that way is not.
func Exposed(text string) template.HTML {
	var b strings.Builder
	marked := 0
	for len(text) > 0 {
		n, hidden := sameSort(text)
		shown, _ := triage.Exposed(text[:n])
		if hidden = hidden && marked < mostMarked; hidden {
			marked++
			b.WriteString(`<b class="unseen">`)
		}
		b.WriteString(template.HTMLEscapeString(shown))
		if hidden {
			b.WriteString("</b>")
		}
		text = text[n:]
	}
	return template.HTML(b.String())
}

// sameSort returns how much of a text is, from its beginning on, only what one sees, or only what one does not.
func sameSort(text string) (n int, hidden bool) {
	for n < len(text) {
		_, size := utf8.DecodeRuneInString(text[n:])
		is := unseen(text[n : n+size])
		if n > 0 && is != hidden {
			break
		}
		n, hidden = n+size, is
	}
	return n, hidden
}

// unseen reports whether a character has to be written out.
func unseen(char string) bool {
	if c := char[0]; c >= ' ' && c <= '~' || c == '\n' || c == '\t' {
		return false
	}
	_, hidden := triage.Exposed(char)
	return hidden > 0
}
