package mailroom

import (
	"context"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// If several machines look after a room, one of them wakes an agent: the one on which its session runs; if there is
// no session, or that machine is away, one whose configuration has a door for it. All know from the journal who has
// such doors, so all that find the same machines away choose the same one.

// Tells reports whether this machine is the one that tells the person of mail: of those that can and are not away,
// the one that keeps the room, or else the first by name. If none has said that it can, each does what it can.
func (r *Room) Tells() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.sight(r.state)
	there, able := mail.Machine(""), false
	for _, m := range slices.Sorted(maps.Keys(s.Doors)) {
		if !slices.Contains(s.Doors[m], mail.ToUser) {
			continue
		}
		able = true
		if !s.IsAway(m) && (there == "" || m == s.Upkeep) {
			there = m
		}
	}
	return r.opts.Machine == "" || !able || there == r.opts.Machine
}

// Announce tells other machines for whom this one has doors that need no session. It writes only changes, and does
// nothing for a room in a file.
func (r *Room) Announce(ctx context.Context, doors []mail.Address) error {
	if r.opts.Machine == "" {
		return nil
	}
	doors = append([]mail.Address{}, slices.Compact(slices.Sorted(slices.Values(doors)))...)
	r.mu.RLock()
	known := slices.Equal(r.state.Doors[r.opts.Machine], doors)
	r.mu.RUnlock()
	if known {
		return nil
	}
	_, err := r.commit(ctx, mail.Event{Machine: &mail.MachineChange{Name: r.opts.Machine, Doors: doors}})
	return err
}

// Meet returns when all events that other machines have written until now are known: events of this one get later
// sequence numbers.
func (r *Room) Meet(ctx context.Context) error {
	if r.opts.Machine == "" {
		return nil
	}
	_, err := r.commit(ctx, mail.Event{Machine: &mail.MachineChange{Name: r.opts.Machine}})
	return err
}
