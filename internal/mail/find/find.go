// Package find parses searches and matches texts against them. The room, which finds messages, its index, which
// rules out most of them, and the pages, which highlight matches, must agree on that.
package find

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Query is a parsed search. The zero Query matches every message.
type Query struct{ terms [][]byte }

// Parse parses a typed search: words in any order, each of which may occur inside another word, and phrases in
// double quotes. A quote opens a phrase at the beginning of a word and closes it at the end of one. Any other quote
// is text.
func Parse(typed string) Query {
	var q Query
	rest := Fold(nil, typed)
	for {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 {
			return q
		}
		term, behind := cutTerm(rest)
		if len(bytes.Trim(term, " ")) > 0 {
			q.terms = append(q.terms, term)
		}
		rest = behind
	}
}

// cutTerm cuts off the phrase or word at the beginning of folded text.
func cutTerm(text []byte) (term, rest []byte) {
	if text[0] == '"' {
		for i := 1; i < len(text); i++ {
			if text[i] == '"' && (i+1 == len(text) || text[i+1] == ' ') {
				return text[1:i], text[i+1:]
			}
		}
	}
	term, rest, _ = bytes.Cut(text, []byte(" "))
	return term, rest
}

// Terms returns the words and phrases, folded. The caller must not change them.
func (q Query) Terms() [][]byte { return q.terms }

// Empty reports whether q has no terms.
func (q Query) Empty() bool { return len(q.terms) == 0 }

// In reports whether text, made by Text, contains all terms of q.
func (q Query) In(text []byte) bool {
	for _, t := range q.terms {
		if !bytes.Contains(text, t) {
			return false
		}
	}
	return true
}

// Text appends the searchable text of a message, folded. A NUL, which no term has, follows subject and body.
func Text(to []byte, subject, body string) []byte {
	to = append(Fold(to, subject), 0)
	return append(Fold(to, body), 0)
}

// Fold appends text in its form for comparison: composed (NFC), in lower case, each run of white space as one
// space.
func Fold(to []byte, text string) []byte {
	if !norm.NFC.IsNormalString(text) {
		text = norm.NFC.String(text)
	}
	start := len(to)
	to = slices.Grow(to, len(text))
	for i := 0; i < len(text); {
		plain := i
		for i < len(text) && text[i] > ' ' && text[i] < utf8.RuneSelf {
			i++
		}
		at := len(to)
		to = append(to, text[plain:i]...)
		for k, c := range to[at:] {
			if 'A' <= c && c <= 'Z' {
				to[at+k] = c + 'a' - 'A'
			}
		}
		if i == len(text) {
			break
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == 0 || unicode.IsSpace(r):
			to = foldSpace(to, start)
		case r == utf8.RuneError || r > 0x3000 && r < 0xA640: // invalid bytes, and Han, which has no case
			to = append(to, text[i:i+n]...)
		default:
			to = utf8.AppendRune(to, unicode.ToLower(r))
		}
		i += n
	}
	return to
}

// foldSpace appends a space, unless the text already ends with one.
func foldSpace(to []byte, start int) []byte {
	if n := len(to); n > start && to[n-1] == ' ' {
		return to
	}
	return append(to, ' ')
}

// Span is a part of a text, text[From:To].
type Span struct{ From, To int }

// Spans returns the parts of a text that match terms of q, in order and without overlap.
func (q Query) Spans(text string) []Span {
	if q.Empty() {
		return nil
	}
	folded, from := foldMapped(text)
	var found []Span
	for _, t := range q.terms {
		for at := 0; ; {
			i := bytes.Index(folded[at:], t)
			if i < 0 {
				break
			}
			at += i + len(t)
			found = append(found, Span{from[at-len(t)].From, from[at-1].To})
		}
	}
	slices.SortFunc(found, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var out []Span
	for _, s := range found {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// foldMapped folds a text, and returns for each folded byte the part of the text that it came from.
func foldMapped(text string) (folded []byte, from []Span) {
	for i := 0; i < len(text); {
		n := 1
		if text[i] >= utf8.RuneSelf || i+1 < len(text) && text[i+1] >= utf8.RuneSelf {
			n = max(1, norm.NFC.NextBoundaryInString(text[i:], true))
		}
		one := Fold(nil, text[i:i+n])
		if len(folded) > 0 && folded[len(folded)-1] == ' ' && strings.HasPrefix(string(one), " ") {
			one = one[1:]
		}
		folded = append(folded, one...)
		for range one {
			from = append(from, Span{i, i + n})
		}
		i += n
	}
	return folded, from
}
