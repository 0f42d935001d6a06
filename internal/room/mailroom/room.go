package mailroom

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/search"
)

// Options configure a room. The zero value means the defaults.
type Options struct {
	Log        *slog.Logger     // default: discard
	Now        func() time.Time // default: time.Now
	NewID      func() mail.ID   // default: random
	MaxBody    int              // bytes; default mail.MaxBody
	Namespaces []string         // of tags, in addition to mail.TagNamespaces
	TTL        policy.TTL
	Retention  policy.Retention
	Limits     policy.Limits
	Claims     policy.ClaimRule // "": policy.DefaultClaims
	Quiet      time.Duration    // see check.Rules; 0: policy.DefaultQuiet
	Observe    Observer
	// Door names the door through which an agent is woken, whose session may have ended; an empty name stands for any
	// later holder of the roles. "" means that none is known, which is the default. It is called with the state
	// locked, so it must not block.
	Door func(agent mail.Name, roles []string) string
	// PutOff returns until when an agent is not rung for new mail, urgent or not; zero if it is not deferred, as by
	// default. It is called as Door is.
	PutOff func(agent mail.Name, roles []string, urgent bool, now mail.Time) mail.Time
	// Tells says how the user is told of questions and urgent mail: a word for Delivery.Wake and, for
	// mail.WakeDeferred, until when that is deferred. "" means not at all, as by default. It is called as Door is.
	Tells func(asks, urgent bool, now mail.Time) (how string, putOff mail.Time)
	// Alive reports whether a process runs, spelled as sessions spell theirs. Nil: that is unknown, and a silent
	// agent is gone.
	Alive func(process string) bool
	// Ended reports whether a process is known to have ended. Nil: that is unknown.
	Ended func(process string) bool
	// Elsewhere calls use with another room of the post office, open until use returns. Nil: there is none.
	Elsewhere func(ctx context.Context, room mail.RoomName, use func(*Room) error) error
	// Exists reports whether the post office has a room. Nil: there is no other room.
	Exists func(mail.RoomName) bool
	// Written returns the sequence number up to which all events are in the files of the room's bridges. Later events
	// stay until they are there too, so a failing bridge must be repaired, or removed, before they go. Nil: there are
	// no bridges.
	Written func() mail.Seq
	// Protocols are those that the room's bridges and agents may use.
	Protocols []mail.Protocol
	// Index is the directory of the index of words, which may be deleted at any time. "": a search reads every
	// message.
	Index string
	// SearchPatience is how long a search reads messages while the index is being made. After that it returns the
	// messages found, and says that it did not read all. 0: a second.
	SearchPatience time.Duration
	// Preview returns the beginning of a text, in one line, for a list. Nil: without its white space.
	Preview func(body string) string
	// Orchestrators are agents to whom the configuration gives that role, as soon as they are on the roster.
	Orchestrators []mail.Name
	// Machine is this one's name in a room that the post offices of several machines have open. "": no other machine
	// writes to the journal, and it has no events meant for others.
	Machine mail.Machine
	// Admitted returns the machines that the person has let in, by name; one without a key was removed. It is called
	// with the state locked, so it must not block for long. Nil: there is none.
	Admitted func() map[mail.Machine]mail.MachineKey
	// Anyone lets machines in that no one has admitted.
	Anyone bool
	// Away reports whether the post office of another machine is not heard of. It is called with the state locked, so
	// it must not block. Nil: none ever is.
	Away func(mail.Machine) bool
	// Lives are those of earlier rooms of the name; they end according to this one's journal. Nil: there were none.
	Lives *Lives
	// Trouble says how old the knowledge of the room is, and why nothing can be appended at present; "" if it is
	// current and appending works. Nil: always "".
	Trouble func() string
	// LetIn reports whether a machine that uses this post office is still admitted, with a pass. It is called with
	// the state locked, so it must not block. Nil: each is.
	LetIn func(machine mail.Machine, pass string) bool
	// Waits is told, before Run continues, whether any message is scheduled: the room must be open then, even after a
	// restart. Nil: no one is told.
	Waits func(bool)
}

