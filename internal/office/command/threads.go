package command

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/mcpserver"
	"pennypost/internal/wire/client"
)

// threads are the Codex sessions that call one server. By default all sessions of a person are children of one program
// (codex app-server), a subagent has a server of its own, and each call names its session in its _meta (0.169.0):
// sessionId is the session's id, even for a subagent, and its hooks get the same one. So no session is on the roster
// before its first call, when the post office is asked which agent it is.
type threads struct {
	app     *app
	session *session

	asking sync.Mutex // held while the app asks the post office, which is not safe for concurrent use

	mu    sync.Mutex
	seats map[string]seat // of the sessions that have called
	own   map[string]bool // sessions that called by themselves, not only through a subagent
}

// seat is the room and name of a session's agent.
type seat struct {
	room mail.RoomName
	name mail.Name
}

// besideTime is how long Codex waits for an agent's tools other than ours. Codex waits a second for all tools before
// it asks the model without them (0.169.0, mcp_optional_startup_grace_ms), and a starting post office may take longer;
// later tools are announced.
const besideTime = 100 * time.Millisecond

// serveThreads serves Codex until standard input ends or a signal comes. It needs a post office only from the first
// call on.
func (a *app) serveThreads(ctx context.Context, s *session, f mcpFlags) (err error) {
	if f.takeOver || f.channel {
		return cli.Usage("--take-over and --channel do not work with Codex, whose sessions share one server")
	}
	if s.office, err = a.Post(); err != nil {
		return err
	}
	if s.quiet, err = a.QuietOffice(); err != nil {
		return err
	}
	defer s.quiet.Close()
	t := &threads{app: a, session: s, seats: make(map[string]seat), own: make(map[string]bool)}
	defer t.end()
	native := mcpserver.NewNative(mcpserver.Mailbox{Version: cli.Version(), Of: t.of, Log: a.mcpLog()})
	defer native.Close()
	t.beside(ctx, native.Server)
	return a.serveStdio(ctx, native.Server, a.Stdout.To)
}

// serveStdio serves until standard input or ctx ends, which is no error.
func (a *app) serveStdio(ctx context.Context, server *mcpserver.Server, out io.Writer) error {
	err := mcpserver.ServeStdio(ctx, server, a.Env.Stdin, out)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// beside adds the agent's tools other than ours, which the post office knows. It starts the post office if necessary;
// if that takes long, the tools appear when it is there, and if it never is, the calls say so.
func (t *threads) beside(ctx context.Context, server *mcpserver.Server) {
	done := make(chan struct{})
	go func() { // it may outlive the server, and ends with the process
		defer close(done)
		t.asking.Lock()
		defer t.asking.Unlock()
		s := *t.session
		var err error
		if s.room, s.name, err = t.app.Begin(s.client, ""); err == nil {
			t.app.beside(ctx, &s, s.name, server)
		}
	}()
	select {
	case <-done:
	case <-time.After(besideTime):
	}
}

// of returns the agent of the session that a call comes from.
func (t *threads) of(ctx context.Context, meta map[string]any) (mcpserver.Caller, error) {
	thread, _ := meta["threadId"].(string)
	id, _ := meta["sessionId"].(string)
	if id == "" {
		id = thread
	}
	if id == "" {
		return mcpserver.Caller{}, mail.Errorf(mail.Denied, "Codex did not say which session this call is from "+
			"(_meta.sessionId, as Codex 0.169.0 does), so its agent is unknown. Nothing was done")
	}
	t.mu.Lock()
	at, known := t.seats[id]
	t.own[id] = t.own[id] || thread == id
	t.mu.Unlock()
	if !known {
		var err error
		if at, err = t.enter(ctx, id); err != nil {
			return mcpserver.Caller{}, err
		}
		t.mu.Lock()
		t.seats[id] = at
		t.mu.Unlock()
	}
	svc := t.session.office.RoomFrom(at.room, at.name, client.Whence{Session: id})
	return mcpserver.Caller{Service: svc, Room: at.room, Agent: at.name}, nil
}

// enter finds the agent of a session, and puts it on the roster.
func (t *threads) enter(ctx context.Context, id string) (at seat, err error) {
	one := *t.session
	one.id = id
	t.asking.Lock()
	one.room, one.name, err = t.app.Begin(one.client, id)
	t.asking.Unlock()
	if err == nil {
		err = one.claim(ctx, mail.Presence{}) // its hooks may already have done so
	}
	return seat{one.room, one.name}, err
}

// end reports the end of the sessions whose server this was. A subagent's parent continues.
func (t *threads) end() {
	for id, at := range t.seats {
		if !t.own[id] {
			continue
		}
		one := *t.session
		one.id, one.room, one.name = id, at.room, at.name
		one.end()
	}
}
