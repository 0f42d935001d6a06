package mail

import (
	"slices"
	"strings"
)

// Address says whom a message is for, in canonical form: "agent:<name>", "role:<role>", "orchestrator",
// "<ns>:<value>", "all" or "user". A sender is an Address too: an agent's, "user", "system" or, for an agent of
// another room of the same post office, "far:<name>@<room>". Older journals have "agent:<name>@<room>" for such a
// sender, which cannot be told from an agent with that name; it is kept and shown as is.
type Address string

// Addresses without a value.
const (
	ToAll          Address = "all"
	ToUser         Address = "user"
	ToOrchestrator Address = "orchestrator" // same audience as "role:orchestrator"
	FromSystem     Address = "system"
)

// Kind is the kind of an address; it determines audience and expiry.
type Kind uint8

// The kinds. The last is the form in which senders of other rooms sign. Only questions are addressed to it, in the
// room where that sender asked; it reaches no one.
const (
	ToAgent Kind = iota + 1
	ToRole
	ToTag
	ToEveryone
	ToPerson
	FromFar
)

// far is the prefix of the address of an agent of another room.
const far = "far:"

// FarAddress returns the address under which an agent of a room, from, signs in other rooms.
func FarAddress(from Address, room RoomName) Address {
	return Address(far + string(from.Signer()) + "@" + string(room))
}

// Far splits an address of kind FromFar into the agent's address in its room, and the room. ok is false for any
// other address.
func (a Address) Far() (agent Address, room RoomName, ok bool) {
	rest, ok := strings.CutPrefix(string(a), far)
	i := strings.LastIndexByte(rest, '@') // rooms have no '@'
	if !ok || i <= 0 {
		return "", "", false
	}
	room, err := ParseRoom(rest[i+1:])
	return AgentAddress(Name(rest[:i])), room, err == nil
}

// TagNamespaces are the tag namespaces of every room. A room's configuration may add more.
func TagNamespaces() []string { return []string{"project", "concern", "domain"} }

// AgentAddress returns the address of the agent called n, under which it also signs.
func AgentAddress(n Name) Address {
	switch n {
	case User, System, Orchestrator:
		return Address(n)
	}
	return Address("agent:" + n)
}

// RoleAddress returns the address of a role.
func RoleAddress(role string) Address {
	if role == string(Orchestrator) {
		return ToOrchestrator
	}
	return Address("role:" + role)
}

// Kind returns the kind of a canonical address.
func (a Address) Kind() Kind {
	switch {
	case a == ToAll:
		return ToEveryone
	case a == ToUser:
		return ToPerson
	case a == ToOrchestrator, strings.HasPrefix(string(a), "role:"):
		return ToRole
	case strings.HasPrefix(string(a), "agent:"):
		return ToAgent
	case strings.HasPrefix(string(a), far):
		return FromFar
	}
	return ToTag
}

// RolesAlone reports whether all addresses are roles, and there is at least one.
func RolesAlone(to []Address) bool {
	return len(to) > 0 && !slices.ContainsFunc(to, func(a Address) bool { return a.Kind() != ToRole })
}

// Value returns the part after the kind: the agent's name, the role, or the whole tag.
func (a Address) Value() string {
	switch a.Kind() {
	case ToAgent:
		return strings.TrimPrefix(string(a), "agent:")
	case ToRole:
		return strings.TrimPrefix(string(a), "role:")
	}
	return string(a)
}

// Signer returns the name in an address from a From field. For a sender of another room that is its whole address,
// which no agent can have as a name.
func (a Address) Signer() Name { return Name(strings.TrimPrefix(string(a), "agent:")) }

// ParseAddress parses an address with a kind. For a word without one ("builder-1", "小克") it returns bare = true:
// only the room knows whether an agent has that name. The room also handles the "@room" suffix, because names in
// older journals may contain '@'.
func ParseAddress(s string, namespaces []string) (a Address, bare bool, err error) {
	if err := checkWord("address", trimKind(s)); err != nil {
		return "", false, err
	}
	switch s {
	case "all", "broadcast":
		return ToAll, false, nil
	case "user":
		return ToUser, false, nil
	case "orchestrator", "role:orchestrator":
		return ToOrchestrator, false, nil
	}
	ns, value, ok := strings.Cut(s, ":")
	switch {
	case !ok:
		return "", true, nil
	case ns == "agent":
		if value == string(User) {
			return ToUser, false, nil
		}
		return Address(s), false, nil
	case ns == "far":
		if _, _, ok := Address(s).Far(); !ok {
			return "", false, Errorf(Invalid, "%q is not an address in another room: use far:NAME@ROOM", s)
		}
		return Address(s), false, nil
	case ns == "role":
		if _, err := ParseRole(value); err != nil {
			return "", false, err
		}
		return Address(s), false, nil
	case slices.Contains(namespaces, ns):
		if _, err := ParseTag(s, namespaces); err != nil {
			return "", false, err
		}
		return Address(s), false, nil
	}
	return "", true, nil
}

// trimKind cuts off the kind, and a far agent's room, which do not count against the length of the name.
func trimKind(s string) string {
	if agent, _, ok := Address(s).Far(); ok {
		s = string(agent)
	}
	return strings.TrimPrefix(strings.TrimPrefix(s, "agent:"), "role:")
}

// ParseRole checks a role: a word without ':' or '@'.
func ParseRole(s string) (string, error) {
	if err := checkWord("role", s); err != nil {
		return "", err
	}
	if strings.ContainsAny(s, ":@,") {
		return "", Errorf(Invalid, "role %q contains ':', '@' or ','; use a plain word such as builder", s)
	}
	return s, nil
}

// ParseTag checks a tag: a known namespace, ':', and a value.
func ParseTag(s string, namespaces []string) (string, error) {
	if err := checkWord("tag", s); err != nil {
		return "", err
	}
	ns, value, ok := strings.Cut(s, ":")
	if !ok || value == "" || !slices.Contains(namespaces, ns) {
		return "", Errorf(Invalid, "%q is not a tag: use namespace:value, with one of the namespaces %s", s,
			strings.Join(namespaces, ", "))
	}
	if strings.ContainsAny(value, "@,") {
		return "", Errorf(Invalid, "tag %q contains '@' or ','", s)
	}
	return s, nil
}
