package mailroom

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// state is what follows from the events of a journal up to seq. Only apply changes it.
type state struct {
	ttl policy.TTL
	seq mail.Seq
	// sound: no event is missing since the last checkpoint. exact: nor was one missing there, so that the next
	// checkpoint has nothing to say. What compaction and erasures took was there until the last checkpoint that a
	// replay finds.
	sound, exact bool
	gap          mail.Seq  // the last event before which one is missing; 0: none
	end          mail.Seq  // where the journal ended when replay began
	decided      mail.Seq  // up to here all counted that are not among losers
	shown        mail.Seq  // of the last event that a watch shows
	last         mail.Time // of that event, also when compaction has dropped it
	records      map[mail.ID]*record
	order        list                  // all records in journal order
	index        index                 // of order
	members      map[mail.Name]*member // by name, and by names they had before
	listed       []*member             // the roster, by name
	outlines     map[string][]*member  // the roster by the outlines of its names
	bases        map[string][]*member  // by Base; those who are off the roster may be among them
	roles        map[string][]*member  // who has a role; those who are off the roster may be among them
	tags         map[string][]*member  // who carries a tag; likewise
	held         map[string]list       // by role: mail that no live holder could be given, in order
	// records with an audience that is found out when somebody looks; expired ones may be missing
	dynamic    list
	byEvents   list                 // whose audience follows from the roster as it was: see boundByEvents
	answered   list                 // what asked and has an answer
	open       list                 // what is asked and not settled
	rotation   map[string]mail.Name // by role: who was given its last message
	spent      spentKeys
	tokens     map[string]*member   // by the hash of a bearer token
	programs   map[string][]*member // by the program that a session of theirs was last in
	erasing    map[mail.ID]*erasure // erasures that are not done
	erased     map[mail.ID]mail.Seq // erasures that the journal tells of, and where
	leaving    map[mail.ID]*record  // trimmed, and as far as is known not in the archive yet
	lateMarks  lateMarks
	bridges    []mail.Bridge
	workspaces []mail.Workspace
	grants     []mail.Grant // one for each of what it is about
	// by machine: whom it can wake without a session
	doors map[mail.Machine][]mail.Address

	garbage   int                  // events that compaction would drop
	takenBack map[mail.ID]mail.Seq // where a read was last taken back, since the last compaction
	stale     int                  // those of them that the last checkpoint has behind it
	void      []mail.Seq           // events that did not count, in order: compaction and erasure drop them
	losers    []mail.Seq           // those of which a later checkpoint says so, in order
	marked    mail.Seq             // the last checkpoint
	machines  []mail.Machine       // that follow the room, by name
	rules     map[mail.Machine]int // the version of the rules that each of them knows
	upkeep    mail.Machine         // which looks after it; "": none
	upkeepAt  mail.Seq             // where that was last settled
	recent    []sameText           // of the last messages since the last checkpoint; see repeats
	formerly  []sameText           // recent as it was at that checkpoint; no part of what replay rebuilds
	remains   map[mail.ID]bool     // messages of which the journal had the text when it said that they are erased
	trims     map[mail.ID]mail.Seq // where those of leaving were trimmed, in a shared room
	arrived   []chan struct{}      // waits to be woken; no part of what replay rebuilds
	ended     bool                 // a token may be good no more, or an agent gone; likewise
	envelopes map[string]*envelope
	scratch   []byte               // for the keys of envelopes
	waited    map[arrival]struct{} // waits that ended so; told to the sender, no part of what replay rebuilds
}

// sentKey is an idempotency key and whose it is, by whatever name they signed.
type sentKey struct {
	from *member
	key  string
}

// keyOf returns the key of a sender. Of one that nobody knows yet no key is known.
func (s *state) keyOf(from mail.Address, key string) sentKey {
	return sentKey{s.members[from.Signer()], key}
}

