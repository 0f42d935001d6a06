package mail

import "slices"

// State is what an agent is doing.
type State string

// The five states. Working, Asking and Idle agents are live.
const (
	Working State = "working" // in the middle of a turn
	Asking  State = "asking"  // at its client's dialog, which a person has to answer: it follows from Agent.Dialogs
	Idle    State = "idle"    // alive, between turns
	Frozen  State = "frozen"  // paused; its mail waits and does not expire
	Gone    State = "gone"    // its session ended; its next session adopts its mail
)

// Live reports whether an agent in state s can be given work.
func (s State) Live() bool { return s == Working || s == Asking || s == Idle }

// LiveStates returns the states of agents that can be given work.
func LiveStates() []State { return []State{Working, Asking, Idle} }

// States lists the states.
func States() []State { return []State{Working, Asking, Idle, Frozen, Gone} }

// ParseState checks s as a state.
func ParseState(s string) (State, error) {
	if st := State(s); slices.Contains(States(), st) {
		return st, nil
	}
	return "", Errorf(Invalid, "%q is not a state; the states are working, asking, idle, frozen, gone", s)
}

// Agent is one line of the roster.
type Agent struct {
	Name   Name     `json:"name"`
	Roles  []string `json:"roles"`
	Tags   []string `json:"tags"`
	State  State    `json:"state"`
	Since  Time     `json:"since,omitzero"` // when State was entered
	Task   string   `json:"task,omitempty"`
	Parent Name     `json:"parent,omitempty"`
	// Aliases are names that lead to it as well: its own of before, and those of who turned out to be the same.
	Aliases    []Name `json:"aliases,omitempty"`
	Client     string `json:"client,omitempty"` // the program it runs in, as it says itself
	Registered Time   `json:"registered,omitzero"`
	Seen       Time   `json:"last_seen,omitzero"` // to the minute
	Session    string `json:"session,omitempty"`
	// the session that ended last, which the client may be able to resume
	Left   string `json:"last_session,omitempty"`
	Unread int    `json:"unread"`
	Door   string `json:"door,omitempty"`   // the door that last proved to work
	DoorAt Time   `json:"door_at,omitzero"` // when it did
	// Machine is where Session runs, or the last one did; "" where the room is in a file. MachineAway says that its
	// post office is not heard of at present: State is what was known of the agent before.
	Machine     Machine `json:"machine,omitempty"`
	MachineAway bool    `json:"machine_away,omitzero"`
	// Dialogs are those at which its client waits for a person, the oldest first.
	Dialogs []Dialog `json:"dialogs,omitempty"`
}

// Presence is what somebody says of an agent: it registers the agent, or changes what the roster says of it.
// Nil slices and pointers leave what is there.
type Presence struct {
	Name   Name     `json:"name,omitempty"` // empty: the caller
	Roles  []string `json:"roles,omitzero"`
	Tags   []string `json:"tags,omitzero"`
	State  State    `json:"state,omitempty"`
	Task   *string  `json:"task,omitzero"`
	Parent *Name    `json:"parent,omitzero"`
	Client string   `json:"client,omitempty"`
	// Session claims the name for one running instance. If another live session holds it, the newcomer is registered
	// as NAME-2 (or the next free number), or, with TakeOver, becomes the holder. End gives the name back.
	Session  string `json:"session,omitempty"`
	TakeOver bool   `json:"take_over,omitzero"`
	End      bool   `json:"end,omitzero"`
	// Process is the running program that the session belongs to, spelled in any way that no other program has. With
	// Join, the session is but a connection of that program, such as an MCP server's: it shares the agent of the
	// program's own session, whichever of the two comes first. A connection whose End is said with Join too frees the
	// name, and leaves the agent as it is until nothing was heard of it for some minutes. Join without Session claims
	// no name: the agent lives as long as Process, if the post office sees that run.
	Process string `json:"process,omitempty"`
	Join    bool   `json:"join,omitzero"`
	// Serves says of a connection that the caller is its MCP server, without which it has ended.
	Serves bool `json:"serves,omitzero"`
	// Access is for doors of this machine, as in Turn; a room takes no notice of it. It says how to get at the session
	// that a connection belongs to, and counts where no hook tells of that session.
	Access *Access `json:"access,omitempty"`
	// Inbox is the bridge that puts all mail for the agent into a mailbox which the agent's client shows it by itself.
	// Only bridges say so.
	Inbox *string `json:"-"`
	// Update refuses to create: an unknown name is NotFound.
	Update bool `json:"update,omitzero"`
}

// Expectation is what a post office found of an agent's name when it checked a change.
type Expectation string

// The expectations. None is that it does not matter.
const (
	ExpectNew   Expectation = "new"   // no agent on the roster bears the name
	ExpectKnown Expectation = "known" // one does
)

// AgentChange is the journal's record of a change in the roster. Only what changed is present; a change with nothing
// but a name is a heartbeat.
type AgentChange struct {
	Name     Name     `json:"name"`
	Roles    []string `json:"roles,omitzero"`
	Tags     []string `json:"tags,omitzero"`
	State    State    `json:"state,omitempty"`
	Task     *string  `json:"task,omitzero"`
	Parent   *Name    `json:"parent,omitzero"`
	Client   string   `json:"client,omitempty"`
	Session  string   `json:"session,omitempty"`
	TakeOver bool     `json:"take_over,omitzero"`
	End      bool     `json:"end,omitzero"` // the session named in Session ended
	Process  string   `json:"process,omitempty"`
	Join     bool     `json:"join,omitzero"`
	// Server is, with Join, the MCP server whose connection Session is, as the system tells: it may end while the
	// client that started it runs on. "": nobody can tell.
	Server string `json:"server,omitempty"`
	// Ended is, with an End by the post office, the program that was found to have ended. It counts if Session is, or
	// was, of that program.
	Ended string `json:"ended,omitempty"`
	// Machine is where Session runs, and whose post office has checked the change. What it checked, others may have
	// made untrue by the time that the change has its place: a room that several machines write to checks it again
	// then, a name that is new for instance.
	Machine Machine `json:"machine,omitempty"`
	// Expects is what it found of the name: if that is not so any more, the change does not count.
	Expects Expectation `json:"expects,omitempty"`
	// Silent is, with an End of which the post office says that the session has lapsed, the place where that was last
	// heard of: if it was heard of since, it has not.
	Silent Seq `json:"silent,omitzero"`
	// Most is how many live agents may be below the parent of an agent that is new, or share the name of a session
	// that finds it held; 0: as many as like.
	Most    int     `json:"most,omitzero"`
	Turn    Moment  `json:"turn,omitempty"`  // TurnStart or TurnEnd
	Over    bool    `json:"over,omitzero"`   // of TurnEnd: the turn was broken off
	Summed  bool    `json:"summed,omitzero"` // Session goes on with a summary of what it was
	Inbox   *string `json:"inbox,omitzero"`
	Renamed Name    `json:"renamed,omitempty"` // the agent's new name
	// Merge says that Renamed is somebody else's name, an agent's or the user's, who turned out to be the same: all
	// that the agent had is theirs from now on, and its names lead to them.
	Merge   bool `json:"merge,omitzero"`
	Retired bool `json:"retired,omitzero"` // the agent leaves the roster
	// SHA-256, in hex, of the agent's bearer token; it replaces the one before
	TokenSum string `json:"token_sum,omitempty"`
	By       Name   `json:"by,omitempty"` // who made the change, if not the agent
}

// Binds reports whether c says that the agent, which needs no session, lives as long as Process does.
func (c *AgentChange) Binds() bool { return c.Session == "" && c.Join && c.Process != "" && !c.End }
