package mailroom

import (
	"bytes"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// keyEvents returns the events that announce this machine's key, and admit the machines that the person has let in.
// Once all that follow the room have keys, a machine is no longer admitted by announcing one: the machine that makes
// a room announces its key and ends this at the same time.
func (r *Room) keyEvents() (events []mail.Event) {
	p, ok := r.journal.(journal.Prover)
	if !ok {
		return nil
	}
	room, me := p.Proven(), r.opts.Machine
	if !room.Known || room.Key == nil {
		return nil
	}
	mine, in := room.Keys[me]
	switch {
	case !in && !room.Admits:
		events = append(events, mail.Event{Machine: &mail.MachineChange{Name: me, Key: mail.KeyText(room.Key)}})
	case !bytes.Equal(mine.Key, room.Key):
		return nil
	}
	if r.opts.Admitted != nil {
		admitted := r.opts.Admitted()
		for _, name := range slices.Sorted(maps.Keys(admitted)) {
			if c := admits(name, room.Keys, admitted[name]); c != nil && name != me {
				events = append(events, mail.Event{Machine: c})
			}
		}
	}
	keyless := func(m mail.Machine) bool { return m != me && len(room.Keys[m].Key) == 0 }
	if !room.Admits && !r.opts.Anyone && !slices.ContainsFunc(r.state.Machines, keyless) {
		events = append(events, mail.Event{Machine: &mail.MachineChange{Name: me, Admits: true}})
	}
	return events
}

// admits returns the change that admits a machine, or puts it out, if the room does not know that yet. The last
// decision counts, wherever the person made it.
func admits(name mail.Machine, has map[mail.Machine]mail.MachineKey, k mail.MachineKey) *mail.MachineChange {
	now, known := has[name]
	switch {
	case len(k.Key) == 0 && len(now.Key) > 0:
		return &mail.MachineChange{Name: name, Left: true, By: mail.User}
	case len(k.Key) > 0 && !bytes.Equal(now.Key, k.Key) && (!known || now.At < k.At):
		return &mail.MachineChange{Name: name, Key: mail.KeyText(k.Key), By: mail.User}
	}
	return nil
}

// hasKey reports whether a machine has a key with which it may write to the room.
func (r *Room) hasKey(name mail.Machine) bool {
	p, ok := r.journal.(journal.Prover)
	return ok && len(p.Proven().Keys[name].Key) > 0
}
