package mailroom

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// view is a room as one caller sees it.
type view struct {
	*Room
	check.Asker
}

var _ mail.Service = (*view)(nil)

// Within returns a service of a room for a caller that writes to no other rooms than those that it may enter.
func Within(s mail.Service, enters func(mail.RoomName) bool) mail.Service {
	v := s.(*view)
	by := *v.Caller
	by.Enters = enters
	return v.view(by)
}

// read runs f on the state.
func (v *view) read(f func(s *fold.State, now mail.Time)) {
	now := v.use()
	v.mu.RLock()
	defer v.mu.RUnlock()
	f(v.state, now)
}

// check calls f to check something against the state.
func (v *view) check(f func(*check.View)) {
	v.read(func(s *fold.State, now mail.Time) { f(v.on(s, now)) })
}

// decide checks a command against the state, and commits the resulting events, if any. last is the sequence number of
// the last event.
func (v *view) decide(ctx context.Context, command func(*check.View) ([]mail.Event, error),
) (events []mail.Event, last mail.Seq, err error) {
	v.check(func(v *check.View) { events, err = command(v) })
	if err != nil {
		return nil, 0, v.refused(ctx, err)
	}
	last, err = v.commit(ctx, events...)
	return events, last, err
}

// on returns the state, which is locked, as the caller of v sees it.
func (v *view) on(s *fold.State, now mail.Time) *check.View {
	return &check.View{Asker: v.Asker, Sight: v.sight(s), Now: now}
}

// touch journals a sign of life of an agent that looks. A failure to write it does not keep the agent from looking.
func (v *view) touch(ctx context.Context) {
	if _, _, err := v.decide(ctx, func(v *check.View) ([]mail.Event, error) {
		if v.Me() == nil {
			return nil, nil
		}
		return append(v.Pulse(), v.Deaths(v.Rivals()...)...), nil
	}); err != nil {
		v.opts.Log.Warn("sign of life not recorded", "room", v.name, "agent", v.Who, "err", err)
	}
}
