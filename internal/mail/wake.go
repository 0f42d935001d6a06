package mail

// Unwoken is an agent or role with waiting mail that is worth waking it for and that no door has handed over yet.
type Unwoken struct {
	Agent  Name     // whom to wake; empty: no agent has the role
	Role   string   // the role for whose next holder mail is held; empty if all is in the agent's mailbox
	Roles  []string // of the agent; without an agent, only Role
	State  State    // Gone for an agent that is not on the roster
	Since  Time     // when State was entered
	Live   bool     // it has a session that is not known to have ended
	Broken bool     // its last turn was interrupted, by a person or because the model could not be reached
	Known  bool     // a hook has shown mail to its session before
	Unread int      // unread messages of every kind, held ones included
	Urgent int      // urgent ones among Unread
	Mail   []UnwokenMail
	// Elsewhere says that another machine's post office rings. Away is the machine that should ring but cannot be
	// heard.
	Elsewhere bool
	Away      Machine
	// Recording says that the agent was given some of Mail and that the record of this is still being written.
	Recording bool
}

// UnwokenMail is a message worth waking its recipient for.
type UnwokenMail struct {
	ID       ID
	Seq      Seq
	From     Address
	Urgent   bool
	Notified Time   // when a door was last rung for it; 0: never
	Door     string // the door that was rung
	Waited   bool   // it ended a wait of the recipient, which is therefore awake
	// Told is when an idle session was given the text at its start, if no turn has begun since. 0: it was not.
	Told Time
}