// Observer is told of events, for metrics. Nil functions are skipped. The others are called from many goroutines, and
// must not block.
type Observer struct {
	Sent     func(recipients, wakes int)
	Inbox    func(took time.Duration)
	Watching func(delta int)
	Tripped  func() // a limit was reached
	Changed  func() // something happened in the room
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.MaxBody == 0 {
		o.MaxBody = mail.MaxBody
	}
	if o.SearchPatience == 0 {
		o.SearchPatience = time.Second
	}
	o.Namespaces = append(mail.TagNamespaces(), o.Namespaces...)
	if o.Door == nil {
		o.Door = func(mail.Name, []string) string { return "" }
	}
	if o.Preview == nil {
		o.Preview = func(body string) string { return strings.Join(strings.Fields(body), " ") }
	}
	if o.Exists == nil {
		o.Exists = func(mail.RoomName) bool { return false }
	}
	if o.Written == nil {
		o.Written = func() mail.Seq { return math.MaxUint64 }
	}
	if o.PutOff == nil {
		o.PutOff = func(mail.Name, []string, bool, mail.Time) mail.Time { return 0 }
	}
	if o.Tells == nil {
		o.Tells = func(bool, bool, mail.Time) (string, mail.Time) { return "", 0 }
	}
	if o.LetIn == nil {
		o.LetIn = func(mail.Machine, string) bool { return true }
	}
	if o.Waits == nil {
		o.Waits = func(bool) {}
	}
	if o.Trouble == nil {
		o.Trouble = func() string { return "" }
	}
	if o.Alive == nil {
		o.Alive = func(string) bool { return false }
	}
	if o.Ended == nil {
		o.Ended = func(string) bool { return false }
	}
	if o.Away == nil {
		o.Away = func(mail.Machine) bool { return false }
	}
	if o.Lives == nil {
		o.Lives = new(Lives)
	}
	if o.Observe.Sent == nil {
		o.Observe.Sent = func(int, int) {}
	}
	if o.Observe.Tripped == nil {
		o.Observe.Tripped = func() {}
	}
	if o.Observe.Changed == nil {
		o.Observe.Changed = func() {}
	}
	if o.Observe.Inbox == nil {
		o.Observe.Inbox = func(time.Duration) {}
	}
	if o.Observe.Watching == nil {
		o.Observe.Watching = func(int) {}
	}
	return o
}

func (o *Options) ways() *fold.Ways {
	return &fold.Ways{Here: o.Machine, Door: o.Door, PutOff: o.PutOff, Tells: o.Tells, Away: o.Away}
}

func (o *Options) rules(name mail.RoomName) check.Rules {
	return check.Rules{Room: name, MaxBody: o.MaxBody, Namespaces: o.Namespaces, TTL: o.TTL, Retention: o.Retention,
		Limits: o.Limits.WithDefaults(), Claims: cmp.Or(o.Claims, policy.DefaultClaims),
		Quiet: cmp.Or(o.Quiet, policy.DefaultQuiet), Orchestrators: o.Orchestrators, Protocols: o.Protocols,
		Machine: o.Machine,
		Alive:   o.Alive, Ended: o.Ended, Exists: o.Exists, LetIn: o.LetIn, Alone: o.Elsewhere == nil}
}

// Room is the one owner of a room's live state.
type Room struct {
	name    mail.RoomName
	journal journal.Journal
	opts    Options
	ways    *fold.Ways  // of opts
	rules   check.Rules // of opts

	index    *search.Index
	indexing sync.WaitGroup // keepIndex
	grows    atomic.Bool    // the index will soon know all messages
	reindex  pause.Nudge    // see wakeIndexer

	recording recording

	stop     context.CancelFunc // ends the follower and keepIndex
	done     chan struct{}      // closed when the follower has ended
	keeping  sync.Mutex         // held by one compaction, erasure or repair at a time; taken before gate and mu
	gate     sync.RWMutex       // held for reading during an append, for writing by a checkpoint; taken before mu
	watching atomic.Int64       // watches and waits that are open
	lastUse  atomic.Int64       // the mail.Time of the last call
	waits    atomic.Bool        // a message is scheduled

	handover handover
	sending  sending
	breaker  *breaker
	desks    desks
	naming   sync.Mutex // held from the check of a new name until it is on the roster; see newcomer

	mu      sync.RWMutex
	state   *fold.State   // written by the follower, and by a compaction (fold.State.Archived)
	applied chan struct{} // closed, and replaced, whenever state has advanced
	crowd   int           // from how many hot messages on crowded tells; 0: never
	crowded pause.Nudge
	died    pause.Nudge           // the program of an agent has ended
	claimed pause.Nudge           // someone has claimed something, or waits for it
	later   pause.Nudge           // the scheduled messages have changed
	due     pause.Nudge           // there may be something to do for Run
	signs   map[*fold.Member]sign // belongs to Run
	broken  error                 // why the follower ended
	reopen  chan struct{}         // closed when the room must be opened again; see Reopen
}

