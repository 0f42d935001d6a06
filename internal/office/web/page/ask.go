package page

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/undo"
)

// In returns the view of another room for the same request.
func (v *View) In(room mail.RoomName, svc mail.Service) *View {
	other := *v
	other.Room, other.Base, other.Svc = room, RoomBase(room), svc
	return &other
}

// Other is like In for an existing room, which it enters.
func (v *View) Other(room mail.RoomName) (*View, error) {
	if !HasRoom(v.Rooms, room) {
		return nil, mail.Errorf(mail.NotFound, "room %s no longer exists", room)
	}
	svc, err := v.Site.Office.Room(v.Ctx(), room, mail.User)
	return v.In(room, svc), err
}

// Target names a message of this room for undoing.
func (v *View) Target(id mail.ID) undo.Target { return undo.Target{Room: v.Room, ID: id} }

// Hides reports whether a message is about to be deleted.
func (v *View) Hides(id mail.ID) bool { return v.Site.Undo.Hides(v.Target(id)) }

// Undeleted removes messages that are about to be deleted.
func (v *View) Undeleted(items []mail.Item) []mail.Item {
	return slices.DeleteFunc(items, func(it mail.Item) bool { return v.Hides(it.ID) })
}

// MaxChoices limits the suggested agents. Others can be typed.
const MaxChoices = 200

// SomeAgents returns agents whose roster entry contains text, live ones first.
func (v *View) SomeAgents(text string) ([]mail.Agent, error) {
	q := mail.RosterQuery{Search: text, States: mail.LiveStates(), Limit: MaxChoices}
	live, err := v.Svc.Agents(v.Ctx(), q)
	if err != nil || len(live.Agents) == MaxChoices {
		return live.Agents, err
	}
	q.States, q.Limit = []mail.State{mail.Frozen, mail.Gone}, MaxChoices-len(live.Agents)
	others, err := v.Svc.Agents(v.Ctx(), q)
	all := append(live.Agents, others.Agents...)
	if live.Total+others.Total <= MaxChoices { // a short roster stays sorted by name
		slices.SortFunc(all, func(a, b mail.Agent) int { return mail.CompareNames(a.Name, b.Name) })
	}
	return all, err
}

// Reachable returns the addresses that may have a reader. Mail to an agent that is not on the roster would be
// refused.
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
