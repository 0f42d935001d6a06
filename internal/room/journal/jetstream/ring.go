package jetstream

import (
	"bytes"
	"fmt"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// ring is what a room in a shard has said of the keys of its machines, up to a place. It follows from the messages of
// the shard in their order, and from nothing else, so it is the same on each machine.
type ring struct {
	Place mail.Seq `json:"place"`
	Seq   uint64   `json:"seq"` // of the message at that place, or before it
	ID    string   `json:"id"`  // of that message

	Machines map[mail.Machine]*keyed `json:"machines,omitempty"`
	// Admits says that nobody comes in any more but by one who is in.
	Admits bool `json:"admits,omitzero"`
	// Founder is the key of the machine that copied the room to where it is, and Copied that more of that may come.
	Founder []byte `json:"founder,omitempty"`
	Copied  bool   `json:"copied,omitzero"`

	verified proof // the last batch whose signature was right
}

// keyed is a machine whose key the room has, or had.
type keyed struct {
	Key  []byte       `json:"key,omitempty"`  // without one, the machine was removed
	At   mail.Time    `json:"at"`             // when it was given, or removed
	Last [ways]uint64 `json:"last,omitempty"` // the numbers of what it sent last
}

// Why a message is none of the room's.
const (
	wrongKey    = "it is not signed with the key of that machine"
	removedKey  = "that machine was removed from the room"
	sentBefore  = "it was sent before"
	othersName  = "it is said in the name of another machine"
	notAdmitted = "that machine was not admitted to the room"
	noProof     = "it does not show which machine sent it"
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

// judge takes in the next message, and returns why it does not count; "": it does.
func (r *ring) judge(a *arrival) (why string) {
	for _, x := range a.skipped {
		if k := r.Machines[x.Machine]; k != nil {
			k.Last[x.Way] = max(k.Last[x.Way], x.Number)
		}
	}
	why = r.refuses(a)
	r.Place, r.Seq, r.ID = a.seq, a.at, a.id
	return why
}

func (r *ring) refuses(a *arrival) string {
	p := &a.proof
	if r.Copied = a.fence == "" && (r.Copied || r.Place == 0) && r.isBase(a); r.Copied {
		r.learn(changeIn(a.text, true), a)
		return ""
	}
	k := r.Machines[p.machine]
	if p.signature == nil || k == nil {
		return r.refusesStranger(a)
	}
	return r.refusesKnown(a, k)
}

// refusesKnown is refuses for a name that has, or had, a key in the room.
func (r *ring) refusesKnown(a *arrival, k *keyed) string {
	p := &a.proof
	switch {
	case k.Key == nil:
		return removedKey
	case !r.signs(p, k.Key):
		return wrongKey
	case a.fence != "": // the room has ended here, however often this is said
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

// isBase reports whether a message is one of those by which the room was copied to where it is.
func (r *ring) isBase(a *arrival) bool {
	p := &a.proof
	switch {
	case !p.base || a.place != a.seq:
		return false
	case r.Place == 0 && p.signature != nil:
		r.Founder = bytes.Clone(p.key)
	case p.signature == nil: // of a version that signs nothing
		return r.Founder == nil && !r.Admits
	}
	return r.signs(p, r.Founder)
}

// refusesStranger is refuses for who has no key in the room.
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
	case len(c.key) > 0 && c.of == p.machine && p.by(c.key): // any other gives nobody a key
		r.learn(c, a)
		r.Machines[c.of].Last[p.way] = p.number
	}
	return ""
}

// signs reports whether a message was signed with a key. Of a batch this is found out once.
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

// learn notes what a machine that may say so says of keys.
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

// change is what an event says of a machine that has to do with proofs.
type change struct {
	of        mail.Machine // whose word it is
	key       []byte
	left      bool
	admits    bool
	forOthers bool // another machine may say it
	bad       bool // the key is none
	at        mail.Time
}

var mayBeChange = [][]byte{[]byte(`"machine"`), []byte(`"erased"`), []byte(`\u`)}

// changeIn reads it from an event. Most are told by a glance that they say nothing of it.
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

// standing is what a ring says to the writer: a part of it that does not change any more.
type standing struct {
	keys     map[mail.Machine]mail.MachineKey
	admits   bool
	numbered uint64 // the last number of this machine
	known    bool   // there is a ring
}

func (r *ring) standing(me mail.Machine) standing {
	s := standing{keys: make(map[mail.Machine]mail.MachineKey), admits: r.Admits, known: true}
	for name, k := range r.Machines {
		s.keys[name] = mail.MachineKey{Key: k.Key, At: k.At}
	}
	if k := r.Machines[me]; k != nil {
		s.numbered = max(k.Last[0], slices.Max(k.Last[:]))
	}
	return s
}

// same reports whether two rings say the same to a writer.
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

func (r *ring) String() string {
	return fmt.Sprintf("keys of %d machines at %d", len(r.Machines), r.Place)
}
