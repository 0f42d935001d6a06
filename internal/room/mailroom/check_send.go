package mailroom

import (
	"cmp"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// plan is a draft that was found to be in order.
type plan struct {
	route   route
	message mail.Message
	pulse   []mail.Event
	depth   int            // replies above the message
	peers   []fold.Peer    // whom the breaker counts it for
	repeat  fold.Repeat    // what would be the same
	earlier *mail.Sent     // the answer, if the draft was sent before
	at      fold.Spot      // where the message of earlier is, if that is known
	right   bool           // by it the caller may settle what it replies to
	answers bool           // a question that is open, by right
	asked   []mail.Address // if it does not: of whom that was asked
	typed   bool           // the draft says of which type it is
	grant   *mail.Grant    // that the message decides; nil: none
}

// plan finds out what a draft comes to, that the caller wants to send.
func (v *View) plan(d *mail.Draft) (p *plan, err error) {
	p = &plan{typed: d.Type != ""}
	from := v.signature()
	p.message.From = from
	if k := v.KeyOf(from, d.Key); d.Key != "" && v.SentBefore(k) {
		p.earlier, p.at = v.known(k)
		p.route, _ = v.routeOf(d) // what other rooms did not take at first is sent there now
		return p, nil
	}
	if p.pulse, err = v.joining(); err != nil {
		return nil, err
	}
	if p.route, err = v.routeOf(d); err != nil {
		return nil, err
	}
	if err = v.mayCancel(d, p.route); err != nil {
		return nil, err
	}
	p.message = v.compose(d, from, &p.route)
	p.peers = v.Peers(&p.message, p.route.local)
	parent := v.Records[d.ReplyTo]
	if parent == nil {
		return p, nil
	}
	p.message.Thread = parent.Msg.ThreadRoot()
	p.depth = v.DepthOf(d.ReplyTo, v.Limits.Depth)
	p.right, err = v.weigh(parent, &p.message)
	if p.answers = p.right && parent.Open(); p.message.Suggests {
		p.asked = parent.Msg.To
	}
	return p, err
}

// joining returns the event by which a caller that is new comes onto the roster, or another sign of its life.
func (v *View) joining() ([]mail.Event, error) {
	if err := v.mayJoin(v.Who, v.Parent); err != nil {
		return nil, err
	}
	return v.pulse(), nil
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
func (v *View) known(k fold.SentKey) (*mail.Sent, fold.Spot) {
	r := k.Record()
	if r == nil {
		return new(v.spent(v.Spent.ByKey[k].SpentKey)), fold.Spot{}
	}
	sent := v.sent(r)
	sent.Duplicate = true
	return &sent, r.Spot()
}

func (v *View) spent(k mail.SpentKey) mail.Sent {
	return mail.Sent{ID: k.Message, Seq: k.Seq, Room: v.Room, Duplicate: true, Recipients: []mail.Delivery{}}
}

func (v *View) sent(r *fold.Record) mail.Sent {
	out := mail.Sent{ID: r.Msg.ID, Seq: r.Seq, Room: v.Room, Recipients: v.Deliveries(r, v.Now)}
	for i := range out.Recipients {
		d := &out.Recipients[i]
		if _, waited := v.Waited[fold.Arrival{Mail: r, To: v.Members[d.Agent]}]; waited {
			d.Wake, d.PutOff = mail.WakeWaiting, 0
		}
	}
	return out
}

// mayCancel checks that the caller may send a cancel to these addresses.
func (v *View) mayCancel(d *mail.Draft, to route) error {
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
func (v *View) compose(d *mail.Draft, from mail.Address, rt *route) mail.Message {
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

// here returns the message as far as it is for this room.
func (p *plan) here() *mail.Message {
	m := p.message
	m.To = p.route.local
	return &m
}

// asTyped returns the message of the type that its draft says.
func (p *plan) asTyped() *mail.Message {
	m := p.message
	if !p.typed {
		m.Type = ""
	}
	return &m
}

// events returns what a planned message adds to the journal.
func (p *plan) events(now mail.Time) []mail.Event {
	events := append(p.pulse, mail.Event{Message: &p.message})
	if p.grant != nil {
		events = append(events, mail.Event{Grant: p.grant})
	}
	for i := range events {
		events[i].At = now
	}
	return events
}

// became returns what became of a message that was appended at seq, and what it repeats if it does not count for that.
func (v *View) became(p *plan, seq mail.Seq) (sent mail.Sent, same fold.SameText) {
	k := v.KeyOf(p.message.From, p.message.Key)
	switch r := cmp.Or(v.Records[p.message.ID], v.Leaving[p.message.ID]); {
	case r != nil:
		sent = v.sent(r)
	case k.Key != "" && k.Record() != nil: // somebody else sent with the same key at the same time, and was first
		sent = v.sent(k.Record())
	case k.Key != "" && v.SentBefore(k): // and retention took that one already
		sent = v.spent(v.Spent.ByKey[k].SpentKey)
	case v.IsVoid(seq): // it repeats what was sent at the same moment, perhaps through another machine
		same = v.Repeated(&p.message)
		sent = v.spent(mail.SpentKey{Message: same.ID, Seq: same.Seq})
		if r := v.Records[same.ID]; r != nil {
			sent = v.sent(r)
		}
	case v.Erased[p.message.ID] == 0: // it is in the archive, because all else is unsettled
		sent = v.spent(mail.SpentKey{Message: p.message.ID, Seq: seq})
	}
	sent.Duplicate = sent.ID != p.message.ID
	if q := v.Records[p.message.ReplyTo]; p.answers && q != nil && q.Settled != nil &&
		q.Settled.Answer != sent.ID {
		sent.Settled = q.Settled
	}
	return sent, same
}
