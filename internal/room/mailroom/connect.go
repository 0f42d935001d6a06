package mailroom

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Bridges implements mail.Connector. The room keeps the list; the owner of the bridges fills in their state.
func (v *view) Bridges(context.Context) ([]mail.BridgeStatus, error) {
	out := []mail.BridgeStatus{}
	v.read(func(s *fold.State, _ mail.Time) {
		for _, b := range s.Bridges {
			out = append(out, mail.BridgeStatus{Bridge: b})
		}
	})
	return out, nil
}

// AddBridge implements mail.Connector.
func (v *view) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	if err := v.NeedUser("add a bridge"); err != nil {
		return mail.BridgeStatus{}, err
	}
	if err := b.Check(); err != nil {
		return mail.BridgeStatus{}, err
	}
	b.Machine = v.opts.Machine
	if err := v.attempt(ctx, func(v *check.View) ([]mail.Event, error) {
		v.Identify(&b, v.Now)
		return []mail.Event{{At: v.Now, Bridge: &mail.BridgeChange{Bridge: b}}}, nil
	}); err != nil {
		return mail.BridgeStatus{}, err
	}
	return mail.BridgeStatus{Bridge: b}, nil
}

// RemoveBridge implements mail.Connector.
func (v *view) RemoveBridge(ctx context.Context, id string) error {
	if err := v.NeedUser("remove a bridge"); err != nil {
		return err
	}
	b, err := v.oneBridge(id)
	if err != nil {
		return err
	}
	_, err = v.commit(ctx, mail.Event{At: v.now(), Bridge: &mail.BridgeChange{Bridge: b, Removed: true}})
	return err
}

// SyncBridge implements mail.Connector. A room alone has nothing to synchronize.
func (v *view) SyncBridge(_ context.Context, id string) (mail.BridgeStatus, error) {
	if err := v.NeedUser("sync a bridge"); err != nil {
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
	v.read(func(s *fold.State, _ mail.Time) {
		if i := s.Bridge(id); i >= 0 {
			b = s.Bridges[i]
			return
		}
		err = mail.Errorf(mail.NotFound, "room %s has no bridge %q. Its bridges: pennypost bridge list",
			v.name, id)
	})
	return b, err
}

// Workspaces implements mail.Connector.
func (v *view) Workspaces(context.Context) ([]mail.Workspace, error) {
	out := []mail.Workspace{}
	v.read(func(s *fold.State, _ mail.Time) { out = append(out, s.Workspaces...) })
	return out, nil
}

// AddWorkspace implements mail.Connector.
func (v *view) AddWorkspace(ctx context.Context, w mail.Workspace) (mail.Workspace, error) {
	if err := v.NeedUser("add a workspace"); err != nil {
		return w, err
	}
	v.read(func(s *fold.State, _ mail.Time) {
		if i := s.Workspace(w.ID); i >= 0 && w.Label == "" {
			w.Label = s.Workspaces[i].Label
		}
	})
	if err := w.Check(); err != nil {
		return w, err
	}
	if _, err := v.Register(ctx, mail.Presence{Name: w.ID}); err != nil {
		return w, err
	}
	w.Added, w.Machine = v.now(), v.opts.Machine
	v.read(func(s *fold.State, _ mail.Time) {
		if i := s.Workspace(w.ID); i >= 0 {
			w.Added = s.Workspaces[i].Added
		}
	})
	_, err := v.commit(ctx, mail.Event{At: v.now(), Workspace: &mail.WorkspaceChange{Workspace: w}})
	return w, err
}

// RemoveWorkspace implements mail.Connector.
func (v *view) RemoveWorkspace(ctx context.Context, id mail.Name) error {
	if err := v.NeedUser("remove a workspace"); err != nil {
		return err
	}
	var w mail.Workspace
	agent := false
	v.read(func(s *fold.State, _ mail.Time) {
		if i := s.Workspace(id); i >= 0 {
			w = s.Workspaces[i]
		}
		agent = s.Agent(id) != nil
	})
	if w.ID == "" {
		return mail.Errorf(mail.NotFound,
			"room %s has no workspace %q. Its workspaces: pennypost workspace list", v.name, id)
	}
	if _, err := v.commit(ctx,
		mail.Event{At: v.now(), Workspace: &mail.WorkspaceChange{Workspace: w, Removed: true}}); err != nil || !agent {
		return err
	}
	return v.Retire(ctx, id)
}
