package codexdialogs

import (
	"context"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/appserver"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/sessions"
)

// Times of what is asked.
const (
	tendPause = 250 * time.Millisecond // between looks at what should have happened
	// saidTime is how long the server may take to say that a request which is over was declined. It was seen to say so
	// in the same moment, if it did; that one was allowed shows when the tool has ended, which may take hours.
	saidTime = 40 * time.Millisecond
	// toldTime is how long it may take to say more of one that was not answered from the desk, or was denied there.
	toldTime = 300 * time.Millisecond
	// hooksTime is how long a dialog may be off the desk, because a hook says that it is over, before the server says
	// so too. If it does not, the hook was wrong, or somebody else's.
	hooksTime = time.Second
	// joinPause is until a thread that could not be joined is tried again.
	joinPause = 5 * time.Second
)

// Bounds of what a server may have us remember.
const (
	maxThreads  = 256
	maxRequests = 32 // of a thread
)

// connection is what is known by one connection to a server. One goroutine owns it.
type connection struct {
	*Watch
	ctx    context.Context // ends with the connection
	home   string
	conn   *appserver.Conn
	beside *sync.WaitGroup // those who wait for the person

	threads map[string]*thread
	calls   map[string]func(*appserver.Message) // what is done with the answer, by the call's id
	answers chan answered
	soon    *time.Timer // when to look next, besides
	handed  []handed    // answers from the desk that the server has
	broken  error       // the connection is of no use any more
}

// handed is a request that was answered from the desk. Whoever did so tells the room, if they still wait.
type handed struct {
	session string
	card    mail.ID
	how     mail.DialogOutcome
	at      time.Time
}

// thread is one that waits for its person.
type thread struct {
	id      string
	waits   bool // as its flags say
	since   time.Time
	joined  bool      // we are sent what it asks, or have asked to be
	again   time.Time // when it is tried again to join it
	asked   []*request
	settled []mail.ID // dialogs of requests that are over, of which the room may not have heard yet
	// changes are those of files that are about to be made, by the id of their item
	changes map[string][]change
}

// answered is the person's answer to a request.
type answered struct {
	thread *thread
	*request
	mail.DialogAnswer
}

func newConnection(ctx context.Context, w *Watch, home string, conn *appserver.Conn,
	beside *sync.WaitGroup) *connection {
	return &connection{Watch: w, ctx: ctx, home: home, conn: conn, beside: beside,
		threads: make(map[string]*thread), calls: make(map[string]func(*appserver.Message)),
		answers: make(chan answered), soon: time.NewTimer(tendPause)}
}

// session returns the session that a thread is; false: no agent's.
func (c *connection) session(id string) (sessions.Session, bool) {
	all := c.Sessions()
	i := slices.IndexFunc(all, func(s sessions.Session) bool { return s.ID == id && s.Home == c.home })
	if i < 0 {
		return sessions.Session{}, false
	}
	return all[i], true
}

// post calls a method, and has then called with the answer.
func (c *connection) post(method string, params any, then func(*appserver.Message)) {
	id, err := c.conn.Post(method, params)
	if err != nil {
		c.broken = err
		return
	}
	c.calls[id] = then
}

// begin asks how it stands with the threads that are known: they may wait since before.
func (c *connection) begin() {
	for _, s := range c.Sessions() {
		if s.Home != c.home {
			continue
		}
		c.post("thread/read", map[string]any{"threadId": s.ID}, func(m *appserver.Message) {
			var read struct {
				Thread struct {
					Status status `json:"status"`
				} `json:"thread"`
			}
			_ = jsonx.UnmarshalLenient(m.Result, &read)
			if is := read.Thread.Status; is.Type == "idle" || is.Type == "active" {
				c.stands(s.ID, is)
				c.forget(s.ID, time.Now().Add(-hooksTime))
			}
		})
	}
}

// hear hears what the server says.
func (c *connection) hear(m *appserver.Message) {
	switch {
	case m.Method == "":
		if then := c.calls[string(m.ID)]; then != nil {
			delete(c.calls, string(m.ID))
			then(m)
		}
	case len(m.ID) > 0:
		c.asks(m)
	default:
		c.told(m)
	}
}

// status is how it stands with a thread.
type status struct {
	Type  string   `json:"type"`
	Flags []string `json:"activeFlags"`
}

// notice is a notification, as far as it is heard.
type notice struct {
	Thread  string      `json:"threadId"`
	Status  status      `json:"status"`
	Request jsonx.Value `json:"requestId"`
	Item    item        `json:"item"`
	Turn    struct {
		Status string `json:"status"`
	} `json:"turn"`
}

