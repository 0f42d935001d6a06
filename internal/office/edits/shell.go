package edits

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxDepth is how deep shells may be nested in a command.
	maxDepth = 3
	// maxNested is how deep brackets may be nested: the parser's time grows quadratically.
	maxNested = 500
	// maxSteps limits parsing, with loops counted each time: a step is a command, and each stepSize bytes of one.
	maxSteps = 50_000
	stepSize = 32
	// lookSteps is the cost of a file system lookup.
	lookSteps = 20
)

// script records the writes of a shell command.
func (r *reader) script(text string) {
	if len(text) > MaxCommand || r.depth == maxDepth || r.spent(len(text)/stepSize) || nested(text) > maxNested {
		return
	}
	defer func() { _ = recover() }() // a panic in the parser, which is not ours, must not stop us
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return
	}
	r.depth++
	r.stmts(f.Stmts)
	r.depth--
}

// nested returns the maximum depth of brackets in a text, which need not be a command.
func nested(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// spent adds steps and reports whether the limit is exceeded.
func (r *reader) spent(steps int) bool {
	r.steps += steps
	return r.steps > maxSteps
}

func (r *reader) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		before := r.vars
		r.stmt(s)
		if c, ok := s.Cmd.(*syntax.BinaryCmd); ok && c.Op == syntax.AndStmt {
			r.vars = same(before, r.vars) // it may have failed before setting one
		}
	}
}

// apart is stmts in a subshell: its directory and variables do not affect the outer one.
func (r *reader) apart(list ...*syntax.Stmt) {
	at, vars := r.at, r.vars
	r.stmts(list)
	r.at, r.vars = at, vars
}

// branches reads lists that may or may not run. If one changes the directory or a variable, that is unknown
// afterwards.
func (r *reader) branches(lists ...[]*syntax.Stmt) {
	at, vars := r.at, r.vars
	lost, left := at.lost, vars
	for _, list := range lists {
		r.at, r.vars = at, vars
		r.stmts(list)
		lost, left = lost || r.at != at, same(left, r.vars)
	}
	r.at, r.vars = where{at.dir, lost}, left
}

// same returns the variables with the same value in both.
func same(one, two map[string]string) map[string]string {
	both := maps.Clone(one)
	maps.DeleteFunc(both, func(name, value string) bool {
		other, known := two[name]
		return !known || other != value
	})
	return both
}

// set assigns a word to a variable.
func (r *reader) set(name string, w word) {
	vars := maps.Clone(r.vars)
	if vars == nil {
		vars = make(map[string]string)
	}
	delete(vars, name)
	if w.known {
		vars[name] = w.text
	}
	r.vars = vars
}

func (r *reader) assign(list []*syntax.Assign) {
	for _, a := range list {
		switch {
		case a.Name == nil:
		case a.Value == nil || a.Append || a.Index != nil || a.Array != nil:
			r.set(a.Name.Value, word{})
		default:
			r.set(a.Name.Value, r.expand(a.Value))
		}
	}
}

// inside records the writes of commands whose output is part of a word.
func (r *reader) inside(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.apart(n.Stmts...)
			return false
		case *syntax.ProcSubst:
			r.apart(n.Stmts...)
			return false
		case *syntax.ArithmExp: // may set variables
			r.vars = nil
		case *syntax.ParamExp:
			if e := n.Exp; e != nil && (e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull) {
				r.vars = nil
			}
		}
		return true
	})
}

func (r *reader) stmt(s *syntax.Stmt) {
	if s == nil || r.spent(1+int(s.End().Offset()-s.Pos().Offset())/stepSize) {
		return
	}
	stdin := ""
	for _, redirect := range s.Redirs {
		stdin += r.redirect(redirect)
	}
	at, vars := r.at, r.vars
	r.cmd(s.Cmd, stdin)
	if s.Background {
		r.at, r.vars = at, vars
	}
}

