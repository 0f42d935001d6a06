package caller

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/claims"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/sessions"
	"pennypost/internal/policy"
	"pennypost/internal/wire"
)

// Limits on output that waits for its client's confirmation.
const (
	ticketTime = 10 * time.Second
	maxTickets = 1000
)

// maxAsked is how many sessions are remembered whose person was told to restart them.
const maxAsked = 100

// Hooks answers the hooks of agents' clients.
type Hooks struct {
	Rooms *Rooms

	mu      sync.Mutex
	tickets map[string]ticket
	asked   []string // the last sessions that first was called for
}

// ticket has the marks to write once a client has taken the output.
type ticket struct {
	marks *hook.Marks
	until time.Time
}

// Answer implements httpapi.Hooks.
func (h *Hooks) Answer(ctx context.Context, in *wire.Hook, waits func()) (wire.HookAnswer, error) {
	call := h.call(in, 0)
	call.Waits = waits
	a, marks, err := call.Answer(context.WithValue(ctx, hookKey{}, true))
	return wire.HookAnswer{Out: a.Out, Err: a.Err, Exit: a.Exit, Shell: a.Shell, Ticket: h.keep(marks)}, err
}

// Wait implements httpapi.Hooks.
func (h *Hooks) Wait(ctx context.Context, in *wire.Hook, silence time.Duration,
	hand func(*wire.HookAnswer) error) error {
	return h.call(in, silence).Wait(ctx, func(a *hook.Answer) error {
		if a == nil {
			return hand(nil)
		}
		return hand(&wire.HookAnswer{Err: a.Err, Exit: a.Exit})
	})
}

// Taken implements httpapi.Hooks.
func (h *Hooks) Taken(ctx context.Context, id string) error {
	h.mu.Lock()
	t, ok := h.tickets[id]
	delete(h.tickets, id)
	h.mu.Unlock()
	if !ok {
		return mail.Errorf(mail.NotFound,
			"unknown ticket; the mail will be shown again")
	}
	return t.marks.Write(ctx)
}

// keep returns the ticket of marks, "" if there are none. Beyond maxTickets, the mail is told again.
func (h *Hooks) keep(marks *hook.Marks) string {
	if marks == nil {
		return ""
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, t := range h.tickets {
		if now.After(t.until) {
			delete(h.tickets, id)
		}
	}
	if len(h.tickets) >= maxTickets {
		return ""
	}
	if h.tickets == nil {
		h.tickets = make(map[string]ticket)
	}
	id := rand.Text()
	h.tickets[id] = ticket{marks, now.Add(ticketTime)}
	return id
}

// first reports whether this is the first call for a session, among the last maxAsked.
func (h *Hooks) first(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.asked, session) {
		return false
	}
	h.asked = append(h.asked, session)
	h.asked = h.asked[max(0, len(h.asked)-maxAsked):]
	return true
}

// call returns a hook in the form of package hook.
func (h *Hooks) call(in *wire.Hook, silence time.Duration) *hook.Call {
	c := &hook.Call{
		Client: in.Client, Event: in.Event, Input: in.Input, Getenv: in.Getenv, Tools: toolsOf(h.Rooms.Set.Dialects),
		Process: func(topmost bool) string {
			if topmost {
				return in.Topmost
			}
			return in.Program
		},
		Busy: func(s *hook.Session) bool {
			return h.Rooms.Set.Reach.Claude.Busy(&sessions.Session{Process: s.Process,
				Socket: sessions.NewSecret(s.Socket)})
		},
		First: h.first,
		Log:   func(s *hook.Session) string { return h.Rooms.Set.Reach.Copilot.Log(s.ID) },
		Use:   h.Rooms.ToolUses.Note, Dialogs: clientDialogs{h.Rooms.Asked, h.Rooms},
		Window: func(ctx context.Context, e *hook.Event) (*hook.Window, error) {
			return h.Rooms.window(ctx, in.Program, e)
		},
	}
	c.Write = func(ctx context.Context, room mail.RoomName, as hook.Service, agent mail.Name,
		e *hook.Event) (mail.Claimed, error) {
		return h.Rooms.guard().Write(ctx, as, claims.Use{Room: room, Agent: agent, Tool: e.Tool, ID: e.ToolUse,
			Given: e.Input, Dir: e.Session.Dir, Home: in.Getenv("HOME")})
	}
	c.Did = func(room mail.RoomName, agent mail.Name, e *hook.Event) {
		use := ""
		if e.Moment == mail.AfterTool {
			use = e.ToolUse
		}
		h.Rooms.guard().Ended(room, agent, use)
	}
	c.Enter = func(ctx context.Context, e *hook.Event) (*hook.Mailbox, error) {
		return h.enter(ctx, in, c.Getenv, e, silence)
	}
	return c
}

// enter finds the mailbox of the agent that an event is about.
func (h *Hooks) enter(ctx context.Context, in *wire.Hook, getenv func(string) string, e *hook.Event,
	silence time.Duration) (*hook.Mailbox, error) {
	e.Session.Dir = cmp.Or(e.Session.Dir, in.Dir) // where its client runs its hooks, if it does not say
	p, err := config.FindPlace(in.Room, in.As, getenv, e.Client, e.Session.Dir)
	if err != nil {
		return nil, err
	}
	if far := h.Rooms.Far; far != nil {
		p.LetIn(far.Remote.Room, far.Remote.Agent)
	}
	if p.Agent == mail.User {
		return nil, config.RefuseUser("the hook itself")
	}
	box := &hook.Mailbox{}
	if box.Room, box.Agent, err = h.place(ctx, &p, e.Client); err != nil {
		return nil, err
	}
	mate, err := h.Rooms.Teammate(ctx, box.Room, getenv("TMUX_PANE"), e)
	if err != nil {
		return nil, err
	}
	box.Agent = cmp.Or(mate, box.Agent)
	h.Rooms.moveOn(ctx, box.Room, box.Agent, e)
	box.As = func(n mail.Name) (hook.Service, error) {
		return h.Rooms.RoomOf(box.Room, gate.OfHook(ctx, n)), nil
	}
	box.Ring = func(ctx context.Context, at mail.Listener, hand func(*mail.Rung) error) error {
		v := h.Rooms.RoomOf(box.Room, gate.OfHook(ctx, box.Agent))
		return h.Rooms.listenAs(ctx, v, at, silence, hand)
	}
	return box, nil
}

// place returns the room and agent of a session, if no new consent of the person is needed.
func (h *Hooks) place(ctx context.Context, p *config.Place, client string) (mail.RoomName, mail.Name, error) {
	if p.Plain() {
		room, name := p.Here()
		return room, name, nil
	}
	at := placeOf(p, client)
	at.Starts = true
	placed, err := h.Rooms.Place(ctx, at)
	return placed.Room, placed.Agent, err
}

// guard returns the guard that claims agents' writes.
func (o *Rooms) guard() *claims.Guard {
	return &claims.Guard{Watch: &o.Claimed, Others: o.Set.Reach.Sessions.Others, Rule: func(
		room mail.RoomName) policy.ClaimRule {
		r := o.Set.Config.For(room)
		return cmp.Or(policy.ClaimRule(r.Claims), policy.DefaultClaims)
	}}
}

// toolsOf returns the names of all tools of dialects.
func toolsOf(dialects []dialect.Dialect) []string {
	var names []string
	for _, d := range dialects {
		for _, e := range d.Endpoints {
			for _, t := range e.Tools {
				names = append(names, t.Name)
			}
		}
	}
	return names
}
