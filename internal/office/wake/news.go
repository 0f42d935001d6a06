package wake

import (
	"context"

	"pennypost/internal/mail"
)

// follow forwards the events of a watch, and closes the channel when the watch ends.
func follow(ctx context.Context, w mail.Watch, to chan<- []mail.Event) {
	defer close(to)
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		select {
		case to <- events:
		case <-ctx.Done():
			return
		}
	}
}

// take applies events: rings made before this process served the room, the answers to rings, and the beginnings of
// turns, which may have ended by the next look.
func (r *Ringer) take(events []mail.Event, present mail.Seq) {
	given := make(map[mail.ID]bool)
	for i := range events {
		e := &events[i]
		if e.Receipt != nil && answers(e.Receipt.Mark) {
			given[e.Receipt.Message] = true
		}
		switch {
		case e.Receipt != nil:
			r.takeReceipt(e, present)
		case e.Agent != nil && e.Agent.Renamed != "":
			r.renamed(mail.AgentAddress(e.Agent.Name), mail.AgentAddress(e.Agent.Renamed))
		case e.Agent != nil && (e.Agent.State == mail.Working || e.Agent.Turn != "") && e.Seq > present:
			if s := r.sleepers[mail.AgentAddress(e.Agent.Name)]; s != nil {
				s.worked = true
			}
		}
	}
	if len(given) > 0 {
		r.answerRoles(given)
	}
}

// takeReceipt applies one receipt.
func (r *Ringer) takeReceipt(e *mail.Event, present mail.Seq) {
	rc := e.Receipt
	s := r.sleepers[rc.Reader]
	switch {
	case e.Seq <= present:
		if rc.Mark == mail.MarkNotified || answers(rc.Mark) {
			s = r.sleeper(rc.Reader)
		}
		if s != nil {
			s.recall(rc, e.At, r.now())
		}
	case rc.Mark == mail.MarkNotified && rc.Machine != r.Machine:
		r.heard(rc, e.At)
	case answers(rc.Mark) && s != nil:
		s.answer(rc.Message)
		r.count(rc.Reader, s)
	}
}

// sleeper returns the sleeper of an agent or role.
func (r *Ringer) sleeper(k mail.Address) *sleeper {
	s := r.sleepers[k]
	if s == nil {
		s = &sleeper{ladder: r.Ladder.WithDefaults()}
		r.sleepers[k] = s
	}
	return s
}

// renamed applies an agent's new name. Its rings still count: otherwise a new name would be a new budget.
func (r *Ringer) renamed(from, to mail.Address) {
	s := r.sleepers[from]
	if s == nil || from == to {
		return
	}
	if o := r.sleepers[to]; o != nil { // a look in the meantime created it
		s.join(o)
	}
	delete(r.sleepers, from)
	r.sleepers[to] = s
	r.Doors.count(from, r.Ladder, counted{})
	r.count(to, s)
}

// heard applies a ring by another machine.
func (r *Ringer) heard(rc *mail.Receipt, at mail.Time) {
	if rc.Machine == "" || rc.Door == mail.HookDoor || rc.Door == mail.InboxDoor || rc.Reader == mail.ToUser {
		return
	}
	s := r.sleeper(rc.Reader)
	s.heard(rc, at, r.now())
	r.count(rc.Reader, s)
}

// answerRoles applies the messages that agents were given to the rings of roles: a role without a holder is rung, but
// an agent reads the mail.
func (r *Ringer) answerRoles(given map[mail.ID]bool) {
	for k, s := range r.sleepers {
		if s.told == nil || k == mail.ToOrchestrator || k.Kind() != mail.ToRole {
			continue
		}
		for id := range given {
			s.answer(id)
		}
		r.count(k, s)
	}
}
