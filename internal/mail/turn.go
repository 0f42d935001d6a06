package mail

import (
	"context"
	"strings"
)

// Turner follows the turns of an agent's session. It is how the clients' hooks speak to the room.
type Turner interface {
	// Turn notes a moment in the life of the caller's session and returns what is to be told then. Whether a turn goes
	// on is decided and the agent's state changed in one event, so that no mail falls between.
	//
	// What is returned has not been told yet: whoever hands it over marks it as told or, of what it only points to,
	// notified. Until that, and for a few seconds, it is not returned again: a client runs the hooks of several tools
	// at a time. What was told becomes presented with a later moment, which proves it.
	//
	// Of mail that cannot keep a turn going, because it has too often or because the turn was broken off, the user is
	// told by a message, unless the agent has a door: that is rung then.
	Turn(ctx context.Context, t Turn) (Briefing, error)
	// Dialog notes that the client of an agent asks its person, or how that ended. Of a session that the room does not
	// have, and of a dialog that is not open, nothing is noted.
	Dialog(ctx context.Context, c DialogChange) error
}

// Moment is a point in the life of a session.
type Moment string

// The moments.
const (
	SessionStart Moment = "session-start"
	TurnStart    Moment = "turn-start"  // somebody, or something, gave the agent work
	BeforeTool   Moment = "before-tool" // only a cancel is told
	AfterTool    Moment = "after-tool"
	TurnEnd      Moment = "turn-end"
	SessionEnd   Moment = "session-end"
)

// Turn is a moment of a session.
type Turn struct {
	Moment  Moment `json:"moment"`
	Session string `json:"session"` // the client's id of it
	Client  string `json:"client,omitempty"`
	// Process is the running program that the session belongs to, if that is known: see Presence.
	Process string `json:"process,omitempty"`
	// Frozen says of a session that ends that it can be resumed: its mail waits and does not expire.
	Frozen bool `json:"frozen,omitzero"`
	// Over says of a turn's end that nothing can keep the turn going: it was broken off. The agent becomes idle,
	// whatever waits. Of a turn's start it says that the turn before was broken off.
	Over bool `json:"over,omitzero"`
	// Within says of a turn's start that no turn begins: the prompt goes into the one that runs.
	Within bool `json:"within,omitzero"`
	// Summed says of a session's start that the session goes on with a summary of what it was.
	Summed bool `json:"summed,omitzero"`
	// Late says that the client also runs hooks that were set up after its program began, which then has none of the
	// tools: a session of a program that the room does not know yet is no agent.
	Late bool `json:"late,omitzero"`
	// Held returns which messages the client still has in the conversation, so that the next request holds them
	// whatever became of the turn in which they were told. It may read a file. Nil: nobody can tell.
	Held func() map[ID]bool `json:"-"`
	// Proof says that the model has answered since the moment before: what the session was told has reached it. What
	// was told, and not proven to have arrived when a turn is broken off, another begins or the session ends, is told
	// again.
	Proof bool `json:"proof,omitzero"`
	// Sub says that it happened to a subagent of the session, which is no agent: nothing is changed, and nothing told
	// but an order to stop.
	Sub bool `json:"sub,omitzero"`
	// Ring says of a turn that begins that a door of the post office has begun it, and nobody else: it is not to be if
	// nothing waits any more.
	Ring bool `json:"ring,omitzero"`
	// Quiet says that nothing can be told now, because the client takes no text at this moment.
	Quiet bool `json:"quiet,omitzero"`
	Limit int  `json:"limit,omitzero"` // at most so many messages; 0: 20
	// Access is for doors of this machine; a room takes no notice of it.
	Access *Access `json:"access,omitempty"`
}

