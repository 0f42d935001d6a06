package claudeteams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// files is a team's directory as a bridge sees it.
type files struct {
	opts    dialect.FilesOptions
	team    string // as in file names
	names   *names
	written *written
	owed    *owed

	config config // no members if there is no config.json
	boxes  map[string]*box
	asked  map[string]mail.ID // requests, by the ids in their frames
	seen   map[mail.Name]string
	begun  bool // the inboxes were read once
	// unreadSince is when each unread entry of ours was first seen in the lead's inbox.
	unreadSince map[mail.ID]time.Time

	entered []mail.Receipt  // receipts for entries written since the last Read
	dropped map[string]bool // members without an inbox that the room has been told of
}

// box is an inbox and the entries of it that the room knows.
type box struct {
	*inbox
	base   string           // the file name without ".json"
	seen   map[mail.ID]bool // entries, and whether they were read
	taken  map[mail.ID]bool // the room's ids of entries that have an id of their own
	unfit  map[mail.ID]bool // entries in seen that Claude Code delivers to no one
	dirty  bool             // the file was read but not yet compared with seen
	broken string           // why the file cannot be read
	odd    int              // entries whose owner's name is not valid
}

// open opens a team's directory.
func open(opts dialect.FilesOptions) (dialect.Files, error) {
	if exists(opts.Dir, ".") && !isTeam(opts.Dir) {
		return nil, mail.Errorf(mail.Invalid, "%s is not the directory of a team: it has neither config.json nor "+
			"inboxes. The teams of Claude Code are below ~/.claude/teams; name one of them", opts.Dir.Path("."))
	}
	f := &files{opts: opts, boxes: make(map[string]*box), asked: make(map[string]mail.ID),
		seen: make(map[mail.Name]string), dropped: make(map[string]bool)}
	f.team = filepath.Base(opts.Dir.Path("."))
	if err := f.readConfig(); err == nil && f.config.name != "" {
		f.team = f.config.name
	}
	f.team = sanitise(f.team)
	var err error
	if f.names, err = openNames(f.team, filepath.Join(opts.State, "names.json"), f.elsewhere); err != nil {
		return nil, err
	}
	if f.owed, err = openOwed(filepath.Join(opts.State, "owed.json")); err != nil {
		return nil, err
	}
	f.written, err = openWritten(opts.State)
	return f, err
}

func (f *files) dir() confined.Dir { return f.opts.Dir }

func (f *files) Watch() []string { return []string{f.dir().Path("."), f.dir().Path(inboxDir)} }

func (f *files) Close() error { return nil }

// readConfig reads config.json again. If the file is gone, the team has no members; if it cannot be read, the team
// keeps the members it had.
func (f *files) readConfig() error {
	c, err := readConfig(f.dir(), configFile)
	if errors.Is(err, fs.ErrNotExist) {
		f.config.members = nil
		return nil
	}
	if err == nil {
		f.config = c
	}
	return err
}

// elsewhere implements names.elsewhere.
func (f *files) elsewhere(ctx context.Context, native string) bool {
	m, _ := f.config.member(native)
	if claimed(f.opts.Bridge, m.joined, f.opts.Others, native) {
		return true
	}
	plain := mail.Name(norm.NFC.String(native))
	bearer, known, err := mail.OneAgent(ctx, f.opts.Service, plain)
	if known && bearer.Name != plain { // it was a lead of another team before its session was known
		return !slices.Contains(bearer.Tags, teamTag(f.team))
	}
	roster, more := mail.Roster(ctx, f.opts.Service)
	if err = errors.Join(err, more); err != nil {
		f.opts.Log.Warn("roster not read", "err", err)
	}
	return held(roster, f.team, native)
}

// box returns the inbox with this file name.
func (f *files) box(base string) *box { return f.boxIn(f.dir(), inboxDir, base) }

func (f *files) boxIn(dir confined.Dir, below, base string) *box {
	b := f.boxes[base]
	if b == nil {
		name := filepath.Join(below, base+".json")
		b = &box{inbox: newInbox(dir, name, f.team, f.config.owner(base)), base: base, seen: make(map[mail.ID]bool),
			unfit: make(map[mail.ID]bool)}
		f.boxes[base] = b
	}
	return b
}

// load reads the file again.
func (b *box) load() error {
	changed, err := b.inbox.load()
	b.dirty = b.dirty || changed
	if b.broken = ""; err != nil {
		b.broken = err.Error()
	}
	return err
}

