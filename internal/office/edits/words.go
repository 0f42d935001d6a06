package edits

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command after expansion.
type word struct {
	text  string
	known bool
}

// expand returns the expansion of a word, if its text determines it.
func (r *reader) expand(w *syntax.Word) word {
	var b strings.Builder
	for i, part := range w.Parts {
		if !r.expandPart(&b, part, i == 0, i == len(w.Parts)-1) {
			return word{}
		}
		if p, ok := part.(*syntax.ParamExp); ok && strings.ContainsAny(r.variable(p), " \t\n*?[\\") {
			return word{} // it becomes several words or a pattern
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
		return false // or another user's home
	}
	b.WriteString(r.home)
	return unescape(b, rest, "")
}

// variable returns the value of a variable, or "" if it is unknown.
func (r *reader) variable(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	name := p.Param.Value
	if size := int(p.End().Offset()) - int(p.Pos().Offset()); size != len("$"+name) && size != len("${"+name+"}") {
		return "" // the braces contain more than the name
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

// unescape writes text without escaping backslashes. If only is not empty, as in quotes, they escape just those
// characters; else an unescaped pattern makes the text unknown.
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

// options are a program's parsed arguments.
type options struct {
	given    map[string]word // values by letter or long name
	operands []word
	dashes   int // number of operands before --; -1: no --
}

func (o *options) has(names ...string) bool {
	for _, name := range names {
		if _, ok := o.given[name]; ok {
			return true
		}
	}
	return false
}

// value returns the first of the options with a known value.
func (o *options) value(names ...string) string {
	for _, name := range names {
		if w := o.given[name]; w.known && w.text != "" {
			return w.text
		}
	}
	return ""
}

// getopt parses arguments as getopt_long does. short has the letters that take a value, each followed by a colon, or
// by two if the value, if any, is in the same word; long has the long names whose value is the next word, each
// between spaces. With a plus before short, the first operand ends the options.
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

// letters parses the option letters of one word. It reports whether the last one takes the next word.
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
