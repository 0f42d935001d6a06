package caller

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/claims"
)

// Claim implements mail.Claimer. Words are resolved here, for callers on this machine. Only files resolved here are
// watched: the paths that a caller sends may be anywhere.
func (v *Room) Claim(ctx context.Context, r mail.ClaimRequest) (mail.Claimed, error) {
	found := len(r.Take) == 0
	if len(r.Words) > 0 && (v.ID.Peer() != nil || v.ID.Own()) {
		if r.Dir == "" {
			r.Dir = v.office.Set.Reach.Sessions.Look(v.name, v.ID.Name()).Dir
		}
		targets, err := claims.Resolve(r.Words, r.Dir)
		if err != nil {
			return mail.Claimed{}, err
		}
		if r.Release { // a path when it was taken may not be one now
			for _, w := range r.Words {
				if t, err := claims.Resolve([]string{"./" + w}, r.Dir); err == nil {
					targets = append(targets, t...)
				}
			}
			r.Free = append(r.Free, targets...)
		} else {
			r.Take = append(r.Take, targets...)
		}
		r.Words = nil
	}
	if far := v.office.Far; far != nil {
		if err := r.Check(); err != nil {
			return mail.Claimed{}, err
		}
		r.Take, r.Free = on(far.Remote.Machine, r.Take), on(far.Remote.Machine, r.Free)
	}
	out, err := v.Stub.Claim(ctx, r)
	if err == nil && found {
		v.office.Claimed.Holds(v.name, out.Held)
	}
	return out, err
}

// on returns targets under their names on another machine.
func on(machine mail.Machine, targets []mail.Target) []mail.Target {
	targets = slices.Clone(targets)
	for i := range targets {
		targets[i] = targets[i].On(machine)
	}
	return targets
}

// WatchClaims tells agents about writes to their claims that no hook reported, until ctx ends.
func (o *Rooms) WatchClaims(ctx context.Context) {
	for pause.For(ctx, claims.LookEvery) {
		o.Claimed.Look(ctx, time.Now())
	}
}
