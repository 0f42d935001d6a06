package mail

import "encoding/base64"

// Machine is the name that a machine with a post office gives itself: letters, digits, '.', '_' and '-', beginning
// with a letter or digit. Post offices of several machines may share a room; "" stands for the one machine of a
// room in a file.
type Machine string

// maxMachine is the longest name of a machine, in bytes: the limit of a host name label.
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
	return Errorf(Invalid, "%q is not a valid machine name: use 1 to %d letters, digits, '.', '_' or '-', "+
		"beginning with a letter or digit", s, maxMachine)
}

// MachineChange is the journal's record of a machine's relation to the room.
type MachineChange struct {
	Name Machine `json:"name"`
	// Follows says that the machine keeps a copy of the room, so erased text must go from its disk too; Left, that
	// it no longer does, or will not come back.
	Follows bool `json:"follows,omitzero"`
	Left    bool `json:"left,omitzero"`
	// Upkeep says that the machine wants to do the room's upkeep: retention, lapsed sessions, and notices to the
	// person. It is granted if After is still the sequence number at which it was last granted, 0 if never. So no
	// clock decides.
	Upkeep bool `json:"upkeep,omitzero"`
	After  Seq  `json:"after,omitzero"`
	// Rules is the version of the room rules by which the machine's post office applies events; see RulesOfRight.
	Rules int `json:"rules,omitzero"`
	// Doors are the addresses of the agents and roles that the machine can wake without a session. Nil leaves them
	// unchanged.
	Doors []Address `json:"doors,omitzero"`
	By    Name      `json:"by,omitempty"` // who made the change, if not the machine
	// Key is the public key that verifies the machine's signatures from here on (Ed25519, base64url). The machine
	// itself announces it, or another known one.
	Key string `json:"key,omitempty"`
	// Admits says that from here on a machine can join only through a member.
	Admits bool `json:"admits,omitzero"`
}

// OfKeys reports whether c changes which keys are trusted from here on.
func (c *MachineChange) OfKeys() bool { return c.Key != "" || c.Left || c.Admits }

// RulesOfRight is the version of the rules in which an answer by someone who was not asked settles nothing
// (Message.Suggests). It takes effect in a room once all machines that follow it have announced it, because an
// earlier version treats every answer as settling.
const RulesOfRight = 1

// RulesOfMerge is the version with merging of agents (AgentChange.Merge). While one of the machines has an earlier
// version, no agent is merged.
const RulesOfMerge = 2

// RulesOfOffers is the version that knows AudienceHolders. Until all machines have it, mail to a role is for one
// holder at a time.
const RulesOfOffers = 3

// RulesOfEntries is the version that tracks the messages of configuration entries (ScheduleEntry). Until all
// machines have it, no entry is obeyed, because each machine's would be sent.
const RulesOfEntries = 4

// RulesNow is the version by which this program applies events.
const RulesNow = RulesOfEntries

// keySize is the length of a public Ed25519 key in bytes.
const keySize = 32

// KeyText returns the form in which a machine's public key is shown and typed.
func KeyText(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }

// ParseKey parses the form of KeyText.
func ParseKey(s string) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(key) != keySize {
		return nil, Errorf(Invalid, "%q is not a machine key: use %d letters, digits, '-' and '_'", s,
			base64.RawURLEncoding.EncodedLen(keySize))
	}
	return key, nil
}

// MachineKey identifies a machine in a room.
type MachineKey struct {
	Key []byte // nil: the machine was removed
	At  Time   // since when
}

// MachineRules is the version of the rules that a machine announced.
type MachineRules struct {
	Machine Machine `json:"machine"`
	Rules   int     `json:"rules"`
}

// MachineDoors are the agents and roles, as addresses, that a machine can wake without a session.
type MachineDoors struct {
	Machine Machine   `json:"machine"`
	For     []Address `json:"for"`
}
