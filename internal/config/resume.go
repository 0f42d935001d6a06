package config

import (
	"slices"
	"strings"
	"unicode"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// resumes returns the command up to the session's id that reopens a session, "" if none is known.
func resumes(client string) string {
	return map[string]string{
		"claude": "claude --resume", "codex": "codex resume", "gemini": "gemini --resume",
		"copilot": "copilot --resume", "cursor": "cursor-agent --resume", "opencode": "opencode --session",
		"pi": "pi --session", "agy": "agy --conversation", "qwen": "qwen --resume",
	}[client]
}

// Resume returns the command that reopens a client's session in its working directory, or "" if none is known. It
// will be pasted into a shell, and the session id comes from an agent: an id with more than letters, digits and a few
// safe characters is refused.
func Resume(client, session, dir string) string {
	words := resumes(BareClient(client))
	// ids of MCP connections are not the client's sessions
	if words == "" || !plainID(session) || strings.HasPrefix(session, "mcp-") {
		return ""
	}
	command := words + " " + session
	if dir != "" && !strings.ContainsFunc(dir, unicode.IsControl) {
		command = "cd " + wording.Shell(dir) + " && " + command
	}
	return command
}

// BareClient returns the bare name of a program whose name includes its version, or is its longer name.
func BareClient(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "/")
	name, _, _ = strings.Cut(name, " ")
	for _, suffix := range []string{"-code", "-cli"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// plainID reports whether a session's id is a word that no shell and no program misinterprets.
func plainID(id string) bool {
	if id == "" || len(id) > mail.MaxName || id[0] == '-' || id[0] == '.' {
		return false
	}
	return !slices.ContainsFunc([]rune(id), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == '.')
	})
}
