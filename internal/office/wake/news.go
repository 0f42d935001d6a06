package wake

import (
	"context"

	"pennypost/internal/mail"
)

// follow hands on what a watch shows, and closes the channel when it shows no more.
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

// take takes in events: rings from before this process looked after the room, the answers to rings, and turns that
// begin, which may have ended again by the next look.
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

// takeReceipt takes in what one receipt says.
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

// sleeper returns what is known of somebody.
func (r *Ringer) sleeper(k mail.Address) *sleeper {
	s := r.sleepers[k]
	if s == nil {
		s = &sleeper{ladder: r.Ladder.WithDefaults()}
		r.sleepers[k] = s
	}
	return s
}

// renamed takes in that an agent has another name. It is rung as before: otherwise a new name would be a new budget.
func (r *Ringer) renamed(from, to mail.Address) {
	s := r.sleepers[from]
	if s == nil || from == to {
		return
	}
	if o := r.sleepers[to]; o != nil { // it was looked at meanwhile
		s.join(o)
	}
	delete(r.sleepers, from)
	r.sleepers[to] = s
	r.Doors.count(from, r.Ladder, counted{})
	r.count(to, s)
}

// heard takes in that another machine has rung somebody.
func (r *Ringer) heard(rc *mail.Receipt, at mail.Time) {
	if rc.Machine == "" || rc.Door == mail.HookDoor || rc.Door == mail.InboxDoor || rc.Reader == mail.ToUser {
		return
	}
	s := r.sleeper(rc.Reader)
	s.heard(rc, at, r.now())
	r.count(rc.Reader, s)
}

// answerRoles takes in which messages somebody was given. What a role nobody had was rung for is read by whoever came.
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
