package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// TestPathLine: the line printed for a shell puts a directory on its PATH, immediately and for good. The shells on
// this machine are tried; the directory's name may need quoting.
func TestPathLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its shells are others")
	}
	const dir = "/opt/penny post"
	for shell, want := range map[string]string{
		"/bin/bash":          `echo 'export PATH="/opt/penny post:$PATH"' >> ~/.bashrc && . ~/.bashrc`,
		"/usr/bin/zsh":       `echo 'export PATH="/opt/penny post:$PATH"' >> ~/.zshrc && . ~/.zshrc`,
		"/usr/local/bin/sh":  `echo 'export PATH="/opt/penny post:$PATH"' >> ~/.profile && . ~/.profile`,
		"/usr/local/bin/csh": `echo 'export PATH="/opt/penny post:$PATH"' >> ~/.profile && . ~/.profile`,
		"/usr/bin/fish":      `fish_add_path '/opt/penny post'`,
	} {
		if got := pathLine("linux", shell, dir); got != want {
			t.Errorf("for %s: %s, want %s", shell, got, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "sh", "fish"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		home := t.TempDir()
		bin := filepath.Join(home, "its `bin` of $5 and it's")
		if err := os.Mkdir(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "here"), []byte("#!/bin/sh\necho found\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-c", pathLine("linux", program, bin)+" && here")
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); string(out) != "found\n" {
			t.Errorf("%s says %q, %v", shell, out, err)
		}
		if shell == "bash" || shell == "zsh" {
			cmd = exec.Command(program, "-i", "-c", "here") // another terminal
			cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
			if out, err := cmd.Output(); string(out) != "found\n" {
				t.Errorf("another %s says %q, %v", shell, out, err)
			}
		}
	}
}

// TestLinkDir: the programs are linked where the shell finds them, or will.
func TestLinkDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is linked there")
	}
	const debian = "if [ -d \"$HOME/.local/bin\" ] ; then\n    PATH=\"$HOME/.local/bin:$PATH\"\nfi\n"
	for name, tt := range map[string]struct {
		path, shell string
		dirs        []string
		files       map[string]string
		want        string
		on          bool
	}{
		"nothing":             {"/bin", "bash", []string{".local/bin", "bin"}, nil, "", false},
		"on the PATH, absent": {"/bin:HOME/.local/bin", "bash", nil, nil, ".local/bin", true},
		"bin":                 {"/bin:HOME/bin", "bash", []string{"bin"}, nil, "bin", true},
		"bin, absent":         {"/bin:HOME/bin", "bash", nil, nil, "", false},
		"Debian":              {"/bin", "bash", nil, map[string]string{".profile": debian}, ".local/bin", false},
		"Fedora": {"/bin", "bash", nil, map[string]string{".bashrc": "PATH=\"$HOME/.local/bin:$HOME/bin:$PATH\"\n"},
			".local/bin", false},
		"another file is read": {"/bin", "bash", nil, map[string]string{".profile": debian, ".bash_profile": "\n"}, "",
			false},
		"commented out": {"/bin", "bash", nil, map[string]string{".profile": "# PATH=$HOME/.local/bin:$PATH\n"}, "",
			false},
		"zsh does not read it": {"/bin", "zsh", nil, map[string]string{".profile": debian}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for _, dir := range tt.dirs {
				if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range tt.files {
				if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g := &guide{app: &app{&cli.App{Env: cli.Env{Environ: []string{"HOME=" + home, "SHELL=/bin/" + tt.shell,
				"PATH=" + strings.ReplaceAll(tt.path, "HOME", home)}}}}}
			want := tt.want
			if want != "" {
				want = filepath.Join(home, want)
			}
			if got, on := g.linkDir(); got != want || on != tt.on {
				t.Errorf("linkDir = %q, %v; want %q, %v", got, on, want, tt.on)
			}
		})
	}
}

// TestForeignFile: another's file is not replaced, and nothing is written next to it; a broken link is replaced.
func TestForeignFile(t *testing.T) {
	dir := t.TempDir()
	programs := []string{filepath.Join(dir, "of", "pennypost"), filepath.Join(dir, "of", "pennypostd")}
	to := filepath.Join(dir, "bin")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(to, "pennypostd")
	if err := os.WriteFile(foreign, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := free(to, programs); mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), foreign) {
		t.Errorf("free = %v", err)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/pennypostd", foreign); err != nil {
		t.Skip(err)
	}
	if err := free(to, programs); err != nil {
		t.Errorf("free = %v", err)
	}
	if err := link(to, programs); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if got, err := os.Readlink(filepath.Join(to, filepath.Base(p))); got != p {
			t.Errorf("the link leads to %q, %v", got, err)
		}
	}
}

// On Windows the line is PowerShell, whatever the directory's name. It has not been tried on Windows yet.
func TestPathLineOfWindows(t *testing.T) {
	const line = `[Environment]::SetEnvironmentVariable('Path', ` +
		`[Environment]::GetEnvironmentVariable('Path', 'User') + ';DIR', 'User')`
	for dir, want := range map[string]string{
		`C:\Users\Ann\bin`:      `C:\Users\Ann\bin`,
		`C:\Program Files\a $b`: `C:\Program Files\a $b`,
		`D:\O'Neil\bin`:         `D:\O''Neil\bin`,
		"D:\\it\u2019s":         "D:\\it\u2019\u2019s",
	} {
		if got, want := pathLine("windows", "", dir), strings.Replace(line, "DIR", want, 1); got != want {
			t.Errorf("pathLine(%q) = %s, want %s", dir, got, want)
		}
	}
}
