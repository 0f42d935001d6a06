package arch

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// named matches the tests that a page names: `TestX`, `TestX/with a part`, and `TestX…` for all that begin so.
var (
	named   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)(…?)(?:/([\\w-]+))?`")
	scripts = regexp.MustCompile(`scripts?\s+((?:` + "`[a-z0-9_]+`" + `(?:,\s+|\s+and\s+)?)+)`)
	quoted  = regexp.MustCompile("`([a-z0-9_]+)`")
)

// TestDocsNameTests: every test and script that the documentation names exists.
func TestDocsNameTests(t *testing.T) {
	sources, files := tests(t)
	for _, page := range pages(t) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(raw), -1) {
			function, part := "func "+m[1]+"(", m[3]
			if m[2] != "" {
				function = "func " + m[1]
			}
			if !strings.Contains(sources, function) {
				t.Errorf("%s names %s, which is no test", page, m[0])
			}
			if part != "" && part != "CLIENT" && !strings.Contains(sources, `"`+part+`"`) && !files[part+".txtar"] {
				t.Errorf("%s names %s, and no test has the part %q", page, m[0], part)
			}
		}
		for _, m := range scripts.FindAllStringSubmatch(string(raw), -1) {
			for _, name := range quoted.FindAllStringSubmatch(m[1], -1) {
				if !files[name[1]+".txtar"] {
					t.Errorf("%s names the script %s, which is not there", page, name[1])
				}
			}
		}
	}
}

// pages returns the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	top, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(top) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	below, err := filepath.Glob(filepath.Join("..", "..", "docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return append(append(top, below...), filepath.Join("..", "..", "CONTRIBUTING.md"))
}

// tests returns the text of all tests and of the suites, and the names of all files next to them.
func tests(t *testing.T) (sources string, files map[string]bool) {
	t.Helper()
	var all strings.Builder
	files = make(map[string]bool)
	for _, dir := range []string{"..", filepath.Join("..", "..", "scripts")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files[d.Name()] = true
			if !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "hooktest") {
				return nil
			}
			raw, err := os.ReadFile(path)
			all.Write(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String(), files
}

// TestPagesEndBeforeColumn121: a page can be read, and compared, in a terminal.
func TestPagesEndBeforeColumn121(t *testing.T) {
	for _, page := range append(pages(t), filepath.Join("..", "..", "README.md")) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(raw), "\n") {
			if n := utf8.RuneCountInString(line); n > 120 {
				t.Errorf("%s:%d has %d columns, more than 120", page, i+1, n)
			}
		}
	}
}

// TestCodeEndsBeforeColumn120 counts a tab as four columns. In tests a line with a raw string may be longer: another
// program's output is one line, however long.
func TestCodeEndsBeforeColumn120(t *testing.T) {
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var quoted map[int]bool
		if strings.HasSuffix(path, "_test.go") {
			quoted = rawLines(raw)
		}
		for i, line := range strings.Split(string(raw), "\n") {
			if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); n > 119 && !quoted[i+1] {
				t.Errorf("%s:%d has %d columns, more than 119", path, i+1, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawLines returns the numbers of the lines of Go code that contain a raw string.
func rawLines(code []byte) map[int]bool {
	file := token.NewFileSet().AddFile("", -1, len(code))
	var s scanner.Scanner
	s.Init(file, code, nil, 0)
	lines := make(map[int]bool)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind != token.STRING || text[0] != '`' {
			continue
		}
		for n := range strings.Count(text, "\n") + 1 {
			lines[file.Line(pos)+n] = true
		}
	}
}
