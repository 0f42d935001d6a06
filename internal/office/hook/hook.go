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

// Mailbox is an agent's access to its mail.
type Mailbox struct {
	Room  mail.RoomName
	Agent mail.Name
	// As returns the room as an agent sees it: Agent, or the name given instead because another session has it.
	As func(mail.Name) (Service, error)
	// Ring waits until Agent is rung, and passes the ring to hand, once. After every silence it passes nil.
	Ring func(ctx context.Context, at mail.Listener, hand func(*mail.Rung) error) error
}

// Service is the part of a room that a hook needs. Every mail.Service is one.
type Service interface {
	mail.Turner
	mail.Marker
	mail.Claimer
}

// Call is one hook run by a client, as its process handed it over.
type Call struct {
	Client, Event string // as in the client's configuration
	Input         []byte // the client's input: a JSON object
	// Getenv returns a variable of the hook's process.
	Getenv func(string) string
	// Tools are the names of the dialects' tools, which a cancel never denies.
	Tools []string
	// Process names the program that runs the hook; nil: not known.
	Process func(topmost bool) string
	// Window returns the window of a session's person, if the program that runs the hook serves several; nil: it does
	// not. An error says that it is not known now.
	Window func(ctx context.Context, e *Event) (*Window, error)
	// Busy reports whether the client says that a turn of a session is running; nil: not known.
	Busy func(*Session) bool
	// Log finds the transcript of a session whose client does not name it; nil: it cannot be found.
	Log func(*Session) string
	// First reports whether this is the first question about a session; nil: always.
	First func(session string) bool
	// Use records that an agent, or a subagent of its session, is about to use a tool; nil: not recorded.
	Use func(room mail.RoomName, agent mail.Name, e *Event)
	// Write claims for an agent what it is about to write, and returns the clashes; nil: no claims are made. For a
	// subagent, its session's agent claims.
	Write func(ctx context.Context, room mail.RoomName, as Service, agent mail.Name, e *Event) (mail.Claimed, error)
	// Did is called when a tool call has ended or, at the beginning and end of a turn, all of them have; nil: not
	// needed.
	Did func(room mail.RoomName, agent mail.Name, e *Event)
	// Dialogs are the open dialogs; nil: none are tracked.
	Dialogs Dialogs
	// Waits is called when a hook begins to wait for the person; nil: not needed.
	Waits func()
	// Enter finds the mailbox that an event is about.
	Enter func(ctx context.Context, e *Event) (*Mailbox, error)
}

// Window is the window of a session's person, in a client whose program serves several windows.
type Window struct {
	Program string // "": not known
	// Closed says that there was a window and is none now: no person sees the session.
	Closed bool
	// Getenv returns a variable of the window, or "". The hook's process has those of another one.
	Getenv func(string) string
}

// Marks are written after the client has taken a hook's output. Nil: there are none.
type Marks struct {
	pending
	taken func() // nil: only marks are written
}

// Answer tells the room about the event. It returns the output of the hook's process, and the marks to write after the
// client has taken it. An error says why there is no text, and the answer is then silence in the client's format; or
// that the room was not told about the end of a dialog, which does not hold back mail.
func (c *Call) Answer(ctx context.Context) (Answer, *Marks, error) {
	client, ok := FindClient(c.Client)
	if !ok {
		return Answer{}, nil, fmt.Errorf("unknown client %q", c.Client)
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
		return client.answer(&e, speech{}), nil, fmt.Errorf("%s of %s has no session id", e.Name, e.Client)
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

// leaves returns the output for t: silence, if err kept t from being made.
func (c *Call) leaves(client *Client, e *Event, t pending, err error) (Answer, *Marks, error) {
	answer := client.answer(e, speech{t.kind, t.text, t.agent})
	answer.Shell = c.shell(e, t.agent)
	if len(t.whole)+len(t.pointed) == 0 {
		return answer, nil, err
	}
	return answer, &Marks{pending: t}, err
}

// wanted reports whether the room must be told about e.
func (e *Event) wanted() bool { return e.Moment != "" && (!e.Sub || e.Moment == mail.BeforeTool) }

// pending is a text for the client, with the marks due after it.
type pending struct {
	words
	kind  speechKind
	box   *Mailbox
	agent mail.Name
}

// ask tells the room about e and returns the text for the client. With an error there is none.
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

// claim makes the agent claim what the tool is about to write, or denies the tool. It does not deny the tool if the
// claim could not be checked.
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

// read reads the client's input into e.
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

// turn returns the event in the room's terms.
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

// sit replaces the facts of the hook's process by those of the session's window, if they differ, and reports whether
// the window was closed.
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

// left returns the text for a session that no person attends any more. The room learns of its end from the watchers of
// sessions. A running turn is not kept going, and no turn begins with a ring.
func left(e *Event) pending {
	if !e.Ring {
		return pending{}
	}
	return pending{kind: drop, words: words{text: greeting + "the window of this session was closed."}}
}

// restart tells the person, once per session, that the session is too old to be an agent.
func (c *Call) restart(e *Event) pending {
	if e.Moment != mail.TurnStart || c.First != nil && !c.First(e.Session.ID) {
		return pending{}
	}
	text := "this session began before Pennypost was set up, so it lacks the tools. Leave it, and restart it with: " +
		"claude --continue"
	return pending{kind: inform, words: words{text: greeting + text}}
}

// own reports whether a tool is never denied: it is one of Pennypost's, or loads one.
func (c *Call) own(e *Event) bool {
	// Claude Code uses it to load MCP tools before it calls them
	if e.Own || e.Tool == "ToolSearch" {
		return true
	}
	return strings.HasPrefix(e.Tool, "mcp") && slices.ContainsFunc(c.Tools, func(name string) bool {
		return strings.HasSuffix(e.Tool, "_"+name) // after the server name, which the person chose
	})
}

// know adds facts about the session from other sources.
func (c *Call) know(client *Client, e *Event) {
	if dir := config.ClientDir(e.Client, c.Getenv); dir != "" {
		e.Session.Dir = dir
	}
	if c.Process != nil && !e.beside() { // our Copilot extension is a program of its own
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
		// A prompt typed while the model works runs the hook immediately and joins the running turn.
		e.Within = e.Moment == mail.TurnStart && c.Busy != nil && c.Busy(&e.Session)
	}
	e.Session.Tmux, e.Session.Pane = c.Getenv("TMUX"), c.Getenv("TMUX_PANE")
}

// say decides what to tell the client.
func say(e *Event, box *Mailbox, brief *mail.Briefing) (speechKind, words) {
	switch {
	case !e.Carries:
		return silence, words{}
	case brief.Stale:
		return drop, words{text: greeting + "this notice is out of date."}
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

// Write marks the mail that was told.
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

// read parses the client's JSON object.
func read(text []byte) (input, error) {
	in, err := jsonx.Pick(bytes.NewReader(text), members()...)
	if err != nil {
		return nil, fmt.Errorf("read the client's event: %w", err)
	}
	return in, nil
}
