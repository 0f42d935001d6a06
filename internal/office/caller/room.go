package caller

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// Room is a room as one caller sees it. It opens the room for each call, so it stays usable for as long as
// somebody keeps it (an MCP session keeps it for days), while the room itself is closed whenever nobody needs it.
type Room struct {
	wire.Stub
	office *Rooms
	name   mail.RoomName
	ID     gate.Identity
}

// RoomOf returns the room as a caller sees it whom the gate has identified.
func (o *Rooms) RoomOf(name mail.RoomName, id gate.Identity) *Room {
	v := &Room{office: o, name: name, ID: id}
	v.Carrier = v
	return v
}

// roomAs returns the room as the caller of ctx sees it, who says to be that.
func (o *Rooms) roomAs(ctx context.Context, name mail.RoomName, caller mail.Name) (*Room, error) {
	id, err := gate.Identify(ctx, name, caller)
	return o.RoomOf(name, id), err
}

// Own returns the room for what the post office itself does there as somebody.
func (o *Rooms) Own(ctx context.Context, name mail.RoomName, caller mail.Name) *Room {
	id, err := gate.Identify(gate.Own(ctx), name, caller)
	if err != nil {
		o.Set.Log.Error("room", "room", name, "err", err) // which cannot be: it is anybody
	}
	return o.RoomOf(name, id)
}

// as returns the room for one call, if the caller may speak there as who it says to be.
func (v *Room) as(ctx context.Context, e *rooms.Entry) (mail.Service, error) {
	id := v.ID
	if programs := id.Outer(); len(programs) > 0 && !e.Room.Binds(id.Programs()) {
		id = id.Elsewhere(v.office.Set.SessionIn(programs, v.name))
	}
	svc, caller, err := id.Enter(e.Room)
	if err != nil || v.ID.ToolUse() == "" {
		return svc, err
	}
	name, err := v.member(ctx, e.Room.As(mail.User), caller)
	if err == nil && name != caller {
		svc = v.ID.As(e.Room, name)
	}
	return svc, err
}

// opening returns v for a call about a session of a program.
func (v *Room) opening(program *string, session, client string) *Room {
	c, _ := hook.FindClient(client)
	id, taken := v.ID.Opening(*program, session, c.Editor || c.Many)
	*program = taken
	return v.office.RoomOf(v.name, id)
}

// calling returns v for another agent of the same process, for which there is proof.
func (v *Room) calling(name mail.Name) *Room {
	return v.office.RoomOf(v.name, v.ID.Calling(name))
}

// Admit returns as whom somebody speaks who came by the connection of ctx, and puts it on the roster.
func (o *Rooms) Admit(ctx context.Context, name mail.RoomName, caller mail.Name) (mail.Name, error) {
	v, err := o.roomAs(ctx, name, caller)
	if err != nil || v.ID.Peer() == nil || caller == mail.User {
		return caller, err
	}
	a, err := v.Register(ctx, mail.Presence{Update: true})
	if mail.CodeOf(err) == mail.NotFound {
		a, err = v.Register(ctx, mail.Presence{})
	}
	return a.Name, err
}

var _ mail.Service = (*Room)(nil)

// enter borrows the room for a call, which changes something or not, and returns it as the caller sees it. In a relay
// there is no entry.
func (v *Room) enter(ctx context.Context, changes bool) (*rooms.Entry, mail.Service, error) {
	if v.office.Far != nil {
		s, err := v.farAway(ctx)
		return nil, s, err
	}
	if err := v.office.Set.CheckRemoved(v.name, v.ID.Name(), changes); err != nil {
		return nil, nil, err
	}
	e, err := v.office.Set.Borrow(ctx, v.name)
	if err != nil {
		return nil, nil, err
	}
	s, err := v.as(ctx, e)
	if err != nil {
		v.leave(e)
	}
	return e, s, err
}

// farAway returns the room in the post office of another machine, as the caller sees it.
func (v *Room) farAway(ctx context.Context) (mail.Service, error) {
	name, from, err := v.whence(ctx)
	return v.office.Far.There.RoomFrom(v.name, name, from), err
}

// whence returns as whom the caller speaks in the post office of another machine, and from where.
func (v *Room) whence(ctx context.Context) (name mail.Name, from client.Whence, err error) {
	f, caller := v.office.Far, v.ID.Name()
	from.Session, from.Guessed = v.ID.Session()
	if v.ID.Peer() != nil {
		from.Programs, from.Inside = v.ID.Programs(), v.ID.Doubtful()
		from.Threads = v.ID.Threads()
	}
	if f.Remote.Agent != "" && (caller == mail.User || from.Guessed) {
		return f.Remote.Agent, client.Whence{}, nil // this machine was let in as that agent: there is nobody else here
	}
	if v.ID.ToolUse() != "" {
		user := f.There.RoomFrom(v.name, mail.User, client.Whence{})
		if name, err := v.member(ctx, user, caller); err != nil || name != caller {
			return name, client.Whence{}, err
		}
	}
	return caller, from, nil
}

