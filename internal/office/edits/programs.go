package edits

import (
	"path"
	"strings"
)

// programs are programs that write the files that they name, with their options that take values in getopt's form.
var programs = map[string]struct {
	short, long string
	writes      func(r *reader, o *options)
}{
	"rm":       {"", "", removed},
	"unlink":   {"", "", removed},
	"shred":    {"n:s:", " iterations size ", operands},
	"truncate": {"s:r:", " size reference ", operands},
	"tee":      {"", "", operands},

	"cp":      {"S:t:", " suffix target-directory ", copied},
	"install": {"g:m:o:S:t:", " group mode owner suffix target-directory ", installed},
	"ln":      {"S:t:", " suffix target-directory ", linked},
	"mv":      {"S:t:", " suffix target-directory ", moved},

	"sed":  {"i::e:f:l:", " expression file line-length ", sed},
	"gsed": {"i::e:f:l:", " expression file line-length ", sed},
	"perl": {"i::e:E:F::I:M::m::C::D::x::", "", script},
	"ruby": {"i::e:F::I:r:x::C:E:K::", "", script},

	"gofmt":        {"r:", "", formatted("w")},
	"goimports":    {"", "", formatted("w")},
	"prettier":     {"", " config parser ", formatted("w", "write")},
	"clang-format": {"", "", formatted("i")},

	"dd":    {"", "", dd},
	"curl":  {"o:X:H:d:u:A:b:c:e:F:m:w:x:T:K:", " output request header data user ", valued("o", "output")},
	"wget":  {"O:o:P:", " output-document ", valued("O", "output-document")},
	"sort":  {"o:k:t:S:T:", " output key field-separator ", valued("o", "output")},
	"patch": {"p:i:d:o:r:F:B:D:V:Y:z:g:", " strip input directory output ", patched},
}

func operands(r *reader, o *options) {
	for _, w := range o.operands {
		r.write(w.text) // "" for an unknown word
	}
}

func removed(r *reader, o *options) {
	for _, w := range o.operands {
		r.rename(w.text)
	}
}

// copied is a program that copies its operands to or into the last one.
func copied(r *reader, o *options) { placed(r, o, r.write) }

// placed passes to write the targets of a program's operands: the last operand, or files in it.
func placed(r *reader, o *options, write func(string)) {
	into := o.value("t", "target-directory")
	sources := o.operands
	if !o.has("t", "target-directory") {
		if len(sources) < 2 {
			return
		}
		last := sources[len(sources)-1]
		sources = sources[:len(sources)-1]
		whole := len(sources) > 1 || strings.HasSuffix(last.text, "/") || r.isDir(last.text)
		if !whole || o.has("T", "no-target-directory") {
			write(last.text)
			return
		}
		into = last.text
	}
	if into == "" {
		return
	}
	for _, w := range sources {
		switch base := path.Base(w.text); {
		case !w.known:
		case base == "." || base == ".." || base == "/" || strings.HasSuffix(w.text, "/."):
			write(into) // the content of the source goes there
		default:
			write(strings.TrimSuffix(into, "/") + "/" + base)
		}
	}
}

func moved(r *reader, o *options) {
	sources := o.operands
	if n := len(sources); n > 1 && !o.has("t", "target-directory") {
		sources = sources[:n-1]
	}
	for _, w := range sources {
		r.rename(w.text)
	}
	placed(r, o, r.rename)
}

func installed(r *reader, o *options) {
	if !o.has("d", "directory") {
		copied(r, o)
	}
}

// linked is like copied, except for a single operand, whose name the link gets in the working directory, and for -n,
// which replaces a link.
func linked(r *reader, o *options) {
	if o.has("n", "no-dereference") {
		o.given["T"] = word{}
	}
	if len(o.operands) == 1 && o.operands[0].known {
		r.rename(path.Base(o.operands[0].text))
		return
	}
	placed(r, o, r.rename)
}

// sed writes with -i. On BSD the backup suffix is a word of its own: empty, or beginning with a dot, as no script
// does.
func sed(r *reader, o *options) {
	if !o.has("i", "in-place") {
		return
	}
	files := o.operands
	scripted := o.has("e", "expression", "f", "file")
	if len(files) > 0 && files[0].known &&
		(files[0].text == "" || !scripted && len(files) > 2 && files[0].text[0] == '.') {
		files = files[1:]
	}
	if len(files) > 0 && !scripted {
		files = files[1:]
	}
	operands(r, &options{operands: files})
}

// script is perl or ruby, which write with -i. Without -e, the first operand is the program.
func script(r *reader, o *options) {
	files := o.operands
	if !o.has("i") || len(files) == 0 {
		return
	}
	if !o.has("e", "E") {
		files = files[1:]
	}
	operands(r, &options{operands: files})
}

// formatted is a formatter that rewrites its input files with one of the given options. Which files in a directory
// it changes is unknown.
func formatted(names ...string) func(r *reader, o *options) {
	return func(r *reader, o *options) {
		if !o.has(names...) {
			return
		}
		for _, w := range o.operands {
			if info := r.look(w.text); info != nil && info.Mode().IsRegular() {
				r.write(w.text)
			}
		}
	}
}

func dd(r *reader, o *options) {
	for _, w := range o.operands {
		if file, ok := strings.CutPrefix(w.text, "of="); ok {
			r.write(file)
		}
	}
}

// valued is a program with an option for its output file.
func valued(names ...string) func(r *reader, o *options) {
	return func(r *reader, o *options) {
		if file := o.value(names...); file != "-" {
			r.write(file)
		}
	}
}

// patched is patch: it writes its first operand, or else the files named in the patch, which may be any in the
// directory.
func patched(r *reader, o *options) {
	dir := "."
	if o.has("d", "directory") {
		dir = o.value("d", "directory")
	}
	switch {
	case dir == "" || o.has("dry-run"):
	case o.has("o", "output"):
		r.write(o.value("o", "output"))
	case len(o.operands) == 0:
		r.write(dir)
	case dir == ".":
		r.write(o.operands[0].text)
	case o.operands[0].known:
		r.write(dir + "/" + o.operands[0].text)
	}
}
