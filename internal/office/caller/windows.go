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
// These processes have the variables of the window that started the server, whichever window they are for. So the
// variables of the session's own window count, and a server's variables are ignored.

// windowTime is how long Codex may take to name the window of a session. It takes a few milliseconds, and the hook has
// most of a second.
const windowTime = 500 * time.Millisecond

// window returns the window of a session's person, if the hook's program serves several windows; nil: it does not. A
// person may continue a session in another window, which is looked up when they have written a prompt, and when the
// known one was closed.
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
		return windowOf(""), nil // the person is in a window that Codex does not name
	}
	return known, nil
}

// begins reports whether an event shows that a person is now in the session: they have given it a prompt.
func begins(e *hook.Event) bool {
	return e.Moment == mail.SessionStart || e.Moment == mail.TurnStart && !e.Ring
}

// windowNow asks Codex for the window of a session; "": it does not know. If Codex is too busy to answer, that is an
// error: a retry gets the right name, and a session that began under another one would keep it.
func (o *Rooms) windowNow(ctx context.Context, home, session string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	program, err := o.Set.Reach.Codex.Window(ctx, home, session)
	if err != nil && ctx.Err() != nil {
		return "", &mail.Error{Code: mail.Unavailable, Msg: "Codex did not say in time which window this session " +
			"is in, so its agent is unknown. Nothing was done. Try again", Err: err}
	}
	if err != nil {
		o.Set.Log.Debug("window of a session unknown", "session", session, "err", err)
	}
	return program, nil
}

// windowOf returns the window with a program; an unknown one if program is empty.
func windowOf(program string) *hook.Window {
	w := &hook.Window{Program: program, Getenv: func(string) string { return "" }}
	if program == "" {
		return w
	}
	environ := process.Environ(process.Number(program))
	w.Getenv = func(name string) string { return config.Getenv(environ, name) }
	w.Closed = !process.Alive(program) // checked last: the pid may have been reused by now
	return w
}

// moveOn ends the session of an agent whose window was just closed, or has moved on to another session: no person sees
// it any more, and its name is free. A session that is working in the background of its window continues.
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

// placeOfSession returns the place of a client's session that the post office knows. For an unknown one it adds the
// facts of its window to p.
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
