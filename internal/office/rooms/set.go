package rooms

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/bridge"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/notify"
	"pennypost/internal/office/reach"
	"pennypost/internal/office/wake"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/mailroom"
)

// maxOpen bounds the rooms that are open at a time: each costs files and memory, and a caller can name any number.
// To open another, the room that has been idle for longest is closed.
const maxOpen = 1000

// Set owns the rooms of this machine and the goroutines that look after them while they are open.
type Set struct {
	Config   *config.Config
	Log      *slog.Logger
	Metrics  *Metrics
	Dialects []dialect.Dialect
	Cluster  *Cluster     // nil: there is none
	peers    peers        // the post offices of other machines; nil: there are none
	Reach    *reach.Known // the doors by which agents are reached
	Bell     deskBell
	Notify   *notify.Notifier
	// Card returns a dialog of an agent's client that this machine holds. Nil: it holds none.
	Card func(mail.ID) (mail.Card, bool)
	// Desk returns the user's waiting mail in all rooms, and AllDialogs the questions of agents' clients.
	Desk       func(context.Context, mail.DeskQuery) (mail.Desk, error)
	AllDialogs func(context.Context) (mail.Cards, error)
	// Waiting is how many letters this machine keeps. Nil: none.
	Waiting func() int
	// LetterLink makes a link that logs the browser of this machine in and shows a letter. Nil: there are no pages.
	LetterLink func(mail.RoomName, mail.ID) (string, error)
	// LetIn reports whether a machine with a pass is still let in. Nil: all are.
	LetIn func(machine mail.Machine, pass string) bool
	Phone string        // where browsers of other machines find the pages; "": there are none
	idle  time.Duration // an open room that is not borrowed for that long is closed
	Most  int           // rooms that are open at a time

	moving sync.Mutex // one move at a time; taken before mu
	slow   slow       // requests of other machines
	crowd  crowd      // those who write at the same time

	mu     sync.Mutex
	closed bool
	rooms  map[mail.RoomName]*Entry
	known  map[mail.RoomName]mail.RoomStatus // the last status of closed rooms
	kept   map[mail.RoomName]mail.FleetRoom  // the state of closed rooms, all parts: see keep
	lives  map[mail.RoomName]*mailroom.Lives // of rooms that were open
}

// Entry is a room that is open, being opened or being closed.
type Entry struct {
	ready chan struct{} // closed when room or err is set
	Room  *mailroom.Room
	files roomJournal
	err   error

	// Changing is held for reading by most calls, and for writing by whoever closes the room while it is used.
	Changing sync.RWMutex

	made      bool         // opening it made its directory
	clustered bool         // its journal is on NATS servers
	machine   mail.Machine // the machine where it is open: this one
	Bridges   *bridge.Set
	doors     *wake.Doors
	Ringer    *wake.Ringer

	standing sync.Mutex // held while the room is brought in line with the configuration; taken before unsentMu
	unsentMu sync.Mutex
	unsent   []string // parts of the configuration that are not obeyed, and why

	stop context.CancelFunc // ends the goroutines that look after the room
	done chan struct{}      // closed when they have ended

	// Guarded by Set.mu.
	users   int // how many callers borrow it
	since   time.Time
	gone    chan struct{} // non-nil once it is being closed; closed when its files are free
	removed bool          // it is being removed, or has been
}

// New returns the rooms of a configuration, none of them open.
func New(cfg *config.Config, log *slog.Logger, m *Metrics, dialects []dialect.Dialect) *Set {
	o := &Set{
		Config: cfg, Log: log, Metrics: m, Dialects: dialects,
		idle: time.Duration(cmp.Or(cfg.RoomIdle, config.DefaultRoomIdle)), Most: maxOpen,
		rooms: make(map[mail.RoomName]*Entry), known: make(map[mail.RoomName]mail.RoomStatus),
		kept:  make(map[mail.RoomName]mail.FleetRoom),
		lives: make(map[mail.RoomName]*mailroom.Lives),
	}
	o.Reach = reach.New(cfg, log, o.lookAgain)
	o.Notify = o.newNotifier()
	return o
}

// InUse reports whether a room is open, or being opened.
func (o *Set) InUse(name mail.RoomName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.rooms[name]
	return e != nil && e.gone == nil
}

// Borrow returns the room and keeps it open until GiveBack.
func (o *Set) Borrow(ctx context.Context, name mail.RoomName) (*Entry, error) {
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
		o.GiveBack(e, name)
		return nil, err
	}
	return e, nil
}

// With calls use with a room, which is open until use returns.
func (o *Set) With(ctx context.Context, name mail.RoomName, use func(*Entry) error) error {
	e, err := o.Borrow(ctx, name)
	if err != nil {
		return err
	}
	defer o.GiveBack(e, name)
	return use(e)
}

// Touch opens a room that is not open. Errors are also logged.
func (o *Set) Touch(ctx context.Context, name mail.RoomName) error {
	return o.With(ctx, name, func(*Entry) error { return nil })
}

