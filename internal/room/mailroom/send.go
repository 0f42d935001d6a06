package mailroom

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Send implements mail.Sender. This file has in order the parts of a send outside the state: its waits, its requests
// to other rooms and to the breaker, and its appends. Plan has the result for a draft, and Plan.Became its outcome.
func (v *view) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	if err := d.Check(v.MaxBody); err != nil {
		return mail.Sent{}, err
	}
	release, err := v.claim(ctx, d.Key)
	if err != nil {
		return mail.Sent{}, err
	}
	defer release()
	defer v.newcomer(v.Who)()
	if d.IsLater() {
		return v.schedule(ctx, d)
	}
	p, err := v.plan(ctx, &d)
	if err == nil && p.Earlier == nil {
		err = v.clear(ctx, p, d)
	}
	if err != nil {
		return mail.Sent{}, err
	}
	sent, err := v.carryOut(ctx, p, d)
	if err != nil {
		return mail.Sent{}, err
	}
	v.settleAcross(ctx, &p.Message, sent.ID)
	if !sent.Duplicate && p.Asked != nil {
		sent.AskedOf = p.Asked
	}
	return sent, nil
}

// carryOut carries out a plan: here, in the other rooms, and here again if it is a question there only.
func (v *view) carryOut(ctx context.Context, p *check.Plan, d mail.Draft) (sent mail.Sent, err error) {
	switch {
	case p.Earlier != nil:
		sent = *p.Earlier
	case len(p.Route.Local) > 0:
		sent, err = v.post(ctx, p)
	}
	if err == nil && len(p.Route.Remote) > 0 {
		sent, err = v.forward(ctx, p, d, sent)
	}
	if err == nil && len(p.Route.Local) == 0 && len(p.Message.To) > 0 {
		err = v.keepAsked(ctx, p, sent.ID)
	}
	return sent, err
}

// sending has the idempotency keys of sends in progress. A repeated send whose answer is late waits here for the
// first attempt: apply would ignore the second message, but it would be in the journal until compaction.
type sending struct {
	mu   sync.Mutex
	keys map[fold.SentKey]chan struct{} // closed when the send is over
}

// claim returns when no one else sends with this key of the caller, and keeps others from it until release is called.
// Without a key there is nothing to wait for.
func (v *view) claim(ctx context.Context, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	var k fold.SentKey
	v.check(func(v *check.View) { k = v.KeyOf(v.Signature(), key) })
	s := &v.sending
	for {
		s.mu.Lock()
		other := s.keys[k]
		if other == nil {
			break
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, &mail.Error{Code: mail.Timeout,
				Msg: "another request with this key is still running, and the time for this one is over",
				Err: ctx.Err()}
		}
	}
	defer s.mu.Unlock()
	over := make(chan struct{})
	if s.keys == nil {
		s.keys = make(map[fold.SentKey]chan struct{})
	}
	s.keys[k] = over
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.keys, k)
		close(over)
	}, nil
}

// plan plans a draft, including the parts for which the state has no texts.
func (v *view) plan(ctx context.Context, d *mail.Draft) (p *check.Plan, err error) {
	v.check(func(v *check.View) { p, err = v.Send(d) })
	switch {
	case err != nil:
		return nil, v.refused(ctx, err)
	case p.At.ID != "":
		return p, v.checkSame(ctx, p.At, &mail.Message{Type: mail.Type(d.Type), Subject: d.Subject, Body: d.Body,
			Key: d.Key})
	case d.ReplyTo != "" && p.Earlier == nil && p.Message.Thread == "":
		return p, v.findThread(ctx, &p.Message)
	}
	return p, nil
}

// checkSame refuses a message whose key was used for another.
func (v *view) checkSame(ctx context.Context, earlier fold.Spot, d *mail.Message) error {
	texts, err := v.texts(ctx, []fold.Spot{earlier})
	if err != nil || texts[0] == nil {
		return err
	}
	m := texts[0]
	// without a type it may have become an answer
	if m.Body != d.Body || m.Subject != d.Subject || d.Type != "" && m.Type != d.Type {
		return mail.Errorf(mail.Conflict, "the idempotency key %q was used for another message, %s: nothing "+
			"was sent. Use a new key for a new message", d.Key, m.ID)
	}
	return nil
}

// findThread looks for the parent of a reply that is no longer hot.
func (v *view) findThread(ctx context.Context, m *mail.Message) error {
	parent, err := v.archived(ctx, m.ReplyTo)
	switch {
	case err == nil:
		m.Thread = parent.ThreadRoot()
	case mail.CodeOf(err) != mail.NotFound:
		return err
	case v.Across:
		m.Thread = m.ReplyTo // the conversation began in the other room
	default:
		return mail.Errorf(mail.NotFound,
			"there is no message %q to reply to: nothing was sent. Use the id of the message that you answer",
			m.ReplyTo)
	}
	return nil
}

// clear asks the others that decide on a planned message: the rooms that it goes to, and the breaker. It also checks
// the answer to a card.
func (v *view) clear(ctx context.Context, p *check.Plan, d mail.Draft) (err error) {
	if len(p.Route.Remote) > 0 {
		if err = v.resolveElsewhere(ctx, p, d); err != nil {
			return err
		}
	}
	if p.Earlier, err = v.admit(ctx, p, d.Again); err != nil || p.Earlier != nil {
		return err
	}
	if p.Answers || p.Message.Suggests {
		p.Grant, err = v.decides(ctx, &p.Message)
	}
	return err
}

