package mailroom

import (
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/fold/foldtest"
)

func modelRegister(t *rapid.T, n *naive) {
	a := rapid.SampledFrom(n.agents).Draw(t, "agent")
	roles := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"builder", "scout"}), rapid.ID).Draw(t, "roles")
	p := mail.Presence{Name: a.name(), Roles: roles,
		Tags:  rapid.SliceOfDistinct(rapid.Just("project:x"), rapid.ID).Draw(t, "tags"),
		State: rapid.SampledFrom([]mail.State{mail.Working, mail.Idle, mail.Gone}).Draw(t, "state")}
	a.registered, a.roles, a.tags, a.state = true, p.Roles, p.Tags, p.State
	_, err := n.user().Register(t.Context(), p)
	must(t, err)
	n.settle(a)
}

func modelRetire(t *rapid.T, n *naive) {
	a := n.registered(t)
	must(t, n.user().Retire(t.Context(), a.name()))
	a.registered, a.state = false, mail.Gone
	n.settle(a)
}

func modelRename(t *rapid.T, n *naive) {
	a := n.registered(t)
	to := mail.Name(rapid.StringMatching("[a-z]{6}").Draw(t, "name"))
	if n.agent(to) != nil {
		t.Skip("the name is taken")
	}
	_, err := n.user().Rename(t.Context(), a.name(), to)
	must(t, err)
	a.names = append(a.names, to)
}

// targets returns the addresses to which mail can be sent in a room.
func (n *naive) targets() []string {
	out := slices.Clone(modelGroups)
	for _, a := range n.agents {
		for _, name := range a.names {
			if a.registered {
				out = append(out, string(name))
			}
		}
	}
	return out
}

func modelSend(t *rapid.T, n *naive) {
	var targets []string
	for _, o := range n.world.rooms {
		for _, to := range o.targets() {
			targets = append(targets, to+"@"+string(o.name))
		}
	}
	var from *naiveAgent
	as := mail.User
	if rapid.Bool().Draw(t, "from an agent") {
		from = n.registered(t)
		as = rapid.SampledFrom(from.names).Draw(t, "under the name")
	}
	d := mail.Draft{Body: "x", Key: rapid.StringMatching("k[0-9]{8}").Draw(t, "key")}
	asks := rapid.Bool().Draw(t, "asks")
	if asks {
		d.Type = string(mail.Question)
	}
	to := make(map[*naive][]string)
	for _, target := range rapid.SliceOfNDistinct(rapid.SampledFrom(targets), 1, 4, rapid.ID).Draw(t, "to") {
		name, room := splitTarget(target)
		o := n.world.room(room)
		to[o] = append(to[o], name)
		if name == "builder" || name == "scout" {
			target = "role:" + target
		}
		d.To = append(d.To, target)
	}
	tracked := asks && from != nil
	if len(to[n]) > 0 || tracked {
		n.back(from) // this act brings it back
	}
	sent, err := n.room.As(as).Send(t.Context(), d)
	must(t, err)
	for _, o := range n.world.rooms {
		if len(to[o]) == 0 && !(o == n && tracked) {
			continue
		}
		m := &naiveMsg{id: sent.ID, draft: d, from: from, to: to[o], sent: n.world.now, asks: asks, tracked: tracked,
			holder: map[string]*naiveAgent{}, read: map[*naiveAgent]bool{}}
		if o != n {
			m.came = n
		}
		for _, name := range m.to {
			if name == "builder" || name == "scout" {
				o.give(m, name)
			}
		}
		o.msgs = append(o.msgs, m)
	}
}

func splitTarget(target string) (name string, room mail.RoomName) {
	i := len(target) - len("@yard")
	if target[i] != '@' {
		i++
	}
	return target[:i], mail.RoomName(target[i+1:])
}

// mayForget reports whether the key of a message this old may have been forgotten.
func (n *naive) mayForget(m *naiveMsg) bool {
	return slices.ContainsFunc(n.world.copies(m.id), func(o *naiveMsg) bool {
		return o.archived && n.world.now.Sub(o.sent) > fold.KeyLife
	})
}

