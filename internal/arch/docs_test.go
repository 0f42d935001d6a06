package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named finds the tests that a page names: `TestX`, `TestX/with a part`, and `TestX…` for all that begin so.
var (
	named   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)(…?)(?:/([\\w-]+))?`")
	scripts = regexp.MustCompile(`scripts?\s+((?:`+"`[a-z0-9_]+`"+`(?:,\s+|\s+and\s+)?)+)`)
	quoted  = regexp.MustCompile("`([a-z0-9_]+)`")
)

// TestDocsNameTests holds that every test and script that the documentation names is there.
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
	return append(top, below...)
}

// tests returns the text of all tests and of the suites, and the names of all files beside them.
func tests(t *testing.T) (sources string, files map[string]bool) {
	t.Helper()
	var all strings.Builder
	files = make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
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
	return all.String(), files
}
