package dialog

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/mail"
)

// handTime is how long hooks may take to pass an answer to their client.
const handTime = 3 * time.Second

// Wait waits until the person answers a dialog here, as shown to them. It returns nil when the dialog is over, when
// ctx ends, and when too many hooks wait.
func (d *Desk) Wait(ctx context.Context, id mail.ID, shown string) (*mail.DialogAnswer, error) {
	e, w := d.join(id, shown)
	if e == nil {
		return nil, nil
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		e.waiters = slices.DeleteFunc(e.waiters, func(o waiter) bool { return o.answer == w.answer })
	}()
	select {
	case a, ok := <-w.answer:
		if !ok {
			return nil, nil
		}
		return &a, nil
	case <-e.gone:
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// join adds a waiter for an answer.
func (d *Desk) join(id mail.ID, shown string) (*entry, waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil {
		return nil, waiter{}
	}
	if w := e.seat; w != nil && w.shown == shown {
		e.seat = nil
		return e, *w
	}
	if len(e.waiters) >= maxWaiters {
		return nil, waiter{}
	}
	w := waiter{make(chan mail.DialogAnswer, 1), shown}
	e.waiters = append(e.waiters, w)
	return e, w
}

// Back ends the waits of hooks whose clients show no dialog meanwhile, for agents whose person is back.
func (d *Desk) Back() {
	for _, h := range d.All() {
		if h.Beside || d.Away(h.Room, h.Agent) {
			continue
		}
		d.mu.Lock()
		if e := d.open[h.ID]; e != nil && !e.Beside {
			for _, w := range e.waiters {
				close(w.answer)
			}
			e.waiters = nil
		}
		d.mu.Unlock()
	}
}

// Taken records that the client has the answer handed to its hook.
func (d *Desk) Taken(id mail.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.open[id]; e != nil && e.handed != nil {
		select {
		case <-e.handed:
		default:
			close(e.handed)
		}
	}
}

// Waits reports whether a hook waits for the answer to a dialog, and whether an answer is being handed to the client.
func (d *Desk) Waits(id mail.ID) (waits, handed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	return e != nil && len(e.waiters) > 0, e != nil && e.handed != nil
}

// Answer hands the person's answer to the waiting hooks, once, and returns when the client has it and closes says that
// its dialog has gone. A client may run several hooks for one dialog; a process that poses as one gets only the
// answer. With an error the client is not known to have the answer, and the dialog is still open, unless how says that
// it ended at the client meanwhile.
func (d *Desk) Answer(a *mail.DialogAnswer, closes func() bool) (how mail.DialogOutcome, err error) {
	d.mu.Lock()
	e := d.open[a.Dialog]
	handed, err := e.give(a)
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	err = mail.Errorf(mail.Conflict, "the client did not accept the answer: the dialog was answered there, or its "+
		"hook has ended. See its terminal")
	select {
	case <-handed:
		if closes() {
			return "", nil
		}
		err = mail.Errorf(mail.Conflict, "the client got the answer but still shows its dialog: answer in its "+
			"terminal")
	case <-time.After(handTime):
	case <-e.gone:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e.handed = nil
	return e.believed, err
}

// give hands an answer to the waiters. The channel that it returns is closed when the client has the answer.
func (e *entry) give(a *mail.DialogAnswer) (handed chan struct{}, err error) {
	switch {
	case e == nil:
		return nil, mail.Errorf(mail.NotFound, "no such dialog is open: it was answered, or its agent has left. "+
			"Nothing was done")
	case e.ending:
		return nil, mail.Errorf(mail.Conflict, "the dialog is closing. Nothing was done")
	case e.Shown() != a.Sum:
		return nil, mail.Errorf(mail.Conflict, "the dialog %s has changed since you saw it. Nothing was done. Look "+
			"at it again", e.ID)
	case len(e.Offers) == 0:
		return nil, mail.Errorf(mail.Invalid, "%s accepts no answer from here: answer in its terminal", e.Client)
	}
	if err := e.Fits(a); err != nil {
		return nil, err
	}
	switch {
	case e.handed != nil:
		return nil, mail.Errorf(mail.Conflict, "the dialog is already being answered. Nothing was done")
	case len(e.waiters) == 0:
		return nil, mail.Errorf(mail.Conflict, "the client no longer waits for the answer: answer in its terminal. "+
			"The post office was restarted, or the hook has ended")
	}
	return e.hand(a)
}

// hand hands an answer to the waiters whose question is the one that the person was shown.
func (e *entry) hand(a *mail.DialogAnswer) (handed chan struct{}, err error) {
	e.waiters = slices.DeleteFunc(e.waiters, func(w waiter) bool {
		if w.shown != a.Sum {
			return false
		}
		handed = make(chan struct{})
		w.answer <- *a
		return true
	})
	if handed == nil {
		return nil, mail.Errorf(mail.Conflict, "the client does not wait for this answer: answer in its terminal")
	}
	e.handed, e.believed = handed, "" // a reserved waiter gets its answer when its hook arrives
	return handed, nil
}
