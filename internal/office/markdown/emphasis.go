package markdown

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// delimiters reads a run of * _ or ~. Whether something may begin or end there depends on its neighbours (CommonMark
// 0.31, 6.2).
func (s *scanner) delimiters(rest string) {
	n := run(rest)
	c := rest[0]
	if c == '~' && n > 2 {
		s.plain(n)
		return
	}
	before, after := ' ', ' '
	if s.at > 0 {
		before, _ = utf8.DecodeLastRuneInString(s.text[:s.at])
	}
	if n < len(rest) {
		after, _ = utf8.DecodeRuneInString(rest[n:])
	}
	left := !unicode.IsSpace(after) && (!mark(after) || unicode.IsSpace(before) || mark(before))
	right := !unicode.IsSpace(before) && (!mark(before) || unicode.IsSpace(after) || mark(after))
	p := piece{delim: c, n: n, whole: n, opens: left, closes: right}
	if c == '_' {
		p.opens = left && (!right || mark(before))
		p.closes = right && (!left || mark(after))
	}
	s.pieces = append(s.pieces, p)
	s.at += n
}

func mark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// emphasis joins pieces; runs of delimiters that find each other become tags.
func emphasis(pieces []piece) string {
	var openers []int           // pieces in which something may begin, in order
	bottoms := map[[3]int]int{} // below which of openers there is none for this kind of closer
	for i := range pieces {
		p := &pieces[i]
		if p.delim == 0 {
			continue
		}
		for p.closes && p.n > 0 {
			kind := [3]int{int(p.delim), p.whole % 3, 0}
			if p.opens {
				kind[2] = 1
			}
			found := -1
			for j := len(openers) - 1; j >= min(bottoms[kind], len(openers)); j-- {
				if match(&pieces[openers[j]], p) {
					found = j
					break
				}
			}
			if found < 0 {
				bottoms[kind] = len(openers)
				break
			}
			o := &pieces[openers[found]]
			openers = openers[:found+1]
			tag, n := tagOf(o, p)
			o.tags = "<" + tag + ">" + o.tags
			p.ends += "</" + tag + ">"
			o.n, p.n = o.n-n, p.n-n
			if o.n == 0 {
				openers = openers[:found]
			}
			for k, b := range bottoms {
				bottoms[k] = min(b, len(openers))
			}
		}
		if p.opens && p.n > 0 {
			openers = append(openers, i)
		}
	}
	var b strings.Builder
	for i := range pieces {
		p := &pieces[i]
		b.WriteString(p.ends)
		if p.delim != 0 {
			b.WriteString(strings.Repeat(string(p.delim), p.n))
		} else if p.bracket {
			b.WriteString(html.EscapeString(p.html))
		} else {
			b.WriteString(p.html)
		}
		b.WriteString(p.tags)
	}
	return b.String()
}

// match reports whether what begins at o may end at c.
func match(o, c *piece) bool {
	if o.delim != c.delim {
		return false
	}
	if o.delim == '~' {
		return o.n == c.n && o.n == o.whole && c.n == c.whole
	}
	return !((o.closes || c.opens) && (o.whole+c.whole)%3 == 0 && (o.whole%3 != 0 || c.whole%3 != 0))
}

// tagOf returns the tag between two runs, and how much of each it takes.
func tagOf(o, c *piece) (tag string, n int) {
	switch {
	case o.delim == '~':
		return "del", o.n
	case o.n >= 2 && c.n >= 2:
		return "strong", 2
	}
	return "em", 1
}
