package mailroom

import (
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// apply makes an event part of the state. It is all that live operation and replay do to state; it reads nothing but
// the state and the event. It reports whether the event counted: a message that is known, or whose key is, and a read
// that came too late, change nothing and are not to be kept, because without the winner before them they would count.
func (s *state) apply(e *mail.Event) (counted bool) {
	if e.Seq != s.seq+1 {
		s.gap = e.Seq
	}
	s.sound = e.Seq > s.decided && s.marked >= s.gap
	s.exact = s.gap == 0 || s.sound && s.seq >= s.end
	s.seq = e.Seq
	counted = true
	switch {
	case len(s.losers) > 0 && isAmong(s.losers, e.Seq):
		counted = false
	case e.Message != nil:
		counted = s.applyMessage(e)
	case e.Receipt != nil:
		counted = s.applyReceipt(e)
	case e.Agent != nil:
		counted = s.applyAgent(e.Agent, e.At)
	case e.Erased != nil:
		s.applyErased(e.Erased)
	case e.Machine != nil:
		counted = s.applyMachine(e.Machine)
	case e.Bridge != nil:
		counted = s.applyBridge(e.Bridge)
	case e.Workspace != nil:
		s.applyWorkspace(e.Workspace)
	case e.Grant != nil:
		counted = s.applyGrant(e.Grant, e.At)
	case e.Settled != nil:
		counted = s.applySettled(*e.Settled, e.At)
	case e.Checkpoint != nil && e.Checkpoint.After == 0:
		counted = s.applyStep(e)
	case e.Checkpoint != nil && e.Checkpoint.After+1 == e.Seq:
		s.applyCheckpoint(e.Checkpoint, e.At)
	}
	switch {
	case !counted:
		s.void = append(s.void, e.Seq)
	case e.Checkpoint == nil && e.Machine == nil:
		s.shown, s.last = e.Seq, e.At
	}
	return counted
}

func (s *state) applyMessage(e *mail.Event) (counted bool) {
	k := sentKey{s.member(e.Message.From.Signer()), e.Message.Key}
	if s.records[e.Message.ID] != nil || k.key != "" && s.sentBefore(k) || s.sound && s.repeats(e.Message) != nil {
		return false
	}
	r := &record{msg: s.header(e), seq: e.Seq, size: uint32(len(e.Message.Body)),
		suggests: e.Message.Suggests}
	s.noteText(r, e.Message.Same)
	s.records[r.msg.ID] = r
	s.order = append(s.order, r)
	if k.key = r.msg.Key; k.key != "" {
		if k.from.keys == nil {
			k.from.keys = make(map[string]*record)
		}
		k.from.keys[k.key] = r
	}
	s.findAudience(r, k.from)
	s.index.add(r)
	if len(r.dynamic) > 0 {
		s.dynamic = append(s.dynamic, r)
	}
	if r.msg.shared == nil {
		s.byEvents = append(s.byEvents, r)
	}
	s.track(r, e.Message)
	s.deliver(r)
	return true
}

// findAudience finds out whom a new message is for. Where that follows from its addresses, those with the same
// envelope share the answer: a name leads to one member as long as any message mentions it.
func (s *state) findAudience(r *record, sender *member) {
	if r.audience = r.msg.shared; r.audience != nil {
		return
	}
	r.audience = &audience{sender: sender}
	for _, a := range r.msg.To {
		s.bind(r, a)
	}
	if !r.boundByEvents() {
		r.msg.shared = r.audience
	}
}

// bind finds out who is behind an address of a new message.
func (s *state) bind(r *record, a mail.Address) {
	switch a.Kind() {
	case mail.ToPerson:
		r.bound = append(r.bound, bound{a, []*member{s.member(mail.User)}})
	case mail.ToAgent:
		m := s.member(mail.Name(a.Value()))
		r.bound = append(r.bound, bound{a, s.withDescendants(r, m)})
	case mail.ToRole:
		r.bound = append(r.bound, bound{address: a})
		s.assign(r, len(r.bound)-1)
	case mail.FromFar: // it was sent there, and is known here because it asks
	default:
		if r.msg.Audience != "" {
			r.bound = append(r.bound, bound{a, s.present(r, a)})
			return
		}
		r.dynamic = append(r.dynamic, a)
	}
}

// withDescendants returns m, behind its descendants if r is a cancel: leaves stop first.
func (s *state) withDescendants(r *record, m *member) []*member {
	if !r.msg.Type.Rule().Stops {
		return []*member{m}
	}
	var out []*member
	for _, n := range policy.Descendants(m.Name, s.childrenOf) {
		if d := s.agent(n); d != nil && d != r.sender {
			out = append(out, d)
		}
	}
	return append(out, m)
}

// present returns the live agents behind an address, without the orchestrator if r is for its team.
func (s *state) present(r *record, a mail.Address) []*member {
	var out []*member
	for _, m := range s.carriers(a) {
		left := r.msg.Audience == mail.AudienceTeam && m.hasRole(string(mail.Orchestrator))
		if m != r.sender && m.listed() && m.State.Live() && !left {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, byName)
	return out
}

// assign gives the role mail at r.bound[i] to the holder whose turn it is, or holds it.
func (s *state) assign(r *record, i int) {
	b := &r.bound[i]
	role := b.address.Value()
	name := policy.Next(s.holders(role, r.sender), s.rotation[role])
	if name == "" {
		s.give(r, b, nil)
		s.hold(role, r)
		return
	}
	s.rotation[role] = name
	s.give(r, b, s.withDescendants(r, s.agent(name)))
}

// give makes members the audience at an address, and takes r from those who were it before. To the new ones it is
// delivered by whoever calls.
func (s *state) give(r *record, b *bound, members []*member) {
	before := b.members
	b.members = members
	for _, m := range before {
		s.refile(r, m)
	}
}

// hold keeps r for the next holder of role.
func (s *state) hold(role string, r *record) {
	l := s.held[role]
	l.add(r)
	s.held[role] = l
}

// deliver files r with everybody it reaches.
func (s *state) deliver(r *record) {
	for _, b := range r.bound {
		for _, m := range b.members {
			s.refile(r, m)
		}
	}
	for _, a := range r.dynamic {
		for _, m := range s.carriers(a) {
			if m.listed() {
				s.refile(r, m)
			}
		}
	}
}

func (s *state) applyReceipt(e *mail.Event) (counted bool) {
	rc, at := e.Receipt, e.At
	r := s.records[rc.Message]
	if r == nil {
		s.lateMarks.add(e)
		s.garbage++
		return true
	}
	m := s.member(rc.Reader.Signer())
	if rc.Mark == mail.MarkRead && !s.take(r, m) {
		return false
	}
	k := r.marksOf(m)
	if k == nil {
		r.marks = append(r.marks, marks{who: m})
		k = &r.marks[len(r.marks)-1]
	}
	was := k.shown()
	if rc.Mark == mail.MarkUnread {
		s.takenBack[r.msg.ID] = s.seq
	}
	switch {
	case rc.Mark == mail.MarkTold:
		was.mentioned, was.handedOver = s.seq, s.seq
	case rc.Mark == mail.MarkUntold:
		if was.mentioned == was.handedOver { // or another session was pointed to it since
			was.mentioned = 0
		}
		was.handedOver = 0
	case rc.Mark == mail.MarkNotified && rc.Door == mail.HookDoor:
		was.mentioned = s.seq
	case rc.Mark == mail.MarkPresented:
		was.mentioned, was.handedOver = s.seq, s.seq
		if rc.Door == mail.HookDoor {
			m.Introduced = s.seq
		}
		// What is shown with it proves no less.
		door := policy.ProvenDoor(was.notifiedDoor.name(), was.notified, rc.Door, at)
		if door != rc.Door || at != m.DoorAt {
			m.Door, m.DoorAt = strings.Clone(door), at
		}
	}
	k.setShown(was)
	k.set(rc, at)
	s.refile(r, m)
	return true
}

// take settles a read by somebody whom the message did not reach. Role mail is taken by it if nobody has it, or if it
// waits unread for one holder and another reads it: in foreign systems whoever has the role may read first. Role mail
// that was read, or whose reader does not have the role, was read too late, and is not read. take reports whether the
// read counts.
func (s *state) take(r *record, m *member) bool {
	i, counts := r.takenBy(m)
	if i < 0 {
		return counts || !s.sound // who had it is not known, and what compaction kept all counted
	}
	b := &r.bound[i]
	if role := b.address.Value(); b.holder() == nil {
		l := s.held[role]
		l.remove(r)
		s.held[role] = l
	}
	s.give(r, b, []*member{m})
	return true
}

// takenBy says what a read of r by m does: it counts or not, and if i is not negative it takes the role mail at
// r.bound[i].
//
// Before the checkpoint of a compacted journal nobody is registered yet. The reads that compaction kept all counted,
// so nothing is too late there; the checkpoint says who the holders are.
func (r *record) takenBy(m *member) (i int, counts bool) {
	if r.reaches(m) {
		return -1, true
	}
	late := false
	for i := range r.bound {
		b := &r.bound[i]
		if !b.isRole() {
			continue
		}
		switch h := b.holder(); {
		case h == nil, h.Registered != 0 && m.hasRole(b.address.Value()) && !r.settledBy(h):
			return i, true
		case h.Registered != 0:
			late = true
		}
	}
	return -1, !late
}

func (s *state) applyErased(e *mail.Erasure) {
	s.erased[e.Message] = s.seq
	if keyed := s.spent.forgetOf(e.Message); keyed || s.records[e.Message] != nil || s.leaving[e.Message] != nil {
		s.remains[e.Message] = true
	}
	delete(s.leaving, e.Message)
	delete(s.trims, e.Message)
	switch asked := s.erasing[e.Message]; {
	case !e.Done:
		s.erasing[e.Message] = &erasure{by: e.By, at: s.seq}
		s.forget([]mail.ID{e.Message})
	case e.Machine == "":
		delete(s.erasing, e.Message)
	case asked != nil:
		asked.done = append(asked.done, e.Machine)
		s.erasedEverywhere(e.Message)
	}
}
