package wake

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Room is the part of a room that a Ringer needs. *mailroom.Room implements it.
type Room interface {
	Name() mail.RoomName
	// As returns the room as seen by a name: the user to watch, the system to write to the user.
	As(mail.Name) mail.Service
	// Shown returns the sequence number of the last event that a watch shows.
	Shown() mail.Seq
	// Unwoken lists agents and roles with a door and with mail waiting that should wake them, and agents without a
	// door whose session is idle.
	Unwoken(hasDoor func(mail.Name, []string) bool) []mail.Unwoken
	// Note records receipts.
	Note(ctx context.Context, receipts []mail.Receipt) (int, error)
	// Meet returns once the room has all events that other machines have written so far.
	Meet(ctx context.Context) error
}

// Options of a Ringer. Room and Doors must be set; other zero values mean the defaults.
type Options struct {
	Room    Room
	Doors   *Doors
	Ladder  policy.Ladder // the budget of an Entry overrides it
	Log     *slog.Logger  // default: discard
	Observe Observer
	// Machine is the name of this machine, if several may serve the room. Cut reports whether the others may consider
	// it away, because it has not reached them for some seconds. It then rings no agent. Nil: never.
	Machine mail.Machine
	Cut     func() bool
	// Typed returns when a person last typed into an agent's session; zero: not known. Nil: never known.
	Typed func(mail.Name) mail.Time
}

// Observer receives events for metrics. Nil functions are skipped. The others must not block.
type Observer struct {
	Rang        func(ok bool)
	Outstanding func(delta int) // agents with a ring in progress or scheduled
}

// Limits of the mechanism.
const (
	// gather is how long an event waits for others before a ring: a burst causes one ring, and an agent blocked in a
	// wait has confirmed its mail by then.
	gather = 50 * time.Millisecond
	// maxRinging is how many rings of a room run at a time. Each may be a process.
	maxRinging = 16
	// ringLetters distinguish the rings of a session: every rung model reads them.
	ringLetters = 10
	// noteTime limits the recording of a ring.
	noteTime = 10 * time.Second
	// recallEvents is how many events are replayed to find the rings of the last hour. A room with more events in an
	// hour rings too often after a restart.
	recallEvents = 10_000
	// silence is how long the journal must be quiet before the replay counts as finished. The last sequence number
	// alone does not show it: compaction may have dropped that event.
	silence = 500 * time.Millisecond
	// awayLook is how often we check whether a machine that others wait for is away or back, or a recording has
	// failed.
	awayLook = 2 * time.Second
)

// Ringer rings the doors of one room.
type Ringer struct {
	Options

	looked func(map[mail.Address]*sleeper) // called after each look, for tests; nil: not called
	wall   func() time.Time                // tests set it back
	// one more than the sequence number of the last event after which no ring was outstanding; 0: one is
	quiet   atomic.Uint64
	results chan attempt
	met     chan error
	nudge   pause.Nudge    // requests a look that no event in the journal causes
	calls   sync.WaitGroup // ringing goroutines

	// Owned by the goroutine of Run.
	sleepers map[mail.Address]*sleeper // by agent, or by role without a holder
	ringing  int
	cut      bool     // the others considered this machine away, and it is not known yet what they did
	meeting  bool     // the room is catching up with them
	behind   mail.Seq // no rings until everything up to this event was applied
	observed int      // the number of outstanding rings that Observe knows
	timer    alarm
	asked    time.Time // when now was last called
	answered mail.Time // the time that it returned
}

// New returns a Ringer. Call Run once.
func New(opts Options) *Ringer {
	if opts.Observe.Rang == nil {
		opts.Observe.Rang = func(bool) {}
	}
	if opts.Cut == nil {
		opts.Cut = func() bool { return false }
	}
	if opts.Observe.Outstanding == nil {
		opts.Observe.Outstanding = func(int) {}
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler)).With("room", opts.Room.Name())
	return &Ringer{Options: opts, wall: time.Now, sleepers: make(map[mail.Address]*sleeper),
		results: make(chan attempt), met: make(chan error), nudge: pause.NewNudge()}
}

