package words

import (
	"strings"
	"unicode"
)

const (
	faceLetters = 2
	faceDigits  = 4 // the last digits of a longer number: those differ
)

// Initials are up to faceLetters initials of the words in a name and its number, or the first two letters of a single
// word.
func Initials(name any) string {
	words, number := parts(Who(name))
	var out []rune
	for _, word := range words[:min(len(words), faceLetters)] {
		out = append(out, []rune(strings.ToUpper(word))[0])
	}
	if len(words) == 1 && number == "" && unicode.Is(unicode.Latin, out[0]) {
		letters := []rune(strings.ToUpper(words[0]))
		out = letters[:min(len(letters), faceLetters)]
	}
	return string(out) + number[max(0, len(number)-faceDigits):]
}

// parts splits a name into words and the last number at the end of one; other numbers are dropped.
func parts(name string) (words []string, number string) {
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_. :/", r) }) {
		word := strings.TrimRightFunc(piece, digit)
		if word != "" {
			words = append(words, word)
		}
		if word != piece {
			number = piece[len(word):]
		}
	}
	return words, number
}

func digit(r rune) bool { return r <= unicode.MaxASCII && unicode.IsDigit(r) }
