package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/bridge"
	"pennypost/internal/office/wake"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/mailroom"
)

// maxOpen bounds the rooms that are open at a time: each costs files and memory, and a caller can name any number.
const maxOpen = 1000

// office owns the open rooms.
type office struct {
	cfg       *config.Config
	log       *slog.Logger
	metrics   *metrics
	sessions  wake.Sessions  // of agents' clients, as their hooks told
	toolUses  toolUses       // by whom tools are used, as hooks told
	listeners wake.Listeners // where processes beside sessions wait
	claude    *wake.ClaudeSocket
	copilot   *wake.CopilotNotes
	codex     wake.Waker    // the doors of such sessions
	tmux      wake.Waker    // the last of doors, where it is turned on
	idle      time.Duration // an open room that nobody borrows for so long is closed

	mu     sync.Mutex
	closed bool
	rooms  map[mail.RoomName]*entry
	known  map[mail.RoomName]mail.RoomStatus // what closed rooms last said of themselves
}

var _ mail.Office = (*office)(nil)

// entry is a room that is open, being opened or being closed.
type entry struct {
	ready chan struct{} // closed when room or err is set
	room  *mailroom.Room
	files *jsonl.Journal
	err   error

	made    bool // its directory was made to open it
	bridges *bridge.Set
	ringer  *wake.Ringer

	stop context.CancelFunc // ends what looks after the room
	done chan struct{}      // closed when that has ended

	// Guarded by office.mu.
	users   int // who borrows it
	since   time.Time
	gone    chan struct{} // not nil once it is being closed; closed when its files are free
	removed bool          // it is being removed, or was
}

func newOffice(cfg *config.Config, log *slog.Logger, m *metrics) *office {
	idle := cfg.RoomIdle
	if idle == 0 {
		idle = config.DefaultRoomIdle
	}
	o := &office{
		cfg: cfg, log: log, metrics: m, idle: time.Duration(idle),
		rooms: make(map[mail.RoomName]*entry), known: make(map[mail.RoomName]mail.RoomStatus),
	}
	o.copilot = &wake.CopilotNotes{Sessions: &o.sessions, Dir: clientDir("COPILOT_HOME", ".copilot")}
	o.claude = &wake.ClaudeSocket{Sessions: &o.sessions, Config: ClaudeDir(), Below: cfg.ClaudeBelow}
	o.codex = &wake.Codex{Sessions: &o.sessions, Env: config.WithoutAgent(os.Environ())}
	o.tmux = &wake.Tmux{Sessions: &o.sessions}
	if err := o.sessions.Keep(cfg.Home.Doors()); err != nil {
		log.Warn("doors", "err", err)
	}
	return o
}

// Room implements mail.Office. The service still works when the room was closed because it was idle: each call opens
// it again. A room that does not exist is made by the first call that changes something there.
func (o *office) Room(ctx context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return nil, err
	}
	if o.inUse(name) {
		return o.roomAs(ctx, name, as), nil
	}
	if _, err := os.Lstat(o.dir(name)); !errors.Is(err, fs.ErrNotExist) {
		e, err := o.borrow(ctx, name)
		if err != nil {
			return nil, err
		}
		o.giveBack(e, name)
	}
	return o.roomAs(ctx, name, as), nil
}

// inUse reports whether a room is open, or being opened.
func (o *office) inUse(name mail.RoomName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.rooms[name]
	return e != nil && e.gone == nil
}

// borrow returns the room, open until giveBack.
func (o *office) borrow(ctx context.Context, name mail.RoomName) (*entry, error) {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return nil, err
	}
	e, mine, err := o.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	if mine {
		o.open(e, name)
	}
	select {
	case <-e.ready:
		err = e.err
	case <-ctx.Done():
		err = notInTime(ctx, name)
	}
	if err != nil {
		o.giveBack(e, name)
		return nil, err
	}
	return e, nil
}

func errStopping() error {
	return mail.Errorf(mail.Unavailable, "the post office is stopping; try again in a moment")
}

func notInTime(ctx context.Context, name mail.RoomName) error {
	return &mail.Error{Code: mail.Timeout, Msg: "the request ended before room " + string(name) + " was open",
		Err: ctx.Err()}
}

// enter counts the caller as a user of the room's entry. mine says that there was none and the caller has to open it.
func (o *office) enter(ctx context.Context, name mail.RoomName) (e *entry, mine bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.closed {
			return nil, false, errStopping()
		}
		e = o.rooms[name]
		if e == nil || e.gone == nil {
			break
		}
		o.mu.Unlock()
		select { // closing a room takes as long as the append under way
		case <-e.gone:
		case <-ctx.Done():
		}
		o.mu.Lock()
		switch {
		case ctx.Err() != nil:
			return nil, false, notInTime(ctx, name)
		case e.removed:
			return nil, false, errRemoved(name)
		}
	}
	if e == nil {
		if len(o.rooms) >= maxOpen {
			return nil, false, mail.Errorf(mail.Limited,
				"%d rooms are open, which is all that a post office keeps open; try again when one has closed",
				maxOpen)
		}
		e, mine = &entry{ready: make(chan struct{})}, true
		o.rooms[name] = e
	}
	e.users++
	return e, mine, nil
}

