package hook

import (
	"context"
	"fmt"
	"io"
	"time"

	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
)

// Limits of a hook.
const (
	// Deadline is how long a client waits for a hook at most.
	Deadline = time.Second
	// askTime is how much of it may go by until the post office has answered. The rest is for the marks.
	askTime = 800 * time.Millisecond
	// maxInput is how much of its input is read. The results of tools are in it.
	maxInput = 16 << 20
)

// Mailbox is where an agent has its mail.
type Mailbox struct {
	Room  mail.RoomName
	Agent mail.Name
	// As returns the room as an agent sees it: as Agent, or as what Agent is called because another session bears that name.
	As func(mail.Name) (Service, error)
	// Ring waits, for a minute or so, until Agent is rung; nil: it was not. It starts no post office.
	Ring func(context.Context, mail.Line) (*mail.Rung, error)
}

// Service is what a hook has to know of a room. Every mail.Service is one.
type Service interface {
	mail.Turner
	mail.Marker
}

// Hook is one hook that a client runs.
type Hook struct {
	Client, Event  string // as they stand in the client's configuration
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Process names the program that runs the hook; nil: it is not known.
	Process func(topmost bool) string
	// Enter finds the mailbox that an event is about. It may start a post office when a session starts, and at no other moment: a person may have
	// stopped it.
	Enter func(ctx context.Context, e *Event) (*Mailbox, error)
	// Append appends to a file, which it makes if need be; nil: nothing is written.
	Append func(path, text string) error
	// Ended reports whether the program that runs the hook has ended; nil: it never does.
	Ended func() bool
	// Debug is told why the hook is silent; nil: nobody is.
	Debug func(why string)
}

// Run runs the hook and returns the status with which its process is to end. It is 0, unless that is how the client is told something.
func (h *Hook) Run(ctx context.Context) (exit int) {
	began := time.Now()
	c, ok := FindClient(h.Client)
	if !ok {
		h.debug(fmt.Sprintf("the client %q is not known", h.Client))
		return 0
	}
	e := Event{Client: c.Name, Name: h.Event}
	defer func() {
		if p := recover(); p != nil { // the status of a panic would block the client
			h.debug(fmt.Sprint(p))
			exit = 0
		}
	}()
	if h.Event == waitEvent {
		return h.wait(ctx, &c)
	}
	asking, cancel := context.WithDeadline(ctx, began.Add(askTime))
	defer cancel()
	t, err := h.ask(asking, &c, &e)
	if err != nil {
		h.debug(err.Error())
	}
	answer := c.answer(&e, speech{t.kind, t.text})
	if err := h.write(answer); err != nil {
		h.debug("the output was not taken: " + err.Error())
		return answer.Exit
	}
	marking, cancel := context.WithDeadline(ctx, began.Add(Deadline))
	defer cancel()
	if err := t.mark(marking); err != nil {
		h.debug("what was told is not marked: " + err.Error())
	}
	return answer.Exit
}

func (h *Hook) debug(why string) {
	if h.Debug != nil {
		h.Debug(why)
	}
}

// telling is what is to be said, and to be marked when it was.
type telling struct {
	words
	kind  speechKind
	box   *Mailbox
	agent mail.Name
}

// ask reads what the client says, tells the room and returns what there is to be said. With an error there is nothing.
func (h *Hook) ask(ctx context.Context, c *Client, e *Event) (telling, error) {
	in, err := read(ctx, h.Stdin)
	if err != nil {
		return telling{}, err
	}
	*e = c.read(h.Event, in)
	if e.Moment == "" || e.Sub && e.Moment != mail.BeforeTool || e.Own && e.Moment == mail.BeforeTool {
		return telling{}, nil
	}
	if e.Session.ID == "" {
		return telling{}, fmt.Errorf("%s of %s names no session", e.Name, e.Client)
	}
	h.know(c, e)
	box, err := h.Enter(ctx, e)
	if err != nil {
		return telling{}, err
	}
	svc, err := box.As(box.Agent)
	if err != nil {
		return telling{}, err
	}
	told, err := svc.Turn(ctx, mail.Turn{
		Moment: e.Moment, Session: e.Session.ID, Client: e.Client, Process: e.Session.Process, Frozen: e.Frozen, Over: e.Over, Quiet: !e.Carries,
		Access: e.Session.access(),
	})
	if err != nil {
		return telling{}, err
	}
	h.export(e, told.Agent)
	t := telling{box: box, agent: told.Agent}
	t.kind, t.words = say(e, box, &told)
	return t, nil
}

// know adds what is known of the session from elsewhere.
func (h *Hook) know(c *Client, e *Event) {
	if dir := ProjectDir(e.Client, h.Getenv); dir != "" {
		e.Session.Dir = dir
	}
	if h.Process != nil && e.Agent == "" {
		e.Session.Process = h.Process(c.Editor || e.Client == "vscode")
	}
	if e.Client == "claude" {
		e.Session.Socket = h.Getenv("CLAUDE_CODE_MESSAGING_SOCKET")
		e.Session.Token = Secret(h.Getenv("CLAUDE_CODE_MESSAGING_TOKEN"))
	}
	e.Session.Tmux, e.Session.Pane = h.Getenv("TMUX"), h.Getenv("TMUX_PANE")
}

// say decides what to say.
func say(e *Event, box *Mailbox, told *mail.Told) (speechKind, words) {
	if !e.Carries {
		return silence, words{}
	}
	if e.Moment == mail.BeforeTool {
		if told.Cancel == nil {
			return silence, words{}
		}
		return forbid, order(told)
	}
	w := news(e, box, told)
	switch {
	case w.text == "":
		return silence, words{}
	case e.Moment == mail.TurnEnd && told.Continue:
		return goOn, w
	case e.Moment == mail.TurnEnd:
		return silence, words{}
	}
	return tell, w
}

// write hands the answer over.
func (h *Hook) write(a Answer) error {
	for _, o := range []struct {
		to   io.Writer
		text string
	}{{h.Stdout, a.Out}, {h.Stderr, a.Err}} {
		if o.text == "" {
			continue
		}
		if _, err := io.WriteString(o.to, o.text+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// mark records what was told.
func (t *telling) mark(ctx context.Context) error {
	if len(t.whole)+len(t.pointed) == 0 {
		return nil
	}
	svc, err := t.box.As(t.agent)
	if err != nil {
		return err
	}
	for _, m := range []mail.Marking{{IDs: t.whole, Mark: mail.MarkPresented}, {IDs: t.pointed, Mark: mail.MarkNotified}} {
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

// read reads the client's object. Some clients leave the pipe open, so its end is not waited for, and one that says nothing is left
// when the time is over; the goroutine that waits then ends with the process.
func read(ctx context.Context, r io.Reader) (input, error) {
	type result struct {
		in  input
		err error
	}
	done := make(chan result, 1)
	go func() {
		in, err := jsonx.Pick(io.LimitReader(r, maxInput), members()...)
		done <- result{in, err}
	}()
	select {
	case res := <-done:
		if res.err != nil {
			return nil, fmt.Errorf("read the client's event: %w", res.err)
		}
		return res.in, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("read the client's event: %w", ctx.Err())
	}
}
