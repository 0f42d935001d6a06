package notify

import (
	"context"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// A dialog of an agent's client is announced like a question. No button answers it: an allowed action runs
// immediately, and any reader of a topic could press. The person sees all of it first, on the pages or in a
// terminal.

// maxGist is how much of a dialog's question a note has, in characters.
const maxGist = 400

// letterOfDialog returns the letter about a dialog.
func letterOfDialog(c *mail.Card) Letter {
	title, _ := triage.Exposed(triage.DialogTitle(c))
	l := Letter{Room: c.Room, ID: c.ID, From: mail.AgentAddress(c.Agent), Subject: shortened(title, maxShown),
		Preview: shortened(triage.DialogGist(c), maxGist), Question: true, Sent: c.Since, Dialog: true}
	if len(c.Questions) > 0 {
		l.Subject, l.Preview = l.name()+" asks: "+l.Subject, ""
	}
	return l
}

// takeDialog processes the start or end of a dialog.
func (n *Notifier) takeDialog(room mail.RoomName, c *mail.DialogChange, at mail.Time) {
	if c.Outcome == "" && !c.Doubt {
		d := c.Dialog
		d.Since = at
		n.offerDialog(room, c.Agent, d)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		delete(l.pending, keyOf(room, c.ID))
	}
}

// offerDialog offers a dialog to the lines. Its question is known where its client runs; another machine tells the
// person only the kind of dialog.
func (n *Notifier) offerDialog(room mail.RoomName, agent mail.Name, d mail.Dialog) {
	c, held := mail.Card{}, false
	if n.opts.Card != nil {
		c, held = n.opts.Card(d.ID)
	}
	if !held {
		c.Ask = mail.Ask{Cut: true}
	}
	c.Room, c.Agent, c.Dialog = room, agent, d
	n.offerLetter(letterOfDialog(&c))
}

// offerDialogs offers the lines the dialogs that are already open.
func (n *Notifier) offerDialogs(ctx context.Context, room mail.RoomName, user mail.Service) error {
	list, err := asking(ctx, user)
	for _, a := range list {
		for _, d := range a.Dialogs {
			if !d.Doubt {
				n.offerDialog(room, a.Name, d)
			}
		}
	}
	return err
}

// asking returns the agents at a dialog.
func asking(ctx context.Context, user mail.Service) ([]mail.Agent, error) {
	list, err := user.Agents(ctx, mail.RosterQuery{States: []mail.State{mail.Asking}, Limit: mail.MaxLimit})
	return list.Agents, err
}

// dialogWaits reports whether a dialog still waits for the person and this machine must tell them. If the room
// fails, it is assumed to wait: telling once too often is better than not at all.
func (n *Notifier) dialogWaits(ctx context.Context, letter *Letter) bool {
	waits := true
	err := n.opts.Use(ctx, letter.Room, func(r Room) error {
		list, err := asking(ctx, r.As(mail.User))
		if err != nil {
			return err
		}
		waits = r.Tells() && slices.ContainsFunc(list, func(a mail.Agent) bool {
			return slices.ContainsFunc(a.Dialogs, func(d mail.Dialog) bool { return d.ID == letter.ID && !d.Doubt })
		})
		return nil
	})
	return waits && mail.CodeOf(err) != mail.NotFound
}

// dropDialogs returns letters without the dialogs that no longer wait.
func (n *Notifier) dropDialogs(ctx context.Context, l *line, letters []Letter) []Letter {
	return slices.DeleteFunc(letters, func(letter Letter) bool {
		if !letter.Dialog || n.dialogWaits(ctx, &letter) {
			return false
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(l.pending, letter.key())
		l.Told[letter.key()] = mail.TimeOf(time.Now())
		return true
	})
}

// dialogText returns the text below a dialog's title: its question and room.
func (l *Letter) dialogText() string {
	return strings.TrimSpace(l.Preview + "\nIn room " + string(l.Room) + ".")
}
