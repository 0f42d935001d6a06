package caller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
)

// desksAtOnce is how many rooms are asked, and possibly opened, at a time.
const desksAtOnce = 8

// Desk implements mail.Office.
func (o *Rooms) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	if o.Far != nil {
		return o.Far.There.Desk(ctx, q)
	}
	q, err := q.Checked()
	if err != nil {
		return mail.Desk{}, err
	}
	names, err := o.asked(ctx, q.Rooms)
	if err != nil {
		return mail.Desk{}, err
	}
	desks, errs := make([]mail.Desk, len(names)), make([]error, len(names))
	var asking sync.WaitGroup
	slots := make(chan struct{}, desksAtOnce)
	for i, name := range names {
		slots <- struct{}{}
		asking.Go(func() {
			desks[i], errs[i] = o.deskOf(ctx, name, q)
			<-slots
		})
	}
	asking.Wait()
	if ctx.Err() != nil {
		return mail.Desk{}, notAll(ctx)
	}
	if err := o.away(names, desks, errs); err != nil {
		return mail.Desk{}, err
	}
	out := mail.JoinDesks(desks, q.Limit)
	out.Degraded = o.Set.Cluster.Degraded()
	var away [2][]mail.RoomName
	out.Needs, away[0] = o.preview(ctx, out.Needs)
	out.Updates, away[1] = o.preview(ctx, out.Updates)
	out.Away = slices.Compact(slices.Sorted(slices.Values(slices.Concat(out.Away, away[0], away[1]))))
	return out, nil
}

// notAll is the error of a request that has ended.
func notAll(ctx context.Context) error {
	return &mail.Error{Code: mail.Timeout, Msg: "the request ended before all rooms answered", Err: ctx.Err()}
}

// isElsewhere reports whether a closed room is in a file of another machine, which reports it.
func (o *Rooms) isElsewhere(name mail.RoomName) bool {
	k, err := o.Set.KindOf(name)
	return err == nil && k.Moved != ""
}

// asked returns the rooms of a query: those that the caller of ctx may enter, if it names none.
func (o *Rooms) asked(ctx context.Context, names []mail.RoomName) ([]mail.RoomName, error) {
	pass := gate.PassOf(ctx)
	if len(names) == 0 {
		return o.Set.Entered(pass)
	}
	for _, name := range names {
		if !pass.Enters(name) {
			return nil, notEntered(pass, name)
		}
		if !o.Set.Exists(name) {
			return nil, o.Set.NoRoom(ctx, name)
		}
	}
	return names, nil
}

// away marks the rooms that do not answer in their desks. The error is that of a query about an unknown agent.
func (o *Rooms) away(names []mail.RoomName, desks []mail.Desk, errs []error) (nobody error) {
	found := false
	for i, err := range errs {
		switch {
		case err == nil:
			found = true
		case err == errNothingThere:
		case mail.CodeOf(err) == mail.NotFound || mail.CodeOf(err) == mail.Invalid:
			nobody = err
		default:
			desks[i].Away = []mail.RoomName{names[i]}
			o.Set.Log.Warn("room left out of the desk", "room", names[i], "err", err)
		}
	}
	if found {
		return nil
	}
	return nobody
}

// preview completes the rows of a desk: only now, for the rows shown, of perhaps a thousand rooms. It omits rows of
// rooms that cannot be read.
func (o *Rooms) preview(ctx context.Context, rows []mail.Conversation) (shown []mail.Conversation,
	away []mail.RoomName) {
	type spot struct {
		room mail.RoomName
		seq  mail.Seq
	}
	byRoom := make(map[mail.RoomName][]mail.Conversation)
	for _, c := range rows {
		byRoom[c.Room] = append(byRoom[c.Room], c)
	}
	complete := make(map[spot]mail.Conversation, len(rows))
	shown = make([]mail.Conversation, 0, len(rows))
	for name, some := range byRoom {
		e, err := o.Set.Borrow(ctx, name)
		if err == nil {
			some, err = e.Room.Preview(ctx, some)
			o.Set.GiveBack(e, name)
		}
		if err != nil {
			o.Set.Log.Warn("room left out of the desk", "room", name, "err", err)
			away = append(away, name)
			continue
		}
		for _, c := range some {
			complete[spot{name, c.Seq}] = c
		}
	}
	for _, c := range rows {
		if c, there := complete[spot{c.Room, c.Seq}]; there {
			shown = append(shown, c)
		}
	}
	return shown, away
}

// errNothingThere is the error of a room that was not asked: it is closed, and known to have nothing, or it is in a
// file of another machine, on whose desk it is.
var errNothingThere = errors.New("nothing for the user")

