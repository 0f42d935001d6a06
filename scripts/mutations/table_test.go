package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestTable holds that each mutation finds the line that it changes, and its test, so that no refactoring makes the
// table stale.
func TestTable(t *testing.T) {
	names := make(map[string]bool)
	suite := stringsIn(t, "internal/mail/mailtest/mailtest.go")
	tests := make(map[string][]string)
	for _, m := range table() {
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
		if tests[m.pkg] == nil {
			tests[m.pkg] = testsIn(t, m.pkg)
		}
		test, sub, _ := strings.Cut(m.test, "/")
		if !slices.Contains(tests[m.pkg], test) || sub != "" && !slices.Contains(suite, sub) {
			t.Errorf("%s: %s has no test %s", m.name, m.pkg, m.test)
		}
	}
}

// testsIn returns the names of the tests of a package.
func testsIn(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// stringsIn returns the string literals of a file: a suite names its subtests by them.
func stringsIn(t *testing.T, name string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			texts = append(texts, strings.Trim(l.Value, `"`))
		}
		return true
	})
	return texts
}
