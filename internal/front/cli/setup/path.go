package setup

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

// desktopHere says that this system's desktop can be found without a variable.
const desktopHere = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// ourPrograms returns the two programs, or the one that is both.
func (g *guide) ourPrograms() ([]string, error) {
	self, err := install.Binary()
	if err != nil {
		return nil, err
	}
	office, err := g.OfficeProgram()
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	if real, err := filepath.EvalSymlinks(office); err == nil {
		office = real
	}
	return slices.Compact([]string{self, office}), nil
}

// onPath puts the programs on the PATH by links in a directory of the person's that is on it, or prints the line to
// type.
func (g *guide) onPath() error {
	programs, err := g.ourPrograms()
	if err != nil {
		return err
	}
	var lost []string // programs that the shell does not find
	for _, p := range programs {
		found, err := exec.LookPath(filepath.Base(p))
		switch {
		case err != nil:
			lost = append(lost, p)
		case !install.Launches(found, p):
			g.Out.Line("The shell finds another %s first: %s. Nothing was changed there; if it is old, remove it.",
				filepath.Base(p), found)
		}
	}
	if len(lost) == 0 {
		g.Out.Line("%s, on your PATH.", cli.Joined(programs, " and "))
		return nil
	}
	dir, on := g.linkDir()
	if dir == "" {
		g.Out.Line("The shell does not find %s yet. Type this:\n", names(lost))
		g.Out.Line("    %s", g.Out.Bold(pathLine(runtime.GOOS, g.Env.Getenv("SHELL"), filepath.Dir(programs[0]))))
		return nil
	}
	if err := free(dir, lost); err != nil {
		return err
	}
	where := "which is on your PATH"
	if !on {
		where = "which your shell adds to the PATH when it starts"
	}
	yes, err := g.asks("Link "+names(lost)+" in "+dir+", "+where+"?", true)
	if err != nil || !yes {
		return err
	}
	if err := link(dir, lost); err != nil {
		return err
	}
	g.Out.Line("Linked.")
	if !on {
		g.Out.Line("In this terminal, type this once:\n")
		g.Out.Line("    %s", g.Out.Bold(exportLine(g.Env.Getenv("SHELL"), dir)))
	}
	return nil
}

// free returns an error for files in dir where the programs should be linked, with the command that helps. A broken
// link is no obstacle.
func free(dir string, programs []string) error {
	for _, p := range programs {
		at := filepath.Join(dir, filepath.Base(p))
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			return cli.Hinted(mail.Errorf(mail.Conflict, "%s exists, and is not Pennypost's program. Nothing was "+
				"changed. Move it away, or delete it", at), "pennypost setup")
		}
	}
	return nil
}

// link links programs in a directory, which it creates.
func link(dir string, programs []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // others may run its programs, as in the distributions
		return err
	}
	for _, p := range programs {
		at := filepath.Join(dir, filepath.Base(p))
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Symlink(p, at); err != nil {
			return cli.Hinted(err, "pennypost setup")
		}
	}
	return nil
}

// names are the programs' names as typed.
func names(programs []string) string {
	out := make([]string, len(programs))
	for i, p := range programs {
		out[i] = filepath.Base(p)
	}
	return strings.Join(out, " and ")
}

// linkDir is a directory of the person's own that is on the PATH, or will be at their shell's next start because its
// files say so; "": there is none. ~/.local/bin need not exist yet.
func (g *guide) linkDir() (dir string, on bool) {
	home := g.Env.Getenv("HOME")
	if home == "" || runtime.GOOS == "windows" {
		return "", false
	}
	path := filepath.SplitList(g.Env.Getenv("PATH"))
	local, bin := filepath.Join(home, ".local", "bin"), filepath.Join(home, "bin")
	info, err := os.Stat(bin)
	switch {
	case slices.Contains(path, local):
		return local, true
	case slices.Contains(path, bin) && err == nil && info.IsDir():
		return bin, true
	}
	for _, file := range startFiles(g.Env.Getenv("SHELL"), home) {
		text, _ := durable.ReadFile(file)
		if ownBin().Match(text) {
			return local, false
		}
	}
	return "", false
}

