package cli

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Lines that setup adds to the configuration are marked, with the value, so that TakeFromConfig knows which of them a
// person has changed since.
const (
	addedMark = " # added by pennypost"
	setMark   = " # set by pennypost to "
)

// AddToConfig adds a section to the configuration and, if there is a key, sets it there. The section may already be
// there without the key. The rest of the file stays as it is. A running post office uses it after a restart.
func (a *App) AddToConfig(section, key, value string) error {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	if err := home.Create(); err != nil {
		return err
	}
	before, err := readConfig(home)
	if err != nil {
		return err
	}
	line := ""
	if quoted := strconv.Quote(value); key != "" {
		line = key + " = " + quoted + setMark + quoted
	}
	if err := writeConfig(home, addSection(before, "["+section+"]", line)); err != nil {
		return err
	}
	if _, err := a.LoadConfig(); err != nil {
		return errors.Join(mail.Errorf(mail.Conflict, "[%s] cannot be added to %s, which is unchanged: %w",
			section, home.File(), err), writeConfig(home, before))
	}
	return nil
}

// addSection returns text with a section, and with a line in it.
func addSection(text, header, line string) string {
	lines := strings.SplitAfter(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return sectionOf(l) == header })
	switch {
	case at < 0 && line != "":
		line += "\n"
		fallthrough
	case at < 0:
		if text != "" {
			text += "\n" // an empty line, in a file that ends with a line break
		}
		return text + header + addedMark + "\n" + line
	case line == "":
		return text
	case !strings.HasSuffix(lines[at], "\n"):
		return text + "\n" + line
	}
	return strings.Join(slices.Insert(lines, at+1, line+"\n"), "")
}

// sectionOf returns the section header in a line, "" if it has none.
func sectionOf(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return strings.TrimSpace(line)
}

// AddedToConfig returns the lines that AddToConfig has written into the configuration: those that are unchanged, and
// those that a person has changed since, or has added to.
func (a *App) AddedToConfig() (ours, changed []string, err error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return nil, nil, err
	}
	text, err := readConfig(home)
	_, ours, changed = withoutAdded(text)
	return ours, changed, err
}

// TakeFromConfig removes the lines that AddToConfig has written and no one has changed since. The file is then as it
// was before, byte for byte, and is removed if it is empty.
func (a *App) TakeFromConfig() error {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	text, err := readConfig(home)
	if err != nil {
		return err
	}
	rest, _, _ := withoutAdded(text)
	switch rest {
	case text:
		return nil
	case "":
		return os.Remove(home.File())
	}
	return writeConfig(home, rest)
}

// withoutAdded returns text without the lines that addSection added, the removed lines, and those left because they
// were changed.
func withoutAdded(text string) (rest string, ours, changed []string) {
	// Compiled here, not at each start of the program, which is a hook's start too.
	addedLine := regexp.MustCompile(`(?m)^\w+ = (.*)` + setMark + `(.*)(?:\n|\z)`)
	addedSection := regexp.MustCompile(
		`(?m)^\[[\w.]+\]` + addedMark + `\n(?:\w+ = (.*)` + setMark + `(.*)(?:\n|\z))?`)
	ownLine := regexp.MustCompile(addedMark + `$|` + setMark + `.*$`)
	noMoreKeys := regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*(?:[ \t]*\[|[ \t]*(?:#.*)?\z)`)
	rest = text
	for _, added := range []*regexp.Regexp{addedSection, addedLine} {
		for _, m := range slices.Backward(added.FindAllStringSubmatchIndex(rest, -1)) { // from the end
			before, own, behind := rest[:m[0]], rest[m[0]:m[1]], rest[m[1]:]
			same := m[2] < 0 || rest[m[2]:m[3]] == rest[m[4]:m[5]]
			if !same || added == addedSection && !noMoreKeys.MatchString(behind) {
				continue
			}
			for line := range strings.Lines(own) {
				ours = append(ours, ownLine.ReplaceAllString(strings.TrimSpace(line), ""))
			}
			// The line break before it was added too, but may be needed now.
			if added == addedSection && (behind == "" || strings.HasSuffix(before, "\n\n")) ||
				!strings.HasSuffix(own, "\n") {
				before = strings.TrimSuffix(before, "\n")
			}
			rest = before + behind
		}
	}
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); ownLine.MatchString(line) {
			changed = append(changed, ownLine.ReplaceAllString(line, ""))
		}
	}
	return rest, ours, changed
}

func readConfig(home config.Home) (string, error) {
	text, err := durable.ReadFile(home.File())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

func writeConfig(home config.Home, text string) error {
	return durable.WriteFile(home.File(), []byte(text), 0o600)
}
