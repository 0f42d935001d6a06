package update

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestCompare checks that versions sort in the order of their release.
func TestCompare(t *testing.T) {
	order := []string{"v0.1.0", "v0.9.9", "v0.10.0", "v1.0.0-1", "v1.0.0-2", "v1.0.0-10", "v1.0.0-alpha",
		"v1.0.0-alpha.1", "v1.0.0-beta", "v1.0.0-rc.2", "v1.0.0-rc.10", "v1.0.0", "v1.0.1", "v1.1.0", "v2.0.0"}
	for i, a := range order {
		for j, b := range order {
			v, err := ParseVersion(a)
			w, err2 := ParseVersion(b)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if got, want := v.Compare(w), i-j; got > 0 != (want > 0) || got < 0 != (want < 0) {
				t.Errorf("%s.Compare(%s) = %d", a, b, got)
			}
		}
	}
	for _, bad := range []string{"", "1.2.3", "v1.2", "v1.2.3+build", "v1.2.3-", "v1.2.3/..", "v1.2.3-a..b",
		"devel-abc"} {
		if _, err := ParseVersion(bad); err == nil {
			t.Errorf("%q is taken for a version", bad)
		}
	}
}

// TestAddress checks that a module with an address has its releases there.
func TestAddress(t *testing.T) {
	for _, tt := range []struct{ module, version, want string }{
		{"github.com/ann/post", "", "https://github.com/ann/post/releases/latest/download"},
		{"github.com/ann/post", "v1.2.3", "https://github.com/ann/post/releases/download/v1.2.3"},
		{"post", "", ""}, {"", "", ""},
	} {
		if got, err := Address(tt.module, tt.version); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Address(%q, %q) = %q, %v, want %q", tt.module, tt.version, got, err, tt.want)
		}
	}
}

// TestKeyOfSource checks that programs built from these sources have a readable key, or report that they have none.
func TestKeyOfSource(t *testing.T) {
	if _, err := Key(); (err == nil) != (releaseKey != "") {
		t.Errorf("Key of %q = %v", releaseKey, err)
	}
}

// TestPlainAddresses checks that addresses whose answers others could change are refused.
func TestPlainAddresses(t *testing.T) {
	var taken []string
	for _, at := range []string{"https://example.org/x", "http://127.0.0.1:80", "http://localhost", "http://[::1]:8",
		"http://example.org", "http://127.0.0.1.example.org", "http://localhost.example.org", "http://10.0.0.1"} {
		if _, err := NewSource(at); err == nil {
			taken = append(taken, at)
		}
	}
	if want := []string{"https://example.org/x", "http://127.0.0.1:80", "http://localhost",
		"http://[::1]:8"}; !slices.Equal(taken, want) {
		t.Errorf("taken are %q, want %q", taken, want)
	}
}

// TestOwner names the installer of a program that update may not replace.
func TestOwner(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "pennypostd")
	for _, tt := range []struct {
		program, module string
		released        bool
		command         string
	}{
		{"/usr/lib/node_modules/pennypost/bin/pennypost", "x.org/p", true, "npm install -g pennypost@latest"},
		{"/opt/homebrew/Cellar/pennypost/1.0/bin/pennypost", "x.org/p", true, "brew upgrade pennypost"},
		{alone, "x.org/p", false, "go install x.org/p@latest"},
		{alone, "pennypost", false, "git pull && go build"}, // not published
		{alone, "pennypost", true, ""},
	} {
		who, command := Owner(tt.program, tt.module, tt.released)
		if command != tt.command || (who == "") != (command == "") {
			t.Errorf("Owner(%s, %s, %v) = %q, %q", tt.program, tt.module, tt.released, who, command)
		}
	}
}