// ownBin matches a line that puts ~/.local/bin on a shell's PATH, as Debian and Fedora write it.
var ownBin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[^#\n]*PATH[^#\n]*(\$HOME|\$\{HOME\}|~)/\.local/bin\b`)
})

// startFiles are the files that a shell reads at login. Bash reads one of three, the first that exists.
func startFiles(shell, home string) []string {
	names := []string{".profile"}
	switch filepath.Base(shell) {
	case "zsh":
		names = []string{".zshenv", ".zprofile", ".zshrc"}
	case "fish":
		return nil
	case "bash":
		names = []string{".bash_profile", ".bash_login", ".profile"}
		for i, name := range names {
			if _, err := os.Stat(filepath.Join(home, name)); err == nil {
				names = names[i : i+1]
				break
			}
		}
		names = append(names, ".bashrc")
	}
	for i, name := range names {
		names[i] = filepath.Join(home, name)
	}
	return names
}

// pathLine is the line that puts a directory on a shell's PATH, immediately and for good. On Windows it is a line of
// PowerShell, and works from the next shell on: setx would cut off a long PATH, and write the system's into the
// person's own.
func pathLine(goos, shell, dir string) string {
	if goos == "windows" {
		return "[Environment]::SetEnvironmentVariable('Path', " +
			"[Environment]::GetEnvironmentVariable('Path', 'User') + " + powerShellText(";"+dir) + ", 'User')"
	}
	file := "~/.profile"
	switch filepath.Base(shell) {
	case "fish":
		return "fish_add_path " + wording.Shell(dir)
	case "zsh":
		file = "~/.zshrc"
	case "bash":
		file = "~/.bashrc"
	}
	return "echo " + wording.Shell(exportLine(shell, dir)) + " >> " + file + " && . " + file
}

// powerShellText quotes a text for PowerShell, which accepts five characters as a single quote (about_Quoting_Rules;
// System.Management.Automation, CharTraits).
func powerShellText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("'\u2018\u2019\u201a\u201b", r) {
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	return "'" + b.String() + "'"
}

// exportLine is the line that puts a directory on the PATH of a running shell.
func exportLine(shell, dir string) string {
	if filepath.Base(shell) == "fish" {
		return "set -gx PATH " + wording.Shell(dir) + " $PATH"
	}
	return `export PATH="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(dir) + `:$PATH"`
}

// ourLinks are the links to the programs in the person's directories that are on the PATH, or may be.
func (g *guide) ourLinks() (links []string, err error) {
	programs, err := g.ourPrograms()
	if err != nil {
		return nil, err
	}
	home := g.Env.Getenv("HOME")
	if home == "" {
		return nil, nil
	}
	for _, dir := range append(filepath.SplitList(g.Env.Getenv("PATH")), filepath.Join(home, ".local", "bin")) {
		if !strings.HasPrefix(dir, home+string(filepath.Separator)) {
			continue
		}
		for _, p := range programs {
			at := filepath.Join(dir, filepath.Base(p))
			to, err := os.Readlink(at)
			if ours := to == p || install.Same(at, p); err == nil && ours && !slices.Contains(links, at) {
				links = append(links, at)
			}
		}
	}
	return links, nil
}

// sayPathLine names the person's shell files that have the line which setup printed.
func (g *guide) sayPathLine() {
	home := g.Env.Getenv("HOME")
	programs, err := g.ourPrograms()
	if err != nil || home == "" {
		return
	}
	line := exportLine("", filepath.Dir(programs[0]))
	for _, name := range []string{".bashrc", ".zshrc", ".profile"} {
		file := filepath.Join(home, name)
		if text, _ := durable.ReadFile(file); slices.Contains(strings.Split(string(text), "\n"), line) {
			g.Out.Line("%s contains the line that you typed, which is yours to delete: %s", file, line)
		}
	}
}
