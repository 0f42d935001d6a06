package caller

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/wire"
)

// Attach brings the session of an agent to the front, or returns the command that does. Only the user may call it.
func (o *Rooms) Attach(ctx context.Context, room mail.RoomName, agent mail.Name, from wire.Attach) (wire.Attached,
	error) {
	user := o.Own(ctx, room, mail.User)
	a, ok, err := mail.OneAgent(ctx, user, agent)
	if err != nil {
		return wire.Attached{}, err
	}
	if !ok {
		return wire.Attached{}, mail.Errorf(mail.NotFound,
			"room %s has no agent %q. To list its agents: pennypost agents", room, agent)
	}
	front := door.Front{Sessions: &o.Set.Reach.Sessions}
	s := front.Bring(ctx, room, a.Name, door.From{Terminal: from.Terminal, Tmux: from.Tmux})
	out := wire.Attached{Live: s.Live, Front: s.Front, Where: s.Where, Shows: s.Attach}
	switch {
	case s.Front:
		return out, nil
	case s.Why != nil:
		out.Why, out.Shows = s.Why.Error(), nil
	}
	if len(out.Shows) > 0 {
		out.Command = shellLine(out.Shows)
		return out, nil
	}
	if s.Dir == "" {
		s.Dir, err = workspaceDir(ctx, user, a.Name)
	}
	out.Command = cmp.Or(config.Resume(s.Client, s.ID, s.Dir), config.Resume(a.Client, cmp.Or(a.Session, a.Left),
		s.Dir))
	return out, err
}

// workspaceDir returns the directory of an agent with a workspace, "" if it has none.
func workspaceDir(ctx context.Context, svc mail.Service, agent mail.Name) (string, error) {
	list, err := svc.Workspaces(ctx)
	i := slices.IndexFunc(list, func(w mail.Workspace) bool { return w.ID == agent })
	if err != nil || i < 0 {
		return "", err
	}
	return list[i].Dir, nil
}

// shellLine formats a command as a person types it.
func shellLine(words []string) string {
	out := slices.Clone(words)
	for i, w := range out {
		if strings.ContainsFunc(w, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
				strings.ContainsRune("_/.:%-", r))
		}) || w == "" {
			out[i] = wording.Shell(w)
		}
	}
	return strings.Join(out, " ")
}