func (o *office) giveBack(e *entry, name mail.RoomName) {
	o.mu.Lock()
	e.users--
	e.since = time.Now()
	unused := e.users == 0 && e.gone == nil && e.unused()
	if unused {
		e.gone = make(chan struct{})
	}
	o.mu.Unlock()
	if unused {
		_ = o.closeRoom(e, name) // it has logged what went wrong
	}
}

// open opens the room of a fresh entry. One that cannot be opened leaves the table, so that the next caller tries
// again.
func (o *office) open(e *entry, name mail.RoomName) {
	defer close(e.ready)
	if e.err = o.openFiles(e, name); e.err == nil {
		return
	}
	o.log.Error("room not opened", "room", name, "err", e.err)
	if code := mail.CodeOf(e.err); code == mail.Internal || code == mail.Conflict {
		e.err = &mail.Error{Code: mail.Unavailable, Msg: "room " + string(name) + " cannot be opened: " +
			e.err.Error(), Err: e.err}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.rooms, name)
}

func (o *office) openFiles(e *entry, name mail.RoomName) error {
	log := o.log.With("room", name)
	began := time.Now()
	e.made = !o.exists(name)
	files, err := jsonl.Open(o.dir(name), jsonl.Options{Log: log, OnSync: o.metrics.synced})
	if err != nil {
		return err
	}
	doors := o.doors(name)
	doors.Arrange(func(agent mail.Name, configured []wake.Waker) []wake.Waker {
		return o.ladder(name, agent, configured)
	})
	opts := o.options(name)
	opts.Door, opts.PutOff = doors.Name, doors.PutOff
	// Not the caller's context: others wait for the same room.
	room, err := mailroom.Open(context.Background(), name, files, opts)
	if err != nil {
		return err
	}
	e.room, e.files, e.done = room, files, make(chan struct{})
	e.ringer = o.newRinger(room, doors)
	if err := o.startBridges(e, name, log); err != nil {
		return errors.Join(err, room.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	go func() {
		defer close(e.done)
		e.run(ctx, log)
	}()
	log.Info("room opened", "seq", files.Last(), "took", time.Since(began))
	return nil
}

// options turns what the configuration says of a room into what the room takes.
func (o *office) options(name mail.RoomName) mailroom.Options {
	r := o.cfg.For(name)
	retention, ttl := r.Policy()
	return mailroom.Options{
		Log: o.log, MaxBody: r.MaxBody, Namespaces: r.TagNamespaces, TTL: ttl, Retention: retention,
		Limits: r.Breakers(), Observe: o.metrics.observer(),
		Alive: process.Alive, Exists: o.exists, Orchestrators: r.Orchestrators, NamesItself: namesItself,
		Elsewhere: o.elsewhere, Index: filepath.Join(o.dir(name), "index", "words"),
	}
}

// elsewhere lends one room to another. A room that does not exist is not made: its name is a misspelling.
func (o *office) elsewhere(ctx context.Context, name mail.RoomName, use func(*mailroom.Room) error) error {
	if !o.exists(name) {
		return o.noRoom(name)
	}
	e, err := o.borrow(ctx, name)
	if err != nil {
		return err
	}
	defer o.giveBack(e, name)
	return use(e.room)
}

func (o *office) noRoom(name mail.RoomName) error {
	var words []string
	names, err := o.names()
	for _, n := range names {
		words = append(words, string(n))
	}
	if near := policy.Nearest(string(name), words, 1); err == nil && len(near) > 0 {
		return mail.Errorf(mail.NotFound, "there is no room %q. Did you mean %s?", name, near[0])
	}
	return mail.Errorf(mail.NotFound, "there is no room %q. The rooms are listed by: pennypost rooms", name)
}

func (o *office) dir(name mail.RoomName) string {
	return filepath.Join(o.cfg.Home.Rooms(), string(name))
}

func (o *office) journal(name mail.RoomName) string {
	return filepath.Join(o.dir(name), "mailbox.jsonl")
}

// exists reports whether a room has been made. Only of one that is not open the disk is asked.
func (o *office) exists(name mail.RoomName) bool {
	if _, err := mail.ParseRoom(string(name)); err != nil {
		return false
	}
	o.mu.Lock()
	e := o.rooms[name]
	unused, open := e != nil && e.unused(), e != nil && e.isOpen()
	o.mu.Unlock()
	if unused || open {
		return open && !unused
	}
	info, err := os.Stat(o.dir(name))
	return err == nil && info.IsDir()
}

// isOpen reports whether calls can be made to the room. The caller holds office.mu.
func (e *entry) isOpen() bool {
	select {
	case <-e.ready:
		return e.err == nil && e.gone == nil
	default:
		return false
	}
}

// names lists the rooms on disk, in order.
func (o *office) names() ([]mail.RoomName, error) {
	dirs, err := os.ReadDir(o.cfg.Home.Rooms())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []mail.RoomName
	for _, d := range dirs {
		if name, bad := mail.ParseRoom(d.Name()); bad == nil && d.IsDir() {
			names = append(names, name)
		}
	}
	return names, err
}

// countAtOnce is how many rooms that were never open Rooms opens to count what is in them.
const countAtOnce = 32

// Rooms implements mail.Office. Of a room that is closed it repeats what the room last said; rooms that were not open
// since the post office started are opened for it, but not more than countAtOnce: of others only name and size are
// known.
func (o *office) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	out := make([]mail.RoomStatus, 0, len(names))
	toOpen := countAtOnce
	for _, name := range names {
		open, st, known := o.lastKnown(name)
		if !open && !known {
			toOpen--
		}
		if open || !known && toOpen >= 0 {
			if e, err := o.borrow(ctx, name); err == nil {
				st = e.room.Status()
				o.giveBack(e, name)
			}
		}
		out = append(out, st)
	}
	return out, ctx.Err()
}

// lastKnown says whether a room is open and what it said when it was closed, if that is known.
func (o *office) lastKnown(name mail.RoomName) (open bool, st mail.RoomStatus, known bool) {
	o.mu.Lock()
	e := o.rooms[name]
	open = e != nil && e.gone == nil
	st, known = o.known[name]
	o.mu.Unlock()
	if !known {
		st = mail.RoomStatus{Name: name}
		if info, err := os.Stat(o.journal(name)); err == nil {
			st.Bytes = info.Size()
		}
	}
	return open, st, known
}

// each calls f, which must not block, for every open room, and returns how many there are.
func (o *office) each(f func(*entry)) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, e := range o.rooms {
		if e.isOpen() {
			n++
			f(e)
		}
	}
	return n
}

