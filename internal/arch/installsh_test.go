package arch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// installer is a home in which install.sh is run, with a release next to it.
type installer struct {
	shell   string // the program that runs the script
	home    string // of the person: HOME
	release string // the directory with the files of the release
	env     []string
}

// shells are this machine's shells that people have as sh.
func shells(t *testing.T) (found []string) {
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is not for Windows")
	}
	for _, name := range []string{"dash", "bash", "busybox"} {
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Skip("no shell is here")
	}
	return found
}

func newInstaller(t *testing.T, shell string) *installer {
	t.Helper()
	dir := t.TempDir()
	in := &installer{shell, filepath.Join(dir, "home"), filepath.Join(dir, "release"), nil}
	if err := os.Mkdir(in.home, 0o700); err != nil {
		t.Fatal(err)
	}
	in.put(t, "1.2.3", "#!/bin/sh\necho pennypost v1.2.3\n")
	return in
}

// put makes a release with a version and short programs.
func (in *installer) put(t *testing.T, version, program string) {
	t.Helper()
	name := "pennypost_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for _, file := range []string{"pennypost", "pennypostd", "pennypost-nats", "LICENSE"} {
		if err := out.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o755,
			Size: int64(len(program))}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(out, program)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(in.release); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in.release, 0o700); err != nil {
		t.Fatal(err)
	}
	in.write(t, name+".tar.gz", packed.Bytes())
	in.write(t, "SHA256SUMS", fmt.Appendf(nil, "%x  %s.tar.gz\n%x  other.deb\n", sha256.Sum256(packed.Bytes()), name,
		sha256.Sum256(nil)))
}