// record is a message and what became of it. There may be a million: TestRecordsAreSmall weighs one.
type record struct {
	msg header // Sent is filled
	seq mail.Seq
	*audience
	marks   []marks
	settled *mail.Settlement // nil while what it asks is open
	size    uint32           // of the body, in bytes
	gone    bool             // trimmed or erased; lists drop it when they are next filtered
	// suggests: it answers a question of which its sender was not asked
	suggests bool
}

// bound is an address whose audience was fixed, when the message was sent or when a role found a holder. No
// members: held.
type bound struct {
	address mail.Address
	members []*member
}

// arrival is a message that came while somebody waited for it.
type arrival struct {
	mail *record
	to   *member
}

// record returns the hot message that was sent with the key, nil if there is none.
func (k sentKey) record() *record {
	if k.from == nil {
		return nil
	}
	return k.from.keys[k.key]
}

// member is anybody with a mailbox: an agent, the user, or a name that mail was addressed to and nobody bears.
type member struct {
	mail.AgentRecord
	// delivered, neither read nor archived; expired and snoozed ones may still be in it
	unread  box
	urgent  box                              // those of unread that are urgent
	calling list                             // those of unread that are of the kind that wakes the member
	given   list                             // those of unread that are mail for a role, and were given to the member
	cancels list                             // those of unread that are cancels: a hook asks for them before each tool
	told    list                             // those of unread of which a client was told
	snoozed list                             // those of unread that were put off, also if that is over
	all     list                             // delivered and not archived
	rest    list                             // what else the member has marked: archived, or passed on to another
	sent    list                             // by the member, under any name
	asked   list                             // open questions to it by name or role
	asking  list                             // its own open questions
	keys    map[string]*record               // what it sent with idempotency keys
	waiters map[chan struct{}]mail.WaitQuery // who is blocked in Wait, and for what; no part of what replay rebuilds
}

// lists are the lists of m's mailbox, but for what is unread.
func (m *member) lists() []*list {
	return []*list{&m.calling, &m.given, &m.cancels, &m.told, &m.snoozed, &m.all, &m.rest, &m.sent, &m.asked,
		&m.asking}
}

// holder returns who was given role mail; a cancel has the holder's descendants before it.
func (b *bound) holder() *member {
	if len(b.members) == 0 {
		return nil
	}
	return b.members[len(b.members)-1]
}

func (b *bound) isRole() bool { return b.address.Kind() == mail.ToRole }

// newState returns the state of an empty journal. ttl is how long mail lasts that says nothing of it.
func newState(ttl policy.TTL) *state {
	s := &state{
		ttl:      ttl,
		doors:    make(map[mail.Machine][]mail.Address),
		records:  make(map[mail.ID]*record),
		members:  make(map[mail.Name]*member),
		index:    newIndex(),
		outlines: make(map[string][]*member),
		bases:    make(map[string][]*member),
		roles:    make(map[string][]*member),
		tags:     make(map[string][]*member),
		held:     make(map[string]list),
		rotation: make(map[string]mail.Name),
		spent:    spentKeys{byKey: make(map[sentKey]spentKey)},
		tokens:   make(map[string]*member),
		programs: make(map[string][]*member),
		erasing:  make(map[mail.ID]*erasure),
		remains:  make(map[mail.ID]bool),

		takenBack: make(map[mail.ID]mail.Seq),
		trims:     make(map[mail.ID]mail.Seq),
		erased:    make(map[mail.ID]mail.Seq),
		rules:     make(map[mail.Machine]int),
		leaving:   make(map[mail.ID]*record),

		lateMarks: make(lateMarks),
		envelopes: make(map[string]*envelope),
		waited:    make(map[arrival]struct{}),
	}
	s.member(mail.User)
	return s
}

// member returns the bearer of a name, and makes a mailbox for the name if there is none.
func (s *state) member(n mail.Name) *member {
	m := s.members[n]
	if m == nil {
		m = &member{AgentRecord: mail.AgentRecord{Name: n, Retired: true}}
		s.members[n] = m
	}
	return m
}

// agent returns the agent on the roster that bears a name, or had it before; nil if there is none.
func (s *state) agent(n mail.Name) *member {
	if m := s.members[n]; m != nil && m.listed() {
		return m
	}
	return nil
}

