package rooms

import (
	"context"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// peers is the post office's view of those on other machines. *jetstream.Machines is one.
type peers interface {
	// Ask sends a request to another machine and returns its answer. Unavailable and Timeout mean that there was
	// none.
	Ask(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error)
	// Away reports whether a machine has fallen silent.
	Away(mail.Machine) bool
	// Cut reports whether others may consider this machine away.
	Cut() bool
	// List returns all machines, this one among them.
	List() []mail.MachineStatus
}

// BridgesSubject is the subject of requests for the state of a room's bridges that another machine runs.
const BridgesSubject = "bridges"

// Ask sends a request to another machine and returns its answer.
func (o *Set) Ask(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error) {
	if o.peers == nil {
		return nil, mail.Errorf(mail.Unavailable,
			"the machine %s cannot be asked: this post office uses no NATS servers",
			to)
	}
	return o.peers.Ask(ctx, to, subject, request)
}

// Heard returns when a machine was last heard of; 0 if unknown.
func (o *Set) Heard(name mail.Machine) mail.Time {
	if o.peers != nil {
		all := o.peers.List()
		if i := slices.IndexFunc(all, func(m mail.MachineStatus) bool { return m.Name == name }); i >= 0 {
			return all[i].Heard
		}
	}
	return 0
}

// BridgesHere returns the state of a room's bridges that this machine runs.
func (o *Set) BridgesHere(ctx context.Context, room mail.RoomName) ([]byte, error) {
	if !o.Exists(room) {
		return nil, o.NoRoom(ctx, room)
	}
	var said []byte
	err := o.With(ctx, room, func(e *Entry) (err error) {
		said, err = jsonx.Marshal(e.Bridges.Statuses())
		return err
	})
	return said, err
}

// BridgesElsewhere returns the state of a room's bridges that run on other machines, as far as these answer.
func (o *Set) BridgesElsewhere(ctx context.Context, room mail.RoomName, all []mail.BridgeStatus,
	e *Entry) map[mail.Machine][]mail.BridgeStatus {
	out := make(map[mail.Machine][]mail.BridgeStatus)
	for i := range all {
		at := all[i].Machine
		if _, asked := out[at]; asked || !e.Elsewhere(&all[i].Bridge) || o.peers == nil || o.peers.Away(at) {
			continue
		}
		var said []mail.BridgeStatus
		text, err := o.Ask(ctx, at, BridgesSubject, []byte(room))
		if err == nil {
			err = jsonx.UnmarshalLenient(text, &said)
		}
		if err != nil {
			o.Log.Debug("bridges of another machine unknown", "machine", at, "room", room, "err", err)
		}
		out[at] = said
	}
	return out
}