// Access is what it takes to get at a client's session from outside. The post office keeps it in memory; it is in no
// journal, no log and no answer.
type Access struct {
	// Session is the client's own id of its session, where the call names a connection of it (Presence).
	Session string `json:"session,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Version string `json:"version,omitempty"` // of the client
	Mode    string `json:"mode,omitempty"`    // of its permissions, as the client calls it
	Socket  string `json:"socket,omitempty"`  // where the session takes messages
	Token   string `json:"token,omitempty"`   // and what it wants to see first
	Tmux    string `json:"tmux,omitempty"`    // the variable TMUX
	Pane    string `json:"pane,omitempty"`    // the variable TMUX_PANE
	Home    string `json:"home,omitempty"`    // the client's own directory, where it has several
	Window  string `json:"-"`                 // the program in which its person sits, where that is another
	// Transcript is the file in which the client keeps the conversation.
	Transcript string `json:"transcript,omitempty"`
}

// HookDoor is the door of what hooks hand over.
const HookDoor = "hook"

// InboxDoor is the door of a client's own mailbox, as those of Claude Code's teams: what stands there the client hands
// over by itself, and no hook and no ring does.
const InboxDoor = "inbox"

// MaxContinues is how often in a row mail may keep a turn from ending.
const MaxContinues = 3

// Briefing answers Turn.
type Briefing struct {
	Agent Name  `json:"agent"` // the caller's name: NAME-2 while another live session holds NAME
	State State `json:"state"`
	// Items are messages that this session has not been told of, urgent ones first, then in order: at the start of the
	// session and of a turn all but those of Counted, at other moments what wakes.
	Items []Item `json:"items,omitempty"`
	// Counted are, at a start, messages of the type status that wake nobody and of which this session has not been
	// told: it is told how many there are.
	Counted []ID `json:"counted,omitempty"`
	// Unequipped says of a session that it is no agent: see Turn.Late.
	Unequipped bool `json:"unequipped,omitzero"`
	// Known says that the session's model was shown mail by a hook before, and knows how it is presented.
	Known  bool `json:"known,omitzero"`
	Unread int  `json:"unread"`        // in the whole mailbox
	More   int  `json:"more,omitzero"` // messages that would have been told, but for the limit
	// Cancel is an order to stop that has not been marked read. It is told before each tool, and counts as obeyed at
	// the end of the turn.
	Cancel *Item `json:"cancel,omitempty"`
	// Continue says of a turn's end that the turn has to go on, because of Items.
	Continue bool `json:"continue,omitzero"`
	// GaveUp says that mail is left that would have kept the turn going, but has done so MaxContinues times in a row,
	// or the turn is over.
	GaveUp bool `json:"gave_up,omitzero"`
	// Stale says of a turn that a door has begun that what it rang for was dealt with meanwhile. Nothing was changed:
	// the turn shall not be.
	Stale bool `json:"stale,omitzero"`
}

// Check returns what is wrong with a by itself. Nil is right.
func (a *Access) Check() error {
	if a == nil {
		return nil
	}
	for _, text := range []string{a.Session, a.Dir, a.Version, a.Mode, a.Socket, a.Token, a.Tmux, a.Pane,
		a.Home, a.Transcript} {
		if len(text) > MaxPath || strings.ContainsAny(text, "\x00\r\n") {
			return Errorf(Invalid, "what is said of the session is no line of at most %d bytes", MaxPath)
		}
	}
	return nil
}

// Check returns what is wrong with t by itself.
func (t *Turn) Check() error {
	switch t.Moment {
	case SessionStart, TurnStart, BeforeTool, AfterTool, TurnEnd, SessionEnd:
	default:
		return Errorf(Invalid, "%q is not a moment of a session", t.Moment)
	}
	if t.Limit < 0 || t.Limit > MaxLimit {
		return Errorf(Invalid, "a limit of %d is out of range", t.Limit)
	}
	if err := t.Access.Check(); err != nil {
		return err
	}
	if t.Process != "" {
		if err := checkWord("process", t.Process); err != nil {
			return err
		}
	}
	return checkWord("session", t.Session)
}
