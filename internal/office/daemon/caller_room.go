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
	"pennypost/internal/room/mailroom"
)

// callerRoom is a room as one caller sees it, borrowed for each call: it stays usable for as long as somebody keeps it
// (an MCP session keeps it for days), while the room itself is closed whenever nobody needs it.
type callerRoom struct {
	office *office
	name   mail.RoomName
	caller mail.Name
	peer   *peer  // the process of this machine that says to be the caller; nil: none, or it cannot be looked at
	opens  string // the program for whose session this call speaks
}

// roomAs returns the room as caller sees it, who came by the connection of ctx.
func (o *office) roomAs(ctx context.Context, name mail.RoomName, caller mail.Name) *callerRoom {
	v := &callerRoom{office: o, name: name, caller: caller}
	if p, ok := ctx.Value(peerKey{}).(*peer); ok && caller != mail.User && o.cfg.AgentCheck != config.CheckProcess {
		v.peer = p
	}
	return v
}

// as returns the room for one call, if the caller may speak there as who it says to be.
func (v *callerRoom) as(e *entry) (mail.Service, error) {
	if v.peer == nil {
		return e.room.As(v.caller), nil
	}
	return e.room.From(v.caller, mailroom.Whence{
		Programs: v.peer.programs(), Opens: v.opens, InClient: v.peer.inClient,
	})
}

// opening returns v for a call about a session of a program, if that is one of those that the peer runs in. Else the
// call is like any other, and the program is taken for none.
func (v *callerRoom) opening(program *string) *callerRoom {
	if v.peer == nil || len(v.peer.programs()) == 0 || *program == "" {
		return v
	}
	if !slices.ContainsFunc(v.peer.programs(), func(p string) bool { return process.Is(*program, p) }) {
		if !process.Apart(v.peer.pid) { // there it is a name that only says whose hooks and server belong together
			*program = ""
		}
		return v
	}
	o := *v
	o.opens = *program
	return &o
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

// enter borrows the room for a call, which changes something or not.
func (v *callerRoom) enter(ctx context.Context, changes bool) (*entry, error) {
	if err := v.office.checkRemoved(v.name, v.caller, changes); err != nil {
		return nil, err
	}
	return v.office.borrow(ctx, v.name)
}

func (v *callerRoom) leave(e *entry) { v.office.giveBack(e, v.name) }

// why returns err, of a call to the room of e, in the words of the room's removal if that is what ended it.
func (v *callerRoom) why(e *entry, err error) error {
	if mail.CodeOf(err) == mail.Unavailable && v.office.isRemoved(e) {
		return errRemoved(v.name)
	}
	return err
}

// during makes one call.
func during[T any](ctx context.Context, v *callerRoom, call func(mail.Service) (T, error)) (T, error) {
	e, err := v.enter(ctx, false)
	if err != nil {
		var none T
		return none, err
	}
	defer v.leave(e)
	s, err := v.as(e)
	if err != nil {
		var none T
		return none, err
	}
	out, err := call(s)
	return out, v.why(e, err)
}

// changing makes one call that changes the room. What it changed is in the files of the room's bridges when it
// returns, unless they fail.
func changing[T any](ctx context.Context, v *callerRoom, call func(mail.Service) (T, error)) (T, error) {
	e, err := v.enter(ctx, true)
	if err != nil {
		var none T
		return none, err
	}
	defer v.leave(e)
	s, err := v.as(e)
	if err != nil {
		var none T
		return none, err
	}
	out, err := call(s)
	if err == nil && e.bridges.Len() > 0 {
		e.bridges.Await(ctx, e.room.Shown())
	}
	return out, v.why(e, err)
}

func (v *callerRoom) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	return changing(ctx, v, func(s mail.Service) (mail.Sent, error) { return s.Send(ctx, d) })
}

func (v *callerRoom) Inbox(ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	return during(ctx, v, func(s mail.Service) (mail.Page, error) { return s.Inbox(ctx, q) })
}

func (v *callerRoom) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	return during(ctx, v, func(s mail.Service) (mail.Page, error) { return s.History(ctx, q) })
}

func (v *callerRoom) Message(ctx context.Context, id mail.ID) (mail.Item, error) {
	return during(ctx, v, func(s mail.Service) (mail.Item, error) { return s.Message(ctx, id) })
}

func (v *callerRoom) Mark(ctx context.Context, m mail.Marking) (mail.Marked, error) {
	return changing(ctx, v, func(s mail.Service) (mail.Marked, error) { return s.Mark(ctx, m) })
}

func (v *callerRoom) Wait(ctx context.Context, q mail.WaitQuery) (mail.Item, error) {
	return during(ctx, v, func(s mail.Service) (mail.Item, error) { return s.Wait(ctx, q) })
}

