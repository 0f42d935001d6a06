package config

import (
	"path/filepath"
	"strings"

	"pennypost/internal/mail"
)

// FreeAgent returns the name of a client's session without a given name, the same for its hooks and its MCP server,
// so that the next session in this directory gets it again. client is the name of the program, "" if unknown.
func FreeAgent(client, dir string) (mail.Name, error) {
	if client == "" {
		client = "agent"
	}
	base := strings.Map(func(r rune) rune {
		switch {
		case r == '@': // which precedes a room
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
