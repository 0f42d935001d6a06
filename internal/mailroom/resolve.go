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
		found, err := v.resolveList(s, norm.NFC.String(strings.TrimSpace(t)))
		if err != nil {
			return route{}, err
		}
		for _, f := range found {
			switch {
			case f.room != "":
				if rt.remote == nil {
					rt.remote = make(map[mail.RoomName][]string)
				}
				rt.remote[f.room] = append(rt.remote[f.room], f.rest)
			case !slices.Contains(rt.local, f.local):
				rt.local = append(rt.local, f.local)
			}
		}
	}
	return rt, nil
}

// resolved is one address of this room, or a room and what is an address there.
type resolved struct {
	local mail.Address
	room  mail.RoomName
	rest  string
}

// resolveList resolves one address or, if that is none, several with commas between them: a name may contain a comma.
func (v *view) resolveList(s *state, t string) ([]resolved, error) {
	one, err := v.resolveOne(s, t)
	if err == nil {
		return []resolved{one}, nil
	}
	parts := strings.Split(t, ",")
	if len(parts) == 1 {
		return nil, err
	}
	out := make([]resolved, len(parts))
	for i, part := range parts {
		if out[i], err = v.resolveOne(s, strings.TrimSpace(part)); err != nil {
			return nil, err
		}
	}
	return out, nil
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
