package config

import (
	"testing"

	"pennypost/internal/mail"
)

// Whatever a directory is called, the name derived from it can be registered.
func TestAgentName(t *testing.T) {
	for dir, want := range map[string]mail.Name{
		"/src/parser": "claude-parser", "/src/.dots": "claude-dots", "/": "claude", "/src/me@work": "claude-me-work",
		"/src/a\u200db": "claude-ab", "/src/小克": "claude-小克",
	} {
		name, err := FreeAgent("claude", dir)
		if err != nil || name != want || name.CheckNew() != nil {
			t.Errorf("FreeAgent(%q) = %q, %v; want %q", dir, name, err, want)
		}
	}
}
