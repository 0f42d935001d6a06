package caller

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/claims"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialog"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/outbox"
	"pennypost/internal/office/relay"
	"pennypost/internal/office/rooms"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// Rooms are the rooms for callers: each caller enters a room with the rights that the gate grants.
type Rooms struct {
	Set      *rooms.Set          // the rooms of this machine
	ToolUses toolUses            // who uses which tool, as hooks report
	Confirm  *gate.Confirmations // nil: no confirmation
	Asked    *dialog.Desk        // the questions of clients on this machine to their person
	Claimed  claims.Watch        // the claims on this machine
	Far      *relay.Far          // set in a relay, which has no rooms; nil: this is a post office
	Kept     *outbox.Box         // mail for rooms that are away; nil: this machine has all of its rooms
	Doubts   *outbox.Doubts      // failed sends that may have arrived; nil: they are not remembered
}

var _ mail.Office = (*Rooms)(nil)

// New returns the rooms of a configuration, for callers.
func New(cfg *config.Config, log *slog.Logger, m *rooms.Metrics, dialects []dialect.Dialect) *Rooms {
	o := &Rooms{Set: rooms.New(cfg, log, m, dialects), Asked: dialog.Open(cfg.Home.Dialogs(), log)}
	o.Claimed.Machine = cfg.MachineName()
	o.Claimed.Room = func(room mail.RoomName) claims.Room {
		return o.Own(context.Background(), room, mail.System)
	}
	o.Set.Card = func(id mail.ID) (mail.Card, bool) {
		h, held := o.Asked.Find(id)
		return mail.Card{Room: h.Room, Agent: h.Agent, Client: h.Client, Dialog: h.Dialog, Ask: h.Ask}, held
	}
	o.Set.Desk, o.Set.AllDialogs = o.Desk, o.ownCards
	o.Set.Reach.Turns.Ask, o.Set.Reach.Turns.Lives = o.askOverACP, o.lives
	return o
}

// Room implements mail.Office. The service still works after the room was closed because it was idle: each call opens
// it again. A room that does not exist is created by the first call that changes it.
func (o *Rooms) Room(ctx context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return nil, err
	}
	if pass := gate.PassOf(ctx); !pass.Enters(name) {
		return nil, notEntered(pass, name)
	}
	if o.Far != nil || o.Set.InUse(name) {
		return o.roomAs(ctx, name, as)
	}
	if _, err := os.Lstat(o.Set.Dir(name)); !errors.Is(err, fs.ErrNotExist) {
		if err := o.Set.Touch(ctx, name); err != nil {
			return nil, err
		}
	}
	return o.roomAs(ctx, name, as)
}

// Rooms implements mail.Office.
func (o *Rooms) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	if o.Far != nil {
		return o.Far.There.Rooms(ctx)
	}
	return o.Set.Statuses(ctx)
}

// RemoveRoom removes a room from the post office.
func (o *Rooms) RemoveRoom(ctx context.Context, name mail.RoomName) (wire.RemovedRoom, error) {
	if o.Far != nil {
		return o.Far.There.RemoveRoom(ctx, name)
	}
	removed, err := o.Set.Remove(ctx, name)
	if err == nil {
		o.Asked.Leave(name)
	}
	return removed, err
}

// StandAs ends ctx when an agent on the roster of a room is removed from it.
func (o *Rooms) StandAs(ctx context.Context, name mail.RoomName, caller mail.Name) error {
	if o.Far != nil || !o.Set.Exists(name) {
		return nil
	}
	return o.Set.With(ctx, name, func(e *rooms.Entry) error {
		_ = mailroom.Stand(ctx, e.Room.As(caller)) // an agent off the roster may return to it by this request
		return nil
	})
}

// Relayed makes the relay offer the doors of this machine.
func (o *Rooms) Relayed(f *relay.Far) {
	o.Far, o.Set.Reach.Changed = f, f.Doors.Changed
	f.Doors.Offers, f.Doors.Doors = o.Set.Reach.Offers, o.Set.Reach.Here
	f.Doors.Moved = func(room mail.RoomName, from, to mail.Name) {
		o.Set.Reach.Listeners.Move(room, from)
		o.Set.Reach.Sessions.Move(room, from, to)
	}
}

// Quiet reports whether no ring, notification or kept mail is outstanding.
func (o *Rooms) Quiet() bool {
	quiet := !o.Set.Notify.Busy() && (o.Kept == nil || !o.Kept.Waits()) &&
		(o.Far == nil || len(o.Set.Reach.Offers()) == 0)
	o.Set.Each(func(e *rooms.Entry) { quiet = quiet && e.Ringer.Quiet() })
	return quiet
}

// notEntered says that a room does not exist for a machine, in the same words whether it exists or not.
func notEntered(pass *mail.Pass, name mail.RoomName) error {
	return mail.Errorf(mail.NotFound, "no room %q for the machine %s. To list the rooms that it may use: pennypost "+
		"rooms", name, pass.Machine)
}

// GuestOf returns the guest whose token of a room has a hash, which only an admitted guest's has; ctx ends with the
// token.
func (o *Rooms) GuestOf(ctx context.Context, room mail.RoomName, sum string) (mail.Caller, error) {
	name, err := o.HolderOf(ctx, room, sum)
	return mail.Caller{Name: name, Room: room, Means: mail.ByGuest}, err
}

// HolderOf returns the agent whose token of a room has a hash; ctx ends with the token.
func (o *Rooms) HolderOf(ctx context.Context, room mail.RoomName, sum string) (name mail.Name, err error) {
	if !o.Set.Exists(room) {
		return "", mailroom.UnknownToken()
	}
	err = o.Set.With(ctx, room, func(e *rooms.Entry) (err error) {
		name, err = e.Room.CheckToken(ctx, sum)
		return err
	})
	return name, err
}

// AgentOf returns the agent whose token this is. The token names its room, which is opened only if it exists: a
// made-up token creates nothing. The time of the refusal reveals whether a room exists, which is no secret here.
func (o *Rooms) AgentOf(ctx context.Context, token string) (mail.Caller, error) {
	name, sum, ok := mailroom.ParseToken(token)
	if ok && o.Far != nil {
		return o.Far.Agent(ctx, token)
	}
	if !ok || !o.Set.Exists(name) {
		return mail.Caller{}, mailroom.UnknownToken()
	}
	e, err := o.Set.Borrow(ctx, name)
	if err != nil {
		return mail.Caller{}, err
	}
	defer o.Set.GiveBack(e, name)
	agent, err := e.Room.CheckToken(ctx, sum)
	return mail.Caller{Name: agent, Room: name}, err
}
