package mailroom

import (
	"context"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// lateTakes returns the events, of some that end at last, that are reads of role mail which another had read and
// retention had trimmed before they were applied: the state no longer knows such mail. If it was in the archive
// already (cold), the caller knew.
func (v *view) lateTakes(ctx context.Context, last mail.Seq, events []mail.Event,
	cold map[mail.ID]*fold.ArchivedRecord) (late []*mail.Event, err error) {
	if v.opts.Machine == "" {
		return nil, nil // nothing came between
	}
	at := make(map[mail.ID]mail.Seq)
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range events {
			rc := events[i].Receipt
			if rc != nil && rc.Mark == mail.MarkRead && s.Records[rc.Message] == nil && cold[rc.Message] == nil {
				at[rc.Message] = last + 1 - mail.Seq(len(events)-i)
			}
		}
	})
	if len(at) == 0 {
		return nil, nil
	}
	found, err := v.lookUp(ctx, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, err
	}
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range events {
			rc := events[i].Receipt
			if rc != nil && at[rc.Message] != 0 && s.TakenBefore(at[rc.Message], found[rc.Message], rc.Reader) {
				late = append(late, &events[i])
			}
		}
	})
	return late, nil
}