// redirect records the file of an output redirection, and returns the text of an input one.
func (r *reader) redirect(d *syntax.Redirect) (stdin string) {
	r.inside(d.Word)
	w := r.expand(d.Word)
	switch d.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		r.write(w.text)
	case syntax.DplOut:
		if strings.Trim(w.text, "0123456789-") != "" {
			r.write(w.text)
		}
	case syntax.WordHdoc:
		return w.text
	case syntax.Hdoc, syntax.DashHdoc:
		if d.Hdoc == nil {
			return ""
		}
		r.inside(d.Hdoc)
		var b strings.Builder
		for _, part := range d.Hdoc.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				b.WriteString(lit.Value)
			} else {
				b.WriteByte(0) // unknown; no path contains it
			}
		}
		r.steps += b.Len() / stepSize
		return b.String()
	}
	return ""
}

func (r *reader) cmd(cmd syntax.Command, stdin string) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.inside(c)
		words := make([]word, len(c.Args))
		for i, w := range c.Args {
			words[i] = r.expand(w)
		}
		if len(words) == 0 {
			r.assign(c.Assigns)
		}
		r.call(words, stdin)
	case *syntax.Subshell:
		r.apart(c.Stmts...)
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.BinaryCmd:
		r.binary(c)
	case *syntax.TimeClause:
		r.stmt(c.Stmt)
	case *syntax.CoprocClause:
		r.apart(c.Stmt)
	case *syntax.FuncDecl:
		if c.Name != nil {
			r.funcs = append(r.funcs, c.Name.Value)
		}
	default:
		r.flow(c)
	}
}

// flow is cmd for control structures.
func (r *reader) flow(cmd syntax.Command) {
	switch c := cmd.(type) {
	case *syntax.IfClause:
		r.inIf(c)
	case *syntax.WhileClause:
		r.branches(slices.Concat(c.Cond, c.Do))
	case *syntax.ForClause:
		r.loop(c)
	case *syntax.CaseClause:
		r.inside(c.Word)
		for _, item := range c.Items {
			r.branches(item.Stmts)
		}
	case *syntax.DeclClause:
		r.inside(c)
		r.assign(c.Args)
	case *syntax.TestClause:
		r.inside(c)
	default: // arithmetic
		r.inside(c)
		r.vars = nil
	}
}

// loop runs once for each known word.
func (r *reader) loop(c *syntax.ForClause) {
	r.inside(c.Loop)
	over, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		r.vars = nil
		r.branches(c.Do)
		return
	}
	items := make([]word, len(over.Items))
	for i, item := range over.Items {
		items[i] = r.expand(item)
	}
	if len(items) == 0 || c.Select || slices.ContainsFunc(items, func(w word) bool { return !w.known }) {
		items = []word{{}}
	}
	before := r.vars
	for _, item := range items {
		if r.spent(1) {
			break
		}
		r.set(over.Name.Value, item)
		r.branches(c.Do)
	}
	r.vars = same(before, r.vars)
}

func (r *reader) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt:
		r.stmt(c.X)
		r.stmt(c.Y)
	case syntax.OrStmt:
		r.stmt(c.X)
		r.branches([]*syntax.Stmt{c.Y})
	default:
		r.apart(c.X)
		r.apart(c.Y)
	}
}

// inIf assumes that the condition holds, for a cd in it. An else may be another if.
func (r *reader) inIf(c *syntax.IfClause) {
	r.stmts(c.Cond)
	if c.Else == nil {
		r.branches(c.Then)
		return
	}
	r.branches(c.Then, []*syntax.Stmt{{Cmd: c.Else}})
}

