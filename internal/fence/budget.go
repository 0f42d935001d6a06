package fence

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Budget is how many bytes of text an answer to a model may have, as Sent counts them (P12). The protocol's own text
// fits between it and 20 KiB.
const Budget = 20_000

// MaxError is how many bytes of an error a model is shown: errors quote input.
const MaxError = 2000

// Sent returns how many bytes s takes, at most, as a JSON string in an MCP message. The SDK escapes HTML characters,
// so that a bracket takes six bytes.
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
		case c > '>' && c != '\\': // most characters
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r', c == '\b', c == '\f':
			n++
		case c < ' ', c == '<', c == '>', c == '&':
			n += 5
		}
	}
	return n
}

// Fit returns the longest beginning of a list of n items that fits the budget, and the number of items in it. text
// renders the first k. Fit starts with eight items and doubles the step, so that a long list is never rendered whole.
// If not even text(0) fits, Fit returns it anyway: the caller must keep it short.
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

// longest returns the largest k, up to n, whose size is within the budget. It calls size as Fit describes, for larger
// k while they fit.
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

// FitJSON is Fit for answers in JSON: answer returns the answer with the first k items.
func FitJSON[T any](n int, answer func(k int) T) (best T, k int, err error) {
	_, k = Fit(n, func(k int) string {
		text, e := JSON(answer(k))
		err = errors.Join(err, e)
		return text
	})
	return answer(k), k, err
}

// JSON encodes v for a model whose protocol defines an answer in JSON, without room for a fence. Brackets, ampersands,
// look-alikes and invisible characters are escaped: the text parses to the same value and cannot form a tag.
func JSON(v any) (string, error) {
	text, err := jsonx.Marshal(v)
	return EscapeJSON(string(text)), err
}

// EscapeJSON is JSON for text that is already JSON, including white space between values.
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
		case r > 0xffff: // two escapes, as JSON writes runes of more than four digits
			r -= 0x10000
			escape(0xd800 + r>>10)
			escape(0xdc00 + r&0x3ff)
		default:
			escape(r)
		}
	}
	return b.String()
}

// obeyable reports whether r can make a tag, or hide one. Such characters occur only in strings: JSON itself uses
// none.
func obeyable(r rune) bool {
	if r < 0x7f {
		return r == '<' || r == '>' || r == '&' // line ends and tabs are between values
	}
	switch like := lookalike(r); {
	case r == '＞', r == '﹥', like == '<', like == '>', opens(r), mail.Ignorable(r):
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector)
}
