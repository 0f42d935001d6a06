package mailroom

import (
	"context"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// view is a room as one caller sees it.
type view struct {
	*Room
	Asker
}

var _ mail.Service = (*view)(nil)

// Within returns a service of a room for a caller that writes to no other rooms than those that it may enter.
func Within(s mail.Service, enters func(mail.RoomName) bool) mail.Service {
	v := s.(*view)
	by := *v.Caller
	by.Enters = enters
	return v.asked(by)
}

// reaches reports whether the caller may write to another room.
func (v *Asker) reaches(room mail.RoomName) bool {
	return !v.Alone && !v.Foreign && (v.Enters == nil || v.Enters(room))
}

func (v *Caller) isUser() bool { return v.Who == mail.User }

// needUser refuses everybody but the person.
func (v *Caller) needUser(to string) error {
	if v.isUser() {
		return nil
	}
	return mail.Errorf(mail.Denied, "only the user may %s; you are %s", to, v.Who)
}

// read runs f on the state.
func (v *view) read(f func(s *fold.State, now mail.Time)) {
	now := v.use()
	v.mu.RLock()
	defer v.mu.RUnlock()
	f(v.state, now)
}

// check has f check something against the state.
func (v *view) check(f func(*View)) {
	v.read(func(s *fold.State, now mail.Time) { f(v.on(s, now)) })
}

// decide has a command checked against the state, and commits what that comes to: nothing, if there is nothing to do.
// last is the place of the last event.
func (v *view) decide(ctx context.Context, check func(*View) ([]mail.Event, error),
) (events []mail.Event, last mail.Seq, err error) {
	v.check(func(v *View) { events, err = check(v) })
	if err != nil {
		return nil, 0, v.refused(ctx, err)
	}
	last, err = v.commit(ctx, events...)
	return events, last, err
}

// on returns the state, which the caller holds, before whoever asks.
func (v *view) on(s *fold.State, now mail.Time) *View { return &View{v.Asker, v.sight(s), now} }

// me returns the caller as a member, nil for an agent that is not on the roster.
func (v *View) me() *fold.Member {
	switch {
	case v.isUser():
		return v.Members[mail.User]
	case v.Foreign:
		return nil
	}
	return v.Agent(v.Who)
}

// touch journals a sign of life of an agent that looks. That it could not be written is no reason not to let it look.
func (v *view) touch(ctx context.Context) {
	var due []mail.Event
	v.read(func(s *fold.State, now mail.Time) {
		if v.on(s, now).me() != nil {
			due = v.on(s, now).pulse()
		}
	})
	if _, err := v.commit(ctx, due...); err != nil {
		v.opts.Log.Warn("sign of life not recorded", "room", v.name, "agent", v.Who, "err", err)
	}
}

// mailbox returns the member whose mailbox is meant: the caller's, or that of a named agent, which anybody may read.
func (v *View) mailbox(n mail.Name) (*fold.Member, error) {
	if n == "" {
		n = v.Who
	}
	if n == mail.User {
		return v.Members[mail.User], nil
	}
	n = mail.Name(norm.NFC.String(string(n)))
	if m := v.Agent(n); m != nil {
		return m, nil
	}
	return nil, v.noAgent(n)
}

func (v *View) noAgent(n mail.Name) error {
	return mail.Errorf(mail.NotFound, "there is no agent %q in room %s%s", n, v.Room, v.Suggest(string(n)))
}
