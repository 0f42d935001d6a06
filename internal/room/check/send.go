package check

import (
	"cmp"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Plan is a draft that was found to be in order.
type Plan struct {
	Route   route
	Message mail.Message
	Pulse   []mail.Event
	Depth   int            // replies above the message
	Peers   []fold.Peer    // whom the breaker counts it for
	Repeat  fold.Repeat    // what would be the same
	Earlier *mail.Sent     // the answer, if the draft was sent before
	At      fold.Spot      // where the message of Earlier is, if that is known
	Right   bool           // by it the caller may settle what it replies to
	Answers bool           // a question that is open, by right
	Asked   []mail.Address // if it does not: of whom that was asked
	typed   bool           // the draft names its type
	Grant   *mail.Grant    // that the message decides; nil: none
}

// Send finds out what a draft of the caller comes to.
func (v *View) Send(d *mail.Draft) (p *Plan, err error) {
	p = &Plan{typed: d.Type != ""}
	from := v.Signature()
	p.Message.From = from
	if k := v.KeyOf(from, d.Key); d.Key != "" && v.SentBefore(k) {
		p.Earlier, p.At = v.known(k)
		p.Route, _ = v.routeOf(d) // what other rooms did not take at first is sent there now
		return p, nil
	}
	if p.Pulse, err = v.Join(); err != nil {
		return nil, err
	}
	if p.Route, err = v.routeOf(d); err != nil {
		return nil, err
	}
	if err = v.mayCancel(d, p.Route); err != nil {
		return nil, err
	}
	p.Message = v.compose(d, from, &p.Route)
	p.Peers = v.Peers(&p.Message, p.Route.Local)
	p.Pulse = append(p.Pulse, v.Deaths(v.addressed(p.Route.Local)...)...)
	parent := v.Records[d.ReplyTo]
	if parent == nil {
		return p, nil
	}
	p.Message.Thread = parent.Msg.ThreadRoot()
	p.Depth = v.DepthOf(d.ReplyTo, v.Limits.Depth)
	p.Right, err = v.weigh(parent, &p.Message)
	if p.Answers = p.Right && parent.Open(); p.Message.Suggests {
		p.Asked = parent.Msg.To
	}
	return p, err
}

// Join returns the event by which a caller that is new comes onto the roster, or another sign of its life.
func (v *View) Join() ([]mail.Event, error) {
	if err := v.mayJoin(v.Who, v.Parent); err != nil {
		return nil, err
	}
	return v.Pulse(), nil
}

// Signature is how the caller signs: by its present name, should it be connected under an earlier one.
func (v *View) Signature() mail.Address {
	if v.Foreign {
		return mail.Address(v.Who)
	}
	if m := v.Me(); m != nil {
		return mail.AgentAddress(m.Name)
	}
	return mail.AgentAddress(v.Who)
}

// known answers a draft whose key was used before, and says where the message is. Of one that is no longer hot,
// only its place is known.
func (v *View) known(k fold.SentKey) (*mail.Sent, fold.Spot) {
	r := k.Record()
	if r == nil {
		return new(v.spent(v.Spent.ByKey[k].SpentKey)), fold.Spot{}
	}
	sent := v.Sent(r)
	sent.Duplicate = true
	return &sent, r.Spot()
}

func (v *View) spent(k mail.SpentKey) mail.Sent {
	return mail.Sent{ID: k.Message, Seq: k.Seq, Room: v.Room, Duplicate: true, Recipients: []mail.Delivery{}}
}

// Sent is the answer to the send of a message that is in the room.
func (v *View) Sent(r *fold.Record) mail.Sent {
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
	me := v.Me()
	orchestrator := me != nil && me.HasRole(string(mail.Orchestrator)) || v.Who == mail.Orchestrator
	for _, a := range to.Local {
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
	t, _ := mail.ParseType(d.Type)                                                 // Check has done it once
	reminds := len(rt.Remote) == 0 && slices.Equal(rt.Local, []mail.Address{from}) // who sent it, of what is open
	if d.Type == "" && !reminds && v.AsksOther(d.ReplyTo, v.Me()) {
		t = mail.Answer
	}
	to := rt.Local
	if v.tracked(t) {
		to = slices.Concat(to, rt.farAddresses())
	}
	ids, life := v.minting(rt.Local)
	id := v.Copies
	if id == "" || v.Records[id] != nil {
		id = v.NewID(v.State, cmp.Or(d.IDForm, ids))
	}
	m := mail.Message{
		ID: id, Type: t, From: from, To: to,
		Subject: d.Subject, Body: d.Body, ReplyTo: d.ReplyTo, Issue: d.Issue, Docs: d.Docs,
		Metadata: d.Metadata, TTLSeconds: cmp.Or(d.TTLSeconds, int64(life/time.Second)),
		Audience: v.audience(d.Audience), Key: d.Key,
	}
	if d.Priority == string(mail.Urgent) {
		m.Priority = mail.Urgent
	}
	if v.IsUser() || v.Means == mail.ByGuest {
		m.By = v.Means
	}
	return m
}

// Here returns the message as far as it is for this room.
func (p *Plan) Here() *mail.Message {
	m := p.Message
	m.To = p.Route.Local
	return &m
}

// AsTyped returns the message of the type that its draft says.
func (p *Plan) AsTyped() *mail.Message {
	m := p.Message
	if !p.typed {
		m.Type = ""
	}
	return &m
}

// Events returns what a planned message adds to the journal.
func (p *Plan) Events(now mail.Time) []mail.Event {
	events := append(p.Pulse, mail.Event{Message: &p.Message})
	if p.Grant != nil {
		events = append(events, mail.Event{Grant: p.Grant})
	}
	for i := range events {
		events[i].At = now
	}
	return events
}

// Became returns what became of a message that was appended at seq, and what it repeats if it does not count for that.
func (v *View) Became(p *Plan, seq mail.Seq) (sent mail.Sent, same fold.SameText) {
	k := v.KeyOf(p.Message.From, p.Message.Key)
	switch r := cmp.Or(v.Records[p.Message.ID], v.Leaving[p.Message.ID]); {
	case r != nil:
		sent = v.Sent(r)
	case k.Key != "" && k.Record() != nil: // somebody else sent with the same key at the same time, and was first
		sent = v.Sent(k.Record())
	case k.Key != "" && v.SentBefore(k): // and retention took that one already
		sent = v.spent(v.Spent.ByKey[k].SpentKey)
	case v.IsVoid(seq): // it repeats what was sent at the same moment, perhaps through another machine
		same = v.Repeated(&p.Message)
		sent = v.spent(mail.SpentKey{Message: same.ID, Seq: same.Seq})
		if r := v.Records[same.ID]; r != nil {
			sent = v.Sent(r)
		}
	case v.Erased[p.Message.ID] == 0: // it is in the archive, because all else is unsettled
		sent = v.spent(mail.SpentKey{Message: p.Message.ID, Seq: seq})
	}
	sent.Duplicate = sent.ID != p.Message.ID
	if q := v.Records[p.Message.ReplyTo]; p.Answers && q != nil && q.Settled != nil &&
		q.Settled.Answer != sent.ID {
		sent.Settled = q.Settled
	}
	return sent, same
}

// minting returns what the protocols ask of new mail to these addresses whose sender asks for nothing: how its id is
// spelled, and how long it waits for its agents, or for a role where all files are trimmed. Ids are read in all files
// that the room keeps, so the first bridge that asks for a spelling decides, and the recipient's protocol only if none
// does. How long mail waits matters to its recipient first.
func (v *View) minting(to []mail.Address) (ids mail.IDForm, life time.Duration) {
	var of mail.Protocol
	if len(to) == 1 && to[0].Kind() == mail.ToAgent {
		if m := v.Agent(mail.Name(to[0].Value())); m != nil {
			of = v.protocolOf(m)
		}
	}
	life = of.AgentLife
	kept, trimmed := 0, 0 // files, and those of them that are trimmed
	for _, b := range v.Bridges {
		i := slices.IndexFunc(v.Protocols, func(p mail.Protocol) bool { return p.Name == b.Dialect })
		if i < 0 || b.Mode == mail.BridgeFollow {
			continue
		}
		p := &v.Protocols[i]
		ids, life = cmp.Or(ids, p.IDs), cmp.Or(life, p.AgentLife)
		if kept++; p.Trims {
			trimmed++
		}
	}
	if trimmed > 0 && trimmed == kept && mail.RolesAlone(to) {
		life, _ = v.Retention.Keeps()
		return cmp.Or(ids, of.IDs), life
	}
	if slices.ContainsFunc(to, func(a mail.Address) bool { return a.Kind() != mail.ToAgent }) {
		life = 0 // each address has a time of its own
	} else if life != 0 && v.TTL.Agent != 0 {
		life = max(0, v.TTL.Agent) // the person has set one, which files have to say
	}
	return cmp.Or(ids, of.IDs), life
}

// protocolOf returns the protocol that an agent is of.
func (v *View) protocolOf(m *fold.Member) mail.Protocol {
	for _, p := range v.Protocols {
		if p.NamesItself != nil && p.NamesItself(m.Client, m.Tags) {
			return p
		}
	}
	return mail.Protocol{}
}
