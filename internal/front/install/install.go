package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Action is the change made to a file.
type Action string

// The actions.
const (
	Keep    Action = "unchanged"
	Create  Action = "created"
	Edit    Action = "changed"
	Restore Action = "restored" // to the exact bytes from before the installation
	Clean   Action = "cleaned"  // only our entries were removed, because others changed the file meanwhile
	Remove  Action = "removed"  // there was no such file before
	Spare   Action = "kept"     // there is a file of that name that was never ours
	Leave   Action = "left"     // our text there was edited, and so belongs to the person now
)

// edits reports whether the action changes the file.
func (a Action) edits() bool { return a != Keep && a != Leave && a != Spare }

// backupSuffix follows the name of a file in the name of its copy from before the installation.
const backupSuffix = ".pennypost-backup"

// Change is the change to one file.
type Change struct {
	Path   string `json:"path"`
	What   string `json:"what"`
	Action Action `json:"action"`
	// Backup is the copy from before the installation, if one exists after the change.
	Backup string `json:"backup,omitempty"`

	before, after []byte // nil: no file
	saves, drops  bool   // the backup is written, or removed
	own           bool   // the file is the post office's, and readable by its owner only
}

// Plan is the work of an installation, or of undoing one.
type Plan struct {
	Client  Client
	Changes []Change
	Notes   []string // for the person
	Undoes  bool     // made by Uninstall

	private bool   // new files are readable by their owner only
	top     string // empty directories are removed only below this one
}

// Find returns the client with a name.
func Find(name string) (Client, error) {
	var names []string
	for _, c := range Clients() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	known := strings.Join(names, ", ")
	if near := policy.Nearest(name, names, 1); len(near) > 0 {
		return Client{}, mail.Errorf(mail.Invalid, "there is no client %q; did you mean %s? Known clients: %s", name,
			near[0], known)
	}
	return Client{}, mail.Errorf(mail.Invalid, "there is no client %q; known clients: %s", name, known)
}

// check refuses options that do not fit the client.
func (c *Client) check(o *Options) error {
	if o.Orchestrator && c.resume == nil {
		return mail.Errorf(mail.Invalid,
			"how %s resumes an ended session without a window is not known; omit --orchestrator, and configure "+
				"another door (docs/install.md, Doors)", c.Title)
	}
	if o.Trust && c.untrusted == nil {
		return mail.Errorf(mail.Invalid, "%s runs hooks without asking for trust; omit --trust", c.Title)
	}
	if o.Ask && c.allows == "" {
		return mail.Errorf(mail.Invalid,
			"install sets no permissions in %s, whose own settings decide; omit --ask", c.Title)
	}
	if o.Dialogs && (c.Name != "copilot" || o.Scope != User) {
		return mail.Errorf(mail.Invalid, "--dialogs is only for copilot, for all projects; dialogs of other "+
			"clients are on your desk without it")
	}
	if slices.Contains(c.Scopes, o.Scope) {
		return nil
	}
	return mail.Errorf(mail.Invalid, "%s has no project configuration; omit --project", c.Title)
}

// Install returns the plan that makes the client use us. It writes nothing, and fails if any file cannot be edited.
func Install(c Client, o *Options) (*Plan, error) {
	if err := c.check(o); err != nil {
		return nil, err
	}
	if !isBinary(o.Binary) || !filepath.IsAbs(o.Binary) {
		return nil, mail.Errorf(mail.Invalid,
			"this program is called %s; entries in configurations need the name pennypost, so rename it first",
			o.Binary)
	}
	p := newPlan(c, o)
	files := c.allFiles(o)
	spared, err := spared(files)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		ch, err := f.planned(spared)
		if err != nil {
			return nil, err
		}
		if ch.Action != "" {
			ch.own = f.path == o.Config
			p.Changes = append(p.Changes, ch)
		}
	}
	p.Notes = append(c.allowNotes(o), c.notes(o)...)
	if o.Orchestrator {
		p.Notes = append(p.Notes, doorNotes(o)...)
	}
	return p, p.unlocked()
}