func (f *files) Read(ctx context.Context) (dialect.News, error) {
	n := found{News: new(dialect.News)}
	if err := f.readConfig(); err != nil {
		n.reject(1, err.Error())
	}
	if err := f.pay(ctx); err != nil {
		return *n.News, err
	}
	n.Trouble = f.owed.trouble()
	bases, err := f.loadBoxes(ctx, &n)
	if err != nil {
		return *n.News, err
	}
	roster := rosterOf(ctx, f.opts.Service)
	if err := f.nameLead(roster, n.News); err != nil {
		return *n.News, err
	}
	if err := f.nameAll(ctx); err != nil {
		return *n.News, err
	}
	if err := f.readBoxes(ctx, bases, &n); err != nil {
		return *n.News, err
	}
	f.takeBack(ctx, n.News)
	n.Receipts = append(n.Receipts, f.entered...)
	f.entered = nil
	return *n.News, f.tellAgents(ctx, n.News, roster)
}

// found collects the news.
type found struct{ *dialect.News }

// reject counts pieces that cannot be parsed.
func (n *found) reject(pieces int, why string) {
	n.Rejected += pieces
	n.Notice = strings.TrimPrefix(n.Notice+"; "+why, "; ")
}

// loadBoxes reads the inboxes again and returns their file names.
func (f *files) loadBoxes(ctx context.Context, n *found) ([]string, error) {
	breakOurs(f.dir(), ".")
	breakOurs(f.dir(), inboxDir)
	bases, err := inboxNames(f.dir(), inboxDir)
	if err != nil {
		return nil, err
	}
	if err := f.dropBoxes(ctx, bases, n.News); err != nil {
		return nil, err
	}
	for _, base := range bases {
		if err := f.box(base).load(); err != nil {
			n.reject(1, err.Error())
		}
	}
	return bases, nil
}

// readBoxes adds the new messages of the inboxes.
func (f *files) readBoxes(ctx context.Context, bases []string, n *found) error {
	for _, base := range bases {
		if err := f.identify(ctx, f.box(base)); err != nil {
			return err
		}
	}
	var all []arrival
	for _, base := range bases {
		b := f.box(base)
		if b.broken != "" {
			continue
		}
		all = append(all, f.compare(ctx, b, n.News)...)
		if bad := b.rejected() + b.odd; bad > 0 {
			n.reject(bad, fmt.Sprintf("%d in %s are not messages", bad, b.path()))
		}
	}
	n.Items = f.sort(all)
	if f.begun {
		return nil
	}
	err := f.drained(ctx, n.News)
	f.begun = err == nil
	return err
}

// nameLead gives the lead the room name of its session's agent. An agent that the room named after the lead, before
// it knew that session, is the same agent and is merged into it.
func (f *files) nameLead(roster func() ([]mail.Agent, error), n *dialect.News) error {
	if f.config.ours() || f.config.session == "" || len(f.config.members) == 0 {
		return nil
	}
	list, err := roster()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(a mail.Agent) bool { return a.Session == f.config.session })
	was := f.names.Names[f.config.lead]
	if i < 0 || was.Room == list[i].Name {
		return nil
	}
	f.names.set(f.config.lead, named{Room: list[i].Name, Member: true})
	a, ok := dialect.OnRoster(list, was.Room)
	switch {
	case !ok || was.Room == "":
	case a.Session != "": // another session was the lead before
		n.Agents = append(n.Agents, farewell(a, f.team))
	default:
		n.Merged = append(n.Merged, dialect.Merger{From: was.Room, Into: list[i].Name})
	}
	return nil
}

// dropBoxes forgets the inboxes that are gone. Claude Code no longer delivers their unread mail, so it becomes
// ordinary mail of the room.
func (f *files) dropBoxes(ctx context.Context, bases []string, n *dialect.News) error {
	maps.DeleteFunc(f.boxes, func(base string, _ *box) bool { return !slices.Contains(bases, base) })
	for native, known := range f.names.Names {
		if slices.Contains(bases, sanitise(native)) || f.config.ours() || f.dropped[native] {
			continue
		}
		err := f.unread(ctx, known.Room, func(it *mail.Item) error {
			_, ours := f.written.byRoom[place{sanitise(native), it.ID}]
			if ours || f.came(&it.Message) {
				n.Receipts = append(n.Receipts, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(known.Room),
					Mark: mail.MarkUntold})
			}
			return nil
		})
		if err != nil {
			return err
		}
		f.dropped[native] = true
	}
	for _, base := range bases {
		delete(f.dropped, f.config.owner(base))
	}
	return nil
}

// nameAll names everyone in the news and saves the names. If saving fails, their messages are not taken, so that the
// next read offers them again.
func (f *files) nameAll(ctx context.Context) error {
	for _, m := range f.config.members {
		_, _ = f.names.member(ctx, m.name) // compare reports invalid names
	}
	for _, b := range f.boxes {
		if !b.dirty {
			continue
		}
		_, _ = f.names.of(ctx, b.owner)
		for i := range b.letters {
			if b.letters[i].why == "" {
				f.names.sender(ctx, b.letters[i].From)
			}
		}
	}
	return f.names.save()
}

