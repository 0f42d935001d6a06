package fold

import (
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Peer is an agent who will get a message.
type Peer struct {
	Name  mail.Name
	Woken bool // by messages like this one
}

// Peers returns the agents that a message is for by name, or as the holder of a role whose turn it is, if it is sent
// to some addresses; and if it is about a task, those that carry its tags, or all.
func (s *State) Peers(m *mail.Message, to []mail.Address) []Peer {
	out := make([]Peer, 0, len(to))
	for _, a := range to {
		var names []mail.Name
		switch a.Kind() {
		case mail.ToAgent:
			names = []mail.Name{a.Signer()}
		case mail.ToRole:
			role := a.Value()
			holders := s.holders(role, s.Members[m.From.Signer()])
			if m.Audience == mail.AudienceHolders && !m.Type.Rule().Stops {
				names = holders
			} else if next := policy.Next(holders, s.Rotation[role]); next != "" {
				names = []mail.Name{next}
			}
		default:
			out = s.appendCarriers(out, m.Type, a)
		}
		for _, name := range names {
			out = append(out, Peer{name, policy.Wakes(m.Type, m.Priority, m.From, a, a == mail.ToOrchestrator)})
		}
	}
	return out
}

// appendCarriers adds to out the agents that a message about a task reaches by a tag, or because it is for all. Other
// broadcasts do not count in the exchange of two agents.
func (s *State) appendCarriers(out []Peer, t mail.Type, a mail.Address) []Peer {
	if !t.Rule().AboutTask {
		return out
	}
	for _, m := range s.carriers(a) {
		if m.Listed() {
			out = append(out, Peer{Name: m.Name})
		}
	}
	return out
}

// PeersOf is Peers for a message that was sent.
func (s *State) PeersOf(r *Record) (out []Peer) {
	for i := range r.Bound {
		b := &r.Bound[i]
		to := b.members
		if !r.isOffer() && len(to) > 0 {
			to = to[len(to)-1:]
		}
		switch {
		case len(to) > 0 && (b.IsRole() || b.address.Kind() == mail.ToAgent):
			for _, m := range to {
				out = append(out, Peer{m.Name, r.wakes(b.address, m.HasRole(string(mail.Orchestrator)))})
			}
		default:
			out = s.appendCarriers(out, r.Msg.Type, b.address)
		}
	}
	for _, a := range r.dynamic {
		out = s.appendCarriers(out, r.Msg.Type, a)
	}
	return out
}

// DepthOf returns how many replies are above a reply, up to the person's last word or where hot messages end.
func (s *State) DepthOf(replyTo mail.ID, limit int) int {
	depth := 0
	for replyTo != "" && depth <= limit {
		parent := s.Records[replyTo]
		if parent == nil || parent.Msg.From == mail.ToUser {
			break
		}
		depth++
		replyTo = parent.Msg.ReplyTo()
	}
	return depth
}
