package markdown

import (
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline writes the text of a block. It is the algorithm of CommonMark 0.31, appendix "phase 2": runs of delimiters
// and opening brackets are kept as pieces until their counterparts come.
func (w *writer) inline(text string) {
	s := scanner{text: text}
	for s.at < len(s.text) {
		s.step()
	}
	w.WriteString(emphasis(s.pieces))
}

// piece is a part of a text: HTML, an opening bracket, or a run of delimiters that may become tags.
type piece struct {
	html string // what it is, if it stays what it is

	bracket bool
	image   bool
	after   int // of a bracket: where the text behind it begins

	delim      byte // '*', '_' or '~'; 0: none
	n          int  // how many are left of it
	opens      bool // something may begin here
	closes     bool // something may end here
	whole      int  // how many there were
	ends, tags string
}

// scanner reads a text once, from left to right.
type scanner struct {
	text     string
	at       int
	pieces   []piece
	brackets []int // the pieces that are brackets still open
}

func (s *scanner) add(html string) { s.pieces = append(s.pieces, piece{html: html}) }

// plain adds n bytes as text.
func (s *scanner) plain(n int) {
	s.add(html.EscapeString(s.text[s.at : s.at+n]))
	s.at += n
}

// step reads what begins at the present place.
func (s *scanner) step() {
	rest := s.text[s.at:]
	switch c := rest[0]; {
	case c == '\n':
		s.add("<br>\n")
		s.at++
	case c == '\\':
		s.escape(rest)
	case c == '`':
		s.code(rest)
	case c == '&':
		s.entity(rest)
	case c == '<':
		s.angle(rest)
	case c == '*' || c == '_' || c == '~':
		s.delimiters(rest)
	case c == '!' && strings.HasPrefix(rest, "!["):
		s.bracket(2, true)
	case c == '[':
		s.bracket(1, false)
	case c == ']':
		s.closeBracket()
	case c == 'h' || c == 'H':
		s.address(rest)
	default:
		n := strings.IndexAny(rest[1:], "\n\\`&<*_~![]hH")
		if n < 0 {
			n = len(rest) - 1
		}
		s.plain(n + 1)
	}
}

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

func (s *scanner) escape(rest string) {
	switch {
	case len(rest) > 1 && strings.IndexByte(punctuation, rest[1]) >= 0:
		s.at++
		s.plain(1)
	case strings.HasPrefix(rest, "\\\n"):
		s.at++ // the line break follows
	default:
		s.plain(1)
	}
}

// code reads a span of code: it ends with as many backticks as it began with.
func (s *scanner) code(rest string) {
	n := run(rest)
	fence := rest[:n]
	for from := n; ; {
		i := strings.Index(rest[from:], fence)
		if i < 0 {
			s.plain(n)
			return
		}
		from += i
		if m := run(rest[from:]); m != n {
			from += m
			continue
		}
		text := strings.ReplaceAll(rest[n:from], "\n", " ")
		if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.Trim(text, " ") != "" {
			text = text[1 : len(text)-1]
		}
		s.add("<code>" + html.EscapeString(text) + "</code>")
		s.at += from + n
		return
	}
}

// run counts how often the first byte is repeated.
func run(s string) int { return len(s) - len(strings.TrimLeft(s, s[:1])) }

// maxEntity is the length of the longest name of a character, &CounterClockwiseContourIntegral;, and some.
const maxEntity = 40

func (s *scanner) entity(rest string) {
	end := strings.IndexByte(rest[:min(len(rest), maxEntity)], ';')
	if end < 0 {
		s.plain(1)
		return
	}
	text := html.UnescapeString(rest[:end+1])
	if text == rest[:end+1] {
		s.plain(1)
		return
	}
	s.add(html.EscapeString(strings.ReplaceAll(text, "\x00", "\uFFFD")))
	s.at += end + 1
}

// angle reads an address in angle brackets. Anything else that begins so is text, HTML too.
func (s *scanner) angle(rest string) {
	end := strings.IndexAny(rest[1:], "<> \n")
	if end < 0 || rest[end+1] != '>' {
		s.plain(1)
		return
	}
	inside := rest[1 : end+1]
	to := inside
	if !strings.Contains(inside, ":") && strings.Count(inside, "@") == 1 && !strings.HasPrefix(inside, "@") &&
		!strings.HasSuffix(inside, "@") {
		to = "mailto:" + inside
	}
	if to = destination(to); to == "" {
		s.plain(1)
		return
	}
	s.add(openLink(to) + html.EscapeString(inside) + "</a>")
	s.at += end + 2
}

// address reads an address of the web that stands in the text.
func (s *scanner) address(rest string) {
	n := addressLen(rest)
	var before rune
	if s.at > 0 {
		before, _ = utf8.DecodeLastRuneInString(s.text[:s.at])
	}
	if n == 0 || unicode.IsLetter(before) || unicode.IsDigit(before) || s.inLink() {
		s.plain(1)
		return
	}
	to := destination(rest[:n])
	if to == "" {
		s.plain(1)
		return
	}
	s.add(openLink(to) + html.EscapeString(rest[:n]) + "</a>")
	s.at += n
}

// inLink reports whether what comes will probably stand in the text of a link, which can hold no other.
func (s *scanner) inLink() bool {
	for _, i := range s.brackets {
		if !s.pieces[i].image {
			return strings.Contains(s.text[s.at:], "](")
		}
	}
	return false
}

// addressLen returns the length of the address that s begins with; what ends a sentence is no part of it.
func addressLen(s string) int {
	scheme := 0
	for _, p := range []string{"https://", "http://"} {
		if len(s) > len(p) && strings.EqualFold(s[:len(p)], p) {
			scheme = len(p)
			break
		}
	}
	if scheme == 0 {
		return 0
	}
	n := strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("<>\"`|\\^{}", r) || unicode.IsSpace(r)
	})
	if n < 0 {
		n = len(s)
	}
	for n > scheme {
		switch c := s[n-1]; {
		case strings.IndexByte("?!.,:*_~;'", c) >= 0:
		case c == ')' && strings.Count(s[:n], "(") < strings.Count(s[:n], ")"):
		case c == ']':
		default:
			return n
		}
		n--
	}
	return 0
}

