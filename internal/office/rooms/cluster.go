package rooms

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/wire"
)

const (
	// listEvery is how often the rooms on the servers are listed when no one announced a change.
	listEvery = 30 * time.Second
	// unsettledEvery is how often they are listed while a server is silent, or a room's replicas lag.
	unsettledEvery = 5 * time.Second
	// eagerFor is for how long they are listed each second after an announcement.
	eagerFor = 5 * time.Second
	// settingsEvery is how often the servers are asked for their settings.
	settingsEvery = 5 * time.Minute
	// revivePatience is how long the servers may take to send their first word about a new room.
	revivePatience = 2 * time.Second
)

// Cluster is the post office's part on NATS servers: rooms, and other machines.
type Cluster struct {
	*jetstream.Cluster
	machines *jetstream.Machines
	name     mail.Machine
	log      *slog.Logger
	set      *Set        // set before run
	changed  pause.Nudge // the list of rooms may be out of date

	mu       sync.Mutex
	rooms    map[mail.RoomName]jetstream.Listed
	damaged  map[mail.RoomName]string // what is wrong with their streams
	eager    time.Time                // list each second until then: the announcement precedes the change
	warnings []string
	asOf     time.Time                // when the servers last answered
	asleep   map[mail.RoomName]func() // closed rooms being listened for; the functions end that
	removed  map[mail.RoomName]bool   // removed by this machine since the servers were last asked for a list

	admissions admissions
}

// Connect connects to the NATS servers that the configuration names, and returns nil if it names none. Unreachable
// servers are no error; another machine of the same name is.
func Connect(ctx context.Context, cfg *config.Config, version string, log *slog.Logger) (*Cluster, error) {
	j := &cfg.Journal
	if !j.Clustered() {
		return nil, nil
	}
	id, err := loadMachine(cfg.Home)
	if err != nil {
		return nil, err
	}
	c := &Cluster{name: cfg.MachineName(), log: log, changed: pause.NewNudge(), asOf: time.Now(),
		eager: time.Now().Add(eagerFor),
		rooms: make(map[mail.RoomName]jetstream.Listed), damaged: make(map[mail.RoomName]string),
		asleep: make(map[mail.RoomName]func()), removed: make(map[mail.RoomName]bool)}
	keyed, signer, err := c.keys(cfg)
	if err != nil {
		return nil, err
	}
	c.Cluster, err = jetstream.Connect(ctx, jetstream.Config{TLS: keyed, URLs: j.URLs, Replicas: j.Replicas,
		Credentials: j.Credentials, CA: j.CA, Cert: j.Cert, Key: j.Key, Prefix: j.Prefix, Monitor: j.Monitor,
		Copied: c.copiedBy, Erased: cfg.Home.Erased(), Machine: c.name, Log: log,
		Signer: signer, Knows: c.admissions.knows})
	if err != nil {
		return nil, &mail.Error{Code: mail.Invalid, Msg: "[journal] in config.toml: " + err.Error(), Err: err}
	}
	c.machines, err = c.Machines(ctx, jetstream.MachineOptions{Name: c.name, ID: id, Version: version, Log: log,
		Key:   signer.Public().(ed25519.PublicKey),
		Tells: func() bool { return c.set != nil && c.set.Notify.Able() },
		Rooms: func() int {
			if c.set == nil { // during construction
				return 0
			}
			return c.set.Each(func(*Entry) {})
		},
		Kept: func() int {
			if c.set == nil || c.set.Waiting == nil {
				return 0
			}
			return c.set.Waiting()
		}})
	if err == nil {
		err = c.OnRooms(c.heard)
	}
	if err == nil && c.Trouble() == nil {
		err = c.list(ctx)
	}
	if mail.CodeOf(err) == mail.Conflict {
		return nil, errors.Join(err, c.Close())
	}
	if err != nil {
		log.Warn("rooms on the NATS servers not listed", "err", err)
	}
	return c, nil
}

// keys returns how to connect to servers that know this machine by its key (nil if they do not), and the key with
// which it signs.
func (c *Cluster) keys(cfg *config.Config) (keyed *tls.Config, signer ed25519.PrivateKey, err error) {
	if err := c.admissions.open(cfg); err != nil {
		return nil, nil, err
	}
	if cfg.Journal.Servers > 0 {
		keyed, err = config.ClusterTLS(cfg.Home)
	}
	if err == nil {
		signer, err = cfg.Journal.SigningKey(cfg.Home)
	}
	return keyed, signer, err
}

