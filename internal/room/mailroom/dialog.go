package mailroom

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Asking returns the agents that are at a dialog of their client, those that have waited longest first.
func (r *Room) Asking() (list []mail.Agent) {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, m := range r.state.AtDialogs() {
		list = append(list, r.sight(r.state).Show(m, now))
	}
	return list
}

// show returns an agent as the roster shows it to the caller.
func (v *view) show(s *fold.State, m *fold.Member, now mail.Time) mail.Agent {
	a := v.sight(s).Show(m, now)
	v.unname(a.Dialogs)
	return a
}

// unname removes the content of dialogs, unless the person calls: a model has chosen it, or the server of a tool, and
// no other model must read it.
func (v *view) unname(list []mail.Dialog) {
	for i := range list {
		if !v.isPerson() {
			list[i] = unnamed(list[i])
		}
	}
}

// isPerson reports whether the caller is the user, and not a script of theirs, or the post office, which tells the
// user.
func (v *view) isPerson() bool { return v.IsUser() && v.Means != mail.ByScript || v.Who == mail.System }

// unnamed is a dialog without its content.
func unnamed(d mail.Dialog) mail.Dialog {
	d.Tool, d.Worker, d.Sum = "", "", ""
	return d
}

// Dialog implements mail.Turner.
func (v *view) Dialog(ctx context.Context, c mail.DialogChange) error {
	_, _, err := v.decide(ctx, func(v *check.View) ([]mail.Event, error) { return v.Dialog(c) })
	return err
}
