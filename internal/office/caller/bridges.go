package caller

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/bridge"
)

// Bridges implements mail.Connector.
func (v *Room) Bridges(ctx context.Context) ([]mail.BridgeStatus, error) {
	e, s, err := v.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer v.leave(e)
	if e == nil {
		return s.Bridges(ctx)
	}
	all, err := e.Room.As(mail.User).Bridges(ctx)
	if err != nil {
		return nil, err
	}
	here := e.Bridges.Statuses()
	elsewhere := v.office.Set.BridgesElsewhere(ctx, v.name, all, e)
	for i := range all {
		of := here
		if e.Elsewhere(&all[i].Bridge) {
			of = elsewhere[all[i].Machine]
		}
		if j := slices.IndexFunc(of, func(b mail.BridgeStatus) bool { return b.ID == all[i].ID }); j >= 0 {
			all[i] = of[j]
		}
	}
	return all, nil
}

// AddBridge implements mail.Connector.
func (v *Room) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	if v.ID.Name() == mail.User {
		if err := bridge.Check(v.office.Set.Dialects, &b); err != nil {
			return mail.BridgeStatus{}, err
		}
	}
	return v.bridging(ctx, func(s mail.Service) (string, error) {
		st, err := s.AddBridge(ctx, b)
		return st.ID, err
	})
}

// RemoveBridge implements mail.Connector.
func (v *Room) RemoveBridge(ctx context.Context, id string) error {
	_, err := v.bridging(ctx, func(s mail.Service) (string, error) { return "", s.RemoveBridge(ctx, id) })
	return err
}

// SyncBridge implements mail.Connector.
func (v *Room) SyncBridge(ctx context.Context, id string) (mail.BridgeStatus, error) {
	return v.bridging(ctx, func(s mail.Service) (string, error) {
		b, err := s.SyncBridge(ctx, id) // it rejects a caller without the right, and a missing bridge
		if err == nil && b.Machine != "" && b.Machine != v.office.Set.Config.MachineName() {
			err = mail.Errorf(mail.Invalid,
				"the bridge %s is on the machine %s and syncs there; this machine cannot trigger a "+
					"sync", id, b.Machine)
		}
		return id, err
	})
}

// RejectedLines implements mail.Connector.
func (v *Room) RejectedLines(ctx context.Context, id string) ([]mail.BadLine, error) {
	e, s, err := v.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer v.leave(e)
	if e == nil {
		return s.RejectedLines(ctx, id)
	}
	all, err := s.Bridges(ctx)
	if i := slices.IndexFunc(all, func(b mail.BridgeStatus) bool { return b.ID == id }); err != nil ||
		i >= 0 && e.Elsewhere(&all[i].Bridge) {
		return nil, err // the machine that has the files names them
	}
	return e.Bridges.RejectedLines(ctx, id)
}

// bridging changes the list of bridges with call, and syncs the bridge that call returns.
func (v *Room) bridging(ctx context.Context, call func(mail.Service) (string, error)) (mail.BridgeStatus,
	error) {
	e, s, err := v.enter(ctx, true)
	if err != nil {
		return mail.BridgeStatus{}, err
	}
	defer v.leave(e)
	id, err := call(s)
	if e == nil { // in a relay; bridges run in the post office
		return mail.BridgeStatus{}, err
	}
	if err == nil {
		err = e.Reconcile(ctx)
	}
	if err != nil || id == "" {
		return mail.BridgeStatus{}, err
	}
	return e.Bridges.Sync(ctx, id)
}
