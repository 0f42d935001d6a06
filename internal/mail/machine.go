package mail

import "encoding/base64"

// Machine is the name by which a machine with a post office calls itself: letters, digits, '.', '_' and '-', beginning
// with a letter or digit. Post offices of several machines may share a room; "" is where a room is in a file, which
// has one.
type Machine string

// maxMachine is the longest name of a machine, in bytes: as long as a label of a host name may be.
const maxMachine = 63

// ParseMachine checks s as the name of a machine.
func ParseMachine(s string) (Machine, error) {
	if s == "" || len(s) > maxMachine || !isWordOfHost(s[0]) {
		return "", notMachine(s)
	}
	for i := range len(s) {
		if !isWordOfHost(s[i]) && s[i] != '.' && s[i] != '_' && s[i] != '-' {
			return "", notMachine(s)
		}
	}
	return Machine(s), nil
}

func isWordOfHost(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func notMachine(s string) error {
	return Errorf(Invalid, "%q cannot be the name of a machine: use 1 to %d letters, digits, '.', '_' or '-', "+
		"beginning with a letter or digit", s, maxMachine)
}

// MachineChange is the journal's record of what a machine has to do with the room.
type MachineChange struct {
	Name Machine `json:"name"`
	// Follows says that the machine keeps a copy of the room, so that what is erased has to go from its disk too; Left
	// that it does so no more, or will not come back.
	Follows bool `json:"follows,omitzero"`
	Left    bool `json:"left,omitzero"`
	// Upkeep says that the machine wants to look after the room: its retention, its lapsed sessions, and what the
	// person is told of it. The machine is given that if After is still the place where it was last given, 0 if it
	// never was. So no clock decides who does it.
	Upkeep bool `json:"upkeep,omitzero"`
	After  Seq  `json:"after,omitzero"`
	// Rules is the version of the rules of rooms by which the machine's post office applies events; see RulesOfRight.
	Rules int `json:"rules,omitzero"`
	// Doors are the agents and roles that the machine can wake without a session, as addresses. Nil says nothing of
	// them.
	Doors []Address `json:"doors,omitzero"`
	By    Name      `json:"by,omitempty"` // who made the change, if not the machine
	// Key is the public key by whose signatures the machine is known from here on (Ed25519, base64url). It says so
	// itself, or another one does that is known.
	Key string `json:"key,omitempty"`
	// Admits says that from here on no machine comes in but by one that is in.
	Admits bool `json:"admits,omitzero"`
}

// OfKeys reports whether c says by which keys events are believed from here on.
func (c *MachineChange) OfKeys() bool { return c.Key != "" || c.Left || c.Admits }

// RulesOfRight is the version of the rules in which an answer of somebody who was not asked settles nothing
// (Message.Suggests). It counts in a room once all machines that follow it have said that they know it, because an
// earlier version takes every answer for one that settles.
const RulesOfRight = 1

// RulesOfMerge is the version in which an agent may be made one with another (AgentChange.Merge). As long as one of
// the machines knows less, none is.
const RulesOfMerge = 2

// RulesOfOffers is the version that knows AudienceHolders. Until all machines do, mail to a role is for one holder at
// a time.
const RulesOfOffers = 3

// RulesOfEntries is the version that knows what configurations have sent (ScheduleEntry). Until all machines do, no
// entry is obeyed: each machine's would be sent.
const RulesOfEntries = 4

// RulesNow is the version by which this program applies events.
const RulesNow = RulesOfEntries

// keySize is how long a public Ed25519 key is, in bytes.
const keySize = 32

// KeyText is how the public key of a machine is shown, and typed.
func KeyText(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }

// ParseKey reads what KeyText wrote.
func ParseKey(s string) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(key) != keySize {
		return nil, Errorf(Invalid, "%q is not the key of a machine, which has %d letters, digits, '-' and '_'", s,
			base64.RawURLEncoding.EncodedLen(keySize))
	}
	return key, nil
}

// MachineKey is by what a machine is known in a room.
type MachineKey struct {
	Key []byte // without one, it was removed
	At  Time   // since when
}

// MachineRules is the version of the rules that a machine has said it knows.
type MachineRules struct {
	Machine Machine `json:"machine"`
	Rules   int     `json:"rules"`
}

// MachineDoors are the agents and roles, as addresses, that a machine can wake without a session.
type MachineDoors struct {
	Machine Machine   `json:"machine"`
	For     []Address `json:"for"`
}
