package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

const (
	// beatEvery is how often a machine says that it is there, on a subject that no stream keeps.
	beatEvery = 3 * time.Second
	// awayAfter is the silence after which a machine is called away: three lost beats and a margin.
	awayAfter = 10 * time.Second
	// cutAfter is how long a machine does not hear itself before it considers itself cut off: two lost beats.
	cutAfter = 2*beatEvery + beatEvery/2
	// noteEvery is how often the time at which a machine was last heard is written to the list.
	noteEvery = time.Minute
	// claimPatience is how long the servers have to give a machine its name.
	claimPatience = 3 * time.Second
)

// MachineOptions say who a machine is. Name, ID and Prefix must be set.
type MachineOptions struct {
	Name     mail.Machine
	ID       string // of the data directory: distinguishes a returning post office from another of the same name
	Version  string // of the post office
	Prefix   string // of subjects and of the list of machines
	Key      []byte // the public key with which it signs
	Replicas int    // of that list; default 1

	Skew  func() time.Duration // how far this clock is ahead of the servers'; nil: it is not known
	Rooms func() int           // number of open rooms here; nil: none
	Kept  func() int           // number of letters in the outbox; nil: none
	// Erasing is erased text that may still be in the servers' logs; nil: there is none.
	Erasing func() *mail.Lingering
	Tells   func() bool  // reports whether the person can be notified from here; nil: no
	Trouble func() error // why the servers cannot be relied on now; nil: they can
	Log     *slog.Logger
}

// Machines knows the machines on the cluster, and passes requests between them. Any client of the NATS servers is
// trusted: a machine is the one that it says it is.
type Machines struct {
	opts MachineOptions
	nc   *nats.Conn
	js   jetstream.JetStream
	beat string // subject of beats, without the machine
	ask  string // subject of requests, without the machine

	handlers handlers

	mu      sync.Mutex
	known   map[mail.Machine]*machine
	since   time.Time // since when all machines that are there can be heard
	claimed bool      // the name is this machine's
}

// machine is what is known of one machine.
type machine struct {
	Name    mail.Machine `json:"name"`
	ID      string       `json:"id"`
	Version string       `json:"version,omitempty"`
	Rooms   int          `json:"rooms"`
	Kept    int          `json:"kept,omitzero"`
	Skew    int64        `json:"skew_ms"`
	Tells   bool         `json:"tells,omitempty"`
	Key     string       `json:"key,omitempty"`
	// Erasing describes text that it has erased and that may still be in the servers' logs.
	Erasing *mail.Lingering `json:"erasing,omitempty"`
	Noted   mail.Time       `json:"noted,omitzero"` // when it was written down

	heard time.Time // by our clock, which does not jump; zero: not since we began to listen
}

// NewMachines makes this machine known to the others, by its name. If another post office has that name, the error
// has code Conflict. Unreachable servers are not an error: Run tries again. Close ends what it has begun.
func NewMachines(ctx context.Context, nc *nats.Conn, opts MachineOptions) (*Machines, error) {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	opts.Replicas = max(opts.Replicas, 1)
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("connect to JetStream: %w", err)
	}
	m := &Machines{opts: opts, nc: nc, js: js, beat: opts.Prefix + "-machines.beat.",
		ask: opts.Prefix + "-machines.ask.", known: make(map[mail.Machine]*machine), since: time.Now()}
	m.handlers.slots = make(chan struct{}, asksAtOnce)
	if nc.IsConnected() {
		if err := m.claim(ctx); mail.CodeOf(err) == mail.Conflict {
			return nil, err
		} else if err != nil {
			opts.Log.Warn("machine not announced yet", "err", err)
		}
	}
	return m, nil
}

// word returns a machine's name as written in subjects and keys, where dots separate words.
func word(name mail.Machine) string { return strings.ReplaceAll(string(name), ".", "=") }

// list returns the list of machines on the servers, and creates it if there is none.
func (m *Machines) list(ctx context.Context) (jetstream.KeyValue, error) {
	return bucket(ctx, m.js, true, jetstream.KeyValueConfig{Bucket: m.opts.Prefix + "-machines",
		Replicas: m.opts.Replicas, Description: "the machines that run a post office of Pennypost"})
}

