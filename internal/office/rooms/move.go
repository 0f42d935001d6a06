package rooms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// callsPatience is how long a move waits for calls that change the room.
const callsPatience = 5 * time.Second

// Move moves a room to the NATS servers, to a shard there, or to a file of this machine.
func (o *Set) Move(ctx context.Context, name mail.RoomName, ask wire.MoveRoom) (wire.MovedRoom, error) {
	done := wire.MovedRoom{Room: name, To: ask.To}
	shard, toShard := ask.Shard()
	if ask.To != config.KindFile && ask.To != config.KindJetStream && !toShard {
		return done, mail.Errorf(mail.Invalid, "a room can be moved to %q, \"shard:N\" or %q, not to %q",
			config.KindJetStream, config.KindFile, ask.To)
	}
	if !o.Exists(name) {
		return done, o.NoRoom(ctx, name)
	}
	k, err := o.KindOf(name)
	if err != nil {
		return done, err
	}
	if err := o.Cluster.Trouble(); err != nil {
		return done, err
	}
	o.moving.Lock()
	defer o.moving.Unlock()
	switch {
	case toShard && k.Kind != config.KindJetStream:
		return done, mail.Errorf(mail.Conflict, "room %s is in a file, not in a shard. To move it to the NATS "+
			"servers: pennypost rooms move %s --to jetstream", name, name)
	case ask.To == config.KindJetStream && k.Kind != config.KindJetStream:
		done.Seq, err = o.moveToServers(ctx, name)
		done.Moved = err == nil
	case ask.To == config.KindFile && k.Kind == config.KindJetStream:
		done.Seq, err = o.moveToFile(ctx, name)
		done.Moved = err == nil
	case ask.To == config.KindJetStream, toShard:
		done.Seq, done.Moved, err = o.moveToShard(ctx, name, shard)
	default:
		err = o.Cluster.Leave(ctx, string(name))
	}
	o.Cluster.changed.Give()
	if done.Moved {
		o.Log.Info("room moved", "room", name, "to", ask.To, "seq", done.Seq)
	}
	return done, err
}

// moveToServers copies a room while it is used, then closes it, copies the rest, and notes that it is there. Calls
// meanwhile wait, and then find it there.
func (o *Set) moveToServers(ctx context.Context, name mail.RoomName) (mail.Seq, error) {
	var brought mail.Seq
	err := o.With(ctx, name, func(e *Entry) (err error) {
		files, ok := e.files.(*jsonl.Journal)
		if !ok {
			return mail.Errorf(mail.Conflict, "room %s is already being moved", name)
		}
		brought, err = o.Cluster.Bring(ctx, string(name), files)
		return err
	})
	if err != nil {
		return 0, err
	}
	var last mail.Seq
	err = o.hold(ctx, name, func() error {
		files, err := jsonl.Open(o.Dir(name), jsonl.Options{Log: o.Log.With("room", name)})
		if err != nil {
			return err
		}
		defer files.Close()
		last = files.Last()
		if err := o.Cluster.Arrive(ctx, string(name), files, brought); err != nil {
			return err
		}
		if err := writeKind(o.Dir(name), kind{Kind: config.KindJetStream}); err != nil {
			return err
		}
		return o.Cluster.Settle(ctx, string(name), last)
	})
	return last, err
}

// moveToShard moves a room to a shard while it is used; shard 0 means any, for a room that has its own stream. If
// the room is in a file, it finishes a move to the servers that was interrupted at its end.
func (o *Set) moveToShard(ctx context.Context, name mail.RoomName, shard int) (last mail.Seq, moved bool, err error) {
	err = o.With(ctx, name, func(e *Entry) error {
		copied, ok := e.files.(*jetstream.Journal)
		if !ok {
			return o.Cluster.Settle(ctx, string(name), e.files.Last())
		}
		if moved, err = copied.MoveTo(ctx, shard); err == nil && !moved {
			err = o.Cluster.Settle(ctx, string(name), copied.Last())
		}
		last = copied.Last()
		return err
	})
	return last, moved, err
}

// moveToFile ends all appends to the stream, fetches the rest, and notes that the room is here.
func (o *Set) moveToFile(ctx context.Context, name mail.RoomName) (mail.Seq, error) {
	var last mail.Seq
	err := o.hold(ctx, name, func() (err error) {
		// First, because it refuses a room that a newer Pennypost must move.
		copied, err := o.Cluster.Open(ctx, string(name), o.Dir(name), jsonl.Options{Log: o.Log.With("room", name)})
		if err != nil {
			return err
		}
		err = o.Cluster.CloseOff(ctx, string(name))
		if err == nil && !copied.Moved(ctx) {
			err = mail.Errorf(mail.Unavailable, "the copy of room %s is not complete yet; run the same command "+
				"again", name)
		}
		last = copied.Last()
		if err := errors.Join(err, copied.Close()); err != nil {
			return err
		}
		return writeKind(o.Dir(name), kind{Kind: config.KindFile})
	})
	if err != nil {
		return 0, err
	}
	return last, o.Cluster.Leave(ctx, string(name))
}

