package words

import (
	"strings"
	"unicode"
)

const (
	faceLetters = 2
	faceDigits  = 4 // of a longer number the last: those are the ones that differ
)

// Initials are the check letters of an agent: the first letters of its name's words, and its number in full, or the
// first two letters of the only word that there is.
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

// parts cuts a name into its words and the last of the numbers at their ends; its other numbers are left out.
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
