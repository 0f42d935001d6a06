package web

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/mail"
)

// eraseTimeout bounds a deletion, which rewrites every file that holds the message.
const eraseTimeout = time.Minute

// done is the toast that tells what became of a message, and how to take that back.
type done struct {
	*view
	Text string
	Undo string // where to post that it is to be as before; "": it cannot be taken back
	ID   mail.ID
	Mark mail.Mark // for Undo
	Done string    // what our script is to make of it: "gone", "back", "read" or "unread"
	MS   int       // how long the toast stays
}

// mark carries out what a person does with a message: read, unread, archived, unarchived, snoozed.
func mark(v *view) error {
	id, err := v.named()
	if err != nil {
		return err
	}
	m := mail.Mark(v.r.PostForm.Get("mark"))
	before, err := v.svc.Message(v.ctx(), id)
	if err != nil {
		return err
	}
	q := mail.Marking{IDs: []mail.ID{id}, Mark: m}
	if m == mail.MarkSnoozed {
		if q.Until, err = snoozeUntil(v.r.PostForm, v.Now); err != nil {
			return err
		}
	}
	marked, err := v.svc.Mark(v.ctx(), q)
	if err != nil {
		return err
	}
	d := done{view: v, ID: id, MS: 2000}
	switch m {
	case mail.MarkArchived:
		d.Text, d.Done, d.Undo, d.Mark, d.MS = "Archived", "gone", "/mark", mail.MarkUnarchived, 6000
	case mail.MarkSnoozed:
		d.Text, d.Done, d.Undo, d.Mark, d.MS = "Back "+moment(v.Now, q.Until), "gone", "/mark", mail.MarkUnread, 6000
		if before.Read {
			d.Mark = mail.MarkRead
		}
	case mail.MarkUnarchived:
		d.Text, d.Done = "Back in the inbox", "back"
	default:
		d.Text, d.Done = "Marked "+string(m), string(m)
		if before.Snoozed != 0 || before.State == mail.Archived {
			d.Done = "back"
		}
	}
	if len(marked.Open) > 0 {
		d.MS = 6000
		d.Text += ". It stays open until you answer: pennypost decline " + string(id) + " refuses to"
	}
	return v.answerDone(d)
}

// remove deletes a message for good once it can no longer be taken back.
func (s *Site) remove(v *view) error {
	id, err := v.named()
	if err != nil {
		return err
	}
	if _, err := v.svc.Message(v.ctx(), id); err != nil {
		return err
	}
	svc, room := v.svc, v.Room
	s.undo.later(target{room, id}, func() {
		ctx, cancel := context.WithTimeout(context.Background(), eraseTimeout)
		defer cancel()
		if err := svc.Erase(ctx, id); err != nil && mail.CodeOf(err) != mail.NotFound {
			s.opts.Log.Error("a message could not be deleted; it is back in its list", "room", room, "id", id, "err",
				err)
		}
	})
	return v.answerDone(done{view: v, ID: id, Text: "Deleted", Done: "gone", Undo: "/restore",
		MS: int(undoTime.Milliseconds())})
}

// restore takes a deletion back.
func (s *Site) restore(v *view) error {
	id, err := v.named()
	if err != nil {
		return err
	}
	if !s.undo.takeBack(target{v.Room, id}) {
		return mail.Errorf(mail.NotFound, "it is too late to take that back: the message has been deleted for good")
	}
	return v.answerDone(done{view: v, ID: id, Text: "It is back", Done: "back", MS: 2000})
}

// named reads the form, and the message that it is about.
func (v *view) named() (mail.ID, error) {
	if err := v.form(); err != nil {
		return "", err
	}
	return mail.ParseID(v.r.PostForm.Get("id"))
}

// answerDone answers a change: our script with a toast that bears the message's id, and an event; a browser with the
// page that comes next.
func (v *view) answerDone(d done) error {
	if !v.scripted() {
		return v.redirect(v.next())
	}
	v.toast("pp-done")
	return v.part("inbox", "toast-done", d)
}

// snooze is a choice of when to see a message again.
type snooze struct {
	Name, Label string
	At          mail.Time
}

// When is the choice as a time.
func (s snooze) When(now time.Time) string { return moment(now, s.At) }

// Snoozes lists until when a message can be put off with one press, as of now.
func (v *view) Snoozes() []snooze {
	day := func(n, hour int) time.Time {
		return time.Date(v.Now.Year(), v.Now.Month(), v.Now.Day()+n, hour, 0, 0, 0, v.Now.Location())
	}
	out := []snooze{
		{"later", "Later today", mail.TimeOf(v.Now.Add(3 * time.Hour).Round(30 * time.Minute))},
		{"tomorrow", "Tomorrow morning", mail.TimeOf(day(1, 9))},
		{"week", "Next week", mail.TimeOf(day(8-(int(v.Now.Weekday())+6)%7-1, 9))},
	}
	return slices.DeleteFunc(out, func(s snooze) bool { return s.Name == "later" && !s.At.Std().Before(day(1, 0)) })
}

// snoozeUntil reads when the person wants to see a message again: one of Snoozes, or a time as browsers write it,
// which is that of the place where the post office is.
func snoozeUntil(form interface{ Get(string) string }, now time.Time) (mail.Time, error) {
	name := form.Get("until")
	for _, s := range (&view{Now: now}).Snoozes() {
		if s.Name == name {
			return s.At, nil
		}
	}
	at := form.Get("at")
	t, ok := localTime(at, now)
	if !ok {
		return 0, mail.Errorf(mail.Invalid, "%q is not a time to come back at; choose one, or write it like "+
			"2026-05-10T09:00. The message is where it was", at)
	}
	return t, nil
}
