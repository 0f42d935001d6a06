package mailroom

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Who may settle a question is found out when an answer is sent, and stands in the answer's line: apply, which may
// run again when the roster and the thread are long gone, only obeys it.

// quote puts the texts into suggestions.
func (v *view) quote(ctx context.Context, list []mail.Suggestion) error {
	spots := make([]fold.Spot, len(list))
	v.read(func(s *fold.State, _ mail.Time) {
		for i := range list {
			spots[i].ID = list[i].ID // in the archive by now, else
			if r := s.Records[list[i].ID]; r != nil {
				spots[i] = r.Spot()
			}
		}
	})
	if len(spots) == 0 {
		return nil
	}
	texts, err := v.texts(ctx, spots)
	for i, m := range texts {
		if m != nil {
			list[i].Body, list[i].Via = m.Body, m.Via
		}
	}
	return err
}