func modelSendAgain(t *rapid.T, n *naive) {
	m := n.message(t, func(m *naiveMsg) bool { return m.came == nil && m.draft.Key != "" && !n.mayForget(m) })
	from := mail.User
	if m.from != nil {
		from = rapid.SampledFrom(m.from.names).Draw(t, "under the name")
	}
	if !n.reachable(m) {
		t.Skip("somebody that it was for is not on the roster")
	}
	sent, err := n.room.As(from).Send(t.Context(), m.draft)
	must(t, err)
	if !sent.Duplicate || sent.ID != m.id {
		t.Fatalf("%s sent again is %s", m.id, sent.ID)
	}
}

// reachable reports whether all addresses of a draft in other rooms resolve: they are sent to again.
func (n *naive) reachable(m *naiveMsg) bool {
	return !slices.ContainsFunc(m.draft.To, func(target string) bool {
		name, room := splitTarget(target)
		o := n.world.room(room)
		a := o.agent(mail.Name(name))
		return a != nil && !a.registered
	})
}

func modelLoseRace(t *rapid.T, n *naive) { // as another post office on the same journal can
	m := n.message(t, func(m *naiveMsg) bool { return m.came == nil && m.draft.Key != "" && !n.mayForget(m) })
	from := mail.ToUser
	if m.from != nil {
		from = mail.AgentAddress(rapid.SampledFrom(m.from.names).Draw(t, "under the name"))
	}
	_, err := n.room.commit(t.Context(), mail.Event{At: mail.TimeOf(n.world.now), Message: &mail.Message{ID: newID(),
		From: from, To: []mail.Address{mail.ToAll}, Type: mail.Custom, Body: "x", Key: m.draft.Key}})
	must(t, err)
}

func modelRead(t *rapid.T, n *naive) {
	a := n.registered(t)
	ids := n.unread(a)
	if len(ids) == 0 || a.state == mail.Gone {
		t.Skip("nothing to read")
	}
	id := rapid.SampledFrom(ids).Draw(t, "message")
	for _, m := range n.msgs {
		m.read[a] = m.read[a] || m.id == id
	}
	_, err := n.room.As(a.name()).Mark(t.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
	must(t, err)
}

func modelPresent(t *rapid.T, n *naive) {
	a := n.registered(t)
	if len(n.unread(a)) == 0 || a.state == mail.Gone {
		t.Skip("nothing to present")
	}
	_, err := n.room.As(a.name()).Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkPresented, Door: "mcp"})
	must(t, err)
}

// modelMarkArchived marks mail that is in the archive, which changes no mailbox.
func modelMarkArchived(t *rapid.T, n *naive) {
	a := n.registered(t)
	m := n.message(t, func(m *naiveMsg) bool {
		return m.archived && slices.ContainsFunc(m.to, func(to string) bool {
			return slices.Contains(a.names, mail.Name(to))
		})
	})
	if a.state == mail.Gone {
		t.Skip("nobody to mark it")
	}
	_, err := n.room.As(a.name()).Mark(t.Context(), mail.Marking{IDs: []mail.ID{m.id}, Mark: mail.MarkRead})
	must(t, err)
}

func modelSettle(t *rapid.T, n *naive) {
	m := n.message(t, func(m *naiveMsg) bool { return m.asks && !m.archived })
	as := rapid.SampledFrom([]mail.Outcome{mail.Answered, mail.Declined, mail.Withdrawn}).Draw(t, "as")
	n.world.away = rapid.Bool().Draw(t, "while no room reaches another")
	defer func() { n.world.away = false }()
	if as == mail.Withdrawn {
		err := n.user().Withdraw(t.Context(), m.id)
		if late := m.closed != "" && m.closed != as; late != (mail.CodeOf(err) == mail.Conflict) {
			t.Fatalf("Withdraw of what was %q: %v", m.closed, err)
		}
		n.world.close(m, as)
		if m.closed == as { // withdrawing again tells the others again
			n.world.retell(m)
		}
		return
	}
	d := mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "y", ReplyTo: m.id}
	if as == mail.Declined {
		d.Metadata = mail.Metadata(`{"declined":true}`)
	}
	_, err := n.user().Send(t.Context(), d)
	must(t, err)
	n.world.close(m, as)
}

// retell settles in the other rooms a question that is settled in one.
func (w *world) retell(m *naiveMsg) {
	if !m.tracked || w.away {
		return
	}
	for _, o := range w.copies(m.id) {
		if o.closed == "" {
			o.closed = m.closed
		}
	}
}

