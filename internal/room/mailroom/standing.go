package mailroom

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
)

// Stand makes the room send the recurring messages in the configuration of this machine, and no longer those it had
// before. It returns, by name, why some entries are not obeyed: they must be retried. The error is that of the
// journal.
func (r *Room) Stand(ctx context.Context, standing []mail.Standing) (refused map[string]error, err error) {
	_, _, err = r.view(check.Caller{Who: mail.System}).decide(ctx, func(v *check.View) ([]mail.Event, error) {
		return v.Fallen(standing), nil
	})
	if err != nil {
		return nil, err
	}
	refused = make(map[string]error)
	for _, s := range standing {
		by := check.Caller{Who: s.From, Absent: true}
		if s.From == mail.User {
			by.Means = mail.ByConfig
		}
		if err := r.view(by).stand(ctx, &s); err != nil {
			refused[s.Name] = err
		}
	}
	return refused, nil
}

// stand makes the room obey an entry of the configuration. It is checked now, and again when it is due.
func (v *view) stand(ctx context.Context, s *mail.Standing) (err error) {
	obeyed := false
	v.check(func(v *check.View) {
		if obeyed = v.Obeyed(s); !obeyed {
			err = v.MayStand()
		}
	})
	if obeyed || err != nil {
		return err
	}
	d := s.Draft
	if err := d.Check(v.MaxBody); err != nil {
		return err
	}
	p, err := v.plan(ctx, &d)
	if err == nil && len(p.Route.Remote) > 0 {
		err = v.resolveElsewhere(ctx, p, d)
	}
	if err != nil {
		return err
	}
	_, _, err = v.decide(ctx, func(v *check.View) ([]mail.Event, error) { return v.Stand(p, s) })
	return err
}
