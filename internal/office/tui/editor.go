package tui

import (
	"os"
	"os/exec"
	"runtime"
	"strings"

	"pennypost/internal/mail"
)

// below separates an answer from the quoted message in the editor.
const below = "# ---- text below this line is not sent ----"

// edit lends the terminal to the person's editor.
func (r *runner) edit(e editor) edited {
	if err := r.scr.Suspend(); err != nil {
		return edited{err: err}
	}
	text, err := editText(r.opts.Editor, e)
	if resumed := r.scr.Resume(); err == nil {
		err = resumed
	}
	return edited{text, err}
}

// editorCommand returns the command that runs an editor, which may have arguments, on a file. On Windows it uses no
// shell, since cmd has its own quoting and would pass the quotes as part of the file's name.
func editorCommand(goos, command, file string) []string {
	if goos != "windows" {
		return []string{"sh", "-c", command + ` "$@"`, command, file}
	}
	var argv []string
	for rest := strings.TrimSpace(command); rest != ""; rest = strings.TrimSpace(rest) {
		word, after, quoted := rest, "", false
		if inner, ok := strings.CutPrefix(rest, `"`); ok {
			word, after, quoted = strings.Cut(inner, `"`)
		}
		if !quoted {
			word, after, _ = strings.Cut(rest, " ")
		}
		argv, rest = append(argv, word), after
	}
	return append(argv, file)
}

// editText runs the editor on a temporary file with a text, and returns the edited text.
func editText(command string, e editor) (string, error) {
	f, err := os.CreateTemp("", "pennypost-*.md")
	if err != nil {
		return e.text, err
	}
	defer os.Remove(f.Name())
	text := e.text + "\n"
	if e.beside != "" {
		text += "\n" + below + "\n" + quote(clean(e.beside))
	}
	_, err = f.WriteString(text)
	if left := f.Close(); err == nil {
		err = left
	}
	if err != nil {
		return e.text, err
	}
	argv := editorCommand(runtime.GOOS, command, f.Name())
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return e.text, mail.Errorf(mail.Unavailable, "the editor %q failed. Nothing was sent: %w", command, err)
	}
	out, err := os.ReadFile(f.Name())
	if err != nil {
		return e.text, err
	}
	kept, _, _ := strings.Cut(string(out), below)
	return strings.TrimSpace(kept), nil
}

func quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n> ") + "\n"
}
