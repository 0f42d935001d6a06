package hook

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Mailbox is where an agent has its mail.
type Mailbox struct {
	Room  mail.RoomName
	Agent mail.Name
	// As returns the room as an agent sees it: as Agent, or as what Agent is called because another session bears that
	// name.
	As func(mail.Name) (Service, error)
	// Ring waits until Agent is rung, and gives what there is to hand over to hand: once, and nil after every silence.
	Ring func(ctx context.Context, at mail.Listener, hand func(*mail.Rung) error) error
}

// Service is what a hook has to know of a room. Every mail.Service is one.
type Service interface {
	mail.Turner
	mail.Marker
	mail.Claimer
}

// Call is one hook that a client ran, as its process handed it over.
type Call struct {
	Client, Event string // as they stand in the client's configuration
	Input         []byte // what the client said: a JSON object
	// Getenv returns a variable of the hook's process.
	Getenv func(string) string
	// Tools are the names of the dialects' tools, from which a cancel keeps nobody.
	Tools []string
	// Process names the program that runs the hook; nil: it is not known.
	Process func(topmost bool) string
	// Window returns where the person of a session sits, if the program that runs the hook serves several windows;
	// nil: it does not. An error says that it is not known now.
	Window func(ctx context.Context, e *Event) (*Window, error)
	// Busy reports whether the client says of a session that a turn of it runs; nil: nobody can tell.
	Busy func(*Session) bool
	// Log finds the transcript of a session whose client does not name it; nil: nobody can.
	Log func(*Session) string
	// First reports whether it is asked for the first time about a session; nil: every time is the first.
	First func(session string) bool
	// Use notes that an agent, or a subagent of its session, is about to use a tool; nil: nobody asks.
	Use func(room mail.RoomName, agent mail.Name, e *Event)
	// Write has an agent claim what it is about to write, and says what is in the way; nil: nobody claims anything. In
	// a subagent's name its session's agent claims.
	Write func(ctx context.Context, room mail.RoomName, as Service, agent mail.Name, e *Event) (mail.Claimed, error)
	// Did is called when a call of a tool has ended or, at a turn's beginning and end, all have; nil: nobody asks.
	Did func(room mail.RoomName, agent mail.Name, e *Event)
	// Dialogs are those that are open; nil: nobody holds any.
	Dialogs Dialogs
	// Waits is called when a hook begins to wait for the person; nil: nobody asks.
	Waits func()
	// Enter finds the mailbox that an event is about.
	Enter func(ctx context.Context, e *Event) (*Mailbox, error)
}

// Window is where the person of a session sits whose client's program serves several windows.
type Window struct {
	Program string // "": it is not known
	// Closed says that there was a window, and is no more: nobody sees what the session does.
	Closed bool
	// Getenv returns a variable of the window, or "". Those of the hook's process are another's.
	Getenv func(string) string
}

// Marks are due once the client has taken what a hook says. Nil: none are.
type Marks struct {
	pending
	taken func() // nil: only marks are due
}

// Answer tells the room what happened and returns what the hook's process is to leave behind, and what is to be marked
// once the client has taken it. An error says why there is nothing to say, and the answer is then what that client
// takes for silence; or that the room was not told of the end of a dialog, which keeps nobody from mail.
func (c *Call) Answer(ctx context.Context) (Answer, *Marks, error) {
	client, ok := FindClient(c.Client)
	if !ok {
		return Answer{}, nil, fmt.Errorf("the client %q is not known", c.Client)
	}
	e := Event{Client: client.Name, Name: c.Event}
	if err := c.read(&client, &e); err != nil {
		return client.answer(&e, speech{}), nil, err
	}
	c.noteUse(&e)
	unsettled := c.settle(ctx, &client, &e)
	asks := e.Asks != nil && c.Dialogs != nil
	switch {
	case (asks || e.wanted()) && e.Session.ID == "":
		return client.answer(&e, speech{}), nil, fmt.Errorf("%s of %s names no session", e.Name, e.Client)
	case asks && e.Moment != mail.BeforeTool:
		a, marks, err := c.opens(ctx, &client, &e)
		if a.Out == "" {
			a.Out = wire.Silence(e.Client, e.Name)
		}
		return a, marks, err
	case !e.wanted():
		return client.answer(&e, speech{}), nil, unsettled
	}
	t, err := c.ask(ctx, &client, &e)
	if asks && err == nil && t.kind != forbid {
		var a Answer
		var marks *Marks
		if a, marks, err = c.opens(ctx, &client, &e); a.Out != "" {
			return a, marks, err
		}
	}
	return c.leaves(&client, &e, t, cmp.Or(err, unsettled))
}