func (in *installer) write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(in.release, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// archive is the path of the release's archive.
func (in *installer) archive(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(in.release, "*.tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// script runs a text as install.sh.
func (in *installer) script(text string, args ...string) (string, error) {
	words := append([]string{"-s", "--"}, args...)
	if in.shell == "busybox" {
		words = append([]string{"sh"}, words...)
	}
	cmd := exec.Command(in.shell, words...)
	cmd.Dir = in.home
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = append([]string{"HOME=" + in.home, "PATH=/usr/bin:/bin", "SHELL=/bin/bash"}, in.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (in *installer) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	text, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	return in.script(string(text), args...)
}

// left lists the files in the home.
func (in *installer) left(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(in.home, func(path string, _ fs.DirEntry, err error) error {
		if path != in.home {
			names = append(names, strings.TrimPrefix(path, in.home+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// runs asks both programs in the home for their version.
func (in *installer) runs(t *testing.T, dir, want string) {
	t.Helper()
	for _, program := range []string{"pennypost", "pennypostd", "pennypost-nats"} {
		if out, err := exec.Command(filepath.Join(in.home, dir, program)).CombinedOutput(); err != nil ||
			strings.TrimSpace(string(out)) != "pennypost "+want {
			t.Errorf("%s says %q and ends with %v, want %s", program, out, err, want)
		}
	}
}

// TestInstallScript installs a release, the next one, and the first again, from a directory and from a server.
func TestInstallScript(t *testing.T) {
	for _, shell := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			in := newInstaller(t, shell)
			out, err := in.run(t, "--from", in.release)
			if err != nil || !strings.Contains(out, "Installed v1.2.3") || !strings.Contains(out,
				`echo 'export PATH="`+in.home+`/.local/bin:$PATH"' >> ~/.bashrc && . ~/.bashrc`) {
				t.Fatalf("install.sh says %q and ends with %v", out, err)
			}
			in.runs(t, ".local/bin", "v1.2.3")

			in.put(t, "1.2.4", "#!/bin/sh\necho pennypost v1.2.4\n")
			server := httptest.NewServer(http.FileServer(http.Dir(in.release)))
			defer server.Close()
			in.env = []string{"PATH=" + in.home + "/.local/bin:/usr/bin:/bin"}
			out, err = in.run(t, "--from", server.URL, "--version", "1.2.4")
			if err != nil || !strings.Contains(out, "v1.2.3, is kept") || !strings.Contains(out, "on your PATH") {
				t.Errorf("install.sh says %q and ends with %v", out, err)
			}
			in.runs(t, ".local/bin", "v1.2.4")
			in.runs(t, ".local/bin/.pennypost/previous", "v1.2.3")
			in.put(t, "1.2.5", "#!/bin/sh\necho pennypost v1.2.5\n")
			if out, err := in.run(t, "--from", in.release); err != nil {
				t.Errorf("install.sh says %q and ends with %v", out, err)
			}
			in.runs(t, ".local/bin/.pennypost/previous", "v1.2.4")
			if left := strings.Join(in.left(t), " "); strings.Contains(left, "v1.2.3") {
				t.Errorf("more than the version before is kept: %s", left)
			}

			before := in.left(t)
			if out, err := in.run(t, "--from", "file://"+in.release); err != nil {
				t.Errorf("once more it says %q and ends with %v", out, err)
			}
			if after := in.left(t); strings.Join(after, "\n") != strings.Join(before, "\n") {
				t.Errorf("once more leaves %v, want %v", after, before)
			}
			in.runs(t, ".local/bin", "v1.2.5")
			if out, err := in.run(t, "--from", in.release, "--to", "its `bin` of $5"); err != nil {
				t.Errorf("with an odd --to it says %q and ends with %v", out, err)
			}
			in.runs(t, "its `bin` of $5", "v1.2.5")
			if out, err := in.run(t, "--help"); err != nil || !strings.Contains(out, "--from ADDRESS") {
				t.Errorf("--help says %q and ends with %v", out, err)
			}
		})
	}
}

// TestInstallScriptRefuses: an error is reported, and nothing is left behind.
func TestInstallScriptRefuses(t *testing.T) {
	for _, shell := range shells(t) {
		for name, tt := range map[string]struct {
			break_ func(*testing.T, *installer) (args []string)
			says   string
		}{
			"a wrong sum": {func(t *testing.T, in *installer) []string {
				in.write(t, filepath.Base(in.archive(t)), []byte("changed"))
				return nil
			}, "is not what was released"},
			"a torn download": {func(t *testing.T, in *installer) []string {
				return []string{"--from", torn(t, in.release)}
			}, "could not be downloaded"},
			"no sums": {func(t *testing.T, in *installer) []string {
				return []string{"--from", in.home}
			}, "SHA256SUMS is not in"},
			"nothing for this system": {func(t *testing.T, in *installer) []string {
				in.write(t, "SHA256SUMS", fmt.Appendf(nil, "%x  pennypost_1.2.3_plan9_mips.tar.gz\n",
					sha256.Sum256(nil)))
				return nil
			}, "nothing for " + runtime.GOOS + "_" + runtime.GOARCH},
			"another version": {func(*testing.T, *installer) []string {
				return []string{"--version", "v9.9.9"}
			}, "is v1.2.3, and not v9.9.9"},
			"a page in place of the sums": {func(t *testing.T, in *installer) []string {
				in.write(t, "SHA256SUMS", []byte("<html>Log in to the network</html>"))
				return nil
			}, "has nothing for"},
			"no archive": {func(t *testing.T, in *installer) []string {
				in.write(t, "SHA256SUMS", fmt.Appendf(nil, "%x  pennypost_1.2.3_%s_%s.tar.gz\n", sha256.Sum256(nil),
					runtime.GOOS, runtime.GOARCH))
				in.write(t, filepath.Base(in.archive(t)), nil)
				return nil
			}, "cannot be unpacked"},
			"a program that does not run": {func(t *testing.T, in *installer) []string {
				in.put(t, "1.2.3", "#!/bin/sh\necho not for this kernel\nexit 1\n")
				return nil
			}, "does not run here: not for this kernel"},
			"an unknown system": {func(t *testing.T, in *installer) []string {
				in.fake(t, "uname", "echo Plan9")
				return nil
			}, "no release for Plan9"},
			"an unknown machine": {func(t *testing.T, in *installer) []string {
				in.fake(t, "uname", `case $1 in -s) echo Linux ;; *) echo mips ;; esac`)
				return nil
			}, "no release for linux on mips"},
			"Windows": {func(t *testing.T, in *installer) []string {
				in.fake(t, "uname", "echo MINGW64_NT-10.0")
				return nil
			}, "not for Windows"},
			"another pennypost is found first": {func(t *testing.T, in *installer) []string {
				in.fake(t, "pennypost", "echo old")
				return nil
			}, "fakes/pennypost, which would hide"},
			"a file in the place": {func(t *testing.T, in *installer) []string {
				in.file(t, "bin/pennypostd")
				return []string{"--to", in.home + "/bin"}
			}, "bin/pennypostd is there, and not from this script"},
			"a file in the way": {func(t *testing.T, in *installer) []string {
				in.file(t, "bin")
				return []string{"--to", in.home + "/bin"}
			}, "cannot be written to"},
			"plain http": {func(*testing.T, *installer) []string {
				return []string{"--from", "http://127.0.0.1.example.org"}
			}, "could be changed on its way"},
			"no address": {func(*testing.T, *installer) []string { return []string{"--from", ""} },
				"needs a value"},
			"an odd version": {func(*testing.T, *installer) []string { return []string{"--version", "../x"} },
				"is no version"},
			"an unknown flag": {func(*testing.T, *installer) []string { return []string{"--root"} },
				"--root is not known"},
		} {
			t.Run(shell+"/"+name, func(t *testing.T) {
				t.Parallel()
				in := newInstaller(t, shell)
				args := append([]string{"--from", in.release}, tt.break_(t, in)...)
				before := in.left(t)
				out, err := in.run(t, args...)
				if err == nil || !strings.Contains(out, tt.says) || !strings.Contains(out, "Nothing was installed.") {
					t.Errorf("it says %q and ends with %v, want %q", out, err, tt.says)
				}
				if after := in.left(t); strings.Join(after, "\n") != strings.Join(before, "\n") {
					t.Errorf("it leaves %v, want %v", after, before)
				}
			})
		}
	}
}

// TestInstallScriptNoPermission: a directory without write permission is named. Root may write anywhere, so root
// becomes nobody for this test.
func TestInstallScriptNoPermission(t *testing.T) {
	for _, shell := range shells(t) {
		in := newInstaller(t, shell)
		text, err := os.ReadFile("../../install.sh")
		if err != nil {
			t.Fatal(err)
		}
		locked := filepath.Join(in.home, "locked")
		if err := os.Mkdir(locked, 0o555); err != nil {
			t.Fatal(err)
		}
		args := []string{"-s", "--", "--from", in.release, "--to", locked + "/bin"}
		if in.shell == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		args = append([]string{in.shell}, args...)
		if os.Getuid() == 0 {
			if _, err := exec.LookPath("setpriv"); err != nil {
				t.Skip("as root this needs setpriv")
			}
			args = append([]string{"setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all"}, args...)
			for dir := in.home; dir != "/tmp" && len(dir) > 1; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = bytes.NewReader(text)
		cmd.Env = []string{"HOME=" + in.home, "PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), locked+"/bin cannot be written to: ") ||
			!strings.Contains(string(out), "Nothing was installed.") {
			t.Errorf("%s: it says %q and ends with %v", shell, out, err)
		}
		if left := in.left(t); len(left) != 1 {
			t.Errorf("%s: it leaves %v", shell, left)
		}
	}
}

// TestInstallScriptFailsWithin: whichever step fails, nothing new is left, and the previous version runs.
func TestInstallScriptFailsWithin(t *testing.T) {
	for _, shell := range shells(t) {
		if shell == "busybox" {
			continue // its commands are its own, and cannot be made to fail
		}
		before := []string{"1.2.2", "1.2.3"}
		for installed := range len(before) + 1 {
			t.Run(fmt.Sprintf("%s/%d", shell, installed), func(t *testing.T) {
				in := newInstaller(t, shell)
				for _, version := range before[:installed] {
					in.put(t, version, "#!/bin/sh\necho pennypost v"+version+"\n")
					if out, err := in.run(t, "--from", in.release); err != nil {
						t.Fatal(out, err)
					}
				}
				in.put(t, "1.2.4", "#!/bin/sh\necho pennypost v1.2.4\n")
				count := filepath.Join(in.release, "count")
				fails := 0
				for n := 1; ; n++ {
					for _, program := range []string{"ln", "mv", "tar", "cp"} {
						in.fake(t, program, fmt.Sprintf(`n=$(($(cat %s 2>/dev/null || echo 0) + 1)); echo $n >%[1]s
if [ $n = %d ]; then echo disk full >&2; kill -TERM $PPID; exit 1; fi
PATH=/usr/bin:/bin exec %[3]s "$@"`, count, n, program))
					}
					had := in.left(t)
					out, err := in.run(t, "--from", in.release)
					if err == nil {
						break
					}
					fails++
					if left := in.left(t); strings.Join(left, "\n") != strings.Join(had, "\n") {
						t.Errorf("step %d fails and leaves %v, want %v\n%s", n, left, had, out)
					}
					if !strings.Contains(out, "Nothing was installed.") {
						t.Errorf("step %d fails and says %q", n, out)
					}
					if installed > 0 {
						in.runs(t, ".local/bin", "v"+before[installed-1])
					}
					if err := os.Remove(count); err != nil {
						t.Fatal(err)
					}
				}
				if in.runs(t, ".local/bin", "v1.2.4"); fails < 6 {
					t.Errorf("%d steps were made to fail", fails)
				}
			})
		}
	}
}

// TestInstallScriptTorn: a truncated script runs nothing, wherever the cut is.
func TestInstallScriptTorn(t *testing.T) {
	text, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	end := len(strings.TrimRight(string(text), "\n"))
	for _, shell := range shells(t) {
		in := newInstaller(t, shell)
		for cut := 0; cut < end; cut++ {
			if cut < end-40 && text[cut] != '\n' {
				continue
			}
			if out, _ := in.script(string(text[:cut]), "--from", in.release); strings.Contains(out, "nstalled") {
				t.Fatalf("%s: of %d bytes it says %q", shell, cut, out)
			}
		}
		if left := in.left(t); len(left) > 0 {
			t.Errorf("%s: it leaves %v", shell, left)
		}
	}
}

// fake puts a program first on the PATH.
func (in *installer) fake(t *testing.T, name, does string) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(in.home), "fakes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	in.env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
}

func (in *installer) file(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(in.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// torn is the address of a server that cuts each archive off half-way.
func torn(t *testing.T, dir string) string {
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
		http.NewResponseController(w).Flush()
		time.Sleep(time.Millisecond)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
