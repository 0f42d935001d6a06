package fold

import (
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Apply makes an event part of the state. It is the only way in which live operation and replay change the state; it
// reads nothing but the state and the event. It reports whether the event counted: a known message, one with a known
// key, and a read that came too late change nothing and must not be kept, because without the winner before them they
// would count.
func (s *State) Apply(e *mail.Event) (counted bool) {
	if e.Seq != s.Seq+1 {
		s.gap = e.Seq
	}
	s.sound = e.Seq > s.Decided && s.Marked >= s.gap
	s.Exact = s.gap == 0 || s.sound && s.Seq >= s.End
	s.Seq = e.Seq
	counted = true
	switch {
	case len(s.Losers) > 0 && IsAmong(s.Losers, e.Seq):
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
	case e.Dialog != nil:
		s.applyDialog(e.Dialog, e.At)
	case e.Claim != nil:
		counted = s.applyClaim(e.Claim, e.At)
	case e.Schedule != nil:
		s.applySchedule(e.Schedule, e.At)
	case e.Settled != nil:
		counted = s.applySettled(*e.Settled, e.At)
	case e.Checkpoint != nil && e.Checkpoint.After == 0:
		counted = s.applyStep(e)
	case e.Checkpoint != nil && e.Checkpoint.After+1 == e.Seq:
		s.applyCheckpoint(e.Checkpoint, e.At)
	}
	switch {
	case !counted:
		s.Void = append(s.Void, e.Seq)
	case e.Checkpoint == nil && e.Machine == nil:
		s.Shown, s.Last = e.Seq, e.At
	}
	return counted
}

func (s *State) applyMessage(e *mail.Event) (counted bool) {
	sender := s.member(e.Message.From.Signer())
	k := keyOf(sender, e.Message.From, e.Message.Key)
	if s.Records[e.Message.ID] != nil || k.Key != "" && s.SentBefore(k) || s.sound && s.repeats(e.Message) != nil {
		return false
	}
	r := &Record{Msg: s.header(e), Seq: e.Seq, size: uint32(len(e.Message.Body)),
		suggests: e.Message.Suggests}
	s.noteText(r, e.Message.Same)
	s.Records[r.Msg.ID] = r
	s.Order = append(s.Order, r)
	if k.Key != "" {
		if sender.keys == nil {
			sender.keys = make(map[string]*Record)
		}
		sender.keys[r.keyOf(sender)] = r
	}
	s.findAudience(r, sender)
	s.index.add(r)
	if len(r.dynamic) > 0 {
		s.dynamic = append(s.dynamic, r)
	}
	if r.Msg.shared == nil {
		s.byEvents = append(s.byEvents, r)
	}
	s.track(r, e.Message)
	s.deliver(r)
	return true
}

// findAudience finds out whom a new message is for. If that follows from its addresses, messages with the same
// envelope share the answer: a name leads to one member while any message mentions it.
func (s *State) findAudience(r *Record, sender *Member) {
	if r.audience = r.Msg.shared; r.audience != nil {
		return
	}
	r.audience = &audience{Sender: sender}
	for _, a := range r.Msg.To {
		s.bind(r, a)
	}
	if !r.boundByEvents() {
		r.Msg.shared = r.audience
	}
}

// bind finds the members at an address of a new message.
func (s *State) bind(r *Record, a mail.Address) {
	switch a.Kind() {
	case mail.ToPerson:
		r.Bound = append(r.Bound, bound{a, []*Member{s.member(mail.User)}})
	case mail.ToAgent:
		m := s.member(mail.Name(a.Value()))
		r.Bound = append(r.Bound, bound{a, s.withDescendants(r, m)})
	case mail.ToRole:
		r.Bound = append(r.Bound, bound{address: a})
		s.assign(r, len(r.Bound)-1)
	case mail.FromFar: // it was sent there, and is known here because it asks
	default:
		if r.Msg.forPresent() {
			r.Bound = append(r.Bound, bound{a, s.present(r, a)})
			return
		}
		r.dynamic = append(r.dynamic, a)
	}
}

// withDescendants returns m, after its descendants if r is a cancel: leaves stop first.
func (s *State) withDescendants(r *Record, m *Member) []*Member {
	if !r.Msg.Type.Rule().Stops {
		return []*Member{m}
	}
	var out []*Member
	for _, n := range policy.Descendants(m.Name, s.childrenOf) {
		if d := s.Agent(n); d != nil && d != r.Sender {
			out = append(out, d)
		}
	}
	return append(out, m)
}

// present returns the live agents at an address, without the orchestrator if r is for its team.
func (s *State) present(r *Record, a mail.Address) []*Member {
	var out []*Member
	for _, m := range s.carriers(a) {
		left := r.Msg.Audience == mail.AudienceTeam && m.HasRole(string(mail.Orchestrator))
		if m != r.Sender && m.Listed() && m.State.Live() && !left {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, ByName)
	return out
}

// assign gives the role mail at r.Bound[i] to the holder whose turn it is, or holds it; mail for all holders is
// offered.
func (s *State) assign(r *Record, i int) {
	if r.isOffer() {
		s.offer(r, i)
		return
	}
	b := &r.Bound[i]
	role := b.address.Value()
	name := policy.Next(s.holders(role, r.Sender), s.Rotation[role])
	if name == "" {
		s.give(r, b, nil)
		insert(s.Held, role, r)
		return
	}
	s.Rotation[role] = name
	s.give(r, b, s.withDescendants(r, s.Agent(name)))
}

// give makes members the audience at an address, and takes r from the previous ones. The caller delivers it to the
// new ones.
func (s *State) give(r *Record, b *bound, members []*Member) {
	before := b.members
	b.members = members
	for _, m := range before {
		s.refile(r, m)
	}
}

// deliver files r with everyone it reaches.
func (s *State) deliver(r *Record) {
	for _, b := range r.Bound {
		for _, m := range b.members {
			s.refile(r, m)
		}
	}
	for _, a := range r.dynamic {
		for _, m := range s.carriers(a) {
			if m.Listed() {
				s.refile(r, m)
			}
		}
	}
}

func (s *State) applyReceipt(e *mail.Event) (counted bool) {
	rc, at := e.Receipt, e.At
	r := s.Records[rc.Message]
	if r == nil {
		s.LateMarks.Add(e)
		s.Garbage++
		return true
	}
	m := s.member(rc.Reader.Signer())
	if !s.takes(r, m, rc.Mark) {
		return false
	}
	k := r.MarksOf(m)
	if k == nil {
		r.marks = append(r.marks, marks{Who: m})
		k = &r.marks[len(r.marks)-1]
	}
	was := k.Shown()
	if rc.Mark == mail.MarkUnread {
		s.takenBack[r.Msg.ID] = s.Seq
	}
	switch {
	case rc.Mark == mail.MarkTold:
		was.mentioned, was.handedOver = s.Seq, s.Seq
	case rc.Mark == mail.MarkUntold:
		if was.mentioned == was.handedOver { // or another session was pointed to it since
			was.mentioned = 0
		}
		was.handedOver = 0
	case rc.Mark == mail.MarkNotified && rc.Door == mail.HookDoor:
		was.mentioned = s.Seq
	case rc.Mark == mail.MarkPresented:
		was.mentioned, was.handedOver = s.Seq, s.Seq
		if m.Registered != 0 { // nothing else is kept of a name that only has a mailbox
			m.proves(rc.Door, policy.ProvenDoor(was.notifiedDoor.name(), was.notified, rc.Door, at), at, s.Seq)
		}
	}
	k.setShown(was)
	k.set(rc, at)
	s.refile(r, m)
	s.offerAgain(r, m, rc.Mark)
	return true
}

// proves records what it proves of m that it was shown mail through a door: that it was introduced, if by a hook, and
// by which door, perhaps the one that had rung, it can be reached.
func (m *Member) proves(shown, door string, at mail.Time, seq mail.Seq) {
	if shown == mail.HookDoor {
		m.Introduced = seq
	}
	// Showing mail with it proves no less.
	if door != shown || at != m.DoorAt {
		m.Door, m.DoorAt = strings.Clone(door), at
	}
}

// takes applies a mark that takes role mail, and reports whether the mark counts.
func (s *State) takes(r *Record, m *Member, mark mail.Mark) bool {
	if mark == mail.MarkRead || mark == mail.MarkArchived {
		s.takeOffers(r, m)
	}
	return mark != mail.MarkRead || s.take(r, m)
}

// take decides on a read by a member whom the message did not reach. It takes role mail that no one has, or that is
// unread with one holder: in foreign systems anyone with the role may read first. Mail that is offered to all holders
// may also be taken by a reader whatever role it has now. Role mail that was read, or whose reader does not have the
// role, was read too late, and is not read. take reports whether the read counts.
func (s *State) take(r *Record, m *Member) bool {
	i, counts := r.TakenBy(m)
	if i < 0 {
		return counts || !s.sound // its holder is not known, and the reads that compaction kept all counted
	}
	s.takeAt(r, &r.Bound[i], m)
	return true
}

// TakenBy says what a read of r by m does: it counts or not, and if i is not negative it takes the role mail at
// r.Bound[i].
//
// Before the checkpoint of a compacted journal no one is registered yet. The reads that compaction kept all counted,
// so nothing is too late there; the checkpoint says who the holders are.
func (r *Record) TakenBy(m *Member) (i int, counts bool) {
	if r.Reaches(m) {
		return -1, true
	}
	late := false
	for i := range r.Bound {
		b := &r.Bound[i]
		if !b.IsRole() {
			continue
		}
		switch h := b.Holder(); {
		case h == nil, r.offered(b), h.Registered != 0 && m.HasRole(b.address.Value()) && !r.SettledBy(h):
			return i, true
		case h.Registered != 0:
			late = true
		}
	}
	return -1, !late
}

func (s *State) applyErased(e *mail.Erasure) {
	s.Erased[e.Message] = s.Seq
	if keyed := s.Spent.forgetOf(e.Message); keyed || s.Records[e.Message] != nil || s.Leaving[e.Message] != nil ||
		s.Scheduled[e.Message] != nil {
		s.Remains[e.Message] = true
	}
	delete(s.Leaving, e.Message)
	delete(s.Trims, e.Message)
	delete(s.Scheduled, e.Message)
	switch asked := s.Erasing[e.Message]; {
	case !e.Done:
		s.Erasing[e.Message] = &Erasure{By: e.By, At: s.Seq}
		s.forget([]mail.ID{e.Message})
	case e.Machine == "":
		delete(s.Erasing, e.Message)
	case asked != nil:
		asked.done = append(asked.done, e.Machine)
		s.erasedEverywhere(e.Message)
	}
}
