package mailroom

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
)

// route is where the addresses of a draft lead.
type route struct {
	local  []mail.Address
	remote map[mail.RoomName][]string
}

// resolve turns addresses as somebody typed them into canonical ones. All must resolve.
func (v *view) resolve(s *state, typed []string) (route, error) {
	var rt route
	for _, t := range typed {
		t = norm.NFC.String(strings.TrimSpace(t))
		one, err := v.resolveOne(s, t)
		if err == nil {
			rt.add(one)
			continue
		}
		parts := strings.Split(t, ",") // only now: a name may contain a comma
		if len(parts) == 1 {
			return route{}, err
		}
		for _, part := range parts {
			if one, err = v.resolveOne(s, strings.TrimSpace(part)); err != nil {
				return route{}, err
			}
			rt.add(one)
		}
	}
	return rt, nil
}

func (rt *route) add(to resolved) {
	switch {
	case to.room != "":
		if rt.remote == nil {
			rt.remote = make(map[mail.RoomName][]string)
		}
		rt.remote[to.room] = append(rt.remote[to.room], to.rest)
	case !slices.Contains(rt.local, to.local):
		rt.local = append(rt.local, to.local)
	}
}

// resolved is one address of this room, or a room and what is an address there.
type resolved struct {
	local mail.Address
	room  mail.RoomName
	rest  string
}

func (v *view) resolveOne(s *state, t string) (resolved, error) {
	name, byName := strings.CutPrefix(t, "agent:")
	a, _, err := mail.ParseAddress(t, v.opts.Namespaces)
	if err == nil && a != "" && a.Kind() != mail.ToAgent {
		return resolved{local: a}, nil
	}
	if m := s.agent(mail.Name(name)); m != nil {
		if a := mail.Address("agent:" + m.Name); byName {
			return resolved{local: a}, nil
		}
		return resolved{local: mail.AgentAddress(m.Name)}, nil
	}
	if i := strings.LastIndex(t, "@"); i > 0 {
		switch room, err := mail.ParseRoom(t[i+1:]); {
		case err == nil && room == v.name:
			return v.resolveOne(s, t[:i])
		case err == nil && v.opts.Forward != nil:
			return resolved{room: room, rest: t[:i]}, nil
		}
	}
	if err != nil {
		return resolved{}, err
	}
	return resolved{}, mail.Errorf(mail.NotFound, "unknown recipient %q: nothing was sent%s", t, s.suggest(name))
}
