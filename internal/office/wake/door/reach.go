package door

import (
	"errors"
	"fmt"

	"pennypost/internal/base/child"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// leading is a door that needs a certain kind of session: keystrokes need a pane and a program with a terminal, a
// resumption a session to resume, Codex's queue a process that takes from it.
type leading interface {
	// leads reports whether the door can reach an agent's latest session, from known facts. It does not check whether
	// the session lives.
	leads(s *sessions.Session) bool
}

// Leads reports whether a door can reach an agent's latest session, from known facts.
func Leads(w wake.Waker, s *sessions.Session) bool {
	door, may := w.(leading)
	return !may || door.leads(s)
}

// sessionFor returns the session that a ring is for, if it runs in a client.
func sessionFor(l *sessions.List, r *wake.Ring, client string) (sessions.Session, error) {
	switch s, ok := l.Get(r.Room, r.Agent); {
	case r.Agent == "":
		return sessions.Session{}, errors.New("no agent has the role")
	case !ok:
		return sessions.Session{}, errors.New(
			"no live session of the agent is known; its hooks report one when it starts or begins a turn")
	case client != "" && s.Client != client:
		return sessions.Session{}, fmt.Errorf("its session runs in %s, not in %s", child.Plain(s.Client), client)
	default:
		return s, nil
	}
}