// hold closes a room, if it is open, and calls f, which works on its files. Calls to the room wait meanwhile.
func (o *Set) hold(ctx context.Context, name mail.RoomName, f func() error) error {
	e, err := o.claim(ctx, name)
	if err != nil {
		return err
	}
	o.setRemoved(e, false)
	defer o.forget(e, name)
	o.mu.Lock()
	delete(o.known, name) // its figures are counted again
	o.mu.Unlock()
	if e.Room != nil {
		e.quiet(callsPatience)
		if _, err := o.shut(e, name); err != nil {
			return fmt.Errorf("close room %s to move it: %w", name, err)
		}
	}
	return f()
}

// quiet waits until no call that closing would interrupt changes the room, but at most for most.
func (e *Entry) quiet(most time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Changing.Lock()
		defer e.Changing.Unlock()
	}()
	select {
	case <-ended:
	case <-time.After(most):
	}
}

// RemoveMachine implements httpapi.Machines.
func (c *Cluster) RemoveMachine(ctx context.Context, name mail.Machine) error {
	if err := c.machines.Remove(ctx, name); err != nil {
		return err
	}
	if err := c.admissions.remove(name); err != nil {
		return err
	}
	return c.set.machineLeft(ctx, name)
}

// List implements httpapi.Machines.
func (c *Cluster) List() []mail.MachineStatus { return c.machines.List() }

// machineLeft tells every room on the servers that a machine will not come back.
func (o *Set) machineLeft(ctx context.Context, machine mail.Machine) error {
	for _, name := range o.Cluster.names() {
		err := o.elsewhere(ctx, name, func(r *mailroom.Room) error { return r.RemoveMachine(ctx, machine) })
		if err != nil && mail.CodeOf(err) != mail.NotFound { // not every machine need have followed it
			return fmt.Errorf("tell room %s that %s will not return: %w", name, machine, err)
		}
	}
	return nil
}

// removedElsewhere moves away this machine's files of a room that was removed, if there are any. A room that was made
// again meanwhile is only closed, if it was open.
func (o *Set) removedElsewhere(ctx context.Context, name mail.RoomName) {
	o.moving.Lock()
	defer o.moving.Unlock()
	if k, err := readKind(o.Dir(name)); err == nil && k.Kind == "" {
		return
	}
	e, err := o.claim(ctx, name)
	if err != nil {
		o.Log.Warn("room removed elsewhere not removed here", "room", name, "err", err)
		return
	}
	// Asked again, because until the claim the room could be made again.
	g, gone, err := o.Cluster.Gone(ctx, string(name))
	switch removed := err == nil && gone && g.To == ""; {
	case removed:
		if _, err := o.moveAway(e, name); err != nil {
			o.Log.Warn("room removed elsewhere not removed here", "room", name, "err", err)
		}
		o.forget(e, name)
	case e.Room == nil:
		o.setRemoved(e, false)
		o.forget(e, name)
	default:
		o.setRemoved(e, false)
		e.quiet(callsPatience)
		_ = o.closeRoom(e, name) // it logs errors, and forgets the entry
	}
}

// leftServers finds out what became of a room that has a copy on this machine but is no longer on the servers: it
// was moved to a file of another machine, or removed there, or its stream is lost. It may also be newer than the list.
func (o *Set) leftServers(name mail.RoomName, l jetstream.Listed) {
	ctx, cancel := context.WithTimeout(context.Background(), callsPatience)
	defer cancel()
	if !o.opened(ctx, name) {
		return
	}
	to := l.Moved
	if to == "" {
		g, gone, err := o.Cluster.Gone(ctx, string(name))
		switch {
		case err != nil:
			o.Log.Warn("fate of a room unknown", "room", name, "err", err)
			return
		case gone && g.To == "":
			o.removedElsewhere(ctx, name)
			return
		}
		to = g.To
	}
	if to == "" {
		why, err := o.Cluster.Damage(ctx, string(name), new(jetstream.Survey))
		if err != nil {
			o.Log.Warn("fate of a room unknown", "room", name, "err", err)
		} else if why != "" {
			o.Cluster.lost(name, why)
		}
		return
	}
	if to == o.Cluster.name {
		return
	}
	err := o.hold(ctx, name, func() error {
		return writeKind(o.Dir(name), kind{Kind: config.KindJetStream, Moved: to})
	})
	o.Log.Info("room moved to a file elsewhere", "room", name, "machine", to, "err", err)
}

// opened waits while a room is being opened, and reports whether that succeeded, or no one was opening it.
func (o *Set) opened(ctx context.Context, name mail.RoomName) bool {
	o.mu.Lock()
	e := o.rooms[name]
	o.mu.Unlock()
	if e == nil {
		return true
	}
	select {
	case <-e.ready:
		return e.err == nil
	case <-ctx.Done():
		return false
	}
}