// run closes idle rooms until ctx ends.
func (o *office) run(ctx context.Context) {
	if o.idle < 0 {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(min(max(o.idle/4, 10*time.Millisecond), time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			o.sweep(func(e *entry) bool {
				return e.users == 0 && e.bridges.Len() == 0 && e.ringer.Quiet() && time.Since(e.since) >= o.idle
			})
		}
	}
}

// sweep closes the open rooms for which which, asked under mu, is true.
func (o *office) sweep(which func(*entry) bool) error {
	o.mu.Lock()
	going := make(map[mail.RoomName]*entry)
	for name, e := range o.rooms {
		select {
		case <-e.ready:
			if e.gone == nil && e.err == nil && which(e) {
				e.gone = make(chan struct{})
				going[name] = e
			}
		default: // somebody waits for it
		}
	}
	o.mu.Unlock()
	var errs []error
	for name, e := range going {
		errs = append(errs, o.closeRoom(e, name))
	}
	return errors.Join(errs...)
}

// closeRoom closes a room whose entry is marked as going.
func (o *office) closeRoom(e *entry, name mail.RoomName) error {
	defer o.forget(e, name)
	st, err := o.shut(e, name)
	if e.unused() {
		o.dropUnused(name)
	}
	if o.exists(name) {
		o.mu.Lock()
		o.known[name] = st
		o.mu.Unlock()
	}
	return err
}

// shut closes the room of an entry that is marked as going. Its files are free then.
func (o *office) shut(e *entry, name mail.RoomName) (mail.RoomStatus, error) {
	e.bridges.Close()
	e.stop()
	<-e.done
	st := e.room.Status()
	st.Open = false
	err := e.room.Close()
	if err != nil {
		o.log.Error("room not closed cleanly", "room", name, "err", err)
	} else {
		o.log.Info("room closed", "room", name, "seq", st.Seq)
	}
	return st, err
}

// forget takes an entry that is marked as going out of the table.
func (o *office) forget(e *entry, name mail.RoomName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.rooms, name)
	close(e.gone)
}

// close refuses new calls and closes every room. Calls that still run are cut off by their journals closing, which
// finishes the appends under way.
func (o *office) close() error {
	o.mu.Lock()
	o.closed = true
	var opening []chan struct{}
	for _, e := range o.rooms {
		opening = append(opening, e.ready)
	}
	o.mu.Unlock()
	for _, ready := range opening {
		<-ready
	}
	return errors.Join(o.sweep(func(*entry) bool { return true }), o.sessions.Close())
}
