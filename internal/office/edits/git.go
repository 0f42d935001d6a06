package edits

// git records a git command's writes in the working tree.
func (r *reader) git(args []word) {
	o := getopt(args, "+C:c:", " git-dir work-tree namespace exec-path config-env ")
	if len(o.operands) == 0 || !o.operands[0].known || o.has("git-dir", "work-tree", "help", "h") {
		return
	}
	verb, ok := gitVerbs[o.operands[0].text]
	if !ok {
		return
	}
	before := r.at
	defer func() { r.at = before }()
	if o.has("C") {
		r.cd([]word{o.given["C"]})
	}
	rest := getopt(o.operands[1:], verb.short, verb.long)
	if !rest.has("help", "h") {
		verb.writes(r, &rest)
	}
}

// gitVerbs are the git verbs that write in the working tree, with their options that take values.
var gitVerbs = map[string]struct {
	short, long string
	writes      func(r *reader, o *options)
}{
	"checkout":    {"b:B:", " orphan conflict pathspec-from-file ", checkout},
	"switch":      {"c:C:", " create force-create orphan conflict ", switched},
	"restore":     {"s:", " source conflict pathspec-from-file ", restored},
	"rm":          {"", " pathspec-from-file ", unless(removed, "cached", "n", "dry-run")},
	"mv":          {"", "", unless(moved, "n", "dry-run")},
	"clean":       {"e:", " exclude ", unless(cleaned, "n", "dry-run")},
	"reset":       {"", " pathspec-from-file ", only("hard", "merge", "keep")},
	"stash":       {"m:", " message pathspec-from-file ", stashed},
	"merge":       {"m:s:X:F:", " message strategy ", unless(everything, "quit")},
	"rebase":      {"s:X:x:C:", " onto strategy exec ", unless(everything, "quit", "show-current-patch", "edit-todo")},
	"pull":        {"s:X:", " strategy ", unless(everything, "dry-run")},
	"am":          {"p:C:", " directory exclude include ", unless(everything, "quit", "show-current-patch")},
	"cherry-pick": {"m:s:X:", " mainline strategy ", unless(everything, "quit")},
	"revert":      {"m:s:X:", " mainline strategy ", unless(everything, "quit")},
	"apply": {"p:C:", " directory exclude include ",
		unless(everything, "check", "stat", "numstat", "summary", "cached")},
	"bisect": {"", "", bisected},
}

// everything records the whole working tree; git finds its top by itself.
func everything(r *reader, _ *options) { r.writeAll(".") }

func unless(writes func(*reader, *options), names ...string) func(*reader, *options) {
	return func(r *reader, o *options) {
		if !o.has(names...) {
			writes(r, o)
		}
	}
}

func only(names ...string) func(*reader, *options) {
	return func(r *reader, o *options) {
		if o.has(names...) {
			everything(r, o)
		}
	}
}

// checkout restores files or switches to another commit. A single operand is a file if one of that name exists: git
// rejects a branch of the same name as ambiguous.
func checkout(r *reader, o *options) {
	paths := o.operands
	switch {
	case o.has("pathspec-from-file", "p", "patch", "orphan"):
		everything(r, o)
		return
	case o.has("b", "B"):
		if len(paths) > 0 || o.has("f", "force") {
			everything(r, o) // the branch starts at another commit
		}
		return
	case len(paths) == 0:
		if o.has("f", "force", "t", "track") {
			everything(r, o)
		}
		return
	}
	switch {
	case o.dashes >= 0 && o.dashes < len(paths):
		paths = paths[o.dashes:]
	case !paths[0].known || r.look(paths[0].text) != nil:
	case len(paths) > 1:
		paths = paths[1:]
	case paths[0].text != "HEAD" || o.has("f", "force"):
		everything(r, o)
		return
	default:
		return
	}
	operands(r, &options{operands: paths})
}

func switched(r *reader, o *options) {
	if len(o.operands) > 0 || !o.has("c", "C", "create", "force-create") || o.has("discard-changes", "f", "force") {
		everything(r, o)
	}
}

func restored(r *reader, o *options) {
	switch {
	case o.has("S", "staged") && !o.has("W", "worktree"):
	case o.has("pathspec-from-file", "p", "patch"):
		everything(r, o)
	default:
		operands(r, o)
	}
}

// cleaned requires -f or -i, as git clean does.
func cleaned(r *reader, o *options) {
	switch {
	case !o.has("f", "force", "i", "interactive"):
	case len(o.operands) == 0:
		r.write(".")
	default:
		operands(r, o)
	}
}

func stashed(r *reader, o *options) {
	verb, paths := "push", o.operands
	if len(paths) > 0 && o.dashes != 0 {
		verb, paths = paths[0].text, paths[1:]
	}
	switch verb {
	case "list", "show", "drop", "clear", "create", "store", "export", "import":
	case "push":
		if len(paths) > 0 {
			operands(r, &options{operands: paths})
			return
		}
		everything(r, o)
	default:
		everything(r, o)
	}
}

func bisected(r *reader, o *options) {
	if len(o.operands) == 0 {
		return
	}
	switch o.operands[0].text {
	case "log", "visualize", "view", "terms", "help":
	default:
		everything(r, o)
	}
}
