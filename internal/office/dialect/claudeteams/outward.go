package claudeteams

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// job holds the changes to one inbox.
type job struct {
	box   *box
	since mail.Seq // sequence number of the first change that needs it
	post  []*mail.Item
	to    member
	read  map[mail.ID]bool // by the room's ids
	erase []mail.ID        // entry ids
}

// jobs are the jobs for a batch of changes.
type jobs struct {
	f    *files
	list []*job
}

// of returns the job for an inbox.
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

// Write implements dialect.Files. An inbox that cannot be written delays no other: its changes are owed.
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

// mayGetMail reports whether an agent joins, or takes a role or a tag, and may so receive mail.
func mayGetMail(c *mail.AgentChange) bool { return c.Roles != nil || c.Tags != nil || c.State != "" }

// address plans the delivery of a message to an agent that is a member, if the message did not come from its team.
// wake says how the room wakes the agent for it, or is "" if that is not known.
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

// hooked reports whether an agent's own session gets its mail from hooks and doors. Then it does not go to the
// inbox.
func (f *files) hooked(ctx context.Context, name mail.Name) bool {
	list, err := mail.Roster(ctx, f.opts.Service)
	a, ok := dialect.OnRoster(list, name)
	return err == nil && ok && hooked(&a)
}

// hooked reports whether an agent has a session of its own, not only connections of its client's MCP server.
func hooked(a *mail.Agent) bool { return a.Session != "" && !strings.HasPrefix(a.Session, "mcp-") }

// memberCalled returns the member with this name in the room.
func (f *files) memberCalled(ctx context.Context, name mail.Name) (member, bool) {
	for _, m := range f.config.members {
		if called, err := f.names.member(ctx, m.name); err == nil && called == name {
			return m, true
		}
	}
	return member{}, false
}

// planMark plans the change of a read flag, only in teams that Pennypost runs: in others Claude Code sets the flags.
func (f *files) planMark(ctx context.Context, plan *jobs, c *dialect.Change) {
	m, ok := f.memberCalled(ctx, c.Receipt.Reader.Signer())
	if !ok || c.Receipt.Mark != mail.MarkRead && c.Receipt.Mark != mail.MarkUnread ||
		!exists(f.dir(), inboxDir+"/"+sanitise(m.name)+".json") {
		return
	}
	plan.of(sanitise(m.name), c.Seq).read[c.Receipt.Message] = c.Receipt.Mark == mail.MarkRead
}

// planErasure plans the removal of a message from every inbox: otherwise the bridge would bring it back.
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

// entryOf returns the entry id of a message of the room.
func (f *files) entryOf(b *box, id mail.ID) mail.ID {
	if l, ok := f.written.byRoom[place{b.base, id}]; ok {
		return l.Entry
	}
	return id
}

// do does a job under the inbox's lock. Read does not report its changes: a flag that came back as a stranger's mark
// would conflict with the next mark.
func (f *files) do(ctx context.Context, j *job, l locker) error {
	var did changes
	var after []line
	err := j.box.edit(l, func() (_ changes, err error) {
		j.box.dirty = true // edit has read the file, and Read must see its other changes
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

// changes is called under the lock of the inbox. It returns the changes, and the lines to record before and after
// them.
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

// entry returns a message of the room as an inbox entry. The text is always plain.
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

// answering returns a note on how to answer, for mail from outside to a team that Claude Code runs: a teammate sees
// only the entry, and its own SendMessage reaches only the team. It is "" where members read mail in the room.
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

// signature returns the name with which a sender signs in the team. A non-member cannot sign as a member.
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

// native chooses the wire from the files: that of the inbox's last message, or of any other inbox; without messages,
// native if the team's name is like those that current releases give.
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
