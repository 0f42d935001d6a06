package fence

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/confusable"
	"pennypost/internal/mail"
)

// A letter is a character as a reader sees it, and its range in the text.
type letter struct {
	r        rune // ' ' for all white space and controls
	from, to int
	like     bool // r was folded from a look-alike; I and l are then not distinguished
	number   int  // for a digit: one more than the start of its numeric reference; otherwise 0
}

// A reading is a text as a model may see it, after a client has resolved character references. Invisible characters
// and accents are removed, compatibility forms and look-alikes folded to ASCII, and references resolved, including
// nested ones. (Gemini CLI escapes brackets but not &, so that &lt; in mail looks like one of our brackets.)
type reading struct {
	letters []letter
	short   bool // a reference without semicolon was just resolved; a semicolon that follows belongs to it
}

// read returns the reading of s, in time linear in its length.
func read(s string) []letter {
	rd := reading{letters: make([]letter, 0, len(s))}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		rd.fold(r, i, i+n)
		i += n
	}
	if n := rd.number(); n >= 0 {
		rd.resolve(n, len(s), "")
	}
	return rd.letters
}

// fold adds the letters that r is read as.
func (rd *reading) fold(r rune, from, to int) {
	switch {
	case r < utf8.RuneSelf:
		if r <= ' ' || r == 0x7f {
			r = ' '
		}
		rd.add(letter{r: r, from: from, to: to})
		return
	case mail.Ignorable(r), unicode.In(r, unicode.Mn, unicode.Me):
		return
	case unicode.IsSpace(r), unicode.IsControl(r), r == utf8.RuneError:
		rd.add(letter{r: ' ', from: from, to: to})
		return
	}
	if like := lookalike(r); like != 0 {
		rd.add(letter{r: like, from: from, to: to, like: true})
		return
	}
	var buf [utf8.UTFMax]byte
	parts := norm.NFKD.Properties(utf8.AppendRune(buf[:0], r)).Decomposition()
	if len(parts) == 0 {
		rd.add(letter{r: r, from: from, to: to})
	}
	for len(parts) > 0 { // these do not decompose further
		c, n := utf8.DecodeRune(parts)
		rd.fold(c, from, to)
		parts = parts[n:]
	}
}

// add adds a letter, and resolves the reference that it ends.
func (rd *reading) add(l letter) {
	short := rd.short
	rd.short = false
	n := rd.number()
	switch {
	case n >= 0 && rd.digit(l.r, n):
		l.number = n + 1
		rd.letters = append(rd.letters, l)
		return
	case n >= 0 && l.r == ';':
		rd.resolve(n, l.to, ";")
		return
	case n >= 0 && (l.r != '&' || len(rd.letters)-n > len("&#6")): // that & may begin a second digit
		rd.resolve(n, l.from, "")
	case l.r == ';' && short:
		if n := len(rd.letters); n > 0 {
			rd.letters[n-1].to = l.to
		}
		return
	}
	if l.r == ';' {
		if n := rd.reference(); n >= 0 && rd.resolve(n, l.to, ";") {
			return
		}
	}
	l.number = rd.first(l.r) + 1
	rd.letters = append(rd.letters, l)
	if n := rd.shortReference(); n >= 0 {
		rd.short = rd.resolve(n, l.to, "")
	}
}

// number returns the start of the numeric reference whose last digit is the last letter; -1 if there is none.
func (rd *reading) number() int {
	if len(rd.letters) == 0 {
		return -1
	}
	return rd.letters[len(rd.letters)-1].number - 1
}

// digit reports whether r continues the numeric reference that begins at letters[n].
func (rd *reading) digit(r rune, n int) bool {
	hex := rd.letters[n+2].r|0x20 == 'x'
	return r >= '0' && r <= '9' || hex && r|0x20 >= 'a' && r|0x20 <= 'f'
}

// first returns the start of the numeric reference whose first digit would be r; -1 if there is none.
func (rd *reading) first(r rune) int {
	begins := func(n int) bool { return n >= 0 && rd.letters[n].r == '&' && rd.letters[n+1].r == '#' }
	n := len(rd.letters) - len("&#")
	if begins(n) && r >= '0' && r <= '9' {
		return n
	}
	if n--; begins(n) && rd.letters[n+2].r|0x20 == 'x' && rd.digit(r, n) {
		return n
	}
	return -1
}

// longestReference is more than the length of the longest name of a character.
const longestReference = 40

// reference returns the start of the named reference that a semicolon would end; -1 if there is none.
func (rd *reading) reference() int {
	for n := len(rd.letters) - 1; n >= 0 && n >= len(rd.letters)-longestReference; n-- {
		r := rd.letters[n].r
		if r == '&' {
			return n
		}
		if r >= utf8.RuneSelf || !identifier(byte(r)) {
			break
		}
	}
	return -1
}

// shortReference returns the start of the reference that the last letter ends and that needs no semicolon; -1 if there
// is none. HTML has a hundred of these; listed are those that can be part of a tag.
func (rd *reading) shortReference() int {
	if !strings.ContainsRune("tpyfmTPYFM", rd.letters[len(rd.letters)-1].r) {
		return -1
	}
	for _, name := range []string{"&lt", "&gt", "&amp", "&quot", "&shy", "&nbsp", "&ordf", "&ordm"} {
		n := len(rd.letters) - len(name)
		if n >= 0 && rd.letters[n].r == '&' && strings.EqualFold(rd.spelling(n), name) {
			return n
		}
	}
	return -1
}

func (rd *reading) spelling(n int) string {
	var b strings.Builder
	for _, l := range rd.letters[n:] {
		b.WriteRune(l.r)
	}
	return b.String()
}

// resolve replaces the letters from n on by the characters that they mean as a reference with the given end, up to
// s[:to]. It reports whether they are a reference.
func (rd *reading) resolve(n, to int, end string) bool {
	ref := rd.spelling(n) + end
	text := html.UnescapeString(strings.ToLower(ref)) // &Lt; counts as &lt; too
	if text == strings.ToLower(ref) {
		if text = html.UnescapeString(ref); text == ref {
			return false
		}
	}
	from := rd.letters[n].from
	rd.letters = rd.letters[:n]
	for _, r := range text {
		rd.fold(r, from, to)
	}
	return true
}

// opens reports whether r in a text may be read as a bracket or the start of a reference.
func opens(r rune) bool {
	switch r {
	case '<', '&', '＜', '﹤', '︿', '≮', '⊀', '＆', '﹠', '‹', '\u2329', '\u3008', '⟨', '❬', '❮', '❰', '⦑', '⧼', '≺', '⋖',
		'˂', 'ᐸ', 'ᚲ', '𝈶':
		return true
	}
	return false
}

// lookalike returns the ASCII character that r looks like; 0 if none. Compatibility forms are not included, since
// Unicode defines them.
func lookalike(r rune) rune {
	like, _ := confusable.Like(r)
	return rune(like)
}
