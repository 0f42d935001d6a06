package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pennypost/internal/mail"
)

// ProjectFile is the name of a project's own settings.
const ProjectFile = ".pennypost.toml"

// Project is what a project says of itself in its ProjectFile.
type Project struct {
	Room  mail.RoomName `toml:"room"`  // instead of that of the Git repository
	Agent mail.Name     `toml:"agent"` // the name of sessions that are given no other
}

// FindProject returns the settings of the project around dir: the nearest ProjectFile at or above dir, but not above
// the top of the Git working tree. Without one, they are empty.
func FindProject(dir string) (Project, error) {
	var p Project
	top := ProjectDir(dir)
	for at := dir; ; at = filepath.Dir(at) {
		file := filepath.Join(at, ProjectFile)
		text, err := os.ReadFile(file)
		switch {
		case err == nil:
			return p, p.parse(file, text)
		case !errors.Is(err, fs.ErrNotExist):
			return p, mail.Errorf(mail.Invalid, "%s cannot be read: %w", file, err)
		case at == top || at == filepath.Dir(at):
			return p, nil
		}
	}
}

func (p *Project) parse(file string, text []byte) error {
	text, err := plainText(file, text)
	if err != nil {
		return err
	}
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(p)
	if _, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		return mail.Errorf(mail.Invalid, "%s: it sets a key other than room and agent", file)
	}
	if err != nil {
		return mail.Errorf(mail.Invalid, "%s: %s", file, strings.TrimPrefix(err.Error(), "toml: "))
	}
	if p.Room != "" {
		if _, err := mail.ParseRoom(string(p.Room)); err != nil {
			return mail.Errorf(mail.Invalid, "%s: %w", file, err)
		}
	}
	if p.Agent != "" {
		if _, err := mail.ParseName(string(p.Agent)); err != nil {
			return mail.Errorf(mail.Invalid, "%s: %w", file, err)
		}
	}
	return nil
}

// ClientDir returns the project's directory as a client tells its hooks and servers in their environment, "" if it
// does not. The working directory may be anywhere below it.
func ClientDir(client string, getenv func(string) string) string {
	switch client {
	case "claude", "cursor", "gemini":
		return getenv(strings.ToUpper(client) + "_PROJECT_DIR")
	}
	return ""
}