// Open reads the journal to its end and returns the room. The room owns the journal from then on, and closes it.
func Open(ctx context.Context, name mail.RoomName, j journal.Journal, opts Options) (*Room, error) {
	r := &Room{
		name:    name,
		journal: j,
		opts:    opts.withDefaults(),
		breaker: &breaker{own: make(map[mail.ID]bool), Breaker: check.NewBreaker(opts.Limits)},
		applied: make(chan struct{}),
		crowded: pause.NewNudge(),
		died:    pause.NewNudge(),
		due:     pause.NewNudge(),
		claimed: pause.NewNudge(),
		later:   pause.NewNudge(),
		done:    make(chan struct{}),
		reopen:  make(chan struct{}),
		index:   new(search.Index),
		reindex: pause.NewNudge(),
	}
	r.ways, r.rules = r.opts.ways(), r.opts.rules(name)
	r.rules.NewID = r.newID
	r.use()
	cursor, err := r.replay(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	r.waits.Store(len(r.state.Scheduled) > 0)
	r.review() // of events that others wrote while the room was closed
	follow, stop := context.WithCancel(context.Background())
	r.stop = stop
	go r.follow(follow, cursor)
	if r.opts.Index != "" {
		r.index = search.Open(r.opts.Index, r.journal.Last(), r.opts.Log)
	}
	r.endDead(ctx)
	if err := r.finishErasures(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.tellUser(ctx, "An erased message is still on the disk",
			"Its text is hidden, but the files that hold it could not be rewritten. The post office tries again "+
				"each hour. The log has the disk's error.")
	}
	if r.opts.Index != "" {
		r.grows.Store(true)
		r.indexing.Go(func() { r.keepIndex(follow) })
	}
	return r, nil
}

// hear records, for the limits and for Run, an event that has just become part of the state. The caller holds the
// state.
func (r *Room) hear(e *mail.Event) {
	s := r.state
	switch {
	case e.Message != nil:
		r.breaker.mu.Lock()
		defer r.breaker.mu.Unlock()
		rec, at := s.Records[e.Message.ID], e.At.Std()
		if r.opts.Machine != "" && !r.breaker.own[rec.Msg.ID] {
			at = r.opts.Now() // not by the clock of another machine
			r.breaker.Heard(e.Message, s.PeersOf(rec), at)
		}
		r.breaker.Sent(fold.RepeatIn(e.Message.Same), rec.Msg.ID, at)
	case e.Agent != nil && e.Agent.Renamed != "":
		if m := s.Agent(e.Agent.Renamed); m != nil && m == s.Members[e.Agent.Name] {
			r.breaker.mu.Lock()
			defer r.breaker.mu.Unlock()
			r.breaker.Renamed(mail.Name(strings.Clone(string(e.Agent.Name))), m.Name)
		}
	case e.Claim != nil:
		r.claimed.Give()
	case e.Schedule != nil:
		r.later.Give()
	case e.Erased != nil && r.opts.Machine != "" && s.Owes(e.Erased.Message, r.opts.Machine):
		r.due.Give()
	}
}

// The pauses between two attempts to read a journal that cannot be read.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Close finishes appends under way and closes the journal.
func (r *Room) Close() error {
	err := r.journal.Close()
	r.stop()
	<-r.done
	r.indexing.Wait()
	r.index.Close()
	return err
}

// Name returns the room's name.
func (r *Room) Name() mail.RoomName { return r.name }

// As returns the room as caller sees it. The caller must have proven its identity.
func (r *Room) As(caller mail.Name) mail.Service { return r.view(check.Caller{Who: caller}) }

// ForFiles returns the room as the user sees it, for the content of foreign files: their names are taken as they are,
// but they cannot make an orchestrator.
func (r *Room) ForFiles() mail.Service {
	return r.view(check.Caller{Who: mail.User, Files: true, Means: mail.ByBridge})
}

// AsUser returns the room as the user sees it, who is known by these means.
func (r *Room) AsUser(by mail.Means) mail.Service {
	return r.view(check.Caller{Who: mail.User, Means: by})
}

func (r *Room) view(by check.Caller) *view {
	return &view{r, check.Asker{Rules: &r.rules, Caller: &by}}
}

// on returns the state, which is locked, as seen by no particular caller.
func (r *Room) on(s *fold.State, now mail.Time) *check.View {
	return r.view(check.Caller{}).on(s, now)
}

// Idle returns how long the room has not been used; it is 0 while someone watches or waits.
func (r *Room) Idle() time.Duration {
	if r.watching.Load() > 0 {
		return 0
	}
	return r.now().Sub(mail.Time(r.lastUse.Load()))
}

// sight returns the state as this machine sees it. The caller holds it.
func (r *Room) sight(s *fold.State) fold.Sight { return s.Seen(r.ways) }

// use records that the room is in use, and returns the time.
func (r *Room) use() mail.Time {
	now := r.now()
	r.lastUse.Store(int64(now))
	return now
}

// watch counts a watch or a wait that begins; the returned function counts its end.
func (r *Room) watch() (done func()) {
	r.watching.Add(1)
	r.opts.Observe.Watching(1)
	return func() {
		r.use()
		r.watching.Add(-1)
		r.opts.Observe.Watching(-1)
	}
}

// now is the time by the clock of this machine. A clock set to before 1970 counts as set to its beginning: 0 is no
// time, and mail sent before it would be shown to no one.
func (r *Room) now() mail.Time { return max(mail.TimeOf(r.opts.Now()), 1) }

// commit appends events, with the present time if they name none, and returns when they are applied. The caller reads
// their outcome from the state.
func (r *Room) commit(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	if len(events) == 0 {
		return 0, nil
	}
	for i := range events {
		if events[i].At == 0 {
			events[i].At = r.now()
		}
	}
	r.gate.RLock()
	defer r.gate.RUnlock()
	return r.append(ctx, events...)
}

// append is commit for a caller that holds the gate.
func (r *Room) append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	defer r.recording.add(events)()
	seq, err := r.journal.Append(ctx, events...)
	if err != nil {
		return 0, r.unavailable(err)
	}
	err = r.await(ctx, seq)
	if err != nil && ctx.Err() != nil {
		// An event in the journal counts, whatever becomes of the caller: a retry with the same key must find it.
		applying, cancel := context.WithTimeout(context.WithoutCancel(ctx), appliedWithin)
		defer cancel()
		err = r.await(applying, seq)
	}
	return seq, err
}

