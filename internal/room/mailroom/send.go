package mailroom

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Send implements mail.Sender. This file and delivery.go, for the answer, have what a send does in its order; who
// comes onto the roster by it is in join.go, where its addresses lead in resolve.go, and what is too much in
// breaker.go.
func (v *view) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	if err := d.Check(v.opts.MaxBody); err != nil {
		return mail.Sent{}, err
	}
	release, err := v.claim(ctx, d.Key)
	if err != nil {
		return mail.Sent{}, err
	}
	defer release()
	defer v.newcomer(v.Who)()
	p, err := v.plan(ctx, d)
	if err == nil && p.earlier == nil && len(p.route.remote) > 0 {
		err = v.resolveElsewhere(ctx, &p, d)
	}
	if err == nil && p.earlier == nil {
		p.earlier, err = v.admit(ctx, &p, d.Again)
	}
	if err == nil && p.earlier == nil && (p.answers || p.message.Suggests) {
		p.grant, err = v.decides(ctx, &p.message)
	}
	var sent mail.Sent
	switch {
	case err != nil:
	case p.earlier != nil:
		sent = *p.earlier
	case len(p.route.local) > 0:
		sent, err = v.post(ctx, &p)
	}
	if err != nil {
		return mail.Sent{}, err
	}
	if len(p.route.remote) > 0 {
		if sent, err = v.forward(ctx, &p, d, sent); err != nil {
			return mail.Sent{}, err
		}
	}
	if len(p.route.local) == 0 && len(p.message.To) > 0 {
		if err := v.keepAsked(ctx, &p, sent.ID); err != nil {
			return mail.Sent{}, err
		}
	}
	v.settleAcross(ctx, &p.message, sent.ID)
	if !sent.Duplicate && p.asked != nil {
		sent.AskedOf = p.asked
	}
	return sent, nil
}

// sending is the idempotency keys that are being sent with. Whoever repeats a send whose answer is late waits here
// for the first attempt: apply would ignore the second message, but it would stand in the journal until compaction.
type sending struct {
	mu   sync.Mutex
	keys map[fold.SentKey]chan struct{} // closed when the send is over
}