// told hears a notification.
func (c *connection) told(m *appserver.Message) {
	var n notice
	if jsonx.UnmarshalLenient(m.Params, &n) != nil || n.Thread == "" {
		return
	}
	t := c.threads[n.Thread]
	switch {
	case m.Method == "thread/status/changed":
		c.stands(n.Thread, n.Status)
	case m.Method == "thread/closed":
		c.stands(n.Thread, status{})
	case t == nil:
	case m.Method == "item/started":
		t.note(&n.Item)
	default:
		for _, r := range t.asked {
			c.hears(r, m.Method, &n)
		}
		c.conclude(t)
	}
}

// hears takes what a notification says of a request.
func (c *connection) hears(r *request, method string, n *notice) {
	switch {
	case method == "serverRequest/resolved" && string(r.id) == string(n.Request):
		r.resolved = true
		c.over(r)
	case method == "item/completed" && r.item == n.Item.ID:
		r.done, r.declined = true, n.Item.Status == "declined"
	case method == "turn/completed" && n.Turn.Status == "interrupted" && !r.over.IsZero() && !r.done:
		r.done, r.declined = true, true // by Esc in the dialog
	}
}

// item is a part of a turn.
type item struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	Status  string   `json:"status"`
	Changes []change `json:"changes"`
}

// note notes the changes of files that an item is about to make.
func (t *thread) note(i *item) {
	if i.Type == "fileChange" && i.Status == "inProgress" && len(t.changes) < maxRequests {
		t.changes[i.ID] = i.Changes
	}
}

// stands notes how it stands with a thread. One that waits for its person is joined, and left when it does not.
func (c *connection) stands(id string, s status) {
	waits := slices.Contains(s.Flags, "waitingOnApproval") || slices.Contains(s.Flags, "waitingOnUserInput")
	t := c.threads[id]
	switch {
	case waits && t == nil && len(c.threads) >= maxThreads:
	case waits && t == nil:
		t = &thread{id: id, waits: true, since: time.Now(), changes: make(map[string][]change)}
		c.threads[id] = t
		c.join(t)
	case waits:
		t.waits = true
		c.join(t)
	case t != nil:
		t.waits = false
		for _, r := range t.asked {
			c.over(r)
		}
		c.conclude(t)
	}
}

// join has us sent what a thread asks.
func (c *connection) join(t *thread) {
	if _, known := c.session(t.id); t.joined || !known || time.Now().Before(t.again) {
		return
	}
	t.joined, t.again = true, time.Now().Add(joinPause)
	page := map[string]any{"limit": 1, "sortDirection": "desc", "itemsView": "full"}
	params := map[string]any{"threadId": t.id, "excludeTurns": true, "initialTurnsPage": page}
	c.post("thread/resume", params, func(m *appserver.Message) {
		var resumed struct {
			Page struct {
				Data []struct {
					Items []item `json:"items"`
				} `json:"data"`
			} `json:"initialTurnsPage"`
		}
		if m.Error != nil {
			c.Log.Warn("a dialog of Codex can be answered in its terminal only", "err", m.Error)
			t.joined = false
			return
		}
		_ = jsonx.UnmarshalLenient(m.Result, &resumed)
		for _, turn := range resumed.Page.Data {
			for _, i := range turn.Items {
				t.note(&i)
			}
		}
	})
}

// asks takes a request of the server, which is sent again to whoever joins.
func (c *connection) asks(m *appserver.Message) {
	var at struct {
		Thread string `json:"threadId"`
	}
	if jsonx.UnmarshalLenient(m.Params, &at) != nil {
		return
	}
	t := c.threads[at.Thread]
	if t == nil || !t.joined || len(t.asked) >= maxRequests ||
		slices.ContainsFunc(t.asked, func(r *request) bool { return string(r.id) == string(m.ID) }) {
		return
	}
	if r := readRequest(m, t.changes); r != nil {
		t.asked = append(t.asked, r)
		c.hold(t, r)
	}
}

// hold has a request on the desk: as the dialog of which a hook has told, if one has, and else as a new one.
func (c *connection) hold(t *thread, r *request) {
	s, known := c.session(t.id)
	if !known {
		return
	}
	if h, told := c.toldOf(t, r); told {
		r.card = h.ID
		h, _ = c.Desk.Update(h.ID, r.complete)
		r.shown = h.Shown()
	} else {
		h := hook.Held{Room: s.Room, Agent: s.Agent, Client: "codex", Session: t.id, Process: s.Process}
		r.complete(&h)
		id, err := c.Desk.Open(c.ctx, c.room(&h), h)
		if err != nil {
			c.Log.Warn("a dialog of Codex is not on the desk", "room", s.Room, "agent", s.Agent, "err", err)
			return
		}
		r.card, r.shown = id, h.Shown()
	}
	c.await(t, r)
}