// leaves returns what there is to leave behind of what is to be said: nothing, if that could not be asked for.
func (c *Call) leaves(client *Client, e *Event, t pending, err error) (Answer, *Marks, error) {
	answer := client.answer(e, speech{t.kind, t.text, t.agent})
	answer.Shell = c.shell(e, t.agent)
	if len(t.whole)+len(t.pointed) == 0 {
		return answer, nil, err
	}
	return answer, &Marks{pending: t}, err
}

// wanted reports whether the room is to be told of e.
func (e *Event) wanted() bool { return e.Moment != "" && (!e.Sub || e.Moment == mail.BeforeTool) }

// pending is what is to be said, and to be marked when it was.
type pending struct {
	words
	kind  speechKind
	box   *Mailbox
	agent mail.Name
}

// ask tells the room and returns what there is to be said. With an error there is nothing.
func (c *Call) ask(ctx context.Context, client *Client, e *Event) (pending, error) {
	if closed, err := c.sit(ctx, e); closed || err != nil {
		return left(e), err
	}
	c.know(client, e)
	box, err := c.Enter(ctx, e)
	if err != nil {
		return pending{}, err
	}
	svc, err := box.As(box.Agent)
	if err != nil {
		return pending{}, err
	}
	brief, err := svc.Turn(ctx, e.turn(client))
	if err != nil {
		return pending{}, err
	}
	if c.Use != nil && e.Moment == mail.BeforeTool && e.ToolUse != "" {
		c.Use(box.Room, brief.Agent, e)
	}
	t := pending{box: box, agent: brief.Agent}
	if brief.Unequipped {
		return c.restart(e), nil
	}
	if c.Did != nil && e.Moment != mail.BeforeTool {
		c.Did(box.Room, brief.Agent, e)
	}
	if t.kind, t.words = say(e, box, &brief); t.kind == silence {
		c.claim(ctx, e, &t)
	}
	return t, nil
}

// claim has the agent hold what the tool is about to write, or keeps it from that. That nobody could be asked who
// holds it is no reason to.
func (c *Call) claim(ctx context.Context, e *Event, t *pending) {
	if c.Write == nil || e.Moment != mail.BeforeTool || e.Own {
		return
	}
	svc, err := t.box.As(t.agent)
	if err != nil {
		return
	}
	claimed, err := c.Write(ctx, t.box.Room, svc, t.agent, e)
	if err == nil && claimed.Refused {
		t.kind, t.words = forbid, inTheWay(claimed.Clashes)
	}
}

// read reads what the client says into e.
func (c *Call) read(client *Client, e *Event) error {
	in, err := read(c.Input)
	if err != nil {
		return err
	}
	*e = client.read(c.Event, in)
	if client.look != nil {
		client.look(e)
	}
	e.Own = c.own(e)
	return nil
}

// turn is the event as the room is told of it.
func (e *Event) turn(client *Client) mail.Turn {
	return mail.Turn{
		Moment: e.Moment, Session: e.Session.ID, Client: e.Client, Process: e.Session.Process, Frozen: e.Frozen,
		Over: e.Over, Proof: e.proves(), Sub: e.Sub, Ring: e.Ring,
		Quiet: !e.Carries, Within: e.Within, Summed: e.Compacted,
		Late: client.reloads && client.Name == e.Client && !e.Begins,
		Held: func() map[mail.ID]bool {
			if e.Held != nil {
				return e.Held
			}
			return Holds(e.Client, e.Session.Script, e.Moment == mail.SessionStart || e.Moment == mail.SessionEnd)
		},
		Access: e.Session.access(),
	}
}

// sit takes what the session's window says for what the hook's process says, where that is another's, and reports
// whether the window was closed.
func (c *Call) sit(ctx context.Context, e *Event) (closed bool, err error) {
	if c.Window == nil {
		return false, nil
	}
	w, err := c.Window(ctx, e)
	if w == nil || err != nil {
		return false, err
	}
	c.Getenv, e.Session.Window, e.Served = w.Getenv, w.Program, true
	return w.Closed, nil
}

