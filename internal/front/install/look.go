package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Report is the state of our installation in one scope of a client.
type Report struct {
	Client   Client
	Scope    Scope
	Files    []FileReport
	Present  bool   // the client seems to be on this machine
	Command  bool   // its program is on the PATH
	Disabled string // the setting that disables our entries
	Where    string // the file with that setting
	Plugin   string // our plugin in the client
	// Untrusted are the events of our hooks that the client does not run before its user trusts them.
	Untrusted []string
	Warnings  []string
}

// FileReport is the state of our entries in a file.
type FileReport struct {
	Path    string
	What    string
	Entries []Entry
	Err     error // why the entries are unknown
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
	_, missing := exec.LookPath(c.Program)
	r.Command = missing == nil
	r.Present = r.Command
	asking := *o
	asking.Ask = true
	asks := c.allFiles(&asking)
	for i, f := range c.allFiles(o) {
		r.Files = append(r.Files, f.look(&asks[i]))
		dir := filepath.Dir(f.path)
		info, err := os.Stat(dir)
		r.Present = r.Present || err == nil && info.IsDir() && dir != o.Home && o.Scope == User
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

// look reports on the file. asks is the same file in an installation with Ask.
func (f *file) look(asks *file) FileReport {
	fr := FileReport{Path: f.path, What: f.what}
	text, err := read(f.path)
	if err == nil && text != nil {
		fr.Entries, err = f.entries(text)
	}
	if err != nil {
		fr.Err = located(f.path, err)
		return fr
	}
	after, err := f.put(text)
	switch {
	case err == nil:
		asked, _ := asks.put(text) // this is an installation too; warns explains it
		fr.Behind = !f.blank(after) && !bytes.Equal(after, text) && !bytes.Equal(asked, text)
	case len(fr.Entries) > 0:
		fr.Err = located(f.path, err)
	}
	return fr
}

// Installed reports whether anything of ours is there.
func (r *Report) Installed() bool {
	return slices.ContainsFunc(r.Files, func(f FileReport) bool { return len(f.Entries) > 0 })
}

// Behind reports whether an installation would change something.
func (r *Report) Behind() bool {
	return slices.ContainsFunc(r.Files, func(f FileReport) bool { return f.Behind })
}
