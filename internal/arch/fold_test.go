package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFoldIsPure holds that what follows from a journal follows from nothing else: package fold reads no clock, waits
// for nothing and starts nothing.
func TestFoldIsPure(t *testing.T) {
	files := token.NewFileSet()
	names, err := filepath.Glob("../room/fold/*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	impure := []string{"context", "sync", "sync/atomic", "os", "io", "net", "log/slog", "math/rand", "math/rand/v2",
		"crypto/rand", "runtime"}
	clocks := []string{"Now", "Since", "Until", "After", "Sleep", "NewTimer", "NewTicker", "AfterFunc", "Tick"}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			at := func() token.Position { return files.Position(n.Pos()) }
			switch n := n.(type) {
			case *ast.ImportSpec:
				if path, _ := strconv.Unquote(n.Path.Value); slices.Contains(impure, path) {
					t.Errorf("%v: fold must not import %s", at(), path)
				}
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%v: fold starts nothing, and waits for nothing", at())
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					t.Errorf("%v: fold waits for nothing", at())
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					t.Errorf("%v: fold reads no clock", at())
				}
			}
			return true
		})
	}
}
