package claudeteams

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// job is what is to be done to one inbox.
type job struct {
	box   *box
	since mail.Seq // the place of the first change that needs it
	post  []*mail.Item
	to    member
	read  map[mail.ID]bool // by the room's ids
	erase []mail.ID        // of entries
}

// jobs are what a batch of changes comes to.
type jobs struct {
	f    *files
	list []*job
}

// of returns the job of an inbox.
func (j *jobs) of(base string, since mail.Seq) *job {
	for _, o := range j.list {
		if o.box.base == base {
			return o
		}
	}
	o := &job{box: j.f.box(base), since: since, read: make(map[mail.ID]bool)}
	j.list = append(j.list, o)
	return o
}

// Write implements dialect.Files. An inbox that cannot be written keeps no other waiting: what is for it is owed.
func (f *files) Write(ctx context.Context, all []dialect.Change) (int, error) {
	if err := f.readConfig(); err != nil {
		return 0, err
	}
	plan := &jobs{f: f}
	for i := range all {
		if err := f.plan(ctx, plan, &all[i]); err != nil {
			return 0, err
		}
	}
	if err := f.names.save(); err != nil {
		return 0, err
	}
	if err := f.settle(ctx, plan.list, true); err != nil {
		return 0, err
	}
	if trouble := f.owed.trouble(); trouble != "" {
		return len(all), mail.Errorf(mail.Unavailable, "%s", trouble)
	}
	return len(all), nil
}

func (f *files) plan(ctx context.Context, plan *jobs, c *dialect.Change) error {
	switch {
	case c.Message != nil && c.Item != nil:
		if c.At >= f.opts.Bridge.Added {
			for _, d := range c.Item.Deliveries {
				f.address(ctx, plan, c.Seq, c.Item, d.Agent, d.State, d.Wake)
			}
		}
	case c.Receipt != nil && c.Item != nil && f.config.ours():
		f.planMark(ctx, plan, c)
	case c.Erased != nil:
		return f.planErasure(ctx, plan, c.Seq, c.Erased.Message)
	case c.Agent != nil && c.Agent.Renamed != "":
		f.names.renamed(c.Agent.Name, c.Agent.Renamed)
	case c.Agent != nil && mayGetMail(c.Agent):
		if _, ok := f.memberCalled(ctx, c.Agent.Name); !ok {
			return nil
		}
		return f.unread(ctx, c.Agent.Name, func(it *mail.Item) error {
			f.address(ctx, plan, c.Seq, it, c.Agent.Name, it.State, "")
			return nil
		})
	}
	return nil
}

// mayGetMail reports whether an agent joins, or takes a role or a tag: it may have got mail by that.
func mayGetMail(c *mail.AgentChange) bool { return c.Roles != nil || c.Tags != nil || c.State != "" }

// address plans that a message goes to an agent, if that is a member and the message did not come from its team. wake
// is how the room wakes the agent for it; "": that is not known.
func (f *files) address(ctx context.Context, plan *jobs, since mail.Seq, it *mail.Item, to mail.Name,
	state mail.DeliveryState, wake string) {
	m, ok := f.memberCalled(ctx, to)
	if !ok || it.Via == f.opts.Bridge.ID || it.Sent < f.opts.Bridge.Added {
		return
	}
	if !f.config.ours() {
		_, inside := f.memberCalled(ctx, it.From.Signer())
		got := slices.Contains([]mail.DeliveryState{mail.Presented, mail.Read, mail.Archived, mail.Expired, mail.Held},
			state)
		if inside || got || f.hooked(ctx, to) && !f.looksSooner(m, wake) {
			return
		}
	}
	base := sanitise(m.name)
	if f.written.byRoom[place{base, it.ID}].Done {
		return
	}
	j := plan.of(base, since)
	if !slices.ContainsFunc(j.post, func(o *mail.Item) bool { return o.ID == it.ID }) {
		j.to, j.post = m, append(j.post, it)
	}
	if state == mail.Read || state == mail.Archived {
		j.read[it.ID] = true
	}
}

// hooked reports whether an agent's own session is handed its mail by hooks and doors. Then no inbox gets it too.
func (f *files) hooked(ctx context.Context, name mail.Name) bool {
	list, err := mail.Roster(ctx, f.opts.Service)
	a, ok := dialect.OnRoster(list, name)
	return err == nil && ok && hooked(&a)
}

// hooked reports whether an agent has a session of its own, besides connections of its client's MCP server.
func hooked(a *mail.Agent) bool { return a.Session != "" && !strings.HasPrefix(a.Session, "mcp-") }

// memberCalled returns the member that the room calls name.
func (f *files) memberCalled(ctx context.Context, name mail.Name) (member, bool) {
	for _, m := range f.config.members {
		if called, err := f.names.member(ctx, m.name); err == nil && called == name {
			return m, true
		}
	}
	return member{}, false
}

// planMark plans that a flag is set. Only in teams that Pennypost runs: in others it is Claude Code that says what was
// read.
func (f *files) planMark(ctx context.Context, plan *jobs, c *dialect.Change) {
	m, ok := f.memberCalled(ctx, c.Receipt.Reader.Signer())
	if !ok || c.Receipt.Mark != mail.MarkRead && c.Receipt.Mark != mail.MarkUnread ||
		!exists(f.dir(), inboxDir+"/"+sanitise(m.name)+".json") {
		return
	}
	plan.of(sanitise(m.name), c.Seq).read[c.Receipt.Message] = c.Receipt.Mark == mail.MarkRead
}

