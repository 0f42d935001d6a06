package jetstream

import (
	"bytes"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// ring is the state of the machines' keys in a room of a shard, after an event. It follows only from the messages of
// the shard in their order, so it is the same on each machine.
type ring struct {
	Seq mail.Seq `json:"place"`
	At  uint64   `json:"seq"` // of that event's message, or the last before it
	ID  string   `json:"id"`  // of that message

	Machines map[mail.Machine]*keyed `json:"machines,omitempty"`
	// Admits says that only a machine that is in can let another in.
	Admits bool `json:"admits,omitzero"`
	// Founder is the key of the machine that copied the room to its lane, and Copied says that more of that copy may
	// come.
	Founder []byte `json:"founder,omitempty"`
	Copied  bool   `json:"copied,omitzero"`

	verified proof // the last batch whose signature was valid
}

// keyed is a machine whose key the room has, or had.
type keyed struct {
	Key  []byte       `json:"key,omitempty"`  // without one, the machine was removed
	At   mail.Time    `json:"at"`             // when the key was given, or removed
	Last [ways]uint64 `json:"last,omitempty"` // the last number on each way
}

// Reasons why a message does not count.
const (
	wrongKey    = "it is not signed with the key of that machine"
	removedKey  = "that machine was removed from the room"
	sentBefore  = "it is a replay"
	othersName  = "it claims to come from another machine"
	notAdmitted = "that machine was not admitted to the room"
	noProof     = "it does not name the machine that sent it"
	foreignKey  = "it names a key that its sender does not have"
)

func (r *ring) clone() *ring {
	c := *r
	c.Machines = make(map[mail.Machine]*keyed, len(r.Machines))
	for name, k := range r.Machines {
		one := *k
		c.Machines[name] = &one
	}
	return &c
}

// judge takes in the next message, and returns why it does not count; "" if it does.
func (r *ring) judge(a *arrival) (why string) {
	for _, x := range a.skipped {
		if k := r.Machines[x.Machine]; k != nil {
			k.Last[x.Way] = max(k.Last[x.Way], x.Number)
		}
	}
	why = r.refuses(a)
	r.Seq, r.At, r.ID = a.seq, a.at, a.id
	return why
}

func (r *ring) refuses(a *arrival) string {
	p := &a.proof
	if r.Copied = a.fence == "" && (r.Copied || r.Seq == 0) && r.isBase(a); r.Copied {
		r.learn(changeIn(a.text, true), a)
		return ""
	}
	k := r.Machines[p.machine]
	if p.signature == nil || k == nil {
		return r.refusesStranger(a)
	}
	return r.refusesKnown(a, k)
}

// refusesKnown is refuses for a machine that has, or had, a key in the room.
func (r *ring) refusesKnown(a *arrival, k *keyed) string {
	p := &a.proof
	switch {
	case k.Key == nil:
		return removedKey
	case !r.signs(p, k.Key):
		return wrongKey
	case a.fence != "": // the room has ended here, however often the fence is repeated
		return ""
	case p.number <= k.Last[p.way]:
		return sentBefore
	}
	k.Last[p.way] = p.number
	c := changeIn(a.text, false)
	if c.bad {
		return foreignKey
	}
	if c.of != "" && c.of != p.machine && !p.copied && !c.forOthers {
		return othersName
	}
	r.learn(c, a)
	return ""
}

// isBase reports whether a message is part of the copy that founded the room in its lane.
func (r *ring) isBase(a *arrival) bool {
	p := &a.proof
	switch {
	case !p.base || a.given != a.seq:
		return false
	case r.Seq == 0 && p.signature != nil:
		r.Founder = bytes.Clone(p.key)
	case p.signature == nil: // from a version that does not sign
		return r.Founder == nil && !r.Admits
	}
	return r.signs(p, r.Founder)
}

// refusesStranger is refuses for a machine that has no key in the room.
func (r *ring) refusesStranger(a *arrival) string {
	p := &a.proof
	if r.Admits {
		if p.signature == nil {
			return noProof
		}
		return notAdmitted
	}
	c := changeIn(a.text, true)
	switch {
	case c.of != "" && r.Machines[c.of] != nil, c.admits && len(r.Machines) > 0:
		return othersName
	case len(c.key) > 0 && c.of == p.machine && p.by(c.key): // otherwise no key is given
		r.learn(c, a)
		r.Machines[c.of].Last[p.way] = p.number
	}
	return ""
}

// signs reports whether a message was signed with a key. It verifies the signature of a batch once.
func (r *ring) signs(p *proof, key []byte) bool {
	v := &r.verified
	if v.root == p.root && bytes.Equal(v.signature, p.signature) && bytes.Equal(v.key, key) && len(key) > 0 {
		return true
	}
	if !p.by(key) {
		return false
	}
	r.verified = proof{root: p.root, signature: p.signature, key: key}
	return true
}

// learn applies a change of keys by a machine that is allowed to make it.
func (r *ring) learn(c change, a *arrival) {
	switch {
	case len(c.key) > 0:
		k := r.Machines[c.of]
		if k == nil {
			if r.Machines == nil {
				r.Machines = make(map[mail.Machine]*keyed)
			}
			k = &keyed{}
			r.Machines[c.of] = k
		}
		k.Key, k.At = bytes.Clone(c.key), c.at
	case c.left:
		if k := r.Machines[c.of]; k != nil {
			k.Key, k.At = nil, c.at
		}
	case c.admits && len(r.Machines) > 0:
		r.Admits = true
	}
}

// change is an event's change to the keys of a room.
type change struct {
	of        mail.Machine // the machine that makes it
	key       []byte
	left      bool
	admits    bool
	forOthers bool // another machine may make it
	bad       bool // the key is invalid
	at        mail.Time
}

var mayBeChange = [][]byte{[]byte(`"machine"`), []byte(`"erased"`), []byte(`\u`)}

// changeIn reads the change from an event. A quick scan rules out most events.
func changeIn(text []byte, always bool) (c change) {
	if !always && !slices.ContainsFunc(mayBeChange, func(word []byte) bool { return bytes.Contains(text, word) }) {
		return c
	}
	e, ok := jsonl.Decode(1, text)
	switch {
	case !ok:
	case e.Machine != nil:
		m := e.Machine
		c = change{of: m.Name, left: m.Left, admits: m.Admits, at: e.At, forOthers: m.Key != "" || m.Left}
		if m.Key != "" {
			c.key, c.bad = parsed(m.Key)
		}
	case e.Erased != nil && e.Erased.Done:
		c.of = e.Erased.Machine
	}
	return c
}

func parsed(s string) (key []byte, bad bool) {
	key, err := mail.ParseKey(s)
	return key, err != nil
}

// standing is an immutable summary of a ring for the writer.
type standing struct {
	keys     map[mail.Machine]mail.MachineKey
	admits   bool
	numbered uint64 // this machine's last number
	known    bool   // there is a ring
}

func (r *ring) standing(me mail.Machine) standing {
	s := standing{keys: make(map[mail.Machine]mail.MachineKey), admits: r.Admits, known: true}
	for name, k := range r.Machines {
		s.keys[name] = mail.MachineKey{Key: k.Key, At: k.At}
	}
	if k := r.Machines[me]; k != nil {
		s.numbered = slices.Max(k.Last[:])
	}
	return s
}

// same reports whether a standing still agrees with a ring.
func (s *standing) same(r *ring) bool {
	if !s.known || s.admits != r.Admits || len(s.keys) != len(r.Machines) {
		return false
	}
	for name, k := range r.Machines {
		if known := s.keys[name]; known.At != k.At || !bytes.Equal(known.Key, k.Key) {
			return false
		}
	}
	return true
}
