package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
)

// Report is what is installed in one scope of a client.
type Report struct {
	Client   Client
	Scope    Scope
	Files    []FileReport
	Present  bool   // the client seems to be on this machine
	Disabled string // what makes what is installed do nothing, and stands
	Where    string // in this file
	Plugin   string // the plugin of ours that the client has
	// Untrusted are the events whose hooks are there, and which the client does not run before its user has trusted
	// them.
	Untrusted []string
	Warnings  []string
}

// FileReport is what is installed in a file.
type FileReport struct {
	Path    string
	What    string
	Entries []Entry
	Err     error // why that is not known
	// Behind says that an installation would change the file.
	Behind bool
}

// Look reports on all clients, in every scope that they have. Nothing is changed.
func Look(o Options) []Report {
	var all []Report
	for _, c := range Clients() {
		for _, scope := range c.Scopes {
			if scope == Project && o.Root == o.Home {
				continue // no project, and partly the same files
			}
			o.Scope = scope
			all = append(all, look(c, &o))
		}
	}
	return all
}

func look(c Client, o *Options) Report {
	r := Report{Client: c, Scope: o.Scope}
	if _, err := exec.LookPath(c.Program); err == nil {
		r.Present = true
	}
	asking := *o
	asking.Ask = true
	asks := c.allFiles(&asking)
	for i, f := range c.allFiles(o) {
		fr := FileReport{Path: f.path, What: f.what}
		text, err := read(f.path)
		if err == nil && text != nil {
			fr.Entries, err = f.entries(text)
		}
		if err != nil {
			fr.Err = located(f.path, err)
		} else if after, err := f.put(text); err == nil {
			asked, _ := asks[i].put(text) // which is an installation too: warns says what it means
			fr.Behind = !f.blank(after) && !bytes.Equal(after, text) && !bytes.Equal(asked, text)
		} else if len(fr.Entries) > 0 {
			fr.Err = located(f.path, err)
		}
		if info, err := os.Stat(filepath.Dir(f.path)); err == nil && info.IsDir() && filepath.Dir(f.path) != o.Home &&
			o.Scope == User {
			r.Present = true
		}
		r.Files = append(r.Files, fr)
	}
	if c.disabled != nil && r.Installed() {
		r.Where, r.Disabled = c.disabled(o)
	}
	if c.untrusted != nil && r.Installed() {
		r.Untrusted = c.untrusted(o)
	}
	if c.plugin != nil && o.Scope == User {
		r.Plugin = c.plugin(o)
	}
	if c.warns != nil && (r.Installed() || r.Plugin != "") {
		r.Warnings = c.warns(o)
	}
	return r
}

// Installed reports whether anything of ours is there.
func (r *Report) Installed() bool {
	for _, f := range r.Files {
		if len(f.Entries) > 0 {
			return true
		}
	}
	return false
}

// Behind reports whether an installation would change something.
func (r *Report) Behind() bool {
	for _, f := range r.Files {
		if f.Behind {
			return true
		}
	}
	return false
}
