package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	forOneSystem = regexp.MustCompile(`_(linux|darwin|windows)\.go$`)
	tagOfSystem  = regexp.MustCompile(`(?m)^//go:build .*\b(unix|linux|darwin|windows)\b`)
	asksSystem   = regexp.MustCompile(`\w\.GOOS\b`)
	namedFiles   = regexp.MustCompile("`(internal/[\\w/]+)(?:\\{([\\w,]+)\\})?\\.go`")
)

// TestSystems: docs/systems.md names every file of the program that is for one kind of system, or checks which one it
// is on, and no other. Packages for tests are left out.
func TestSystems(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("no Git repository:", err)
	}
	var want []string
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "persontest/") ||
			strings.Contains(path, "natstest/") || strings.Contains(path, "suspendtest/") ||
			strings.HasPrefix(path, "bench/") {
			continue
		}
		code, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			continue // it is about to be removed
		}
		if forOneSystem.MatchString(path) || tagOfSystem.Match(code) || asksSystem.Match(code) {
			want = append(want, path)
		}
	}
	page, err := os.ReadFile("../../docs/systems.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range namedFiles.FindAllStringSubmatch(string(page), -1) {
		for part := range strings.SplitSeq(m[2], ",") {
			named = append(named, m[1]+part+".go")
		}
	}
	for _, path := range want {
		if !slices.Contains(named, path) {
			t.Errorf("%s depends on the system: say in docs/systems.md how, and what holds it", path)
		}
	}
	for _, path := range named {
		if !slices.Contains(want, path) {
			t.Errorf("docs/systems.md names %s, which does not depend on the system", path)
		}
	}
}