func (v *Room) leave(e *rooms.Entry) {
	if e != nil {
		v.office.Set.GiveBack(e, v.name)
	}
}

// why returns err, of a call to the room of e, in the words of the room's removal if that is what ended it.
func (v *Room) why(e *rooms.Entry, err error) error {
	if e != nil && mail.CodeOf(err) == mail.Unavailable && v.office.Set.IsRemoved(e) {
		return rooms.ErrRemoved(v.name)
	}
	return err
}

// Carry implements wire.Carrier. What a call changed is in the files of the room's bridges when it returns, unless
// they fail.
func (v *Room) Carry(ctx context.Context, r *wire.Route, _, _ any, on func(mail.Service) error) error {
	for {
		e, s, err := v.enter(ctx, r.Changes)
		if err != nil {
			return err
		}
		if e != nil && r.ID != wire.WaitCall.ID {
			e.Changing.RLock()
			if v.office.Set.IsGoing(e) { // to be moved, perhaps: enter waits, and says if it was removed
				e.Changing.RUnlock()
				v.leave(e)
				continue
			}
		}
		if e != nil && r.ID == wire.WaitCall.ID {
			err = waiting(ctx, s, on)
		} else {
			err = on(s)
		}
		if e != nil && r.ID != wire.WaitCall.ID {
			e.Changing.RUnlock()
		}
		if err == nil && r.Changes && e != nil && e.Bridges.Len() > 0 {
			e.Bridges.Await(ctx, e.Room.Shown())
		}
		err = v.why(e, err)
		v.leave(e)
		return err
	}
}

// waiting makes a wait that ends with what the caller stands on.
func waiting(ctx context.Context, s mail.Service, on func(mail.Service) error) error {
	ctx, end := life.Begin(ctx)
	defer end()
	if err := mailroom.Stand(ctx, s); err != nil {
		return err
	}
	return on(standing{s, ctx})
}

// standing is a room in which a wait ends with a context.
type standing struct {
	mail.Service
	ctx context.Context
}

// Wait implements mail.Watcher.
func (s standing) Wait(ctx context.Context, q mail.WaitQuery) (mail.Item, error) {
	return endingWith(ctx, s.ctx, func(ctx context.Context) (mail.Item, error) { return s.Service.Wait(ctx, q) })
}

// endingWith does something that ends with what a context stands on.
func endingWith[T any](ctx, stands context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer life.OnEnd(stands, func(error) { cancel() })()
	got, err := do(ctx)
	if why := life.Err(stands); why != nil {
		return *new(T), why
	}
	return got, err
}

// Watch keeps the room borrowed until the watch is closed.
func (v *Room) Watch(ctx context.Context, after mail.Seq) (mail.Watch, error) {
	e, s, err := v.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	ctx, end := life.Begin(ctx)
	if e != nil {
		err = mailroom.Stand(ctx, s)
	}
	var w mail.Watch
	if err == nil {
		w, err = s.Watch(ctx, after)
	}
	if err != nil {
		end()
		v.leave(e)
		return nil, err
	}
	return &borrowedWatch{Watch: w, ctx: ctx, giveBack: sync.OnceFunc(func() { end(); v.leave(e) })}, nil
}

// borrowedWatch ends with what its context stands on.
type borrowedWatch struct {
	mail.Watch
	ctx      context.Context
	giveBack func()
}

// Next implements mail.Watch.
func (w *borrowedWatch) Next(ctx context.Context) ([]mail.Event, error) {
	return endingWith(ctx, w.ctx, w.Watch.Next)
}

func (w *borrowedWatch) Close() error {
	defer w.giveBack()
	return w.Watch.Close()
}

// Turn implements mail.Turner.
func (v *Room) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	access := t.Access
	t.Access = nil
	as := v.opening(&t.Process, t.Session, t.Client)
	if !t.Sub && (t.Moment == mail.SessionStart || t.Moment == mail.TurnStart) {
		defer as.makeWay(ctx)()
	}
	if t.Moment == mail.TurnEnd && !t.Over {
		agent, _ := v.office.Set.Reach.Sessions.Of(v.name, t.Session)
		v.office.Set.Reach.Listeners.Expect(v.name, agent, mail.Listener{Door: mail.RewakeDoor, Session: t.Session})
	}
	brief, err := as.Stub.Turn(ctx, t)
	if err == nil {
		v.office.Set.Reach.Meet(v.name, &brief, &t, access)
	}
	return brief, err
}