// toldOf returns the dialog on the desk that a request is about.
func (c *connection) toldOf(t *thread, r *request) (hook.Held, bool) {
	open := slices.DeleteFunc(c.Desk.Of("codex", t.id), func(h hook.Held) bool {
		return slices.ContainsFunc(t.asked, func(o *request) bool { return o != r && o.card == h.ID })
	})
	for _, is := range []func(*hook.Held) bool{
		func(h *hook.Held) bool { return h.Sum == r.Sum }, // since before the connection broke
		func(h *hook.Held) bool { return r.item != "" && h.Use == r.item },
		func(h *hook.Held) bool {
			return !h.Beside && h.Kind == r.Kind && h.Tool == r.Tool && (r.item == "" || h.Use == "")
		},
	} {
		if i := slices.IndexFunc(open, func(h hook.Held) bool { return is(&h) }); i >= 0 {
			return open[i], true
		}
	}
	return hook.Held{}, false
}

// await waits beside the connection for the person's answer.
func (c *connection) await(t *thread, r *request) {
	if len(r.Offers) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	r.leave = cancel
	c.beside.Go(func() {
		defer cancel()
		a, err := c.Desk.Wait(ctx, r.card, r.shown)
		if a == nil || err != nil {
			return
		}
		select {
		case c.answers <- answered{t, r, *a}:
		case <-c.ctx.Done():
		}
	})
}

// reply gives the person's answer to the server: once, and only if the request stands.
func (c *connection) reply(a answered) {
	r := a.request
	if !slices.Contains(a.thread.asked, r) || !r.over.IsZero() || r.sent != "" {
		return
	}
	var result any
	if a.Sum == r.shown {
		result = r.answer(&a.DialogAnswer)
	}
	if result == nil { // nobody says that it was taken, so that the desk tells the person, in a while
		c.await(a.thread, r)
		return
	}
	r.sent = a.Verdict
	if err := c.conn.Reply(r.id, result); err != nil {
		c.broken = err
	}
}

// over notes that a request does not stand any more. What became of it the server says in the same moment, if it does.
func (c *connection) over(r *request) {
	if r.over.IsZero() {
		r.over = time.Now()
		c.soon.Reset(saidTime)
	}
}

// conclude takes the requests of a thread off the desk that are over, once it is known how. It leaves the thread when
// nothing is left.
func (c *connection) conclude(t *thread) {
	t.asked = slices.DeleteFunc(t.asked, func(r *request) bool {
		known := r.resolved && (r.done || !r.tells())
		over := !r.over.IsZero() && (known || time.Since(r.over) >= r.patience())
		if over {
			c.settle(t, r)
		}
		return over
	})
	if t.waits || len(t.asked) > 0 {
		return
	}
	c.forget(t.id, t.since, t.settled...)
	if t.joined {
		c.post("thread/unsubscribe", map[string]any{"threadId": t.id}, func(*appserver.Message) {})
	}
	delete(c.threads, t.id)
}

// settle tells how a request ended: whoever has answered it from the desk, or the room.
func (c *connection) settle(t *thread, r *request) {
	if r.leave != nil {
		r.leave()
	}
	if r.took() {
		c.Desk.Taken(r.card)
		c.handed = append(c.handed, handed{t.id, r.card, r.how(), time.Now()})
		return
	}
	t.settled = append(t.settled, r.card)
	c.end(t.id, r.card, r.how())
}

// end ends a dialog that is on the desk still. Nothing that the server says meanwhile waits for the room.
func (c *connection) end(session string, id mail.ID, how mail.DialogOutcome) {
	for _, h := range c.Desk.Of("codex", session) {
		if h.ID == id {
			c.beside.Go(func() { c.finish(c.ctx, h, how) })
		}
	}
}

// forget ends the dialogs of a session that does not wait, which have opened before a time, but for those that are
// being ended.
func (c *connection) forget(session string, before time.Time, settled ...mail.ID) {
	if t := c.threads[session]; t != nil && t.waits {
		return
	}
	for _, h := range c.Desk.Of("codex", session) {
		of := func(g handed) bool { return g.card == h.ID } // of which whoever has answered it tells
		if h.Opened.Before(before) && !slices.ContainsFunc(c.handed, of) && !slices.Contains(settled, h.ID) {
			c.end(session, h.ID, mail.DialogEnded)
		}
	}
}

// tend looks after what should have happened.
func (c *connection) tend() {
	c.handed = slices.DeleteFunc(c.handed, func(g handed) bool {
		late := time.Since(g.at) > hooksTime
		if late {
			c.end(g.session, g.card, g.how)
		}
		return late
	})
	for _, t := range c.threads {
		if t.waits {
			c.join(t)
		}
		c.conclude(t)
		for _, r := range t.asked {
			c.restore(t, r)
		}
	}
}

// restore has a request on the desk again that stands, although a hook said that it is over.
func (c *connection) restore(t *thread, r *request) {
	switch {
	case !r.over.IsZero() || r.sent != "" || c.Desk.Holds(r.card):
		r.missed = time.Time{}
	case r.missed.IsZero():
		r.missed = time.Now()
	case time.Since(r.missed) > hooksTime:
		if r.missed = (time.Time{}); r.leave != nil {
			r.leave()
		}
		c.hold(t, r)
	}
}
