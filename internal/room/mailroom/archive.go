package mailroom

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

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
		switch rec := r.state.leaving[id]; {
		case rec == nil:
			cold = append(cold, id)
		case found[id] == nil: // a caller may name one twice
			found[id] = &archivedRecord{record: rec.frozen()}
			leaving = append(leaving, rec)
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
		found[id] = &archivedRecord{record{msg: headerOf(e), seq: e.Seq, audience: new(audience)}, e.Message}
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
	it.Key, it.Sent, it.Same, it.Checked = "", r.msg.Sent, "", 0
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
		w := archiveWalk{Room: r, ctx: ctx, in: in, want: want, yield: yield, leaving: r.leavingIn(in)}
		for e, err := range r.archivedEvents(ctx, in) {
			if err != nil {
				yield(nil, r.unavailable(err))
				return
			}
			if !w.add(&e) {
				return
			}
		}
		for len(w.leaving) > 0 {
			if !w.takeLeaving() {
				return
			}
		}
		w.flush()
	}
}

// archiveWalk puts what is on its way to the archive in its place among what is there. Its methods report whether to
// go on.
type archiveWalk struct {
	*Room
	ctx   context.Context
	in    reach
	want  accept
	yield func(*archivedRecord, error) bool

	taken   []spot // and not yielded yet
	leaving list
	texts   []*mail.Message // of the first of those
}

// add comes to the next event of the archive.
func (w *archiveWalk) add(e *mail.Event) bool {
	for len(w.leaving) > 0 && (w.leaving[0].seq < e.Seq) != w.in.newest && w.leaving[0].seq != e.Seq {
		if !w.takeLeaving() {
			return false
		}
	}
	if len(w.leaving) > 0 && w.leaving[0].seq == e.Seq { // it has arrived meanwhile
		w.leaving, w.texts = w.leaving[1:], w.texts[min(1, len(w.texts)):]
	}
	if e.Message == nil {
		return true
	}
	h := headerOf(e)
	return w.take(&h, e.Seq, e.Message)
}

// takeLeaving comes to the first of what is leaving.
func (w *archiveWalk) takeLeaving() bool {
	if len(w.texts) == 0 {
		var err error
		if w.texts, err = w.leavingTexts(w.ctx, w.leaving[:min(lookUps, len(w.leaving))]); err != nil {
			w.yield(nil, err)
			return false
		}
	}
	rec, m := w.leaving[0], w.texts[0]
	w.leaving, w.texts = w.leaving[1:], w.texts[1:]
	return m == nil || w.take(&rec.msg, rec.seq, m)
}

func (w *archiveWalk) take(h *header, seq mail.Seq, m *mail.Message) bool {
	if w.want(h, seq, m) {
		w.taken = append(w.taken, spot{h.ID, seq})
	}
	return len(w.taken) < lookUps || w.flush()
}

// flush yields what was taken.
func (w *archiveWalk) flush() bool {
	ids := make([]mail.ID, len(w.taken))
	for i, at := range w.taken {
		ids[i] = at.id
	}
	found, err := w.lookUp(w.ctx, ids...)
	if err != nil {
		w.yield(nil, err)
		return false
	}
	for _, at := range w.taken {
		if rec := found[at.id]; rec != nil && rec.seq == at.seq && !w.yield(rec, nil) {
			return false
		}
	}
	w.taken = w.taken[:0]
	return true
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
