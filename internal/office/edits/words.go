package edits

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command after the shell has expanded it.
type word struct {
	text  string
	known bool
}

// expand returns what a word will be, if that follows from its text.
func (r *reader) expand(w *syntax.Word) word {
	var b strings.Builder
	for i, part := range w.Parts {
		if !r.expandPart(&b, part, i == 0, i == len(w.Parts)-1) {
			return word{}
		}
		if p, ok := part.(*syntax.ParamExp); ok && strings.ContainsAny(r.variable(p), " \t\n*?[\\") {
			return word{} // it becomes several words, or a pattern
		}
	}
	return word{b.String(), true}
}

func (r *reader) expandPart(b *strings.Builder, part syntax.WordPart, first, last bool) (known bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return r.expandLit(b, p.Value, first, last)
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
		return !p.Dollar || !strings.Contains(p.Value, `\`)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				unescape(b, lit.Value, "$`\"\\\n")
			} else if !r.expandPart(b, inner, false, false) {
				return false
			}
		}
		return !p.Dollar
	case *syntax.ParamExp:
		value := r.variable(p)
		b.WriteString(value)
		return value != ""
	}
	return false
}

func (r *reader) expandLit(b *strings.Builder, text string, first, last bool) (known bool) {
	rest, tilde := strings.CutPrefix(text, "~")
	if !first || !tilde {
		return unescape(b, text, "")
	}
	if r.home == "" || rest != "" && rest[0] != '/' || rest == "" && !last {
		return false // or another's home
	}
	b.WriteString(r.home)
	return unescape(b, rest, "")
}

// variable returns the value of a variable, "" if it is not known.
func (r *reader) variable(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	name := p.Param.Value
	if size := int(p.End().Offset()) - int(p.Pos().Offset()); size != len("$"+name) && size != len("${"+name+"}") {
		return "" // there is more in the brackets
	}
	if value, known := r.vars[name]; known {
		return value
	}
	switch {
	case name == "HOME":
		return r.home
	case name == "PWD" && r.at == where{}:
		return r.dir
	case name == "PWD" && !r.at.lost && isAbs(r.at.dir):
		return r.at.dir
	}
	return ""
}

// unescape writes text without the backslashes that take a character's meaning. Between quotes they do so before some
// characters only; outside of them, a pattern that is not taken so makes the text unknown.
func unescape(b *strings.Builder, text, only string) (known bool) {
	known = true
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && (only == "" || strings.IndexByte(only, text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
			continue
		case only == "" && (c == '*' || c == '?' || c == '['):
			known = false
		case only == "" && c == '{' && strings.ContainsAny(text[i:], ",."):
			known = false
		}
		b.WriteByte(c)
	}
	return known
}

// options is how a program reads its words.
type options struct {
	given    map[string]word // by letter or long name, with the value
	operands []word
	dashes   int // how many operands were before --; -1: there was none
}

func (o *options) has(names ...string) bool {
	for _, name := range names {
		if _, ok := o.given[name]; ok {
			return true
		}
	}
	return false
}

// value returns the value of the first of the options that has one that is known.
func (o *options) value(names ...string) string {
	for _, name := range names {
		if w := o.given[name]; w.known && w.text != "" {
			return w.text
		}
	}
	return ""
}

// getopt reads words as getopt_long does. short has the letters that take a value, each followed by a colon, or by two
// if the value is in the same word or there is none; long the long names whose value is the next word, each between
// spaces. With a plus before short, the first operand ends the options.
func getopt(args []word, short, long string) options {
	o := options{given: make(map[string]word), dashes: -1}
	short, stops := strings.CutPrefix(short, "+")
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.known && w.text == "--":
			o.dashes = len(o.operands)
			o.operands = append(o.operands, args[i+1:]...)
			return o
		case !w.known || len(w.text) < 2 || w.text[0] != '-':
			o.operands = append(o.operands, w)
			if stops {
				o.operands = append(o.operands, args[i+1:]...)
				return o
			}
		case w.text[1] == '-':
			name, value, with := strings.Cut(w.text[2:], "=")
			o.given[name] = word{value, true}
			if !with && strings.Contains(long, " "+name+" ") && i+1 < len(args) {
				i++
				o.given[name] = args[i]
			}
		default:
			if o.letters(w.text[1:], short) && i+1 < len(args) {
				i++
				o.given[w.text[len(w.text)-1:]] = args[i]
			}
		}
	}
	return o
}

// letters reads the letters of one word. It reports whether the last one takes the next word.
func (o *options) letters(text, short string) (next bool) {
	for i := range len(text) {
		letter := text[i : i+1]
		_, spec, takes := strings.Cut(short, letter+":")
		if takes && (i+1 < len(text) || strings.HasPrefix(spec, ":")) {
			o.given[letter] = word{text[i+1:], true}
			return false
		}
		o.given[letter] = word{}
		if takes {
			return true
		}
	}
	return false
}
