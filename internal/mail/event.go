package mail

// Event is one line of a room's journal: a place, a time, and exactly one of the things that can happen. Readers skip
// events in which they know nothing, so that an older Pennypost can follow a newer journal.
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
// without a later Done is finished when the room is next opened. It holds nothing of the message but its id.
type Erasure struct {
	Message ID   `json:"message"`
	By      Name `json:"by"`
	Done    bool `json:"done,omitzero"`
	// Machine says on which machine it is done, where several follow the room: it is done when all of them have said
	// so.
	Machine Machine `json:"machine,omitempty"`
}

// Checkpoint states what compaction would otherwise forget: it is appended before the events that led to it are
// dropped. Applying it to the state that wrote it changes nothing but to forget names that nothing leads to. It counts
// only in the place behind After: what came between would be undone by it. With After 0 it is a step of retention,
// which counts anywhere and says nothing but Trimmed or Spent; older versions wrote these in the checkpoint itself.
type Checkpoint struct {
	After    Seq             `json:"after"`
	Agents   []AgentRecord   `json:"agents,omitempty"`
	Rotation map[string]Name `json:"rotation,omitempty"` // role: who was given its last message
	Bound    []Binding       `json:"bound,omitempty"`
	Trimmed  []ID            `json:"trimmed,omitempty"` // messages that moved to the archive
	// what became of kept questions whose answer is not kept
	Settled []Settlement `json:"settled,omitempty"`
	// idempotency keys of the last day whose messages are no longer hot
	Spent      []SpentKey  `json:"spent,omitempty"`
	Bridges    []Bridge    `json:"bridges,omitempty"`
	Workspaces []Workspace `json:"workspaces,omitempty"`
	Grants     []Grant     `json:"grants,omitempty"`
	// what is to be sent later, and when: what the journal tells of other messages to be sent later is over
	Scheduled []ScheduledAt   `json:"scheduled,omitempty"`
	Entries   []ScheduleEntry `json:"entries,omitempty"` // of configurations that were obeyed
	Last      Time            `json:"last,omitzero"`     // of the events until now

	Machines []Machine      `json:"machines,omitempty"` // those that follow the room
	Upkeep   Machine        `json:"upkeep,omitempty"`   // the one that looks after it
	UpkeepAt Seq            `json:"upkeep_at,omitzero"` // where that was given to it
	Doors    []MachineDoors `json:"doors,omitempty"`    // that need no session
	Rules    []MachineRules `json:"rules,omitempty"`    // that machines know
	// places of messages and reads that did not count: whoever reads the room from its first event, and finds others
	// erased, could not tell
	Void []Seq `json:"void,omitempty"`
}

// SpentKey is an idempotency key that outlives its message: a sender that tries again is told of the first one.
type SpentKey struct {
	From    Address `json:"from"`
	Key     string  `json:"key"`
	Message ID      `json:"message"`
	Seq     Seq     `json:"seq"`
	Sent    Time    `json:"sent"`
}

// Binding says to whom a kept message was bound when it was sent or reassigned: the holder of a role, those present,
// the descendants that a cancel reaches.
type Binding struct {
	Message ID             `json:"message"`
	To      []BoundAddress `json:"to"`
}

// BoundAddress is one address of a bound message and its agents.
type BoundAddress struct {
	Address Address `json:"address"`
	Agents  []Name  `json:"agents,omitempty"`
}

// AgentRecord is everything a room knows of an agent that does not follow from messages.
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
	SessionAt  Time     `json:"session_at,omitzero"` // when Session was last heard of
	Began      Seq      `json:"began,omitzero"`      // where Session began; a session that is resumed goes on
	Left       string   `json:"left,omitempty"`      // the session that ended last: it may be resumed
	Process    string   `json:"process,omitempty"`   // of Session, or of Left
	Server     string   `json:"server,omitempty"`    // the MCP server whose connection Session is
	Machine    Machine  `json:"machine,omitempty"`   // where Session runs, or Left did
	Heard      Seq      `json:"heard,omitzero"`      // the place where a Session with a Machine was last heard of
	Joined     bool     `json:"joined,omitzero"`     // Session is a connection, or was until SessionAt
	Inbox      string   `json:"inbox,omitempty"`     // the bridge that puts its mail into a mailbox of its client's
	Continues  int      `json:"continues,omitzero"`  // how often in a row mail kept the turn from ending
	GaveUp     bool     `json:"gave_up,omitzero"`    // at the last end of a turn
	Broken     bool     `json:"broken,omitzero"`     // the last turn was broken off
	Summed     Seq      `json:"summed,omitzero"`     // where Session was last summed up
	Introduced Seq      `json:"introduced,omitzero"` // where its model was last shown mail by a hook
	Evicted    string   `json:"evicted,omitempty"`   // the session before, which may not come back by itself
	TokenSum   string   `json:"token_sum,omitempty"`
	Door       string   `json:"door,omitempty"`
	DoorAt     Time     `json:"door_at,omitzero"`
	Freezes    []Freeze `json:"freezes,omitempty"`
	Base       Name     `json:"base,omitempty"`    // the name it asked for when a live session held that
	Aliases    []Name   `json:"aliases,omitempty"` // names it had before, or somebody had who is the same
	// Merged are those of Aliases that were somebody else's when messages were signed with them: the idempotency keys
	// of these are not its own.
	Merged  []Name   `json:"merged,omitempty"`
	Dialogs []Dialog `json:"dialogs,omitempty"` // of Session, that are open
	Claims  []Claim  `json:"claims,omitempty"`  // in order; some may have ended
	Awaits  []Target `json:"awaits,omitempty"`  // what others held when it asked
	Retired bool     `json:"retired,omitzero"`  // off the roster, or never on it: a name that mail was addressed to
}

// Freeze is a span of time in which an agent was frozen. A zero To means until further notice.
type Freeze struct {
	From Time `json:"from"`
	To   Time `json:"to,omitzero"`
}