// Watch keeps the room borrowed until the watch is closed.
func (v *callerRoom) Watch(ctx context.Context, after mail.Seq) (mail.Watch, error) {
	e, err := v.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	s, err := v.as(e)
	if err != nil {
		v.leave(e)
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

func (v *callerRoom) Agents(ctx context.Context) ([]mail.Agent, error) {
	return during(ctx, v, func(s mail.Service) ([]mail.Agent, error) { return s.Agents(ctx) })
}

func (v *callerRoom) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	access := t.Access
	t.Access = nil
	brief, err := during(ctx, v.opening(&t.Process), func(s mail.Service) (mail.Briefing, error) {
		return s.Turn(ctx, t)
	})
	if err == nil {
		v.office.meet(v.name, brief.Agent, &t, access)
	}
	return brief, err
}

func (v *callerRoom) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	as := v.opening(&p.Process)
	if p.Session == "" || p.TakeOver {
		as = v
	}
	return changing(ctx, as, func(s mail.Service) (mail.Agent, error) { return s.Register(ctx, p) })
}

func (v *callerRoom) Rename(ctx context.Context, from, to mail.Name) (mail.Agent, error) {
	a, err := changing(ctx, v, func(s mail.Service) (mail.Agent, error) { return s.Rename(ctx, from, to) })
	if err == nil {
		v.office.lines.Move(v.name, from)
		v.office.sessions.Move(v.name, from, a.Name)
	}
	return a, err
}

func (v *callerRoom) Retire(ctx context.Context, name mail.Name) error {
	_, err := changing(ctx, v, func(s mail.Service) (struct{}, error) { return struct{}{}, s.Retire(ctx, name) })
	return err
}

func (v *callerRoom) Token(ctx context.Context, name mail.Name) (string, error) {
	return changing(ctx, v, func(s mail.Service) (string, error) { return s.Token(ctx, name) })
}

func (v *callerRoom) Status(ctx context.Context) (mail.RoomStatus, error) {
	return during(ctx, v, func(s mail.Service) (mail.RoomStatus, error) { return s.Status(ctx) })
}

func (v *callerRoom) Erase(ctx context.Context, id mail.ID) error {
	_, err := changing(ctx, v, func(s mail.Service) (struct{}, error) { return struct{}{}, s.Erase(ctx, id) })
	return err
}

func (v *callerRoom) Archive(ctx context.Context) (mail.Trimmed, error) {
	return during(ctx, v, func(s mail.Service) (mail.Trimmed, error) { return s.Archive(ctx) })
}

func (v *callerRoom) Verify(ctx context.Context) (mail.Verification, error) {
	return during(ctx, v, func(s mail.Service) (mail.Verification, error) { return s.Verify(ctx) })
}

// Repair opens the room anew if lines were put back: they belong before what it has read.
func (v *callerRoom) Repair(ctx context.Context) (mail.Verification, error) {
	e, err := v.enter(ctx, true)
	if err != nil {
		return mail.Verification{}, err
	}
	found, err := v.repair(ctx, e)
	v.leave(e)
	if found.Repaired == 0 {
		return found, v.why(e, err)
	}
	err = errors.Join(err, v.office.sweep(func(open *entry) bool { return open == e }))
	again, opening := v.enter(ctx, true)
	if opening == nil {
		v.leave(again)
	}
	return found, errors.Join(err, opening)
}

func (v *callerRoom) repair(ctx context.Context, e *entry) (mail.Verification, error) {
	s, err := v.as(e)
	if err != nil {
		return mail.Verification{}, err
	}
	return s.Repair(ctx)
}

// Export borrows the room for as long as the loop over it runs.
func (v *callerRoom) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		e, err := v.enter(ctx, false)
		if err != nil {
			yield(mail.Item{}, err)
			return
		}
		defer v.leave(e)
		s, err := v.as(e)
		if err != nil {
			yield(mail.Item{}, err)
			return
		}
		for it, err := range s.Export(ctx) {
			if !yield(it, err) {
				return
			}
		}
	}
}

func (v *callerRoom) Workspaces(ctx context.Context) ([]mail.Workspace, error) {
	return during(ctx, v, func(s mail.Service) ([]mail.Workspace, error) { return s.Workspaces(ctx) })
}

func (v *callerRoom) AddWorkspace(ctx context.Context, w mail.Workspace) (mail.Workspace, error) {
	return changing(ctx, v, func(s mail.Service) (mail.Workspace, error) { return s.AddWorkspace(ctx, w) })
}

func (v *callerRoom) RemoveWorkspace(ctx context.Context, id mail.Name) error {
	_, err := changing(ctx, v, func(s mail.Service) (struct{}, error) {
		return struct{}{}, s.RemoveWorkspace(ctx, id)
	})
	return err
}

func (v *callerRoom) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	return changing(ctx, v, func(s mail.Service) (mail.Imported, error) { return s.Import(ctx, items) })
}
