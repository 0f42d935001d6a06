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

// Room is a room as seen by one caller. It opens the room for each call, so it stays usable for as long as its owner
// keeps it (an MCP session keeps it for days), while the room itself is closed when it is idle.
type Room struct {
	wire.Stub
	office *Rooms
	name   mail.RoomName
	ID     gate.Identity
}

// RoomOf returns the room as seen by a caller that the gate has identified.
func (o *Rooms) RoomOf(name mail.RoomName, id gate.Identity) *Room {
	v := &Room{office: o, name: name, ID: id}
	v.Carrier = v
	return v
}

// roomAs returns the room as seen by the caller of ctx, who claims the name caller.
func (o *Rooms) roomAs(ctx context.Context, name mail.RoomName, caller mail.Name) (*Room, error) {
	id, err := gate.Identify(ctx, name, caller)
	return o.RoomOf(name, id), err
}

// Own returns the room for the post office's own actions under a name.
func (o *Rooms) Own(ctx context.Context, name mail.RoomName, caller mail.Name) *Room {
	id, err := gate.Identify(gate.Own(ctx), name, caller)
	if err != nil {
		o.Set.Log.Error("room", "room", name, "err", err) // cannot happen: it may use any name
	}
	return o.RoomOf(name, id)
}

// as returns the room for one call, if the caller has the right to its claimed name.
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

// calling returns v for another, proven agent of the same process.
func (v *Room) calling(name mail.Name) *Room {
	return v.office.RoomOf(v.name, v.ID.Calling(name))
}

// Admit returns the name under which the caller on the connection of ctx speaks, and adds it to the roster.
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

// enter borrows the room for a call, and returns it as seen by the caller. changes says whether the call changes the
// room. In a relay there is no entry.
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

// farAway returns the room in the post office of another machine, as seen by the caller.
func (v *Room) farAway(ctx context.Context) (mail.Service, error) {
	name, from, err := v.whence(ctx)
	return v.office.Far.There.RoomFrom(v.name, name, from), err
}

// whence returns the caller's name in the post office of another machine, and its origin.
func (v *Room) whence(ctx context.Context) (name mail.Name, from client.Whence, err error) {
	f, caller := v.office.Far, v.ID.Name()
	from.Session, from.Guessed = v.ID.Session()
	if v.ID.Peer() != nil {
		from.Programs, from.Inside = v.ID.Programs(), v.ID.Doubtful()
		from.Threads = v.ID.Threads()
	}
	if f.Remote.Agent != "" && (caller == mail.User || from.Guessed) {
		return f.Remote.Agent, client.Whence{}, nil // this machine was let in as that agent: it has no other callers
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

// why returns the error of a call to the room of e; if the room's removal caused it, it says so.
func (v *Room) why(e *rooms.Entry, err error) error {
	if e != nil && mail.CodeOf(err) == mail.Unavailable && v.office.Set.IsRemoved(e) {
		return rooms.ErrRemoved(v.name)
	}
	return err
}

// Carry implements wire.Carrier. When it returns, the changes of a call are in the files of the room's bridges, unless
// they fail.
func (v *Room) Carry(ctx context.Context, r *wire.Route, _, _ any, on func(mail.Service) error) error {
	for {
		e, s, err := v.enter(ctx, r.Changes)
		if err != nil {
			return err
		}
		if e != nil && r.ID != wire.WaitCall.ID {
			e.Changing.RLock()
			if v.office.Set.IsGoing(e) { // perhaps to be moved: enter waits, and reports a removal
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

// waiting makes a wait that ends when the lives end that the caller depends on: its credential, its entry in the
// roster and the room.
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

// endingWith runs do, and cancels it when a life ends that lives depends on.
func endingWith[T any](ctx, lives context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer life.OnEnd(lives, func(error) { cancel() })()
	got, err := do(ctx)
	if why := life.Err(lives); why != nil {
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

// borrowedWatch ends when a life ends that its context depends on.
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
			p.Process, p.Join = "", false // we could not tell when it ends
		}
		return v.Stub.Register(ctx, p)
	}
	return v.registerSession(ctx, as, p, access)
}

// registerSession is Register for a call about a session, which as represents.
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

// confirmed rejects the user if an important act needs confirmation first. The API knows those that always do.
func (v *Room) confirmed(ctx context.Context) error {
	if v.ID.Name() != mail.User {
		return nil
	}
	return v.office.Confirm.Check(ctx)
}

// Send implements mail.Sender. Granting a role by answering its card is an important act.
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

// Merge implements mail.Registrar. Giving an agent's mail to another is an important act.
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

// Repair reopens the room if lines were put back, because they belong before events that it has already read.
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

// Export borrows the room while the loop runs.
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
