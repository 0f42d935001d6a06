package fence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// Text makes text harmless for a model, in a fence or outside one: names, errors, texts of doors and monitors. Control
// and bidirectional characters become visible, and the bracket of each tag that reads as ours or a client's is
// replaced: (system-reminder>. All other text stays, byte for byte; Text(Text(s)) is Text(s). Text assembled from
// several foreign texts must pass as a whole, since a tag may begin in one and end in the next.
func Text(s string) string { return neutral(Visible(s, true)) }

// attr makes s fit between the quotes of one of our attributes.
func attr(s string) string { return Quoted(neutral(Visible(s, false))) }

// Quoted returns s with quotes and brackets replaced, even if spelled as references or in full width. It cannot end
// the attribute that quotes it, nor the attribute's tag.
func Quoted(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune(`"<>&`, r) }) {
		return s
	}
	return replace(s, read(s), func(letters []letter, i int) string {
		if r, _ := utf8.DecodeRuneInString(s[letters[i].from:]); lookalike(r) != 0 {
			return "" // it ends nothing
		}
		switch letters[i].r {
		case '"':
			return "'"
		case '<':
			return "‹"
		case '>':
			return "›"
		}
		return ""
	})
}

// Without returns s with every tag of one name disabled, and all other text unchanged. name is in lower case, with
// hyphens.
func Without(name, s string) string {
	return brackets(s, func(_ string, letters []letter, i int) bool {
		_, _, j := introAt(letters, i+1)
		found, end := nameAt(letters, j)
		return reads(found, name) && (end == len(letters) || !continues(letters[end].r))
	})
}

// neutral replaces the bracket of each tag in s that some client obeys.
func neutral(s string) string { return brackets(s, tagAt) }

// brackets replaces the brackets, however spelled, for which is returns true.
func brackets(s string, is func(s string, letters []letter, i int) bool) string {
	start := strings.IndexFunc(s, opens)
	if start < 0 {
		return s
	}
	start = strings.LastIndexByte(s[:start], '\n') + 1 // the text before a bracket makes a difference
	return s[:start] + replace(s[start:], read(s[start:]), func(letters []letter, i int) string {
		if letters[i].r == '<' && is(s[start:], letters, i) {
			return "("
		}
		return ""
	})
}

