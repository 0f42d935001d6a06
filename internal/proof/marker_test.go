//go:build linux

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
)

// pool is the messages that several clients compete for: the latest ones, so that the clients meet.
type pool struct {
	mu  sync.Mutex
	ids []mail.ID
}

// poolSize is how many messages clients compete for at a time.
const poolSize = 12

func (p *pool) add(ids ...mail.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if !slices.Contains(p.ids, id) {
			p.ids = append(p.ids, id)
		}
	}
	p.ids = p.ids[max(0, len(p.ids)-poolSize):]
}

func (p *pool) pick() (mail.ID, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ids) == 0 {
		return "", false
	}
	return p.ids[rand.IntN(len(p.ids))], true
}

// marker marks mail of one agent, or of its role, in competition with others.
type marker struct {
	*book
	agent mail.Name
	door  *door
	room  mail.RoomName
	pool  *pool
	marks []mail.Mark
	comes bool // it leaves its role now and then, and returns
}

func (m *marker) path(rest string) string { return "/rooms/" + string(m.room) + rest }

// run marks until ctx ends.
func (m *marker) run(ctx context.Context) {
	for ctx.Err() == nil {
		var page mail.Page
		if m.door.do(context.WithoutCancel(ctx), http.MethodGet, m.path("/inbox?newest=true&limit=6"), nil,
			&page) == nil {
			for _, it := range page.Messages {
				if kind := it.To[0].Kind(); m.comes && kind == mail.ToRole || !m.comes && kind == mail.ToAgent {
					m.pool.add(it.ID)
				}
			}
		}
		for range 3 {
			if id, ok := m.pool.pick(); ok {
				m.mark(ctx, id, m.marks[rand.IntN(len(m.marks))])
			}
			pause(ctx, rand.N(60*time.Millisecond))
		}
		if m.comes && rand.IntN(20) == 0 {
			m.sweep(ctx)
			m.leave(ctx)
		}
	}
}

// sweep takes the mail that has waited longest, all in one call: role mail that no one takes stays hot.
func (m *marker) sweep(ctx context.Context) {
	var page mail.Page
	if m.door.do(context.WithoutCancel(ctx), http.MethodGet, m.path("/inbox?limit=200"), nil, &page) != nil {
		return
	}
	o := op{Kind: "mark", Call: m.now(), Room: m.room, Agent: m.agent, Mark: mail.MarkRead}
	q := mail.Marking{Mark: mail.MarkRead}
	for _, it := range page.Messages {
		if it.To[0].Kind() == mail.ToRole {
			q.IDs = append(q.IDs, it.ID)
		}
	}
	if len(q.IDs) == 0 {
		return
	}
	var marked mail.Marked
	err := m.door.do(context.WithoutCancel(ctx), http.MethodPost, m.path("/marks"), q, &marked)
	for _, id := range q.IDs {
		o.Message, o.Result, o.Outcome = id, resultFor(id, &marked), ""
		if o.Result == "not_yours" || o.Result == "not_found" {
			o.Outcome = refused
		}
		m.add(o, err)
	}
}

// resultFor returns the result of a mark for one of the messages.
func resultFor(id mail.ID, marked *mail.Marked) string {
	switch {
	case slices.Contains(marked.Marked, id):
		return "marked"
	case slices.Contains(marked.Already, id):
		return "already"
	case slices.Contains(marked.NotYours, id):
		return "not_yours"
	case slices.Contains(marked.NotFound, id):
		return "not_found"
	}
	return ""
}

// mark marks one message, and notes the answer.
func (m *marker) mark(ctx context.Context, id mail.ID, k mail.Mark) {
	o := op{Kind: "mark", Call: m.now(), Room: m.room, Agent: m.agent, Message: id, Mark: k}
	var marked mail.Marked
	err := m.door.do(context.WithoutCancel(ctx), http.MethodPost, m.path("/marks"), mail.Marking{IDs: []mail.ID{id},
		Mark: k}, &marked)
	switch {
	case len(marked.Marked) > 0:
		o.Result = "marked"
	case len(marked.Already) > 0:
		o.Result = "already"
	case len(marked.NotYours) > 0 || codeOf(err) == mail.Denied:
		o.Result, o.Outcome = "not_yours", refused
	case len(marked.NotFound) > 0 || codeOf(err) == mail.NotFound:
		o.Result, o.Outcome = "not_found", refused
	}
	m.add(o, err)
}

// leave gives up the role, or reports itself gone, for a moment.
func (m *marker) leave(ctx context.Context) {
	away, back := mail.Presence{Roles: []string{}}, mail.Presence{Roles: []string{"worker"}}
	if rand.IntN(2) == 0 {
		away, back = mail.Presence{State: mail.Gone}, mail.Presence{State: mail.Idle}
	}
	_ = m.door.do(context.WithoutCancel(ctx), http.MethodPost, m.path("/agents"), away, nil)
	pause(ctx, rand.N(300*time.Millisecond))
	for m.door.do(context.WithoutCancel(ctx), http.MethodPost, m.path("/agents"), back, nil) != nil &&
		ctx.Err() == nil {
		pause(ctx, 100*time.Millisecond)
	}
}

// auditor reads the state of messages that others compete for.
type auditor struct {
	*book
	door  *door
	room  mail.RoomName
	pools []*pool
}

func (a *auditor) run(ctx context.Context) {
	for ctx.Err() == nil {
		if id, ok := a.pools[rand.IntN(len(a.pools))].pick(); ok {
			o := op{Kind: "look", Call: a.now(), Room: a.room, Message: id}
			var it mail.Item
			err := a.door.do(context.WithoutCancel(ctx), http.MethodGet, fmt.Sprintf("/rooms/%s/messages/%s", a.room,
				id), nil, &it)
			a.saw(o, &it, err)
		}
		pause(ctx, rand.N(100*time.Millisecond))
	}
}

// saw records the state of a message for each recipient.
func (b *book) saw(o op, it *mail.Item, err error) {
	if err != nil {
		b.add(o, err)
	}
	for _, d := range it.Deliveries {
		o.Agent, o.State = d.Agent, d.State
		b.add(o, err)
	}
}
