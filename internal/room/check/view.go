package check

import (
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Rules are the settings of a room that no event changes.
type Rules struct {
	Room       mail.RoomName
	MaxBody    int      // bytes
	Namespaces []string // of tags
	TTL        policy.TTL
	Retention  policy.Retention
	Limits     policy.Limits
	Claims     policy.ClaimRule
	Quiet      time.Duration // how long after a turn a file stays its writer's
	// Orchestrators are agents to whom the configuration gives that role, as soon as they are on the roster.
	Orchestrators []mail.Name
	Protocols     []mail.Protocol
	// Machine is the name of this one; "": no other machine writes to the journal.
	Machine mail.Machine
	// Alive reports whether a process of this machine runs.
	Alive func(process string) bool
	// Ended reports whether a process is known to have ended. About a process for which Alive does not vouch nothing
	// may be known.
	Ended func(process string) bool
	// LetIn reports whether a machine with a pass is still admitted.
	LetIn func(machine mail.Machine, pass string) bool
	// Exists reports whether the post office has another room.
	Exists func(mail.RoomName) bool
	// NewID returns an id in a given form that no message of a state has.
	NewID func(*fold.State, mail.IDForm) mail.ID
	// Alone says that no other room can be reached.
	Alone bool
}

// Caller is the one that makes a request.
type Caller struct {
	Who     mail.Name
	Foreign bool       // Who is the address of an agent of another room
	Across  bool       // the caller's messages came from another room
	Copies  mail.ID    // the id of the message there
	Files   bool       // Who is the user, who repeats the content of foreign files
	Means   mail.Means // how the user is known, if the user is the caller
	Right   bool       // the caller, of another room, may settle there the question that it answers
	// Enters reports whether the caller may use another room. Nil: all of them.
	Enters func(mail.RoomName) bool
	// Claimed is another name that a session gives itself now. It stays the agent that it is.
	Claimed mail.Name
	Process string     // the process that makes the request, as the system tells; "": unknown
	Pass    *mail.Pass // of the machine that vouches for the caller; nil: this one does
	// Absent says that the post office sends what the caller left with it: that is no sign of life.
	Absent bool
	Parent mail.Name // in whose session the caller runs, if it is not on the roster: whose child it becomes
}

// Asker is a caller and the rules of the room: enough for checks that need no state.
type Asker struct {
	*Rules
	*Caller
}

// View is what a caller sees of a room at a moment.
type View struct {
	Asker
	fold.Sight
	Now mail.Time
}

// reaches reports whether the caller may write to another room.
func (v *Asker) reaches(room mail.RoomName) bool {
	return !v.Alone && !v.Foreign && (v.Enters == nil || v.Enters(room))
}

// IsUser reports whether the caller is the user.
func (v *Caller) IsUser() bool { return v.Who == mail.User }

// NeedUser refuses everyone but the person.
func (v *Caller) NeedUser(to string) error {
	if v.IsUser() {
		return nil
	}
	return mail.Errorf(mail.Denied, "only the user may %s; you are %s", to, v.Who)
}

// Me returns the caller as a member, nil for an agent that is not on the roster.
func (v *View) Me() *fold.Member {
	switch {
	case v.IsUser():
		return v.Members[mail.User]
	case v.Foreign:
		return nil
	}
	return v.Agent(v.Who)
}

// Mailbox returns the member with a mailbox: the caller, or a named agent, whose mailbox anyone may read.
func (v *View) Mailbox(n mail.Name) (*fold.Member, error) {
	if n == "" {
		n = v.Who
	}
	if n == mail.User {
		return v.Members[mail.User], nil
	}
	n = mail.Name(norm.NFC.String(string(n)))
	switch m := v.Agent(n); {
	case m != nil:
		return m, nil
	case v.isPerson(n):
		return v.Members[mail.User], nil
	}
	return nil, v.NoAgent(n)
}

// isPerson reports whether a name leads to the user: the reserved one, and those of agents that were merged with it.
func (v *View) isPerson(n mail.Name) bool {
	m := v.Members[n]
	return m != nil && m.IsUser()
}

// NotPerson refuses a caller that uses a name which leads to the user, and is not known to be the user.
func (v *View) NotPerson() error { return v.notPerson(v.Who) }

// notPerson refuses a caller that uses a name which leads to the user. The user calls as "user".
func (v *View) notPerson(n mail.Name) error {
	if n == mail.User || !v.isPerson(n) {
		return nil
	}
	return mail.Errorf(mail.Denied, "%q is the person who runs room %s, and only that person may use the name: "+
		"nothing was done. If you are that person, omit the name: you are the user", n, v.Room)
}

// NoAgent is the error for the name of an agent that is not on the roster.
func (v *View) NoAgent(n mail.Name) error {
	return mail.Errorf(mail.NotFound, "there is no agent %q in room %s%s", n, v.Room, v.Suggest(string(n)))
}

// tracked reports whether the caller's room keeps a message though it goes to other rooms: a question, so that the
// caller sees that it is open. The user, who is in every room, is asked and answered there.
func (v *Caller) tracked(t mail.Type) bool { return t.Asks() && !v.IsUser() && !v.Foreign }