// planErasure plans that the text of a message goes from every inbox: it would come back from there otherwise.
func (f *files) planErasure(ctx context.Context, plan *jobs, since mail.Seq, id mail.ID) error {
	bases, err := inboxNames(f.dir(), inboxDir)
	for _, base := range bases {
		b := f.box(base)
		broken := b.load() != nil || f.identify(ctx, b) != nil
		entry := f.entryOf(b, id)
		if broken || b.find(entry) >= 0 {
			j := plan.of(base, since)
			j.erase = append(j.erase, entry)
		}
	}
	return err
}

// entryOf returns the id of the entry that is a message of the room.
func (f *files) entryOf(b *box, id mail.ID) mail.ID {
	if l, ok := f.written.byRoom[place{b.base, id}]; ok {
		return l.Entry
	}
	return id
}

// do does a job, with a lock. What it wrote is no news: a flag that comes back as a stranger's mark would fight with
// the next mark.
func (f *files) do(ctx context.Context, j *job, l locker) error {
	var did changes
	var after []line
	err := j.box.edit(l, func() (_ changes, err error) {
		j.box.dirty = true // edit has read the file, and Read is to see what else is new there
		if err := f.identify(ctx, j.box); err != nil {
			return changes{}, err
		}
		var before []line
		did, before, after = f.changes(ctx, j)
		return did, f.written.note(before...)
	})
	if err != nil {
		return err
	}
	for _, id := range did.remove {
		delete(j.box.seen, id)
	}
	for id, flag := range did.read {
		j.box.seen[id] = flag
	}
	for _, l := range after {
		if _, ok := j.box.seen[l.Entry]; !ok && !l.Gone {
			j.box.seen[l.Entry] = j.read[l.Message]
		}
	}
	if err := f.written.note(after...); err != nil || f.config.ours() {
		return err
	}
	to, err := f.names.of(ctx, j.box.owner)
	for _, it := range j.post {
		f.entered = append(f.entered, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(to),
			Mark: mail.MarkNotified,
			Door: mail.InboxDoor})
	}
	return err
}

// changes is called under the lock of the inbox. It returns what to write there, and what to note before and after.
func (f *files) changes(ctx context.Context, j *job) (c changes, before, after []line) {
	b := j.box
	var added []*entry
	for _, it := range j.post {
		l, tried := f.written.byRoom[place{b.base, it.ID}]
		if !tried || b.find(l.Entry) < 0 {
			e := f.entry(ctx, j, it)
			l = line{Entry: b.nextID(&e, added), Inbox: b.base, Message: it.ID}
			before = append(before, l)
			added = append(added, &e)
			c.add = append(c.add, e.neat())
		}
		l.Done = true
		after = append(after, l)
	}
	c.read = make(map[mail.ID]bool)
	for id, flag := range j.read {
		if i := b.find(f.entryOf(b, id)); i >= 0 && b.letters[i].Read != flag {
			c.read[b.letters[i].id] = flag
		}
	}
	for _, id := range j.erase {
		if b.find(id) >= 0 {
			c.remove = append(c.remove, id)
		}
		if l, ok := f.written.byEntry[id]; ok {
			l.Gone = true
			after = append(after, l)
		}
	}
	return c, before, after
}

// entry is a message of the room as it stands in an inbox. It is always plain text.
func (f *files) entry(ctx context.Context, j *job, it *mail.Item) entry {
	e := entry{Text: disarm(dialect.WithDocs(&it.Message, " at %s")) + f.answering(ctx, it),
		Summary: f.config.summary(&it.Message), Timestamp: it.Sent.String(), Read: j.read[it.ID], sent: it.Sent}
	e.From, e.Color = f.signature(ctx, it.From)
	e.guard()
	if e.native = f.native(j.box); e.native {
		e.MsgID = string(it.ID)
		if !isUUID(it.ID) || len(it.Deliveries) != 1 {
			e.MsgID = string(deriveID(f.team, j.box.owner, string(it.ID)))
		}
	}
	return e
}

// answering says below a message of somebody outside of a team that Claude Code runs how to answer it: a teammate is
// shown the entry and nothing else, and its own SendMessage reaches only the team. "" where agents of the room read
// the room's mail.
func (f *files) answering(ctx context.Context, it *mail.Item) string {
	signer := it.From.Signer()
	if _, inside := f.memberCalled(ctx, signer); inside || f.config.ours() ||
		it.From == mail.FromSystem {
		return ""
	}
	input, err := jsonx.Marshal(struct {
		To      []mail.Address `json:"to"`
		ReplyTo mail.ID        `json:"reply_to"`
		Body    string         `json:"body"`
	}{[]mail.Address{it.From}, it.ID, "…"})
	if err != nil {
		return ""
	}
	return "\n\nThis is message " + string(it.ID) +
		" of Pennypost, from outside of the team: SendMessage does not reach " +
		"the sender. Answer with Pennypost's tool send_message: " + string(input)
}

// signature is how a sender signs to the team. Who is no member cannot sign as one.
func (f *files) signature(ctx context.Context, from mail.Address) (name, color string) {
	signer := from.Signer()
	if m, ok := f.memberCalled(ctx, signer); ok {
		return m.name, m.color
	}
	name = string(signer)
	if sameFile(name, leadName) || slices.ContainsFunc(f.config.members, func(m member) bool {
		return sameFile(m.name, name)
	}) {
		name = "agent:" + name
	}
	return name, ""
}

// native decides between the wires by what the files contain: the last message of the inbox, or of any other, or else
// the name that current releases give their teams.
func (f *files) native(b *box) bool {
	if native, ok := b.wire(); ok {
		return native
	}
	for _, o := range f.boxes {
		if native, ok := o.wire(); ok {
			return native
		}
	}
	return !f.config.ours() && strings.HasPrefix(f.team, "session-")
}