// replace returns s with those letters replaced for which by returns text.
func replace(s string, letters []letter, by func([]letter, int) string) string {
	var b strings.Builder
	done := 0
	for i, l := range letters {
		if l.from < done {
			continue // one character that became several letters
		}
		if text := by(letters, i); text != "" {
			b.WriteString(s[done:l.from])
			b.WriteString(text)
			done = l.to
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// tagAt reports whether the bracket letters[i] of s opens or closes a tag that some client obeys.
func tagAt(s string, letters []letter, i int) bool {
	at := func(j int) rune {
		if j < len(letters) {
			return letters[j].r
		}
		return '>' // the end of the text also ends a name: more text may follow
	}
	j := i + 1
	if at(j) == '|' { // <|im_start|>
		return tokenAt(letters, j+1)
	}
	spaced, closes, j := introAt(letters, j)
	spaced = spaced || i > 0 && at(i-1) == '<' // 1<<user is a shift
	name, j := nameAt(letters, j)
	if name == "" || continues(at(j)) && !isFamily(name) {
		return false
	}
	if isCompound(name) || compoundAt(letters, name, j) {
		return true
	}
	if !isOrdinary(name) || !strings.ContainsRune(` />\`, at(j)) {
		return false // <mail:body>, <system.web>, <user@host>, <Channel<int>>
	}
	switch {
	case closes:
		return true
	case spaced, at(j) == '/', at(j) == '\\': // a < user is a comparison, < user> is not; <sys/types.h> is a file
		return ends(letters, j) || attributeAt(letters, j)
	}
	return !isTypeParameter(s[:letters[i].from], s[letters[i].from:])
}

// introAt returns the end of the spaces and slashes between a bracket and a name, and which of them occur.
func introAt(letters []letter, j int) (spaced, closes bool, end int) {
	for ; j < len(letters) && strings.ContainsRune(` /\`, letters[j].r); j++ {
		spaced = spaced || letters[j].r == ' '
		closes = closes || letters[j].r != ' '
	}
	return spaced, closes, j
}

// tokenAt reports whether the name of a model's token begins at letters[j].
func tokenAt(letters []letter, j int) bool {
	return j < len(letters) && (unicode.IsLetter(letters[j].r) || letters[j].r == '_')
}

// compoundAt reports whether a name that ends at letters[j] and the next name form one that only clients use, as in
// <permissions instructions>.
func compoundAt(letters []letter, name string, j int) bool {
	if j >= len(letters) || letters[j].r != ' ' {
		return false
	}
	next, end := nameAt(letters, j+1)
	return next != "" && (end >= len(letters) || !continues(letters[end].r)) && isCompound(name+"-"+next)
}

// nameAt returns the name that begins at letters[j], with hyphens for underscores, and its end. The name is "" if none
// begins there. A look-alike that could be i or l becomes I.
func nameAt(letters []letter, j int) (string, int) {
	var name []byte
	for ; j < len(letters) && len(name) <= longestName; j++ {
		switch r := letters[j].r; {
		case letters[j].like && (r == 'i' || r == 'l'):
			name = append(name, 'I')
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '0', r == '1',
			len(name) > 0 && (r >= '2' && r <= '9' || r == '-' || r == '|'):
			name = append(name, byte(r))
		case r == '_' && len(name) > 0:
			name = append(name, '-')
		default:
			return string(name), j
		}
	}
	return string(name), j
}

// continues reports whether a name continues with r.
func continues(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// ends reports whether a bracket follows a name, with only spaces and slashes between.
func ends(letters []letter, j int) bool {
	_, _, j = introAt(letters, j)
	return j < len(letters) && letters[j].r == '>'
}

// attributeAt reports whether an attribute follows a name.
func attributeAt(letters []letter, j int) bool {
	for j < len(letters) && (letters[j].r == ' ' || letters[j].r == '/') {
		j++
	}
	name, j := nameAt(letters, j)
	for j < len(letters) && letters[j].r == ' ' {
		j++
	}
	return name != "" && j < len(letters) && letters[j].r == '=' && (j+1 == len(letters) || letters[j+1].r != '=')
}

// isTypeParameter reports whether a bracket belongs to a type such as List<User>, Vec::<User> or State<User | null>:
// right after a name, and before one in PascalCase. No client spells a tag that way.
func isTypeParameter(before, tag string) bool {
	behind := before != "" && identifier(before[len(before)-1]) || strings.HasSuffix(before, "::")
	if !behind || len(tag) < 2 || tag[0] != '<' || tag[1] < 'A' || tag[1] > 'Z' {
		return false
	}
	rest := strings.TrimLeft(tag[2:], "abcdefghijklmnopqrstuvwxyz")
	return strings.HasPrefix(rest, ">") || strings.HasPrefix(rest, " |") || strings.HasPrefix(rest, " &")
}

func identifier(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Visible replaces characters that a reader does not see and a machine may obey: controls, except tabs and line ends
// where lines are allowed; marks that change the direction of text; invisible letters.
func Visible(s string, lines bool) string {
	if visible(s, lines) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError:
			return '\uFFFD'
		case hidden(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// visible reports whether a text is visible ASCII, with tabs and line ends where lines are allowed.
func visible(s string, lines bool) bool {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] >= 0x7f) && !(lines && (s[i] == '\n' || s[i] == '\t')) {
			return false
		}
	}
	return true
}

// hidden reports whether r takes no space on the page. It excepts characters that scripts and emoji need: joiners,
// variation selectors, the grapheme joiner, the vowels of Khmer and the selectors of Mongolian.
func hidden(r rune) bool {
	switch {
	case r == '\u200c', r == '\u200d', r == '\u034f', r >= '\ufe00' && r <= '\ufe0f', r == '\u17b4', r == '\u17b5',
		r >= '\u180b' && r <= '\u180f' && r != '\u180e':
		return false
	case r == '\u2028', r == '\u2029':
		return true
	}
	return mail.Ignorable(r)
}