// loadMachine returns the word that tells this data directory from others on machines of the same name.
func loadMachine(home config.Home) (string, error) {
	return kept.Word(home.Machine(), "the identity of this machine",
		func() string { return strings.ToLower(rand.Text()) }, func(string) bool { return true })
}

// Use gives the rooms their cluster, and makes it answer other machines. A nil cluster means none.
func (o *Set) Use(c *Cluster, answers map[string]func(context.Context, mail.Machine, []byte) ([]byte, error)) {
	if c == nil {
		return
	}
	o.Cluster, c.set, o.peers = c, o, c.machines
	for subject, answer := range answers {
		c.machines.Serve(subject, answer)
	}
}

// Close ends the connection to the servers. Close the rooms there first.
func (c *Cluster) Close() error {
	if c == nil {
		return nil
	}
	return c.Cluster.Close()
}

// heard lists the rooms immediately, and each second for a while.
func (c *Cluster) heard() {
	c.mu.Lock()
	c.eager = time.Now().Add(eagerFor)
	c.mu.Unlock()
	c.changed.Give()
}

// list asks the servers for their rooms.
func (c *Cluster) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	copied := c.copied()
	c.mu.Lock()
	c.removed = make(map[mail.RoomName]bool)
	c.mu.Unlock()
	all, err := c.Cluster.List(ctx)
	if err != nil {
		return fmt.Errorf("list the rooms on the NATS servers: %w", err)
	}
	rooms := make(map[mail.RoomName]jetstream.Listed, len(all))
	for name, l := range all {
		if room, err := mail.ParseRoom(name); err == nil {
			rooms[room] = l
		}
	}
	for name, l := range rooms {
		if l.Last == 0 && !c.isAsleep(name) { // it becomes a room with its first event
			c.sleep(name, func() { c.awake(name); c.heard() })
		}
	}
	damaged := make(map[mail.RoomName]string)
	for name, l := range rooms {
		if at := copied[name]; l.Last < at && l.Here() && !l.Headless {
			l.Dangers = append(l.Dangers, fmt.Sprintf("it ends at %d, but the copy here ends at %d", l.Last, at))
		}
		if len(l.Dangers) > 0 {
			damaged[name] = strings.Join(l.Dangers, "; ")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, why := range c.damaged {
		if _, there := rooms[name]; !there {
			damaged[name] = why
		}
	}
	for name := range c.removed { // after this list was begun
		delete(rooms, name)
		delete(damaged, name)
	}
	c.rooms, c.damaged = rooms, damaged
	return nil
}

// copied returns how far the copies of open rooms have got, which is never further than their streams.
func (c *Cluster) copied() map[mail.RoomName]mail.Seq {
	at := make(map[mail.RoomName]mail.Seq)
	if c.set != nil {
		c.set.Each(func(e *Entry) {
			if e.clustered {
				at[e.Room.Name()] = e.files.Last()
			}
		})
	}
	return at
}

// Forget removes a room from the servers. Then this machine may make it again: it is not in a list that is older.
func (c *Cluster) Forget(ctx context.Context, room string, g jetstream.Gone) error {
	if err := c.Cluster.Forget(ctx, room, g); err != nil {
		return err
	}
	name := mail.RoomName(room)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed[name] = true
	delete(c.rooms, name)
	delete(c.damaged, name)
	return nil
}

// lost records what is wrong with a room that has a copy on this machine but is not listed, although no one removed
// it.
func (c *Cluster) lost(name mail.RoomName, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.rooms[name]; !there {
		c.damaged[name] = why
	}
}

// mend tells the person what is wrong with the stream of a room, and what to do; "" if no damage is known.
func (c *Cluster) mend(name mail.RoomName) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.damaged[name] == "" {
		return ""
	}
	return fmt.Sprintf("room %s: %s. To restore it from the machines' copies: pennypost rooms restore %s",
		name, c.damaged[name], name)
}

// troubleOf is trouble for a room whose stream may also be damaged.
func (c *Cluster) troubleOf(name mail.RoomName) string { return cmp.Or(c.trouble(), c.mend(name)) }

func (c *Cluster) isAsleep(name mail.RoomName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asleep[name] != nil
}

// Run keeps in touch with the servers and the other machines until ctx ends. It returns an error if another machine
// turns out to have this machine's name.
func (c *Cluster) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- c.machines.Run(ctx) }()
	go c.tend(ctx)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var at, asked time.Time
	for {
		reached := c.Trouble() == nil
		if reached {
			c.answers(ctx, at, &asked)
		}
		select {
		case err := <-failed:
			return err
		case <-tick.C:
		case <-c.changed:
			if at = time.Now(); !reached {
				continue
			}
			switch err := c.list(ctx); {
			case err == nil:
				c.set.listed()
			case ctx.Err() == nil:
				c.log.Warn("rooms on the NATS servers not listed", "err", err)
			}
		}
	}
}

