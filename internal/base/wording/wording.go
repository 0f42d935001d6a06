// Package wording has the small changes of text that every face of the program makes: a count, a span of time, a text
// that is too long, a word for a shell. It knows nothing of mail and nothing of terminals.
package wording

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Plural returns "1 word" or "n words".
func Plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// Old is the age from which a date says more than a number of days.
const Old = 30 * 24 * time.Hour

// Span says how long d is in the largest unit of which it has one: "5 min", "3 h", "2 days". Less than a minute is
// "now".
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return Plural(int(d/(24*time.Hour)), "day")
}

// Brief says a span in the fewest letters: "5m", "3h", "2d".
func Brief(span string) string {
	return strings.NewReplacer(" min", "m", " h", "h", " days", "d", " day", "d").Replace(span)
}

const ellipsis = "…"

// Clip cuts s where a character begins, so that it has at most n bytes, and says by an ellipsis that it did.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Beginning(s, n-len(ellipsis)) + ellipsis
}

// Beginning returns at most n bytes of s, cut between characters.
func Beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// ClipRunes cuts s to at most n characters, the last of which is an ellipsis then.
func ClipRunes(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " ") + ellipsis
}

// OneLine puts another character in place of each that would break a line or that a terminal obeys.
func OneLine(s string, other rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return other
		}
		return r
	}, s)
}

// Shell writes s so that a POSIX shell takes it for one word and nothing else.
func Shell(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.:@%+=,-"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Join puts the spellings of several things into one text, with sep between them.
func Join[T any](list []T, sep string, spell func(T) string) string {
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = spell(one)
	}
	return strings.Join(words, sep)
}
