package daemon

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// callerRoom is a room as one caller sees it. It opens the room for each call, so it stays usable for as long as
// somebody keeps it (an MCP session keeps it for days), while the room itself is closed whenever nobody needs it.
type callerRoom struct {
	wire.Stub
	office  *office
	name    mail.RoomName
	caller  mail.Name
	peer    *peer      // the process of this machine that says to be the caller; nil: none, or it cannot be looked at
	opens   string     // the program for whose session this call speaks
	session string     // and which that is, as its client calls it
	many    bool       // its client runs several in one program
	joins   bool       // it is an MCP server
	shell   shell      // in which the caller says to run; without a session it says nothing
	pass    *mail.Pass // of the machine that vouches for the caller; nil: none
	toolUse string     // for which the caller's client calls, or wire.ShellUse; "": it does not say
}

// roomOf returns the room as caller sees it. Nothing is known about the caller's process.
func (o *office) roomOf(name mail.RoomName, caller mail.Name) *callerRoom {
	v := &callerRoom{office: o, name: name, caller: caller}
	v.Carrier = v
	return v
}

// roomAs returns the room as caller sees it, who came by the connection of ctx.
func (o *office) roomAs(ctx context.Context, name mail.RoomName, caller mail.Name) *callerRoom {
	v := o.roomOf(name, caller)
	p, ok := ctx.Value(peerKey{}).(*peer)
	if ok = ok && o.cfg.AgentCheck != config.CheckProcess; !ok {
		p, ok = ctx.Value(farPeerKey{}).(*peer) // what is looked at there, the machine there decides
	}
	if ok && caller != mail.User {
		v.peer = p
	}
	if v.pass = passOf(ctx); v.pass != nil && v.pass.Agent != "" {
		return v // what else a request says of its caller would make it another
	}
	v.shell, _ = ctx.Value(sessionKey{}).(shell)
	v.toolUse, _ = ctx.Value(toolUseKey{}).(string)
	return v
}

// as returns the room for one call, if the caller may speak there as who it says to be.
func (v *callerRoom) as(ctx context.Context, e *entry) (mail.Service, error) {
	s, err := v.anywhere(ctx, e)
	if err == nil && v.pass != nil {
		s = mailroom.Within(s, v.pass.Enters)
	}
	return s, err
}

// anywhere is as for a caller that may write to every room.
func (v *callerRoom) anywhere(ctx context.Context, e *entry) (mail.Service, error) {
	caller := v.caller
	whence := mailroom.Whence{Guessed: v.shell.guessed}
	if seat := e.room.Seat(caller, v.shell.session); v.shell.session != "" && seat != "" {
		caller, whence.Guessed = seat, false
	}
	svc := e.room.As(caller)
	if v.peer != nil || whence.Guessed {
		// of a session that is not there no process tells
		if !whence.Guessed || v.peer != nil && v.shell.session == "" {
			whence.Programs, whence.Opens, whence.InClient = v.peer.programs(), v.opens, v.peer.inClient
			whence.Session, whence.Many, whence.Joins = v.session, v.many, v.joins
			whence.Elsewhere = v.opens != "" && !e.room.Binds(v.peer.programs()) &&
				v.office.bindsElsewhere(v.name, v.peer.programs())
		}
		var err error
		if svc, err = e.room.From(caller, whence); err != nil {
			return nil, err
		}
	}
	if v.toolUse == "" {
		return svc, nil
	}
	name, err := v.member(ctx, e.room.As(mail.User), caller)
	if err == nil && name != caller {
		svc = e.room.As(name)
	}
	return svc, err
}

// opening returns v for a call about a session of a program, if that is one of those that the peer runs in. Else the
// call is like any other, and the program is taken for none.
func (v *callerRoom) opening(program *string, session, client string) *callerRoom {
	if v.peer == nil || len(v.peer.programs()) == 0 || *program == "" {
		return v
	}
	if !slices.ContainsFunc(v.peer.programs(), func(p string) bool { return process.Is(*program, p) }) {
		// there it is a name that only says whose hooks and server belong together
		if !v.peer.far && !process.Apart(v.peer.pid) {
			*program = ""
		}
		return v
	}
	o := v.office.roomOf(v.name, v.caller)
	o.peer, o.opens, o.session = v.peer, *program, session
	c, _ := hook.FindClient(client)
	o.many = c.Editor || c.Many
	return o
}

// calling returns v for another caller.
func (v *callerRoom) calling(name mail.Name) *callerRoom {
	o := v.office.roomOf(v.name, name)
	o.peer, o.opens, o.session, o.many, o.joins, o.pass = v.peer, v.opens, v.session, v.many, v.joins, v.pass
	return o
}

// admit returns as whom somebody speaks who came by the connection of ctx, and puts it on the roster.
func (o *office) admit(ctx context.Context, name mail.RoomName, caller mail.Name) (mail.Name, error) {
	v := o.roomAs(ctx, name, caller)
	if v.peer == nil {
		return caller, nil
	}
	a, err := v.Register(ctx, mail.Presence{Update: true})
	if mail.CodeOf(err) == mail.NotFound {
		a, err = v.Register(ctx, mail.Presence{})
	}
	return a.Name, err
}

