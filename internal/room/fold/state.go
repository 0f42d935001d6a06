package fold

import (
	"iter"
	"maps"
	"slices"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// State is the state derived from the events of a journal up to Seq. Only Apply changes it.
type State struct {
	ttl policy.TTL
	Seq mail.Seq
	// sound: no event is missing since the last checkpoint. Exact: none was missing there either, so the next
	// checkpoint adds nothing. The events that compaction and erasures took were there until the last checkpoint that
	// a replay finds.
	sound, Exact bool
	gap          mail.Seq  // the last event before which one is missing; 0: none
	End          mail.Seq  // where the journal ended when replay began
	Decided      mail.Seq  // all events up to here counted, except the losers
	Shown        mail.Seq  // of the last event that a watch shows
	Last         mail.Time // of that event, even if compaction has dropped it
	Records      map[mail.ID]*Record
	Order        List                  // all records in journal order
	index        index                 // of order
	Members      map[mail.Name]*Member // by name, and by names they had before
	Listed       []*Member             // the roster, by name
	Outlines     map[string][]*Member  // the roster by the outlines of its names
	Bases        map[string][]*Member  // by Base; may include members off the roster
	Roles        map[string][]*Member  // members with a role; may include some off the roster
	Tags         map[string][]*Member  // members that carry a tag; likewise
	Held         map[string]List       // by role: mail that could be given to no live holder, in order
	Offered      map[string]List       // by role: mail that all live holders see and none has read, in order
	// records with an audience that is found out on each look; expired ones may be missing
	dynamic    List
	byEvents   List                 // whose audience follows from the roster as it was: see boundByEvents
	answered   List                 // questions with an answer
	Open       List                 // questions that are not settled
	Rotation   map[string]mail.Name // by role: who was given its last message
	Spent      spentKeys
	Tokens     map[string]*Member   // by the hash of a bearer token
	Programs   map[string][]*Member // by the program that a session of theirs was last in
	askers     []*Member            // including all that are at a dialog
	claimants  []*Member            // who have claims, or wait for some
	Erasing    map[mail.ID]*Erasure // erasures that are not done
	Erased     map[mail.ID]mail.Seq // erasures that the journal records, and where
	Leaving    map[mail.ID]*Record  // trimmed, and as far as is known not in the archive yet
	LateMarks  LateMarks
	Bridges    []mail.Bridge
	Workspaces []mail.Workspace
	Grants     []mail.Grant // one for each subject
	Scheduled  map[mail.ID]*mail.Scheduling
	Entries    map[string]mail.ScheduleEntry // of configurations, by name
	// by machine: whom it can wake without a session
	Doors map[mail.Machine][]mail.Address

	Garbage   int                  // events that compaction would drop
	takenBack map[mail.ID]mail.Seq // where a read was last taken back, since the last compaction
	Stale     int                  // such events before the last checkpoint
	Void      []mail.Seq           // events that did not count, in order: compaction and erasure drop them
	Losers    []mail.Seq           // those that a later checkpoint lists, in order
	Marked    mail.Seq             // the last checkpoint
	Machines  []mail.Machine       // those that follow the room, by name
	Rules     map[mail.Machine]int // the version of the rules that each of them knows
	Upkeep    mail.Machine         // the one that looks after it; "": none
	UpkeepAt  mail.Seq             // where that was last settled
	recent    []SameText           // of the last messages since the last checkpoint; see repeats
	formerly  []SameText           // recent as it was at that checkpoint; replay does not rebuild it
	Remains   map[mail.ID]bool     // messages whose text the journal had when it recorded their erasure
	Trims     map[mail.ID]mail.Seq // where those of Leaving were trimmed, in a shared room
	Arrived   []pause.Nudge        // waits to be woken; replay does not rebuild it
	Ended     bool                 // a token may be void, or an agent gone; likewise
	envelopes map[string]*envelope
	scratch   []byte               // for the keys of envelopes
	Waited    map[Arrival]struct{} // waits that ended so; told to the sender, not rebuilt by replay
}

// SentKey is an idempotency key and its owner, by whatever name they signed.
type SentKey struct {
	from *Member
	Key  string
}

// KeyOf returns the key of a sender. No key is known of an unknown sender.
func (s *State) KeyOf(from mail.Address, key string) SentKey {
	return keyOf(s.Members[from.Signer()], from, key)
}

// keyOf returns the key with which m, which may be nil, signed under a name. The keys of another sender who turned
// out to be the same stay separate: two messages that both counted must count in every replay.
func keyOf(m *Member, from mail.Address, key string) SentKey {
	if m != nil && key != "" && len(m.Merged) > 0 && slices.Contains(m.Merged, from.Signer()) {
		key += "\x00" + string(from.Signer()) // at the end: the beginning says which kind of key it is
	}
	return SentKey{m, key}
}

// keyOf returns the key under which m, who sent r, finds r among its keys.
func (r *Record) keyOf(m *Member) string { return keyOf(m, r.Msg.From, r.Msg.Key).Key }

// Record is a message and what became of it. There may be a million: TestRecordsAreSmall weighs one.
type Record struct {
	Msg Header // Sent is filled
	Seq mail.Seq
	*audience
	marks   []marks
	Settled *mail.Settlement // nil while its question is open
	size    uint32           // of the body, in bytes
	Gone    bool             // trimmed or erased; lists drop it when they are next filtered
	// suggests: it answers a question that its sender was not asked
	suggests bool
}

// bound is an address whose audience was fixed, when the message was sent or when a role found a holder. No members:
// held.
type bound struct {
	address mail.Address
	members []*Member
}

// Arrival is a message that came while someone waited for it.
type Arrival struct {
	Mail *Record
	To   *Member
}

// Record returns the hot message that was sent with the key, nil if there is none.
func (k SentKey) Record() *Record {
	if k.from == nil {
		return nil
	}
	return k.from.keys[k.Key]
}

// Member is anyone with a mailbox: an agent, the user, or a name that mail was addressed to and no one bears.
type Member struct {
	mail.AgentRecord
	// delivered, neither read nor archived; expired and snoozed ones may still be in it
	Unread  box
	Urgent  box                            // the urgent ones of Unread
	Calling List                           // those of Unread that are of the kind that wakes the member
	Given   List                           // those of Unread that are mail for a role, and were given to the member
	Cancels List                           // the cancels in Unread: a hook checks for them before each tool
	Told    List                           // those of Unread that a client was told of
	Snoozed List                           // those of Unread that were put off, even if that is over
	All     List                           // delivered and not archived
	Rest    List                           // the others that the member has marked: archived, or passed on to another
	Sent    List                           // by the member, under any name
	Asked   List                           // open questions to it by name or role
	Asking  List                           // its own open questions
	keys    map[string]*Record             // what it sent with idempotency keys
	Waiters map[pause.Nudge]mail.WaitQuery // who is blocked in Wait, and for what; replay does not rebuild it
}

// lists returns the lists of m's mailbox, except the boxes of unread mail.
func (m *Member) lists() []*List {
	return []*List{&m.Calling, &m.Given, &m.Cancels, &m.Told, &m.Snoozed, &m.All, &m.Rest, &m.Sent, &m.Asked,
		&m.Asking}
}

// Holder returns the member that was given role mail; a cancel has the holder's descendants before it.
func (b *bound) Holder() *Member {
	if len(b.members) == 0 {
		return nil
	}
	return b.members[len(b.members)-1]
}

// IsRole reports whether the audience is the holder of a role.
func (b *bound) IsRole() bool { return b.address.Kind() == mail.ToRole }

// NewState returns the state of an empty journal. ttl is the lifetime of mail that does not state one.
func NewState(ttl policy.TTL) *State {
	s := &State{
		ttl:      ttl,
		Doors:    make(map[mail.Machine][]mail.Address),
		Records:  make(map[mail.ID]*Record),
		Members:  make(map[mail.Name]*Member),
		index:    newIndex(),
		Outlines: make(map[string][]*Member),
		Bases:    make(map[string][]*Member),
		Roles:    make(map[string][]*Member),
		Tags:     make(map[string][]*Member),
		Held:     make(map[string]List),
		Offered:  make(map[string]List),
		Rotation: make(map[string]mail.Name),
		Spent:    spentKeys{ByKey: make(map[SentKey]spentKey)},
		Tokens:   make(map[string]*Member),
		Programs: make(map[string][]*Member),
		Erasing:  make(map[mail.ID]*Erasure),
		Remains:  make(map[mail.ID]bool),

		takenBack: make(map[mail.ID]mail.Seq),
		Trims:     make(map[mail.ID]mail.Seq),
		Erased:    make(map[mail.ID]mail.Seq),
		Rules:     make(map[mail.Machine]int),
		Leaving:   make(map[mail.ID]*Record),

		Scheduled: make(map[mail.ID]*mail.Scheduling),
		Entries:   make(map[string]mail.ScheduleEntry),
		LateMarks: make(LateMarks),
		envelopes: make(map[string]*envelope),
		Waited:    make(map[Arrival]struct{}),
	}
	s.member(mail.User)
	return s
}

// member returns the bearer of a name, and makes a mailbox for the name if there is none.
func (s *State) member(n mail.Name) *Member {
	m := s.Members[n]
	if m == nil {
		m = &Member{AgentRecord: mail.AgentRecord{Name: n, Retired: true}}
		s.Members[n] = m
	}
	return m
}

// Agent returns the agent on the roster that bears a name, or had it before; nil if there is none.
func (s *State) Agent(n mail.Name) *Member {
	if m := s.Members[n]; m != nil && m.Listed() {
		return m
	}
	return nil
}

// Agents yields the roster by name.
func (s *State) Agents() iter.Seq[*Member] { return slices.Values(s.Listed) }

// ByName compares members by name, in the order of the roster.
func ByName(a, b *Member) int { return mail.CompareNames(a.Name, b.Name) }

// childrenOf returns the agents whose parent bears a name, in order.
func (s *State) childrenOf(n mail.Name) []mail.Name {
	var out []mail.Name
	for m := range s.Agents() {
		if m.Parent == n {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Listed reports whether m is on the roster.
func (m *Member) Listed() bool { return !m.Retired }

// IsUser reports whether m is the person.
func (m *Member) IsUser() bool { return m.Name == mail.User }

// Address returns the address of m, "" for nil.
func (m *Member) Address() mail.Address {
	if m == nil {
		return ""
	}
	return mail.AgentAddress(m.Name)
}

// HasRole reports whether m has a role.
func (m *Member) HasRole(role string) bool { return slices.Contains(m.Roles, role) }

// holders returns the names of the live agents with a role, in order, without the sender.
func (s *State) holders(role string, sender *Member) []mail.Name {
	var names []mail.Name
	for _, m := range s.Roles[role] {
		if m != sender && m.Listed() && m.State.Live() {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Holders returns the agents on the roster that have a role, by name: those that are not gone, if there are any.
func (s *State) Holders(role string) (all []*Member) {
	var gone []*Member
	for _, m := range s.Roles[role] {
		switch {
		case !m.Listed():
		case m.State == mail.Gone:
			gone = append(gone, m)
		default:
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		all = gone
	}
	slices.SortFunc(all, ByName)
	return all
}

// CountUnread returns how much unread mail m sees. It costs a search, and a look at the mail that was put off.
func (s *State) CountUnread(m *Member, now mail.Time) int {
	n := m.Unread.At(now)
	for _, r := range m.Snoozed {
		if s.Visible(r, m, now) && !r.Withdrawn() {
			n++
		}
	}
	return n
}

// refile puts r into the lists of m's mailbox where it belongs now, and takes it out where it does not. It reports
// whether r became unread mail of m.
func (s *State) refile(r *Record, m *Member) (arrived bool) {
	k := r.MarksOf(m)
	mine := r.Reaches(m)
	kept := k != nil && len(r.dynamic) > 0 // a reader keeps what it saw of a tag that it lost
	all := (mine || kept) && (k == nil || k.Archived == 0)
	m.All.set(r, all)
	m.Rest.set(r, k != nil && !all)
	m.Asked.set(r, r.Open() && r.BoundTo(m) != nil)
	return s.fileUnread(r, m, k, mine && (k == nil || k.read == 0 && k.Archived == 0))
}

// fileUnread is refile for the lists of unread mail. k are m's marks, nil if it has made none.
func (s *State) fileUnread(r *Record, m *Member, k *marks, unread bool) (arrived bool) {
	snoozed := unread && k != nil && k.Shown().snoozed != 0
	var end mail.Time
	if unread {
		end = s.endOf(r, m, snoozed)
	}
	if arrived = m.Unread.set(r, unread, end); arrived {
		s.signal(m, r)
	}
	m.Urgent.set(r, unread && r.Msg.Priority == mail.Urgent, end)
	m.Snoozed.set(r, snoozed)
	m.Calling.set(r, unread && s.WakesNow(r, m))
	m.Given.set(r, unread && r.GivenTo(m))
	if !unread {
		delete(s.Waited, Arrival{r, m})
	}
	m.Cancels.set(r, unread && r.Msg.Type.Rule().Stops)
	m.Told.set(r, unread && k != nil && k.Shown().Told != 0)
	return arrived
}

// endOf returns until when r counts among the unread mail of m, which it reaches.
func (s *State) endOf(r *Record, m *Member, snoozed bool) mail.Time {
	if snoozed || r.Withdrawn() {
		return never
	}
	_, expires, _ := s.lasting(r, m)
	return expires
}

// refileUnread refiles all unread mail of m, after a change that decides when it expires or whom it wakes.
func (s *State) refileUnread(m *Member) {
	for _, r := range slices.Clone(m.Unread.List) {
		s.refile(r, m)
	}
}

// BoundTo returns the first fixed audience of r that has m; nil if there is none.
func (r *Record) BoundTo(m *Member) *bound {
	for i := range r.Bound {
		if slices.Contains(r.Bound[i].members, m) {
			return &r.Bound[i]
		}
	}
	return nil
}

// GivenTo reports whether r is mail for a role that m holds it for.
func (r *Record) GivenTo(m *Member) bool {
	return slices.ContainsFunc(r.Bound, func(b bound) bool {
		return b.IsRole() && (b.Holder() == m || r.isOffer() && slices.Contains(b.members, m))
	})
}

// signal wakes the waits on m's mailbox when the state can be looked at. A waiter that is busy looks once more.
func (s *State) signal(m *Member, r *Record) {
	for c, q := range m.Waiters {
		if Awaited(q, r) {
			s.Waited[Arrival{r, m}] = struct{}{}
		}
		s.Arrived = append(s.Arrived, c)
	}
}

// forget removes the given records from everywhere.
func (s *State) forget(ids []mail.ID) {
	var gone List
	for _, id := range ids {
		r := s.Records[id]
		if r == nil {
			continue
		}
		r.Gone = true
		gone.Add(r)
		delete(s.Records, id)
		s.drop(r.Msg.envelope)
		if key := r.keyOf(r.Sender); r.Sender.keys[key] == r {
			delete(r.Sender.keys, key)
		}
	}
	if len(gone) == 0 {
		return
	}
	maps.DeleteFunc(s.Waited, func(a Arrival, _ struct{}) bool { return a.Mail.Gone })
	first, last := gone[0].Seq, gone[len(gone)-1].Seq
	s.Order.DropGone(first, last)
	s.index.forget(gone, s.Order)
	s.dynamic.DropGone(first, last)
	s.byEvents.DropGone(first, last)
	s.answered.DropGone(first, last)
	s.Open.DropGone(first, last)
	for _, lists := range []map[string]List{s.Held, s.Offered} {
		for role, l := range lists {
			l.DropGone(first, last)
			lists[role] = l
		}
	}
	for m := range s.filedWith(gone) {
		m.Unread.dropGone(first, last)
		m.Urgent.dropGone(first, last)
		for _, l := range m.lists() {
			l.DropGone(first, last)
		}
	}
}

// filedWith returns the members whose lists may have one of some records.
func (s *State) filedWith(records List) map[*Member]bool {
	out := make(map[*Member]bool)
	for _, r := range records {
		out[r.Sender] = true
		if len(r.dynamic) > 0 {
			for m := range maps.Values(s.Members) {
				out[m] = true
			}
			return out
		}
		for _, b := range r.Bound {
			for _, m := range b.members {
				out[m] = true
			}
		}
		for i := range r.marks {
			out[r.marks[i].Who] = true
		}
	}
	return out
}
