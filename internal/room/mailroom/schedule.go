package mailroom

import (
	"context"
	"fmt"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// schedule makes a draft wait until it is sent. It is checked now, and again then.
func (v *view) schedule(ctx context.Context, d mail.Draft) (sent mail.Sent, err error) {
	var known *mail.Scheduling
	v.check(func(v *check.View) { known = v.SameScheduled(d.Key) })
	if known != nil {
		return mail.Sent{ID: known.ID, Room: v.name, Due: known.At, Duplicate: true,
			Recipients: []mail.Delivery{}}, nil
	}
	p, err := v.plan(ctx, &d)
	if err == nil && p.Earlier == nil && len(p.Route.Remote) > 0 {
		err = v.resolveElsewhere(ctx, p, d)
	}
	if err != nil {
		return sent, err
	}
	if p.Earlier != nil {
		return *p.Earlier, nil
	}
	if v.Machine != "" {
		if err := v.arrive(ctx, p); err != nil {
			return sent, err
		}
	}
	sent = mail.Sent{ID: p.Message.ID, Room: v.name, Recipients: []mail.Delivery{}}
	_, sent.Seq, err = v.decide(ctx, func(v *check.View) (events []mail.Event, err error) {
		events, sent.Due, err = v.Schedule(p, d)
		return events, err
	})
	if err != nil {
		return mail.Sent{}, err
	}
	return sent, nil
}

// Scheduled implements mail.Scheduler.
func (v *view) Scheduled(context.Context) (list mail.ScheduledList, err error) {
	v.check(func(v *check.View) { list = v.ListScheduled() })
	return list, nil
}

// Reschedule implements mail.Scheduler.
func (v *view) Reschedule(ctx context.Context, r mail.Rescheduling) (now mail.Scheduled, err error) {
	_, _, err = v.decide(ctx, func(v *check.View) (events []mail.Event, err error) {
		events, now, err = v.Reschedule(r)
		return events, err
	})
	if err != nil {
		return mail.Scheduled{}, err
	}
	return now, nil
}

// Unschedule implements mail.Scheduler.
func (v *view) Unschedule(ctx context.Context, id mail.ID) error {
	_, _, err := v.decide(ctx, func(v *check.View) ([]mail.Event, error) { return v.Unschedule(id) })
	return err
}

// waits reports whether a message is scheduled.
func (v *view) waits(id mail.ID) (waits bool) {
	v.read(func(s *fold.State, _ mail.Time) { waits = s.Scheduled[id] != nil })
	return waits
}

// Waits reports whether any message is scheduled, for which the room must be open. It takes no lock.
func (r *Room) Waits() bool { return r.waits.Load() }

// lookAtClock is the longest time until a change of the clock is noticed, while any message is scheduled.
const lookAtClock = time.Minute

// sendScheduled sends, until ctx ends, the messages that are due, as the room's keeper. It sleeps while none are.
func (r *Room) sendScheduled(ctx context.Context) {
	known, waited := false, false
	r.later.Give()
	for wait := time.Duration(-1); ; {
		if wait < 0 {
			select {
			case <-ctx.Done():
				return
			case <-r.later:
			}
		} else if !r.later.Await(ctx, wait) {
			return
		}
		if waits := r.Waits(); waits != waited || !known {
			known, waited = true, waits
			r.opts.Waits(waits)
		}
		if wait = r.sendDue(ctx); ctx.Err() != nil {
			return
		}
	}
}

// sendDue sends the messages that are due, in order, and returns after how long to look again; a negative time if
// nothing waits.
func (r *Room) sendDue(ctx context.Context) time.Duration {
	system := r.view(check.Caller{Who: mail.System})
	for {
		var o *check.Occasion
		var wait time.Duration
		keeps := r.Keeps()
		now := r.now()
		system.read(func(s *fold.State, _ mail.Time) {
			var next mail.Time
			if o, next = system.on(s, now).DueNow(); next == 0 {
				wait = -1
			} else {
				wait = min(max(next.Sub(now), 0), lookAtClock)
			}
		})
		if o == nil || !keeps {
			if o != nil { // the keeper sends it, which this machine may be about to become
				return upkeepEvery
			}
			return wait
		}
		if !r.sendOne(ctx, o) {
			return lookAtClock
		}
	}
}

// sendOne sends a message that is due, and records it. The key keeps it from being sent twice if that record is lost,
// or if another machine takes itself for the keeper too. It reports false if it must be retried.
func (r *Room) sendOne(ctx context.Context, o *check.Occasion) bool {
	refused := o.Void
	if refused == "" {
		sent, err := r.view(o.Sender()).Send(ctx, o.Draft)
		switch code := mail.CodeOf(err); {
		case err == nil:
			if n := mail.CountStates(sent.Recipients)[mail.NotSent]; n > 0 {
				refused = fmt.Sprintf("%d of %d recipients did not get it", n, len(sent.Recipients))
			}
		case ctx.Err() != nil:
			return false
		case code == mail.Unavailable, code == mail.Timeout:
			r.opts.Log.Warn("due message not sent yet", "room", r.name, "id", o.ID, "err", err)
			return false
		case code == mail.Internal:
			r.opts.Log.Error("due message not sent", "room", r.name, "id", o.ID, "err", err)
			refused = "the post office had an error; see its log"
		case code != mail.Conflict || o.Once && o.Draft.Key == o.Scheduling.Draft.Key:
			refused = err.Error()
		} // otherwise another machine has sent it, with another number of times
	}
	_, _, err := r.view(check.Caller{Who: mail.System}).decide(ctx, func(v *check.View) ([]mail.Event, error) {
		if c := v.Scheduled[o.ID]; c == nil || c.At != o.At { // it was taken back, or moved
			return nil, nil
		}
		return v.After(o, refused), nil
	})
	if err != nil && ctx.Err() == nil {
		r.opts.Log.Warn("due message not recorded", "room", r.name, "id", o.ID, "err", err)
	}
	return err == nil
}
