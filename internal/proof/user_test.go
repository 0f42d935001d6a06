//go:build linux

package proof

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"pennypost/internal/mail"
)

// eraser is the user, who erases messages that were sent with a secret.
type eraser struct {
	*book
	seed    uint64
	door    *door
	senders []*sender

	next map[*sender]int // how much of each sender's record was examined
}

func (e *eraser) run(ctx context.Context) {
	e.next = make(map[*sender]int)
	for ctx.Err() == nil {
		for _, s := range e.senders {
			ops := s.all()
			for ; e.next[s] < len(ops) && ctx.Err() == nil; e.next[s]++ {
				o := ops[e.next[s]]
				known := o.Outcome == done && o.Message != "" // kept mail is done, and has no id yet
				if known && secretIn(s.draft(o.N).Body) != "" {
					e.erase(ctx, o)
				}
			}
		}
		// The user reads: mail that the person has not read stays hot.
		read := mail.Marking{All: true, Mark: mail.MarkRead}
		_ = e.door.do(context.WithoutCancel(ctx), http.MethodPost, "/rooms/main/marks", read, nil)
		pause(ctx, time.Second)
	}
}

// erase repeats the request until it is known to be done.
func (e *eraser) erase(ctx context.Context, sent op) {
	o := op{Kind: "erase", Call: e.now(), Room: sent.Room, Message: sent.Message, Agent: mail.Name(sent.Client),
		N: sent.N}
	for doubt := false; ; {
		err := e.door.do(context.WithoutCancel(ctx), http.MethodDelete,
			"/rooms/"+string(sent.Room)+"/messages/"+string(sent.Message), nil, nil)
		o.Outcome = outcomeOf(err)
		if codeOf(err) == mail.NotFound && doubt {
			o.Outcome = done // an earlier attempt did it; otherwise the message has not reached this machine yet
		}
		doubt = doubt || o.Outcome == unknown
		if o.Outcome == done || ctx.Err() != nil {
			e.add(o, err)
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// looker reads everything that can be read, as everyone who may. That must change nothing (P4).
type looker struct {
	doors []*door
	room  mail.RoomName
}

func (l *looker) run(ctx context.Context) {
	paths := []string{
		"/inbox?agent=" + string(quiet), "/inbox?newest=true&agent=" + string(quiet),
		"/inbox?all=true&limit=200&agent=" + string(quiet),
		"/messages?agent=" + string(quiet) + "&limit=100", "/messages?search=" + url.QueryEscape("小克") + "&limit=20",
		"/messages?state=queued,held&limit=50", "/agents", "", "/inbox?place=archived&agent=" + string(quiet),
	}
	for ctx.Err() == nil {
		d, path := l.doors[rand.IntN(len(l.doors))], paths[rand.IntN(len(paths))]
		if rand.IntN(50) == 0 {
			path = "/messages?archive=true&limit=50" // seldom, because that reads the whole archive
		}
		_ = d.do(context.WithoutCancel(ctx), http.MethodGet, "/rooms/"+string(l.room)+path, nil, nil)
		pause(ctx, 150*time.Millisecond)
	}
}

// forger is an agent with a token that tries to speak as others (P5). Every attempt must be refused.
type forger struct {
	office *office
	token  string
	room   mail.RoomName
	found  *findings
}

func (f *forger) run(ctx context.Context) {
	send := "/rooms/" + string(f.room) + "/messages"
	body := func() map[string]any {
		return map[string]any{"to": []string{"user"}, "body": "forged " + time.Now().String()}
	}
	with := func(key string, v any) map[string]any { m := body(); m[key] = v; return m }
	for ctx.Err() == nil {
		for _, c := range []struct {
			what  string
			token string
			agent mail.Name
			path  string
			in    any
		}{
			{"as the user by the header", f.token, mail.User, send, body()},
			{"as another by the header", f.token, clerk, send, body()},
			{"with a from", f.token, "", send, with("from", "user")},
			{"with a via", f.token, "", send, with("via", "haak")},
			{"without a credential", "pp_none", "", send, body()},
			{"into another room", f.token, "", "/rooms/harbour/messages", body()},
			{"by import", f.token, "", "/rooms/" + string(f.room) + "/import", map[string]any{"id": "msg_forged",
				"from": "user", "to": []string{"all"}, "body": "forged"}},
			{"as the orchestrator it made itself", f.token, "", "/rooms/" + string(f.room) + "/agents",
				mail.Presence{Roles: []string{"orchestrator"}}},
		} {
			d := f.office.tcp(c.token)
			d.agent = c.agent
			if err := d.do(context.WithoutCancel(ctx), http.MethodPost, c.path, c.in, nil); err == nil {
				f.found.add("P5", "a token agent got through %s", c.what)
			}
			d.client.CloseIdleConnections()
		}
		pause(ctx, time.Second)
	}
}
