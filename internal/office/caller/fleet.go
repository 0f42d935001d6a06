package caller

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/rooms"
)

// openForFleet is how many closed rooms are opened at most for a query that names no rooms.
const openForFleet = 16

// Fleet implements mail.Office.
func (o *Rooms) Fleet(ctx context.Context, q mail.FleetQuery) (out mail.Fleet, err error) {
	if o.Far != nil {
		return o.Far.There.Fleet(ctx, q)
	}
	if q, err = q.Checked(); err != nil {
		return out, err
	}
	names, err := o.asked(ctx, q.Rooms)
	if err != nil {
		return out, err
	}
	out.Rooms = make([]mail.FleetRoom, 0, len(names))
	toOpen := openForFleet
	var ask []mail.RoomName
	for _, name := range names {
		open, _, _ := o.Set.LastKnown(name)
		kept, known := o.Set.Kept(name, q)
		switch {
		case open:
			ask = append(ask, name)
		case known:
			out.Rooms = append(out.Rooms, kept)
		case o.isElsewhere(name):
		case toOpen > 0:
			toOpen--
			ask = append(ask, name)
		default:
			out.NotRead = append(out.NotRead, name)
		}
	}
	asked, away, err := inRooms(ctx, o, ask, func(_ mail.RoomName, svc mail.Service) (mail.FleetRoom, error) {
		return q.Ask(ctx, svc)
	})
	for name, part := range asked {
		part.Room = name
		out.Rooms = append(out.Rooms, part)
	}
	out.Away = away
	out.Rooms = slices.DeleteFunc(out.Rooms, func(r mail.FleetRoom) bool { return !r.Some() })
	slices.SortFunc(out.Rooms, func(a, b mail.FleetRoom) int { return cmp.Compare(a.Room, b.Room) })
	return out, err
}

// FleetMail implements mail.Office. It opens the most recently active of the closed rooms.
func (o *Rooms) FleetMail(ctx context.Context, q mail.FleetMailQuery) (out mail.FleetMail, err error) {
	if o.Far != nil {
		return o.Far.There.FleetMail(ctx, q)
	}
	names, err := o.asked(ctx, q.Rooms)
	if err != nil {
		return out, err
	}
	var ask, closed []mail.RoomName
	last := make(map[mail.RoomName]mail.Time)
	for _, name := range names {
		switch open, st, known := o.Set.LastKnown(name); {
		case open:
			ask = append(ask, name)
		case known && st.Messages == 0 && !q.Archive:
		case !known && o.isElsewhere(name):
		default:
			closed, last[name] = append(closed, name), st.Last
		}
	}
	slices.SortStableFunc(closed, func(a, b mail.RoomName) int { return cmp.Compare(last[b], last[a]) })
	toOpen := len(closed)
	if len(q.Rooms) == 0 {
		toOpen = min(toOpen, openForFleet)
	}
	ask, out.NotRead = append(ask, closed[:toOpen]...), closed[toOpen:]
	pages, away, err := inRooms(ctx, o, ask, func(room mail.RoomName, svc mail.Service) (mail.Page, error) {
		return svc.History(ctx, q.In(room))
	})
	out.Away, out.Rooms = away, make([]mail.FleetPage, 0, len(pages))
	for name, p := range pages {
		if len(p.Messages) > 0 || p.Partly != "" {
			out.Rooms = append(out.Rooms, mail.FleetPage{Room: name, Page: p})
		}
	}
	slices.SortFunc(out.Rooms, func(a, b mail.FleetPage) int { return cmp.Compare(a.Room, b.Room) })
	return out, err
}

// inRooms asks several rooms as the user, a few at a time. A room that does not know the subject of the question has
// no answer; one that cannot be asked is away. The error is that of an invalid question, or of an ended request.
func inRooms[T any](ctx context.Context, o *Rooms, names []mail.RoomName,
	ask func(mail.RoomName, mail.Service) (T, error)) (
	answers map[mail.RoomName]T, away []mail.RoomName, wrong error) {
	answers = make(map[mail.RoomName]T, len(names))
	var mu sync.Mutex
	var asking sync.WaitGroup
	slots := make(chan struct{}, desksAtOnce)
	for _, name := range names {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			var answer T
			err := o.Set.With(ctx, name, func(e *rooms.Entry) (err error) {
				answer, err = ask(name, e.Room.As(mail.User))
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			switch code := mail.CodeOf(err); {
			case err == nil:
				answers[name] = answer
			case code == mail.Invalid:
				wrong = err
			case code != mail.NotFound && ctx.Err() == nil:
				away = append(away, name)
				o.Set.Log.Warn("room left out of an answer about all rooms", "room", name, "err", err)
			}
		})
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil, nil, notAll(ctx)
	}
	slices.Sort(away)
	return answers, away, wrong
}
