package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
)

// A room may be open in the post offices of several machines. Each checks a command against the state that it has,
// and appends; apply detects events of others in between, for all machines alike. So apply enforces every exclusion
// that a check does. It needs no clock: sequence numbers decide whose session lives, and who looks after the room.

// Machines returns the machines that follow the room, by name, and the one that looks after it, "" if none does. A
// room in a file has none.
func (r *Room) Machines() (all []mail.Machine, keeper mail.Machine) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.state.Machines), r.state.Upkeep
}

// Keeps reports whether this machine looks after the room: its retention, its lapsed sessions, and the person's
// notices about it. If the room is in a file, it always does.
func (r *Room) Keeps() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.opts.Machine == "" || r.state.Upkeep == r.opts.Machine
}

// RemoveMachine records that a machine will not come back, as the person decides: erasures no longer wait for it, its
// sessions have ended, and another machine looks after the room. Its key no longer opens the room. If it does come
// back, it follows the room again, if it is admitted.
func (r *Room) RemoveMachine(ctx context.Context, name mail.Machine) error {
	_, _, err := r.view(check.Caller{Who: mail.User}).decide(ctx, func(v *check.View) ([]mail.Event, error) {
		return v.RemoveMachine(name)
	})
	if mail.CodeOf(err) == mail.NotFound && r.hasKey(name) { // it was admitted, and has not come
		_, err = r.commit(ctx, mail.Event{Machine: &mail.MachineChange{Name: name, Left: true, By: mail.User}})
	}
	return err
}

// raceTries is how often a change is checked again because another machine's came between.
const raceTries = 10

// lost returns those of some events, the last at a sequence number, that did not count.
func (r *Room) lost(last mail.Seq, events []mail.Event) (out []*mail.Event) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	first := last + 1 - mail.Seq(len(events))
	for i := range events {
		if r.state.IsVoid(first + mail.Seq(i)) {
			out = append(out, &events[i])
		}
	}
	return out
}

// attempt decides a change of the roster, a bridge or a claim until it counts, at most raceTries times.
func (v *view) attempt(ctx context.Context, command func(*check.View) ([]mail.Event, error)) error {
	for range raceTries {
		events, last, err := v.decide(ctx, command)
		if err != nil {
			return err
		}
		lost := func(e *mail.Event) bool { return e.Agent != nil || e.Bridge != nil || e.Claim != nil }
		if !slices.ContainsFunc(v.lost(last, events), lost) {
			return nil
		}
	}
	return mail.Errorf(mail.Unavailable, "room %s changed at the same time on each attempt; nothing was changed. "+
		"Try again", v.name)
}
