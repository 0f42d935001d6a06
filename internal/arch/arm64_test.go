package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// emulated is the list of packages that ./test arm64 omits.
const emulated = "arm64.txt"

// ownProgram matches code in a test that starts a program of ours, or itself: an emulator runs only the test, and no
// program for the same processor that the test starts.
var ownProgram = regexp.MustCompile(
	`exec\.Command\(os\.Args\[0\]|os\.Executable\(|"go", "build"|testscript\.(Main|RunMain)`)

// TestEmulatedList: the list of packages omitted for arm64 names existing ones, with a reason, and names every
// package whose tests start a program of ours.
func TestEmulatedList(t *testing.T) {
	text, err := os.ReadFile(emulated)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // the tests of a package
	for dir := range strings.FieldsSeq(string(out)) {
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is valid
		var all bytes.Buffer
		for _, f := range files {
			code, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(code)
		}
		rel, err := filepath.Rel(root, dir)
		if name := filepath.ToSlash(rel); err == nil && len(files) > 0 {
			tests[name] = all.String()
		}
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) < 4 {
			t.Errorf("%s: %q is no package, test and reason", emulated, line)
			continue
		}
		listed[f[0]] = true
		code, there := tests[f[0]]
		if !there || f[1] != "all" && !strings.Contains(code, "func "+f[1]+"(") {
			t.Errorf("%s: there is no %s of %s: take it off the list", emulated, f[1], f[0])
		}
	}
	names := make([]string, 0, len(tests))
	for name := range tests {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if ownProgram.MatchString(tests[name]) && !listed[name] {
			t.Errorf("tests of %s start a program of ours, which an emulator cannot: name them in %s", name, emulated)
		}
	}
}
