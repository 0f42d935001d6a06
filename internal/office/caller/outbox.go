package caller

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/outbox"
	"pennypost/internal/office/rooms"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire/client"
)

// outboxPatience is how long a message waits for its sender's kept messages to be sent, while the way is there.
const outboxPatience = 2 * time.Second

// keepingAfter is the age from which a letter is looked up before it is sent: the room may have forgotten its key, if
// the first attempt stored the letter unnoticed.
const keepingAfter = 20 * time.Hour

// send sends a message, or keeps it on this machine if the way to its room is away. A failed send that may have
// arrived is remembered, so that resending it without a key does not create a second message.
func (v *Room) send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	doubts := v.office.Doubts
	own := d.Key != "" && !strings.HasPrefix(d.Key, mail.MadeKey)
	if doubts == nil || own || v.ID.Own() || !mail.MayKeep(ctx) {
		return v.sendOrKeep(ctx, d)
	}
	var which outbox.Send
	if doubts.Any() {
		if which = v.which(ctx, d); which != (outbox.Send{}) {
			d.Key = cmp.Or(doubts.Key(which), d.Key)
		}
	}
	if d.Key == "" {
		d.Key = mail.MadeKey + rand.Text()
	}
	sent, err := v.sendOrKeep(ctx, d)
	switch mail.CodeOf(err) {
	case "":
		doubts.Settle(which)
	case mail.Unavailable, mail.Timeout, mail.Internal:
		if which == (outbox.Send{}) {
			which = v.which(context.WithoutCancel(ctx), d)
		}
		doubts.Add(which, d.Key)
	}
	return sent, err
}

// which identifies the send of a draft by the caller. It is zero if the caller is not known.
func (v *Room) which(ctx context.Context, d mail.Draft) outbox.Send {
	by, _, err := v.sender(ctx)
	if err != nil {
		return outbox.Send{}
	}
	session, _ := v.ID.Session()
	return outbox.SendOf(v.name, by.Name, session, d)
}

// sendOrKeep sends a message, or keeps it on this machine if the way to its room is away.
func (v *Room) sendOrKeep(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	box := v.office.Kept
	if box == nil || !mail.MayKeep(ctx) || v.ID.Own() || !v.ID.Keeps() {
		return v.Stub.Send(ctx, d)
	}
	if d.Key == "" {
		d.Key = mail.MadeKey + rand.Text()
	}
	if box.Waits() {
		by, _, err := v.sender(ctx)
		if err == nil && box.Holds(v.name, by.Name) && v.mayKeep(ctx, &d) == nil {
			return v.keepNext(&d, by)
		}
	}
	sent, err := v.Stub.Send(ctx, d)
	if strings.HasPrefix(d.Key, mail.MadeKey) {
		sent.Duplicate = false // it only repeats our own first attempt
	}
	if err == nil || ctx.Err() != nil || !v.isAway(err) {
		return sent, err
	}
	w, err := v.keep(ctx, &d, err)
	if err != nil {
		return mail.Sent{}, err
	}
	return w.Kept().AsKept(), nil
}

// keepNext keeps a message after its sender's waiting ones. If the way is back, they are all sent now.
func (v *Room) keepNext(d *mail.Draft, by outbox.Sender) (mail.Sent, error) {
	w, err := v.office.Kept.Keep(outbox.Letter{Room: v.name, Key: d.Key, Sender: by, Draft: *d,
		Since: mail.TimeOf(time.Now()), Why: "earlier mail is sent first"})
	if err != nil {
		return mail.Sent{}, unkept(mail.Errorf(mail.Unavailable,
			"not sent, because earlier mail of this sender is still waiting on this machine"), err)
	}
	if v.office.wayAway() == nil {
		if sent, over, err := w.Await(outboxPatience); over {
			return sent, err
		}
	}
	return w.Kept().AsKept(), nil
}

