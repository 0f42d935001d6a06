package rooms

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/notify"
	"pennypost/internal/office/wake"
)

// lookAgain makes the ringer of a room examine all agents, because the doors of some have changed. It opens the
// room, because mail may wait there.
func (o *Set) lookAgain(name mail.RoomName) {
	if !o.Exists(name) {
		return
	}
	go o.With(context.Background(), name, func(e *Entry) error { // With logs errors
		e.Ringer.Look()
		return nil
	})
}

// newRinger returns the ringer of the room's doors.
func (o *Set) newRinger(e *Entry, doors *wake.Doors) *wake.Ringer {
	opts := wake.Options{Room: e.Room, Doors: doors, Log: o.Log, Observe: wake.Observer{
		Rang: func(ok bool) {
			o.Metrics.rings.Inc()
			if !ok {
				o.Metrics.failedRings.Inc()
			}
		},
		Outstanding: func(delta int) { o.Metrics.outstanding.Add(float64(delta)) },
	}, Typed: func(agent mail.Name) mail.Time { return o.Reach.Sessions.Typed(e.Room.Name(), agent) }}
	if e.clustered {
		opts.Machine, opts.Cut = e.machine, o.peers.Cut
	}
	return wake.New(opts)
}

// run looks after an open room until ctx ends.
func (e *Entry) run(ctx context.Context, o *Set, log *slog.Logger) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := e.Ringer.Run(ctx); err != nil {
			log.Error("waking agents failed", "err", err)
		}
	})
	running.Go(func() {
		if err := o.Notify.Follow(ctx, e.Room); err != nil && ctx.Err() == nil {
			log.Error("notifying the person failed", "err", err)
		}
	})
	running.Go(func() {
		r := o.Config.For(e.Room.Name())
		e.stand(ctx, r.Standing(), o.Config.Home.File(), log)
	})
	if e.clustered {
		running.Go(func() { e.followBridges(ctx, log) })
		running.Go(func() { e.announce(ctx, o.Notify) })
	}
	_ = e.Room.Run(ctx) // it logs errors and ends only with ctx
}

// announce tells the other machines for whom this one has doors, and that it can tell the person, until that
// succeeds or ctx ends.
func (e *Entry) announce(ctx context.Context, n *notify.Notifier) {
	doors := e.doors.For()
	if n.Able() {
		doors = append(doors, mail.ToUser)
	}
	for e.Room.Announce(ctx, doors) != nil {
		if !pause.For(ctx, announcePause) {
			return
		}
	}
}

// announcePause is the pause after a failed write to the servers.
const announcePause = 5 * time.Second

// wakes reports whether the configuration has doors for a room: an agent may have to be woken there.
func (o *Set) wakes(name mail.RoomName) bool { return o.Reach.Configured(name).Len() > 0 }
