package mailroom

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// miscounted says where what a state keeps, so as not to look at every record, differs from what looking at every
// record finds, now and at times to come; "" if it does nowhere. TestModel and the end of every test of a room ask it.
func miscounted(s *state, now mail.Time) string {
	for _, m := range s.members {
		unread := func(r *record) bool { return r.reaches(m) && !r.settledBy(m) }
		for _, in := range []time.Duration{0, time.Hour, 5 * time.Hour, 25 * time.Hour, 8 * 24 * time.Hour} {
			at := now.Add(in)
			n, urgent := 0, 0
			for _, r := range s.order {
				if unread(r) && s.visible(r, m, at) && !r.withdrawn() {
					n++
					if r.msg.Priority == mail.Urgent {
						urgent++
					}
				}
			}
			if got := s.countUnread(m, at); got != n {
				return fmt.Sprintf("%s has %d unread in %v, counted %d", m.Name, n, in, got)
			}
			if got := m.urgent.at(at); !m.isUser() && got != urgent {
				return fmt.Sprintf("%s has %d urgent in %v, counted %d", m.Name, urgent, in, got)
			}
		}
		for _, l := range []struct {
			name string
			got  list
			want func(r *record) bool
		}{
			{"calling", m.calling, func(r *record) bool { return unread(r) && s.wakesNow(r, m) }},
			{"given", m.given, func(r *record) bool { return unread(r) && r.givenTo(m) }},
			{"snoozed", m.snoozed, func(r *record) bool { return unread(r) && r.snoozedBy(m, now) != 0 }},
			{"archived", m.rest, func(r *record) bool { k := r.marksOf(m); return k != nil && k.archived != 0 }},
			{"sent", m.sent, func(r *record) bool { return r.sender == m }},
			{"asking", m.asking, func(r *record) bool { return r.sender == m && r.open() }},
			{"asked", m.asked, func(r *record) bool { return r.open() && r.boundTo(m) != nil }},
		} {
			for _, r := range s.order {
				lasts := s.lasts(r, m, now) || l.name != "calling" // of what has expired some may be missing
				if _, in := l.got.search(r.seq); l.want(r) && !in && lasts || in && !l.want(r) &&
					l.name != "archived" &&
					l.name != "snoozed" && lasts {
					return fmt.Sprintf("%s of %s: %s is in it: %t", l.name, m.Name, r.msg.ID, in)
				}
			}
		}
	}
	return misfound(s) + mislisted(s)
}

// misfound says which query finds less, or something else, through the index than without it.
func misfound(s *state) string {
	qs := []filter{{}, {reach: reach{newest: true}}, {q: mail.HistoryQuery{Open: true}}}
	for _, m := range s.members {
		qs = append(qs, filter{agent: m}, filter{from: mail.AgentAddress(m.Name)},
			filter{to: mail.AgentAddress(m.Name)})
	}
	if n := len(s.order); n > 0 {
		r := s.order[n/2]
		qs = append(qs, filter{root: r.msg.ThreadRoot()}, filter{reach: reach{after: r.seq}},
			filter{reach: reach{before: r.seq, newest: true}}, filter{q: mail.HistoryQuery{Since: r.msg.Sent}},
			filter{q: mail.HistoryQuery{Until: r.msg.Sent}},
			filter{q: mail.HistoryQuery{Types: []mail.Type{r.msg.Type}}})
	}
	for i := range qs {
		f := &qs[i]
		fits := func(r *record) bool { return f.matches(&r.msg, r.seq) && f.about(s, r) && (!f.q.Open || r.open()) }
		var want, got []mail.ID
		for _, r := range s.order.inOrder(f.newest) {
			if fits(r) {
				want = append(want, r.msg.ID)
			}
		}
		for r := range s.candidates(f, max(f.after, f.before)) {
			if fits(r) {
				got = append(got, r.msg.ID)
			}
		}
		if !slices.Equal(want, got) {
			return fmt.Sprintf("%+v finds %v, want %v", f, got, want)
		}
	}
	for _, m := range s.members {
		for o := range map[*member]bool{m: true, s.members[mail.User]: true} {
			from, q := mail.AgentAddress(o.Name), mail.InboxQuery{All: true, Newest: true}
			var want, got []mail.ID
			for _, r := range m.all.inOrder(true) {
				if sameAddress(from, r.msg.From) {
					want = append(want, r.msg.ID)
				}
			}
			for r := range s.place(m, q, from, s.last) {
				if sameAddress(from, r.msg.From) {
					got = append(got, r.msg.ID)
				}
			}
			if !slices.Equal(want, got) {
				return fmt.Sprintf("the inbox of %s from %s has %v, want %v", m.Name, from, got, want)
			}
		}
	}
	return ""
}

