package mailtest

import (
	"context"
	"slices"
	"sync"

	"pennypost/internal/mail"
)

// Rooms are the rooms of a test's office.
type Rooms interface {
	Room(ctx context.Context, room mail.RoomName, as mail.Name) (mail.Service, error)
	Rooms(ctx context.Context) ([]mail.RoomStatus, error)
}

// DeskOf implements mail.Office.Desk for a test's office.
func DeskOf(ctx context.Context, o Rooms, q mail.DeskQuery) (mail.Desk, error) {
	q, err := q.Checked()
	if err != nil {
		return mail.Desk{}, err
	}
	rooms, err := o.Rooms(ctx)
	if err != nil {
		return mail.Desk{}, err
	}
	var desks []mail.Desk
	for _, st := range rooms {
		if len(q.Rooms) > 0 && !slices.Contains(q.Rooms, st.Name) {
			continue
		}
		svc, err := o.Room(ctx, st.Name, mail.User)
		if err != nil {
			return mail.Desk{}, err
		}
		d, err := svc.Desk(ctx, q)
		if err != nil {
			return mail.Desk{}, err
		}
		desks = append(desks, d)
	}
	return mail.JoinDesks(desks, q.Limit), nil
}

// WatchDeskOf implements mail.Office.WatchDesk for a test's office. It covers the rooms that exist now.
func WatchDeskOf(ctx context.Context, o Rooms) (mail.DeskWatch, error) {
	rooms, err := o.Rooms(ctx)
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	w := &deskWatch{changes: make(chan mail.DeskChange, 1), cancel: cancel}
	w.changes <- mail.DeskChange{}
	for _, st := range rooms {
		svc, err := o.Room(ctx, st.Name, mail.User)
		if err == nil {
			var events mail.Watch
			if events, err = svc.Watch(ctx, st.Seq); err == nil {
				w.running.Go(func() { w.follow(life, st.Name, svc, events) })
			}
		}
		if err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

type deskWatch struct {
	changes chan mail.DeskChange
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (w *deskWatch) follow(ctx context.Context, room mail.RoomName, svc mail.Service, events mail.Watch) {
	defer events.Close()
	for {
		if _, err := events.Next(ctx); err != nil {
			return
		}
		st, err := svc.Status(ctx)
		if err != nil {
			return
		}
		select {
		case w.changes <- mail.DeskChange{Room: room, Seq: st.Seq, Needs: st.Needs, Unread: st.Unread}:
		case <-ctx.Done():
			return
		}
	}
}

// Next implements mail.DeskWatch.
func (w *deskWatch) Next(ctx context.Context) ([]mail.DeskChange, error) {
	select {
	case c := <-w.changes:
		return []mail.DeskChange{c}, nil
	case <-ctx.Done():
		return nil, &mail.Error{Code: mail.Timeout, Msg: "nothing changed in time", Err: ctx.Err()}
	}
}

// Close implements mail.DeskWatch.
func (w *deskWatch) Close() error {
	w.cancel()
	w.running.Wait()
	return nil
}
