package caller

import (
	"context"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/sessions"
	"pennypost/internal/wire"
)

// The windows of Codex share one server (0.169.0), which runs the hooks, MCP servers and shells of all their sessions.
// The variables of these processes are those of the window that started the server, whichever window they are for. So
// what counts is what the session's own window was started with, and a server's variables count for nobody.

// windowTime is how long Codex may take to say to which window a session belongs. It takes a few milliseconds, and the
// hook has most of a second.
const windowTime = 500 * time.Millisecond

// window returns where the person of a session sits whose hook is run by a program that serves several windows; nil:
// it does not. A person may go on with a session in another window, which is looked for when they have written a
// prompt, and when the one that is known was closed.
func (o *Rooms) window(ctx context.Context, program string, e *hook.Event) (*hook.Window, error) {
	if e.Client != "codex" || !config.SharedServer(process.Args(program)) {
		return nil, nil
	}
	session, _ := o.Set.Reach.Sessions.Find(e.Client, e.Session.ID)
	known := windowOf(session.Window)
	if session.ID != "" && !begins(e) && !known.Closed {
		return known, nil
	}
	at, err := o.windowNow(ctx, e.Session.Home, e.Session.ID)
	switch {
	case err != nil && session.ID == "":
		return nil, err
	case at != "":
		return windowOf(at), nil
	case known.Closed && begins(e):
		return windowOf(""), nil // they sit in one that Codex does not name
	}
	return known, nil
}

// begins reports whether an event shows that a person is in the session now: they have given it a prompt.
func begins(e *hook.Event) bool {
	return e.Moment == mail.SessionStart || e.Moment == mail.TurnStart && !e.Ring
}

// windowNow asks Codex in which window a session is; "": it does not say. If Codex is too busy to answer, that is an
// error: the next who asks gets the right name, and a session that has begun under another would keep that.
func (o *Rooms) windowNow(ctx context.Context, home, session string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	program, err := o.Set.Reach.Codex.Window(ctx, home, session)
	if err != nil && ctx.Err() != nil {
		return "", &mail.Error{Code: mail.Unavailable, Msg: "Codex has not said in time in which of its windows " +
			"this session is, so it cannot be told which agent it is: nothing was done. Try again", Err: err}
	}
	if err != nil {
		o.Set.Log.Debug("the window of a session is not known", "session", session, "err", err)
	}
	return program, nil
}

// windowOf returns the window that a program is; one of which nothing is known if program is empty.
func windowOf(program string) *hook.Window {
	w := &hook.Window{Program: program, Getenv: func(string) string { return "" }}
	if program == "" {
		return w
	}
	environ := process.Environ(process.Number(program))
	w.Getenv = func(name string) string { return config.Getenv(environ, name) }
	w.Closed = !process.Alive(program) // asked last: the number may be another's by now
	return w
}

// moveOn ends the session of an agent whose window was closed just now, or has gone on to another session: nobody sees
// what it does any more, and its name is free. A session that is at work in the background of its window goes on.
func (o *Rooms) moveOn(ctx context.Context, room mail.RoomName, agent mail.Name, e *hook.Event) {
	if e.Session.Window == "" || !begins(e) {
		return
	}
	if _, lives := o.Set.Reach.Sessions.Find(e.Client, e.Session.ID); lives {
		return
	}
	if s, left := o.Set.Reach.Sessions.Left(room, agent, e.Session.Window); left {
		o.end(ctx, s)
	}
}

// end ends a session.
func (o *Rooms) end(ctx context.Context, s sessions.Session) {
	o.Set.Reach.Listeners.End(s.Room, s.Agent, s.ID)
	o.ended(ctx, s, mail.SessionEnd)
}

// placeOfSession returns where a client's session is that the post office knows, and adds to p what its window says if
// it does not.
func (o *Rooms) placeOfSession(ctx context.Context, p *wire.Place) (at wire.Placed, known bool, err error) {
	if s, lives := o.Set.Reach.Sessions.Find(p.Client, p.Session); lives {
		return wire.Placed{Room: s.Room, Agent: s.Agent}, true, nil
	}
	window, err := o.windowNow(ctx, p.SessionHome, p.Session)
	if err != nil {
		return wire.Placed{}, false, err
	}
	p.Room, p.Agent, err = config.Named(string(p.Room), string(p.Agent), windowOf(window).Getenv)
	return wire.Placed{}, false, err
}
