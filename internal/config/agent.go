package config

import (
	"path/filepath"
	"strings"

	"pennypost/internal/mail"
)

// FindAgent returns which agent a client's session is when nobody gave it a name, for its hooks and for its MCP server
// alike: the one that the file of the project around dir names, else one with a name that the next session in this
// project will have again. client is the name of the program, "" if it is not known.
func FindAgent(client, dir string) (mail.Name, error) {
	project, err := FindProject(dir)
	if err != nil || project.Agent != "" {
		return project.Agent, err
	}
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