// keep keeps a message because the way is away, for the reason why. An error also says why it is not kept.
func (v *Room) keep(ctx context.Context, d *mail.Draft, why error) (*outbox.Waiting, error) {
	by, known, err := v.sender(ctx)
	if err == nil && !known {
		err = mail.Errorf(mail.Unavailable, "%s is new to room %s, and must register there first", by.Name, v.name)
	}
	if err == nil {
		err = v.mayKeep(ctx, d)
	}
	var w *outbox.Waiting
	if err == nil {
		w, err = v.office.Kept.Keep(outbox.Letter{Room: v.name, Key: d.Key, Sender: by, Draft: *d,
			Since: mail.TimeOf(time.Now()), Why: why.Error()})
	}
	if err != nil {
		return nil, unkept(why, err)
	}
	return w, nil
}

// unkept is the error of a message that is not sent, because of why, and not kept, because of err.
func unkept(why, err error) error {
	code := mail.CodeOf(err)
	if code == mail.Internal {
		code = mail.Unavailable
	}
	return &mail.Error{Code: code, Err: errors.Join(why, err),
		Msg: strings.TrimSuffix(why.Error(), ".") + ". It was not kept on this machine either: " + err.Error()}
}

// mayKeep rejects messages that depend on the room's total order: the outbox cannot decide that.
func (v *Room) mayKeep(ctx context.Context, d *mail.Draft) error {
	t := mail.Type(d.Type)
	switch {
	case d.IsLater():
		return mail.Errorf(mail.Unavailable, "only the room can schedule mail")
	case t.Rule().Stops:
		return mail.Errorf(mail.Unavailable, "a %s is only useful now", t)
	case slices.ContainsFunc(d.To, func(a string) bool { return strings.Contains(a, "@") }):
		return mail.Errorf(mail.Unavailable, "it is also for another room")
	case d.ReplyTo != "" && t.MayAnswer():
		if v.office.Far == nil {
			if it, err := v.Message(ctx, d.ReplyTo); err == nil && !it.Type.Asks() {
				return d.CheckAccepted(mail.MaxAccepted)
			}
		}
		return mail.Errorf(mail.Unavailable, "it may answer a question, and only the first answer counts. Send it "+
			"again when the room is reachable; or send it with another type, such as status, to have it kept")
	}
	return d.Check(mail.MaxAccepted)
}

// isAway reports whether the error of a send says that the way to the room is away, so that nothing was done or the
// outcome is not known.
func (v *Room) isAway(err error) bool {
	if code := mail.CodeOf(err); code != mail.Unavailable && code != mail.Timeout {
		return false
	}
	return v.office.Far != nil || errors.Is(err, journal.ErrUnknown) || errors.Is(err, journal.ErrAway) ||
		v.office.wayAway() != nil
}

// wayAway says why no room can be reached now, from known facts.
func (o *Rooms) wayAway() error {
	if o.Far != nil {
		return o.Far.Trouble()
	}
	if o.Set.Cluster == nil {
		return nil // the outbox came from a backup
	}
	return o.Set.Cluster.Trouble()
}

// sender returns the sender under whom a message of the caller is kept. known is false if the room must learn about
// the caller first.
func (v *Room) sender(ctx context.Context) (by outbox.Sender, known bool, err error) {
	if v.office.Far != nil {
		name, from, err := v.whence(ctx)
		return outbox.Sender{Name: name, Session: from.Session, Guessed: from.Guessed, Programs: from.Programs,
			Threads: from.Threads, Inside: from.Inside}, true, err
	}
	e, s, err := v.enter(ctx, false)
	if err != nil {
		return by, false, err
	}
	defer v.leave(e)
	by.Name, by.Means, known = mailroom.Signed(s)
	return by, known, nil
}

// SendKept sends kept mail until ctx ends.
func (o *Rooms) SendKept(ctx context.Context) {
	o.Kept.Run(ctx, outbox.Way{Away: o.wayAway, Send: o.sendKept, Return: o.returnKept})
}

