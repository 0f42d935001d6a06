package config

import (
	"cmp"
	"path/filepath"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
)

// Place is the directory where a client works, and the settings for room and agent there.
type Place struct {
	Room  mail.RoomName // from a flag or a variable; "": none
	Agent mail.Name     // likewise
	File  Project       // the proposals of the project's file, which the project's author wrote
	Own   mail.RoomName // the room of the directory without that file
	Free  mail.Name     // the name of the client's sessions in the directory if none is given
	Home  string        // the directory under which the person's decision about it is remembered; worktrees share one
}

// FindPlace returns the place of a client that works in dir. room and agent are those of its command line.
func FindPlace(room, agent string, getenv func(string) string, client, dir string) (p Place, err error) {
	if p.Room, p.Agent, err = Named(room, agent, getenv); err != nil {
		return p, err
	}
	if p.Free, err = FreeAgent(client, dir); err != nil {
		return p, err
	}
	p.Free = mail.Name(norm.NFC.String(string(p.Free)))
	if p.Room == "" || p.Agent == "" {
		if p.File, err = FindProject(dir); err != nil {
			return p, err
		}
		p.File.Agent = mail.Name(norm.NFC.String(string(p.File.Agent)))
	}
	if p.Room == "" {
		p.Own = OwnRoom(dir)
	}
	if p.Agent != "" || p.File.Dir != "" {
		p.Home = HomeDir(cmp.Or(p.File.Dir, dir))
	}
	return p, nil
}

// LetIn narrows a place to the only room and the only agent for which this machine was let into a post office; "":
// all.
func (p *Place) LetIn(room mail.RoomName, agent mail.Name) {
	p.Own, p.Free = cmp.Or(room, p.Own), cmp.Or(agent, p.Free)
}

// Named returns the room and the agent from a command line, or else from the variables; "" if neither has them.
func Named(room, agent string, getenv func(string) string) (r mail.RoomName, a mail.Name, err error) {
	if room = cmp.Or(room, getenv("PENNYPOST_ROOM")); room != "" {
		if r, err = mail.ParseRoom(room); err != nil {
			return "", "", err
		}
	}
	switch agent = cmp.Or(agent, getenv("PENNYPOST_AGENT")); agent {
	case "", string(mail.User):
		return r, mail.Name(agent), nil
	}
	// rooms use NFC names, and a shell on macOS may use another form
	a, err = mail.ParseName(norm.NFC.String(agent))
	return r, a, err
}

// Plain reports whether the place needs no one's consent: no project file proposes anything, and no name was given.
func (p *Place) Plain() bool {
	return p.Agent == "" && p.File.Agent == "" && (p.Room != "" || p.File.Room == "" || p.File.Room == p.Own)
}

// Here returns the room and the name of a plain place.
func (p *Place) Here() (mail.RoomName, mail.Name) {
	return cmp.Or(p.Room, p.Own), cmp.Or(p.Agent, p.Free)
}

// HomeDir returns the directory that represents dir: that of its Git repository, for all its worktrees, else dir
// itself.
func HomeDir(dir string) string {
	common := commonDir(dir)
	if common == "" {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return real
		}
		return dir
	}
	if filepath.Base(common) == ".git" || filepath.Base(common) == ".bare" {
		return filepath.Dir(common)
	}
	return common
}
