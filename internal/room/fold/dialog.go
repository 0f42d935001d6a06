package fold

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
)

// Standing returns m's state as others see it: a live agent is asking while its client waits for a person, as far as
// anyone knows. Its state apart from that, working or idle, decides whether it may be rung.
func (m *Member) Standing() mail.State {
	if m.State.Live() && len(m.Dialogs) > 0 {
		return mail.Asking
	}
	return m.State
}

// StateSince returns since when m has been in the state that Standing returns.
func (m *Member) StateSince() mail.Time {
	if m.Standing() == mail.Asking {
		return m.Dialogs[0].Since
	}
	return m.Since
}

// Ringable returns m's state for the decision to ring: an agent that is at a dialog is asking, because keys that are
// typed for it would go into the dialog. One whose dialogs may all have been answered has its state apart from them:
// otherwise nothing might ever wake it.
func (m *Member) Ringable() mail.State {
	if m.State.Live() && slices.ContainsFunc(m.Dialogs, func(d mail.Dialog) bool { return !d.Doubt }) {
		return mail.Asking
	}
	return m.State
}

// asking returns since when m is at dialogs of its client, 0 if at none, and whether they may all have been answered.
func (m *Member) asking() (since mail.Time, doubt bool) {
	if m.Standing() != mail.Asking {
		return 0, false
	}
	return m.Dialogs[0].Since, m.Ringable() != mail.Asking
}

// Dialog returns the index of an open dialog of m; -1: it is not open.
func (m *Member) Dialog(id mail.ID) int {
	return slices.IndexFunc(m.Dialogs, func(d mail.Dialog) bool { return d.ID == id })
}

// applyDialog opens, changes or ends a dialog. All dialogs of a session end with it.
func (s *State) applyDialog(c *mail.DialogChange, at mail.Time) {
	s.Garbage++
	m := s.Agent(c.Agent)
	if m == nil || m.Session != c.Session {
		return
	}
	i := m.Dialog(c.ID)
	switch {
	case c.Outcome != "" && i >= 0:
		m.Dialogs = slices.Delete(m.Dialogs, i, i+1)
	case c.Outcome != "":
	case i >= 0:
		m.Dialogs[i].Doubt = c.Doubt
	case c.Doubt, len(m.Dialogs) >= mail.MaxDialogs: // it ended meanwhile; or machines opened them concurrently
	default:
		d := c.Dialog
		d.Since = at
		m.Dialogs = append(m.Dialogs, d)
		s.ask(m)
	}
}

// ask notes that m may be at a dialog. Agents that are no longer at one are forgotten over time.
func (s *State) ask(m *Member) {
	s.askers = slices.DeleteFunc(s.askers, func(o *Member) bool { return o == m || len(o.Dialogs) == 0 })
	s.askers = append(s.askers, m)
}

// AtDialogs returns the agents that are at a dialog, those that have waited longest first.
func (s *State) AtDialogs() (list []*Member) {
	for _, m := range s.askers {
		if m.Listed() && m.Standing() == mail.Asking {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(a.StateSince(), b.StateSince()), ByName(a, b))
	})
	return list
}
