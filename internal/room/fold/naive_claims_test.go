package fold_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// hold is a claim that a person holds, or held.
type hold struct {
	mail.Claim
	who *person
}

// claim takes targets that no one else holds, all of them or none, and gives up. It reports whether it counts.
func (n *naive) claim(c *mail.ClaimChange, at mail.Time) bool {
	p := n.find(c.Agent)
	if p == nil || p.Retired && p != n.person(mail.User) {
		return len(c.Take) == 0
	}
	for _, t := range c.Take {
		for _, h := range n.holds {
			if h.who != p && h.Overlaps(t.Target) && !(h.Shared && t.Shared) {
				return false
			}
		}
	}
	for _, t := range c.Free {
		n.holds = slices.DeleteFunc(n.holds, func(h *hold) bool { return h.who == p && h.Same(t) })
		n.waits = slices.DeleteFunc(n.waits, func(w wait) bool { return w.who == p && w.Same(t) })
	}
	for _, t := range c.Take {
		n.waits = slices.DeleteFunc(n.waits, func(w wait) bool { return w.who == p && w.Same(t.Target) })
		n.holdOn(p, t, at)
	}
	for _, t := range c.Wait {
		if !slices.ContainsFunc(n.waits, func(w wait) bool { return w.who == p && w.Same(t) }) {
			n.waits = append(n.waits, wait{t, p})
		}
	}
	return true
}

func (n *naive) holdOn(p *person, t mail.Claim, at mail.Time) {
	t.Since = at
	for _, h := range n.holds {
		if h.who == p && h.Same(t.Target) {
			if h.Quiet != 0 || t.Quiet == 0 {
				t.Since = h.Since
				h.Claim = t
			}
			return
		}
	}
	n.holds = append(n.holds, &hold{t, p})
}

type wait struct {
	mail.Target
	who *person
}

// lasts reports whether a claim is still held.
func (n *naive) lasts(h *hold, at mail.Time) bool {
	p := h.who
	switch {
	case h.Until != 0 && at >= h.Until:
		return false
	case p == n.person(mail.User):
		return true
	case p.Retired || !p.State.Live() || p.Session != "" && at.Sub(p.SessionAt) >= policy.SessionLapse:
		return false
	case h.Quiet != 0 && p.State == mail.Idle:
		return at < p.Since+mail.Time(time.Duration(h.Quiet)*time.Second/time.Millisecond)
	}
	return true
}

// end forgets claims that have ended: nothing brings them back.
func (n *naive) end(at mail.Time) {
	n.holds = slices.DeleteFunc(n.holds, func(h *hold) bool { return !n.lasts(h, at) })
}

// drop ends the claims and waits of a person's session.
func (n *naive) drop(p *person) {
	n.holds = slices.DeleteFunc(n.holds, func(h *hold) bool { return h.who == p })
	n.waits = slices.DeleteFunc(n.waits, func(w wait) bool { return w.who == p })
}

// claims compares the holders and their claims, now and later, and the waits.
func (n *naive) claims(s *fold.State, now mail.Time) string {
	for _, later := range []time.Duration{0, time.Minute, 5 * time.Minute, 2 * time.Hour} {
		at := now.Add(later)
		var got, want []string
		for _, h := range s.Holdings(at) {
			got = append(got, fmt.Sprint(h.Agent, h.Target, h.Shared, h.Since, h.Until, h.Quiet))
		}
		for _, h := range n.holds {
			if n.lasts(h, at) {
				want = append(want, fmt.Sprint(h.who.Name, h.Target, h.Shared, h.Since, h.Until, h.Quiet))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			return fmt.Sprintf("held in %s is\n%s, want\n%s", later, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	var got, want []string
	for _, m := range s.Claimants() {
		for _, t := range m.Awaits {
			got = append(got, fmt.Sprint(m.Name, t))
		}
	}
	for _, w := range n.waits {
		want = append(want, fmt.Sprint(w.who.Name, w.Target))
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		return fmt.Sprintf("waited for is %q, want %q", got, want)
	}
	return ""
}

// claim takes, waits for and gives up a few conflicting targets.
func (h *author) claim() {
	target := func() mail.Target {
		return pick(h, []mail.Target{{Name: "build"}, {Name: "port:80"}, {Root: "r", At: "/r", Path: "a/b"},
			{Root: "r", At: "/r", Path: "a", Form: mail.BelowForm}, {Root: "r", At: "/r", Path: "*/b",
				Form: mail.GlobForm},
			{Root: "q", At: "/q", Path: "a/b"}})
	}
	c := &mail.ClaimChange{Agent: pick(h, append(slices.Clone(modelNames[:4]), mail.User))}
	switch h.IntN(5) {
	case 0:
		c.Free = []mail.Target{target(), target()}
	case 1:
		c.Wait = []mail.Target{target()}
	default:
		t := mail.Claim{Target: target(), Shared: h.one(4)}
		switch h.IntN(3) {
		case 0:
			t.Quiet = 120
		case 1:
			t.Until = h.now.Add(time.Hour)
		}
		c.Take = []mail.Claim{t}
	}
	h.add(act{Event: mail.Event{Claim: c}})
}
