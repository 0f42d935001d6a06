package haak

import (
	"fmt"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// desk is one session's view of the files alone, when no post office can be reached.
type desk struct {
	name    mail.Name
	roles   []string
	tags    []string
	freezes []mail.Freeze
	known   sessions
	readers map[mail.ID][]mail.Address
}

// offline prints a session's unread mail from the files and then appends to the reads file, where the post office
// finds the reads later.
func offline(v *dialect.Invocation) error {
	s := openStore(confined.At(v.Project))
	d, err := s.desk(v.Text("session-id"))
	if err != nil {
		return err
	}
	text, _, err := s.mailbox.Read()
	if err != nil {
		return err
	}
	now := mail.TimeOf(v.Now)
	var unread []mail.Item
	for _, l := range text {
		if m, readers, err := decodeMessage(l, d.known); err == nil && d.unread(&m, readers, now) {
			unread = append(unread, mail.Item{Message: m})
		}
	}
	if len(unread) == 0 {
		return nil
	}
	if v.JSON {
		err = v.WriteJSON(seenAll(unread, d.known))
	} else if _, err = fmt.Fprintln(v.Stdout, greeting(len(unread))); err == nil {
		err = inject(v.Fenced, unread, d.known)
	}
	var reads [][]byte
	for i := range unread {
		reads = append(reads, encodeReading(reading{unread[i].ID, mail.AgentAddress(d.name), now}))
	}
	if err != nil {
		return err
	}
	return s.reads.Append(reads...)
}

// desk reads the roster and the reads.
func (s *store) desk(session string) (*desk, error) {
	me, err := signer(session)
	if err != nil {
		return nil, err
	}
	roster, _, err := s.roster.Read()
	if err != nil {
		return nil, err
	}
	reads, _, err := s.reads.Read()
	if err != nil {
		return nil, err
	}
	names := newIDs()
	var entries []entry
	for _, l := range roster {
		if e, err := decodeEntry(l, names.find); err == nil {
			names.add(e.name)
			entries = append(entries, e)
		}
	}
	d := &desk{known: names.find, readers: make(map[mail.ID][]mail.Address)}
	d.name, _ = names.abbreviated(func(string) bool { return false })(string(me.Signer()))
	for _, e := range entries {
		if e.name == d.name {
			d.live(&e)
		}
	}
	names.add(d.name)
	for _, l := range reads {
		if r, err := decodeReading(l, d.known); err == nil {
			d.readers[r.message] = append(d.readers[r.message], r.reader)
		}
	}
	return d, nil
}

// live applies one roster line of the session.
func (d *desk) live(e *entry) {
	if roles := e.roles(); roles != nil {
		d.roles = roles
	}
	if tags := e.tags(nil); tags != nil {
		d.tags = tags
	}
	n := len(d.freezes)
	open := n > 0 && d.freezes[n-1].To == 0
	switch state := e.state(); {
	case state == mail.Frozen && !open && e.updated() != 0:
		d.freezes = append(d.freezes, mail.Freeze{From: e.updated()})
	case state != mail.Frozen && state != "" && open:
		d.freezes[n-1].To = max(e.updated(), d.freezes[n-1].From+1)
	}
}

// unread reports whether a message is unread for the session: it is addressed to it, has not expired, and was not
// read by the session or, for role mail, by anyone.
func (d *desk) unread(m *mail.Message, readers []mail.Address, now mail.Time) bool {
	me := mail.AgentAddress(d.name)
	readers = append(readers, d.readers[m.ID]...)
	if slices.Contains(readers, me) {
		return false
	}
	var ttl policy.TTL
	for _, a := range m.To {
		mine, freezes := false, []mail.Freeze(nil)
		switch a.Kind() {
		case mail.ToAgent:
			mine, freezes = a == me, d.freezes
		case mail.ToRole:
			mine = slices.Contains(d.roles, a.Value()) && m.From != me && len(readers) == 0
		case mail.ToPerson:
			mine = me == mail.ToUser
		default:
			mine = m.From != me && policy.Carries(d.tags, a)
		}
		if mine && !policy.Past(ttl.Expiry(m.Sent, m.TTLSeconds, a, freezes), now) {
			return true
		}
	}
	return false
}