// appliedWithin limits how long the request of a caller that has left is continued. An event is applied within
// microseconds.
const appliedWithin = 5 * time.Second

// await blocks until the state has reached seq.
func (r *Room) await(ctx context.Context, seq mail.Seq) error {
	for {
		r.mu.RLock()
		reached, broken, applied := r.state.Seq >= seq, r.broken, r.applied
		r.mu.RUnlock()
		switch {
		case reached:
			return nil
		case broken != nil:
			return r.unavailable(broken)
		}
		select {
		case <-applied:
		case <-ctx.Done():
			return r.unavailable(ctx.Err())
		}
	}
}

// unavailable turns an error of the journal into one for the caller.
func (r *Room) unavailable(err error) error {
	if mail.CodeOf(err) != mail.Internal {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &mail.Error{Code: mail.Timeout, Msg: "the request was cancelled before the post office " +
			"could answer", Err: err}
	case errors.Is(err, journal.ErrClosed):
		return &mail.Error{Code: mail.Unavailable, Msg: "the room is closing; try again", Err: err}
	}
	return &mail.Error{
		Code: mail.Unavailable,
		Msg: "the room cannot read or write its journal, so nothing was acknowledged. Check the disk and the log; " +
			"the room continues by itself when the disk works again",
		Err: err,
	}
}

// newID returns an id in the requested form that no hot message has. The usual forms are random enough without a
// lookup, which costs a cache miss; 48 bits are not.
func (r *Room) newID(s *fold.State, form mail.IDForm) mail.ID {
	switch form {
	case mail.IDUUID:
		return mail.NewUUID()
	case mail.IDHex12:
		for {
			if id := newHex12(); s.Records[id] == nil {
				return id
			}
		}
	}
	return r.opts.NewID()
}

func newHex12() mail.ID {
	var b [6]byte
	rand.Read(b[:])
	return mail.ID("msg-" + hex.EncodeToString(b[:]))
}

// idAlphabet has 64 letters, so that six random bits choose one without bias.
const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// newID returns "msg_" and 126 random bits.
func newID() mail.ID {
	var b [21]byte
	rand.Read(b[:])
	for i := range b {
		b[i] = idAlphabet[b[i]&63]
	}
	return mail.ID("msg_" + string(b[:]))
}