var _ mail.Service = (*callerRoom)(nil)

// enter borrows the room for a call, which changes something or not, and returns it as the caller sees it. In a relay
// there is no entry.
func (v *callerRoom) enter(ctx context.Context, changes bool) (*entry, mail.Service, error) {
	if v.office.far != nil {
		s, err := v.office.far.room(ctx, v)
		return nil, s, err
	}
	if err := v.office.checkRemoved(v.name, v.caller, changes); err != nil {
		return nil, nil, err
	}
	e, err := v.office.borrow(ctx, v.name)
	if err != nil {
		return nil, nil, err
	}
	s, err := v.as(ctx, e)
	if err != nil {
		v.leave(e)
	}
	return e, s, err
}

func (v *callerRoom) leave(e *entry) {
	if e != nil {
		v.office.giveBack(e, v.name)
	}
}

// why returns err, of a call to the room of e, in the words of the room's removal if that is what ended it.
func (v *callerRoom) why(e *entry, err error) error {
	if e != nil && mail.CodeOf(err) == mail.Unavailable && v.office.isRemoved(e) {
		return errRemoved(v.name)
	}
	return err
}

// Carry implements wire.Carrier. What a call changed is in the files of the room's bridges when it returns, unless
// they fail.
func (v *callerRoom) Carry(ctx context.Context, r *wire.Route, _, _ any, on func(mail.Service) error) error {
	for {
		e, s, err := v.enter(ctx, r.Changes)
		if err != nil {
			return err
		}
		if e != nil && r.ID != wire.WaitCall.ID {
			e.changing.RLock()
			if v.office.isGoing(e) { // to be moved, perhaps: enter waits, and says if it was removed
				e.changing.RUnlock()
				v.leave(e)
				continue
			}
		}
		err = on(s)
		if e != nil && r.ID != wire.WaitCall.ID {
			e.changing.RUnlock()
		}
		if err == nil && r.Changes && e != nil && e.bridges.Len() > 0 {
			e.bridges.Await(ctx, e.room.Shown())
		}
		err = v.why(e, err)
		v.leave(e)
		return err
	}
}

// Watch keeps the room borrowed until the watch is closed.
func (v *callerRoom) Watch(ctx context.Context, after mail.Seq) (mail.Watch, error) {
	e, s, err := v.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	w, err := s.Watch(ctx, after)
	if err != nil {
		v.leave(e)
		return nil, err
	}
	return &borrowedWatch{Watch: w, giveBack: sync.OnceFunc(func() { v.leave(e) })}, nil
}

type borrowedWatch struct {
	mail.Watch
	giveBack func()
}

func (w *borrowedWatch) Close() error {
	defer w.giveBack()
	return w.Watch.Close()
}

// Turn implements mail.Turner.
func (v *callerRoom) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	access := t.Access
	t.Access = nil
	as := v.opening(&t.Process, t.Session, t.Client)
	brief, err := as.Stub.Turn(ctx, t)
	if err == nil {
		v.office.meet(v.name, &brief, &t, access)
	}
	return brief, err
}

// Register implements mail.Registrar.
func (v *callerRoom) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	access := p.Access
	p.Access = nil
	if err := access.Check(); err != nil {
		return mail.Agent{}, err
	}
	as := v.opening(&p.Process, p.Session, p.Client)
	as.joins = as != v && p.Join
	if p.Session == "" || p.TakeOver {
		as = v
	}
	if name := v.office.toolUses.in(v.name, p.Process); p.Join && name != "" && name != as.caller {
		as = as.calling(name)
	}
	a, err := as.Stub.Register(ctx, p)
	if err == nil && access != nil && p.Join {
		v.office.join(v.name, a.Name, &p, access)
	}
	return a, err
}

// Rename implements mail.Registrar.
func (v *callerRoom) Rename(ctx context.Context, from, to mail.Name) (mail.Agent, error) {
	a, err := v.Stub.Rename(ctx, from, to)
	if err == nil {
		v.office.listeners.Move(v.name, from)
		v.office.sessions.Move(v.name, from, a.Name)
		v.office.machines.Move(v.name, from, a.Name)
	}
	return a, err
}

// Repair closes and opens the room again if lines were put back, because they belong before what it has read.
func (v *callerRoom) Repair(ctx context.Context) (mail.Verification, error) {
	e, s, err := v.enter(ctx, true)
	if err != nil {
		return mail.Verification{}, err
	}
	found, err := s.Repair(ctx)
	v.leave(e)
	if found.Repaired == 0 || e == nil {
		return found, v.why(e, err)
	}
	err = errors.Join(err, v.office.sweep(func(open *entry) bool { return open == e }))
	again, _, opening := v.enter(ctx, true)
	if opening == nil {
		v.leave(again)
	}
	return found, errors.Join(err, opening)
}

// Export borrows the room for as long as the loop over it runs.
func (v *callerRoom) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
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
