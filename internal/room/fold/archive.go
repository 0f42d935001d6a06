package fold

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// ArchivedRecord is a message that is in the archive, or on its way there.
type ArchivedRecord struct {
	Record
	Text *mail.Message
}

// Recall makes a record from the events about an archived message. Its recipients are no longer known.
func (s *State) Recall(found map[mail.ID]*ArchivedRecord, e *mail.Event) {
	switch {
	case e.Message != nil:
		id := e.Message.ID
		if found[id] != nil || s.Records[id] != nil || s.Erased[id] != 0 {
			return
		}
		found[id] = &ArchivedRecord{Record{Msg: HeaderOf(e), Seq: e.Seq, audience: new(audience)}, e.Message}
	case e.Receipt != nil:
		if r := found[e.Receipt.Message]; r != nil {
			r.MarksOfName(s.Known(e.Receipt.Reader.Signer())).set(e.Receipt, e.At)
		}
	case e.Settled != nil:
		if r := found[e.Settled.Message]; r != nil && (r.Settled == nil || e.Settled.Answer != "") {
			st := *e.Settled
			st.At = cmp.Or(st.At, e.At)
			r.Settled = &st
		}
	}
}

// MarksOfName returns the marks of the reader with the name of who, whom the state may not know; new ones if there
// are none.
func (r *Record) MarksOfName(who *Member) *marks {
	i := slices.IndexFunc(r.marks, func(k marks) bool { return k.Who.Name == who.Name })
	if i < 0 {
		i = len(r.marks)
		r.marks = append(r.marks, marks{Who: who})
	}
	return &r.marks[i]
}

// Known returns the bearer of a name, or a new member if the state knows none.
func (s *State) Known(name mail.Name) *Member {
	if m := s.Members[name]; m != nil {
		return m
	}
	return &Member{AgentRecord: mail.AgentRecord{Name: name, Retired: true}}
}

// ArchivedItem shows the message as a list does.
func (r *ArchivedRecord) ArchivedItem() mail.Item {
	it := mail.Item{Message: *r.Text, Seq: r.Seq, Settled: r.Settled}
	it.Key, it.Sent, it.Same, it.Checked = "", r.Msg.Sent, "", 0
	for i := range r.marks {
		k := &r.marks[i]
		d := mail.Delivery{Address: mail.AgentAddress(k.Who.Name), Agent: k.Who.Name, Wake: mail.WakeNone}
		was := k.Shown()
		d.State, d.At = policy.DeliveryFacts{Archived: k.Archived, Read: k.read, Presented: was.Presented,
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

// SentBy reports whether m sent an archived message, under any of its names.
func (r *Record) SentBy(m *Member) bool {
	return slices.ContainsFunc(m.names(), func(n mail.Name) bool { return r.Msg.From == mail.AgentAddress(n) })
}

// WasFor reports whether an archived message reached m, as far as addresses and marks tell.
func (r *Record) WasFor(m *Member) bool {
	return r.MarksOf(m) != nil || slices.ContainsFunc(r.Msg.To, func(a mail.Address) bool {
		return slices.ContainsFunc(m.names(), func(n mail.Name) bool {
			return a == mail.Address("agent:"+n) || a == mail.AgentAddress(n)
		}) || !r.Msg.forPresent() && m.Listed() && !r.SentBy(m) && policy.Carries(m.Tags, a)
	})
}

// names returns m's name and its former ones.
func (m *Member) names() []mail.Name { return append([]mail.Name{m.Name}, m.Aliases...) }
