package systemtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/base/minisign"
	"pennypost/internal/base/versions"
)

// TestUpdateRefuses: the error is reported, and the programs stay as they were.
func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	u := newUpdater(t)
	ok := func(version string) string { return "echo pennypost " + version + " of scripts" }
	archive := "pennypost_1.2.4_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	for _, tt := range []struct {
		name   string
		break_ func() (args []string)
		says   string
	}{
		{"nothing there", func() []string { return nil }, "SHA256SUMS"},
		{"a wrong sum", func() []string {
			u.publishScript(t, "v1.2.4", ok("v1.2.4"))
			u.put(t, archive, []byte("changed"))
			return nil
		}, "has the wrong checksum"},
		{"sums that were changed with it", func() []string {
			u.publishScript(t, "v1.2.4", ok("v1.2.4"))
			u.put(t, archive, []byte("changed"))
			u.put(t, "SHA256SUMS", fmt.Appendf(nil, "%x  %s\n", sha256.Sum256([]byte("changed")), archive))
			return nil
		}, "not signed with Pennypost"},
		{"another key", func() []string {
			u.publishScript(t, "v1.2.4", ok("v1.2.4"))
			other, err := minisign.NewSecret(strings.NewReader(strings.Repeat("another secret ", 9)))
			sums, err2 := os.ReadFile(filepath.Join(u.release, "SHA256SUMS"))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			u.put(t, "SHA256SUMS.minisig", other.Sign(sums, "pennypost v1.2.4"))
			return nil
		}, "another key"},
		{"no signature", func() []string {
			u.publishScript(t, "v1.2.4", ok("v1.2.4"))
			u.put(t, "SHA256SUMS.minisig", []byte("<html>404</html>"))
			return nil
		}, "cannot be read"},
		{"a torn download", func() []string {
			u.publishScript(t, "v1.2.4", ok("v1.2.4"))
			return []string{"--from", tornServer(t, u.release)}
		}, "is incomplete"},
		{"plain http", func() []string { return []string{"--from", "http://example.org"} },
			"is not secure: releases need https"},
		{"to plain http", func() []string {
			server := httptest.NewServer(http.RedirectHandler("http://example.org/", http.StatusFound))
			t.Cleanup(server.Close)
			return []string{"--from", server.URL}
		}, "is not secure: releases need https"},
		{"an older release", func() []string {
			u.publishScript(t, "v1.2.2", ok("v1.2.2"))
			return nil
		}, "older than this one"},
		{"another than was named", func() []string { return []string{"--version", "1.2.9"} },
			"is v1.2.2, not v1.2.9"},
		{"a test of this release", func() []string {
			u.publishScript(t, "v1.2.3-rc.1", ok("v1.2.3-rc.1"))
			return nil
		}, "older than this one"},
		{"nothing for this system", func() []string {
			u.sign(t, "v1.2.4", []byte("00  pennypost_1.2.4_plan9_mips.tar.gz\n"))
			return nil
		}, "has no archive for"},
		{"programs that do not run", func() []string {
			u.publishScript(t, "v1.2.4", "echo not for this kernel; exit 1")
			return nil
		}, "not for this kernel"},
		{"programs of another version", func() []string {
			u.publishScript(t, "v1.2.4", ok("v1.2.5"))
			return nil
		}, "does not run here"},
		{"one program only", func() []string {
			u.publish(t, "v1.2.4", map[string][]byte{"pennypost": []byte("#!/bin/sh\n")})
			return nil
		}, "pennypostd is not in it"},
		{"no version before", func() []string { return []string{"--back"} }, "no earlier version"},
		{"two things at once", func() []string { return []string{"--back", "--check"} },
			"cannot be combined with other flags"},
		{"no address", func() []string { return []string{"--from", ""} }, "no address for releases"},
	} {
		args := tt.break_()
		if len(args) == 0 || args[0] == "--version" {
			args = append(args, "--from", u.release)
		}
		r := u.update(args...)
		if r.code == 0 || !strings.Contains(flat(r.stderr), tt.says) ||
			r.code != 2 && !strings.Contains(flat(r.stderr), "Nothing was changed") {
			t.Errorf("%s: %+v, want %q", tt.name, r, tt.says)
		}
		if left, err := os.ReadDir(u.bin); err != nil || len(left) != len(versions.Programs) {
			t.Errorf("%s leaves %v, %v", tt.name, left, err)
		}
	}
	if got := u.installed(t); got != "v1.2.3" {
		t.Errorf("%s is installed", got)
	}
}

// flat is a message without its line ends.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestUpdatePlaces: where another tool replaces the programs, where others would hide them, or without permission to
// write, nothing is changed.
func TestUpdatePlaces(t *testing.T) {
	t.Parallel()
	u := newUpdater(t)
	u.publishScript(t, "v1.2.4", "echo pennypost v1.2.4 of scripts")
	other := filepath.Join(u.root, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "pennypost"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := u.runWith("", []string{"PATH=" + other + ":" + u.bin + ":/usr/bin:/bin"}, "update", "--from", u.release)
	if r.code != 5 || !strings.Contains(flat(r.stderr), "finds another pennypost first, "+other+"/pennypost") {
		t.Errorf("hidden by another: %+v", r)
	}
	r = u.update("--from", u.release, "--as", "builder")
	if r.code != 5 || !strings.Contains(r.stderr, "only the user") {
		t.Errorf("as an agent: %+v", r)
	}
	for place, command := range map[string]string{
		"lib/node_modules/pennypost/bin": "npm install -g", "Cellar/pennypost/1.2.3/bin": "brew upgrade pennypost"} {
		dir := filepath.Join(u.root, filepath.FromSlash(place))
		if err := os.CopyFS(dir, os.DirFS(u.bin)); err != nil {
			t.Fatal(err)
		}
		moved := *u
		moved.bin, moved.program = dir, filepath.Join(dir, "pennypost")
		if r := moved.update("--from", u.release); r.code != 5 || !strings.Contains(flat(r.stderr), command) {
			t.Errorf("in %s: %+v", place, r)
		}
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(u.bin, 0o555); err != nil {
			t.Fatal(err)
		}
		r := u.update("--from", u.release)
		if r.code != 5 || !strings.Contains(flat(r.stderr), "cannot write to") {
			t.Errorf("without permission: %+v", r)
		}
	} else if r := u.readOnly(t); !strings.Contains(flat(r.stderr), "cannot write to") {
		t.Errorf("as nobody: %+v", r)
	}
	if got := u.installed(t); got != "v1.2.3" {
		t.Errorf("%s is installed", got)
	}
}

// readOnly runs the update as a user who may not write next to the programs.
func (u *updater) readOnly(t *testing.T) result {
	t.Helper()
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("as root this needs setpriv")
	}
	if err := os.Chmod(u.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"SHA256SUMS", "SHA256SUMS.minisig"} {
		if err := os.Chmod(filepath.Join(u.release, file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("setpriv", "--reuid=65534", "--clear-groups", filepath.Join(u.bin, "pennypost"), "update",
		"--from", u.release)
	cmd.Env = append(u.environ(), "PATH="+u.bin+":/usr/bin:/bin")
	return finishWith(cmd, strings.NewReader(""))
}

// tornServer ends each archive half-way.
func tornServer(t *testing.T, dir string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		if strings.HasSuffix(r.URL.Path, ".gz") {
			text = text[:len(text)/2]
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