// planned returns the change that an installation makes to the file, without an action if it makes none. spared are
// the files that belong to someone else.
func (f *file) planned(spared map[string]bool) (ch Change, err error) {
	before, err := read(f.path)
	switch {
	case err != nil:
		return ch, err
	case spared[f.path]:
		return Change{Path: f.path, What: f.what, Action: Spare, before: before}, nil
	case len(spared) > 0 && len(f.mine(before)) == 0:
		return ch, nil // it belongs with scripts of ours, which are not written
	}
	after, err := f.put(before)
	if err != nil {
		return ch, located(f.path, err)
	}
	if before == nil && (f.blank(after) || len(after) == 0) && len(f.mine(after)) == 0 {
		return ch, nil // a file that the client could have, but does not need
	}
	return f.change(before, after)
}

// spared returns the files that belong to someone else and stay. If there is one, nothing new is written, because our
// files work only together.
func spared(files []file) (map[string]bool, error) {
	out := make(map[string]bool)
	for _, f := range files {
		own, ok := f.editor.(interface{ spares(text []byte) bool })
		if !ok {
			continue
		}
		text, err := read(f.path)
		if err != nil {
			return nil, err
		}
		if own.spares(text) {
			out[f.path] = true
		}
	}
	return out, nil
}

// Spares reports whether the plan leaves files alone because they belong to someone else.
func (p *Plan) Spares() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action == Spare })
}

// change is the change that an installation makes to a file.
func (f *file) change(before, after []byte) (Change, error) {
	ch := Change{Path: f.path, What: f.what, Action: Edit, before: before, after: after}
	switch {
	case f.blank(after) || bytes.Equal(before, after):
		ch.Action = f.kept(before)
	case before == nil:
		ch.Action = Create
	case f.onlyOurs(before): // nothing worth a backup
	default:
		saved, err := read(f.path + backupSuffix)
		if err != nil {
			return ch, err
		}
		// An existing backup is from before the installation, while our entries are in the file.
		ch.saves = saved == nil || len(f.mine(before)) == 0
		ch.Backup = f.path + backupSuffix
	}
	return ch, nil
}

// allFiles returns the client's files, and our configuration with the orchestrator's door.
func (c *Client) allFiles(o *Options) []file { return append(c.files(o), c.door(o)...) }

// unlocked refuses to change a file that someone made read-only. It could be replaced, but its owner does not want
// that.
func (p *Plan) unlocked() error {
	for _, c := range p.Changes {
		if !c.Action.edits() || c.before == nil {
			continue
		}
		if info, err := os.Stat(c.Path); err == nil && info.Mode().Perm()&0o200 == 0 {
			return located(c.Path, mail.Errorf(mail.Denied, "the file is read-only. Nothing was written. To make "+
				"it writable: chmod u+w '%s'", c.Path))
		}
	}
	return nil
}

func newPlan(c Client, o *Options) *Plan {
	p := &Plan{Client: c, private: o.Scope == User, top: o.Home}
	if o.Scope == Project {
		p.top = o.Root
	}
	return p
}

// kept is the action for a file that does not change.
func (f *file) kept(text []byte) Action {
	if own, ok := f.editor.(interface{ edited(text []byte) bool }); ok && own.edited(text) {
		return Leave
	}
	return Keep
}

// onlyOurs reports whether a text has only our entries.
func (f *file) onlyOurs(text []byte) bool {
	rest, taken, err := f.strip(text, nil)
	return err == nil && len(taken) > 0 && f.blank(rest)
}

// mine returns our entries in a text that can be parsed.
func (f *file) mine(text []byte) []Entry {
	list, _ := f.entries(text)
	return list
}

// read returns the content of a file, or nil if there is none.
func read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if text == nil {
		text = []byte{}
	}
	return text, err
}

