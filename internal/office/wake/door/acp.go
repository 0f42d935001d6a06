package door

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/office/acp"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// ACP is a door to an agent without a session: a program that speaks the Agent Client Protocol runs one turn as that
// agent and is then ended. Its session includes Pennypost's MCP server, with which it reads its mail. It resumes the
// session of an earlier ring if the program can. The ring succeeded if the turn ended normally.
//
// Argv has the same placeholders, and the program the same variables, as with Exec. The program is never started while
// the agent has another session, and its turn is cancelled when one begins.
type ACP struct {
	Argv    []string
	Env     []string // NAME=value; the variables of the ring override them
	Dir     string   // the working directory; "": that of the agent's latest session
	Home    string   // PENNYPOST_HOME
	Program string   // the program that contains Pennypost's MCP server
	Timeout time.Duration
	Log     *slog.Logger // default: discard

	Sessions *sessions.List
	Turns    *Turns
}

var _ wake.Waker = (*ACP)(nil)

// Door implements wake.Waker.
func (x *ACP) Door() string { return "acp" }

func (x *ACP) leads(s *sessions.Session) bool { return s.ID == "" || s.Over || s.Gone() }

// Ring implements wake.Waker.
func (x *ACP) Ring(ctx context.Context, r wake.Ring) error {
	if r.Agent == "" {
		return errors.New("was not run: no agent has the role")
	}
	argv, err := fill(x.Argv, &r, "")
	if err != nil {
		return err
	}
	ctx, turn, err := x.Turns.begin(ctx, r.Room, r.Agent)
	if err != nil {
		return err
	}
	defer turn.end()
	// From now on a new session cancels the turn. One may have begun since the ring was made.
	s := x.Sessions.Look(r.Room, r.Agent)
	if lives := x.Turns.Lives; r.Live || !x.leads(&s) || lives != nil && lives(ctx, r.Room, r.Agent) {
		return errors.New("was not run: the agent already has a session")
	}
	known := x.Turns.lastOf(r.Room, r.Agent)
	dir := cmp.Or(x.Dir, s.Dir, known.Dir)
	if !filepath.IsAbs(dir) {
		return errors.New("was not run: the working directory of the agent is not known; set dir")
	}
	t := acp.Turn{Argv: argv, Dir: dir, Timeout: x.Timeout, Log: x.Log, Servers: []acp.Server{x.server(&r)},
		Env: append(slices.Clone(x.Env), variables(x.Home, &r)...), Started: turn.started,
		Prompt: func(loaded bool) string {
			r.Known = r.Known && loaded
			return r.Pointer()
		}}
	if known.Dir == dir && slices.Equal(known.Argv, argv) {
		t.Load = known.Session
	}
	if ask := x.Turns.Ask; ask != nil {
		t.Ask = func(ctx context.Context, q *acp.Question) string {
			return ask(ctx, Asker{r.Room, r.Agent, filepath.Base(argv[0]), turn.program(), dir}, q)
		}
	}
	session, err := t.Run(ctx)
	if session != "" {
		x.Turns.keep(lastTurn{r.Room, r.Agent, argv, dir, session})
	}
	return because(ctx, err)
}

// server is Pennypost's MCP server for the agent. It has the name that "pennypost install" uses, so that a client that
// already has it does not get it twice.
func (x *ACP) server(r *wake.Ring) acp.Server {
	return acp.Server{Name: "pennypost", Program: x.Program, Args: []string{"mcp"}, Env: map[string]string{
		"PENNYPOST_HOME": x.Home, "PENNYPOST_ROOM": string(r.Room), "PENNYPOST_AGENT": string(r.Agent)}}
}
