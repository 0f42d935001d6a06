package check

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// route is where the addresses of a draft lead.
type route struct {
	Local  []mail.Address
	Remote map[mail.RoomName][]string
}

// resolved is one address of this room, or a room and what is an address there.
type resolved struct {
	Local mail.Address
	Room  mail.RoomName
	Rest  string
}

// resolve turns addresses as somebody typed them into canonical ones. All must resolve.
func (v *View) resolve(typed []string) (route, error) {
	var rt route
	for _, t := range typed {
		t = norm.NFC.String(strings.TrimSpace(t))
		one, err := v.ResolveOne(t)
		if err == nil {
			rt.add(one)
			continue
		}
		parts := strings.Split(t, ",") // only now: a name may contain a comma
		if len(parts) == 1 {
			return route{}, err
		}
		for _, part := range parts {
			if one, err = v.ResolveOne(strings.TrimSpace(part)); err != nil {
				return route{}, err
			}
			rt.add(one)
		}
	}
	return rt, nil
}

// routeOf returns where a draft goes. The user's answer to a card goes to the post office, which is nobody's address
// otherwise.
func (v *View) routeOf(d *mail.Draft) (route, error) {
	if q := v.Records[d.ReplyTo]; q != nil && q.IsCard() && v.IsUser() && len(d.To) == 1 &&
		d.To[0] == string(mail.System) {
		return route{Local: []mail.Address{mail.FromSystem}}, nil
	}
	return v.resolve(d.To)
}

func (rt *route) add(to resolved) {
	switch {
	case to.Room != "":
		if rt.Remote == nil {
			rt.Remote = make(map[mail.RoomName][]string)
		}
		rt.Remote[to.Room] = append(rt.Remote[to.Room], to.Rest)
	case !slices.Contains(rt.Local, to.Local):
		rt.Local = append(rt.Local, to.Local)
	}
}

// ResolveOne finds out where an address leads.
func (v *View) ResolveOne(t string) (resolved, error) {
	name, byName := strings.CutPrefix(t, "agent:")
	a, _, err := mail.ParseAddress(t, v.Namespaces)
	if agent, room, far := a.Far(); far {
		return v.elsewhere(string(agent), room)
	}
	if err == nil && a != "" && a.Kind() != mail.ToAgent {
		return resolved{Local: a}, nil
	}
	if m := v.Agent(mail.Name(name)); m != nil {
		if err := v.ambiguous(m, name); err != nil {
			return resolved{}, err
		}
		if a := mail.Address("agent:" + m.Name); byName {
			return resolved{Local: a}, nil
		}
		return resolved{Local: mail.AgentAddress(m.Name)}, nil
	}
	if i := strings.LastIndex(t, "@"); i > 0 {
		if room, err := mail.ParseRoom(t[i+1:]); err == nil && (room == v.Room || !v.Alone) {
			return v.elsewhere(t[:i], room)
		}
	}
	if err != nil {
		return resolved{}, err
	}
	return resolved{}, mail.Errorf(mail.NotFound, "unknown recipient %q: nothing was sent%s", t, v.Suggest(name))
}

// elsewhere resolves an address of a room, which may be this one. Mail that came from another room goes no further.
func (v *View) elsewhere(t string, room mail.RoomName) (resolved, error) {
	switch {
	case room == v.Room:
		return v.ResolveOne(t)
	case !v.reaches(room):
		return resolved{}, mail.Errorf(mail.NotFound, "room %s cannot be reached from here: nothing was sent", room)
	}
	return resolved{Room: room, Rest: t}, nil
}

// ambiguous refuses a name of an older journal that reads as another room's agent, if there is such a room: mail must
// not go to whoever took that name to get it.
func (v *View) ambiguous(m *fold.Member, typed string) error {
	i := strings.LastIndex(typed, "@")
	if i < 0 {
		return nil
	}
	room, err := mail.ParseRoom(typed[i+1:])
	if err != nil || room != v.Room && !v.Exists(room) {
		return nil
	}
	return mail.Errorf(mail.Conflict,
		"%q is an agent here and reads as %s of room %s: nothing was sent. To write to that one, use far:%s; "+
			"to write to the one here, first type: pennypost agents rename '%s' NEW-NAME",
		typed, typed[:i], room, typed, m.Name)
}

// farAddresses returns what leads to other rooms, spelled as in a message.
func (rt *route) farAddresses() (out []mail.Address) {
	for room, names := range rt.Remote {
		for _, n := range names {
			out = append(out, mail.FarAddress(mail.Address(n), room))
		}
	}
	slices.Sort(out)
	return out
}
