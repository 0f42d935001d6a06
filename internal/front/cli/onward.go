package cli

import (
	"strings"

	"pennypost/internal/base/wording"
)

// onward is what the person has typed, with one flag changed: what shows the next part of a list.
func (a *App) onward(flag, value string) string {
	words := []string{"pennypost"}
	for i := 0; i < len(a.args); i++ {
		word := a.args[i]
		if word == "--"+flag {
			i++
			continue
		}
		if !strings.HasPrefix(word, "--"+flag+"=") {
			words = append(words, quoted(word))
		}
	}
	return strings.Join(append(words, "--"+flag, quoted(value)), " ")
}

// quoted is a word as a shell takes it, with nothing in it that a terminal would obey.
func quoted(word string) string {
	return wording.Shell(OneLine(word))
}
