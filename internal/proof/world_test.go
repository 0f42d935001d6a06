//go:build linux

package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// crowdSize is how many agents the room "crowd" has, so that lists of them are long.
const crowdSize = 300

// world is one run: the post offices, all their users, and the source of harm.
type world struct {
	offices []*office // one, or one for each machine
	seed    uint64
	began   time.Time
	found   findings
	out     io.Writer
	records string // the directory of the records
	admin   *door
	tokens  map[mail.Name]string // of agents in "main"
	wrecker *wrecker
	nemesis *nemesis // with one post office
	storm   *storm   // with several

	books    []*book
	senders  []*sender
	markers  []*marker
	claimers []*claimer
	watchers []*watcher
	models   []*model
	eraser   *eraser
	stranger *foreign
	naps     []*nap
	workers  []func(context.Context) // clients that cause events
	attend   []func(context.Context) // clients that observe them, and continue a moment longer
}

func (w *world) logf(format string, args ...any) {
	fmt.Fprintf(w.out, "%8v  %s\n", time.Since(w.began).Round(10*time.Millisecond), fmt.Sprintf(format, args...))
}

// at returns the post office that the i-th of some clients uses.
func (w *world) at(i int) *office { return w.offices[i%len(w.offices)] }

// newBook returns the record of a client of that name at a post office.
func (w *world) newBook(name string, o *office) *book {
	b := &book{client: name, office: o.name, began: w.began}
	w.books = append(w.books, b)
	return b
}

// configuration lifts the breakers, which act between agents and would dominate this run, and keeps little mail hot,
// so that retention works.
const configuration = `[room.limits]
per_minute = -1
exchanges = -1
depth = -1

[room.retention]
count = 3000

[room.wake.sleeper]
exec = [%q]
budget = 1000
`

// newWorld starts a post office and sets up rooms, agents, a bridge and clients. None of them works yet.
func newWorld(seed uint64, records string, out io.Writer) (*world, error) {
	w := &world{seed: seed, out: out, tokens: make(map[mail.Name]string), began: time.Now()}
	o, err := newOffice("office", records)
	if err != nil {
		return w, err
	}
	w.offices = []*office{o}
	if err := o.build(); err != nil {
		return w, err
	}
	w.nemesis = &nemesis{office: o, probe: o.socket("")}
	return w, w.open()
}

// open starts the post offices and sets up everything.
func (w *world) open() error {
	if err := w.serve(); err != nil {
		return err
	}
	if err := w.settle(); err != nil {
		return err
	}
	w.employ()
	return nil
}

// serve starts the post offices.
func (w *world) serve() error {
	w.began = time.Now()
	w.sleepers()
	for _, o := range w.offices {
		script, err := bellScript(w.at(0), o)
		if err == nil {
			err = os.WriteFile(filepath.Join(o.home, "config.toml"), fmt.Appendf(nil, configuration+o.config, script),
				0o600)
		}
		if err == nil {
			err = o.start()
		}
		if err != nil {
			return err
		}
	}
	w.admin = w.at(0).socket("")
	w.admin.within = 5 * time.Minute // it asks for whole archives
	if w.storm != nil {
		return introduce(w.offices)
	}
	return nil
}

// sleepers makes the agents that wait for their doors to be rung.
func (w *world) sleepers() {
	n := &nap{book: w.newBook("sleeper", w.at(0)), agent: sleeper, offices: w.offices, room: "main"}
	w.naps = append(w.naps, n)
	w.attend = append(w.attend, n.run)
	if w.storm != nil {
		late := &nap{book: w.newBook(string(latecomer), w.at(2)), agent: latecomer, offices: w.offices, room: "main"}
		w.naps = append(w.naps, late)
		w.attend = append(w.attend, late.run)
	}
}

