package mailroom

import (
	"context"
	"slices"
	"strconv"

	"pennypost/internal/mail"
)

// Bridges implements mail.Connector. The room keeps the list; who runs the bridges fills in how they fare.
func (v *view) Bridges(context.Context) ([]mail.BridgeStatus, error) {
	out := []mail.BridgeStatus{}
	v.read(func(s *state, _ mail.Time) {
		for _, b := range s.bridges {
			out = append(out, mail.BridgeStatus{Bridge: b})
		}
	})
	return out, nil
}

// AddBridge implements mail.Connector.
func (v *view) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	if err := v.needUser("add a bridge"); err != nil {
		return mail.BridgeStatus{}, err
	}
	if err := b.Check(); err != nil {
		return mail.BridgeStatus{}, err
	}
	b.Machine = v.opts.Machine
	if err := v.attempt(ctx, func() (events []mail.Event, _ error) {
		v.read(func(s *state, now mail.Time) {
			s.identify(&b, now)
			events = []mail.Event{{At: now, Bridge: &mail.BridgeChange{Bridge: b}}}
		})
		return events, nil
	}); err != nil {
		return mail.BridgeStatus{}, err
	}
	return mail.BridgeStatus{Bridge: b}, nil
}

// identify gives b the id of the same bridge, if the room has it, or a new one.
func (s *state) identify(b *mail.Bridge, now mail.Time) {
	b.Added = now
	for _, old := range s.bridges {
		if sameBridge(&old, b) {
			b.ID, b.Added = old.ID, old.Added
			return
		}
	}
	b.ID = b.Dialect
	for n := 2; s.bridge(b.ID) >= 0; n++ {
		b.ID = b.Dialect + "-" + strconv.Itoa(n)
	}
}

func (s *state) bridge(id string) int {
	return slices.IndexFunc(s.bridges, func(b mail.Bridge) bool { return b.ID == id })
}

// RemoveBridge implements mail.Connector.
func (v *view) RemoveBridge(ctx context.Context, id string) error {
	if err := v.needUser("remove a bridge"); err != nil {
		return err
	}
	b, err := v.oneBridge(id)
	if err != nil {
		return err
	}
	_, err = v.commit(ctx, mail.Event{At: v.now(), Bridge: &mail.BridgeChange{Bridge: b, Removed: true}})
	return err
}

// SyncBridge implements mail.Connector. A room alone has nothing to bring in step.
func (v *view) SyncBridge(_ context.Context, id string) (mail.BridgeStatus, error) {
	if err := v.needUser("sync a bridge"); err != nil {
		return mail.BridgeStatus{}, err
	}
	b, err := v.oneBridge(id)
	return mail.BridgeStatus{Bridge: b}, err
}

// RejectedLines implements mail.Connector. A room alone has read no files.
func (v *view) RejectedLines(_ context.Context, id string) ([]mail.BadLine, error) {
	_, err := v.oneBridge(id)
	return nil, err
}

func (v *view) oneBridge(id string) (b mail.Bridge, err error) {
	v.read(func(s *state, _ mail.Time) {
		if i := s.bridge(id); i >= 0 {
			b = s.bridges[i]
			return
		}
		err = mail.Errorf(mail.NotFound, "room %s has no bridge %q. Its bridges are listed by: pennypost bridge list",
			v.name, id)
	})
	return b, err
}

func (s *state) applyBridge(c *mail.BridgeChange) (counted bool) {
	i := s.bridge(c.ID)
	switch {
	case c.Machine != "" && !c.Removed && i >= 0 && !sameBridge(&s.bridges[i], &c.Bridge):
		return false // another machine's got the id at the same time
	case c.Removed && i >= 0:
		s.bridges = slices.Delete(s.bridges, i, i+1)
	case c.Removed:
	case i >= 0:
		s.bridges[i] = c.Bridge
	default:
		s.bridges = append(s.bridges, c.Bridge)
	}
	return true
}

func sameBridge(a, b *mail.Bridge) bool {
	return a.Dialect == b.Dialect && a.Dir == b.Dir && a.Machine == b.Machine
}

// Workspaces implements mail.Connector.
func (v *view) Workspaces(context.Context) ([]mail.Workspace, error) {
	out := []mail.Workspace{}
	v.read(func(s *state, _ mail.Time) { out = append(out, s.workspaces...) })
	return out, nil
}

// AddWorkspace implements mail.Connector.
func (v *view) AddWorkspace(ctx context.Context, w mail.Workspace) (mail.Workspace, error) {
	if err := v.needUser("add a workspace"); err != nil {
		return w, err
	}
	v.read(func(s *state, _ mail.Time) {
		if i := s.workspace(w.ID); i >= 0 && w.Label == "" {
			w.Label = s.workspaces[i].Label
		}
	})
	if err := w.Check(); err != nil {
		return w, err
	}
	if _, err := v.Register(ctx, mail.Presence{Name: w.ID}); err != nil {
		return w, err
	}
	w.Added, w.Machine = v.now(), v.opts.Machine
	v.read(func(s *state, _ mail.Time) {
		if i := s.workspace(w.ID); i >= 0 {
			w.Added = s.workspaces[i].Added
		}
	})
	_, err := v.commit(ctx, mail.Event{At: v.now(), Workspace: &mail.WorkspaceChange{Workspace: w}})
	return w, err
}

// RemoveWorkspace implements mail.Connector.
func (v *view) RemoveWorkspace(ctx context.Context, id mail.Name) error {
	if err := v.needUser("remove a workspace"); err != nil {
		return err
	}
	var w mail.Workspace
	agent := false
	v.read(func(s *state, _ mail.Time) {
		if i := s.workspace(id); i >= 0 {
			w = s.workspaces[i]
		}
		agent = s.agent(id) != nil
	})
	if w.ID == "" {
		return mail.Errorf(mail.NotFound,
			"room %s has no workspace %q. Its workspaces are listed by: pennypost workspace list", v.name, id)
	}
	if _, err := v.commit(ctx,
		mail.Event{At: v.now(), Workspace: &mail.WorkspaceChange{Workspace: w, Removed: true}}); err != nil || !agent {
		return err
	}
	return v.Retire(ctx, id)
}

func (s *state) workspace(id mail.Name) int {
	return slices.IndexFunc(s.workspaces, func(w mail.Workspace) bool { return w.ID == id })
}

func (s *state) applyWorkspace(c *mail.WorkspaceChange) {
	i := s.workspace(c.ID)
	switch {
	case c.Removed && i >= 0:
		s.workspaces = slices.Delete(s.workspaces, i, i+1)
	case c.Removed:
	case i >= 0:
		s.workspaces[i] = c.Workspace
	default:
		s.workspaces = append(s.workspaces, c.Workspace)
	}
}