// resolveElsewhere asks the other rooms whether they would take the draft, before anything is stored anywhere.
func (v *view) resolveElsewhere(ctx context.Context, p *check.Plan, d mail.Draft) error {
	for _, room := range slices.Sorted(maps.Keys(p.Route.Remote)) {
		d.To = p.Route.Remote[room]
		err := v.opts.Elsewhere(ctx, room, func(o *Room) error {
			_, err := o.deliver(ctx, v.abroad(p, ""), d, true)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// post appends the message and returns its outcome.
func (v *view) post(ctx context.Context, p *check.Plan) (mail.Sent, error) {
	if v.Machine != "" {
		defer v.breaker.begin(p.Message.ID)()
		if err := v.arrive(ctx, p); err != nil {
			return mail.Sent{}, err
		}
	}
	seq, err := v.commit(ctx, p.Events(v.now())...)
	if err != nil {
		return mail.Sent{}, err
	}
	if p.Grant != nil {
		seq-- // of the message
	}
	var sent mail.Sent
	var same fold.SameText
	v.check(func(v *check.View) { sent, same = v.Became(p, seq) })
	if sent.Duplicate && p.Message.Key != "" {
		if err := v.checkSame(ctx, fold.Spot{ID: sent.ID, Seq: sent.Seq}, p.AsTyped()); err != nil {
			return mail.Sent{}, err
		}
	}
	if sent.ID == "" {
		return sent, mail.Errorf(mail.NotFound, "the message %s was erased while it was sent", p.Message.ID)
	}
	v.opts.Observe.Sent(len(sent.Recipients), wakes(&sent))
	if p.Message.Same == "" { // it was sent again on purpose
		v.breaker.mu.Lock()
		v.breaker.Sent(p.Repeat, p.Message.ID, v.opts.Now())
		v.breaker.mu.Unlock()
	}
	if same.ID != "" {
		return sent, v.tripped(ctx, v.repetition(p.Here()))
	}
	return sent, nil
}

// wakes returns how many recipients a message wakes.
func wakes(sent *mail.Sent) (n int) {
	for _, d := range sent.Recipients {
		if d.Wake != mail.WakeNone {
			n++
		}
	}
	return n
}

// arrive puts a new sender onto the roster before its message: in one append, the message would count even if the
// registration lost to an event of another machine.
func (v *view) arrive(ctx context.Context, p *check.Plan) error {
	if len(p.Pulse) == 0 || p.Pulse[0].Agent.Machine == "" {
		return nil
	}
	p.Pulse = nil
	return v.attempt(ctx, (*check.View).Join)
}

// forward sends a draft to those of its addresses that are in other rooms, and adds the outcome there to sent. A room
// that fails now is reported with the others. The copies have the draft's key, so that a retry with it reaches those
// who did not get it, and no one twice.
func (v *view) forward(ctx context.Context, p *check.Plan, d mail.Draft, sent mail.Sent) (mail.Sent, error) {
	if d.Key == "" {
		d.Key = mail.MadeKey + string(p.Message.ID)
	}
	var failed error
	for _, room := range slices.Sorted(maps.Keys(p.Route.Remote)) {
		d.To = p.Route.Remote[room]
		var far mail.Sent
		err := v.opts.Elsewhere(ctx, room, func(o *Room) (err error) {
			if p.Earlier != nil { // under whichever name it was sent then
				if far, err = o.copied(ctx, sent.ID, v.name); mail.CodeOf(err) != mail.NotFound {
					return err
				}
			}
			far, err = o.deliver(ctx, v.abroad(p, cmp.Or(sent.ID, p.Message.ID)), d, false)
			return err
		})
		if failed = cmp.Or(failed, err); err != nil {
			far.Recipients = notSent(d.To, err)
		}
		for i := range far.Recipients {
			far.Recipients[i].Address += mail.Address("@" + string(room))
		}
		all := append(sent.Recipients, far.Recipients...)
		if sent.ID == "" {
			sent = far
		}
		sent.Recipients = all
	}
	if sent.ID == "" {
		return mail.Sent{}, failed
	}
	return sent, nil
}

// notSent reports the addresses of a room that failed.
func notSent(to []string, err error) []mail.Delivery {
	why := err.Error()
	if mail.CodeOf(err) == mail.Internal {
		why = "the other room had an error"
	}
	out := make([]mail.Delivery, len(to))
	for i, a := range to {
		out[i] = mail.Delivery{Address: mail.Address(a), State: mail.NotSent, Wake: mail.WakeNone, Why: why}
	}
	return out
}

// copied answers a draft of another room that this one has taken before, under the id that it has in both.
func (r *Room) copied(ctx context.Context, id mail.ID, home mail.RoomName) (mail.Sent, error) {
	it, err := r.As(mail.User).Message(ctx, id)
	if err != nil {
		return mail.Sent{}, err
	}
	if _, room, far := it.From.Far(); far && room != home {
		return mail.Sent{}, mail.Errorf(mail.NotFound, "%s came from another room", id)
	}
	return mail.Sent{ID: id, Seq: it.Seq, Room: r.name, Duplicate: true, Recipients: it.Deliveries}, nil
}

// newcomer keeps others from naming an agent until done, if no one of that name is on the roster: the checks of a new
// name still hold when it is written. This is a lock over a write; it is taken once for each agent that a room ever
// has.
func (v *view) newcomer(n mail.Name) (done func()) {
	known := v.IsUser() && n == v.Who || n == mail.System || v.Foreign
	v.read(func(s *fold.State, _ mail.Time) { known = known || s.Agent(n) != nil })
	if known {
		return func() {}
	}
	v.naming.Lock()
	return v.naming.Unlock
}
