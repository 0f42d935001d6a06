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

// threads are the sessions of Codex that call one server. All sessions of a person are children of one program by
// default (codex app-server), a subagent has a server of its own, and each call says in its _meta whose it is
// (0.169.0): sessionId is the session's id, a subagent's as well, which its hooks are given too. So nobody is on the
// roster before a call comes, and the post office is asked then who a session is.
type threads struct {
	app     *app
	session *session

	asking sync.Mutex // held while the app asks the post office, which one goroutine at a time may have it do

	mu    sync.Mutex
	seats map[string]seat // of the sessions that have called
	own   map[string]bool // those that did so by themselves, and not by a subagent
}

// seat is who a session is.
type seat struct {
	room mail.RoomName
	name mail.Name
}

// besideTime is how long Codex waits for the tools that an agent has besides ours. It waits a second for all of them
// before it asks the model without (0.169.0, mcp_optional_startup_grace_ms), and a post office that is being started
// may take longer; what comes later is announced.
const besideTime = 100 * time.Millisecond

// serveThreads serves Codex until standard input ends or a signal comes. It needs no post office before a call comes.
func (a *app) serveThreads(ctx context.Context, s *session, f mcpFlags) (err error) {
	if f.takeOver || f.channel {
		return cli.Usage("--take-over and --channel are not for Codex, whose sessions share one server")
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

// serveStdio serves until standard input ends or ctx does, which is no error.
func (a *app) serveStdio(ctx context.Context, server *mcpserver.Server, out io.Writer) error {
	err := mcpserver.ServeStdio(ctx, server, a.Env.Stdin, out)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// beside adds the tools that an agent here has besides ours, which the post office knows. It is started if need be; if
// that takes long, the tools come when it is there, and if it never is, the calls say so.
func (t *threads) beside(ctx context.Context, server *mcpserver.Server) {
	done := make(chan struct{})
	go func() { // which may outlive the server, and ends with the process
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

// of returns whose session a call comes from.
func (t *threads) of(ctx context.Context, meta map[string]any) (mcpserver.Caller, error) {
	thread, _ := meta["threadId"].(string)
	id, _ := meta["sessionId"].(string)
	if id == "" {
		id = thread
	}
	if id == "" {
		return mcpserver.Caller{}, mail.Errorf(mail.Denied, "Codex did not say from which of its sessions this call "+
			"comes (_meta.sessionId, as Codex 0.169.0 does), so it cannot be told whose mail is meant: nothing was "+
			"done")
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

// enter finds out who a session is, and puts it on the roster.
func (t *threads) enter(ctx context.Context, id string) (at seat, err error) {
	one := *t.session
	one.id = id
	t.asking.Lock()
	one.room, one.name, err = t.app.Begin(one.client, id)
	t.asking.Unlock()
	if err == nil {
		err = one.claim(ctx, mail.Presence{}) // which its hooks may have done before
	}
	return seat{one.room, one.name}, err
}

// end says that the sessions have ended that had this server as long as they were open: a subagent's parent goes on.
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