// claim returns when nobody else sends with this key of the caller, and keeps others from it until release is called.
// Without a key there is nothing to wait for.
func (v *view) claim(ctx context.Context, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	var k fold.SentKey
	v.read(func(s *fold.State, now mail.Time) { k = s.KeyOf(v.on(s, now).signature(), key) })
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
				Msg: "this key is being sent with already, and the time was over before that had ended",
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

// plan is a draft that was found to be in order.
type plan struct {
	route   route
	message mail.Message
	pulse   []mail.Event
	depth   int            // replies above the message
	peers   []fold.Peer    // whom the breaker counts it for
	repeat  fold.Repeat    // what would be the same
	earlier *mail.Sent     // the answer, if the draft was sent before
	right   bool           // by it the caller may settle what it replies to
	answers bool           // a question that is open, by right
	asked   []mail.Address // if it does not: of whom that was asked
	typed   bool           // the draft says of which type it is
	grant   *mail.Grant    // that the message decides; nil: none
}

// here returns the message as far as it is for this room.
func (p *plan) here() *mail.Message {
	m := p.message
	m.To = p.route.local
	return &m
}

func (v *view) plan(ctx context.Context, d mail.Draft) (plan, error) {
	p := plan{typed: d.Type != ""}
	var full *trip
	var err error
	var earlier fold.Spot
	v.read(func(s *fold.State, now mail.Time) {
		p.message.From = v.on(s, now).signature()
		k := s.KeyOf(p.message.From, d.Key)
		if d.Key != "" && s.SentBefore(k) {
			p.earlier, earlier = v.known(s, k, now)
			p.route, _ = v.on(s, now).routeOf(&d) // what other rooms did not take at first is sent there now
			return
		}
		if full, err = v.on(s, now).mayJoin(v.Who, v.Parent); full != nil || err != nil {
			return
		}
		p.pulse = v.on(s, now).pulse()
		if p.route, err = v.on(s, now).routeOf(&d); err == nil {
			err = v.on(s, now).mayCancel(d, p.route)
		}
		if err != nil {
			return
		}
		p.message = v.on(s, now).compose(d, p.message.From, &p.route)
		p.peers = s.Peers(&p.message, p.route.local)
		if parent := s.Records[d.ReplyTo]; parent != nil {
			p.message.Thread = parent.Msg.ThreadRoot()
			p.depth = s.DepthOf(d.ReplyTo, v.breaker.limits.Depth)
			p.right, err = v.on(s, now).weigh(parent, &p.message)
			if p.answers = p.right && parent.Open(); p.message.Suggests {
				p.asked = parent.Msg.To
			}
		}
	})
	switch {
	case err != nil:
	case full != nil:
		err = v.tripped(ctx, full)
	case earlier.ID != "":
		err = v.checkSame(ctx, earlier, &mail.Message{Type: mail.Type(d.Type), Subject: d.Subject, Body: d.Body,
			Key: d.Key})
	case d.ReplyTo != "" && p.earlier == nil && p.message.Thread == "":
		err = v.findThread(ctx, &p.message)
	}
	return p, err
}

// signature is how the caller signs: by its present name, should it be connected under an earlier one.
func (v *View) signature() mail.Address {
	if v.Foreign {
		return mail.Address(v.Who)
	}
	if m := v.me(); m != nil {
		return mail.AgentAddress(m.Name)
	}
	return mail.AgentAddress(v.Who)
}

// known answers a draft whose key was used before, and says where the message is. Of one that is no longer hot nothing
// but its place is known.
func (v *view) known(s *fold.State, k fold.SentKey, now mail.Time) (*mail.Sent, fold.Spot) {
	r := k.Record()
	if r == nil {
		return new(v.spent(s.Spent.ByKey[k].SpentKey)), fold.Spot{}
	}
	sent := v.sent(s, r, now)
	sent.Duplicate = true
	return &sent, r.Spot()
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

func (v *view) spent(k mail.SpentKey) mail.Sent {
	return mail.Sent{ID: k.Message, Seq: k.Seq, Room: v.name, Duplicate: true, Recipients: []mail.Delivery{}}
}

// mayCancel checks that the caller may send a cancel to these addresses.
func (v *View) mayCancel(d mail.Draft, to route) error {
	if !mail.Type(d.Type).Rule().Stops {
		return nil
	}
	me := v.me()
	orchestrator := me != nil && me.HasRole(string(mail.Orchestrator)) || v.Who == mail.Orchestrator
	for _, a := range to.local {
		var parent mail.Name
		if m := v.Agent(mail.Name(a.Value())); a.Kind() == mail.ToAgent && m != nil {
			parent = m.Parent
		}
		if !policy.MayCancel(v.Who, orchestrator, parent) {
			return mail.Errorf(mail.Denied, "%s may not cancel %s: only the user, the orchestrator and the agent's "+
				"parent may. Ask the orchestrator with a question", v.Who, a)
		}
	}
	return nil
}

// compose makes the message of a draft.
func (v *View) compose(d mail.Draft, from mail.Address, rt *route) mail.Message {
	t, _ := mail.ParseType(d.Type) // Check has done it once
	if d.Type == "" && v.AsksOther(d.ReplyTo, v.me()) {
		t = mail.Answer
	}
	to := rt.local
	if v.tracked(t) {
		to = slices.Concat(to, rt.farAddresses())
	}
	ids, life := v.minting(rt.local)
	id := v.Copies
	if id == "" || v.Records[id] != nil {
		id = v.NewID(v.State, cmp.Or(d.IDForm, ids))
	}
	m := mail.Message{
		ID: id, Type: t, From: from, To: to,
		Subject: d.Subject, Body: d.Body, ReplyTo: d.ReplyTo, Issue: d.Issue, Docs: d.Docs,
		Metadata: d.Metadata, TTLSeconds: cmp.Or(d.TTLSeconds, int64(life/time.Second)), Audience: d.Audience,
		Key: d.Key,
	}
	if d.Priority == string(mail.Urgent) {
		m.Priority = mail.Urgent
	}
	if v.isUser() {
		m.By = v.Means
	}
	return m
}

// findThread looks for the parent of a reply where the hot messages end.
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
			"there is no message %q to reply to: nothing was sent. Take the id from the message you answer", m.ReplyTo)
	}
	return nil
}

