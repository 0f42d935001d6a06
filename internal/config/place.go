package config

import (
	"cmp"
	"path/filepath"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
)

// Place is where a client works, and what was said of the room and the agent that are meant there.
type Place struct {
	Room  mail.RoomName // that a flag or a variable names; "": none does
	Agent mail.Name     // likewise
	File  Project       // what the file of the project proposes: whoever wrote the project wrote it
	Own   mail.RoomName // the room of the directory without that file
	Free  mail.Name     // what the client's sessions in the directory are called without a name
	Home  string        // the directory, as the person's word on it is remembered; worktrees share one
}

// FindPlace returns what is said of a client that works in dir. room and agent are those of its command line.
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

// LetIn narrows a place to the one room and the one agent for which this machine was let into a post office; "": it
// was let in for all.
func (p *Place) LetIn(room mail.RoomName, agent mail.Name) {
	p.Own, p.Free = cmp.Or(room, p.Own), cmp.Or(agent, p.Free)
}

// Named returns the room and the agent that a command line names, or else the variables; "" if neither does.
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
	// rooms know names in this form, and a shell on macOS may spell them in another
	a, err = mail.ParseName(norm.NFC.String(agent))
	return r, a, err
}

// Plain reports whether nobody has to be asked for the place: no file of a project proposes anything, and no name was
// given.
func (p *Place) Plain() bool {
	return p.Agent == "" && p.File.Agent == "" && (p.Room != "" || p.File.Room == "" || p.File.Room == p.Own)
}

// Here returns the room and the name of a place that is plain.
func (p *Place) Here() (mail.RoomName, mail.Name) {
	return cmp.Or(p.Room, p.Own), cmp.Or(p.Agent, p.Free)
}

// HomeDir returns the directory that stands for dir: that of its Git repository, whichever worktree it is in, else
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
