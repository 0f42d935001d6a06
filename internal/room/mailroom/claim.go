package mailroom

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Claims implements mail.Claimer.
func (v *view) Claims(_ context.Context, q mail.ClaimQuery) (list mail.ClaimList, err error) {
	list.Claims = []mail.Holding{}
	v.check(func(v *check.View) {
		if q.Agent != "" {
			if _, err = v.Mailbox(q.Agent); err != nil {
				return
			}
		}
		list.Claims = append(list.Claims, v.Holdings(v.Now)...)
	})
	if q.Agent != "" {
		list.Claims = slices.DeleteFunc(list.Claims, func(h mail.Holding) bool { return h.Agent != q.Agent })
	}
	return list, err
}

// Claim implements mail.Claimer.
func (v *view) Claim(ctx context.Context, r mail.ClaimRequest) (out mail.Claimed, err error) {
	if err := r.Check(); err != nil {
		return out, err
	}
	if v.Foreign {
		return out, mail.Errorf(mail.Denied, "only agents of room %s can claim things in it: nothing "+
			"was claimed", v.name)
	}
	r.Take = slices.Clone(r.Take) // whose machine is filled in
	if err := v.attempt(ctx, func(v *check.View) (events []mail.Event, err error) {
		events, out, err = v.Claim(r)
		return events, err
	}); err != nil {
		return mail.Claimed{}, err
	}
	out.Held = []mail.Holding{}
	v.check(func(v *check.View) {
		m := v.Me()
		for _, t := range r.Take {
			if c := m.Claim(t); c != nil && m.Holds(c, v.Now) && (r.Shared || !c.Shared) {
				out.Held = append(out.Held, mail.Holding{Claim: *c, Agent: m.Name})
			}
		}
	})
	return out, nil
}

// Held reports whether anyone holds a claim, for which others may wait: only an open room tells them.
func (r *Room) Held() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.now()
	return slices.ContainsFunc(r.state.Claimants(), func(m *fold.Member) bool {
		return slices.ContainsFunc(m.Claims, func(c mail.Claim) bool { return m.Holds(&c, now) })
	})
}

// claimsEvery is how often to check whether awaited targets are free, while anyone waits.
const claimsEvery = time.Second

// watchClaims checks, until ctx ends, the waits for claims of others, and the claims of programs.
func (r *Room) watchClaims(ctx context.Context) {
	r.claimed.Give()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.claimed:
		}
		for r.lookAtClaims(ctx) && pause.For(ctx, claimsEvery) {
		}
	}
}

// lookAtClaims journals which claims ended with their programs and, as the room's keeper, tells waiting members what
// is free. It reports whether there is anything to check later.
func (r *Room) lookAtClaims(ctx context.Context) (more bool) {
	keeps := r.Keeps()
	r.view(check.Caller{Who: mail.System}).check(func(v *check.View) {
		more = slices.ContainsFunc(v.Claimants(), func(m *fold.Member) bool {
			return len(m.Awaits) > 0 || slices.ContainsFunc(m.Claims, func(
				c mail.Claim) bool {
				return c.Process != ""
			})
		})
	})
	if !more {
		return false
	}
	_, _, err := r.view(check.Caller{Who: mail.System}).decide(ctx, func(v *check.View) ([]mail.Event, error) {
		events := v.DeadClaims()
		if keeps {
			events = append(events, v.TellFree()...)
		}
		return events, nil
	})
	if err != nil && ctx.Err() == nil {
		r.opts.Log.Warn("free claims not announced", "room", r.name, "err", err)
	}
	return true
}
