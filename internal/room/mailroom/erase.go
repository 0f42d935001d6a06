package mailroom

import (
	"context"
	"errors"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// erasedWithin is how long the person waits for other machines to erase their copies of a message.
const erasedWithin = 3 * time.Second

// Erase implements mail.Keeper.
func (v *view) Erase(ctx context.Context, id mail.ID) error {
	if err := v.NeedUser("erase"); err != nil {
		return err
	}
	var asked *fold.Erasure
	v.read(func(s *fold.State, _ mail.Time) { asked = s.Erasing[id] })
	if asked == nil {
		if err := v.there(ctx, id); err != nil {
			return err
		}
		erased := mail.Event{At: v.now(), Erased: &mail.Erasure{Message: id, By: v.Who}}
		if _, err := v.commit(ctx, append(v.settlementsOf(id), erased)...); err != nil {
			return err
		}
	}
	if err := v.finishErasure(ctx, id); err != nil {
		return err
	}
	return v.erasedElsewhere(ctx, id)
}

// readWithin is how long an erasure waits until this machine has read the events of others.
const readWithin = 2 * time.Second

// there returns an error if there is no such message, or if this machine cannot know: it may not have read yet an
// event that another machine acknowledged.
func (v *view) there(ctx context.Context, id mail.ID) error {
	missing := func() error {
		if _, err := v.Message(ctx, id); err != nil && !v.waits(id) {
			return err
		}
		return nil
	}
	err := missing()
	others, shared := v.journal.(journal.AfterAppender)
	if !shared || mail.CodeOf(err) != mail.NotFound {
		return err
	}
	within, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	end, why := others.End(within)
	if why == nil {
		why = v.await(within, end)
	}
	if why != nil {
		return &mail.Error{Code: mail.Unavailable, Err: why, Msg: "nothing was erased: this machine has no such " +
			"message yet, because it is behind the journal. Try again when it has caught up: pennypost machines"}
	}
	return missing()
}

// erasedElsewhere waits for the other machines to erase their copies of a message, and says which have not.
func (v *view) erasedElsewhere(ctx context.Context, id mail.ID) error {
	waited := time.After(erasedWithin)
	for {
		v.mu.RLock()
		pending, applied := v.state.Pending(id), v.applied
		away := !slices.ContainsFunc(pending, func(m mail.Machine) bool { return !v.opts.Away(m) })
		v.mu.RUnlock()
		over := len(pending) == 0 || away
		if !over {
			select {
			case <-applied:
				continue
			case <-ctx.Done():
			case <-waited:
			}
		}
		if len(pending) == 0 {
			return nil
		}
		e := mail.Erasing{Message: id, Machines: pending}
		return mail.Errorf(mail.Unavailable, "the message is hidden everywhere and erased here, but "+
			"%s", e.Why())
	}
}

// finishErasure rewrites the files that hold a message whose erasure is journalled, and journals that it is done,
// here if other machines follow the room. A checkpoint then preserves the other effects of the message and its
// receipts (whose turn it is in a role, which door reached an agent); keys that are in one line with that of the
// message are journalled once more.
func (r *Room) finishErasure(ctx context.Context, id mail.ID) error {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	c, ok := r.journal.(journal.Compacter)
	if !ok {
		return mail.Errorf(mail.Unavailable, "the journal of room %s does not support erasing", r.name)
	}
	r.mu.RLock()
	asked, owed := r.state.Erasing[id], r.state.Owes(id, r.opts.Machine)
	said := asked != nil && r.opts.Machine != "" && r.state.Marked > asked.At
	r.mu.RUnlock()
	if !owed {
		return nil
	}
	err := r.respendBeside(ctx, id)
	if err == nil && !said {
		_, err = r.writeCheckpoint(ctx)
	}
	// A machine that may only read the room leaves that to the others, and erases its copy after them.
	if reads := mail.CodeOf(err) == mail.Denied && (said || asked == nil); err != nil && !reads {
		return err
	}
	if err := r.rewriteWithout(ctx, c, id); err != nil {
		why := "the files could not be rewritten"
		if said, ok := errors.AsType[*mail.Error](err); ok { // by servers, which have the text too
			why = said.Msg
		}
		return &mail.Error{Code: mail.Unavailable, Msg: "the message is hidden, but its text is still on the " +
			"disk: " + why +
			". The post office tries again each hour, and when it next opens the room; to try now, erase the " +
			"message again", Err: err}
	}
	r.mu.Lock()
	delete(r.state.Remains, id)
	r.mu.Unlock()
	if asked == nil {
		return nil
	}
	_, err = r.commit(ctx, mail.Event{At: r.now(), Erased: &mail.Erasure{Message: id, By: asked.By, Done: true,
		Machine: r.opts.Machine}})
	if mail.CodeOf(err) == mail.Denied {
		return nil
	}
	return err
}

// rewriteWithout removes a message, and the events about it alone, from the journal and from the index.
func (r *Room) rewriteWithout(ctx context.Context, c journal.Compacter, id mail.ID) error {
	_, err := c.Erase(ctx, id, func(e mail.Event) bool {
		return e.Message != nil && e.Message.ID == id || e.Receipt != nil && e.Receipt.Message == id ||
			fold.Holds(&e, id) || e.Schedule != nil && e.Schedule.ID == id || r.isLost(e.Seq)
	})
	if err != nil {
		return err
	}
	return r.index.Erase(id) // after the journal, or it would be indexed from there again
}

// isLost reports whether an event did not count, according to a checkpoint.
func (r *Room) isLost(seq mail.Seq) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return seq < r.state.Marked && r.state.IsVoid(seq)
}

// owed returns the messages that this machine still has to erase.
func (r *Room) owed() (ids []mail.ID) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for id := range r.state.Erasing {
		if r.state.Owes(id, r.opts.Machine) {
			ids = append(ids, id)
		}
	}
	for id := range r.state.Remains {
		if r.state.Erasing[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// finishErasures completes erasures that a crash, or the disk, interrupted, and those that others requested. A
// failure does not hold up anything else.
func (r *Room) finishErasures(ctx context.Context) error {
	var errs []error
	for _, id := range r.owed() {
		err := r.finishErasure(ctx, id)
		if err != nil {
			r.opts.Log.Error("erased message is still on the disk", "room", r.name, "message", id, "err",
				errors.Unwrap(err))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// respendBeside journals once more the keys that are in one event with that of an erased message.
func (r *Room) respendBeside(ctx context.Context, id mail.ID) error {
	r.mu.RLock()
	lines := slices.Clone(r.state.Spent.Lines)
	r.mu.RUnlock()
	events, err := r.journal.Read(ctx, lines...)
	if err != nil {
		return r.unavailable(err)
	}
	var in []mail.Seq
	for i := range events {
		switch e := &events[i]; {
		case !fold.Holds(e, id):
		case e.Checkpoint.After != 0:
			in = append(in, 0)
		default:
			in = append(in, e.Seq)
		}
	}
	r.mu.RLock()
	again := r.state.Respend(r.now(), in...)
	r.mu.RUnlock()
	_, err = r.commit(ctx, again...)
	return err
}
