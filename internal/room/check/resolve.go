package check

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// route is where the addresses of a draft lead.
type route struct {
	Local  []mail.Address
	Remote map[mail.RoomName][]string
}

// resolved is one address of this room, or a room and the address there.
type resolved struct {
	Local mail.Address
	Room  mail.RoomName
	Rest  string
}

// resolve turns typed addresses into canonical ones. All must resolve.
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

// routeOf returns where a draft goes. The user's answer to a card goes to the post office, which has no address
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
		return resolved{Local: v.ofPerson(a)}, nil
	}
	if a, err := v.byName(name, byName); a != "" || err != nil {
		return resolved{Local: a}, err
	}
	if i := strings.LastIndex(t, "@"); i > 0 {
		if room, err := mail.ParseRoom(t[i+1:]); err == nil && (room == v.Room || !v.Alone) {
			return v.elsewhere(t[:i], room)
		}
	}
	if err != nil {
		return resolved{}, err
	}
	if m := v.Members[mail.Name(name)]; m != nil && m.Registered != 0 {
		return resolved{}, mail.Errorf(mail.NotFound, "%s was taken off the roster: nothing was sent%s", m.Name,
			v.Suggest(name))
	}
	return resolved{}, mail.Errorf(mail.NotFound, "unknown recipient %q: nothing was sent%s", t, v.Suggest(name))
}

// ofPerson returns the address of the user for a role that the user has, since no agent takes mail for it.
func (v *View) ofPerson(a mail.Address) mail.Address {
	if a.Kind() == mail.ToRole && v.Members[mail.User].HasRole(a.Value()) {
		return mail.ToUser
	}
	return a
}

// byName returns the address of the member that bears a name, had it before, or has it as a title; "" if there is
// none. exact says that it was typed as a name.
func (v *View) byName(name string, exact bool) (mail.Address, error) {
	if m, err := v.titled(name); !exact && (m != nil || err != nil) {
		return m.Address(), err
	}
	m := v.Agent(mail.Name(name))
	switch {
	case v.isPerson(mail.Name(name)):
		return mail.ToUser, nil
	case m == nil:
		return "", nil
	}
	if err := v.ambiguous(m, name); err != nil {
		return "", err
	}
	if exact {
		return mail.Address("agent:" + m.Name), nil
	}
	return mail.AgentAddress(m.Name), nil
}

// titled returns the agent that a title such as team-lead means: the one with the role of that name in a team of the
// caller's, or the only one that has it. Nil: it is no title, or no one has it.
func (v *View) titled(word string) (*fold.Member, error) {
	if !slices.ContainsFunc(v.Protocols, func(p mail.Protocol) bool { return slices.Contains(p.Titles, word) }) {
		return nil, nil
	}
	all := v.Holders(word)
	own := slices.DeleteFunc(slices.Clone(all), func(m *fold.Member) bool { return !sameTeam(m, v.Me()) })
	switch {
	case len(own) == 1:
		return own[0], nil
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return nil, nil
	}
	names := make([]mail.Name, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	return nil, mail.Errorf(mail.Conflict, "several agents have the title %q: nothing was sent. Use one of the "+
		"names %s",
		word, wording.Join(names, ", ", func(n mail.Name) string { return mail.Slug("agent:" + string(n)) }))
}

// sameTeam reports whether two agents share a tag, or are one.
func sameTeam(m, o *fold.Member) bool {
	carries := func(tag string) bool { return slices.Contains(o.Tags, tag) }
	return o != nil && (m == o || slices.ContainsFunc(m.Tags, carries))
}

// elsewhere resolves an address of a room, which may be this one. Mail that came from another room goes no further.
func (v *View) elsewhere(t string, room mail.RoomName) (resolved, error) {
	switch {
	case room == v.Room:
		return v.ResolveOne(t)
	case !v.reaches(room):
		return resolved{}, mail.Errorf(mail.NotFound, "room %s is not reachable from here: nothing was sent", room)
	}
	return resolved{Room: room, Rest: t}, nil
}

// ambiguous refuses a name of an older journal that reads as another room's agent, if there is such a room: mail must
// not go to an agent that took that name to get it.
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
		"%q is the name of an agent here and also reads as %s of room %s: nothing was sent. To reach the other "+
			"room, use far:%s; to reach the agent here, first type: pennypost agents rename '%s' NEW-NAME",
		typed, typed[:i], room, typed, m.Name)
}

// farAddresses returns the addresses in other rooms, spelled as in a message.
func (rt *route) farAddresses() (out []mail.Address) {
	for room, names := range rt.Remote {
		for _, n := range names {
			out = append(out, mail.FarAddress(mail.Address(n), room))
		}
	}
	slices.Sort(out)
	return out
}