func located(path string, err error) error {
	if e, ok := errors.AsType[*mail.Error](err); ok {
		return mail.Errorf(e.Code, "%s: %s", path, e.Msg)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Uninstall returns the plan that removes us from the client's files.
func Uninstall(c Client, o *Options) (*Plan, error) {
	if err := c.check(o); err != nil {
		return nil, err
	}
	p := newPlan(c, o)
	p.Undoes = true
	for _, f := range c.allFiles(o) {
		ch, err := f.undo()
		if err != nil {
			return nil, located(f.path, err)
		}
		if ch.before != nil {
			p.Changes = append(p.Changes, ch)
		}
	}
	return p, p.unlocked()
}

// undo returns the change that removes us from the file.
func (f *file) undo() (Change, error) {
	ch := Change{Path: f.path, What: f.what, Action: Keep}
	text, err := read(f.path)
	if err != nil || text == nil {
		return ch, err
	}
	saved, err := read(f.path + backupSuffix)
	if err != nil {
		return ch, err
	}
	ch.before = text
	if ch.Action, ch.after, err = f.without(text, saved); err != nil {
		return ch, err
	}
	switch {
	case saved == nil:
	case bytes.Equal(ch.after, saved), len(f.mine(saved)) > 0:
		ch.drops = true // the file has everything that the backup has, or the backup has entries of ours
	case ch.Action.edits():
		ch.Backup = f.path + backupSuffix
	}
	return ch, nil
}

// without returns a text without our entries. saved is the text before the installation, or nil if there was no file.
func (f *file) without(text, saved []byte) (Action, []byte, error) {
	base := saved
	if len(f.mine(saved)) > 0 {
		base = nil // our entries were already there; the text before them is unknown
	}
	rest, taken, err := f.strip(text, base)
	if err != nil || len(taken) == 0 {
		return f.kept(text), text, err
	}
	again, err := f.replay(base, taken)
	exact := err == nil && bytes.Equal(again, text)
	switch {
	case base == nil && (exact || f.blank(rest)):
		return Remove, nil, nil
	case exact, base != nil && bytes.Equal(rest, base):
		return Restore, base, nil
	}
	return Clean, rest, nil
}

// Changed reports whether the plan changes any file of the client.
func (p *Plan) Changed() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action.edits() })
}

// Apply carries the plan out, file by file. It stops at a file that has changed since the plan was made.
func (p *Plan) Apply() error {
	for i := range p.Changes {
		if err := p.apply(&p.Changes[i]); err != nil {
			return located(p.Changes[i].Path, err)
		}
	}
	return nil
}

func (p *Plan) apply(c *Change) error {
	now, err := read(c.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.before) || (now == nil) != (c.before == nil) {
		return mail.Errorf(mail.Conflict, "the file was changed at this moment, so it was not written. Try again")
	}
	perm, dirPerm := fs.FileMode(0o644), fs.FileMode(0o755)
	if p.private || c.own {
		perm, dirPerm = 0o600, 0o700
	}
	if c.saves {
		if info, err := os.Stat(c.Path); err == nil {
			perm = info.Mode().Perm()
		}
		err = durable.WriteFile(c.Path+backupSuffix, c.before, perm)
	}
	if err == nil {
		err = c.carryOut(perm, dirPerm)
	}
	if err == nil && c.drops {
		err = os.Remove(c.Path + backupSuffix)
	}
	if err == nil && c.Action == Remove {
		p.removeEmpty(filepath.Dir(c.Path))
	}
	return err
}

// carryOut changes the file itself.
func (c *Change) carryOut(perm, dirPerm fs.FileMode) error {
	switch c.Action {
	case Keep, Leave, Spare:
		return nil
	case Remove:
		return os.Remove(c.Path)
	}
	if err := durable.MkdirAll(filepath.Dir(c.Path), dirPerm); err != nil {
		return err
	}
	if bytes.HasPrefix(c.after, []byte("#!")) {
		perm |= perm & 0o444 >> 2 // readers of a script may run it
	}
	return durable.WriteFile(c.Path, c.after, perm)
}

// removeEmpty removes directories that the removal has emptied.
func (p *Plan) removeEmpty(dir string) {
	for strings.HasPrefix(dir, p.top+string(filepath.Separator)) && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

// Diff returns the plan's changes as a unified diff.
func (p *Plan) Diff() []byte {
	var out []byte
	for _, c := range p.Changes {
		if !c.Action.edits() {
			continue
		}
		from, to := c.Path, c.Path
		if c.before == nil {
			from = os.DevNull
		}
		if c.after == nil {
			to = os.DevNull
		}
		d := diff.Diff(from, c.before, to, c.after)
		if i := bytes.IndexByte(d, '\n'); i >= 0 && bytes.HasPrefix(d, []byte("diff ")) {
			d = d[i+1:] // names no program
		}
		out = append(out, d...)
	}
	return out
}