// now returns the time. If the clock was set back since the last call, all remembered times are shifted by the same
// amount: otherwise every ring would come that much later.
func (r *Ringer) now() mail.Time {
	asked, now := time.Now(), mail.TimeOf(r.wall())
	passed := asked.Sub(r.asked) // by the monotonic clock
	if back := r.answered.Add(passed).Sub(now); !r.asked.IsZero() && back > time.Second {
		for _, s := range r.sleepers {
			s.setBack(back)
		}
	}
	r.asked, r.answered = asked, now
	return now
}

// Look makes the ringer look at all agents again. It is called when an agent has got a door, because the journal does
// not record that.
func (r *Ringer) Look() { r.nudge.Give() }

// Run rings until ctx ends or the room is closed. It cancels running rings, and waits for them.
func (r *Ringer) Run(ctx context.Context) error {
	present := r.Room.Shown()
	w, err := r.Room.As(mail.System).Watch(ctx, max(present, recallEvents)-recallEvents)
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer r.observe(0)
	defer r.calls.Wait()
	defer cancel()
	batches := make(chan []mail.Event)
	r.calls.Go(func() { follow(ctx, w, batches) })
	r.timer = newAlarm(silence)
	defer r.timer.Stop()
	looked := false // the replay has finished
	for {
		select {
		case <-ctx.Done():
			return nil
		case batch, ok := <-batches:
			if !ok {
				return nil // the room is closed
			}
			r.take(batch, present)
			if batch[len(batch)-1].Seq >= max(present, r.behind) {
				r.timer.by(gather)
			} else {
				r.timer.postpone(silence)
			}
		case a := <-r.results:
			r.finish(ctx, a)
			r.timer.by(0)
		case err := <-r.met:
			r.rejoin(err)
		case <-r.nudge:
			if looked {
				r.timer.by(gather)
			}
		case <-r.timer.C:
			r.timer.rung()
			looked = true
			if next, ok := r.look(ctx); ok {
				r.timer.by(next)
			}
		}
	}
}

// Quiet reports whether no ring is outstanding after all events: the room can be closed. A nil *Ringer is quiet.
func (r *Ringer) Quiet() bool { return r == nil || r.quiet.Load() > uint64(r.Room.Shown()) }

// count tells the doors when s may be rung, because senders are told.
func (r *Ringer) count(k mail.Address, s *sleeper) {
	r.Doors.count(k, r.Ladder, counted{slices.Clone(s.rung), s.notBefore()})
}

// look serves all agents with mail waiting. next is the latest time until the next look, if ok.
func (r *Ringer) look(ctx context.Context) (next time.Duration, ok bool) {
	if r.apart(ctx) {
		r.quiet.Store(0)
		return awayLook, true
	}
	at := r.Room.Shown()
	now := r.now()
	waiting := r.Room.Unwoken(r.Doors.Covers)
	waits := make(map[mail.Address]bool, len(waiting))
	outstanding := 0
	for i := range waiting {
		u := &waiting[i]
		waits[key(u)] = true
		if unsettled(u) {
			next, ok = awayLook, true
		}
		if r.leftAlone(u, now) {
			if u.Recording {
				outstanding++
			}
			continue
		}
		if s := r.lookAfter(ctx, u, now); s.ringing || !s.vain && u.State != mail.Frozen {
			outstanding++
		}
	}
	if in, some := r.rest(waits, now); some && (!ok || in < next) {
		next, ok = in, true
	}
	r.observe(outstanding)
	// a door may wait for a turn in which all of the mail was read
	if r.quiet.Store(0); outstanding == 0 && r.ringing == 0 {
		r.quiet.Store(uint64(at) + 1)
	}
	if r.looked != nil {
		r.looked(r.sleepers)
	}
	return next, ok
}

