package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// TestTable holds that each mutation finds the line that it changes, and its test, so that no refactoring makes the
// table stale.
func TestTable(t *testing.T) {
	names := make(map[string]bool)
	tests := make(map[string]known)
	for _, m := range table {
		if names[m.name] {
			t.Errorf("%s is twice in the table", m.name)
		}
		names[m.name] = true
		src, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		changed, err := m.in(string(src))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, changed, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: it is no Go any more: %v", m.name, err)
		}
		if tests[m.pkg].tests == nil {
			tests[m.pkg] = testsIn(t, m.pkg)
		}
		in := tests[m.pkg]
		parts := strings.Split(m.test, "/")
		unknown := func(sub string) bool { return !in.texts[strings.ReplaceAll(sub, "_", " ")] && !in.texts[sub] }
		if !in.tests[parts[0]] || slices.ContainsFunc(parts[1:], unknown) {
			t.Errorf("%s: %s has no test %s", m.name, m.pkg, m.test)
		}
	}
}

// known has the functions of a package's tests, and the texts that may name subtests, with those of the suite of
// rooms.
type known struct{ tests, texts map[string]bool }

func testsIn(t *testing.T, pkg string) known {
	t.Helper()
	in := known{make(map[string]bool), make(map[string]bool)}
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, filepath.Join(root, "internal/mail/mailtest/mailtest.go")) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					in.tests[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					in.texts[text] = true
				}
			}
			return true
		})
	}
	return in
}
