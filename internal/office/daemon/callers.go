package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/relay"
	"pennypost/internal/office/rooms"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// office has the rooms for those who call: each of them enters a room as the gate says that it may.
type office struct {
	*rooms.Set
	toolUses toolUses            // by whom tools are used, as hooks told
	confirm  *gate.Confirmations // nil: nothing is
	far      *relay.Far          // of a relay, which has no rooms; nil: this is a post office
}

var _ mail.Office = (*office)(nil)

// newCallers returns the rooms of a configuration for those who call.
func newCallers(cfg *config.Config, log *slog.Logger, m *rooms.Metrics, dialects []dialect.Dialect) *office {
	return &office{Set: rooms.New(cfg, log, m, dialects)}
}

// Room implements mail.Office. The service still works when the room was closed because it was idle: each call opens
// it again. A room that does not exist is made by the first call that changes something there.
func (o *office) Room(ctx context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return nil, err
	}
	if pass := gate.PassOf(ctx); !pass.Enters(name) {
		return nil, notEntered(pass, name)
	}
	if o.far != nil || o.InUse(name) {
		return o.roomAs(ctx, name, as)
	}
	if _, err := os.Lstat(o.Dir(name)); !errors.Is(err, fs.ErrNotExist) {
		e, err := o.Borrow(ctx, name)
		if err != nil {
			return nil, err
		}
		o.GiveBack(e, name)
	}
	return o.roomAs(ctx, name, as)
}

// Rooms implements mail.Office.
func (o *office) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	if o.far != nil {
		if err := o.far.Away(ctx); err != nil {
			return nil, err
		}
		return o.far.There.Rooms(ctx)
	}
	return o.Statuses(ctx)
}

// removeRoom takes a room out of the post office.
func (o *office) removeRoom(ctx context.Context, name mail.RoomName) (wire.RemovedRoom, error) {
	if o.far != nil {
		if err := o.far.Away(ctx); err != nil {
			return wire.RemovedRoom{}, err
		}
		return o.far.There.RemoveRoom(ctx, name)
	}
	return o.Remove(ctx, name)
}

// standAs has ctx end when an agent that is on the roster of a room is taken off it.
func (o *office) standAs(ctx context.Context, name mail.RoomName, caller mail.Name) error {
	if o.far != nil || !o.Exists(name) {
		return nil
	}
	e, err := o.Borrow(ctx, name)
	if err != nil {
		return err
	}
	defer o.GiveBack(e, name)
	_ = mailroom.Stand(ctx, e.Room.As(caller)) // who is off the roster may come back to it by what it asks
	return nil
}

// relayed has the relay offer what doors there are on this machine.
func (o *office) relayed(f *relay.Far) {
	o.far, o.Changed = f, f.Doors.Changed
	f.Doors.Offers, f.Doors.Doors = o.Offers, o.Here
	f.Doors.Moved = func(room mail.RoomName, from, to mail.Name) {
		o.Listeners.Move(room, from)
		o.Sessions.Move(room, from, to)
	}
}

// quiet reports whether nobody is to be woken, and the person not told.
func (o *office) quiet() bool {
	quiet := !o.Notify.Busy() && (o.far == nil || len(o.Offers()) == 0)
	o.Each(func(e *rooms.Entry) { quiet = quiet && e.Ringer.Quiet() })
	return quiet
}

// notEntered says that a room is not there for a machine, in the same words whether there is one or not.
func notEntered(pass *mail.Pass, name mail.RoomName) error {
	return mail.Errorf(mail.NotFound, "there is no room %q for the machine %s. Those that it was let into are listed "+
		"by: pennypost rooms", name, pass.Machine)
}

// agentOf returns whose token of a room this is. The token names its room, which is opened only if it exists: a
// made-up token makes nothing. That a room exists can be told from how long the refusal takes, and is no secret from
// this machine.
func (o *office) agentOf(ctx context.Context, token string) (mail.Caller, error) {
	name, sum, ok := mailroom.ParseToken(token)
	if ok && o.far != nil {
		return o.far.Agent(ctx, token)
	}
	if !ok || !o.Exists(name) {
		return mail.Caller{}, mailroom.UnknownToken()
	}
	e, err := o.Borrow(ctx, name)
	if err != nil {
		return mail.Caller{}, err
	}
	defer o.GiveBack(e, name)
	agent, err := e.Room.CheckToken(ctx, sum)
	return mail.Caller{Name: agent, Room: name}, err
}