// unsettled reports whether u depends on a fact that the journal does not have.
func unsettled(u *mail.Unwoken) bool { return u.Elsewhere || u.Away != "" || u.Recording }

// leftAlone reports whether there is nothing to do for u now, because another machine rings, or because the fact that
// u was given mail is being recorded. If the recording fails, the journal has no event of it: the next look finds out.
func (r *Ringer) leftAlone(u *mail.Unwoken, now mail.Time) bool {
	s := r.sleepers[key(u)]
	switch {
	case !u.Elsewhere && !u.Recording:
		return false
	case s == nil:
	case u.Elsewhere:
		s.leave(u, now)
		r.count(key(u), s)
	default:
		s.worked = s.worked || inTurn(u.State)
	}
	return true
}

// rest forgets agents without waiting mail, and returns the time until something is due, if anything is.
func (r *Ringer) rest(waits map[mail.Address]bool, now mail.Time) (next time.Duration, ok bool) {
	for k, s := range r.sleepers {
		if !waits[k] {
			r.let(k, s, now)
		}
		if in := s.due.Sub(now); in > 0 && !s.ringing && (!ok || in < next) {
			next, ok = in, true
		}
	}
	return next, ok
}

// apart reports whether this machine must not ring, because other machines consider it away and ring where they can,
// or did until now and it is not known yet for which agents.
func (r *Ringer) apart(ctx context.Context) bool {
	switch {
	case r.Cut():
		r.cut = true
	case r.cut && !r.meeting:
		r.meeting = true
		r.calls.Go(func() {
			meet, cancel := context.WithTimeout(ctx, noteTime)
			defer cancel()
			err := r.Room.Meet(meet)
			select {
			case r.met <- err:
			case <-ctx.Done():
			}
		})
	}
	return r.cut
}

// rejoin makes the ringer look at all agents after the events of the others were applied. err says that they are not
// known.
func (r *Ringer) rejoin(err error) {
	if r.meeting = false; err != nil {
		r.timer.by(awayLook)
		return
	}
	r.cut, r.behind = false, r.Room.Shown()
	r.timer.postpone(silence)
}

// let forgets an agent without waiting mail, except for the rings of the last hour, which count against the budget.
func (r *Ringer) let(k mail.Address, s *sleeper, now mail.Time) {
	s.rest()
	if s.forgetRings(now); len(s.rung) == 0 && !s.ringing {
		delete(r.sleepers, k)
	}
	r.count(k, s)
}

func (r *Ringer) observe(outstanding int) {
	if d := outstanding - r.observed; d != 0 {
		r.observed = outstanding
		r.Observe.Outstanding(d)
	}
}

// key returns the key of u in sleepers, which is also the reader in its receipts.
func key(u *mail.Unwoken) mail.Address { return keyOf(u.Agent, []string{u.Role}) }

// lookAfter does what is due for one agent.
func (r *Ringer) lookAfter(ctx context.Context, u *mail.Unwoken, now mail.Time) *sleeper {
	s := r.sleeper(key(u))
	e := r.Doors.find(u.Agent, u.Roles)
	if s.ladder = r.Ladder.WithDefaults(); e != nil {
		s.ladder = e.ladder(r.Ladder)
		s.found(now)
	}
	s.given = nil
	s.see(u, now)
	defer r.count(key(u), s)
	todo := s.decide(u, r.Typed, now)
	if todo == ring && len(e.on()) == 0 {
		todo = s.noDoor(e != nil, u.Away != "", now)
	}
	switch todo {
	case ring:
		r.ring(ctx, s, u, e)
	case giveUp:
		if s.due = now.Add(s.ladder.LastRetry); r.tell(ctx, s, u, e) {
			s.abandon()
		}
	case overrun:
		if r.send(ctx, overspent(u, s, now)) {
			s.overdrawn = now
		}
	}
	return s
}

