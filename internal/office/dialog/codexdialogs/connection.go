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

// Timing of requests.
const (
	tendPause = 250 * time.Millisecond // between checks for overdue events
	// saidTime is how long the server may take to report that a request which is over was declined. It was seen to do
	// so immediately, if at all; an approval shows only when the tool has ended, which may take hours.
	saidTime = 40 * time.Millisecond
	// toldTime is how long it may take to report the outcome of a request that was not answered from the desk, or was
	// denied there.
	toldTime = 300 * time.Millisecond
	// hooksTime is how long a dialog may be missing from the desk, because a hook says that it is over, before the
	// server says so too. After that, the hook was wrong, or forged.
	hooksTime = time.Second
	// joinPause is how long after a failed join the thread is tried again.
	joinPause = 5 * time.Second
)

// Limits on the state that a server can make us keep.
const (
	maxThreads  = 256
	maxRequests = 32 // per thread
)

// connection is the state of one connection to a server. One goroutine owns it.
type connection struct {
	*Watch
	ctx    context.Context // ends with the connection
	home   string
	conn   *appserver.Conn
	beside *sync.WaitGroup // waits for the person, and calls to rooms

	threads map[string]*thread
	calls   map[string]func(*appserver.Message) // handlers of answers, by the call's id
	answers chan answered
	soon    *time.Timer // triggers an additional check
	handed  []handed    // answers from the desk that the server has
	broken  error       // the connection is no longer usable
}

// handed is a request answered from the desk. The caller of Desk.Answer tells the room, if it still waits.
type handed struct {
	session string
	card    mail.ID
	how     mail.DialogOutcome
	at      time.Time
}

// thread is a thread that waits for its person.
type thread struct {
	id      string
	waits   bool // according to its flags
	since   time.Time
	joined  bool      // we receive its requests, or have asked to
	again   time.Time // when to retry joining it
	asked   []*request
	settled []mail.ID // dialogs of ended requests, which the room may not have recorded yet
	// changes are file changes about to be made, by the id of their item
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

// session returns the session of a thread; false: it is not an agent's.
func (c *connection) session(id string) (sessions.Session, bool) {
	all := c.Sessions()
	i := slices.IndexFunc(all, func(s sessions.Session) bool { return s.ID == id && s.Home == c.home })
	if i < 0 {
		return sessions.Session{}, false
	}
	return all[i], true
}

// post calls a method, and then runs then with the answer.
func (c *connection) post(method string, params any, then func(*appserver.Message)) {
	id, err := c.conn.Post(method, params)
	if err != nil {
		c.broken = err
		return
	}
	c.calls[id] = then
}

// begin asks for the status of the known threads: they may already be waiting.
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
				c.setStatus(s.ID, is)
				c.forget(s.ID, time.Now().Add(-hooksTime))
			}
		})
	}
}

// hear handles a message of the server.
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

// status is the status of a thread.
type status struct {
	Type  string   `json:"type"`
	Flags []string `json:"activeFlags"`
}

// notice has the members of a notification that we read.
type notice struct {
	Thread  string      `json:"threadId"`
	Status  status      `json:"status"`
	Request jsonx.Value `json:"requestId"`
	Item    item        `json:"item"`
	Turn    struct {
		Status string `json:"status"`
	} `json:"turn"`
}

// told handles a notification.
func (c *connection) told(m *appserver.Message) {
	var n notice
	if jsonx.UnmarshalLenient(m.Params, &n) != nil || n.Thread == "" {
		return
	}
	t := c.threads[n.Thread]
	switch {
	case m.Method == "thread/status/changed":
		c.setStatus(n.Thread, n.Status)
	case m.Method == "thread/closed":
		c.setStatus(n.Thread, status{})
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

// hears applies a notification to a request.
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

// note records the file changes that an item is about to make.
func (t *thread) note(i *item) {
	if i.Type == "fileChange" && i.Status == "inProgress" && len(t.changes) < maxRequests {
		t.changes[i.ID] = i.Changes
	}
}

// setStatus records the status of a thread. A thread is joined while it waits for its person.
func (c *connection) setStatus(id string, s status) {
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

// join subscribes to the requests of a thread.
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
			c.Log.Warn("Codex dialog can be answered in its terminal only", "err", m.Error)
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

// asks handles a request of the server, which sends it again to every client that joins.
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

// hold puts a request on the desk: as the dialog that a hook has reported, if there is one, otherwise as a new one.
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
			c.Log.Warn("Codex dialog not on the desk", "room", s.Room, "agent", s.Agent, "err", err)
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
		func(h *hook.Held) bool { return h.Sum == r.Sum }, // from before the connection broke
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

// await waits for the person's answer in another goroutine.
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

// reply sends the person's answer to the server: once, and only if the request is still open.
func (c *connection) reply(a answered) {
	r := a.request
	if !slices.Contains(a.thread.asked, r) || !r.over.IsZero() || r.sent != "" {
		return
	}
	var result any
	if a.Sum == r.shown {
		result = r.answer(&a.DialogAnswer)
	}
	if result == nil { // not confirmed as taken, so the desk soon tells the person that it failed
		c.await(a.thread, r)
		return
	}
	r.sent = a.Verdict
	if err := c.conn.Reply(r.id, result); err != nil {
		c.broken = err
	}
}

// over records that a request is no longer open. The server reports the outcome immediately, if at all.
func (c *connection) over(r *request) {
	if r.over.IsZero() {
		r.over = time.Now()
		c.soon.Reset(saidTime)
	}
}

// conclude removes the ended requests of a thread from the desk, once their outcome is known. It leaves the thread
// when none is left.
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

// settle reports the outcome of a request: to the caller of Desk.Answer, or to the room.
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

// end ends a dialog that is still on the desk. The connection does not wait for the room.
func (c *connection) end(session string, id mail.ID, how mail.DialogOutcome) {
	for _, h := range c.Desk.Of("codex", session) {
		if h.ID == id {
			c.beside.Go(func() { c.finish(c.ctx, h, how) })
		}
	}
}

// forget ends the dialogs of a session that is not waiting if they were opened before a time, except those that are
// already being ended.
func (c *connection) forget(session string, before time.Time, settled ...mail.ID) {
	if t := c.threads[session]; t != nil && t.waits {
		return
	}
	for _, h := range c.Desk.Of("codex", session) {
		of := func(g handed) bool { return g.card == h.ID } // the caller of Desk.Answer reports that one
		if h.Opened.Before(before) && !slices.ContainsFunc(c.handed, of) && !slices.Contains(settled, h.ID) {
			c.end(session, h.ID, mail.DialogEnded)
		}
	}
}

// tend handles overdue events.
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

// restore puts an open request back on the desk after a hook said that it is over.
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