// answers notes that the servers answer, and starts whatever is due: reading their settings, last read at asked, and
// listing their rooms, last listed at listed.
func (c *Cluster) answers(ctx context.Context, listed time.Time, asked *time.Time) {
	c.mu.Lock()
	back := time.Since(c.asOf) > 2*time.Second
	c.asOf = time.Now()
	eager := c.asOf.Before(c.eager)
	c.mu.Unlock()
	if back || asked.IsZero() || time.Since(*asked) > settingsEvery {
		*asked = time.Now()
		go c.readSettings(ctx)
	}
	every := listEvery
	if c.Unsettled() {
		every = unsettledEvery
	}
	if back || eager && time.Since(listed) > time.Second/2 || time.Since(listed) > every {
		c.changed.Give()
	}
}

func (c *Cluster) readSettings(ctx context.Context) {
	warnings := c.Warnings(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range warnings {
		if !slices.Contains(c.warnings, w) {
			c.log.Warn("NATS servers", "warning", w)
		}
	}
	c.warnings = warnings
}

// has reports whether a room is known to be on the servers.
func (c *Cluster) has(name mail.RoomName) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rooms[name].Here()
}

// names returns the known rooms on the servers.
func (c *Cluster) names() (names []mail.RoomName) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, l := range c.rooms {
		if l.Here() {
			names = append(names, name)
		}
	}
	return names
}

// trouble says how old the knowledge of the rooms on the servers is, and why; "" if it is current.
func (c *Cluster) trouble() string {
	if c.Trouble() == nil {
		return ""
	}
	why := "cannot be reached"
	if c.Refused() {
		why = "refuse this machine; see [journal] in config.toml"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return "as of " + c.asOf.Local().Format("15:04") + "; the NATS servers " + why
}

// Status describes the servers in the post office's status.
func (c *Cluster) Status() *wire.Cluster {
	if c == nil {
		return nil
	}
	st := &wire.Cluster{Machine: c.name, Skew: c.Skew().Milliseconds(), Health: c.Health()}
	if c.Trouble() != nil {
		st.Trouble = c.trouble()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Warnings = slices.Clone(c.warnings)
	return st
}

// broken returns the rooms whose streams are damaged, sorted.
func (c *Cluster) broken() []mail.RoomName {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.damaged))
}

// sleep calls wake when something happens in a closed room.
func (c *Cluster) sleep(name mail.RoomName, wake func()) {
	stop, err := c.OnAppend(string(name), wake)
	if err != nil {
		c.log.Warn("not listening for mail in a closed room", "room", name, "err", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.asleep[name]; before != nil {
		before()
	}
	c.asleep[name] = stop
}

// awake ends sleep.
func (c *Cluster) awake(name mail.RoomName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.asleep[name]; stop != nil {
		stop()
		delete(c.asleep, name)
	}
}

// known returns the rooms on the servers, with the sequence numbers that they have reached.
func (c *Cluster) known() map[mail.RoomName]jetstream.Listed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.rooms)
}

// doze reopens a room that is closed, or is being closed, when something happens in it: its agents here must be
// woken, and this machine may be the one that looks after it.
func (o *Set) doze(name mail.RoomName) {
	o.Cluster.sleep(name, func() { go o.Touch(context.Background(), name) })
}

// onServers returns the rooms on the servers of which this machine has a copy.
func (o *Set) onServers() (rooms []mail.RoomName) {
	dirs, _ := os.ReadDir(o.Config.Home.Rooms())
	for _, d := range dirs {
		name, err := mail.ParseRoom(d.Name())
		if err != nil {
			continue
		}
		if k, err := readKind(o.Dir(name)); err == nil && k.Kind == config.KindJetStream && k.Moved == "" {
			rooms = append(rooms, name)
		}
	}
	return rooms
}

// listed compares the rooms here with the latest list of those on the servers.
func (o *Set) listed() {
	rooms := o.Cluster.known()
	for _, name := range o.onServers() {
		l, there := rooms[name]
		o.mu.Lock()
		st, known := o.known[name]
		o.mu.Unlock()
		switch {
		case !there, l.Moved != "":
			go o.leftServers(name, l)
		case o.InUse(name):
		case known && st.Seq < l.Last: // something happened while no one listened
			go o.Touch(context.Background(), name)
		case !known && !o.Cluster.isAsleep(name):
			o.doze(name)
		}
	}
	o.Bell.ring("")
}