// settle registers all agents.
func (w *world) settle() error {
	ctx := context.Background()
	register := func(room string, p mail.Presence) (err error) {
		for end := time.Now().Add(recoverWithin); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			err = w.admin.do(ctx, http.MethodPost, "/rooms/"+room+"/agents", p, nil)
			if outcomeOf(err) != unknown { // servers on a busy machine may not answer in time
				return err
			}
		}
		return err
	}
	for _, name := range []mail.Name{"sink-1", "sink-2", clerk, quiet, reader, sleeper, latecomer, "forger", "tcp-1",
		"tcp-2",
		"mcp-http", "mcp-stdio", "asker", "taker-1", "taker-2", "taker-3",
		"holder-1", "holder-2", "holder-3"} {
		p := mail.Presence{Name: name, Tags: []string{"project:proof"}}
		if name[0] == 't' && name[1] == 'a' {
			p.Roles = []string{"worker"}
		}
		var token wire.Token
		err := errors.Join(register("main", p), w.admin.do(ctx, http.MethodPost,
			"/rooms/main/agents/"+string(name)+"/token", nil, &token))
		if err != nil {
			return err
		}
		w.tokens[name] = token.Token
	}
	for i := range crowdSize {
		task := fmt.Sprint("task number ", i, " of a crowd whose list is long")
		if err := register("crowd", mail.Presence{Name: mail.Name(fmt.Sprint("member-", i)), Task: &task,
			Tags: []string{"project:proof", "concern:crowd"}}); err != nil {
			return err
		}
	}
	w.stranger = &foreign{dir: filepath.Join(w.at(0).root, "project"), seed: w.seed}
	err := os.MkdirAll(filepath.Join(w.stranger.dir, "data"), 0o700)
	for _, name := range []mail.Name{"sink-1", "harbour-1", "harbour-2"} {
		err = errors.Join(err, register("harbour", mail.Presence{Name: name}))
	}
	return errors.Join(err, w.admin.do(ctx, http.MethodPost, "/rooms/harbour/bridges", mail.Bridge{Dialect: "haak",
		Dir: w.stranger.dir}, nil))
}

// employ makes the clients. With several post offices, each gets each kind.
func (w *world) employ() {
	everybody := []string{"sink-1", "sink-1", "sink-2", string(clerk), string(clerk), string(quiet), string(reader),
		"role:worker", "role:worker", "project:proof", "user", "all"}
	overSocket := func(s *sender, o *office) *sender { return s.over(o.socket(mail.Name(s.client))) }
	overTCP := func(s *sender, o *office) *sender { return s.over(o.tcp(w.tokens[mail.Name(s.client)])) }
	for i, c := range []struct {
		name  string
		keyed bool
		way   func(*sender, *office) *sender
	}{
		{"socket-1", true, overSocket},
		{"socket-2", false, overSocket},
		{"socket-3", true, overSocket},
		{"tcp-1", true, overTCP},
		{"tcp-2", false, overTCP},
		{"mcp-http", false, func(s *sender, o *office) *sender {
			return w.model(overHTTP(o, "mcp-http", w.tokens["mcp-http"], &w.found)).sends(s)
		}},
		{"mcp-stdio", false, func(s *sender, o *office) *sender {
			return w.model(overStdio(o, "mcp-stdio", "main", &w.found)).sends(s)
		}},
	} {
		w.sender(c.way(&sender{book: w.newBook(c.name, w.at(i)), seed: w.seed, room: "main", recipients: everybody,
			keyed: c.keyed, pace: 15 * time.Millisecond}, w.at(i)))
	}
	w.sender(overTCP(&sender{book: w.newBook("asker", w.at(1)), seed: w.seed, room: "main", recipients: w.asleep(),
		keyed: true, kind: mail.Question, pace: 6 * time.Second}, w.at(1)))
	for i, name := range []string{"harbour-1", "harbour-2"} {
		w.sender(overSocket(&sender{book: w.newBook(name, w.at(i)), seed: w.seed, room: "harbour",
			recipients: []string{"sink-1"}, keyed: i == 0, pace: 400 * time.Millisecond}, w.at(i)))
	}
	w.eraser = &eraser{book: w.newBook("user", w.at(0)), seed: w.seed, door: w.at(0).socket(""), senders: w.senders}
	// Erasing rewrites a journal, which would repair damage. No mail is erased in the cellar.
	for i, name := range []string{"cellar-1", "cellar-2"} {
		w.sender(overSocket(&sender{book: w.newBook(name, w.at(i+1)), seed: w.seed, room: "cellar",
			recipients: []string{"user"}, keyed: i == 0, pace: 50 * time.Millisecond}, w.at(i+1)))
	}
	if w.storm != nil {
		for i, name := range []string{"attic-1", "attic-2", "attic-3"} {
			w.sender(overSocket(&sender{book: w.newBook(name, w.at(i)), seed: w.seed, room: attic,
				recipients: []string{"user"}, keyed: i == 0, pace: 100 * time.Millisecond}, w.at(i)))
		}
	}
	w.compete()
	w.watch()
	readerBook := w.newBook(string(reader), w.at(2))
	byMCP := w.model(overHTTP(w.at(2), reader, w.tokens[reader], &w.found))
	tourist := w.model(overStdio(w.at(1), "member-0", "crowd", &w.found))
	look := &looker{doors: []*door{w.at(0).socket(""), w.at(1).socket(quiet), w.at(2).tcp(w.tokens[quiet])},
		room: "main"}
	forge := &forger{office: w.at(1), token: w.tokens["forger"], room: "main", found: &w.found}
	w.workers = append(w.workers, w.eraser.run, w.stranger.run, look.run, forge.run, tourist.tours,
		func(ctx context.Context) { byMCP.reads(ctx, readerBook) })
}

