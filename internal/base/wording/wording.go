// Package wording has the small text changes that every interface of the program needs: a count, a span of time, a
// text that is too long, a word for a shell. It knows nothing of mail and nothing of terminals.
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

// Span returns d in its largest unit of at least one: "5 min", "3 h", "2 days". Less than a minute is "now".
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

// Brief shortens a span: "5m", "3h", "2d".
func Brief(span string) string {
	return strings.NewReplacer(" min", "m", " h", "h", " days", "d", " day", "d").Replace(span)
}

const ellipsis = "…"

// Clip cuts s at the beginning of a character to at most n bytes, including an ellipsis that marks the cut.
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

// ClipRunes cuts s to at most n characters; if it cuts, the last one is an ellipsis.
func ClipRunes(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " ") + ellipsis
}

// OneLine replaces each character that would break a line or that a terminal obeys by other.
func OneLine(s string, other rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return other
		}
		return r
	}, s)
}

// Shell quotes s so that a POSIX shell reads it as one word and nothing else.
func Shell(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.:@%+=,-"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Join joins the spellings of several things, with sep between them.
func Join[T any](list []T, sep string, spell func(T) string) string {
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = spell(one)
	}
	return strings.Join(words, sep)
}
