package dialog

import (
	"cmp"
	"context"
	"strings"
	"unicode"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// Open adds a dialog and tells its room. If the room refuses it, the agent is in another session.
func (d *Desk) Open(ctx context.Context, svc hook.Service, h hook.Held) (mail.ID, error) {
	id, again, err := d.Add(h)
	if err != nil || again {
		return id, err
	}
	h.ID = id
	if err := svc.Dialog(context.WithoutCancel(ctx), change(&h)); err != nil {
		d.Remove(id)
		return "", err
	}
	return id, nil
}

// Settle tells the room how a dialog ended at its client, and forgets the dialog. If the client has already been
// handed the person's answer, Answer's caller does that.
func (d *Desk) Settle(ctx context.Context, svc hook.Service, h *hook.Held, how mail.DialogOutcome) error {
	if d.leave(h.ID, how) {
		return nil
	}
	return d.end(ctx, svc, h, how, "", mail.AtClient)
}

// leave leaves the outcome of a dialog to the caller of Answer, and reports whether there is one.
func (d *Desk) leave(id mail.ID, how mail.DialogOutcome) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil || e.handed == nil {
		return false
	}
	e.believed = how
	return true
}

// Answered tells the room how the person ended a dialog from here, and forgets the dialog.
func (d *Desk) Answered(ctx context.Context, svc hook.Service, h *hook.Held, a *mail.DialogAnswer,
	by mail.Means) error {
	how := map[mail.Verdict]mail.DialogOutcome{mail.SayAllow: mail.DialogAllowed, mail.SayDeny: mail.DialogDenied,
		mail.SayAnswer: mail.DialogAnswered}[a.Verdict]
	return d.end(ctx, svc, h, how, mail.User, string(by))
}

func (d *Desk) end(ctx context.Context, svc hook.Service, h *hook.Held, how mail.DialogOutcome, by mail.Name,
	where string) error {
	if !d.claim(h.ID) {
		return nil
	}
	c := change(h)
	c.Outcome, c.By, c.Where = how, by, where
	err := svc.Dialog(context.WithoutCancel(ctx), c)
	if code := mail.CodeOf(err); code == mail.NotFound || code == mail.Conflict {
		err = nil // the room no longer has it
	}
	d.ended(h.ID, err)
	return err
}

// claim reports whether the caller is the one that ends a dialog.
func (d *Desk) claim(id mail.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil || e.ending {
		return false
	}
	e.ending = true
	return true
}

// ended forgets a dialog, unless the room could not be told.
func (d *Desk) ended(id mail.ID, err error) {
	if err == nil {
		d.Remove(id)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.open[id]; e != nil {
		e.ending, e.handed = false, nil
	}
}

func change(h *hook.Held) mail.DialogChange {
	c := mail.DialogChange{Dialog: h.Dialog, Agent: h.Agent, Session: h.Session, Process: h.Process}
	c.Sum, c.Tool, c.Worker = cmp.Or(h.Known, h.Sum), plain(h.Tool), plain(h.Worker)
	return c
}

// plain makes one line of a name that a client uses, no longer than mail.MaxName.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return mail.Begins(s, mail.MaxName)
}

// Find returns the dialog with an id.
func (d *Desk) Find(id mail.ID) (hook.Held, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[id]
	if e == nil {
		return hook.Held{}, false
	}
	return e.Held, true
}
