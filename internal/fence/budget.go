package fence

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Budget is how many bytes of text an answer to a model may have, as Sent counts them (P12). What the protocol puts
// around the text fits between it and 20 KiB.
const Budget = 20_000

// MaxError is how many bytes of an error a model is told: errors quote what somebody has typed.
const MaxError = 2000

// Sent returns how many bytes s takes, at most, as a JSON string in a message of MCP. The SDK writes characters of
// HTML as escapes, so that a bracket takes six.
func Sent(s string) int {
	n := len(s)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == '\u2028' || r == '\u2029' || r == utf8.RuneError {
				n += 6 - size
			}
			i += size
			continue
		}
		i++
		switch {
		case c > '>' && c != '\\': // most of what is written
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r', c == '\b', c == '\f':
			n++
		case c < ' ', c == '<', c == '>', c == '&':
			n += 5
		}
	}
	return n
}

// Fit returns the longest beginning of a list of n things that the budget allows and how many things it shows. text
// renders the first k; it is asked for eight things, and for more in steps that double, so that a long list is never
// rendered whole. If not even text(0) is within the budget, that is what is returned: whoever calls has to keep it
// short.
func Fit(n int, text func(k int) string) (string, int) {
	var best string
	k := longest(n, Budget, func(k int) int {
		s := text(k)
		size := Sent(s)
		if size <= Budget {
			best = s
		}
		return size
	})
	if k == 0 {
		best = text(0)
	}
	return best, k
}

// longest returns the largest k, of n, whose size is within the budget. It asks as Fit says, for ever larger k as long
// as they fit.
func longest(n, budget int, size func(k int) int) int {
	fits, step, over := 0, 8, n+1
	try := func(k int) {
		if size(k) <= budget {
			fits = k
		} else {
			over = k
		}
	}
	for ; fits < n && over > n; step *= 2 {
		try(min(fits+step, n))
	}
	for ; step > 0 && fits+1 < over; step /= 2 {
		if fits+step < over {
			try(fits + step)
		}
	}
	return fits
}

// FitJSON is Fit for answers in JSON: answer returns the one that shows the first k things.
func FitJSON[T any](n int, answer func(k int) T) (best T, k int, err error) {
	_, k = Fit(n, func(k int) string {
		text, e := JSON(answer(k))
		err = errors.Join(err, e)
		return text
	})
	return answer(k), k, err
}

// JSON encodes v for a model whose protocol defines an answer in JSON and has no place for a fence. Brackets,
// ampersands, what looks like them and what is not seen stand as escapes: the text parses to the same value and can
// form no tag.
func JSON(v any) (string, error) {
	text, err := jsonx.Marshal(v)
	return EscapeJSON(string(text)), err
}

// EscapeJSON is JSON for text that is JSON already, and what is between two such.
func EscapeJSON(text string) string {
	from := strings.IndexFunc(text, func(r rune) bool { return obeyable(r) || r == utf8.RuneError })
	if from < 0 {
		return text
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteString(text[:from])
	escape := func(r rune) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[r>>shift&15])
		}
	}
	for _, r := range text[from:] {
		switch {
		case !obeyable(r):
			b.WriteRune(r)
		case r > 0xffff: // as JSON writes what has no place in four digits
			r -= 0x10000
			escape(0xd800 + r>>10)
			escape(0xdc00 + r&0x3ff)
		default:
			escape(r)
		}
	}
	return b.String()
}

// obeyable reports characters that make a tag, or hide one. They stand in strings only: nothing else of JSON is made
// of them.
func obeyable(r rune) bool {
	if r < 0x7f {
		return r == '<' || r == '>' || r == '&' // line ends and tabs stand between values
	}
	switch like := lookalike(r); {
	case r == '＞', r == '﹥', like == '<', like == '>', opens(r), mail.Ignorable(r):
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector)
}
