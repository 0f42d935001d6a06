package haak

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// batch holds the changes of one Write.
type batch struct {
	messages, reads, withdrawn [][]byte
	agents                     []mail.Name
	erased                     []mail.ID
}

func (f *files) Write(ctx context.Context, changes []dialect.Change) (int, error) {
	err := f.write(ctx, changes)
	if err != nil {
		f.reset()
		return 0, err
	}
	if err := f.rotate(ctx); err != nil {
		f.reset()
		return len(changes), err
	}
	return len(changes), nil
}

func (f *files) write(ctx context.Context, changes []dialect.Change) error {
	if err := f.catchUp(ctx); err != nil {
		return err
	}
	var b batch
	for i := range changes {
		f.working()
		f.plan(&b, &changes[i])
	}
	if err := f.writeRoster(ctx, b.agents); err != nil {
		return err
	}
	if err := f.mailbox.Append(b.messages...); err != nil {
		return err
	}
	if err := f.reads.Append(b.reads...); err != nil {
		return err
	}
	if err := f.withdrawn.Append(b.withdrawn...); err != nil {
		return err
	}
	for _, id := range b.erased {
		if err := f.erase(id); err != nil {
			return err
		}
	}
	return nil
}

// plan adds a change to b.
func (f *files) plan(b *batch, c *dialect.Change) {
	switch {
	case c.Agent != nil:
		for _, name := range []mail.Name{c.Agent.Name, c.Agent.Renamed} {
			if name != "" && !slices.Contains(b.agents, name) && !f.heartbeat(c.Agent) {
				f.names.add(name)
				b.agents = append(b.agents, name)
			}
		}
	case c.Erased != nil:
		b.erased = append(b.erased, c.Erased.Message)
	case c.Item == nil: // gone in the meantime
	case c.Message != nil:
		f.planMessage(b, &c.Item.Message)
	case c.Receipt != nil:
		f.planReceipt(b, c.Receipt, c.At)
	}
}

// heartbeat reports whether a change is only a sign of life of a session that the file shows as live.
func (f *files) heartbeat(c *mail.AgentChange) bool {
	quiet := c.Roles == nil && c.Tags == nil && c.State == "" && c.Task == nil && c.Parent == nil && c.Renamed == "" &&
		!c.Retired && !c.End
	e, ok := f.entries[c.Name]
	return quiet && ok && !e.retired() && e.state() == mail.Idle
}

func (f *files) planMessage(b *batch, m *mail.Message) {
	if _, stands := f.parents[m.ID]; stands {
		return
	}
	if m.From.Kind() == mail.ToAgent {
		f.names.add(m.From.Signer())
	}
	b.messages = append(b.messages, encodeMessage(m, f.known()))
	f.parents[m.ID] = m.ReplyTo
	f.box[m.ID] = true
}

// planReceipt plans a mark. Archived mail counts as read here, so that its reader is not shown it again. The format
// cannot express a withdrawn read, so it is recorded in a file of ours.
func (f *files) planReceipt(b *batch, rc *mail.Receipt, at mail.Time) {
	if _, stands := f.parents[rc.Message]; !stands {
		return
	}
	k := pair{rc.Message, rc.Reader}
	r := reading{rc.Message, rc.Reader, at}
	switch rc.Mark {
	case mail.MarkRead, mail.MarkArchived:
		if f.note(r) {
			b.reads = append(b.reads, encodeReading(r))
		} else if f.back[k] {
			f.back[k] = false
			b.withdrawn = append(b.withdrawn, withdrawal(r, false))
		}
	case mail.MarkUnread:
		if slices.ContainsFunc(f.readers[rc.Message], func(o reading) bool { return o.reader == rc.Reader }) &&
			!f.back[k] {
			f.back[k] = true
			b.withdrawn = append(b.withdrawn, withdrawal(r, true))
		}
	}
}

// withdrawal returns a line of the file of withdrawn reads: with a time the read was withdrawn, without one it
// counts again.
func withdrawal(r reading, back bool) []byte {
	line := encodeReading(r)
	if !back {
		o, _ := parseObject(line)
		line = o[:len(o)-1].Line()
	}
	return line
}

// writeRoster appends lines for agents whose entry differs from the room; the first time it checks all agents.
func (f *files) writeRoster(ctx context.Context, names []mail.Name) error {
	if len(names) == 0 && f.compared {
		return nil
	}
	agents, err := f.agents(ctx)
	if err != nil {
		return err
	}
	if !f.compared {
		f.compared = true
		for _, name := range sortedNames(agents) {
			e, ok := f.entries[name]
			if (!ok || e.line == f.settled[name]) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var text [][]byte
	var changed []mail.Name
	for _, name := range names {
		if f.o.Bridge.Mode == mail.BridgeBoth && slices.ContainsFunc(f.pending.Agents, func(p mail.Presence) bool {
			return p.Name == name
		}) {
			continue // others' changes reach the room first
		}
		line := f.entryOf(name, agents)
		if line == nil {
			changed = append(changed, name) // the file agrees with the room
			continue
		}
		e, err := decodeEntry(line, f.known())
		if err != nil {
			continue // a name that the format cannot express
		}
		f.entries[name] = e
		changed = append(changed, name)
		text = append(text, line)
	}
	if err := f.roster.Append(text...); err != nil {
		return err
	}
	return f.agree(changed)
}

// entryOf returns the roster line that an agent needs, or nil if its present one is right.
func (f *files) entryOf(name mail.Name, agents map[mail.Name]*mail.Agent) []byte {
	e, stands := f.entries[name]
	now := mail.TimeOf(f.o.Now())
	a := agents[name]
	switch {
	case a == nil && stands && !e.retired():
		return encodeRetired(e.said, name, now)
	case a == nil:
		return nil
	case stands && !e.retired() && e.says(a):
		return nil
	}
	return encodeEntry(e.said, a, now)
}
