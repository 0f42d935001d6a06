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

// archivedRecord is a message that is in the archive, or on its way there.
type archivedRecord struct {
	record
	text *mail.Message
}

// lookUp returns the messages of the archive that have one of some ids, with what their readers did there and since,
// and those that are on their way there. Messages that are hot, as after a crash between archiving and trimming, and
// erased ones are left out. What is not hot when it is called is found, and no compaction is waited for: whatever is
// forgotten as leaving is in the archive before.
func (r *Room) lookUp(ctx context.Context, ids ...mail.ID) (map[mail.ID]*archivedRecord, error) {
	found := make(map[mail.ID]*archivedRecord)
	var cold []mail.ID
	var leaving list
	r.mu.RLock()
	for _, id := range ids {
		if rec := r.state.leaving[id]; rec != nil {
			found[id] = &archivedRecord{record: rec.frozen()}
			leaving = append(leaving, rec)
		} else {
			cold = append(cold, id)
		}
	}
	r.mu.RUnlock()
	texts, err := r.leavingTexts(ctx, leaving)
	if err != nil {
		return nil, err
	}
	for i, rec := range leaving {
		if found[rec.msg.ID].text = texts[i]; texts[i] == nil {
			delete(found, rec.msg.ID)
		}
	}
	var events []mail.Event
	if c, ok := r.journal.(journal.Compacter); ok && len(cold) > 0 {
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
func (s *state) recall(found map[mail.ID]*archivedRecord, e *mail.Event) {
	switch {
	case e.Message != nil:
		id := e.Message.ID
		if found[id] != nil || s.records[id] != nil || s.erased[id] != 0 {
			return
		}
		found[id] = &archivedRecord{record{msg: headerOf(e.Message), seq: e.Seq, audience: new(audience)}, e.Message}
		found[id].msg.Sent = cmp.Or(e.Message.Sent, e.At)
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
func (r *Room) archivedItem(rec *archivedRecord, f *filter) (it mail.Item, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	it = rec.archivedItem()
	return it, f == nil || f.stands(it.Deliveries) &&
		(f.agent == nil || rec.sentBy(f.agent) || rec.wasFor(f.agent))
}

func (r *archivedRecord) archivedItem() mail.Item {
	it := mail.Item{Message: *r.text, Seq: r.seq, Settled: r.settled}
	it.Key, it.Sent = "", r.msg.Sent
	for i := range r.marks {
		k := &r.marks[i]
		d := mail.Delivery{Address: mail.AgentAddress(k.who.Name), Agent: k.who.Name, Wake: mail.WakeNone}
		was := k.shown()
		d.State, d.At = policy.DeliveryFacts{Archived: k.archived, Read: k.read, Presented: was.presented,
			Notified: was.notified}.State(0)
		switch d.State {
		case mail.Presented:
			d.Door = was.presentedDoor.name()
		case mail.Notified:
			d.Door = was.notifiedDoor.name()
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

// accept decides on a message by its header, its place, and its text.
type accept func(h *header, seq mail.Seq, m *mail.Message) bool

// archivedRecords yields those messages of the archive, or on their way there, that are in a reach and that want
// takes. What is not hot when it is called is not missing.
func (r *Room) archivedRecords(ctx context.Context, in reach, want accept) iter.Seq2[*archivedRecord, error] {
	return func(yield func(*archivedRecord, error) bool) {
		leaving := r.leavingIn(in)
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
		add := func(h *header, seq mail.Seq, m *mail.Message) bool {
			if want(h, seq, m) {
				ids, seqs = append(ids, h.ID), append(seqs, seq)
			}
			return len(ids) < lookUps || flush()
		}
		var texts []*mail.Message // of the first of those that leave
		addLeaving := func() bool {
			if len(texts) == 0 {
				var err error
				if texts, err = r.leavingTexts(ctx, leaving[:min(lookUps, len(leaving))]); err != nil {
					yield(nil, err)
					return false
				}
			}
			rec, m := leaving[0], texts[0]
			leaving, texts = leaving[1:], texts[1:]
			return m == nil || add(&rec.msg, rec.seq, m)
		}
		for e, err := range r.archivedEvents(ctx, in) {
			if err != nil {
				yield(nil, r.unavailable(err))
				return
			}
			for len(leaving) > 0 && (leaving[0].seq < e.Seq) != in.newest && leaving[0].seq != e.Seq {
				if !addLeaving() {
					return
				}
			}
			if len(leaving) > 0 && leaving[0].seq == e.Seq { // it has arrived meanwhile
				leaving, texts = leaving[1:], texts[min(1, len(texts)):]
			}
			if e.Message == nil {
				continue
			}
			h := headerOf(e.Message)
			h.Sent = cmp.Or(h.Sent, e.At)
			if !add(&h, e.Seq, e.Message) {
				return
			}
		}
		for len(leaving) > 0 {
			if !addLeaving() {
				return
			}
		}
		flush()
	}
}

// archivedEvents is what the archive of the journal has in a reach; nothing if there is no archive.
func (r *Room) archivedEvents(ctx context.Context, in reach) iter.Seq2[mail.Event, error] {
	return func(yield func(mail.Event, error) bool) {
		c, ok := r.journal.(journal.Compacter)
		if !ok {
			return
		}
		from := in.after
		if in.newest {
			from = in.before
		}
		for e, err := range c.Archived(ctx, from, in.newest) {
			beyond := in.newest && e.Seq <= in.after || !in.newest && in.before > 0 && e.Seq >= in.before
			if err == nil && beyond || !yield(e, err) {
				return
			}
		}
	}
}

// leavingIn returns what is on its way to the archive, in the order of archivedRecords.
func (r *Room) leavingIn(in reach) list {
	r.mu.RLock()
	all := list(slices.SortedFunc(maps.Values(r.state.leaving), func(a, b *record) int {
		return cmp.Compare(a.seq, b.seq)
	}))
	r.mu.RUnlock()
	all = all.after(in.after).before(in.before)
	if in.newest {
		slices.Reverse(all)
	}
	return all
}

// leavingTexts returns the messages of records that are on their way to the archive; nil for those that were erased
// meanwhile.
func (r *Room) leavingTexts(ctx context.Context, leaving list) ([]*mail.Message, error) {
	items := make([]mail.Item, len(leaving))
	r.mu.RLock()
	for i, rec := range leaving {
		items[i] = mail.Item{Message: rec.msg.message(), Seq: rec.seq}
	}
	r.mu.RUnlock()
	items, err := r.complete(ctx, items)
	if err != nil {
		return nil, err
	}
	texts := make([]*mail.Message, len(leaving))
	for i, rec := range leaving {
		if len(items) > 0 && items[0].ID == rec.msg.ID {
			texts[i], items = &items[0].Message, items[1:]
		}
	}
	return texts, nil
}

// searchArchive returns the archived messages that f accepts: the newest n and one more or, behind a cursor, the
// first.
func (r *Room) searchArchive(ctx context.Context, f *filter, n int) ([]mail.Item, error) {
	var out []mail.Item
	for rec, err := range r.archivedRecords(ctx, f.reach, f.accepts) {
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
		cold := func(h *header, _ mail.Seq, _ *mail.Message) bool { return !hot[h.ID] }
		for rec, err := range v.archivedRecords(ctx, reach{}, cold) {
			if err != nil {
				yield(mail.Item{}, err)
				return
			}
			if it, _ := v.archivedItem(rec, nil); !yield(it, nil) {
				return
			}
		}
		for some := range slices.Chunk(ids, lookUps) {
			items, err := v.exported(ctx, some)
			if err != nil {
				yield(mail.Item{}, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// exported returns messages that were hot when the export began, in order, but for those that were erased meanwhile.
func (v *view) exported(ctx context.Context, ids []mail.ID) (items []mail.Item, err error) {
	var moved []mail.ID
	v.read(func(s *state, now mail.Time) {
		for _, id := range ids {
			if r := s.records[id]; r != nil {
				it := s.item(r, v.me(s), now)
				it.Deliveries = s.deliveries(r, now)
				items = append(items, it)
			} else {
				moved = append(moved, id)
			}
		}
	})
	if items, err = v.complete(ctx, items); err != nil || len(moved) == 0 {
		return items, err
	}
	cold, err := v.lookUp(ctx, moved...)
	for _, rec := range cold {
		it, _ := v.archivedItem(rec, nil)
		items = append(items, it)
	}
	slices.SortFunc(items, bySeq)
	return items, err
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