// sendKept sends a letter of the outbox as its sender.
func (o *Rooms) sendKept(ctx context.Context, l *outbox.Letter) (sent mail.Sent, err error) {
	err = o.asSender(ctx, l, func(s mail.Service) (err error) {
		d, err := l.ToSend(time.Now())
		if err == nil && time.Since(l.Since.Std()) > keepingAfter {
			if sent, err = found(ctx, s, l); sent.ID != "" {
				return nil
			}
		}
		if err == nil {
			sent, err = s.Send(ctx, d)
		}
		return err
	})
	return sent, err
}

// asSender calls use with the room of a letter as seen by its sender, with no more rights than when it was kept.
func (o *Rooms) asSender(ctx context.Context, l *outbox.Letter, use func(mail.Service) error) error {
	by := &l.Sender
	if o.Far != nil {
		return use(o.Far.There.RoomFrom(l.Room, by.Name, client.Whence{Session: by.Session, Guessed: by.Guessed,
			Programs: by.Programs, Threads: by.Threads, Inside: by.Inside}))
	}
	if !o.Set.Exists(l.Room) {
		return o.Set.NoRoom(ctx, l.Room)
	}
	return o.Set.With(ctx, l.Room, func(e *rooms.Entry) error {
		e.Changing.RLock()
		defer e.Changing.RUnlock()
		if o.Set.IsGoing(e) {
			return mail.Errorf(mail.Unavailable, "the room is closing")
		}
		s, err := e.Room.Left(by.Name, by.Means)
		if err != nil {
			return err
		}
		return use(s)
	})
}

// found looks for a letter among the messages that its sender has sent since.
func found(ctx context.Context, s mail.Service, l *outbox.Letter) (mail.Sent, error) {
	q := mail.HistoryQuery{From: string(mail.AgentAddress(l.Sender.Name)), Since: l.Since.Add(-2 * time.Minute),
		Limit: mail.MaxLimit}
	if l.Sender.Name == mail.User {
		q.From = string(mail.User)
	}
	for {
		page, err := s.History(ctx, q)
		if err != nil {
			return mail.Sent{}, err
		}
		for i := range page.Messages {
			if it := &page.Messages[i]; it.Body == l.Draft.Body && it.Subject == l.Draft.Subject &&
				cmp.Or(mail.Type(l.Draft.Type), it.Type) == it.Type {
				return mail.Sent{ID: it.ID, Seq: it.Seq, Room: l.Room, Duplicate: true}, nil
			}
		}
		if !page.More {
			return mail.Sent{}, nil
		}
		q.Before = page.Next
	}
}

// returnKept tells the sender of a refused letter in its room, if the room accepts that.
func (o *Rooms) returnKept(ctx context.Context, l *outbox.Letter, why error) {
	d := mail.Draft{To: mail.Recipients{string(mail.AgentAddress(l.Sender.Name))}, Type: string(mail.Status),
		Key: mail.MadeKey + "returned-" + l.Key, Subject: "Not sent: " + cmp.Or(l.Draft.Subject, "kept mail"),
		Body: "Pennypost kept this message on its sender's machine since " + l.Since.String() + ", for " +
			strings.Join(l.Draft.To, ", ") + ", and room " + string(l.Room) + " refused it: " + why.Error() +
			"\n\nTo remove it from the outbox of that machine: pennypost outbox --withdraw " + l.Key + "\n\n" +
			l.Draft.Body}
	if l.Sender.Name == mail.User {
		d.To = mail.Recipients{string(mail.User)}
	}
	err := o.asSender(ctx, l, func(s mail.Service) error {
		_, err := s.Send(ctx, d)
		return err
	})
	if err != nil {
		o.Set.Log.Info("sender of refused mail not told in the room", "room", l.Room, "err", err)
	}
}
