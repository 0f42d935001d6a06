package door

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// Exec is a door that is a command. The ring succeeded if the command exits with status 0 within its timeout.
//
// The command runs without a shell. {room}, {agent}, {role}, {unread} and {urgent} in Argv are replaced; the variables
// PENNYPOST_ROOM, PENNYPOST_AGENT, PENNYPOST_ROLE, PENNYPOST_UNREAD and PENNYPOST_URGENT have the same values, and its
// standard input the whole Ring as JSON. Processes that it leaves running must not keep its output open: that is
// closed when the command has ended.
//
// With Gone the command resumes the agent's latest session: {session} is the client's id of it, and the command runs
// in the session's directory. It runs only if the room considers the agent gone and the session's program is known to
// have ended, because two programs in one session corrupt its transcript. Sessions from before the start of the post
// office are not known to have ended.
type Exec struct {
	Argv    []string
	Env     []string      // NAME=value; the variables of the ring override them
	Dir     string        // the working directory
	Home    string        // PENNYPOST_HOME
	Timeout time.Duration // then the command and its process group are killed; default 30 s
	Log     *slog.Logger  // default: discard

	Gone     bool
	Sessions *sessions.List // used with Gone
}

var _ wake.Waker = (*Exec)(nil)

// Door implements wake.Waker.
func (x *Exec) Door() string { return "exec" }

// Ring implements wake.Waker.
func (x *Exec) Ring(ctx context.Context, r wake.Ring) error {
	session, err := x.session(&r)
	if err != nil {
		return err
	}
	argv, err := fill(x.Argv, &r, session.ID)
	if err != nil {
		return err
	}
	input, err := jsonx.Marshal(&r)
	if err != nil {
		return err
	}
	cmd := child.Command{Argv: argv, Dir: cmp.Or(session.Dir, x.Dir), Input: append(input, '\n'), Timeout: x.Timeout,
		Env: append(append([]string{}, x.Env...), variables(x.Home, &r)...)}
	output, err := cmd.Run(ctx)
	if x.Log != nil {
		x.Log.Debug("wake command ended", "command", argv[0], "agent", r.Agent, "err", err, "output", output)
	}
	return err
}

func (x *Exec) leads(s *sessions.Session) bool { return !x.Gone || s.ID != "" }

// session returns the session to resume; the zero value if there is none.
func (x *Exec) session(r *wake.Ring) (sessions.Session, error) {
	if !x.Gone {
		return sessions.Session{}, nil
	}
	s, known, gone := x.Sessions.Gone(r.Room, r.Agent)
	switch {
	case !known:
		return sessions.Session{}, errors.New(
			"was not run: no session of the agent is known since the post office started")
	case r.State != mail.Gone || !gone:
		return sessions.Session{}, errors.New(
			"was not run: the agent's session may still be live, and a live session is not resumed")
	}
	return s, nil
}

// variables returns the variables of a ring.
func variables(home string, r *wake.Ring) []string {
	return []string{
		"PENNYPOST_HOME=" + home, "PENNYPOST_ROOM=" + string(r.Room), "PENNYPOST_AGENT=" + string(r.Agent),
		"PENNYPOST_ROLE=" + r.Role,
		"PENNYPOST_UNREAD=" + strconv.Itoa(r.Unread), "PENNYPOST_URGENT=" + strconv.Itoa(r.Urgent),
	}
}

// fill replaces the placeholders. Agents choose their names, so a name must not become an option of the command.
func fill(argv []string, r *wake.Ring, session string) ([]string, error) {
	names := strings.NewReplacer("{room}", string(r.Room), "{agent}", string(r.Agent), "{role}", r.Role,
		"{unread}", strconv.Itoa(r.Unread), "{urgent}", strconv.Itoa(r.Urgent), "{session}", session)
	return child.Fill(argv, names, "PENNYPOST_AGENT")
}
