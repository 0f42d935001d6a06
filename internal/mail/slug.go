package mail

import (
	"strings"
	"unicode"
)

const (
	// maxSlug is the longest name, in bytes, that an error quotes in full; half of it if the name has spaces.
	maxSlug = 64
	// maxSlugWords is the number of words of a name that an error quotes: three make no instruction.
	maxSlugWords = 3
)

// Slug returns a name, address or id that someone else may have chosen, in a form safe for errors: letters, digits
// and the marks that names use, at most three words, and an ellipsis for the rest. Models read errors outside of
// any fence, so no error may contain another agent's prose. Usual names are unchanged.
func Slug(s string) string {
	most := maxSlug
	words := strings.FieldsFunc(s, blank)
	if len(words) > 1 {
		most /= 2
	}
	cut := len(words) > maxSlugWords
	out := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.So, unicode.Sk) && !Ignorable(r) ||
			strings.ContainsRune("-_.:@#/+'~ \u200d\u200c", r) {
			return r
		}
		cut = true
		return -1
	}, strings.Join(words[:min(len(words), maxSlugWords)], " "))
	if len(out) > most {
		cut, out = true, strings.ToValidUTF8(out[:most], "")
	}
	if cut {
		out += "…"
	}
	return out
}

// blank reports whether r reads as a space between two words.
func blank(r rune) bool {
	return unicode.IsSpace(r) || r == '\u2800' || r == '\u3164' || r == '\u115f' || r == '\u1160'
}

// slugged replaces the names among an error's arguments by slugs.
func slugged(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case Name:
			args[i] = Name(Slug(string(v)))
		case Address:
			args[i] = Address(Slug(string(v)))
		case ID:
			args[i] = ID(Slug(string(v)))
		case Machine:
			args[i] = Machine(Slug(string(v)))
		case []Name:
			names := make([]Name, len(v))
			for j, n := range v {
				names[j] = Name(Slug(string(n)))
			}
			args[i] = names
		case []Address:
			to := make([]Address, len(v))
			for j, a := range v {
				to[j] = Address(Slug(string(a)))
			}
			args[i] = to
		}
	}
	return args
}
