package config

import (
	"slices"
	"strings"
	"unicode"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// resumes returns the words before a session's id in the command that opens it again, "" if none is known.
func resumes(client string) string {
	return map[string]string{
		"claude": "claude --resume", "codex": "codex resume", "gemini": "gemini --resume",
		"copilot": "copilot --resume", "cursor": "cursor-agent --resume", "opencode": "opencode --session",
		"pi": "pi --session", "agy": "agy --conversation", "qwen": "qwen --resume",
	}[client]
}

// Resume returns the command that opens a session of a client in the directory where it works, or "" if none is known.
// It is made to be pasted into a shell, and an agent says its session itself: an id that is more than letters and
// digits is not passed on.
func Resume(client, session, dir string) string {
	words := resumes(BareClient(client))
	// a connection is no session of the client's
	if words == "" || !plainID(session) || strings.HasPrefix(session, "mcp-") {
		return ""
	}
	command := words + " " + session
	if dir != "" && !strings.ContainsFunc(dir, unicode.IsControl) {
		command = "cd " + wording.Shell(dir) + " && " + command
	}
	return command
}

// BareClient is the bare name of a program that gave its version too, or was called by its longer name.
func BareClient(name string) string {
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
