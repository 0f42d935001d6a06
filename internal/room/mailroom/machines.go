package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// A room may be open in the post offices of several machines. Each checks what it is asked against the state that it
// has, and appends; what another wrote in between, apply finds, for all of them alike. So everything that a check
// keeps apart, apply keeps apart as well. It asks for no clock: whose session lives, and who looks after the room, is
// said by places of the journal.

// Machines returns the machines that follow the room, by name, and the one that looks after it, "" if none does. Where
// the room is in a file there are none.
func (r *Room) Machines() (all []mail.Machine, keeper mail.Machine) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.state.Machines), r.state.Upkeep
}

// Keeps reports whether this machine looks after the room: its retention, its lapsed sessions, and what the person is
// told of it. Where the room is in a file, it always does.
func (r *Room) Keeps() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.opts.Machine == "" || r.state.Upkeep == r.opts.Machine
}

// RemoveMachine says that a machine will not come back, as the person decides: it is waited for no more when something
// is erased, its sessions have ended, and another machine looks after the room. Should it come back, it follows the
// room again.
func (r *Room) RemoveMachine(ctx context.Context, name mail.Machine) error {
	events := []mail.Event{{Machine: &mail.MachineChange{Name: name, Left: true, By: mail.User}}}
	r.mu.RLock()
	_, known := slices.BinarySearch(r.state.Machines, name)
	for _, m := range r.state.Listed {
		if m.Machine == name && m.Session != "" {
			events = append(events, mail.Event{Agent: &mail.AgentChange{Name: m.Name, Session: m.Session,
				End: true, By: mail.User}})
		}
	}
	r.mu.RUnlock()
	switch {
	case !known:
		return mail.Errorf(mail.NotFound, "no machine called %q follows room %s; nothing was changed", name, r.name)
	case name == r.opts.Machine:
		return mail.Errorf(mail.Invalid, "%s is this machine, which has room %s open; nothing was changed", name,
			r.name)
	}
	_, err := r.commit(ctx, events...)
	return err
}

// checked notes in a change what it was checked against.
func (v *View) checked(c *mail.AgentChange, update bool) {
	if v.Machine == "" || v.Files || c.End {
		return
	}
	m := v.Agent(c.Name)
	switch {
	case update:
		c.Expects = mail.ExpectKnown
	case m == nil && c.By != "":
		c.Expects = mail.ExpectNew
	}
	if limit := v.Limits.Children; limit > 0 && !v.isUser() && (m == nil || c.Session != "") {
		c.Most = limit
	}
	if c.Session != "" || c.Expects != "" || m == nil {
		c.Machine = v.Machine
	}
}

// raceTries is how often a change is checked once more because another machine's came between.
const raceTries = 10

// lost returns which of some events, the last of which has a place, did not count.
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

// attempt decides a change of the roster, with what is on it, until it counts.
func (v *view) attempt(ctx context.Context, check func(*View) ([]mail.Event, error)) error {
	for range raceTries {
		events, last, err := v.decide(ctx, check)
		if err != nil {
			return err
		}
		lost := func(e *mail.Event) bool { return e.Agent != nil || e.Bridge != nil }
		if !slices.ContainsFunc(v.lost(last, events), lost) {
			return nil
		}
	}
	return mail.Errorf(mail.Unavailable, "others changed room %s each time at the same moment; nothing was changed. "+
		"Try again", v.name)
}

// here reports whether m's session, or its last, is on this machine.
func (r *Rules) here(m *fold.Member) bool {
	return r.Machine == "" || m.Machine == "" || m.Machine == r.Machine
}

// runs reports whether m's program runs. Of one on another machine that is as long as its session lives.
func (v *View) runs(m *fold.Member) bool {
	if !v.here(m) {
		return m.Live(v.Now)
	}
	return v.Alive(m.Process)
}