// resolveElsewhere asks the other rooms whether they would take the draft, before anything is stored anywhere.
func (v *view) resolveElsewhere(ctx context.Context, p *plan, d mail.Draft) error {
	for _, room := range slices.Sorted(maps.Keys(p.route.remote)) {
		d.To = p.route.remote[room]
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

// forward sends a draft to those of its addresses that are in other rooms, and adds what became of it there to sent. A
// room that fails now is told of beside the others. The copies have the draft's key, so that sending again with it
// reaches those who did not get it, and nobody twice.
func (v *view) forward(ctx context.Context, p *plan, d mail.Draft, sent mail.Sent) (mail.Sent, error) {
	if d.Key == "" {
		d.Key = mail.MadeKey + string(p.message.ID)
	}
	var failed error
	for _, room := range slices.Sorted(maps.Keys(p.route.remote)) {
		d.To = p.route.remote[room]
		var far mail.Sent
		err := v.opts.Elsewhere(ctx, room, func(o *Room) (err error) {
			if p.earlier != nil { // under whichever name it was sent then
				if far, err = o.copied(ctx, sent.ID, v.name); mail.CodeOf(err) != mail.NotFound {
					return err
				}
			}
			far, err = o.deliver(ctx, v.abroad(p, cmp.Or(sent.ID, p.message.ID)), d, false)
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

// notSent tells of addresses of a room that failed.
func notSent(to []string, err error) []mail.Delivery {
	why := err.Error()
	if mail.CodeOf(err) == mail.Internal {
		why = "that room failed"
	}
	out := make([]mail.Delivery, len(to))
	for i, a := range to {
		out[i] = mail.Delivery{Address: mail.Address(a), State: mail.NotSent, Wake: mail.WakeNone, Why: why}
	}
	return out
}

// post appends the message and tells what became of it.
func (v *view) post(ctx context.Context, p *plan) (mail.Sent, error) {
	now := v.now()
	if v.opts.Machine != "" {
		defer v.breaker.begin(p.message.ID)()
		if err := v.arrive(ctx, p); err != nil {
			return mail.Sent{}, err
		}
	}
	events := append(p.pulse, mail.Event{Message: &p.message})
	if p.grant != nil {
		events = append(events, mail.Event{Grant: p.grant})
	}
	for i := range events {
		events[i].At = now
	}
	seq, err := v.commit(ctx, events...)
	if err != nil {
		return mail.Sent{}, err
	}
	if p.grant != nil {
		seq-- // of the message
	}
	sent, same := v.became(p, seq)
	if sent.Duplicate && p.message.Key != "" {
		m := p.message
		if !p.typed {
			m.Type = ""
		}
		if err := v.checkSame(ctx, fold.Spot{ID: sent.ID, Seq: sent.Seq}, &m); err != nil {
			return mail.Sent{}, err
		}
	}
	if sent.ID == "" {
		return sent, mail.Errorf(mail.NotFound, "the message %s was erased as soon as it was sent", p.message.ID)
	}
	wakes := 0
	for _, d := range sent.Recipients {
		if d.Wake != mail.WakeNone {
			wakes++
		}
	}
	v.opts.Observe.Sent(len(sent.Recipients), wakes)
	if p.message.Same == "" { // it was sent again on purpose
		v.breaker.sent(p.repeat, p.message.ID, v.opts.Now())
	}
	if same.ID != "" {
		return sent, v.tripped(ctx, v.breaker.repetition(p.here()))
	}
	return sent, nil
}

// became returns what became of a message that was appended at seq, and what it repeats if it does not count for that.
func (v *view) became(p *plan, seq mail.Seq) (sent mail.Sent, same fold.SameText) {
	v.read(func(s *fold.State, now mail.Time) {
		k := s.KeyOf(p.message.From, p.message.Key)
		switch r := cmp.Or(s.Records[p.message.ID], s.Leaving[p.message.ID]); {
		case r != nil:
			sent = v.sent(s, r, now)
		case k.Key != "" && k.Record() != nil: // somebody else sent with the same key at the same time, and was first
			sent = v.sent(s, k.Record(), now)
		case k.Key != "" && s.SentBefore(k): // and retention took that one already
			sent = v.spent(s.Spent.ByKey[k].SpentKey)
		case s.IsVoid(seq): // it repeats what was sent at the same moment, perhaps through another machine
			same = s.Repeated(&p.message)
			sent = v.spent(mail.SpentKey{Message: same.ID, Seq: same.Seq})
			if r := s.Records[same.ID]; r != nil {
				sent = v.sent(s, r, now)
			}
		case s.Erased[p.message.ID] == 0: // it is in the archive, because all else is unsettled
			sent = v.spent(mail.SpentKey{Message: p.message.ID, Seq: seq})
		}
		sent.Duplicate = sent.ID != p.message.ID
		if q := s.Records[p.message.ReplyTo]; p.answers && q != nil && q.Settled != nil &&
			q.Settled.Answer != sent.ID {
			sent.Settled = q.Settled
		}
	})
	return sent, same
}

// arrive has a sender that is new come onto the roster before its message: as one event with it, that would stand
// though another machine has let nobody of such a name in.
func (v *view) arrive(ctx context.Context, p *plan) error {
	if len(p.pulse) == 0 || p.pulse[0].Agent.Machine == "" {
		return nil
	}
	p.pulse = nil
	return v.attempt(ctx, func() (events []mail.Event, err error) {
		var full *trip
		v.read(func(s *fold.State, now mail.Time) {
			if full, err = v.on(s, now).mayJoin(v.Who, v.Parent); full == nil && err == nil {
				events = v.on(s, now).pulse()
			}
		})
		if full != nil {
			err = v.tripped(ctx, full)
		}
		return events, err
	})
}

func (v *view) sent(s *fold.State, r *fold.Record, now mail.Time) mail.Sent {
	out := mail.Sent{ID: r.Msg.ID, Seq: r.Seq, Room: v.name, Recipients: v.sight(s).Deliveries(r, now)}
	for i := range out.Recipients {
		d := &out.Recipients[i]
		if _, waited := s.Waited[fold.Arrival{Mail: r, To: s.Members[d.Agent]}]; waited {
			d.Wake, d.PutOff = mail.WakeWaiting, 0
		}
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
