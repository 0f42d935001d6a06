package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// respendBeside journals once more the keys that stand in one event with that of an erased message.
func (r *Room) respendBeside(ctx context.Context, id mail.ID) error {
	r.mu.RLock()
	lines := slices.Clone(r.state.Spent.Lines)
	r.mu.RUnlock()
	events, err := r.journal.Read(ctx, lines...)
	if err != nil {
		return r.unavailable(err)
	}
	var in []mail.Seq
	for i := range events {
		switch e := &events[i]; {
		case !fold.Holds(e, id):
		case e.Checkpoint.After != 0:
			in = append(in, 0)
		default:
			in = append(in, e.Seq)
		}
	}
	r.mu.RLock()
	again := r.state.Respend(r.now(), in...)
	r.mu.RUnlock()
	_, err = r.commit(ctx, again...)
	return err
}