// deskOf asks one room for rows without texts.
func (o *Rooms) deskOf(ctx context.Context, name mail.RoomName, q mail.DeskQuery) (mail.Desk, error) {
	open, st, known := o.Set.LastKnown(name)
	has := st.Inbox
	switch q.Place {
	case mail.InArchived:
		has = st.Archived
	case mail.InInbox:
		has += st.Needs
	}
	if !open && known && has == 0 {
		return mail.Desk{}, errNothingThere
	}
	if !open && !known && o.isElsewhere(name) {
		return mail.Desk{}, errNothingThere
	}
	e, err := o.Set.Borrow(ctx, name)
	if err != nil {
		return mail.Desk{}, err
	}
	defer o.Set.GiveBack(e, name)
	return e.Room.DeskRows(q)
}

// gatherDesk is how long a watch of the desk waits for more changes after the first.
const gatherDesk = 100 * time.Millisecond

// deskWatch implements mail.DeskWatch.
type deskWatch struct {
	office *Rooms
	pass   *mail.Pass // of the watching machine; nil: this one
	heard  uint64
	told   bool // the first change was returned
	due    map[mail.RoomName]mail.Time
	closed chan struct{}
	close  func()
}

// WatchDesk implements mail.Office.
func (o *Rooms) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	if o.Far != nil {
		return o.Far.There.WatchDesk(ctx)
	}
	_, count, _ := o.Set.Bell.Since(0)
	w := &deskWatch{office: o, pass: gate.PassOf(ctx), heard: count, due: make(map[mail.RoomName]mail.Time),
		closed: make(chan struct{})}
	w.close = sync.OnceFunc(func() { close(w.closed) })
	return w, nil
}

// Next implements mail.DeskWatch.
func (w *deskWatch) Next(ctx context.Context) ([]mail.DeskChange, error) {
	if !w.told {
		w.told = true
		names, err := w.office.Set.Entered(w.pass)
		if err != nil {
			return nil, err
		}
		w.changes(names) // to learn when rows come due
		return []mail.DeskChange{{}}, nil
	}
	for {
		if changes := w.changes(w.dueBy(mail.TimeOf(time.Now()))); len(changes) > 0 {
			return changes, nil
		}
		rang, _, next := w.office.Set.Bell.Since(w.heard)
		if len(rang) == 0 {
			if err := w.wait(ctx, next); err != nil {
				return nil, err
			}
			continue
		}
		if err := w.until(ctx, nil, time.After(gatherDesk)); err != nil { // gather changes that are close together
			return nil, err
		}
		rang, w.heard, _ = w.office.Set.Bell.Since(w.heard)
		if changes := w.changes(rang); len(changes) > 0 {
			return changes, nil
		}
	}
}

// wait waits for the next ring, or until a deferred row is due.
func (w *deskWatch) wait(ctx context.Context, next <-chan struct{}) error {
	var first mail.Time
	for _, due := range w.due {
		if first == 0 || due < first {
			first = due
		}
	}
	var alarm <-chan time.Time
	if first != 0 {
		alarm = time.After(time.Until(first.Std()))
	}
	return w.until(ctx, next, alarm)
}

// until waits for the next ring, or for an alarm. A later call reports the rings in the meantime.
func (w *deskWatch) until(ctx context.Context, next <-chan struct{}, alarm <-chan time.Time) error {
	select {
	case <-next:
	case <-alarm:
	case <-w.closed:
		return mail.Errorf(mail.Unavailable, "the watch is closed")
	case <-ctx.Done():
		return &mail.Error{Code: mail.Timeout, Msg: "nothing changed in time", Err: ctx.Err()}
	}
	return nil
}

// dueBy returns the rooms with a deferred row that is due.
func (w *deskWatch) dueBy(now mail.Time) (rooms []mail.RoomName) {
	for name, due := range w.due {
		if due <= now {
			rooms = append(rooms, name)
		}
	}
	return rooms
}

// changes returns the state of the rooms that the watcher may enter. It opens no closed room, whose state has not
// changed since.
func (w *deskWatch) changes(rooms []mail.RoomName) (out []mail.DeskChange) {
	for _, name := range rooms {
		if !w.pass.Enters(name) {
			continue
		}
		st := w.office.Set.Peek(name)
		delete(w.due, name)
		if st.Due > mail.TimeOf(time.Now()) {
			w.due[name] = st.Due
		}
		out = append(out, mail.DeskChange{Room: name, Seq: st.Seq, Needs: st.Needs, Unread: st.Unread})
	}
	return out
}

// Close implements mail.DeskWatch.
func (w *deskWatch) Close() error {
	w.close()
	return nil
}