// ring starts a ring, unless too many are running. The end of one makes room, and causes a look at all agents.
func (r *Ringer) ring(ctx context.Context, s *sleeper, u *mail.Unwoken, e *entry) {
	if r.ringing == maxRinging {
		return
	}
	if s.id == "" {
		s.id = fence.RingID + rand.Text()[:ringLetters]
	}
	s.begin(u, r.now())
	r.ringing++
	a := attempt{sleeper: s, key: key(u), unwoken: *u, ring: newRing(s.id, r.Room.Name(), u), entry: e,
		door: s.next(e.on())}
	r.calls.Go(func() { r.try(ctx, a) })
}

// attempt is one ring.
type attempt struct {
	sleeper *sleeper
	key     mail.Address
	unwoken mail.Unwoken
	ring    Ring
	entry   *entry
	door    Waker
	err     error // the door's answer; nil if it was rung
}

// try rings a door and records the ring.
func (r *Ringer) try(ctx context.Context, a attempt) {
	a.err = a.door.Ring(ctx, a.ring)
	switch {
	case a.err == nil:
		r.note(ctx, &a.unwoken, a.key, a.door.Door())
	case ctx.Err() != nil:
		return // the room is closing: the door's answer is not known
	}
	select {
	case r.results <- a:
	case <-ctx.Done():
	}
}

// note records that a door was rung: once per message, and each time for the newest message, so that the next process
// knows about the ring.
func (r *Ringer) note(ctx context.Context, u *mail.Unwoken, reader mail.Address, door string) {
	if u.Agent == "" {
		return // a role is not a reader; its mail is shown as held until it has a holder
	}
	// A ring that happened is recorded even if the room is closing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	var receipts []mail.Receipt
	for i, m := range u.Mail {
		if m.Notified == 0 || m.Door != door || i == len(u.Mail)-1 {
			receipts = append(receipts, mail.Receipt{Message: m.ID, Reader: reader, Mark: mail.MarkNotified,
				Door: door})
		}
	}
	if _, err := r.Room.Note(ctx, receipts); err != nil {
		r.Log.Warn("ring not recorded", "agent", u.Agent, "door", door, "err", err)
	}
}

// finish applies the result of an attempt.
func (r *Ringer) finish(ctx context.Context, a attempt) {
	r.ringing--
	s, now := a.sleeper, r.now()
	r.Observe.Rang(a.err == nil)
	r.log(&a, s)
	s.hear(a.door.Door(), a.err)
	off := errors.Is(a.err, ErrOff)
	if off {
		a.entry.turnOff(a.door)
	}
	left := len(a.entry.on())
	switch {
	case a.err == nil:
		s.succeed(&a.unwoken, now)
	case s.fail(&a.unwoken, left, now) || off && left == 0:
		r.tell(ctx, s, &a.unwoken, a.entry)
	}
}

// log reports the first of a series of failures, and the end of the series.
func (r *Ringer) log(a *attempt, s *sleeper) {
	log := r.Log.With("agent", a.unwoken.Agent, "door", a.door.Door())
	switch {
	case a.err == nil && s.fails > 0:
		log.Info("door rung after failures", "after", s.fails)
	case a.err == nil:
		log.Debug("rung")
	case s.fails == 0:
		log.Warn("door not rung", "answer", a.err)
	default:
		log.Debug("door not rung", "answer", a.err, "failures", s.fails)
	}
}

// tell tells the user that u cannot be woken.
func (r *Ringer) tell(ctx context.Context, s *sleeper, u *mail.Unwoken, e *entry) bool {
	ok := r.send(ctx, inVain(u, s, e))
	if ok {
		s.tell(u, r.now())
	}
	return ok
}

// send sends the user a message from the system. A conflict means that an earlier process sent the same message, which
// is just as good.
func (r *Ringer) send(ctx context.Context, d mail.Draft) bool {
	_, err := r.Room.As(mail.System).Send(ctx, d)
	if err != nil && mail.CodeOf(err) != mail.Conflict {
		r.Log.Error("user not notified", "subject", d.Subject, "err", err)
		return false
	}
	return true
}