// mislisted says how the roster, or who has which role and tag, differs from what is known of each member.
func mislisted(s *state) string {
	roster := make(map[mail.Name]bool)
	for name, m := range s.members {
		if name != m.Name {
			continue
		}
		roster[name] = m.listed()
		for _, role := range m.Roles {
			if !slices.Contains(s.roles[role], m) {
				return fmt.Sprintf("%s is not among those with the role %s", name, role)
			}
		}
		for _, tag := range m.Tags {
			if !slices.Contains(s.tags[tag], m) {
				return fmt.Sprintf("%s is not among those with the tag %s", name, tag)
			}
		}
		if _, in := slices.BinarySearchFunc(s.listed, m, byName); in != m.listed() {
			return fmt.Sprintf("%s is on the roster: %t", name, in)
		}
		if in := slices.Contains(s.outlines[outline(string(name))], m); in != m.listed() {
			return fmt.Sprintf("%s is found by its outline: %t", name, in)
		}
		if in := slices.Contains(s.bases[string(m.Base)], m); in != (m.Base != "") {
			return fmt.Sprintf("%s is found by its base %q: %t", name, m.Base, in)
		}
	}
	for o, ms := range s.outlines {
		for _, m := range ms {
			if !m.listed() || outline(string(m.Name)) != o {
				return fmt.Sprintf("%s is found by the outline %q", m.Name, o)
			}
		}
	}
	for role, ms := range s.roles {
		for _, m := range ms {
			if !m.hasRole(role) {
				return fmt.Sprintf("%s has no role %s", m.Name, role)
			}
		}
	}
	for tag, ms := range s.tags {
		for _, m := range ms {
			if !policy.Carries(m.Tags, mail.Address(tag)) {
				return fmt.Sprintf("%s does not carry %s", m.Name, tag)
			}
		}
	}
	return ""
}

// TestCountsFollow holds that what is counted follows what no message and no mark says: a role that changes whom mail
// wakes, a pause that lengthens lives, and mail that goes while that beside it, which lives shorter, stays.
func TestCountsFollow(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	room, _ := openRoom(t, "lab", Options{Now: func() time.Time { return now }, Retention: policy.Retention{Count: 2}})
	user := room.As(mail.User)
	check := func(what string) {
		t.Helper()
		if wrong := miscounted(room.state, mail.TimeOf(now)); wrong != "" {
			t.Errorf("%s: %s", what, wrong)
		}
	}
	register := func(p mail.Presence) {
		t.Helper()
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	register(mail.Presence{Name: "ann"})
	for i, hours := range []int{100, 9, 50, 20} {
		d := mail.Draft{To: mail.Recipients{"ann"}, Type: "task-done", Body: fmt.Sprint(i),
			TTLSeconds: int64(hours) * 3600}
		if _, err := user.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	check("sent")
	register(mail.Presence{Name: "ann", Update: true, Roles: []string{"orchestrator"}})
	check("made the orchestrator")
	if n := len(room.state.members["ann"].calling); n != 4 {
		t.Errorf("%d messages wake the orchestrator, want 4", n)
	}
	register(mail.Presence{Name: "ann", Update: true, State: mail.Frozen})
	now = now.Add(time.Hour)
	register(mail.Presence{Name: "ann", Update: true, State: mail.Idle})
	check("thawed")
	now = now.Add(21 * time.Hour)
	if _, err := user.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("trimmed")
	if left := len(room.state.order); left == 0 || left == 4 {
		t.Errorf("retention left %d messages, want some", left)
	}
}
