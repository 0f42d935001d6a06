package words

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode"

	"pennypost/internal/mail"
)

const (
	colors = 12         // that the stylesheet has for agents
	looks  = 2 * colors // each in two ways: letters on a tint, and on the colour itself
)

// Color is the class of the look of an agent, the same on every page and at every time; the user has none. What the
// name is but for its number chooses where to begin, and each number is five colours on: of 24 agents that are counted
// in a row no two are alike, and those beside each other differ much.
func Color(name any) string {
	if Who(name) == string(mail.User) {
		return "me"
	}
	words, number := parts(Who(name))
	sum := sha256.Sum256([]byte(strings.Join(words, "-")))
	n := 0
	for _, digit := range number {
		n = (n*10 + int(digit-'0')) % looks
	}
	first := int(binary.BigEndian.Uint32(sum[:]) % looks)
	class := "c" + strconv.Itoa((first+5*n)%colors)
	if (first/colors+n/colors)%2 == 1 {
		class += " solid"
	}
	return class
}

const (
	faceLetters = 2
	faceDigits  = 4 // of a longer number the last: those are the ones that differ
)

// Initials are what stands in an agent's picture: the first letters of its name's words, and its number in full.
func Initials(name any) string {
	words, number := parts(Who(name))
	var out []rune
	for _, word := range words[:min(len(words), faceLetters)] {
		out = append(out, []rune(strings.ToUpper(word))[0])
	}
	return string(out) + number[max(0, len(number)-faceDigits):]
}

// parts cuts a name into its words and the last of its numbers; its other numbers are left out.
func parts(name string) (words []string, number string) {
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_. :/", r) }) {
		for piece != "" {
			n := strings.IndexFunc(piece, func(r rune) bool { return digit(r) != digit(rune(piece[0])) })
			if n < 0 {
				n = len(piece)
			}
			if digit(rune(piece[0])) {
				number = piece[:n]
			} else {
				words = append(words, piece[:n])
			}
			piece = piece[n:]
		}
	}
	return words, number
}

func digit(r rune) bool { return r <= unicode.MaxASCII && unicode.IsDigit(r) }
