package mailroom

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

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
	pending := make(map[mail.ID]bool) // messages of events
	add := func() error {
		last, err := v.commit(ctx, events...)
		for _, e := range v.lost(last, events) {
			if e.Message != nil { // another machine has imported it at the same time
				out.Added, out.Skipped = out.Added-1, out.Skipped+1
			}
		}
		events = nil
		clear(pending)
		return err
	}
	now := v.now()
	for i := range items {
		it := &items[i]
		if known[it.ID] {
			out.Skipped++
			continue
		}
		if v.Files && pending[it.ReplyTo] { // whether it may settle that is asked of the state
			if err := add(); err != nil {
				return out, err
			}
		}
		if err := v.weighImported(ctx, &it.Message); err != nil {
			return out, err
		}
		known[it.ID], pending[it.ID] = true, true
		out.Added++
		events = append(events, importEvents(it, now)...)
		if len(events) >= importBatch {
			if err := add(); err != nil {
				return out, err
			}
		}
	}
	return out, add()
}

// knownIDs returns which of items are known, hot, archived or erased: what was erased does not come back from a
// foreign file.
func (v *view) knownIDs(ctx context.Context, items []mail.Item) (map[mail.ID]bool, error) {
	known := make(map[mail.ID]bool, len(items))
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range items {
			id := items[i].ID
			known[id] = s.Records[id] != nil || s.Leaving[id] != nil || s.Erased[id] != 0
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
func (v *Asker) checkImport(it *mail.Item) error {
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
		canonical, bare, err := mail.ParseAddress(string(a), v.Namespaces)
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
	return d.CheckAccepted(v.MaxBody)
}

// weighImported finds out whether a message that is imported may settle a question that is open in the room. What the
// user says in a foreign file settles what was asked there, and nothing else.
func (v *view) weighImported(ctx context.Context, m *mail.Message) error {
	var asked fold.Spot
	var root mail.ID
	v.read(func(s *fold.State, now mail.Time) {
		if !v.on(s, now).rightCounts() {
			m.Suggests = false
			return
		}
		q := s.Records[m.ReplyTo]
		if q == nil || !q.Open() {
			return
		}
		root = q.Msg.ThreadRoot()
		switch _, answers := policy.Settles(q.Msg.Type, q.Msg.ID, m); {
		case !answers:
		case m.From != mail.ToUser:
			m.Suggests = !s.MaySettle(q, m.From)
		case m.Via == "":
			m.Suggests = !v.Means.Settles()
		default:
			asked = q.Spot()
		}
	})
	var err error
	if asked.ID != "" {
		var texts []*mail.Message
		if texts, err = v.texts(ctx, []fold.Spot{asked}); err == nil {
			m.Suggests = texts[0] == nil || texts[0].Via != m.Via
		}
	}
	if m.Suggests && m.Thread == "" {
		m.Thread = root // by which it is found beside the question
	}
	return err
}

// importEvents returns the events that make an item again: the message, and what its readers did.
func importEvents(it *mail.Item, now mail.Time) []mail.Event {
	m := it.Message
	m.Same, m.Checked, m.By = "", 0, "" // whoever wrote the file may say anything of the person
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