// asleep lists the agents to be woken.
func (w *world) asleep() (names []string) {
	for _, n := range w.naps {
		names = append(names, string(n.agent))
	}
	return names
}

func (w *world) sender(s *sender) {
	w.senders = append(w.senders, s)
	w.workers = append(w.workers, s.run)
}

func (w *world) model(m *model) *model {
	w.models = append(w.models, m)
	return m
}

// compete makes the clients that mark the same mail, and at each post office one that reads it.
func (w *world) compete() {
	both, roles := new(pool), new(pool)
	back := []mail.Mark{mail.MarkRead, mail.MarkUnread, mail.MarkArchived, mail.MarkUnarchived}
	add := func(name string, agent mail.Name, o *office, d *door, p *pool, marks []mail.Mark, comes bool) {
		m := &marker{book: w.newBook(name, o), agent: agent, door: d, room: "main", pool: p, marks: marks,
			comes: comes}
		w.markers = append(w.markers, m)
		w.workers = append(w.workers, m.run)
	}
	add("clerk-socket", clerk, w.at(0), w.at(0).socket(clerk), both, back, false)
	add("clerk-tcp", clerk, w.at(1), w.at(1).tcp(w.tokens[clerk]), both, back, false)
	for i, name := range []mail.Name{"taker-1", "taker-2"} {
		add(string(name), name, w.at(i), w.at(i).socket(name), roles, []mail.Mark{mail.MarkRead}, true)
	}
	add("taker-3", "taker-3", w.at(2), w.at(2).tcp(w.tokens["taker-3"]), roles, []mail.Mark{mail.MarkRead}, true)
	for i, name := range []mail.Name{"holder-1", "holder-2", "holder-3"} {
		c := &claimer{book: w.newBook(string(name), w.at(i)), agent: name, door: w.at(i).socket(name), room: "main"}
		w.claimers = append(w.claimers, c)
		w.workers = append(w.workers, c.run)
	}
	for i, o := range w.offices {
		a := &auditor{book: w.newBook(numbered("auditor", i), o), door: o.socket(""), room: "main",
			pools: []*pool{both, roles}}
		w.workers = append(w.workers, a.run)
	}
}

// numbered is the name of the i-th of some.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}

func (w *world) watch() {
	for i, o := range w.offices {
		for _, c := range []struct {
			name string
			door *door
			room mail.RoomName
		}{
			{"watcher on the socket", o.socket(""), "main"},
			{"watcher with a token", o.tcp(w.tokens["sink-1"]), "main"},
			{"watcher of the harbour", o.socket(""), "harbour"},
			{"watcher of the cellar", o.socket(""), "cellar"},
		} {
			one := &watcher{name: numbered(c.name, i), door: c.door, room: c.room, found: &w.found}
			w.watchers = append(w.watchers, one)
			w.attend = append(w.attend, one.run)
		}
	}
}

