package remote

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
)

// Relay rings doors of this machine for a post office on another one, whose Machines it tells about them. The
// functions are set before Serve and may be called concurrently.
type Relay struct {
	// Offers returns the current offers.
	Offers func() []Offer
	// Doors returns the doors of an agent.
	Doors func(mail.RoomName, mail.Name) []wake.Waker
	// Moved is called when an agent has a new name.
	Moved func(room mail.RoomName, from, to mail.Name)

	once   sync.Once
	change pause.Nudge
}

const (
	// offerGather is how long a change waits for others: a listener that polls is away for milliseconds.
	offerGather = 30 * time.Millisecond
	// offerPause is how often we look for changes without a notification, such as the end of a session's program.
	offerPause = 2 * time.Second
)

func (r *Relay) changes() pause.Nudge {
	r.once.Do(func() { r.change = pause.NewNudge() })
	return r.change
}

// Changed makes the relay check its offers again.
func (r *Relay) Changed() { r.changes().Give() }

// Serve serves a link, and closes it, until it breaks or ctx ends. It then cancels running rings.
func (r *Relay) Serve(ctx context.Context, conn io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	l := &link{conn: conn}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { r.offer(ctx, l) })
	return l.hear(ctx, func(s *said) {
		switch {
		case s.Order != nil:
			running.Go(func() { _ = l.say(&said{Rung: r.ring(ctx, s.Order)}) }) // on failure, the other end knows
		case s.Moved != nil:
			r.Moved(s.Moved.Room, s.Moved.From, s.Moved.To)
		}
	})
}

// offer sends the offers, at first and whenever they have changed, until ctx ends.
func (r *Relay) offer(ctx context.Context, l *link) {
	tick := time.NewTicker(offerPause)
	defer tick.Stop()
	var told []Offer
	for first := true; ctx.Err() == nil; first = false {
		now := r.Offers()
		if first || !slices.EqualFunc(told, now, func(a, b Offer) bool { return a.equal(&b) }) {
			told = now
			if l.say(&said{Offers: &now}) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
			continue
		case <-r.changes():
		}
		pause.For(ctx, offerGather)
	}
}

// ring carries out an order.
func (r *Relay) ring(ctx context.Context, o *order) *rung {
	o.Ring.State, o.Ring.Live = o.State, o.State != mail.Gone
	doors := r.Doors(o.Ring.Room, o.Ring.Agent)
	i := slices.IndexFunc(doors, func(w wake.Waker) bool { return w.Door() == o.Door })
	if i < 0 {
		return &rung{ID: o.ID, Err: "the door no longer exists"}
	}
	err := doors[i].Ring(ctx, o.Ring)
	if err == nil {
		return &rung{ID: o.ID}
	}
	return &rung{ID: o.ID, Err: err.Error(), Off: errors.Is(err, wake.ErrOff)}
}