// drained finds mail that was delivered while no bridge watched: mail of this bridge that is unread in the room and
// no longer in its inbox.
func (f *files) drained(ctx context.Context, n *dialect.News) error {
	for _, b := range f.boxes {
		name, err := f.names.of(ctx, b.owner)
		if err != nil || b.broken != "" || b.blank {
			continue
		}
		err = f.unread(ctx, name, func(it *mail.Item) error {
			entry := it.ID
			l, ours := f.written.byRoom[place{b.base, it.ID}]
			if ours {
				entry = l.Entry
			}
			if _, here := b.seen[entry]; !here && (ours && l.Done || f.came(&it.Message)) {
				n.Receipts = append(n.Receipts, f.receipt(entry, name))
			} else if ours && !here { // a crash followed takeBack, or preceded the write of the entry
				n.Receipts = append(n.Receipts, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(name),
					Mark: mail.MarkUntold})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// came reports whether a message came from this team's files and is one that Claude Code delivers.
func (f *files) came(m *mail.Message) bool {
	c := carriedBy(m.Metadata)
	refused, _ := c.bool("refused")
	return m.Via == f.opts.Bridge.ID && c.string("team") == f.team && !refused
}

// unread calls each for every unread message of an agent.
func (f *files) unread(ctx context.Context, name mail.Name, each func(*mail.Item) error) error {
	items, err := dialect.Inbox(ctx, f.opts.Service, mail.InboxQuery{Agent: name})
	if mail.CodeOf(err) == mail.NotFound {
		return nil
	}
	for i := 0; i < len(items) && err == nil; i++ {
		err = each(&items[i])
	}
	return err
}

// tellAgents adds to n the changes of members.
func (f *files) tellAgents(ctx context.Context, n *dialect.News, roster func() ([]mail.Agent, error)) error {
	present := make(map[string]bool)
	for _, m := range f.config.members {
		present[m.name] = true
		name, err := f.names.member(ctx, m.name)
		lead := m.name == f.config.lead
		if says := fmt.Sprint(m.state, lead, f.names.Names[f.config.lead].Room); err != nil || f.seen[name] == says {
			continue // the name is not valid, but config.json is not ours to judge
		} else {
			f.seen[name] = says
		}
		list, err := roster()
		if err != nil {
			return err
		}
		p := presence(name, f.team, lead, m.state, list)
		p.Inbox = new(f.opts.Bridge.ID)
		switch a, _ := dialect.OnRoster(list, name); {
		case f.config.ours():
			p.Client, p.Inbox = "", new("") // members may run in any client
		case hooked(&a):
			p.State = "" // its hooks know its state better
		case f.config.inside(m):
			p.Parent = f.parent(list)
		}
		n.Agents = append(n.Agents, p)
	}
	return f.tellGone(ctx, n, present, roster)
}

// parent returns the lead's agent if it has a session: members that share its process are its children.
func (f *files) parent(roster []mail.Agent) *mail.Name {
	i := slices.IndexFunc(roster, func(a mail.Agent) bool { return a.Session == f.config.session })
	if i < 0 {
		return nil
	}
	return &roster[i].Name
}

// tellGone adds the agents that are no longer members, including those that left before the bridge first looked.
func (f *files) tellGone(ctx context.Context, n *dialect.News, present map[string]bool,
	roster func() ([]mail.Agent, error)) error {
	const gone = "gone"
	left := f.left(ctx, present)
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if f.seen[name] == gone {
			continue
		}
		f.seen[name] = gone
		list, err := roster()
		if err != nil {
			return err
		}
		a, ok := dialect.OnRoster(list, name)
		switch {
		case !ok && !left[name]:
			n.Agents = append(n.Agents, presence(name, f.team, false, mail.Gone, list))
		case ok && left[name] && a.State != mail.Gone:
			n.Agents = append(n.Agents, farewell(a, f.team))
		}
	}
	return nil
}

// left returns the agents that are no longer members, and whether each is known to be on the roster.
func (f *files) left(ctx context.Context, present map[string]bool) map[mail.Name]bool {
	left := make(map[mail.Name]bool)
	for native, known := range f.names.Names {
		if known.Member && !present[native] {
			left[known.Room] = true
		}
	}
	for _, b := range f.boxes {
		if name, err := f.names.of(ctx, b.owner); err == nil && !present[b.owner] && len(b.seen) > 0 && !left[name] {
			left[name] = false
		}
	}
	return left
}
