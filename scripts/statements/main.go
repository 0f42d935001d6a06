// Command statements counts the production statements of the tree, by package, next to those of an older commit:
//
//	go run ./scripts/statements [COMMIT]
//
// A statement is an ast.Stmt that is not a block, clause or label. Tests, packages that only tests import, benchmarks
// and testdata are left out.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
)

// left matches the directories that are not part of the program.
var left = regexp.MustCompile(`(^|/)(testdata|bench|scripts|arch|acceptance|proof|realclient|systemtest|\w+test)(/|$)`)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "statements:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	now, err := count(os.DirFS("."))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return show(now, now)
	}
	old, err := commit(args[0])
	if err != nil {
		return err
	}
	before, err := count(old)
	if err != nil {
		return err
	}
	return show(before, now)
}

// count returns the statements of each package of a tree.
func count(tree fs.FS) (map[string]int, error) {
	n := map[string]int{}
	return n, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || left.MatchString(name)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n[path.Dir(name)] += statements(file)
		return nil
	})
}

// statements returns the number of statements in a file.
func statements(file *ast.File) (n int) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.LabeledStmt, *ast.EmptyStmt:
		case ast.Stmt:
			n++
		}
		return true
	})
	return n
}

// show prints a line for each package, and the sum.
func show(before, now map[string]int) error {
	all := maps.Clone(before)
	maps.Copy(all, now)
	sum := func(n map[string]int) (s int) {
		for _, v := range n {
			s += v
		}
		return s
	}
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("%6d %6d %+6d  %s\n", before[pkg], now[pkg], now[pkg]-before[pkg], pkg)
	}
	_, err := fmt.Printf("%6d %6d %+6d  in all\n", sum(before), sum(now), sum(now)-sum(before))
	return err
}

// commit returns the Go files of a commit.
func commit(ref string) (fs.FS, error) {
	raw, err := exec.Command("git", "archive", "--format=tar", ref).Output()
	if err != nil {
		return nil, fmt.Errorf("git archive %s: %w", ref, err)
	}
	tree := fstest.MapFS{}
	for files := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return tree, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg || path.Ext(h.Name) != ".go" {
			continue
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		tree[h.Name] = &fstest.MapFile{Data: data}
	}
}
