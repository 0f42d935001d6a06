package web

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"pennypost/internal/mail"
)

// resumes are the words before a session's id in the command that opens it again, by client.
var resumes = map[string]string{
	"claude": "claude --resume", "codex": "codex resume", "gemini": "gemini --resume", "copilot": "copilot --resume",
	"cursor": "cursor-agent --resume", "opencode": "opencode --session", "pi": "pi --session", "qwen": "qwen --resume",
}

// Resume is the command that opens a's session where it works, or "" if none is known. It is made to be pasted into a
// shell, and an agent says its session itself: an id that is more than letters and digits is not passed on.
func resume(a *mail.Agent, dir string) string {
	words := resumes[client(a.Client)]
	session := cmp.Or(a.Session, a.Left)
	// a connection is no session of the client's
	if words == "" || !plainID(session) || strings.HasPrefix(session, "mcp-") {
		return ""
	}
	command := words + " " + session
	if dir != "" && !strings.ContainsFunc(dir, unicode.IsControl) {
		command = "cd '" + strings.ReplaceAll(dir, "'", `'\''`) + "' && " + command
	}
	return command
}

// client is the bare name of a program that gave its version too, or was called by its longer name.
func client(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "/")
	name, _, _ = strings.Cut(name, " ")
	for _, suffix := range []string{"-code", "-cli"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// plainID reports whether a session's id is a word that no shell and no program takes for anything else.
func plainID(id string) bool {
	if id == "" || len(id) > mail.MaxName || id[0] == '-' || id[0] == '.' {
		return false
	}
	return !slices.ContainsFunc([]rune(id), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == '.')
	})
}
