package command

import (
	"context"
	"errors"
	"io"
	"sync"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/mcpserver"
	"pennypost/internal/wire/client"
)

// threads are the sessions of Codex that call one server. All sessions of a person are children of one program by
// default (codex app-server), a subagent has a server of its own, and each call says in its _meta whose it is
// (0.169.0): sessionId is the session's id, a subagent's as well, which its hooks are given too. So nobody is on the
// roster before a call comes.
type threads struct {
	session *session

	mu    sync.Mutex
	names map[string]mail.Name // of the sessions that have called
	own   map[string]bool      // those that did so by themselves, and not by a subagent
}

// serveThreads serves Codex until standard input ends or a signal comes.
func (a *app) serveThreads(ctx context.Context, s *session, f mcpFlags) error {
	if f.takeOver || f.channel {
		return cli.Usage("--take-over and --channel are not for Codex, whose sessions share one server")
	}
	t := &threads{session: s, names: make(map[string]mail.Name), own: make(map[string]bool)}
	defer t.end()
	native := mcpserver.NewNative(mcpserver.Mailbox{Room: s.room, Version: cli.Version(), Of: t.of, Log: a.mcpLog()})
	defer native.Close()
	a.beside(ctx, s, s.name, native.Server)
	err := mcpserver.ServeStdio(ctx, native.Server, a.Env.Stdin, a.Stdout.To)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// of returns the mailbox of the session that a call comes from.
func (t *threads) of(ctx context.Context, meta map[string]any) (mail.Service, mail.Name, error) {
	thread, _ := meta["threadId"].(string)
	id, _ := meta["sessionId"].(string)
	if id == "" {
		id = thread
	}
	if id == "" {
		return nil, "", mail.Errorf(mail.Denied, "Codex did not say from which of its sessions this call comes "+
			"(_meta.sessionId, as Codex 0.169.0 does), so it cannot be told whose mail is meant: nothing was done")
	}
	t.mu.Lock()
	name := t.names[id]
	t.own[id] = t.own[id] || thread == id
	t.mu.Unlock()
	if name == "" {
		one := *t.session
		one.id = id
		if err := one.enter(ctx); err != nil {
			return nil, "", err
		}
		name = one.name
		t.mu.Lock()
		t.names[id] = name
		t.mu.Unlock()
	}
	return t.session.office.RoomFrom(t.session.room, name, client.Whence{Session: id}), name, nil
}

// end says that the sessions have ended that had this server as long as they were open: a subagent's parent goes on.
func (t *threads) end() {
	for id, name := range t.names {
		if !t.own[id] {
			continue
		}
		one := *t.session
		one.id, one.name = id, name
		one.end()
	}
}