// ErrStopping is the error for a room that cannot be opened because the post office stops.
func ErrStopping() error {
	return mail.Errorf(mail.Unavailable, "the post office is stopping; try again in a moment")
}

func notInTime(ctx context.Context, name mail.RoomName) error {
	return &mail.Error{Code: mail.Timeout, Msg: "the request ended before room " + string(name) + " was open",
		Err: ctx.Err()}
}

// enter counts the caller as a user of the room's entry. mine means that the entry is new and the caller must open
// it.
func (o *Set) enter(ctx context.Context, name mail.RoomName) (e *Entry, mine bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for until := time.Now().Add(roomPatience); ; {
		switch e = o.rooms[name]; {
		case o.closed:
			return nil, false, ErrStopping()
		case e != nil && e.gone == nil:
			e.users++
			return e, false, nil
		case e == nil && len(o.rooms) < o.Most:
			e = &Entry{ready: make(chan struct{}), users: 1}
			o.rooms[name] = e
			delete(o.kept, name) // mail that is erased meanwhile must not be shown again
			return e, true, nil
		case e == nil:
			if err := o.makeRoom(ctx, until); err != nil {
				return nil, false, err
			}
			continue
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
			return nil, false, ErrRemoved(name)
		}
	}
}

// GiveBack ends one use of an entry. A room that opening made, and that is still empty, goes with its last use.
func (o *Set) GiveBack(e *Entry, name mail.RoomName) {
	o.mu.Lock()
	e.users--
	e.since = time.Now()
	unused := e.users == 0 && e.gone == nil && e.unused()
	if unused {
		e.gone = make(chan struct{})
	}
	o.mu.Unlock()
	if unused {
		_ = o.closeRoom(e, name) // it logs errors
	}
}

// open opens the room of a new entry. An entry that cannot be opened leaves the table, so that the next caller tries
// again.
func (o *Set) open(e *Entry, name mail.RoomName) {
	defer close(e.ready)
	if e.err = o.openFiles(e, name); e.err == nil {
		return
	}
	o.Log.Error("room not opened", "room", name, "err", e.err)
	if code := mail.CodeOf(e.err); code == mail.Internal || code == mail.Conflict {
		e.err = &mail.Error{Code: mail.Unavailable, Msg: "room " + string(name) + " cannot be opened: " +
			e.err.Error(), Err: e.err}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.rooms, name)
}

