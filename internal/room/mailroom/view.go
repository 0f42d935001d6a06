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
	caller  mail.Name
	foreign bool       // caller is the address of an agent of another room
	across  bool       // what the caller sends came from another room
	copies  mail.ID    // the id that this has there
	files   bool       // caller is the user, who repeats what foreign files say
	means   mail.Means // how the user is known, who is the caller
	right   bool       // caller, of another room, may settle there the question that it answers
	// enters reports whether another room is there for the caller. Nil: all are.
	enters func(mail.RoomName) bool
	parent mail.Name // in whose session the caller runs, if it is not on the roster: whose child it becomes
}

var _ mail.Service = (*view)(nil)

// Within returns a service of a room for a caller that writes to no other rooms than those that it may enter.
func Within(s mail.Service, enters func(mail.RoomName) bool) mail.Service {
	v := *s.(*view)
	v.enters = enters
	return &v
}

// reaches reports whether the caller may write to another room.
func (v *view) reaches(room mail.RoomName) bool {
	return v.opts.Elsewhere != nil && !v.foreign && (v.enters == nil || v.enters(room))
}

func (v *view) isUser() bool { return v.caller == mail.User }

// needUser refuses everybody but the person.
func (v *view) needUser(to string) error {
	if v.isUser() {
		return nil
	}
	return mail.Errorf(mail.Denied, "only the user may %s; you are %s", to, v.caller)
}

// read runs f on the state.
func (v *view) read(f func(s *fold.State, now mail.Time)) {
	now := v.use()
	v.mu.RLock()
	defer v.mu.RUnlock()
	f(v.state, now)
}

// me returns the caller as a member, nil for an agent that is not on the roster.
func (v *view) me(s *fold.State) *fold.Member {
	switch {
	case v.isUser():
		return s.Members[mail.User]
	case v.foreign:
		return nil
	}
	return s.Agent(v.caller)
}

// touch journals a sign of life of an agent that looks. That it could not be written is no reason not to let it look.
func (v *view) touch(ctx context.Context) {
	var due []mail.Event
	v.read(func(s *fold.State, now mail.Time) {
		if v.me(s) != nil {
			due = v.pulse(s, now)
		}
	})
	if _, err := v.commit(ctx, due...); err != nil {
		v.opts.Log.Warn("sign of life not recorded", "room", v.name, "agent", v.caller, "err", err)
	}
}

// mailbox returns the member whose mailbox is meant: the caller's, or that of a named agent, which anybody may read.
func (v *view) mailbox(s *fold.State, n mail.Name) (*fold.Member, error) {
	if n == "" {
		n = v.caller
	}
	if n == mail.User {
		return s.Members[mail.User], nil
	}
	n = mail.Name(norm.NFC.String(string(n)))
	if m := s.Agent(n); m != nil {
		return m, nil
	}
	return nil, v.noAgent(s, n)
}

func (r *Room) noAgent(s *fold.State, n mail.Name) error {
	return mail.Errorf(mail.NotFound, "there is no agent %q in room %s%s", n, r.name, s.Suggest(string(n)))
}
