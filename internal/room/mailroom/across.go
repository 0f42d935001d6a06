package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// A question that an agent asks in another room is in both, under one id: where it was asked, so that the asker sees
// that it is open, and where it went. The room that settles it tells the others. A room that could not be told asks
// by itself, when it is opened and once an hour.

// keepAsked keeps a question that went only to other rooms, in which it has the id.
func (v *view) keepAsked(ctx context.Context, p *check.Plan, id mail.ID) error {
	known := false
	v.read(func(s *fold.State, _ mail.Time) { known = s.Records[id] != nil })
	if known {
		return nil
	}
	p.Message.ID = id
	_, err := v.post(ctx, p)
	if err == nil {
		v.ask(context.WithoutCancel(ctx), id) // the recipient may have been faster
	}
	return err
}

// settleAcross records that a message of this room, or one with the given id that went only to other rooms, settled a
// question, and tells the other rooms that have the question. Failures do not affect the message, which is sent.
func (v *view) settleAcross(ctx context.Context, m *mail.Message, id mail.ID) {
	if m.ReplyTo == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appliedWithin)
	defer cancel()
	var events []mail.Event
	mine := false
	v.read(func(s *fold.State, now mail.Time) {
		q := s.Records[m.ReplyTo]
		if q == nil || s.Records[id] != nil {
			mine = q != nil && q.Settled != nil && q.Settled.Answer == id
			return
		}
		if as, ok := policy.Settles(q.Msg.Type, q.Msg.ID, m); ok && q.Open() {
			mine = true
			events = append(events, mail.Event{At: now,
				Settled: &mail.Settlement{Message: q.Msg.ID, By: m.From, As: as, Answer: id}})
		}
	})
	if _, err := v.commit(ctx, events...); err != nil {
		v.opts.Log.Warn("question not recorded as settled", "room", v.name, "question", m.ReplyTo, "err", err)
	}
	if mine {
		v.tell(ctx, m.ReplyTo, "")
	}
}

// tell tells the other rooms that have a question how it was settled, except the one that knows.
func (r *Room) tell(ctx context.Context, id mail.ID, knows mail.RoomName) {
	r.mu.RLock()
	q := r.state.Records[id]
	if q == nil || q.Settled == nil {
		r.mu.RUnlock()
		return
	}
	st, rooms := *q.Settled, q.OtherRooms()
	r.mu.RUnlock()
	for _, room := range rooms {
		if room == knows || r.opts.Elsewhere == nil {
			continue
		}
		err := r.opts.Elsewhere(ctx, room, func(o *Room) error { return o.learn(ctx, r.name, st) })
		if err != nil {
			r.opts.Log.Warn("room not told that a question is settled", "room", r.name, "other", room, "question", id,
				"err", err)
		}
	}
}

// learn settles a question as another room did, if it is open here and that room has it, and tells the others.
func (r *Room) learn(ctx context.Context, from mail.RoomName, st mail.Settlement) error {
	r.mu.RLock()
	q := r.state.Records[st.Message]
	waits := q != nil && q.Open() && slices.Contains(q.OtherRooms(), from)
	r.mu.RUnlock()
	if !waits {
		return nil
	}
	switch agent, home, far := st.By.Far(); {
	case far && home == r.name:
		st.By = agent
	case !far && st.By != mail.ToUser && st.By != mail.FromSystem:
		st.By = mail.FarAddress(st.By, from)
	}
	if _, err := r.commit(ctx, mail.Event{At: r.now(), Settled: &st}); err != nil {
		return err
	}
	r.tell(ctx, st.Message, from)
	return nil
}

// ask settles a question that is open here if another room that has it has settled it.
func (r *Room) ask(ctx context.Context, id mail.ID) {
	r.mu.RLock()
	var rooms []mail.RoomName
	if q := r.state.Records[id]; q != nil && q.Open() {
		rooms = q.OtherRooms()
	}
	r.mu.RUnlock()
	for _, room := range rooms {
		if r.opts.Elsewhere == nil {
			return
		}
		err := r.opts.Elsewhere(ctx, room, func(o *Room) error {
			st, err := o.settlement(ctx, id)
			if err == nil && st != nil {
				err = r.learn(ctx, room, *st)
			}
			return err
		})
		if err != nil && mail.CodeOf(err) != mail.NotFound {
			r.opts.Log.Warn("room not asked about a question", "room", r.name, "other", room, "question", id, "err",
				err)
		}
	}
}

// settlement returns how a question was settled, nil if it is open.
func (r *Room) settlement(ctx context.Context, id mail.ID) (*mail.Settlement, error) {
	r.mu.RLock()
	q := r.state.Records[id]
	if q != nil {
		defer r.mu.RUnlock()
		return q.Settled, nil
	}
	r.mu.RUnlock()
	it, err := r.archived(ctx, id)
	return it.Settled, err
}

// askAround asks the other rooms about every question that is open here.
func (r *Room) askAround(ctx context.Context) {
	r.mu.RLock()
	var ids []mail.ID
	for _, q := range r.state.Open {
		if len(q.OtherRooms()) > 0 {
			ids = append(ids, q.Msg.ID)
		}
	}
	r.mu.RUnlock()
	for _, id := range ids {
		r.ask(ctx, id)
	}
}

// abroad is the sender of a message from a room to another one.
type abroad struct {
	from  mail.Name
	home  mail.RoomName
	id    mail.ID    // the id of the copy
	means mail.Means // of the user
	right bool       // from may settle at home the question that it answers
}

func (v *view) abroad(p *check.Plan, id mail.ID) abroad {
	return abroad{p.Message.From.Signer(), v.name, id, v.Means, p.Right}
}

// deliver sends a draft that someone in another room addressed to this one or, if dry, only finds out whether it
// could be sent. The user is the same person in every room, known by the same means. A copy keeps the id that the
// message has at home.
func (r *Room) deliver(ctx context.Context, by abroad, d mail.Draft, dry bool) (mail.Sent, error) {
	v := r.view(check.Caller{Who: by.from, Across: true, Copies: by.id, Means: by.means, Right: by.right})
	if by.from != mail.User {
		v.Who, v.Foreign = mail.Name(mail.FarAddress(mail.AgentAddress(by.from), by.home)), true
	}
	if !dry {
		return v.Send(ctx, d)
	}
	if err := d.Check(v.opts.MaxBody); err != nil {
		return mail.Sent{}, err
	}
	_, err := v.plan(ctx, &d)
	return mail.Sent{}, err
}