// asked reports whether a may settle m. It is not known if m is for a tag, which a may have carried when it saw m.
func (m *naiveMsg) asked(a *naiveAgent) (may, known bool) {
	known = true
	for _, to := range m.to {
		switch {
		case to == "all", slices.Contains(a.names, mail.Name(to)), slices.Contains(a.tags, to),
			slices.Contains(a.roles, to), m.holder[to] == a:
			return true, true
		case to == "project:x":
			known = false
		}
	}
	return false, known
}

// modelAnswerAcross answers a question in its room, by mail to the asker in another room.
func modelAnswerAcross(t *rapid.T, n *naive) {
	m := n.message(t, func(m *naiveMsg) bool {
		return m.asks && !m.archived && m.came != nil && m.from != nil && m.from.registered
	})
	a := n.registered(t)
	may, known := m.asked(a)
	if !known {
		t.Skip("the agent may have carried the tag before")
	}
	home := m.came
	to := string(m.from.name())
	sent, err := n.room.As(a.name()).Send(t.Context(), mail.Draft{To: mail.Recipients{to + "@" + string(home.name)},
		Body: "z", Type: "answer", ReplyTo: m.id})
	must(t, err)
	open := slices.ContainsFunc(n.world.copies(m.id), func(o *naiveMsg) bool { return o.closed == "" })
	if suggests := sent.AskedOf != nil; suggests && may || !suggests && !may && open && !sent.Duplicate {
		t.Fatalf("%s answers %s, of which it was asked: %v; %+v", a, m, may, sent)
	}
	home.msgs = append(home.msgs, &naiveMsg{id: sent.ID, from: a, came: n, to: []string{to}, sent: n.world.now,
		holder: map[string]*naiveAgent{}, read: map[*naiveAgent]bool{}})
	if !may {
		return
	}
	for _, o := range home.msgs {
		if o.id == m.id {
			n.world.close(o, mail.Answered)
		}
	}
	n.world.close(m, mail.Answered)
}

func modelEraseAnswer(t *rapid.T, n *naive) {
	for _, m := range n.msgs {
		it, err := n.user().Message(t.Context(), m.id)
		must(t, err)
		if it.Settled == nil || it.Settled.Answer == "" {
			continue
		}
		if err := n.user().Erase(t.Context(), it.Settled.Answer); mail.CodeOf(err) != mail.NotFound {
			must(t, err)
		}
		n.msgs = slices.DeleteFunc(n.msgs, func(o *naiveMsg) bool { return o.id == it.Settled.Answer })
		n.forgetTurns()
		return
	}
	t.Skip("nothing was answered")
}

func modelAskAround(t *rapid.T, n *naive) {
	n.room.askAround(t.Context())
	for _, m := range n.msgs {
		for _, o := range n.world.copies(m.id) {
			if m.asks && m.tracked && m.closed == "" && o.closed != "" {
				m.closed = o.closed
			}
		}
	}
}

// modelArchive runs retention. The room says which messages have gone; they must be among those that may go.
func modelArchive(t *rapid.T, n *naive) {
	_, err := n.user().Archive(t.Context())
	must(t, err)
	for _, m := range n.msgs {
		gone := n.room.state.Records[m.id] == nil
		if m.archived && !gone || gone && !m.archived && (m.asks && m.closed == "" || m.held()) {
			t.Fatalf("%s, closed %q, is hot: %v", m.id, m.closed, !gone)
		}
		m.archived = gone
	}
	n.forgetTurns()
}

// forgetTurns forgets whose turn it was in roles that no one has.
func (n *naive) forgetTurns() {
	maps.DeleteFunc(n.turn, func(role string, _ mail.Name) bool {
		return !slices.ContainsFunc(n.agents, func(a *naiveAgent) bool {
			return a.registered && slices.Contains(a.roles, role)
		})
	})
}

func modelReopen(t *rapid.T, n *naive) {
	now := mail.TimeOf(n.world.now)
	live := foldtest.Dump(n.room.state, now)
	must(t, n.room.Close())
	n.open(t)
	if diff := cmp.Diff(live, foldtest.Dump(n.room.state, now)); diff != "" {
		t.Fatalf("room %s opened again differs (-live +opened again):\n%s", n.name, diff)
	}
}
