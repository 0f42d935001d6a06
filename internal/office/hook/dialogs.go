package hook

import (
	"context"
	"errors"

	"pennypost/internal/mail"
)

// Dialogs are the open dialogs of this machine's clients.
type Dialogs interface {
	// Of returns those of a client's session. It is nearly free when there are none.
	Of(client, session string) []Held
	// Note records a tool call, because a later event may ask about it without naming it.
	Note(e *Event)
	// Noted returns a session's last recorded tool call that is not known to have ended.
	Noted(e *Event) (tool, use string, input []byte)
	// Open records a dialog, tells the room and returns its id.
	Open(ctx context.Context, svc Service, h Held) (mail.ID, error)
	// Settle tells the room how a dialog ended, and forgets the dialog.
	Settle(ctx context.Context, svc Service, h *Held, how mail.DialogOutcome) error
	// Away reports whether the person wants to be asked here by an agent whose client hides its dialog while a hook
	// waits.
	Away(room mail.RoomName, agent mail.Name) bool
	// Wait waits until the person answers a dialog here, as shown to them. It returns nil once no answer can come.
	Wait(ctx context.Context, id mail.ID, shown string) (*mail.DialogAnswer, error)
	// Taken records that the client has the answer.
	Taken(id mail.ID)
}

// attended is the variable in which Claude Code says whether a person attends the session: "0" for `claude -p`.
const attended = "CLAUDE_CODE_SESSION_ATTENDED"

// settle ends the dialogs of e's session that e shows to be over.
func (c *Call) settle(ctx context.Context, client *Client, e *Event) error {
	if c.Dialogs == nil || e.Session.ID == "" {
		return nil
	}
	var svc Service
	var errs []error
	open := c.Dialogs.Of(e.Client, e.Session.ID)
	if len(open) > 0 {
		c.know(client, e)
	}
	for _, h := range open {
		how, over := e.Settles(&h)
		if !over {
			continue
		}
		if svc == nil {
			box, err := c.Enter(ctx, e)
			if err == nil {
				svc, err = box.As(h.Agent)
			}
			if err != nil {
				return err
			}
		}
		errs = append(errs, c.Dialogs.Settle(ctx, svc, &h, how))
	}
	return errors.Join(errs...)
}

// noteUse records a tool call that the client may later ask about without naming it, and completes e from the last
// one.
func (c *Call) noteUse(e *Event) {
	if c.Dialogs == nil {
		return
	}
	if e.Moment == mail.BeforeTool || e.Moment == mail.AfterTool {
		c.Dialogs.Note(e)
	}
	tool, use, input := "", "", []byte(nil)
	if e.Untold || e.noted != nil || e.Asks != nil && e.Asks.Use == "" {
		tool, use, input = c.Dialogs.Noted(e)
	}
	switch {
	case e.noted != nil:
		e.noted(e, tool, use, input)
	case e.Asks != nil && e.Asks.Use == "" && tool == e.Tool && sumOf(tool, input) == e.Sum():
		e.Asks.Use = use
	case e.Untold && len(c.Dialogs.Of(e.Client, e.Session.ID)) == 0:
		e.Tool, e.ToolUse, e.Input = tool, use, input
		e.asks(mail.AsksPermission).Cut = tool == ""
	}
}

// opens tells the room about the dialog that e opens. It waits for an answer if that hides no dialog of the client,
// or if the person wants to be asked here.
func (c *Call) opens(ctx context.Context, client *Client, e *Event) (Answer, *Marks, error) {
	if closed, err := c.sit(ctx, e); closed || err != nil {
		return Answer{}, nil, err
	}
	c.know(client, e)
	h := e.held()
	svc, err := c.stands(ctx, client, e, &h)
	if svc == nil || err != nil {
		return Answer{}, nil, err
	}
	h.Beside = h.Beside && !c.headless(e)
	here := h.Beside || c.Dialogs.Away(h.Room, h.Agent)
	if !here && (h.Later || c.headless(e)) {
		return Answer{}, nil, nil // there is no dialog yet, or the client denies by itself
	}
	if !here || client.decide == nil {
		h.Offers = nil
	}
	id, err := c.Dialogs.Open(ctx, svc, h)
	if err != nil || len(h.Offers) == 0 || id == "" {
		return Answer{}, nil, err
	}
	return c.waits(ctx, client, e, &h, id)
}

// held returns the dialog that e opens, without the agent's identity.
func (e *Event) held() Held {
	h := Held{Asked: *e.Asks, Client: e.Client, Session: e.Session.ID, Process: e.Session.Process}
	if e.Sub {
		h.Who = e.Kind
	}
	return h
}

// headless reports whether no person attends the session: Claude Code then shows no dialog.
func (c *Call) headless(e *Event) bool { return e.Client == "claude" && c.Getenv(attended) == "0" }

// stands tells the room that the agent is working, and fills in h.Room and h.Agent. It returns nil if the session is
// no agent.
func (c *Call) stands(ctx context.Context, client *Client, e *Event, h *Held) (Service, error) {
	box, err := c.Enter(ctx, e)
	if err != nil {
		return nil, err
	}
	svc, err := box.As(box.Agent)
	if err != nil {
		return nil, err
	}
	t := e.turn(client)
	if t.Quiet = true; t.Moment == "" {
		t.Moment = mail.AfterTool
	}
	brief, err := svc.Turn(ctx, t)
	if err != nil || brief.Unequipped || brief.State == mail.Gone {
		return nil, err
	}
	h.Room, h.Agent = box.Room, brief.Agent
	if e.Served { // the server of several windows is asked beside the dialog, which appears when the hook ends
		h.Offers = nil
	}
	return svc, nil
}

// waits waits for the person's answer to h and passes it to the client if it fits the dialog.
func (c *Call) waits(ctx context.Context, client *Client, e *Event, h *Held, id mail.ID) (Answer, *Marks, error) {
	if c.Waits != nil {
		c.Waits()
	}
	a, err := c.Dialogs.Wait(ctx, id, h.Shown())
	if a == nil || err != nil {
		return Answer{}, nil, err
	}
	in, err := read(c.Input)
	if err == nil {
		err = h.Fits(a)
	}
	if err != nil {
		return Answer{}, nil, err
	}
	out := client.decide(e, in, a)
	if out == "" {
		return Answer{}, nil, errors.New("the client cannot accept this answer")
	}
	return Answer{Out: out}, &Marks{taken: func() { c.Dialogs.Taken(id) }}, nil
}
