package mailroom

import (
	"pennypost/internal/mail"
	"pennypost/internal/room/check"
)

// From returns the room as seen by a process that claims to be caller. A process inside a session speaks as its
// agent, or as one that the session registered. A name that no one bears yet becomes a child of the session's agent.
func (r *Room) From(caller mail.Name, w check.Whence) (mail.Service, error) {
	v := r.view(check.Caller{Who: caller, Means: w.Means, Process: w.Itself(), Pass: w.Pass})
	var err error
	if v.check(func(v *check.View) { err = v.NotPerson() }); err != nil {
		return v, err
	}
	if len(w.Programs) == 0 && !w.Guessed && w.Doubtful == nil {
		return v, nil
	}
	v.check(func(v *check.View) { err = v.MaySpeak(w) })
	if v.Claimed != "" && v.news(&check.Trip{What: "claims " + w.Opens + " " + string(v.Claimed)}) {
		v.opts.Log.Warn("a session claims to be another agent now; its identity is unchanged", "room", r.name,
			"agent", v.Who, "says", v.Claimed)
	}
	return v, err
}

// SessionIn returns the agent of the innermost of programs that a session of the room is bound to, "" if none is.
func (r *Room) SessionIn(programs []string) mail.Name {
	r.mu.RLock()
	defer r.mu.RUnlock()
	seats, _ := r.on(r.state, r.now()).Seats(programs)
	if len(seats) == 0 {
		return ""
	}
	return seats[0].Name
}

// Binds reports whether a session of this room is bound to one of some programs.
func (r *Room) Binds(programs []string) bool { return r.SessionIn(programs) != "" }
