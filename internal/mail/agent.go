package mail

import "slices"

// State is what an agent is doing.
type State string

// The five states. Working, Asking and Idle agents are live.
const (
	Working State = "working" // in the middle of a turn
	Asking  State = "asking"  // showing a dialog of its client, which a person must answer: derived from Agent.Dialogs
	Idle    State = "idle"    // alive, between turns
	Frozen  State = "frozen"  // paused; its mail waits and does not expire
	Gone    State = "gone"    // its session ended; its next session takes over its mail
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

// Agent is one entry of the roster.
type Agent struct {
	Name   Name     `json:"name"`
	Roles  []string `json:"roles"`
	Tags   []string `json:"tags"`
	State  State    `json:"state"`
	Since  Time     `json:"since,omitzero"` // when State was entered
	Task   string   `json:"task,omitempty"`
	Parent Name     `json:"parent,omitempty"`
	// Aliases are other names that lead to it: its former names and those of agents merged into it.
	Aliases    []Name `json:"aliases,omitempty"`
	Client     string `json:"client,omitempty"` // the program it runs in, as it reports itself
	Registered Time   `json:"registered,omitzero"`
	Seen       Time   `json:"last_seen,omitzero"` // to the minute
	Session    string `json:"session,omitempty"`
	// the session that ended last; the client may be able to resume it
	Left   string `json:"last_session,omitempty"`
	Unread int    `json:"unread"`
	Door   string `json:"door,omitempty"`   // the door that last worked
	DoorAt Time   `json:"door_at,omitzero"` // when that was
	// Machine is where Session runs, or where the last one ran; "" if the room is in a file. MachineAway says that
	// its post office cannot be heard: State is the last known one.
	Machine     Machine `json:"machine,omitempty"`
	MachineAway bool    `json:"machine_away,omitzero"`
	// Dialogs are the dialogs at which its client waits for a person, oldest first.
	Dialogs []Dialog `json:"dialogs,omitempty"`
}

// Presence registers an agent or changes its roster entry. Nil slices and pointers leave the present value.
type Presence struct {
	Name   Name     `json:"name,omitempty"` // empty: the caller
	Roles  []string `json:"roles,omitzero"`
	Tags   []string `json:"tags,omitzero"`
	State  State    `json:"state,omitempty"`
	Task   *string  `json:"task,omitzero"`
	Parent *Name    `json:"parent,omitzero"`
	Client string   `json:"client,omitempty"`
	// Session claims the name for one running instance. If another live session holds it, the newcomer is registered
	// as NAME-2 (or the next free number) or, with TakeOver, becomes the holder. End releases the name.
	Session  string `json:"session,omitempty"`
	TakeOver bool   `json:"take_over,omitzero"`
	End      bool   `json:"end,omitzero"`
	// Process is the running program that the session belongs to, in a form unique to it. With Join, the session is
	// only a connection of that program, such as an MCP server's: it shares the agent of the program's own session,
	// whichever comes first. End with Join also releases the name of a connection, but leaves the agent as it is
	// until it has been silent for some minutes. Join without Session claims no name: the agent lives as long as
	// Process, if the post office can see that run.
	Process string `json:"process,omitempty"`
	Join    bool   `json:"join,omitzero"`
	// Serves says that the caller is the connection's MCP server; when that ends, so does the connection.
	Serves bool `json:"serves,omitzero"`
	// Access is for doors of this machine, as in Turn; a room ignores it. It says how to reach the session that a
	// connection belongs to, and is used where no hook reports that session.
	Access *Access `json:"access,omitempty"`
	// Inbox is the bridge that puts all mail for the agent into a mailbox that its client reads by itself. Only
	// bridges set it.
	Inbox *string `json:"-"`
	// Update refuses to create: an unknown name is NotFound.
	Update bool `json:"update,omitzero"`
}

// Expectation is what a post office knew of an agent's name when it checked a change.
type Expectation string

// The expectations. The zero value expects nothing.
const (
	ExpectNew   Expectation = "new"   // no agent on the roster bears the name
	ExpectKnown Expectation = "known" // one does
)

// AgentChange is the journal's record of a change in the roster. It has only the changed fields; a change with only
// a name is a heartbeat.
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
	// Server is, with Join, the MCP server whose connection Session is, as the operating system reports it: it may
	// end before the client that started it. "": unknown.
	Server string `json:"server,omitempty"`
	// Ended is, with an End by the post office, the program found to have ended. It counts only if Session belongs
	// or belonged to that program.
	Ended string `json:"ended,omitempty"`
	// Machine is where Session runs; its post office checked the change. Other events may have overtaken that check
	// before the change got its sequence number, so a room shared by several machines checks it again, for instance
	// that a name is new.
	Machine Machine `json:"machine,omitempty"`
	// Expects is what the check found of the name. If that is no longer true, the change does not count.
	Expects Expectation `json:"expects,omitempty"`
	// Silent is, when the post office ends a lapsed session, the sequence number at which it last heard of the
	// session. If an event names the session after that, it has not lapsed.
	Silent Seq `json:"silent,omitzero"`
	// Most limits the live agents below the parent of a new agent, or those sharing the name of a session that
	// finds it taken; 0: no limit.
	Most    int     `json:"most,omitzero"`
	Turn    Moment  `json:"turn,omitempty"`  // TurnStart or TurnEnd
	Over    bool    `json:"over,omitzero"`   // for TurnEnd: the turn was interrupted
	Summed  bool    `json:"summed,omitzero"` // Session continues from a summary
	Inbox   *string `json:"inbox,omitzero"`
	Renamed Name    `json:"renamed,omitempty"` // the agent's new name
	// Merge says that Renamed is the name of another agent, or of the user, which takes over everything of this
	// agent, its names included.
	Merge   bool `json:"merge,omitzero"`
	Retired bool `json:"retired,omitzero"` // the agent leaves the roster
	// SHA-256, in hex, of the agent's bearer token; it replaces the previous one
	TokenSum string `json:"token_sum,omitempty"`
	By       Name   `json:"by,omitempty"` // who made the change, if not the agent
}

// Binds reports whether c ties the life of an agent without a session to Process.
func (c *AgentChange) Binds() bool { return c.Session == "" && c.Join && c.Process != "" && !c.End }
