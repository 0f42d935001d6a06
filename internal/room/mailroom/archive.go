package mailroom

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
)

// archivedEvents yields the events of the archive; none if the journal has no archive.
func (r *Room) archivedEvents(ctx context.Context) iter.Seq2[mail.Event, error] {
	if c, ok := r.journal.(journal.Compacter); ok {
		return c.Archived(ctx)
	}
	return func(func(mail.Event, error) bool) {}
}

// archivedItems yields the archived messages with what their readers did, which takes a first pass over the archive
// for the receipts. Messages that are hot again, after a crash between archiving and trimming, are left out.
func (r *Room) archivedItems(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		of := make(map[mail.ID][]marks)
		for e, err := range r.archivedEvents(ctx) {
			if err != nil {
				yield(mail.Item{}, r.unavailable(err))
				return
			}
			if e.Receipt != nil {
				of[e.Receipt.Message] = note(of[e.Receipt.Message], e.Receipt, e.At)
			}
		}
		for e, err := range r.archivedEvents(ctx) {
			if err != nil {
				yield(mail.Item{}, r.unavailable(err))
				return
			}
			if e.Message == nil || r.hot(e.Message.ID) {
				continue
			}
			if !yield(archivedItem(&e, of[e.Message.ID]), nil) {
				return
			}
		}
	}
}

func (r *Room) hot(id mail.ID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.state.records[id] != nil
}

// note adds a receipt to the marks of the readers of an archived message, whose audience nobody knows any more.
func note(of []marks, rc *mail.Receipt, at mail.Time) []marks {
	name := rc.Reader.Signer()
	i := slices.IndexFunc(of, func(k marks) bool { return k.who.Name == name })
	if i < 0 {
		i = len(of)
		of = append(of, marks{who: &member{AgentRecord: mail.AgentRecord{Name: name}}})
	}
	of[i].set(rc, at)
	return of
}

// archivedItem shows an archived message with what receipts tell of its readers.
func archivedItem(e *mail.Event, of []marks) mail.Item {
	it := mail.Item{Message: *e.Message, Seq: e.Seq}
	if it.Key = ""; it.Sent == 0 {
		it.Sent = e.At
	}
	for i := range of {
		k := &of[i]
		d := mail.Delivery{Address: mail.AgentAddress(k.who.Name), Agent: k.who.Name, Wake: mail.WakeNone}
		d.State, d.At = policy.DeliveryFacts{Archived: k.archived, Read: k.read, Presented: k.presented,
			Notified: k.notified}.State(0)
		switch d.State {
		case mail.Presented:
			d.Door = k.presentedDoor
		case mail.Notified:
			d.Door = k.notifiedDoor
		}
		it.Read = it.Read || d.State == mail.Read || d.State == mail.Archived
		it.Deliveries = append(it.Deliveries, d)
	}
	return it
}

// archived returns one message of the archive.
func (r *Room) archived(ctx context.Context, id mail.ID) (mail.Item, error) {
	for it, err := range r.archivedItems(ctx) {
		if err != nil || it.ID == id {
			return it, err
		}
	}
	return mail.Item{}, mail.Errorf(mail.NotFound, "there is no message %q in room %s", id, r.name)
}

// searchArchive returns the archived messages that f accepts, in the order of places: the newest n and one more or,
// behind a cursor, the first. The archive itself is in the order of months, and the clock may have been set back.
func (r *Room) searchArchive(ctx context.Context, f *filter, n int) ([]mail.Item, error) {
	var out []mail.Item
	for it, err := range r.archivedItems(ctx) {
		if err != nil {
			return nil, err
		}
		if !f.matches(&it.Message, it.Seq) || !f.archivedAbout(&it) || !f.stands(it.Deliveries) {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, it, bySeq)
		out = slices.Insert(out, at, it)
		if len(out) <= n+1 {
			continue
		}
		if f.q.After > 0 {
			out = out[:n+1]
		} else {
			out = slices.Delete(out, 0, 1)
		}
	}
	return out, nil
}

func bySeq(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) }

// archivedAbout is about for a message whose audience is known only from its addresses and receipts.
func (f *filter) archivedAbout(it *mail.Item) bool {
	if f.agent == nil {
		return true
	}
	names := append([]mail.Name{f.agent.Name}, f.agent.Aliases...)
	return slices.ContainsFunc(names, func(n mail.Name) bool {
		return it.From == mail.AgentAddress(n) || slices.Contains(it.To, mail.Address("agent:"+n)) ||
			slices.Contains(it.To, mail.AgentAddress(n)) ||
			slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool { return d.Agent == n })
	})
}

