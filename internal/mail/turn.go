package mail

import (
	"context"
	"strings"
)

// Turner follows the turns of an agent's session. Clients' hooks speak to the room through it.
type Turner interface {
	// Turn records a moment in the life of the caller's session and returns the mail to hand over then. The
	// decision whether a turn continues and the change of the agent's state are one event, so no mail is lost in
	// between.
	//
	// The returned mail is not marked yet: the caller marks the messages that it hands over as told, and those that
	// it only points to as notified. Until then, but for a few seconds at most, they are not returned again, because
	// a client runs the hooks of several tools at a time. Told messages become presented at a later moment that
	// proves it.
	//
	// If mail cannot keep a turn going, because it has done so too often or because the turn was interrupted, a
	// message tells the user, unless the agent has a door: then that is rung.
	Turn(ctx context.Context, t Turn) (Briefing, error)
	// Dialog records that an agent's client is asking its person, or how that ended. Unknown sessions, and dialogs
	// that are not open, are ignored.
	Dialog(ctx context.Context, c DialogChange) error
}

// Moment is a point in the life of a session.
type Moment string

// The moments.
const (
	SessionStart Moment = "session-start"
	TurnStart    Moment = "turn-start"  // someone, or something, gave the agent work
	BeforeTool   Moment = "before-tool" // only a cancel is told
	AfterTool    Moment = "after-tool"
	TurnEnd      Moment = "turn-end"
	SessionEnd   Moment = "session-end"
)

// Turn is one moment of a session.
type Turn struct {
	Moment  Moment `json:"moment"`
	Session string `json:"session"` // the client's own session id
	Client  string `json:"client,omitempty"`
	// Process is the running program that the session belongs to, if known: see Presence.
	Process string `json:"process,omitempty"`
	// Frozen says that the session that ends can be resumed: its mail waits and does not expire.
	Frozen bool `json:"frozen,omitzero"`
	// Over says, at a turn's end, that the turn was interrupted, so nothing can keep it going: the agent becomes
	// idle regardless of waiting mail. At a turn's start it says that the previous turn was interrupted.
	Over bool `json:"over,omitzero"`
	// Within says, at a turn's start, that the prompt joins the running turn: no turn begins.
	Within bool `json:"within,omitzero"`
	// Summed says, at a session's start, that the session continues from a summary of itself.
	Summed bool `json:"summed,omitzero"`
	// Late says that the client may run hooks set up after its program began, which then lacks the tools: a session
	// of a program that the room does not know yet is no agent.
	Late bool `json:"late,omitzero"`
	// Held returns the messages that the client still has in the conversation, which the next request therefore
	// contains whatever became of the turn in which they were told. It may read a file. Nil: unknown.
	Held func() map[ID]bool `json:"-"`
	// Proof says that the model has answered since the previous moment, so the told mail has reached it. Told mail
	// that is not proven to have arrived is told again when a turn is interrupted, another begins, or the session
	// ends.
	Proof bool `json:"proof,omitzero"`
	// Sub says that it happened to a subagent of the session. A subagent is no agent: nothing changes, and only an
	// order to stop is told.
	Sub bool `json:"sub,omitzero"`
	// Ring says that a door of the post office, and no one else, began the turn: it should not run if no mail waits
	// any more.
	Ring bool `json:"ring,omitzero"`
	// Quiet says that nothing can be told now, because the client accepts no text at this moment.
	Quiet bool `json:"quiet,omitzero"`
	Limit int  `json:"limit,omitzero"` // at most this many messages; 0: 20
	// Access is for doors of this machine; a room ignores it.
	Access *Access `json:"access,omitempty"`
}

// Access is the information needed to reach a client's session from outside. The post office keeps it in memory; it
// is in no journal, no log and no answer.
type Access struct {
	// Session is the client's own id of its session, if the call names a connection of it (Presence).
	Session string `json:"session,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Version string `json:"version,omitempty"` // of the client
	Mode    string `json:"mode,omitempty"`    // permission mode, as the client calls it
	Socket  string `json:"socket,omitempty"`  // where the session accepts messages
	Token   string `json:"token,omitempty"`   // which Socket expects first
	Tmux    string `json:"tmux,omitempty"`    // the variable TMUX
	Pane    string `json:"pane,omitempty"`    // the variable TMUX_PANE
	Home    string `json:"home,omitempty"`    // the client's own directory, if it has several
	Window  string `json:"-"`                 // the program that its person sits at, if a different one
	// Transcript is the file in which the client stores the conversation.
	Transcript string `json:"transcript,omitempty"`
}

// HookDoor is the door of mail that hooks hand over.
const HookDoor = "hook"

// InboxDoor is the door of a client's own mailbox, as in Claude Code's teams. The client itself hands over the mail
// there; no hook and no ring does.
const InboxDoor = "inbox"

// MaxContinues is how many times in a row mail may keep a turn from ending.
const MaxContinues = 3

// Briefing answers Turn.
type Briefing struct {
	Agent Name  `json:"agent"` // the caller's name: NAME-2 while another live session holds NAME
	State State `json:"state"`
	// Items are messages that this session has not been told, urgent ones first, then in order. At the start of the
	// session or of a turn they are all such messages except Counted; at other moments, those that wake.
	Items []Item `json:"items,omitempty"`
	// Counted are, at a start, status messages that wake no one and of which this session has not been told; it is
	// told only their number.
	Counted []ID `json:"counted,omitempty"`
	// Unequipped says that the session is no agent: see Turn.Late.
	Unequipped bool `json:"unequipped,omitzero"`
	// Known says that a hook has shown mail to the session's model before, so the model knows the presentation.
	Known  bool `json:"known,omitzero"`
	Unread int  `json:"unread"`        // in the whole mailbox
	More   int  `json:"more,omitzero"` // messages left out because of the limit
	// Cancel is an order to stop that is not marked read. It is told before each tool call, and counts as obeyed at
	// the end of the turn.
	Cancel *Item `json:"cancel,omitempty"`
	// Continue says, at a turn's end, that the turn must continue because of Items.
	Continue bool `json:"continue,omitzero"`
	// GaveUp says that waiting mail would have kept the turn going, but has done so MaxContinues times in a row, or
	// the turn is over.
	GaveUp bool `json:"gave_up,omitzero"`
	// Stale says that a door began the turn for mail that has been dealt with since. Nothing was changed: the turn
	// should not run.
	Stale bool `json:"stale,omitzero"`
}

// Check validates a by itself. Nil is valid.
func (a *Access) Check() error {
	if a == nil {
		return nil
	}
	for _, text := range []string{a.Session, a.Dir, a.Version, a.Mode, a.Socket, a.Token, a.Tmux, a.Pane,
		a.Home, a.Transcript} {
		if len(text) > MaxPath || strings.ContainsAny(text, "\x00\r\n") {
			return Errorf(Invalid, "the fields of a session are one line of at most %d bytes each", MaxPath)
		}
	}
	return nil
}

// Check validates t by itself.
func (t *Turn) Check() error {
	switch t.Moment {
	case SessionStart, TurnStart, BeforeTool, AfterTool, TurnEnd, SessionEnd:
	default:
		return Errorf(Invalid, "%q is not a moment of a session", t.Moment)
	}
	if t.Limit < 0 || t.Limit > MaxLimit {
		return Errorf(Invalid, "limit %d is out of range", t.Limit)
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
