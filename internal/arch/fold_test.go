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

// TestFoldIsPure: the state depends only on the journal, and so do permissions: the packages fold and check read no
// clock, wait for nothing and start nothing.
func TestFoldIsPure(t *testing.T) {
	files := token.NewFileSet()
	var names []string
	for _, pure := range []string{"fold", "check"} {
		some, err := filepath.Glob("../room/" + pure + "/*.go")
		if err != nil || len(some) == 0 {
			t.Fatal(pure, some, err)
		}
		names = append(names, some...)
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
					t.Errorf("%v: a pure package must not import %s", at(), path)
				}
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%v: a pure package starts nothing, and waits for nothing", at())
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					t.Errorf("%v: a pure package waits for nothing", at())
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					t.Errorf("%v: a pure package reads no clock", at())
				}
			}
			return true
		})
	}
}
