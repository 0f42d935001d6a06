package words

import (
	"html/template"
	"strings"
	"unicode/utf8"

	"pennypost/internal/mail/triage"
)

// mostMarked limits the marked invisible characters in one text. The others are written out unmarked.
const mostMarked = 2000

// Exposed returns a text as HTML with invisible characters written out and marked. If the text itself contains such
// spellings, they are not marked.
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

// sameSort returns the length of the leading part that is all visible or all invisible.
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

// unseen reports whether a character must be written out.
func unseen(char string) bool {
	if c := char[0]; c >= ' ' && c <= '~' || c == '\n' || c == '\t' {
		return false
	}
	_, hidden := triage.Exposed(char)
	return hidden > 0
}
