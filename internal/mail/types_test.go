package mail

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTypesAreListedOnce checks that a new type needs only a row of the table: no other code lists types, as
// strings or as constants. Exceptions are dialects, which translate them one by one, and demonstrations, which
// write mail of every type.
func TestTypesAreListedOnce(t *testing.T) {
	few := regexp.MustCompile(fmt.Sprintf(`\b(%[1]s)\b(\W+(and |or )?\b(%[1]s)\b){2}`, TypeNames("|")))
	const most = 2 // types that one file may name by their constants
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"mail", "dialect", "demoday", "testdata"}, name):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"),
			strings.HasPrefix(name, "demo"):
			return nil
		}
		literals, constants := namesOfTypes(t, path)
		for _, s := range literals {
			if list := few.FindString(s); list != "" {
				t.Errorf("%s lists types: %q. Make the list from mail.Types", path, list)
			}
		}
		if len(constants) > most {
			t.Errorf("%s names the types %s. What they have in common belongs in the table, as a field of "+
				"mail.TypeRule", path, constants)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// namesOfTypes returns a file's string literals, and the constants of types that it uses.
func namesOfTypes(t *testing.T, path string) (literals, constants []string) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := constantsOfTypes(t)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			literals = append(literals, n.Value)
		case *ast.CompositeLit, *ast.CaseClause:
			literals = append(literals, words(n))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "mail" && slices.Contains(known, n.Sel.Name) &&
				!slices.Contains(constants, n.Sel.Name) {
				constants = append(constants, n.Sel.Name)
			}
		}
		return true
	})
	return literals, constants
}

// constantsOfTypes returns the names of the constants of types.
func constantsOfTypes(t *testing.T) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Type" {
			names = append(names, spec.Names[0].Name)
		}
		return true
	})
	if len(names) != len(Types()) {
		t.Fatalf("types.go has the constants %s of %d types", names, len(Types()))
	}
	return names
}

// words joins the string literals below n, so that a list of words is recognised however it is written.
func words(n ast.Node) string {
	var all []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			all = append(all, lit.Value)
		}
		return true
	})
	return strings.Join(all, " ")
}

// TestTypesInDocs checks that the docs for people and agents describe the types as the table does.
func TestTypesInDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("| type | for | wakes |\n|---|---|---|\n")
	for _, r := range TypeRules() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.Type, r.Help, r.Wakes)
	}
	for path, want := range map[string]string{
		"../../docs/http.md":                  "\n\n" + table.String() + "\n",
		"../../plugin/commands/history.md":    "(" + TypeNames(", ") + ")",
		"../office/mcpserver/instructions.md": ": " + strings.TrimSuffix(TypeNames(", "), ", custom") + ". ",
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say:\n%s", path, want)
		}
	}
}
