package web

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/undo"
	"slices"
)

// in is the same request as the view of another room.
func (v *view) in(room mail.RoomName, svc mail.Service) *view {
	other := *v
	other.Room, other.Base, other.svc = room, roomBase(room), svc
	return &other
}

// other is the same request as the view of another room, which must be there.
func (v *view) other(room mail.RoomName) (*view, error) {
	if !has(v.Rooms, room) {
		return nil, mail.Errorf(mail.NotFound, "there is no room %s here any more", room)
	}
	svc, err := v.site.Office.Room(v.ctx(), room, mail.User)
	return v.in(room, svc), err
}

// target is a message of this room as what can be taken back names it.
func (v *view) target(id mail.ID) undo.Target { return undo.Target{Room: v.Room, ID: id} }

// hides reports whether the message is about to be deleted.
func (v *view) hides(id mail.ID) bool { return v.site.Undo.Hides(v.target(id)) }

// shown leaves out what is about to be deleted.
func (v *view) shown(items []mail.Item) []mail.Item {
	return slices.DeleteFunc(items, func(it mail.Item) bool { return v.hides(it.ID) })
}

// maxChoices is how many agents are proposed. Others can be typed.
const maxChoices = 200

// someAgents returns agents with a text in what the roster says of them: those who are there first.
func (v *view) someAgents(text string) ([]mail.Agent, error) {
	q := mail.RosterQuery{Search: text, States: []mail.State{mail.Working, mail.Idle}, Limit: maxChoices}
	live, err := v.svc.Agents(v.ctx(), q)
	if err != nil || len(live.Agents) == maxChoices {
		return live.Agents, err
	}
	q.States, q.Limit = []mail.State{mail.Frozen, mail.Gone}, maxChoices-len(live.Agents)
	others, err := v.svc.Agents(v.ctx(), q)
	all := append(live.Agents, others.Agents...)
	if live.Total+others.Total <= maxChoices { // a short roster stays in order
		slices.SortFunc(all, func(a, b mail.Agent) int { return mail.CompareNames(a.Name, b.Name) })
	}
	return all, err
}

// reachable returns those of some addresses behind which somebody is, or may come: mail to an agent that is not on the
// roster is refused.
func (v *view) reachable(list []mail.Address) ([]mail.Address, error) {
	var out []mail.Address
	for _, a := range list {
		ok := true
		if a.Kind() == mail.ToAgent {
			var err error
			if _, ok, err = mail.OneAgent(v.ctx(), v.svc, a.Signer()); err != nil {
				return nil, err
			}
		}
		if ok {
			out = append(out, a)
		}
	}
	return out, nil
}
