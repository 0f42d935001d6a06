package mail

// Event is one line of a room's journal: a sequence number, a time, and exactly one of the things that can happen.
// Readers skip events of kinds that they do not know, so that an older Pennypost can follow a newer journal.
type Event struct {
	Seq        Seq              `json:"seq"`
	At         Time             `json:"at"`
	Message    *Message         `json:"message,omitempty"`
	Receipt    *Receipt         `json:"receipt,omitempty"`
	Agent      *AgentChange     `json:"agent,omitempty"`
	Erased     *Erasure         `json:"erased,omitempty"`
	Checkpoint *Checkpoint      `json:"checkpoint,omitempty"`
	Bridge     *BridgeChange    `json:"bridge,omitempty"`
	Workspace  *WorkspaceChange `json:"workspace,omitempty"`
	Settled    *Settlement      `json:"settled,omitempty"`
	Machine    *MachineChange   `json:"machine,omitempty"`
	Grant      *Grant           `json:"grant,omitempty"`
	Dialog     *DialogChange    `json:"dialog,omitempty"`
	Claim      *ClaimChange     `json:"claim,omitempty"`
	Schedule   *ScheduleChange  `json:"schedule,omitempty"`
}

// Erasure records that a message is to be erased and, with Done, that its text is gone from every file. An erasure
// without a later Done is completed when the room is next opened. It contains only the message's id.
type Erasure struct {
	Message ID   `json:"message"`
	By      Name `json:"by"`
	Done    bool `json:"done,omitzero"`
	// Machine says which machine is done, if several follow the room: the erasure is complete when all of them are.
	Machine Machine `json:"machine,omitempty"`
}

// Checkpoint preserves state that compaction would otherwise lose: it is appended before the events that led to it
// are dropped. Applied to the state that wrote it, it only forgets names that nothing refers to. It counts only
// directly after sequence number After, because it would undo any event in between. With After 0 it is a step of
// retention, which counts anywhere and has only Trimmed or Spent; older versions wrote these in the checkpoint
// itself.
type Checkpoint struct {
	After    Seq             `json:"after"`
	Agents   []AgentRecord   `json:"agents,omitempty"`
	Rotation map[string]Name `json:"rotation,omitempty"` // by role: the agent given its last message
	Bound    []Binding       `json:"bound,omitempty"`
	Trimmed  []ID            `json:"trimmed,omitempty"` // messages moved to the archive
	// how retained questions were settled whose answer is not retained
	Settled []Settlement `json:"settled,omitempty"`
	// idempotency keys of the last day whose messages are no longer hot
	Spent      []SpentKey  `json:"spent,omitempty"`
	Bridges    []Bridge    `json:"bridges,omitempty"`
	Workspaces []Workspace `json:"workspaces,omitempty"`
	Grants     []Grant     `json:"grants,omitempty"`
	// pending scheduled messages and their times: all others in the journal are over
	Scheduled []ScheduledAt   `json:"scheduled,omitempty"`
	Entries   []ScheduleEntry `json:"entries,omitempty"` // entries of configurations that were obeyed
	Last      Time            `json:"last,omitzero"`     // time of the latest event

	Machines []Machine      `json:"machines,omitempty"` // those that follow the room
	Upkeep   Machine        `json:"upkeep,omitempty"`   // the one that does its upkeep
	UpkeepAt Seq            `json:"upkeep_at,omitzero"` // sequence number at which it got the upkeep
	Doors    []MachineDoors `json:"doors,omitempty"`    // that can be rung without a session
	Rules    []MachineRules `json:"rules,omitempty"`    // versions that machines know
	// sequence numbers of messages and reads that did not count: a machine that replays the room from its first
	// event, with others erased, could not tell
	Void []Seq `json:"void,omitempty"`
}

// SpentKey is an idempotency key that outlives its message: a retry is answered with the first message.
type SpentKey struct {
	From    Address `json:"from"`
	Key     string  `json:"key"`
	Message ID      `json:"message"`
	Seq     Seq     `json:"seq"`
	Sent    Time    `json:"sent"`
}

// Binding records the agents to whom a retained message was bound when it was sent or reassigned: the holder of a
// role, the agents present, the descendants that a cancel reaches.
type Binding struct {
	Message ID             `json:"message"`
	To      []BoundAddress `json:"to"`
}

// BoundAddress is one address of a bound message, with its agents.
type BoundAddress struct {
	Address Address `json:"address"`
	Agents  []Name  `json:"agents,omitempty"`
}

// AgentRecord is the part of a room's knowledge of an agent that does not follow from messages.
type AgentRecord struct {
	Name       Name     `json:"name"`
	Roles      []string `json:"roles,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	State      State    `json:"state"`
	Since      Time     `json:"since,omitzero"`
	Task       string   `json:"task,omitempty"`
	Parent     Name     `json:"parent,omitempty"`
	Client     string   `json:"client,omitempty"`
	Registered Time     `json:"registered,omitzero"`
	Seen       Time     `json:"seen,omitzero"`
	Session    string   `json:"session,omitempty"`
	SessionAt  Time     `json:"session_at,omitzero"` // when Session was last heard from
	Began      Seq      `json:"began,omitzero"`      // where Session began; resuming does not change it
	Left       string   `json:"left,omitempty"`      // the session that ended last; it may be resumed
	Process    string   `json:"process,omitempty"`   // of Session, or of Left
	Server     string   `json:"server,omitempty"`    // the MCP server whose connection Session is
	Machine    Machine  `json:"machine,omitempty"`   // where Session runs, or Left ran
	Heard      Seq      `json:"heard,omitzero"`      // where a Session with a Machine was last heard from
	Joined     bool     `json:"joined,omitzero"`     // Session is a connection, or was until SessionAt
	Inbox      string   `json:"inbox,omitempty"`     // the bridge that puts its mail into a mailbox of its client
	Continues  int      `json:"continues,omitzero"`  // how many times in a row mail kept the turn from ending
	GaveUp     bool     `json:"gave_up,omitzero"`    // at the last end of a turn
	Broken     bool     `json:"broken,omitzero"`     // the last turn was interrupted
	Summed     Seq      `json:"summed,omitzero"`     // where Session was last summarised
	Introduced Seq      `json:"introduced,omitzero"` // where a hook last showed mail to its model
	Evicted    string   `json:"evicted,omitempty"`   // the previous session, which must not return by itself
	TokenSum   string   `json:"token_sum,omitempty"`
	Door       string   `json:"door,omitempty"`
	DoorAt     Time     `json:"door_at,omitzero"`
	Freezes    []Freeze `json:"freezes,omitempty"`
	Base       Name     `json:"base,omitempty"`    // the name it asked for while a live session held that
	Aliases    []Name   `json:"aliases,omitempty"` // its former names, and those of agents merged into it
	// Merged are the Aliases that belonged to another agent when messages were signed with them: idempotency keys
	// under these names are not its own.
	Merged  []Name   `json:"merged,omitempty"`
	Dialogs []Dialog `json:"dialogs,omitempty"` // open dialogs of Session
	Claims  []Claim  `json:"claims,omitempty"`  // in order; some may have ended
	Awaits  []Target `json:"awaits,omitempty"`  // targets that others held when it asked
	Retired bool     `json:"retired,omitzero"`  // off the roster, or never on it: a name that mail was addressed to
}

// Freeze is a span of time in which an agent was frozen. A zero To means that it still is.
type Freeze struct {
	From Time `json:"from"`
	To   Time `json:"to,omitzero"`
}
