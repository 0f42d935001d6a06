package page

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/undo"
)

// In is the same request as the view of another room.
func (v *View) In(room mail.RoomName, svc mail.Service) *View {
	other := *v
	other.Room, other.Base, other.Svc = room, RoomBase(room), svc
	return &other
}

// Other is the same request as the view of another room, which must be there.
func (v *View) Other(room mail.RoomName) (*View, error) {
	if !HasRoom(v.Rooms, room) {
		return nil, mail.Errorf(mail.NotFound, "there is no room %s here any more", room)
	}
	svc, err := v.Site.Office.Room(v.Ctx(), room, mail.User)
	return v.In(room, svc), err
}

// Target is a message of this room as what can be taken back names it.
func (v *View) Target(id mail.ID) undo.Target { return undo.Target{Room: v.Room, ID: id} }

// Hides reports whether the message is about to be deleted.
func (v *View) Hides(id mail.ID) bool { return v.Site.Undo.Hides(v.Target(id)) }

// Undeleted leaves out what is about to be deleted.
func (v *View) Undeleted(items []mail.Item) []mail.Item {
	return slices.DeleteFunc(items, func(it mail.Item) bool { return v.Hides(it.ID) })
}

// MaxChoices is how many agents are proposed. Others can be typed.
const MaxChoices = 200

// SomeAgents returns agents with a text in what the roster says of them: those who are there first.
func (v *View) SomeAgents(text string) ([]mail.Agent, error) {
	q := mail.RosterQuery{Search: text, States: mail.LiveStates(), Limit: MaxChoices}
	live, err := v.Svc.Agents(v.Ctx(), q)
	if err != nil || len(live.Agents) == MaxChoices {
		return live.Agents, err
	}
	q.States, q.Limit = []mail.State{mail.Frozen, mail.Gone}, MaxChoices-len(live.Agents)
	others, err := v.Svc.Agents(v.Ctx(), q)
	all := append(live.Agents, others.Agents...)
	if live.Total+others.Total <= MaxChoices { // a short roster stays in order
		slices.SortFunc(all, func(a, b mail.Agent) int { return mail.CompareNames(a.Name, b.Name) })
	}
	return all, err
}

// Reachable returns those of some addresses behind which somebody is, or may come: mail to an agent that is not on the
// roster is refused.
func (v *View) Reachable(list []mail.Address) ([]mail.Address, error) {
	var out []mail.Address
	for _, a := range list {
		ok := true
		if a.Kind() == mail.ToAgent {
			var err error
			if _, ok, err = mail.OneAgent(v.Ctx(), v.Svc, a.Signer()); err != nil {
				return nil, err
			}
		}
		if ok {
			out = append(out, a)
		}
	}
	return out, nil
}
