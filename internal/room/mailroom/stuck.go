package mailroom

import (
	"cmp"
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Stuck implements mail.Tracker.
func (v *view) Stuck(ctx context.Context, q mail.StuckQuery) (mail.StuckList, error) {
	out := mail.StuckList{Groups: []mail.StuckGroup{}, Kinds: make(map[mail.StuckKind]int)}
	n, err := limit(q.Limit)
	if err != nil {
		return out, err
	}
	if q.Mail = cmp.Or(q.Mail, 5); q.Mail < 0 || q.Mail > mail.MaxLimit {
		_, err = limit(q.Mail)
		return out, err
	}
	if _, err := mail.ParseStuckKind(string(q.Kind)); err != nil {
		return out, err
	}
	kinds := mail.StuckKinds()
	if q.Kind != "" {
		kinds = []mail.StuckKind{q.Kind}
	}
	v.touch(ctx)
	v.read(func(s *fold.State, now mail.Time) {
		stuck := v.sight(s).Stuck(kinds, now)
		for _, kind := range kinds {
			piles := stuck[kind]
			if q.For != "" {
				piles = slices.DeleteFunc(piles, func(p fold.Pile) bool { return p.To != q.For })
			}
			out.Kinds[kind] = len(piles)
			for _, p := range piles[:min(n, len(piles))] {
				g := p.Group(v.sight(s), kind, q.Mail, now)
				v.unname(g.Dialogs)
				out.Groups = append(out.Groups, g)
			}
		}
	})
	for i := range out.Groups {
		g := &out.Groups[i]
		if g.Mail, err = v.complete(ctx, g.Mail); err != nil {
			return mail.StuckList{}, err
		}
	}
	// All messages that a group shows may have been erased meanwhile.
	out.Groups = slices.DeleteFunc(out.Groups, func(g mail.StuckGroup) bool {
		return len(g.Mail) == 0 && g.Kind != mail.StuckAsking && g.Kind != mail.StuckClaim
	})
	return out, nil
}