// claim records that the name is this machine's, and its description. If two machines begin at the same time, the
// second write finds the list changed.
func (m *Machines) claim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, claimPatience)
	defer cancel()
	kv, err := m.list(ctx)
	if err != nil {
		return fmt.Errorf("open the list of machines: %w", err)
	}
	me := m.self()
	me.Noted = mail.TimeOf(time.Now())
	text, err := json.Marshal(me)
	if err != nil {
		return err
	}
	for {
		entry, err := kv.Get(ctx, word(me.Name))
		var revision uint64 // of a free name
		if err == nil {
			var owner machine
			if err := json.Unmarshal(entry.Value(), &owner); err == nil && owner.ID != me.ID {
				return taken(me.Name, &owner)
			}
			revision = entry.Revision()
			_, err = kv.Update(ctx, word(me.Name), text, revision)
		} else if errors.Is(err, jetstream.ErrKeyNotFound) {
			_, err = kv.Create(ctx, word(me.Name), text)
		}
		if changed(err) && ctx.Err() == nil {
			continue // another machine wrote: look who
		}
		if err != nil {
			return fmt.Errorf("write the list of machines: %w", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.claimed = true
		return nil
	}
}

// changed reports whether a write came too late.
func changed(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return errors.Is(err, jetstream.ErrKeyExists) || ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

func taken(name mail.Machine, owner *machine) error {
	return mail.Errorf(mail.Conflict,
		"the name %s belongs to another post office, last seen at %s. Give this one another name ([machine] name "+
			"in config.toml); if the other one will not return, type on another machine: pennypost machines remove "+
			"%s",
		name, owner.Noted.Std().Local().Format("2006-01-02 15:04"), name)
}

// self returns this machine's description of itself.
func (m *Machines) self() machine {
	me := machine{Name: m.opts.Name, ID: m.opts.ID, Version: m.opts.Version, Key: mail.KeyText(m.opts.Key)}
	if m.opts.Skew != nil {
		me.Skew = m.opts.Skew().Milliseconds()
	}
	if m.opts.Rooms != nil {
		me.Rooms = m.opts.Rooms()
	}
	if m.opts.Kept != nil {
		me.Kept = m.opts.Kept()
	}
	if m.opts.Erasing != nil {
		me.Erasing = m.opts.Erasing()
	}
	me.Tells = m.opts.Tells != nil && m.opts.Tells()
	return me
}

// Run announces this machine, listens to the others and answers their requests, until ctx ends; then it returns nil.
// It returns an error of code Conflict if the name turns out to be another's.
func (m *Machines) Run(ctx context.Context) error {
	beats, err := m.nc.Subscribe(m.beat+"*", m.hear)
	if err != nil {
		return fmt.Errorf("listen for other machines: %w", err)
	}
	asks, err := m.nc.Subscribe(m.ask+word(m.opts.Name)+".*", func(msg *nats.Msg) { m.asked(ctx, msg) })
	if err != nil {
		return errors.Join(fmt.Errorf("answer other machines: %w", err), beats.Unsubscribe())
	}
	defer m.handlers.running.Wait()
	defer func() {
		_, _ = beats.Unsubscribe(), asks.Unsubscribe() // they end with the connection, too
	}()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	var noted, last time.Time
	for {
		now := time.Now()
		if m.unreliable() || now.Sub(last) > 2*beatEvery {
			m.deaf(now)
		}
		last = now
		if m.nc.IsConnected() {
			if err := m.present(ctx, now, &noted); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if m.nc.IsConnected() && m.isClaimed() {
				_ = m.claim(leaving) // records when it was last there; otherwise up to a minute is lost
			}
			return nil
		case <-tick.C:
		}
	}
}

// unreliable reports whether the servers cannot be reached, or relied on.
func (m *Machines) unreliable() bool {
	return !m.nc.IsConnected() || m.opts.Trouble != nil && m.opts.Trouble() != nil
}

// present announces this machine, and records it now and then. An error has code Conflict.
func (m *Machines) present(ctx context.Context, now time.Time, noted *time.Time) error {
	if now.Sub(*noted) >= noteEvery || !m.isClaimed() {
		switch err := m.note(ctx); {
		case mail.CodeOf(err) == mail.Conflict:
			return err
		case err == nil:
			*noted = now
		}
	}
	m.say()
	return nil
}

// note records this machine, and reads the list of the others.
func (m *Machines) note(ctx context.Context) error {
	if err := m.claim(ctx); err != nil {
		return err
	}
	return m.read(ctx)
}

// read takes over the list of machines.
func (m *Machines) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, claimPatience)
	defer cancel()
	kv, err := m.list(ctx)
	if err != nil {
		return err
	}
	all, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = all.Stop() }()
	listed := make(map[mail.Machine]*machine)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry := <-all.Updates():
			if entry == nil { // end of the list
				m.listed(listed)
				return nil
			}
			var x machine
			if json.Unmarshal(entry.Value(), &x) == nil && x.Name != "" {
				listed[x.Name] = &x
			}
		}
	}
}

// listed takes over the list. For machines that are heard, more is known; those no longer on it were removed.
func (m *Machines) listed(all map[mail.Machine]*machine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, x := range m.known {
		if !x.heard.IsZero() && (all[name] != nil || time.Since(x.heard) < awayAfter) {
			all[name] = x
		}
	}
	m.known = all
}

// say tells the others that this machine is there.
func (m *Machines) say() {
	text, err := json.Marshal(m.self())
	if err == nil {
		err = m.nc.Publish(m.beat+word(m.opts.Name), text)
	}
	if err != nil {
		m.opts.Log.Debug("heartbeat not sent", "err", err)
	}
}