// agents yields the roster by name.
func (s *state) agents() iter.Seq[*member] { return slices.Values(s.listed) }

func byName(a, b *member) int { return mail.CompareNames(a.Name, b.Name) }

// childrenOf returns the agents whose parent bears a name, in order.
func (s *state) childrenOf(n mail.Name) []mail.Name {
	var out []mail.Name
	for m := range s.agents() {
		if m.Parent == n {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (m *member) listed() bool { return !m.Retired }

func (m *member) isUser() bool { return m.Name == mail.User }

func (m *member) hasRole(role string) bool { return slices.Contains(m.Roles, role) }

// holders returns the names of the live agents with a role, in order, without the sender.
func (s *state) holders(role string, sender *member) []mail.Name {
	var names []mail.Name
	for _, m := range s.roles[role] {
		if m != sender && m.listed() && m.State.Live() {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// countUnread returns how much unread mail m sees. It costs a search, and a look at what was put off.
func (s *state) countUnread(m *member, now mail.Time) int {
	n := m.unread.at(now)
	for _, r := range m.snoozed {
		if s.visible(r, m, now) && !r.withdrawn() {
			n++
		}
	}
	return n
}

// refile puts r into the lists of m's mailbox where it belongs now, and takes it out where it does not. It reports
// whether r became unread mail of m.
func (s *state) refile(r *record, m *member) (arrived bool) {
	k := r.marksOf(m)
	mine := r.reaches(m)
	kept := k != nil && len(r.dynamic) > 0 // a reader keeps what it saw of a tag that it lost
	all := (mine || kept) && (k == nil || k.archived == 0)
	m.all.set(r, all)
	m.rest.set(r, k != nil && !all)
	m.asked.set(r, r.open() && r.boundTo(m) != nil)
	unread := mine && (k == nil || k.read == 0 && k.archived == 0)
	snoozed := unread && k != nil && k.shown().snoozed != 0
	var end mail.Time
	if unread {
		end = s.endOf(r, m, snoozed)
	}
	if arrived = m.unread.set(r, unread, end); arrived {
		s.signal(m, r)
	}
	m.urgent.set(r, unread && r.msg.Priority == mail.Urgent, end)
	m.snoozed.set(r, snoozed)
	m.calling.set(r, unread && s.wakesNow(r, m))
	m.given.set(r, unread && r.givenTo(m))
	if !unread {
		delete(s.waited, arrival{r, m})
	}
	m.cancels.set(r, unread && r.msg.Type.Rule().Stops)
	m.told.set(r, unread && k != nil && k.shown().told != 0)
	return arrived
}

// endOf returns until when r counts among the unread mail of m, which it reaches.
func (s *state) endOf(r *record, m *member, snoozed bool) mail.Time {
	if snoozed || r.withdrawn() {
		return never
	}
	_, expires, _ := s.lasting(r, m)
	return expires
}

// refileUnread files all unread mail of m anew, after something changed that decides when it expires or whom it wakes.
func (s *state) refileUnread(m *member) {
	for _, r := range slices.Clone(m.unread.list) {
		s.refile(r, m)
	}
}

// boundTo returns the first audience of r that m is fixed in; nil if there is none.
func (r *record) boundTo(m *member) *bound {
	for i := range r.bound {
		if slices.Contains(r.bound[i].members, m) {
			return &r.bound[i]
		}
	}
	return nil
}

// givenTo reports whether r is mail for a role that m holds it for.
func (r *record) givenTo(m *member) bool {
	return slices.ContainsFunc(r.bound, func(b bound) bool { return b.isRole() && b.holder() == m })
}

// signal has the waits on m's mailbox woken when the state can be looked at. The channels hold one, so a waiter that
// is busy looks once more.
func (s *state) signal(m *member, r *record) {
	for c, q := range m.waiters {
		if awaited(q, r) {
			s.waited[arrival{r, m}] = struct{}{}
		}
		s.arrived = append(s.arrived, c)
	}
}

// list is a list of records in journal order, without repetition.
type list []*record

func (l list) search(seq mail.Seq) (int, bool) {
	return slices.BinarySearchFunc(l, seq, func(r *record, seq mail.Seq) int { return cmp.Compare(r.seq, seq) })
}

// set puts r in its place, or takes it out, and reports whether it came anew.
func (l *list) set(r *record, in bool) (came bool) {
	if in {
		return l.add(r)
	}
	l.remove(r)
	return false
}

// add puts r in its place and reports whether it was not there.
func (l *list) add(r *record) bool {
	if n := len(*l); n == 0 || (*l)[n-1].seq < r.seq {
		*l = append(*l, r)
		return true
	}
	i, found := l.search(r.seq)
	if !found {
		*l = slices.Insert(*l, i, r)
	}
	return !found
}

// remove takes r out. The front of the list, where reading usually happens, costs nothing to take from.
func (l *list) remove(r *record) {
	i, found := l.search(r.seq)
	switch {
	case !found:
	case i == 0:
		(*l)[0] = nil
		*l = (*l)[1:]
	default:
		*l = slices.Delete(*l, i, i+1)
	}
}

// after returns the part of l behind a place.
func (l list) after(seq mail.Seq) list {
	i, found := l.search(seq)
	if found {
		i++
	}
	return l[i:]
}

// before returns the part of l before a place, all of it if that is zero.
func (l list) before(seq mail.Seq) list {
	if seq == 0 {
		return l
	}
	i, _ := l.search(seq)
	return l[:i]
}

// inOrder yields l from its end or from its beginning.
func (l list) inOrder(newest bool) iter.Seq2[int, *record] {
	if newest {
		return slices.Backward(l)
	}
	return slices.All(l)
}

// dropGone takes out the records that are gone, all of which stand between two places. It costs what lies between them
// and before them, so that retention, which takes the oldest, pays little for a long list.
func (l *list) dropGone(first, last mail.Seq) {
	from, _ := l.search(first)
	to, found := l.search(last)
	if found {
		to++
	}
	keep := to
	for i := to - 1; i >= from; i-- {
		if r := (*l)[i]; !r.gone {
			keep--
			(*l)[keep] = r
		}
	}
	keep -= from
	copy((*l)[keep:], (*l)[:from])
	clear((*l)[:keep])
	*l = (*l)[keep:]
}

// forget removes the given records from everywhere.
func (s *state) forget(ids []mail.ID) {
	var gone list
	for _, id := range ids {
		r := s.records[id]
		if r == nil {
			continue
		}
		r.gone = true
		gone.add(r)
		delete(s.records, id)
		s.drop(r.msg.envelope)
		if r.sender.keys[r.msg.Key] == r {
			delete(r.sender.keys, r.msg.Key)
		}
	}
	if len(gone) == 0 {
		return
	}
	maps.DeleteFunc(s.waited, func(a arrival, _ struct{}) bool { return a.mail.gone })
	first, last := gone[0].seq, gone[len(gone)-1].seq
	s.order.dropGone(first, last)
	s.index.forget(gone, s.order)
	s.dynamic.dropGone(first, last)
	s.byEvents.dropGone(first, last)
	s.answered.dropGone(first, last)
	s.open.dropGone(first, last)
	for role, l := range s.held {
		l.dropGone(first, last)
		s.held[role] = l
	}
	for m := range s.filedWith(gone) {
		m.unread.dropGone(first, last)
		m.urgent.dropGone(first, last)
		for _, l := range m.lists() {
			l.dropGone(first, last)
		}
	}
}

// filedWith returns the members in whose lists one of some records may be.
func (s *state) filedWith(records list) map[*member]bool {
	out := make(map[*member]bool)
	for _, r := range records {
		out[r.sender] = true
		if len(r.dynamic) > 0 {
			for m := range maps.Values(s.members) {
				out[m] = true
			}
			return out
		}
		for _, b := range r.bound {
			for _, m := range b.members {
				out[m] = true
			}
		}
		for i := range r.marks {
			out[r.marks[i].who] = true
		}
	}
	return out
}
