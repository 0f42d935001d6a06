package mail

// Unwoken is somebody for whom mail waits that is worth waking them, and whose text nobody has handed over yet.
type Unwoken struct {
	Agent  Name     // whom to wake; empty: nobody bears the role
	Role   string   // the role for whose next holder mail is held; empty if all is in the agent's mailbox
	Roles  []string // of the agent; if there is none, Role alone
	State  State    // Gone for an agent that is not on the roster
	Since  Time     // when State was entered
	Live   bool     // it has a session that is not known to have ended
	Broken bool     // its last turn was broken off, by a person or because the model could not be reached
	Known  bool     // its session was shown mail by a hook before
	Unread int      // whatever its kind, held mail included
	Urgent int      // of Unread
	Mail   []UnwokenMail
	// Elsewhere says that the post office of another machine rings, and Away which machine it is that should and is
	// not heard of.
	Elsewhere bool
	Away      Machine
	// Recording says that the agent was given some of Mail, and that the record of it is still being written.
	Recording bool
}

// UnwokenMail is a message worth waking somebody.
type UnwokenMail struct {
	ID       ID
	Seq      Seq
	From     Address
	Urgent   bool
	Notified Time   // when a door was last rung for it; 0: never
	Door     string // which
	Waited   bool   // it ended a wait of the recipient, which therefore is awake
	// Told is when an idle session was handed the text at its start, if no turn has begun since. 0: it was not.
	Told Time
}
