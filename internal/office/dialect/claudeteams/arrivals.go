package claudeteams

import (
	"cmp"
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// arrival is a new message in an inbox.
type arrival struct {
	item  mail.Item
	frame frame
	turn  mail.Time // sort time: never before that of an earlier entry in the file, because clocks go back
}

// compare returns the new messages in an inbox and adds receipts for the others to n. Claude Code removes the
// entries that it delivers, so a missing entry was read, unless Claude Code delivers it to no one. A missing or
// empty inbox proves nothing.
func (f *files) compare(ctx context.Context, b *box, n *dialect.News) (all []arrival) {
	if !b.dirty || b.blank {
		return nil
	}
	b.dirty, b.odd = false, 0
	to, err := f.names.of(ctx, b.owner)
	if err != nil {
		b.odd = len(b.letters)
		return nil
	}
	here := make(map[mail.ID]bool, len(b.letters))
	var turn mail.Time
	for i := range b.letters {
		l := &b.letters[i]
		if l.why != "" {
			continue
		}
		read, known := b.seen[l.id]
		_, ours := f.written.byEntry[l.id]
		switch {
		case !known && !ours:
			a := f.arrive(ctx, l, to)
			turn = max(turn, a.item.Sent)
			a.turn = turn
			all = append(all, a)
		case l.Read && !read:
			n.Receipts = append(n.Receipts, f.receipt(l.id, to))
		}
		here[l.id], b.seen[l.id] = true, l.Read
		if l.refused {
			b.unfit[l.id] = true
		}
	}
	for id := range b.seen {
		if here[id] {
			continue
		}
		if !b.unfit[id] {
			n.Receipts = append(n.Receipts, f.receipt(id, to))
		}
		delete(b.seen, id)
		delete(b.unfit, id)
	}
	return all
}

func (f *files) arrive(ctx context.Context, l *boxed, to mail.Name) arrival {
	from := f.names.sender(ctx, l.From)
	a := arrival{item: (&letter{entry: l.entry, id: l.id, team: f.team, from: from, to: to}).item()}
	handed := !l.refused && !f.config.ours() && f.opts.Bridge.ID != "" // a captured team delivers nothing
	if !l.Read && handed {
		a.item.Deliveries = []mail.Delivery{{Address: a.item.To[0], Agent: to, State: mail.Notified,
			Door: mail.InboxDoor}}
	}
	a.frame, _ = classify(l.Text)
	return a
}

// identify gives the new entries of an inbox their ids in the room.
func (f *files) identify(ctx context.Context, b *box) error {
	settled := make(map[mail.ID]mail.ID)
	b.taken = make(map[mail.ID]bool)
	for i := range b.letters {
		if l := &b.letters[i]; b.settled[l.words] != "" {
			settled[l.words], b.taken[l.id] = l.id, true
		}
	}
	for i := range b.letters {
		l := &b.letters[i]
		if l.words == "" || b.settled[l.words] != "" {
			continue
		}
		if settled[l.words] == "" {
			id, err := f.identity(ctx, b, l)
			if err != nil {
				return err
			}
			settled[l.words], b.taken[id] = id, true
		}
		l.id = settled[l.words]
	}
	b.settled = settled
	return nil
}

// identity returns the room's id for an entry that has an id of its own: that id, or, if another inbox or an entry
// with different content has taken it, one derived from the whole entry. Both entries are messages.
func (f *files) identity(ctx context.Context, b *box, l *boxed) (mail.ID, error) {
	taken := b.taken[l.id]
	if _, ours := f.written.byEntry[l.id]; ours && !taken {
		return l.id, nil
	}
	it, err := f.opts.Service.Message(ctx, l.id)
	switch code := mail.CodeOf(err); {
	case err == nil:
		taken = taken || !(&letter{entry: l.entry}).saysAs(&it.Message)
		if _, err := f.opts.Service.Message(ctx, l.words); err == nil {
			taken = true // an earlier read saw the other entry first
		}
	case code != mail.NotFound:
		return "", err
	}
	for _, o := range f.boxes {
		taken = taken || o != b && o.taken[l.id]
	}
	if taken {
		return l.words, nil
	}
	return l.id, nil
}

// receipt returns a read receipt for an entry.
func (f *files) receipt(entry mail.ID, by mail.Name) mail.Receipt {
	if l, ok := f.written.byEntry[entry]; ok {
		entry = l.Message
	}
	return mail.Receipt{Message: entry, Reader: mail.AgentAddress(by), Mark: mail.MarkRead}
}

// sort merges the inboxes by time, keeping the order within each, and links responses to their requests.
func (f *files) sort(all []arrival) []mail.Item {
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.turn, b.turn) })
	answers := requests()
	for _, a := range all {
		if id := a.frame.request(); id != "" && answers[a.frame.kind] == "" {
			f.asked[id] = a.item.ID
		}
	}
	items := make([]mail.Item, len(all))
	for i, a := range all {
		items[i] = a.item
		if id := f.asked[a.frame.request()]; id != "" && answers[a.frame.kind] != "" {
			items[i].ReplyTo, items[i].Thread = id, id
		}
	}
	return items
}
