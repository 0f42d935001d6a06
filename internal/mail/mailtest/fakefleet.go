package mailtest

import (
	"context"
	"slices"

	"pennypost/internal/mail"
)

// FleetOf implements mail.Office.Fleet for a test's office.
func FleetOf(ctx context.Context, o Rooms, q mail.FleetQuery) (out mail.Fleet, err error) {
	if q, err = q.Checked(); err != nil {
		return out, err
	}
	return out, inEach(ctx, o, q.Rooms, func(room mail.RoomName, svc mail.Service) error {
		r, err := q.Ask(ctx, svc)
		if r.Room = room; err == nil && r.Some() {
			out.Rooms = append(out.Rooms, r)
		}
		return err
	})
}

// FleetMailOf implements mail.Office.FleetMail for a test's office.
func FleetMailOf(ctx context.Context, o Rooms, q mail.FleetMailQuery) (out mail.FleetMail, err error) {
	return out, inEach(ctx, o, q.Rooms, func(room mail.RoomName, svc mail.Service) error {
		p, err := svc.History(ctx, q.In(room))
		if err == nil && len(p.Messages) > 0 {
			out.Rooms = append(out.Rooms, mail.FleetPage{Room: room, Page: p})
		}
		return err
	})
}

func inEach(ctx context.Context, o Rooms, only []mail.RoomName, do func(mail.RoomName, mail.Service) error) error {
	rooms, err := o.Rooms(ctx)
	if err != nil {
		return err
	}
	for _, st := range rooms {
		if len(only) > 0 && !slices.Contains(only, st.Name) {
			continue
		}
		svc, err := o.Room(ctx, st.Name, mail.User)
		if err == nil {
			err = do(st.Name, svc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