func (o *Set) openFiles(e *Entry, name mail.RoomName) error {
	log := o.Log.With("room", name)
	began := time.Now()
	e.made = !o.Exists(name)
	o.dropSummary(name)
	files, err := o.openJournal(e, name, log)
	if err != nil {
		return err
	}
	doors := o.Reach.Configured(name)
	doors.Arrange(func(agent mail.Name, configured []wake.Waker) []wake.Waker {
		return o.Reach.Ladder(name, agent, configured)
	})
	opts := o.options(name)
	opts.Door, opts.PutOff = doors.Name, doors.PutOff
	opts.Tells = o.Notify.Wake
	if e.clustered {
		opts.Admitted, opts.Anyone = o.Cluster.admissions.all, o.Cluster.admissions.anyone
		opts.Machine, opts.Away, opts.Now = o.Cluster.name, o.Cluster.machines.Away, o.Cluster.Now
		opts.Trouble = func() string { return o.Cluster.troubleOf(name) }
	}
	opts.Written = func() mail.Seq { return e.Bridges.Written() } // not called before they are started
	// Not the caller's context: others wait for the same room.
	room, err := mailroom.Open(context.Background(), name, files, opts)
	if err != nil {
		return err
	}
	e.machine = o.Config.MachineName()
	e.Room, e.files, e.done = room, files, make(chan struct{})
	e.doors = doors
	e.Ringer = o.newRinger(e, doors)
	if err := o.startBridges(e, name, log); err != nil {
		return errors.Join(err, room.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	go func() {
		defer close(e.done)
		e.run(ctx, o, log)
	}()
	go o.reopen(ctx, e, name, room.Reopen())
	if r, ok := files.(journal.Reopener); ok {
		go o.reopen(ctx, e, name, r.Reopen())
	}
	o.Bell.ring(name)
	log.Info("room opened", "seq", files.Last(), "took", time.Since(began))
	return nil
}

// reopen closes a room and opens it again when its journal has changed under it.
func (o *Set) reopen(ctx context.Context, e *Entry, name mail.RoomName, changed <-chan struct{}) {
	select {
	case <-ctx.Done(): // it is being closed anyway
	case <-changed:
		o.Log.Warn("reopening room: its journal changed", "room", name)
		_ = o.Sweep(func(open *Entry) bool { return open == e }) // Sweep logs errors
		_ = o.Touch(context.Background(), name)
	}
}

// options turns the configuration of a room into the room's options.
func (o *Set) options(name mail.RoomName) mailroom.Options {
	r := o.Config.For(name)
	retention, ttl := r.Policy()
	return mailroom.Options{
		Log: o.Log, MaxBody: r.MaxBody, Namespaces: r.TagNamespaces, TTL: ttl, Retention: retention,
		Claims: policy.ClaimRule(r.Claims), Quiet: time.Duration(r.ClaimsQuiet),
		Limits: r.Breakers(), Observe: o.observer(name), Preview: previewOf,
		Alive: o.Alive, Ended: process.Ended, Exists: o.Exists, Orchestrators: r.Orchestrators,
		Protocols: dialect.Protocols(o.Dialects),
		Lives:     o.livesOf(name),
		Elsewhere: o.elsewhere, Index: filepath.Join(o.Dir(name), "index", "words"),
		LetIn: func(m mail.Machine, pass string) bool { return o.LetIn == nil || o.LetIn(m, pass) },
		Waits: func(waits bool) { o.noteLater(name, waits) },
	}
}

// livesOf returns the lives of the room's agents and their tokens.
func (o *Set) livesOf(name mail.RoomName) *mailroom.Lives {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lives[name]
	if l == nil {
		l = new(mailroom.Lives)
		o.lives[name] = l
	}
	return l
}

// Alive reports whether the program of a session runs, here or on a machine that uses this post office.
func (o *Set) Alive(program string) bool {
	return process.Alive(program) || o.Reach.Machines.Alive(program)
}

// elsewhere lends one room to another. It does not make a missing room: its name is a misspelling.
func (o *Set) elsewhere(ctx context.Context, name mail.RoomName, use func(*mailroom.Room) error) error {
	if !o.Exists(name) {
		return o.NoRoom(ctx, name)
	}
	return o.With(ctx, name, func(e *Entry) error { return use(e.Room) })
}

// isOpen reports whether calls can be made to the room. The caller holds Set.mu.
func (e *Entry) isOpen() bool {
	select {
	case <-e.ready:
		return e.err == nil && e.gone == nil
	default:
		return false
	}
}

// Each calls f, which must not block, for every open room, and returns their number.
func (o *Set) Each(f func(*Entry)) int {
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

// Run closes idle rooms until ctx ends, except those that hold something.
func (o *Set) Run(ctx context.Context) {
	if o.idle < 0 {
		<-ctx.Done()
		return
	}
	for pause.For(ctx, min(max(o.idle/4, 10*time.Millisecond), time.Minute)) {
		unused := func(e *Entry) bool { return e.idle() && time.Since(e.since) >= o.idle }
		held := o.held(unused)
		o.Sweep(func(e *Entry) bool { return unused(e) && !held[e] })
	}
}

// held returns the open rooms that hold something and for which which, called under mu, is true.
func (o *Set) held(which func(*Entry) bool) map[*Entry]bool {
	some := make(map[*Entry]bool)
	o.Each(func(e *Entry) { some[e] = which(e) })
	for e, asked := range some {
		some[e] = asked && e.Room.Held() // which takes the room's lock
	}
	return some
}

// Sweep closes the open rooms for which which, called under mu, is true.
func (o *Set) Sweep(which func(*Entry) bool) error {
	o.mu.Lock()
	going := make(map[mail.RoomName]*Entry)
	for name, e := range o.rooms {
		select {
		case <-e.ready:
			if e.gone == nil && e.err == nil && which(e) {
				e.gone = make(chan struct{})
				going[name] = e
			}
		default: // another caller waits for it
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
func (o *Set) closeRoom(e *Entry, name mail.RoomName) error {
	defer o.forget(e, name)
	if e.clustered {
		o.doze(name) // before the close, to miss nothing
	}
	at := e.files.Last()
	if !e.unused() {
		o.keep(e.Room)
	}
	st, err := o.shut(e, name)
	if e.unused() {
		o.dropUnused(name)
	} else if err == nil && !e.clustered && e.files.Last() == at { // nothing has happened since keep
		o.summarize(name, st)
	}
	if o.Exists(name) {
		o.mu.Lock()
		o.known[name] = st
		o.mu.Unlock()
	}
	return err
}

// shut closes the room of an entry that is marked as going. Its files are free afterwards.
func (o *Set) shut(e *Entry, name mail.RoomName) (mail.RoomStatus, error) {
	e.Bridges.Close()
	e.stop()
	<-e.done
	st := e.Room.Status()
	st.Open = false
	err := e.Room.Close()
	if err != nil {
		o.Log.Error("room not closed cleanly", "room", name, "err", err)
	} else {
		o.Log.Info("room closed", "room", name, "seq", st.Seq)
	}
	return st, err
}

// forget removes an entry that is marked as going from the table.
func (o *Set) forget(e *Entry, name mail.RoomName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.rooms, name)
	close(e.gone)
}

// Close refuses new calls and closes every room. Calls that still run are interrupted when their journals close,
// which finishes the appends under way.
func (o *Set) Close() error {
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
	return errors.Join(o.Sweep(func(*Entry) bool { return true }), o.Reach.Sessions.Close(), o.Cluster.Close())
}
