package install

import (
	"os"
	"path/filepath"
	"testing"
)

// The script that npm links into a directory of the PATH starts the program of its own package, and no other.
func TestLaunches(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := file("lib/node_modules/pennypost/bin/pennypost.js")
	found := filepath.Join(dir, "pennypost")
	if err := os.Symlink(script, found); err != nil {
		t.Skip(err)
	}
	for program, want := range map[string]bool{
		found: true,
		file("lib/node_modules/@pennypost/linux-x64/bin/pennypost"):                        true,
		file("lib/node_modules/pennypost/node_modules/@pennypost/linux-x64/bin/pennypost"): true,
		file("lib/node_modules/@pennypost/linux-x64/bin/pennypostd"):                       false,
		file("bin/pennypost"): false,
		file("other/lib/node_modules/@pennypost/linux-x64/bin/pennypost"): false,
	} {
		if got := Launches(found, program); got != want {
			t.Errorf("Launches(%s, %s) = %t", found, program, got)
		}
	}
	if Launches(file("old/pennypost"), script) {
		t.Error("any program of the name was taken for the package's")
	}
}
