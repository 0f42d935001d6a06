package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostBranches is the most ways through a function that a reader should keep in mind: 1, plus 1 for each if, for,
// range, case, && and
//
// , including those of inner functions.
const mostBranches = 15

// branchy are the functions with more branches because they are lists, whose entries are read one at a time: each is
// a table or a grammar, and says of what.
var branchy = map[string]string{
	"internal/mail.Delivery.awaits":               "table: a case for each sentence",
	"internal/office/wake/door.cell.set":          "grammar: of the sequences that dress a character",
	"internal/room/fold.State.Apply":              "table: a case for each kind of event",
	"internal/room/mailroom.Options.withDefaults": "table: an if for each field that has a default",
}

// noProduction matches the directories of tests, of packages that only tests import, and of programs that measure, as
// in scripts/statements.
var noProduction = regexp.MustCompile(
	`(^|/)(testdata|bench|scripts|arch|acceptance|proof|realclient|systemtest|\w+test)(/|$)`)

// TestBranches: a function is easy to follow, not only short.
func TestBranches(t *testing.T) {
	listed := maps.Clone(branchy)
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		file := strings.TrimPrefix(filepath.ToSlash(name), "../../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || noProduction.MatchString(file)):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || d.IsDir():
			return nil
		}
		for f, n := range branchesOf(t, name) {
			f = path.Dir(file) + "." + f
			switch {
			case n > mostBranches && listed[f] == "":
				t.Errorf("%s has %d branches, and may have %d: take a part out that has a name", f, n, mostBranches)
			case n > mostBranches:
				delete(listed, f)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Sorted(maps.Keys(listed)) {
		t.Errorf("%s has %d branches at most, or is not there: take it off the list in internal/arch", f, mostBranches)
	}
}

// branchesOf returns the branches of the functions in a file, by name, with the receiver in front.
func branchesOf(t *testing.T, name string) map[string]int {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]int)
	if slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() < file.Package && strings.HasPrefix(c.List[0].Text, "//go:build ignore")
	}) {
		return out // generated code
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		called := f.Name.Name
		if f.Recv != nil {
			called = receiver(f.Recv.List[0].Type) + "." + called
		}
		out[called] = max(out[called], branches(f)) // each system may have a file of its own
	}
	return out
}

// receiver returns the type name of a method.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

// branches counts the ways through a function.
func branches(f ast.Node) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil { // nil: default
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
