package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pennypost/internal/base/versions"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// Binary returns the path by which clients should start Pennypost: that of the front next to this program, else of
// this program. It prefers the path that the shell finds, if that leads to the same file, because a package manager
// keeps that path when it replaces the file.
func Binary() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if regexp.MustCompile(`/go-build\d+/`).MatchString(filepath.ToSlash(self)) {
		return "", mail.Errorf(mail.Invalid,
			"this program was made by go run and is temporary; build it first: scripts/build")
	}
	ext := filepath.Ext(self)
	if front := filepath.Join(filepath.Dir(self), "pennypost"+ext); ext == "" || ext == ".exe" {
		if _, err := os.Stat(front); err == nil {
			self = front
		}
	}
	self = versions.Stable(self)
	found, err := exec.LookPath("pennypost")
	if err != nil {
		return self, nil
	}
	if found, err = filepath.Abs(found); err == nil && Same(found, self) {
		return found, nil
	}
	return self, nil
}

// Same reports whether two paths lead to one file.
func Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Launches reports whether found, which a shell would start, starts program: it is program itself, or the script of
// our npm package that contains it.
func Launches(found, program string) bool {
	if Same(found, program) {
		return true
	}
	script, err := filepath.EvalSymlinks(found)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	modules, ok := strings.CutSuffix(filepath.ToSlash(script), "/node_modules/pennypost/bin/"+name+".js")
	return ok && strings.HasPrefix(filepath.ToSlash(program), modules+"/node_modules/")
}

// hookCommand returns the command line of a hook. It is the same for every version of this program: Codex asks the
// person again whenever one changes.
func hookCommand(o *Options, client, event string) string {
	words := append([]string{o.Binary, "hook", client, event}, o.named()...)
	for i, w := range words {
		words[i] = shellWord(o.GOOS, w)
	}
	return strings.Join(words, " ")
}

// waitEvent is the event name of the waiting hook.
const waitEvent = "wait"

// waitCommand returns the command line of Claude Code's waiting hook. A hook that cannot be started would count as
// failed, and be started again and again (claude-code#96148), so the line succeeds where the program is gone.
func waitCommand(o *Options) string {
	return `if test -x "$(command -v ` + shellWord(o.GOOS, o.Binary) + `)"; then exec ` + hookCommand(o, "claude",
		waitEvent) + "; fi"
}

// isWait reports whether a command line of ours is the waiting hook's.
func isWait(line string) bool { return strings.HasPrefix(line, "if ") }

// shellWord quotes a word for the shell that clients use.
func shellWord(goos, w string) string {
	if goos != "windows" {
		return wording.Shell(w)
	}
	if p := strings.ReplaceAll(w, `\`, "/"); wording.Shell(p) == p {
		return w
	}
	return `"` + w + `"` // no file name has this character
}

// shellWords splits a command line; it handles only the quoting that we write.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, inWord := rune(0), false
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case quote != '\'' && escapes(runes[i:]):
			i++
			word.WriteRune(runes[i])
			inWord = true
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// escapes reports whether the first character is a backslash that escapes the next.
func escapes(runes []rune) bool {
	return len(runes) > 1 && runes[0] == '\\' && strings.ContainsRune(`'" \$`, runes[1])
}

// isBinary reports whether a path is one of our programs'.
func isBinary(path string) bool {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	base = strings.TrimSuffix(base, ".exe")
	return base == "pennypost" || base == "pennypostd"
}

// hookOf returns the program that a command line starts, if the line is one of our hooks for the client.
func hookOf(line, client string) (binary string, ours bool) {
	if _, command, ok := strings.Cut(line, "; then exec "); ok && isWait(line) {
		line = strings.TrimSuffix(command, "; fi")
	}
	words := shellWords(strings.TrimPrefix(line, "& ")) // PowerShell's call of a quoted program
	if len(words) >= 4 && isBinary(words[0]) && words[1] == "hook" && words[2] == client {
		return words[0], true
	}
	return "", false
}

// serverOf returns the program of a server's command, if the server is ours.
func serverOf(command []string) (binary string, ours bool) {
	if len(command) >= 2 && isBinary(command[0]) && slices.Contains(command[1:], "mcp") {
		return command[0], true
	}
	return "", false
}

// serverCommand returns the command for a server that is already there: our program, with the arguments that the
// person gave it, unless a name is asked for.
func serverCommand(o *Options, old []string) []string {
	if o.As == "" && len(old) > 1 {
		return append([]string{o.Binary}, old[1:]...)
	}
	return append([]string{o.Binary}, mcpArgs(o)...)
}