// hear takes in a machine's beat.
func (m *Machines) hear(msg *nats.Msg) {
	var x machine
	if json.Unmarshal(msg.Data, &x) != nil || x.Name == "" {
		return
	}
	x.heard = time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.Name == m.opts.Name && x.ID != m.opts.ID {
		m.claimed = false // Run checks whose it is
		return
	}
	m.known[x.Name] = &x
}

// deaf notes that until now, other machines may have been there without being heard.
func (m *Machines) deaf(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = now
}

func (m *Machines) isClaimed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claimed
}

// Away reports whether a machine has not been heard for 10 s in which it could have been. It does not depend on
// another machine's clock.
func (m *Machines) Away(name mail.Machine) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awayLocked(name)
}

// Cut reports whether others may consider this machine away, or soon will: its own beats do not come back, or the
// servers cannot be relied on. It notices some seconds before the others do, so that they do not start work that this
// machine has not stopped.
func (m *Machines) Cut() bool {
	if m.unreliable() {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.known[m.opts.Name]
	return x == nil || time.Since(x.heard) >= cutAfter
}

func (m *Machines) awayLocked(name mail.Machine) bool {
	if name == m.opts.Name || name == "" {
		return false
	}
	from := m.since
	if x := m.known[name]; x != nil && x.heard.After(from) {
		from = x.heard
	}
	return time.Since(from) >= awayAfter
}

// Tells reports whether this machine must notify the person of an event that all machines noticed at since. That is
// the task of the first machine by name that is able to and was heard after since. While another may still be heard,
// it is undecided. If the servers pass nothing on, so that no machine is heard, it is the first of those that were
// heard before.
func (m *Machines) Tells(since time.Time) (here, decided bool) {
	if m.opts.Tells == nil || !m.opts.Tells() {
		return false, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	waits := time.Since(since) < cutAfter
	var last time.Time // when this machine last heard itself
	if me := m.known[m.opts.Name]; me != nil {
		last = me.heard
	}
	decided = true
	for name, x := range m.known {
		switch {
		case name >= m.opts.Name || !x.Tells:
		case x.heard.After(since), !waits && !last.After(since) && last.Sub(x.heard) < awayAfter:
			return false, true
		case waits:
			decided = false
		}
	}
	return true, decided
}

// List returns the machines by name, this one among them.
func (m *Machines) List() []mail.MachineStatus {
	me, now := m.self(), time.Now() // before the lock: self calls functions that take other locks
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []mail.MachineStatus{{Name: me.Name, Here: true, Heard: mail.TimeOf(now), Version: me.Version,
		Rooms: me.Rooms, Kept: me.Kept, Skew: me.Skew, Key: me.Key}}
	for name, x := range m.known {
		if name == me.Name {
			continue
		}
		st := mail.MachineStatus{Name: name, Away: m.awayLocked(name), Heard: x.Noted, Version: x.Version,
			Rooms: x.Rooms, Kept: x.Kept, Skew: x.Skew, Key: x.Key}
		if !x.heard.IsZero() {
			st.Heard = mail.TimeOf(x.heard)
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b mail.MachineStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Erasing describes the text that any machine has erased and that the servers' logs may still have; nil: there is
// none.
func (m *Machines) Erasing() *mail.Lingering {
	me, now := m.self(), mail.TimeOf(time.Now())
	all := me.Erasing
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, x := range m.known {
		if l := x.Erasing; name != me.Name && l != nil && (l.Until > now || len(l.Servers) > 0) {
			all = all.Join(l)
		}
	}
	return all
}

// Remove takes a machine that will not come back off the list. Machines that are heard, and this one, stay.
func (m *Machines) Remove(ctx context.Context, name mail.Machine) error {
	if name == m.opts.Name {
		return mail.Errorf(mail.Invalid, "%s is this machine; remove it from another one", name)
	}
	if err := m.read(ctx); err != nil {
		return &mail.Error{Code: mail.Unavailable, Msg: "cannot read the list of machines from the NATS servers: " +
			err.Error() + ". Nothing was removed", Err: err}
	}
	m.mu.Lock()
	_, known := m.known[name]
	away := m.awayLocked(name)
	m.mu.Unlock()
	switch {
	case !known:
		return mail.Errorf(mail.NotFound, "there is no machine %q. To see the machines: pennypost machines", name)
	case !away:
		return mail.Errorf(mail.Conflict, "the post office of %s is running; stop it first, and wait %v", name,
			awayAfter)
	}
	kv, err := m.list(ctx)
	if err == nil {
		err = kv.Purge(ctx, word(name))
	}
	if err != nil {
		return &mail.Error{Code: mail.Unavailable,
			Msg: "cannot write the list of machines to the NATS servers: " +
				err.Error(), Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, name)
	return nil
}
