package claudeteams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/durable"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// team is a team as a verb uses it.
type team struct {
	v      *dialect.Invocation
	lock   locker
	dir    string
	tasks  string
	name   string // as in file names
	config config
}

// root returns Claude Code's configuration directory.
func root(v *dialect.Invocation) string {
	if dir := v.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return v.Path(dir)
	}
	home := v.Getenv("HOME")
	if home == "" {
		home = v.Getenv("USERPROFILE")
	}
	return v.Path(filepath.Join(home, ".claude"))
}

// newTeam returns the team that an argument gives by name or by directory.
func newTeam(ctx context.Context, v *dialect.Invocation, arg string) *team {
	t := &team{v: v, lock: locker{ctx, lockTries}}
	if strings.ContainsAny(arg, `/\`) {
		t.dir = v.Path(arg)
		t.name = filepath.Base(t.dir)
		t.tasks = filepath.Join(filepath.Dir(filepath.Dir(t.dir)), "tasks", t.name)
		return t
	}
	if t.name = sanitise(arg); t.name == "" {
		t.name = "default"
	}
	t.dir, t.tasks = filepath.Join(root(v), "teams", t.name), filepath.Join(root(v), "tasks", t.name)
	return t
}

// openTeam returns an existing team.
func openTeam(ctx context.Context, v *dialect.Invocation, arg string) (*team, error) {
	t := newTeam(ctx, v, arg)
	var err error
	t.config, err = readConfig(t.files(), configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, mail.Errorf(mail.NotFound,
			"no team %q: %s has no config.json.%s Make a team with: pennypost team create NAME", arg, t.dir,
			t.others())
	}
	if t.config.name != "" {
		t.name = sanitise(t.config.name)
	}
	return t, err
}

// inTeam returns a verb that works in the team of its first argument.
func inTeam(run func(context.Context, *team, *dialect.Invocation) error) func(context.Context,
	*dialect.Invocation) error {
	return func(ctx context.Context, v *dialect.Invocation) error {
		t, err := openTeam(ctx, v, v.Args[0])
		if err != nil {
			return err
		}
		return run(ctx, t, v)
	}
}

// others lists the other teams beside t.
func (t *team) others() string {
	var names []string
	list, _ := os.ReadDir(filepath.Dir(t.dir))
	for _, d := range list {
		if isTeam(confined.At(filepath.Join(filepath.Dir(t.dir), d.Name()))) {
			names = append(names, d.Name())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " There are " + strings.Join(names, ", ") + "."
}

func (t *team) files() confined.Dir { return confined.At(t.dir) }

func (t *team) box(name string) *inbox {
	return newInbox(t.files(), inboxDir+"/"+sanitise(name)+".json", t.name, name)
}

// member returns the member called name, or an error that lists the members.
func (t *team) member(name string) (member, error) {
	m, ok := t.config.member(name)
	if !ok {
		return m, mail.Errorf(mail.NotFound, "%q is not a member of team %s; its members are %s. Nothing was sent",
			name, t.config.name, strings.Join(t.config.names(), ", "))
	}
	return m, nil
}

// native reports whether the team uses the wire of current releases.
func (t *team) native() bool {
	bases, _ := inboxNames(t.files(), inboxDir)
	for _, base := range bases {
		b := t.box(base)
		if _, err := b.load(); err != nil {
			continue
		}
		if native, ok := b.wire(); ok {
			return native
		}
	}
	return !t.config.ours() && strings.HasPrefix(t.name, "session-")
}

// post adds a message to a member's inbox. fits is called under the inbox's lock and may refuse.
func (t *team) post(from, to member, text, summary string, fits func(*inbox) error) error {
	b := t.box(to.name)
	native := t.native()
	err := b.edit(t.lock, func() (changes, error) {
		if fits != nil {
			if err := fits(b); err != nil {
				return changes{}, err
			}
		}
		e := entry{From: from.name, Text: text, Summary: summary, Timestamp: isoTime(t.v.Now), Color: from.color}
		e.guard()
		if own, ok := b.wire(); ok {
			native = own
		}
		if native {
			e.native, e.MsgID = true, string(mail.NewUUID())
		}
		return changes{add: [][]byte{e.neat()}}, nil
	})
	return t.explain(to, err)
}

// explain turns an error that is not meant for people into one that is.
func (t *team) explain(to member, err error) error {
	if _, ok := errors.AsType[*mail.Error](err); ok || err == nil {
		return err
	}
	return &mail.Error{Code: mail.Unavailable,
		Msg: fmt.Sprintf("%s's inbox could not be written: %v. Nothing was sent. Try again", to.name, err), Err: err}
}

// sync makes the room take the new entries if the team is bridged. Only the user may ask for that; for agents the
// bridge notices them by itself.
func (t *team) sync(ctx context.Context) error {
	if caller, err := t.v.Caller(ctx); err != nil || caller != mail.User {
		return err
	}
	svc, err := t.v.As(ctx, mail.User)
	if err != nil {
		return err
	}
	b, err := t.bridge(ctx, svc)
	if err != nil || b.ID == "" {
		return err
	}
	st, err := svc.SyncBridge(ctx, b.ID)
	if err == nil && st.Failing != "" {
		_, err = fmt.Fprintf(t.v.Stderr, "It is in the team's files, but the bridge %s fails: %s\n", b.ID,
			st.Failing)
	}
	return err
}

// bridge returns the room's bridge to the team; its id is empty if there is none.
func (t *team) bridge(ctx context.Context, svc mail.Connector) (mail.BridgeStatus, error) {
	all, err := svc.Bridges(ctx)
	dir := t.dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the command line adds bridges by real path
	}
	i := slices.IndexFunc(all, func(b mail.BridgeStatus) bool {
		return b.Dialect == dialectName && (b.Dir == t.dir || b.Dir == dir)
	})
	if i < 0 {
		return mail.BridgeStatus{}, err
	}
	return all[i], nil
}

// create implements "team create".
func create(ctx context.Context, v *dialect.Invocation) error {
	t := newTeam(ctx, v, v.Args[0])
	if strings.TrimSpace(v.Args[0]) == "" {
		return mail.Errorf(mail.Invalid, "a team needs a name: nothing was made")
	}
	if strings.ContainsAny(v.Args[0], `/\`) {
		return mail.Errorf(mail.Invalid,
			"%q is not a team name; $CLAUDE_CONFIG_DIR decides the directory", v.Args[0])
	}
	if _, err := v.As(ctx, mail.User); err != nil { // check before anything is made
		return err
	}
	list, _ := os.ReadDir(filepath.Dir(t.dir))
	for _, d := range list {
		if sameFile(d.Name(), t.name) {
			return mail.Errorf(mail.Conflict, "%s already has a team; nothing was made. Choose another name",
				filepath.Join(filepath.Dir(t.dir), d.Name()))
		}
	}
	c := newConfig(v.Args[0], v.Text("description"), v.Dir, mail.TimeOf(v.Now))
	for name := range strings.SplitSeq(v.Text("member"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if err := t.free(&c, name); err != nil {
			return err
		}
		c.add(newMember{name: name, kind: "general-purpose", cwd: v.Dir}, mail.TimeOf(v.Now))
	}
	if err := errors.Join(t.files().MkdirAll(inboxDir, 0o700), durable.MkdirAll(t.tasks, 0o700)); err != nil {
		return err
	}
	if err := t.files().WriteFile(configFile, c.neat(), 0o600); err != nil {
		return err
	}
	if _, err := v.Bridge(ctx, t.dir, mail.BridgeBoth); err != nil {
		return mail.Errorf(mail.CodeOf(err),
			"the team is in %s, but is not bridged: %w. Bridge it with: pennypost bridge add claudeteams %s", t.dir,
			err, t.dir)
	}
	return v.Say(struct {
		Team    string   `json:"team"`
		Dir     string   `json:"dir"`
		Members []string `json:"members"`
	}{c.name, t.dir, c.names()}, "Team %s is in %s. Its members are %s.", c.name, t.dir, strings.Join(c.names(), ", "))
}

// free checks that a new member's name is valid and that no one else has its inbox.
func (t *team) free(c *config, name string) error {
	if _, err := mail.ParseName(name); err != nil {
		return err
	}
	if fence.Quoted(name) != name {
		return mail.Errorf(mail.Invalid,
			"%q has a quote or an angle bracket; remove it. No member was added", name)
	}
	for _, m := range c.members {
		if sameFile(m.name, name) {
			return mail.Errorf(mail.Conflict,
				"%q would have the same inbox as %q, %s.json; no member was added. Choose another name", name,
				m.name,
				sanitise(m.name))
		}
	}
	bases, err := inboxNames(t.files(), inboxDir)
	for _, base := range bases {
		if sameFile(base, name) && base != sanitise(name) {
			return mail.Errorf(mail.Conflict,
				"%q would have the same inbox as a former member, %s.json; no member was added. Choose another name",
				name, base)
		}
	}
	return err
}

// add implements "team add".
func add(ctx context.Context, t *team, v *dialect.Invocation) error {
	if err := t.mayChange(ctx); err != nil {
		return err
	}
	name := v.Args[1]
	err := editConfig(t.lock, t.files(), func(c *config) error {
		if err := t.free(c, name); err != nil {
			return err
		}
		c.add(newMember{name: name, kind: v.Text("type"), model: v.Text("model"), prompt: v.Text("prompt"),
			planMode: v.Switch("plan-mode"), cwd: v.Dir}, mail.TimeOf(v.Now))
		t.config = *c
		return nil
	})
	if err != nil {
		return err
	}
	m, _ := t.config.member(name)
	if err := t.sync(ctx); err != nil {
		return err
	}
	return v.Say(struct {
		Team  string `json:"team"`
		Name  string `json:"name"`
		Color string `json:"color"`
	}{t.config.name, name, m.color}, "%s joined team %s; its colour is %s.", name, t.config.name, m.color)
}

// mayChange checks that the caller may change a team's members: the user and the lead may, except in teams that
// Claude Code runs.
func (t *team) mayChange(ctx context.Context) error {
	if !t.config.ours() {
		return mail.Errorf(mail.Denied,
			"team %s is run by Claude Code, and only Claude Code changes its members; nothing was changed",
			t.config.name)
	}
	caller, err := t.v.Caller(ctx)
	if err == nil && caller != mail.User && !called(caller, t.config.lead, t.name) {
		err = mail.Errorf(mail.Denied, "only the user and %s can change the members of team %s; nothing was changed",
			t.config.lead, t.config.name)
	}
	return err
}

// send implements "team send".
func send(ctx context.Context, t *team, v *dialect.Invocation) error {
	from, err := t.actor(ctx, t.config.lead)
	if err != nil {
		return err
	}
	to, err := t.member(v.Args[1])
	if err != nil {
		return err
	}
	text := v.Args[2]
	switch {
	case strings.TrimSpace(text) == "":
		return mail.Errorf(mail.Invalid, "the text is empty; nothing was sent")
	case from.name == to.name:
		return mail.Errorf(mail.Invalid, "%s cannot write to itself; nothing was sent", from.name)
	case v.Given["summary"] && strings.TrimSpace(v.Text("summary")) == "":
		return mail.Errorf(mail.Invalid,
			"the summary is empty; nothing was sent. Omit it, or give the topic of the text")
	case len(text) > mail.MaxBody:
		return mail.Errorf(mail.TooLarge, "the text is %d bytes long; at most %d are allowed. Nothing was sent",
			len(text), mail.MaxBody)
	}
	line := t.config.summary(&mail.Message{Subject: v.Text("summary"), Body: text})
	return t.tell(ctx, from, to, disarm(dialect.Clean(text)), line, nil, "")
}

// tell puts a text into an inbox, brings it into the room and reports that. check may refuse.
func (t *team) tell(ctx context.Context, from, to member, text, summary string, check func(*inbox) error,
	request string) error {
	if err := t.post(from, to, text, summary, check); err != nil {
		return err
	}
	if err := t.sync(ctx); err != nil {
		return err
	}
	return t.sent(from, to, request)
}

// sent reports a sent message.
func (t *team) sent(from, to member, request string) error {
	words := "Sent to " + to.name + "."
	if request != "" {
		words = "Sent to " + to.name + ": " + request
	}
	return t.v.Say(struct {
		From    string `json:"from"`
		To      string `json:"to"`
		Color   string `json:"target_color,omitempty"`
		Request string `json:"request_id,omitempty"`
	}{from.name, to.name, to.color, request}, "%s", words)
}

// remove implements "team delete".
func remove(ctx context.Context, t *team, v *dialect.Invocation) error {
	svc, err := v.As(ctx, mail.User)
	if err != nil {
		return err
	}
	if err := t.mayDelete(); err != nil && !v.Switch("force") {
		return err
	}
	b, err := t.bridge(ctx, svc)
	if err != nil {
		return err
	}
	if b.ID != "" { // the room takes the new entries and sees the members leave
		if err := editConfig(t.lock, t.files(), func(c *config) error { c.members = nil; return nil }); err != nil {
			return err
		}
		if _, err = svc.SyncBridge(ctx, b.ID); err != nil {
			return err
		}
	}
	for _, dir := range []string{t.dir, t.tasks} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if b.ID != "" {
		if err := svc.RemoveBridge(ctx, b.ID); err != nil {
			return err
		}
	}
	erased := 0
	if v.Switch("erase") {
		if erased, err = eraseTeam(ctx, svc, t.name); err != nil {
			return err
		}
	}
	return v.Say(struct {
		Team   string `json:"team"`
		Erased int    `json:"erased"`
	}{t.config.name, erased}, "Team %s is deleted.", t.config.name)
}

// mayDelete returns why deleting the team needs --force.
func (t *team) mayDelete() error {
	left := slices.DeleteFunc(t.config.names(), func(n string) bool { return n == t.config.lead })
	switch {
	case !t.config.ours():
		return mail.Errorf(mail.Conflict, "team %s is run by Claude Code; nothing was deleted. If its session has "+
			"ended, delete what it left with --force", t.config.name)
	case len(left) > 0:
		return mail.Errorf(mail.Conflict,
			"team %s still has %s; nothing was deleted. Shut them down first, or delete with --force", t.config.name,
			strings.Join(left, ", "))
	}
	return nil
}

// eraseTeam erases the messages that came from a team's files.
func eraseTeam(ctx context.Context, svc mail.Service, name string) (n int, err error) {
	var ids []mail.ID
	for it, err := range svc.Export(ctx) {
		if err != nil {
			return 0, err
		}
		if carriedBy(it.Metadata).string("team") == name && it.Via != "" {
			ids = append(ids, it.ID)
		}
	}
	for _, id := range ids {
		if err := svc.Erase(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
