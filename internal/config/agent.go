package config

import (
	"path/filepath"
	"strings"

	"pennypost/internal/mail"
)

// FreeAgent returns what a client's session is called when nobody gave it a name, for its hooks and for its MCP server
// alike, so that the next session in this directory is called that again. client is the name of the program, "" if it
// is not known.
func FreeAgent(client, dir string) (mail.Name, error) {
	if client == "" {
		client = "agent"
	}
	base := strings.Map(func(r rune) rune {
		switch {
		case r == '@': // behind which stands a room
			return '-'
		case mail.Ignorable(r):
			return -1
		}
		return r
	}, filepath.Base(dir))
	if name, err := mail.ParseName(client + "-" + strings.TrimLeft(base, ".")); err == nil && base != "/" &&
		base != "." {
		return name, nil
	}
	return mail.ParseName(client)
}
