package daemon

import (
	"context"
	"net/http"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/a2a"
)

// openA2A makes the door for guests who speak A2A. A relay has none, since the rooms are elsewhere.
func (d *daemon) openA2A() (err error) {
	if d.office.Far != nil {
		return nil
	}
	d.a2a, err = a2a.New(a2a.Options{
		Enter: d.guest, Stand: d.standAsGuest, File: d.opts.Config.Home.A2A(), Version: d.opts.Version,
		Config:  func(room mail.RoomName) config.A2A { return d.opts.Config.For(room).A2A },
		Closing: d.closing, Log: d.log,
	})
	return err
}

// guest returns the guest who sent r.
func (d *daemon) guest(r *http.Request) (a2a.Guest, error) {
	c, token, err := d.gate.Guest(r)
	if err == nil {
		err = d.office.StandAs(r.Context(), c.Room, c.Name)
	}
	return d.asGuest(c, token), err
}

// standAsGuest returns the guest whose token has a hash, and makes ctx end with the token.
func (d *daemon) standAsGuest(ctx context.Context, room mail.RoomName, token string) (a2a.Guest, error) {
	c, err := d.office.GuestOf(ctx, room, token)
	if err == nil {
		err = d.office.StandAs(ctx, room, c.Name)
	}
	return d.asGuest(c, token), err
}

func (d *daemon) asGuest(c mail.Caller, token string) a2a.Guest {
	return a2a.Guest{Name: c.Name, Room: c.Room, Token: token, Service: entrance{d}.callerRoom(c)}
}
