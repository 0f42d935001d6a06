package daemon

import (
	"context"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/github"
	"pennypost/internal/office/rooms"
)

// newGitHub returns the face that turns GitHub's events into mail in the rooms that the configuration names.
func (d *daemon) newGitHub() *github.Face {
	opts := github.Options{
		Rooms: make(map[mail.RoomName]*config.GitHub), State: d.opts.Config.Home.GitHub(), Log: d.log,
		Dir: func(room mail.RoomName, agent mail.Name) string {
			return d.office.Set.Reach.Sessions.Look(room, agent).Dir
		},
		With: func(ctx context.Context, room mail.RoomName, use func(github.Room) error) error {
			if err := d.office.Set.CheckRemoved(room, mail.System, true); err != nil {
				return err
			}
			return d.office.Set.With(ctx, room, func(e *rooms.Entry) error { return use(e.Room) })
		},
	}
	for name, room := range d.opts.Config.Rooms {
		if room.GitHub != nil && d.opts.Remote == nil {
			opts.Rooms[name] = room.GitHub
		}
	}
	return github.New(opts)
}