// failures counts the calls of clients that have failed so far.
func (w *world) failures() (n int) {
	for _, b := range w.books {
		for _, o := range b.all() {
			if o.Outcome == unknown || o.Outcome == refused && o.Result == "" {
				n++
			}
		}
	}
	return n
}

// work lets all clients work under faults for that long.
func (w *world) work(d time.Duration) {
	w.wrecker = &wrecker{seed: w.seed, began: w.began, found: &w.found, only: regexp.MustCompile(*wanted),
		failed: w.failures, log: w.logf}
	var v victim
	if w.storm != nil {
		w.storm.wrecker, v = w.wrecker, w.storm
	} else {
		w.nemesis.wrecker, w.nemesis.stranger, v = w.wrecker, w.stranger, w.nemesis
	}
	harm, peace := context.WithTimeout(context.Background(), d)
	defer peace()
	stopWorkers := w.start(w.workers)
	stopOthers := w.start(w.attend)
	w.wrecker.run(harm, v)
	w.logf("the faults are over")
	stopWorkers()
	if err := v.anew(); err != nil { // what is not on disk is lost
		w.found.add("P1", "after the last kill: %v", err)
	}
	w.rest()
	stopOthers()
	for _, m := range w.models {
		m.close()
	}
}

// start runs all functions until the function that it returns is called, which waits for them.
func (w *world) start(all []func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range all {
		running.Go(func() { run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

// calm is how long after the last fault all work under way may take. Where one part of it has not ended by then, the
// others are still given a fair while.
const (
	calm = 2*time.Minute + 30*time.Second
	fair = 20 * time.Second
)

// rest waits until the sleepers have been woken for their mail, the bridge is in step, and the watchers have seen
// all events.
func (w *world) rest() {
	began := time.Now()
	until := func(promise, what string, lacks func() string) {
		end := began.Add(max(calm, time.Since(began)+fair))
		lack := lacks()
		for lack != "" && time.Now().Before(end) {
			time.Sleep(200 * time.Millisecond)
			lack = lacks()
		}
		if lack != "" {
			w.found.add(promise, "%v after the last fault still not: %s (%s)", calm, what, lack)
		}
	}
	for _, n := range w.naps {
		until("P8", string(n.agent)+" has read what should wake it", func() string { return w.waiting(n) })
	}
	until("P10", "the bridge is in step", w.behind)
	for _, one := range w.watchers {
		var last mail.Sent
		until("P3", one.name+" has seen the last message", func() string {
			if last.ID == "" {
				in := mail.Draft{To: mail.Recipients{"user"}, Body: "the last for " + one.name}
				if err := w.admin.do(context.Background(), http.MethodPost, "/rooms/"+string(one.room)+"/messages",
					in, &last); err != nil {
					return joined(err)
				}
			}
			if one.last() < last.Seq {
				return fmt.Sprintf("event %d of %d", one.last(), last.Seq)
			}
			return ""
		})
	}
}

// waiting describes the waiting mail of a sleeper.
func (w *world) waiting(n *nap) string {
	var page mail.Page
	if err := w.admin.do(context.Background(), http.MethodGet,
		"/rooms/main/inbox?type=question&agent="+string(n.agent), nil, &page); err != nil {
		return joined(err)
	}
	if unread := len(page.Messages); unread > 0 {
		return fmt.Sprintf("%d unread, %d rings", unread, len(n.rings()))
	}
	return ""
}

// behind names a bridge that is not in step.
func (w *world) behind() string {
	var list wire.Bridges
	if err := w.admin.do(context.Background(), http.MethodGet, "/rooms/harbour/bridges", nil, &list); err != nil {
		return joined(err)
	}
	for _, b := range list.Bridges {
		if b.Behind > 0 || b.Failing != "" {
			return fmt.Sprintf("%d behind, %s", b.Behind, b.Failing)
		}
	}
	return ""
}