// wrappers are programs that run the command in their operands, with their options in getopt's form and the number
// of their own operands before it.
var wrappers = map[string]struct {
	short, long string
	own         int
}{
	"env":     {"+u:C:S:", " unset chdir split-string ", 0},
	"sudo":    {"+u:g:h:p:C:D:R:T:U:r:t:", " user group chdir host prompt ", 0},
	"doas":    {"+u:C:", "", 0},
	"nohup":   {"+", "", 0},
	"setsid":  {"+", "", 0},
	"command": {"+", "", 0},
	"builtin": {"+", "", 0},
	"exec":    {"+a:", "", 0},
	"time":    {"+f:o:", " format output ", 0},
	"nice":    {"+n:", " adjustment ", 0},
	"ionice":  {"+c:n:p:", " class classdata ", 0},
	"stdbuf":  {"+i:o:e:", " input output error ", 0},
	"timeout": {"+s:k:", " signal kill-after ", 1},
}

// unwrap removes wrapper programs from words and returns the command; none if it, or its directory, is unknown.
func (r *reader) unwrap(words []word) []word {
	for {
		for len(words) > 0 && words[0].known && isAssignment(words[0].text) { // arguments of env
			words = words[1:]
		}
		if len(words) == 0 || !words[0].known {
			return nil
		}
		if slices.Contains(r.funcs, words[0].text) {
			r.at.lost, r.vars = true, nil // a function's effects are unknown
			return nil
		}
		w, wraps := wrappers[program(words[0].text)]
		if !wraps {
			return words
		}
		o := getopt(words[1:], w.short, w.long)
		if len(o.operands) < w.own || o.has("C", "chdir", "D", "S", "split-string", "v", "V") {
			return nil
		}
		words = o.operands[w.own:]
	}
}

// call records the writes of a program run with words, the first of which is its name.
func (r *reader) call(words []word, stdin string) {
	words = r.unwrap(words)
	if len(words) == 0 {
		return
	}
	name, args := program(words[0].text), words[1:]
	switch name {
	case "cd", "pushd":
		r.cd(args)
	case "popd":
		r.at = where{lost: true}
	case "bash", "sh", "zsh", "dash", "ksh":
		r.shell(args, stdin)
	case "eval":
		r.eval(args)
	case "source", ".", "read", "unset", "printf", "mapfile", "readarray", "getopts":
		r.vars = nil
	case "apply_patch", "applypatch":
		r.patch(stdin)
		if len(args) > 0 {
			r.patch(args[0].text)
		}
	case "git":
		r.git(args)
	default:
		if p, ok := programs[name]; ok {
			o := getopt(args, p.short, p.long)
			p.writes(r, &o)
		}
	}
}

// program returns the name of a program without its directory.
func program(text string) string { return strings.TrimSuffix(path.Base(text), ".exe") }

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && syntax.ValidName(name)
}

func (r *reader) cd(args []word) {
	o := getopt(args, "+", "")
	switch {
	case len(o.operands) == 0 && r.home != "":
		r.at = where{dir: r.home}
	case len(o.operands) != 1 || !o.operands[0].known || o.operands[0].text == "-":
		r.at = where{lost: true}
	default:
		dir, known := r.resolve(o.operands[0].text)
		r.at = where{dir: dir, lost: !known}
	}
}

// shell parses the command of a nested shell: sh -c COMMAND, or its input if it has no other.
func (r *reader) shell(args []word, stdin string) {
	o := getopt(args, "+o:O:", " rcfile init-file ")
	at, vars, funcs := r.at, r.vars, r.funcs
	r.vars, r.funcs = nil, nil // except exported ones
	switch {
	case o.has("c") && len(o.operands) > 0:
		r.script(o.operands[0].text)
	case (len(o.operands) == 0 || o.has("s")) && !strings.ContainsRune(stdin, 0):
		r.script(stdin)
	}
	r.at, r.vars, r.funcs = at, vars, funcs
}

func (r *reader) eval(args []word) {
	var texts []string
	for _, w := range args {
		if !w.known {
			r.at, r.vars = where{lost: true}, nil // its effects are unknown
			return
		}
		texts = append(texts, w.text)
	}
	r.script(strings.Join(texts, " "))
}
