package foldtest

import (
	"fmt"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Miscounted says where the lists and counts that a state keeps, so as not to look at every record, differ from what
// looking at every record finds, now and at future times; "" if nowhere. The models and the end of every test of a
// room call it.
func Miscounted(s *fold.State, now mail.Time) string {
	for _, m := range s.Members {
		unread := func(r *fold.Record) bool { return r.Reaches(m) && !r.SettledBy(m) }
		for _, in := range []time.Duration{0, time.Hour, 5 * time.Hour, 25 * time.Hour, 8 * 24 * time.Hour} {
			at := now.Add(in)
			n, urgent := 0, 0
			for _, r := range s.Order {
				if unread(r) && s.Visible(r, m, at) && !r.Withdrawn() {
					n++
					if r.Msg.Priority == mail.Urgent {
						urgent++
					}
				}
			}
			if got := s.CountUnread(m, at); got != n {
				return fmt.Sprintf("%s has %d unread in %v, counted %d", m.Name, n, in, got)
			}
			if got := m.Urgent.At(at); !m.IsUser() && got != urgent {
				return fmt.Sprintf("%s has %d urgent in %v, counted %d", m.Name, urgent, in, got)
			}
		}
		for _, l := range []struct {
			name string
			got  fold.List
			want func(r *fold.Record) bool
		}{
			{"calling", m.Calling, func(r *fold.Record) bool { return unread(r) && s.WakesNow(r, m) }},
			{"given", m.Given, func(r *fold.Record) bool { return unread(r) && r.GivenTo(m) }},
			{"snoozed", m.Snoozed, func(r *fold.Record) bool { return unread(r) && r.SnoozedBy(m, now) != 0 }},
			{"archived", m.Rest, func(r *fold.Record) bool { k := r.MarksOf(m); return k != nil && k.Archived != 0 }},
			{"sent", m.Sent, func(r *fold.Record) bool { return r.Sender == m }},
			{"asking", m.Asking, func(r *fold.Record) bool { return r.Sender == m && r.Open() }},
			{"asked", m.Asked, func(r *fold.Record) bool { return r.Open() && r.BoundTo(m) != nil }},
		} {
			for _, r := range s.Order {
				lasts := s.Lasts(r, m, now) || l.name != "calling" // expired ones may be missing
				if _, in := l.got.Search(r.Seq); l.want(r) && !in && lasts || in && !l.want(r) &&
					l.name != "archived" &&
					l.name != "snoozed" && lasts {
					return fmt.Sprintf("%s of %s: %s is in it: %t", l.name, m.Name, r.Msg.ID, in)
				}
			}
		}
	}
	return misfound(s) + mislisted(s) + misasked(s)
}

// misasked says which agent is at a dialog and is not found, or the other way round.
func misasked(s *fold.State) string {
	at := s.AtDialogs()
	for _, m := range s.Listed {
		if in := slices.Contains(at, m); in != (m.Standing() == mail.Asking) {
			return fmt.Sprintf("%s, which is %s, is found at a dialog: %t", m.Name, m.Standing(), in)
		}
	}
	return ""
}

// misfound says which query finds less, or something else, through the index than without it.
func misfound(s *fold.State) string {
	qs := []fold.Filter{{}, {Reach: fold.Reach{Newest: true}}, {Q: mail.HistoryQuery{Open: true}}}
	for _, m := range s.Members {
		qs = append(qs, fold.Filter{Agent: m}, fold.Filter{From: mail.AgentAddress(m.Name)},
			fold.Filter{To: mail.AgentAddress(m.Name)})
	}
	if n := len(s.Order); n > 0 {
		r := s.Order[n/2]
		qs = append(qs, fold.Filter{Root: r.Msg.ThreadRoot()}, fold.Filter{Reach: fold.Reach{After: r.Seq}},
			fold.Filter{Reach: fold.Reach{Before: r.Seq, Newest: true}},
			fold.Filter{Q: mail.HistoryQuery{Since: r.Msg.Sent}},
			fold.Filter{Q: mail.HistoryQuery{Until: r.Msg.Sent}},
			fold.Filter{Q: mail.HistoryQuery{Types: []mail.Type{r.Msg.Type}}})
	}
	for i := range qs {
		f := &qs[i]
		fits := func(r *fold.Record) bool {
			return f.Matches(&r.Msg, r.Seq) && f.About(s, r) && (!f.Q.Open || r.Open())
		}
		var want, got []mail.ID
		for _, r := range s.Order.InOrder(f.Newest) {
			if fits(r) {
				want = append(want, r.Msg.ID)
			}
		}
		for r := range s.Candidates(f, max(f.After, f.Before)) {
			if fits(r) {
				got = append(got, r.Msg.ID)
			}
		}
		if !slices.Equal(want, got) {
			return fmt.Sprintf("%+v finds %v, want %v", f, got, want)
		}
	}
	for _, m := range s.Members {
		for o := range map[*fold.Member]bool{m: true, s.Members[mail.User]: true} {
			from, q := mail.AgentAddress(o.Name), mail.InboxQuery{All: true, Newest: true}
			var want, got []mail.ID
			for _, r := range m.All.InOrder(true) {
				if fold.SameAddress(from, r.Msg.From) {
					want = append(want, r.Msg.ID)
				}
			}
			for r := range s.Place(m, q, from, s.Last) {
				if fold.SameAddress(from, r.Msg.From) {
					got = append(got, r.Msg.ID)
				}
			}
			if !slices.Equal(want, got) {
				return fmt.Sprintf("the inbox of %s from %s has %v, want %v", m.Name, from, got, want)
			}
		}
	}
	return ""
}

// mislisted says how the roster, or the lists by role and tag, differ from the members' records.
func mislisted(s *fold.State) string {
	roster := make(map[mail.Name]bool)
	for name, m := range s.Members {
		if name != m.Name {
			continue
		}
		roster[name] = m.Listed()
		for _, role := range m.Roles {
			if !slices.Contains(s.Roles[role], m) {
				return fmt.Sprintf("%s is not among those with the role %s", name, role)
			}
		}
		for _, tag := range m.Tags {
			if !slices.Contains(s.Tags[tag], m) {
				return fmt.Sprintf("%s is not among those with the tag %s", name, tag)
			}
		}
		if _, in := slices.BinarySearchFunc(s.Listed, m, fold.ByName); in != m.Listed() {
			return fmt.Sprintf("%s is on the roster: %t", name, in)
		}
		if in := slices.Contains(s.Outlines[fold.Outline(string(name))], m); in != m.Listed() {
			return fmt.Sprintf("%s is found by its outline: %t", name, in)
		}
		if in := slices.Contains(s.Bases[string(m.Base)], m); in != (m.Base != "") {
			return fmt.Sprintf("%s is found by its base %q: %t", name, m.Base, in)
		}
	}
	for o, ms := range s.Outlines {
		for _, m := range ms {
			if !m.Listed() || fold.Outline(string(m.Name)) != o {
				return fmt.Sprintf("%s is found by the outline %q", m.Name, o)
			}
		}
	}
	for role, ms := range s.Roles {
		for _, m := range ms {
			if !m.HasRole(role) {
				return fmt.Sprintf("%s has no role %s", m.Name, role)
			}
		}
	}
	for tag, ms := range s.Tags {
		for _, m := range ms {
			if !policy.Carries(m.Tags, mail.Address(tag)) {
				return fmt.Sprintf("%s does not carry %s", m.Name, tag)
			}
		}
	}
	return ""
}