// Register implements mail.Registrar.
func (v *Room) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	access := p.Access
	p.Access = nil
	if err := access.Check(); err != nil {
		return mail.Agent{}, err
	}
	if slices.Contains(p.Roles, string(mail.Orchestrator)) || p.Name == mail.Orchestrator {
		if err := v.confirmed(ctx); err != nil {
			return mail.Agent{}, err
		}
	}
	as := v.opening(&p.Process, p.Session, p.Client)
	if p.Session == "" {
		if !as.ID.Sees() {
			p.Process, p.Join = "", false // nobody could tell when it ends
		}
		return v.Stub.Register(ctx, p)
	}
	return v.registerSession(ctx, as, p, access)
}

// registerSession is Register for what is said of a session, which as is about.
func (v *Room) registerSession(ctx context.Context, as *Room, p mail.Presence, access *mail.Access) (mail.Agent,
	error) {
	if p.Join {
		as.ID = as.ID.Joining()
	}
	if !p.End {
		defer as.makeWay(ctx)()
	}
	if p.TakeOver {
		as = v
	}
	if name := v.office.ToolUses.in(v.name, p.Process); p.Join && name != "" && name != as.ID.Name() {
		as = as.calling(name)
	}
	if a, shared := v.shares(ctx, &p); shared {
		return a, nil
	}
	a, err := as.Stub.Register(ctx, p)
	if err != nil || !p.Join {
		return a, err
	}
	if access != nil {
		v.office.Set.Reach.Join(v.name, a.Name, &p, access)
	}
	if !p.End {
		v.working(ctx, a.Name)
	}
	return a, nil
}

// confirmed refuses the user who has to confirm an act of weight first. Those that are such acts whatever they are
// about, the API knows.
func (v *Room) confirmed(ctx context.Context) error {
	if v.ID.Name() != mail.User {
		return nil
	}
	return v.office.Confirm.Check(ctx)
}

// Send implements mail.Sender. To give somebody a role by answering the card that asks for it is an act of weight.
func (v *Room) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	answer := mail.Message{Metadata: d.Metadata}
	if d.ReplyTo != "" && !answer.Declines() {
		if err := v.confirmed(ctx); err != nil {
			if asked, e := v.Message(ctx, d.ReplyTo); e == nil && mailroom.IsCard(&asked.Message) {
				return mail.Sent{}, err
			}
		}
	}
	return v.send(ctx, d)
}

// Rename implements mail.Registrar.
func (v *Room) Rename(ctx context.Context, from, to mail.Name) (mail.Agent, error) {
	if to == mail.Orchestrator {
		if err := v.confirmed(ctx); err != nil {
			return mail.Agent{}, err
		}
	}
	a, err := v.Stub.Rename(ctx, from, to)
	if err == nil {
		v.office.Set.Reach.Listeners.Move(v.name, from)
		v.office.Set.Reach.Sessions.Move(v.name, from, a.Name)
		v.office.Set.Reach.Machines.Move(v.name, from, a.Name)
	}
	return a, err
}

// Merge implements mail.Registrar. To make an agent's mail somebody else's is an act of weight.
func (v *Room) Merge(ctx context.Context, from, into mail.Name) (mail.Agent, error) {
	if err := v.confirmed(ctx); err != nil {
		return mail.Agent{}, err
	}
	a, err := v.Stub.Merge(ctx, from, into)
	if err == nil {
		v.office.Set.Reach.Listeners.Move(v.name, from)
	}
	return a, err
}

// Repair closes and opens the room again if lines were put back, because they belong before what it has read.
func (v *Room) Repair(ctx context.Context) (mail.Verification, error) {
	e, s, err := v.enter(ctx, true)
	if err != nil {
		return mail.Verification{}, err
	}
	found, err := s.Repair(ctx)
	v.leave(e)
	if found.Repaired == 0 || e == nil {
		return found, v.why(e, err)
	}
	err = errors.Join(err, v.office.Set.Sweep(func(open *rooms.Entry) bool { return open == e }))
	again, _, opening := v.enter(ctx, true)
	if opening == nil {
		v.leave(again)
	}
	return found, errors.Join(err, opening)
}

// Export borrows the room for as long as the loop over it runs.
func (v *Room) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		e, s, err := v.enter(ctx, false)
		if err != nil {
			yield(mail.Item{}, err)
			return
		}
		defer v.leave(e)
		for it, err := range s.Export(ctx) {
			if !yield(it, err) {
				return
			}
		}
	}
}