// left says what there is to be said where nobody sits any more. The room hears of the session's end from those who
// look after sessions; a turn that goes on is not kept going, and none begins with a ring.
func left(e *Event) pending {
	if !e.Ring {
		return pending{}
	}
	return pending{kind: drop, words: words{text: greeting + "the window of this session was closed."}}
}

// restart tells the person, once a session, that the session is too old to be an agent.
func (c *Call) restart(e *Event) pending {
	if e.Moment != mail.TurnStart || c.First != nil && !c.First(e.Session.ID) {
		return pending{}
	}
	text := "this session began before Pennypost was set up for it, and has none of its tools. To have it take " +
		"part, leave it and start it again: claude --continue goes on here."
	return pending{kind: inform, words: words{text: greeting + text}}
}

// own reports whether nobody is kept from a tool: it is one of Pennypost's, or loads such.
func (c *Call) own(e *Event) bool {
	// Claude Code has it load tools of MCP servers before their use
	if e.Own || e.Tool == "ToolSearch" {
		return true
	}
	return strings.HasPrefix(e.Tool, "mcp") && slices.ContainsFunc(c.Tools, func(name string) bool {
		return strings.HasSuffix(e.Tool, "_"+name) // behind a name of the server that the person chose
	})
}

// know adds what is known of the session from elsewhere.
func (c *Call) know(client *Client, e *Event) {
	if dir := config.ClientDir(e.Client, c.Getenv); dir != "" {
		e.Session.Dir = dir
	}
	if c.Process != nil && !e.beside() { // an extension of Copilot's is a program of its own
		e.Session.Process = c.Process(client.Editor || e.Client == "vscode")
	}
	switch e.Client {
	case "copilot":
		if c.Log != nil {
			e.Session.Script = c.Log(&e.Session)
		}
		e.Session.Version = c.Getenv("COPILOT_CLI_BINARY_VERSION")
		e.Carries = e.Carries && (e.Moment != mail.TurnStart || takesPromptContext(e.Session.Version))
	case "claude":
		e.Session.Version = claudeVersion(c.Getenv("AI_AGENT"))
		e.Session.Socket = c.Getenv("CLAUDE_CODE_MESSAGING_SOCKET")
		e.Session.Token = Secret(c.Getenv("CLAUDE_CODE_MESSAGING_TOKEN"))
		// A prompt that is typed while the model works is handed to the hook at once, and goes into that turn.
		e.Within = e.Moment == mail.TurnStart && c.Busy != nil && c.Busy(&e.Session)
	}
	e.Session.Tmux, e.Session.Pane = c.Getenv("TMUX"), c.Getenv("TMUX_PANE")
}

// say decides what to say.
func say(e *Event, box *Mailbox, brief *mail.Briefing) (speechKind, words) {
	switch {
	case !e.Carries:
		return silence, words{}
	case brief.Stale:
		return drop, words{text: greeting + "what this notice was about has been dealt with."}
	}
	if e.Moment == mail.BeforeTool {
		if brief.Cancel == nil || e.Own {
			return silence, words{}
		}
		return forbid, order(brief)
	}
	w := news(e, box, brief)
	switch {
	case w.text == "":
		return silence, words{}
	case e.Moment == mail.TurnEnd && brief.Continue:
		return goOn, w
	case e.Moment == mail.TurnEnd:
		return silence, words{}
	}
	return tell, w
}

// Write records what was told.
func (t *Marks) Write(ctx context.Context) error {
	if t.taken != nil {
		t.taken()
		return nil
	}
	svc, err := t.box.As(t.agent)
	if err != nil {
		return err
	}
	for _, m := range []mail.Marking{{IDs: t.whole, Mark: mail.MarkTold},
		{IDs: t.pointed, Mark: mail.MarkNotified}} {
		if len(m.IDs) == 0 {
			continue
		}
		m.Door = mail.HookDoor
		if _, err := svc.Mark(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// read reads the client's object.
func read(text []byte) (input, error) {
	in, err := jsonx.Pick(bytes.NewReader(text), members()...)
	if err != nil {
		return nil, fmt.Errorf("read the client's event: %w", err)
	}
	return in, nil
}
