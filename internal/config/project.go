package config

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// ProjectFile is the name of a project's own settings.
const ProjectFile = ".pennypost.toml"

// Project is a project's own settings from its ProjectFile.
type Project struct {
	Room  mail.RoomName `toml:"room"`  // instead of the Git repository's
	Agent mail.Name     `toml:"agent"` // the name of sessions without another one
	Dir   string        `toml:"-"`     // the directory of the ProjectFile; "": there is none
}

// FindProject returns the settings of the project around dir: the nearest ProjectFile at or above dir, but not above
// the top of the Git working tree. They are empty if there is none.
func FindProject(dir string) (Project, error) {
	var p Project
	top := ProjectDir(dir)
	for at := dir; ; at = filepath.Dir(at) {
		file := filepath.Join(at, ProjectFile)
		text, err := durable.ReadFile(file)
		switch {
		case err == nil:
			p.Dir = at
			return p, p.parse(file, text)
		case !errors.Is(err, fs.ErrNotExist):
			return p, mail.Errorf(mail.Invalid, "%s cannot be read: %w", file, err)
		case at == top || at == filepath.Dir(at):
			return p, nil
		}
	}
}

// WriteProject adds the settings of p to the ProjectFile of dir, and returns its path and whether it changed. A
// different existing setting is an error, and stays; so do the file's comments.
func WriteProject(dir string, p Project) (file string, changed bool, err error) {
	file = filepath.Join(dir, ProjectFile)
	text, err := durable.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return file, false, err
	}
	var old Project
	if err := old.parse(file, text); err != nil {
		return file, false, err
	}
	var add []byte
	for _, key := range []struct{ name, old, value string }{{"room", string(old.Room), string(p.Room)},
		{"agent", string(old.Agent), string(p.Agent)}} {
		switch key.old {
		case key.value:
		case "":
			add = append(add, key.name+" = "+quoted(key.value)+"\n"...)
		default:
			return file, false, mail.Errorf(mail.Conflict,
				"%s contains %s = %q, not %q, and was not changed. To change it, edit the file and try "+
					"again", file, key.name, key.old, key.value)
		}
	}
	if len(add) == 0 {
		return file, false, nil
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return file, true, durable.WriteFile(file, append(text, add...), 0o644)
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

// ClientDir returns the project's directory from the environment in which a client runs its hooks and servers, "" if
// it is not there. The working directory may be anywhere below it.
func ClientDir(client string, getenv func(string) string) string {
	switch client {
	case "claude", "cursor", "gemini":
		return getenv(strings.ToUpper(client) + "_PROJECT_DIR")
	}
	return ""
}