// Export implements mail.Keeper.
func (v *view) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		var ids []mail.ID
		hot := make(map[mail.ID]bool)
		v.read(func(s *state, _ mail.Time) {
			for _, r := range s.order {
				ids = append(ids, r.msg.ID)
				hot[r.msg.ID] = true
			}
		})
		for it, err := range v.archivedItems(ctx) {
			if err == nil && hot[it.ID] {
				continue // it moved to the archive since, and comes in its place
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
		for _, id := range ids {
			it, err := v.Message(ctx, id)
			if mail.CodeOf(err) == mail.NotFound {
				continue // erased meanwhile
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// importBatch is how many messages share an append. It bounds what a crash in the middle of an import leaves to be
// done again.
const importBatch = 500

// Import implements mail.Keeper.
func (v *view) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	var out mail.Imported
	if err := v.needUser("import"); err != nil {
		return out, err
	}
	for i := range items {
		if err := v.checkImport(&items[i]); err != nil {
			return out, mail.Errorf(mail.CodeOf(err), "message %d of the import: %w; nothing was imported", i+1, err)
		}
	}
	known, err := v.knownIDs(ctx, items)
	if err != nil {
		return out, err
	}
	var events []mail.Event
	now := v.now()
	for i := range items {
		it := &items[i]
		if known[it.ID] {
			out.Skipped++
			continue
		}
		known[it.ID] = true
		out.Added++
		events = append(events, importEvents(it, now)...)
		if len(events) >= importBatch {
			if _, err := v.commit(ctx, events...); err != nil {
				return out, err
			}
			events = nil
		}
	}
	_, err = v.commit(ctx, events...)
	return out, err
}

// knownIDs returns which of items are known, hot, archived or erased: what was erased does not come back from a
// foreign file.
func (v *view) knownIDs(ctx context.Context, items []mail.Item) (map[mail.ID]bool, error) {
	v.keeping.Lock() // nothing moves to the archive meanwhile
	defer v.keeping.Unlock()
	if v.archivedIDs == nil {
		ids := make(map[mail.ID]bool)
		for e, err := range v.archivedEvents(ctx) {
			if err != nil {
				return nil, v.unavailable(err)
			}
			if e.Message != nil {
				ids[e.Message.ID] = true
			}
			if e.Erased != nil {
				ids[e.Erased.Message] = true
			}
		}
		v.archivedIDs = ids
	}
	known := make(map[mail.ID]bool, len(items))
	v.read(func(s *state, _ mail.Time) {
		for i := range items {
			id := items[i].ID
			known[id] = s.records[id] != nil || s.erased[id] || v.archivedIDs[id]
		}
	})
	return known, nil
}

// checkImport checks what a sent message is checked for, and that id, time, sender and addresses are in canonical
// form.
func (v *view) checkImport(it *mail.Item) error {
	if _, err := mail.ParseID(string(it.ID)); err != nil {
		return err
	}
	if it.Sent <= 0 {
		return mail.Errorf(mail.Invalid, "%s has no time of sending", it.ID)
	}
	t, err := mail.ParseType(string(it.Type))
	if err != nil {
		return err
	}
	it.Type = t
	d := mail.Draft{Subject: it.Subject, Body: it.Body, Issue: it.Issue, Docs: it.Docs, Metadata: it.Metadata,
		TTLSeconds: it.TTLSeconds, Audience: it.Audience, Key: it.Key, Priority: string(it.Priority)}
	for _, a := range append([]mail.Address{it.From}, it.To...) {
		canonical, bare, err := mail.ParseAddress(string(a), v.opts.Namespaces)
		switch {
		case err != nil:
			return err
		case a == mail.FromSystem:
		case bare || canonical != a:
			return mail.Errorf(mail.Invalid,
				"%s has the address %q; write agent:NAME, role:ROLE, a tag, orchestrator, all or user", it.ID, a)
		}
	}
	for _, a := range it.To {
		if a.Kind() == mail.FromFar {
			return mail.Errorf(mail.Invalid,
				"%s is addressed to %q, which is how an agent of another room signs", it.ID, a)
		}
		d.To = append(d.To, string(a))
	}
	if strings.TrimSpace(d.Body) == "" {
		d.Body = "-" // what was sent empty elsewhere is mail all the same; as is a review without a verdict
	}
	return d.CheckAccepted(max(v.opts.MaxBody, maxImportedBody))
}

// maxImportedBody is the longest body, in bytes, of a message that was accepted elsewhere.
const maxImportedBody = 1 << 20

// importEvents returns the events that make an item again: the message, and what its readers did.
func importEvents(it *mail.Item, now mail.Time) []mail.Event {
	m := it.Message
	events := []mail.Event{{At: now, Message: &m}}
	add := func(reader mail.Name, mark mail.Mark, at mail.Time, door string) {
		if at == 0 {
			at = now
		}
		events = append(events, mail.Event{At: at,
			Receipt: &mail.Receipt{Message: m.ID, Reader: mail.AgentAddress(reader), Mark: mark, Door: door}})
	}
	for _, d := range it.Deliveries {
		switch {
		case d.Agent == "":
		case d.State == mail.Presented:
			add(d.Agent, mail.MarkPresented, d.At, d.Door)
		case d.State == mail.Read:
			add(d.Agent, mail.MarkRead, d.At, "")
		case d.State == mail.Archived:
			add(d.Agent, mail.MarkRead, d.At, "")
			add(d.Agent, mail.MarkArchived, d.At, "")
		}
	}
	if len(it.Deliveries) == 0 && it.Read && len(m.To) == 1 && m.To[0].Kind() == mail.ToAgent {
		add(mail.Name(m.To[0].Value()), mail.MarkRead, 0, "")
	}
	return events
}
