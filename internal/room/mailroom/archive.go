package mailroom

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
)

// lookUp returns the messages of the archive that have one of some ids, with what their readers did there and since,
// and those that are on their way there. Messages that are hot, as after a crash between archiving and trimming, and
// erased ones are left out. What is not hot when it is called is found, and no compaction is waited for: whatever is
// forgotten as leaving is in the archive before.
func (r *Room) lookUp(ctx context.Context, ids ...mail.ID) (map[mail.ID]*record, error) {
	found := make(map[mail.ID]*record)
	var cold []mail.ID
	r.mu.RLock()
	for _, id := range ids {
		if rec := r.state.leaving[id]; rec != nil {
			found[id] = rec.frozen()
		} else {
			cold = append(cold, id)
		}
	}
	r.mu.RUnlock()
	var events []mail.Event
	if c, ok := r.journal.(journal.Compacter); ok && len(cold) > 0 {
		var err error
		if events, err = c.ArchivedOf(ctx, cold...); err != nil {
			return nil, r.unavailable(err)
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range ids {
		events = append(events, r.state.lateMarks[id]...)
	}
	slices.SortFunc(events, func(a, b mail.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	events = slices.CompactFunc(events, func(a, b mail.Event) bool { return a.Seq == b.Seq })
	for i := range events {
		r.state.recall(found, &events[i])
	}
	return found, nil
}

// recall makes a record of the events about an archived message. Whom it reached nobody knows any more.
func (s *state) recall(found map[mail.ID]*record, e *mail.Event) {
	switch {
	case e.Message != nil:
		id := e.Message.ID
		if found[id] != nil || s.records[id] != nil || s.erased[id] != 0 {
			return
		}
		found[id] = &record{msg: *e.Message, seq: e.Seq}
		if found[id].msg.Sent == 0 {
			found[id].msg.Sent = e.At
		}
	case e.Receipt != nil:
		if r := found[e.Receipt.Message]; r != nil {
			r.marksOfName(s.known(e.Receipt.Reader.Signer())).set(e.Receipt, e.At)
		}
	case e.Settled != nil:
		if r := found[e.Settled.Message]; r != nil && (r.settled == nil || e.Settled.Answer != "") {
			st := *e.Settled
			st.At = cmp.Or(st.At, e.At)
			r.settled = &st
		}
	}
}

// marksOfName returns the marks of whoever bears the name of who, whom the state may not know; new ones if there are
// none.
func (r *record) marksOfName(who *member) *marks {
	i := slices.IndexFunc(r.marks, func(k marks) bool { return k.who.Name == who.Name })
	if i < 0 {
		i = len(r.marks)
		r.marks = append(r.marks, marks{who: who})
	}
	return &r.marks[i]
}

// known returns the bearer of a name, one that the state does not know if there is none.
func (s *state) known(name mail.Name) *member {
	if m := s.members[name]; m != nil {
		return m
	}
	return &member{AgentRecord: mail.AgentRecord{Name: name, Retired: true}}
}

// archivedItem shows an archived message with what receipts tell of its readers. ok is false if f does not accept it;
// a nil f accepts all.
func (r *Room) archivedItem(rec *record, f *filter) (it mail.Item, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	it = rec.archivedItem()
	return it, f == nil || f.stands(it.Deliveries) &&
		(f.agent == nil || rec.sentBy(f.agent) || rec.wasFor(f.agent))
}

func (r *record) archivedItem() mail.Item {
	it := mail.Item{Message: r.msg, Seq: r.seq, Settled: r.settled}
	it.Key = ""
	for i := range r.marks {
		k := &r.marks[i]
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
	found, err := r.lookUp(ctx, id)
	if err != nil {
		return mail.Item{}, err
	}
	if rec := found[id]; rec != nil {
		it, _ := r.archivedItem(rec, nil)
		return it, nil
	}
	return mail.Item{}, mail.Errorf(mail.NotFound, "there is no message %q in room %s", id, r.name)
}

// lookUps is how many ids are looked up at once where there are many.
const lookUps = 128

// archivedRecords yields those messages of the archive, or on their way there, that want takes, behind a place or,
// newest first, before it. What is not hot when it is called is not missing.
func (r *Room) archivedRecords(ctx context.Context, from mail.Seq, newest bool,
	want func(*mail.Message, mail.Seq) bool) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		leaving := r.leavingBehind(from, newest)
		var ids []mail.ID
		var seqs []mail.Seq
		flush := func() bool {
			found, err := r.lookUp(ctx, ids...)
			if err != nil {
				yield(nil, err)
				return false
			}
			for i, id := range ids {
				if rec := found[id]; rec != nil && rec.seq == seqs[i] && !yield(rec, nil) {
					return false
				}
			}
			ids, seqs = ids[:0], seqs[:0]
			return true
		}
		add := func(m *mail.Message, seq mail.Seq) bool {
			if want(m, seq) {
				ids, seqs = append(ids, m.ID), append(seqs, seq)
			}
			return len(ids) < lookUps || flush()
		}
		for e, err := range r.archivedEvents(ctx, from, newest) {
			if err != nil {
				yield(nil, r.unavailable(err))
				return
			}
			for len(leaving) > 0 && (leaving[0].seq < e.Seq) != newest && leaving[0].seq != e.Seq {
				if !add(&leaving[0].msg, leaving[0].seq) {
					return
				}
				leaving = leaving[1:]
			}
			if len(leaving) > 0 && leaving[0].seq == e.Seq { // it has arrived meanwhile
				leaving = leaving[1:]
			}
			if e.Message != nil && !add(e.Message, e.Seq) {
				return
			}
		}
		for _, rec := range leaving {
			if !add(&rec.msg, rec.seq) {
				return
			}
		}
		flush()
	}
}

// archivedEvents is the archive of the journal; an empty one if that has none.
func (r *Room) archivedEvents(ctx context.Context, from mail.Seq, newest bool) iter.Seq2[mail.Event, error] {
	if c, ok := r.journal.(journal.Compacter); ok {
		return c.Archived(ctx, from, newest)
	}
	return func(func(mail.Event, error) bool) {}
}

// leavingBehind returns what is on its way to the archive, in the order of archivedRecords.
func (r *Room) leavingBehind(from mail.Seq, newest bool) list {
	r.mu.RLock()
	all := list(slices.SortedFunc(maps.Values(r.state.leaving), func(a, b *record) int {
		return cmp.Compare(a.seq, b.seq)
	}))
	r.mu.RUnlock()
	if !newest {
		return all.after(from)
	}
	all = all.before(from)
	slices.Reverse(all)
	return all
}

// searchArchive returns the archived messages that f accepts: the newest n and one more or, behind a cursor, the
// first.
func (r *Room) searchArchive(ctx context.Context, f *filter, n int) ([]mail.Item, error) {
	var out []mail.Item
	from, newest := f.q.After, false
	if from == 0 {
		from, newest = f.q.Before, true
	}
	for rec, err := range r.archivedRecords(ctx, from, newest, f.matches) {
		if err != nil {
			return nil, err
		}
		if it, ok := r.archivedItem(rec, f); ok {
			out = append(out, it)
		}
		if len(out) > n {
			break
		}
	}
	return out, nil
}

func bySeq(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) }

// sentBy reports whether m sent an archived message, under whichever name.
func (r *record) sentBy(m *member) bool {
	return slices.ContainsFunc(m.names(), func(n mail.Name) bool { return r.msg.From == mail.AgentAddress(n) })
}

// wasFor reports whether an archived message reached m, as far as addresses and marks tell.
func (r *record) wasFor(m *member) bool {
	return r.marksOf(m) != nil || slices.ContainsFunc(r.msg.To, func(a mail.Address) bool {
		return slices.ContainsFunc(m.names(), func(n mail.Name) bool {
			return a == mail.Address("agent:"+n) || a == mail.AgentAddress(n)
		}) || r.msg.Audience == "" && m.listed() && !r.sentBy(m) && policy.Carries(m.Tags, a)
	})
}

// names returns m's name and those it had.
func (m *member) names() []mail.Name { return append([]mail.Name{m.Name}, m.Aliases...) }

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
		// What moves to the archive meanwhile comes in its place among the hot.
		cold := func(m *mail.Message, _ mail.Seq) bool { return !hot[m.ID] }
		for rec, err := range v.archivedRecords(ctx, 0, false, cold) {
			if err != nil {
				yield(mail.Item{}, err)
				return
			}
			if it, _ := v.archivedItem(rec, nil); !yield(it, nil) {
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
	known := make(map[mail.ID]bool, len(items))
	v.read(func(s *state, _ mail.Time) {
		for i := range items {
			id := items[i].ID
			known[id] = s.records[id] != nil || s.leaving[id] != nil || s.erased[id] != 0
		}
	})
	c, ok := v.journal.(journal.Compacter)
	if !ok {
		return known, nil
	}
	for some := range slices.Chunk(items, lookUps) {
		ids := make([]mail.ID, len(some))
		for i := range some {
			ids[i] = some[i].ID
		}
		events, err := c.ArchivedOf(ctx, ids...)
		if err != nil {
			return nil, v.unavailable(err)
		}
		for _, e := range events {
			switch {
			case e.Message != nil:
				known[e.Message.ID] = true
			case e.Erased != nil:
				known[e.Erased.Message] = true
			}
		}
	}
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
		if a.Kind() == mail.FromFar && !t.Asks() {
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
		case d.State == mail.Notified && d.Door == mail.InboxDoor:
			add(d.Agent, mail.MarkNotified, d.At, d.Door)
		case d.State == mail.Presented:
			add(d.Agent, mail.MarkPresented, d.At, d.Door)
		case d.State == mail.Read:
			add(d.Agent, mail.MarkRead, d.At, "")
		case d.State == mail.Archived:
			add(d.Agent, mail.MarkRead, d.At, "")
			add(d.Agent, mail.MarkArchived, d.At, "")
		}
	}
	if st := it.Settled; st != nil { // its answer may be an item before it, or none
		events = append(events, mail.Event{At: now, Settled: &mail.Settlement{Message: m.ID, By: st.By, As: st.As,
			Answer: st.Answer, At: st.At}})
	}
	if len(it.Deliveries) == 0 && it.Read && len(m.To) == 1 && m.To[0].Kind() == mail.ToAgent {
		add(mail.Name(m.To[0].Value()), mail.MarkRead, 0, "")
	}
	return events
}