func (s *scanner) bracket(n int, image bool) {
	s.brackets = append(s.brackets, len(s.pieces))
	s.pieces = append(s.pieces, piece{html: s.text[s.at : s.at+n], bracket: true, image: image, after: s.at + n})
	s.at += n
}

// closeBracket makes a link of what stands between the brackets if an address in parentheses follows.
func (s *scanner) closeBracket() {
	if len(s.brackets) == 0 {
		s.plain(1)
		return
	}
	open := s.brackets[len(s.brackets)-1]
	s.brackets = s.brackets[:len(s.brackets)-1]
	to, n := target(s.text[s.at+1:])
	if n == 0 {
		s.plain(1)
		return
	}
	b := s.pieces[open]
	inner := emphasis(s.pieces[open+1:])
	if b.image {
		inner = "🖼 " + html.EscapeString(strings.Join(strings.Fields(s.text[b.after:s.at]), " "))
		if b.after == s.at {
			inner += "image"
		}
	} else {
		s.brackets = s.brackets[:0] // a link holds no link
	}
	if to = destination(to); to != "" && !(b.image && s.inLink()) {
		inner = openLink(to) + inner + "</a>"
	}
	s.pieces = append(s.pieces[:open], piece{html: inner})
	s.at += 1 + n
}

// target reads (ADDRESS "TITLE"). n is its length, 0 if s does not begin with one.
func target(s string) (to string, n int) {
	if !strings.HasPrefix(s, "(") {
		return "", 0
	}
	rest := strings.TrimLeft(s[1:], " \n\t")
	if strings.HasPrefix(rest, "<") {
		end := strings.IndexAny(rest, ">\n")
		if end < 0 || rest[end] != '>' {
			return "", 0
		}
		to, rest = rest[1:end], rest[end+1:]
	} else {
		end := addressEnd(rest)
		to, rest = rest[:end], rest[end:]
	}
	if after := strings.TrimLeft(rest, " \n\t"); len(after) < len(rest) {
		rest = after[titleLen(after):]
	}
	rest = strings.TrimLeft(rest, " \n\t")
	if !strings.HasPrefix(rest, ")") {
		return "", 0
	}
	return html.UnescapeString(unescape(to)), len(s) - len(rest) + 1
}

// maxParentheses is how deeply they nest in an address; without a bound, each of many that never close is read to the
// end.
const maxParentheses = 32

// addressEnd returns where the address in parentheses ends: with white space, or the parenthesis that was not opened
// in it.
func addressEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ':
			return i
		case c == '\\' && i+1 < len(s):
			i++
		case c == '(' && depth == maxParentheses:
			return i
		case c == '(':
			depth++
		case c == ')' && depth == 0:
			return i
		case c == ')':
			depth--
		}
	}
	return len(s)
}

// titleLen returns the length of a quoted title, which is not shown.
func titleLen(s string) int {
	if s == "" || strings.IndexByte(`"'`, s[0]) < 0 {
		return 0
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == s[0] {
			return i + 1
		}
	}
	return 0
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(punctuation, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// destination returns where a link may lead, or "". What has no scheme would lead into the pages that show it.
func destination(to string) string {
	u, err := url.Parse(strings.TrimSpace(to))
	if err != nil || strings.ContainsFunc(to, unicode.IsControl) {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	return u.String()
}

func openLink(to string) string {
	return `<a href="` + html.EscapeString(to) + `" target="_blank" rel="noopener noreferrer nofollow">`
}
