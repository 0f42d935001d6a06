package check

import (
	"cmp"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Plan is a checked draft.
type Plan struct {
	Route   route
	Message mail.Message
	Pulse   []mail.Event
	Depth   int            // replies above the message
	Peers   []fold.Peer    // for whom the breaker counts it
	Repeat  fold.Repeat    // identifies repetitions
	Earlier *mail.Sent     // the answer, if the draft was sent before
	At      fold.Spot      // where the message of Earlier is, if that is known
	Right   bool           // the caller may settle with it the question that it replies to
	Answers bool           // an open question, by right
	Asked   []mail.Address // if it does not: whom that question asked
	typed   bool           // the draft names its type
	Grant   *mail.Grant    // that the message decides; nil: none
}

// Send checks a draft of the caller and plans its message.
func (v *View) Send(d *mail.Draft) (p *Plan, err error) {
	p = &Plan{typed: d.Type != ""}
	from := v.Signature()
	p.Message.From = from
	if k := v.KeyOf(from, d.Key); d.Key != "" && v.SentBefore(k) {
		p.Earlier, p.At = v.known(k)
		p.Route, _ = v.routeOf(d) // a room that did not take it at first is sent it now
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

// Join returns the event that puts a new caller on the roster, or else records a sign of its life.
func (v *View) Join() ([]mail.Event, error) {
	if err := v.mayJoin(v.Who, v.Parent); err != nil {
		return nil, err
	}
	return v.Pulse(), nil
}

// Signature is how the caller signs: with its present name, even if it is connected under an earlier one.
func (v *View) Signature() mail.Address {
	if v.Foreign {
		return mail.Address(v.Who)
	}
	if m := v.Me(); m != nil {
		return mail.AgentAddress(m.Name)
	}
	return mail.AgentAddress(v.Who)
}

// known answers a draft whose key was used before, and says where the message is. For a message that is no longer
// hot, only its sequence number is known.
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
			return mail.Errorf(mail.Denied, "%s may not cancel the work of %s: only the user, the orchestrator and "+
				"the agent's parent may. Ask the orchestrator with a question", v.Who, a)
		}
	}
	return nil
}

// compose makes the message of a draft.
func (v *View) compose(d *mail.Draft, from mail.Address, rt *route) mail.Message {
	t, _ := mail.ParseType(d.Type)                                                 // Check has parsed it before
	reminds := len(rt.Remote) == 0 && slices.Equal(rt.Local, []mail.Address{from}) // a reminder to its sender
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

// Here returns the part of the message that is for this room.
func (p *Plan) Here() *mail.Message {
	m := p.Message
	m.To = p.Route.Local
	return &m
}

// AsTyped returns the message with the type that its draft names.
func (p *Plan) AsTyped() *mail.Message {
	m := p.Message
	if !p.typed {
		m.Type = ""
	}
	return &m
}

// Events returns the events that a planned message adds to the journal.
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

// Became returns the outcome of a message that was appended at seq, and the text it repeats if it does not count
// because of that.
func (v *View) Became(p *Plan, seq mail.Seq) (sent mail.Sent, same fold.SameText) {
	k := v.KeyOf(p.Message.From, p.Message.Key)
	switch r := cmp.Or(v.Records[p.Message.ID], v.Leaving[p.Message.ID]); {
	case r != nil:
		sent = v.Sent(r)
	case k.Key != "" && k.Record() != nil: // another send with the same key at the same time was first
		sent = v.Sent(k.Record())
	case k.Key != "" && v.SentBefore(k): // and retention has already taken that one
		sent = v.spent(v.Spent.ByKey[k].SpentKey)
	case v.IsVoid(seq): // it repeats a message sent at the same moment, perhaps through another machine
		same = v.Repeated(&p.Message)
		sent = v.spent(mail.SpentKey{Message: same.ID, Seq: same.Seq})
		if r := v.Records[same.ID]; r != nil {
			sent = v.Sent(r)
		}
	case v.Erased[p.Message.ID] == 0: // it is in the archive, because otherwise it would be unsettled
		sent = v.spent(mail.SpentKey{Message: p.Message.ID, Seq: seq})
	}
	sent.Duplicate = sent.ID != p.Message.ID
	if q := v.Records[p.Message.ReplyTo]; p.Answers && q != nil && q.Settled != nil &&
		q.Settled.Answer != sent.ID {
		sent.Settled = q.Settled
	}
	return sent, same
}

// minting returns what the protocols require of new mail to these addresses whose sender requires nothing: the
// spelling of its id, and how long it waits for its agents, or for a role where all files are trimmed. Ids are read
// in all files that the room keeps, so the first bridge that requires a spelling decides, and the recipient's
// protocol only if none does. How long mail waits matters to its recipient first.
func (v *View) minting(to []mail.Address) (ids mail.IDForm, life time.Duration) {
	var of mail.Protocol
	if len(to) == 1 && to[0].Kind() == mail.ToAgent {
		if m := v.Agent(mail.Name(to[0].Value())); m != nil {
			of = v.protocolOf(m)
		}
	}
	life = of.AgentLife
	kept, trimmed := 0, 0 // files, and the trimmed ones among them
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
		life = 0 // each address has its own time
	} else if life != 0 && v.TTL.Agent != 0 {
		life = max(0, v.TTL.Agent) // the person has set one, which files must state
	}
	return cmp.Or(ids, of.IDs), life
}

// protocolOf returns the protocol of an agent.
func (v *View) protocolOf(m *fold.Member) mail.Protocol {
	for _, p := range v.Protocols {
		if p.NamesItself != nil && p.NamesItself(m.Client, m.Tags) {
			return p
		}
	}
	return mail.Protocol{}
}
