package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/a2a"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/events"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/github"
	"pennypost/internal/office/invite"
	"pennypost/internal/office/listen"
	"pennypost/internal/office/outbox"
	"pennypost/internal/office/relay"
	"pennypost/internal/office/rooms"
	"pennypost/internal/wire"
	"pennypost/internal/wire/ownserver"
)

// Options say how to run a post office. Config must be set; other zero values mean the defaults.
type Options struct {
	Config  config.Config
	Version string
	Log     *slog.Logger // default: discard

	// Auto means that a command started this post office, not a person: it exits after Config.IdleExit without a
	// connection.
	Auto bool
	// Remote makes it a relay to the post office of another machine; nil: it is a post office.
	Remote *relay.Remote
	// Dev adds the routes that are for development only.
	Dev bool
	// Ready is called once everything listens. It may be nil.
	Ready func(Place)
}

// Place is where a post office can be reached.
type Place struct {
	Socket string // path of the Unix socket
	HTTP   string // base URL; empty without TCP
	HTTPS  string // base URL for other machines; empty without TLS
	// Fingerprint is the SHA-256 of the certificate there, as browsers show it.
	Fingerprint string
	Token       string // path of the file with the operator's token
	// Remote is Options.Remote.
	Remote *relay.Remote
	// Login makes a link that opens the pages, at that room, once. Without TCP it is nil.
	Login func(mail.RoomName) (string, error)
}

// Bounds of a start and of a stop.
const (
	// lockPatience is how long a start waits for the previous post office, which may be stopping.
	lockPatience = 5 * time.Second
	// deathThroes is how long a killed process may still accept connections.
	deathThroes = 500 * time.Millisecond
	// stopPatience is how long calls under way may continue after a stop. Appends take milliseconds; any call that
	// is left then has a client that does not read.
	stopPatience = 5 * time.Second
	// mcpPatience is how long MCP calls may continue. A send takes milliseconds; a wait or a stream would continue
	// for hours.
	mcpPatience = 300 * time.Millisecond
)

// daemon is a running post office.
type daemon struct {
	opts    Options
	log     *slog.Logger
	started time.Time
	place   Place

	office  *caller.Rooms
	gate    *gate.Gate
	metrics *rooms.Metrics
	pages   pages
	github  *github.Face
	guests  *guests
	scripts *gate.Scripts
	a2a     *a2a.Door           // nil: this machine uses the post office of another
	hooks   *events.Hooks       // nil: no address is told of events
	cert    *listen.Certificate // for other machines; nil: none

	closing     context.Context // done when the post office begins to stop
	stop        context.CancelFunc
	connections listen.Connections
	calls       calls
	busy        atomic.Int64   // calls under way, for wire.Status.Busy
	running     sync.WaitGroup // goroutines of Run
}

// Run runs a post office. It returns nil after ctx ended, after a request to stop, or after it was idle for long
// enough; and an error if it could not start or continue. All its goroutines have ended by then.
//
// If another post office runs on the same data directory and does not end within 5 s, the error is of code Conflict
// and has a durable.LockedError in its chain. The code is the same if another post office has this machine's name.
func Run(ctx context.Context, opts Options) (err error) {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	home := opts.Config.Home
	if err := home.Create(); err != nil {
		return err
	}
	lock, err := takeLock(ctx, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	token, host, err := loadSecrets(home)
	if err != nil {
		return err
	}
	invited, err := invite.Open(home.Joined())
	if err != nil {
		return err
	}
	var scripts *gate.Scripts
	if opts.Remote == nil {
		if scripts, err = gate.OpenScripts(home.Scripts()); err != nil {
			return err
		}
	}
	confirm, err := gate.OpenConfirmations(home.Passphrase(), opts.Config.User.Confirm)
	if err != nil {
		return err
	}
	var far *relay.Far
	var cluster *rooms.Cluster
	if opts.Remote != nil {
		opts.Config.TLS.Listen = "" // the post office itself lets other machines in
		if far, err = relay.New(*opts.Remote, opts.Log); err != nil {
			return err
		}
		defer far.There.Close()
	} else {
		startServer(ctx, home, opts.Log)
		if cluster, err = rooms.Connect(ctx, &opts.Config, opts.Version, opts.Log); err != nil {
			return err
		}
	}
	box, err := outbox.Open(home.Outbox(), outbox.Options{Log: opts.Log, Most: opts.Config.Outbox.Letters,
		Bytes: int64(opts.Config.Outbox.Megabytes) << 20})
	if err != nil {
		return errors.Join(err, cluster.Close())
	}
	at, err := listen.Open(&opts.Config, opts.Log)
	if err != nil {
		return errors.Join(err, cluster.Close())
	}
	d := newDaemon(ctx, opts, token, host, at, invited, scripts)
	d.office.Confirm, d.office.Kept = confirm, box
	d.office.Set.Waiting = box.Waiting
	d.office.Doubts = outbox.OpenDoubts(home.Doubts(), opts.Log)
	d.office.Set.Use(cluster, d.office.Answers())
	if far != nil {
		d.office.Relayed(far)
	}
	return d.run(at)
}

// startServer starts the NATS server of a machine of a cluster. If that fails, the post office uses another
// machine's.
func startServer(ctx context.Context, home config.Home, log *slog.Logger) {
	if !ownserver.Wanted(home) {
		return
	}
	if err := ownserver.Start(ctx, home, os.Environ()); err != nil {
		log.Error("server of the cluster not started", "err", err)
	}
}

// tendServer restarts the server when it has ended. If rooms must be kept otherwise than when this post office
// started, as when a second machine joins its cluster, the post office ends: the next command starts it again, or
// its service manager does.
func (d *daemon) tendServer(failed chan<- error) {
	j, home := &d.opts.Config.Journal, d.opts.Config.Home
	if c, err := config.LoadCluster(home); err == nil && c == nil {
		return // pennypost cluster restarts the post office when it brings the machine into one
	}
	if j.Servers > 0 {
		d.running.Go(func() {
			ownserver.Tend(d.closing, home, os.Environ(), func(err error) {
				d.log.Error("server of the cluster not started", "err", err)
			})
		})
	}
	for pause.For(d.closing, time.Second) {
		c, err := config.LoadCluster(home)
		if err != nil || !j.Outdated(c) || d.busy.Load() > 0 {
			continue
		}
		d.log.Info("more servers in the cluster; restarting")
		if !d.opts.Auto {
			failed <- mail.Errorf(mail.Conflict, "another machine has joined the cluster, so new rooms are stored "+
				"on more servers: restart the post office")
		}
		d.stop()
	}
}

// takeLock makes this process the only post office of home.
func takeLock(ctx context.Context, home config.Home) (*durable.Lock, error) {
	began := time.Now()
	for {
		lock, err := durable.TryLock(home.Lock())
		locked, held := errors.AsType[*durable.LockedError](err)
		if !held {
			return lock, err
		}
		// A process that listens is not stopping, so waiting for it is useless; but a killed process listens for a
		// moment longer.
		if waited := time.Since(began); waited > lockPatience || waited > deathThroes && answers(home) {
			return nil, &mail.Error{Code: mail.Conflict, Msg: "a post office is already running at " +
				"" + string(home) + ": " +
				locked.Error(), Err: err}
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// answers reports whether a process listens on the socket of home.
func answers(home config.Home) bool {
	conn, err := net.DialTimeout("unix", home.Socket(), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func newDaemon(ctx context.Context, opts Options, token, host string, at listen.Listeners,
	invited *invite.List, scripts *gate.Scripts) *daemon {
	d := &daemon{opts: opts, log: opts.Log, started: time.Now(), metrics: rooms.NewMetrics()}
	d.place = Place{Socket: opts.Config.Home.Socket(), Token: opts.Config.Home.Token(),
		Remote: opts.Remote}
	if at.TCP != nil {
		d.place.HTTP = "http://" + at.TCP.Addr().String()
	}
	if at.TLS != nil {
		d.place.HTTPS = "https://" + at.TLS.Addr().String()
		d.place.Fingerprint = at.Cert.Fingerprint()
		d.cert = at.Cert
	}
	d.pages = pages{base: d.place.HTTP, host: host, phone: listen.ForPhones(&d.opts.Config, at),
		config: d.opts.Config.Home.File()}
	d.guests = &guests{List: invited, daemon: d}
	if at.TLS != nil {
		d.pages.machines = listen.ForOthers(&opts.Config, at)
	}
	d.closing, d.stop = context.WithCancel(ctx)
	d.office = newOffice(&d.opts.Config, d.log, d.metrics)
	d.office.Set.Phone = d.pages.phone
	d.office.Set.LetIn = func(m mail.Machine, pass string) bool { return d.guests.Life(m, pass) != nil }
	if at.TCP != nil {
		d.office.Set.LetterLink = d.pages.LetterLink
	}
	d.github = d.newGitHub()
	d.scripts = scripts
	d.gate = newGate(token, &d.opts.Config, d.office, scripts, d.guests)
	d.connections.Since = time.Now()
	d.calls.daemon = d
	d.metrics.Of(d.office.Set, d.connections.Size)
	return d
}

// run serves until the post office must stop, and stops it.
func (d *daemon) run(at listen.Listeners) error {
	defer d.stop()
	boundGarbage(d.closing, restsAfter)
	err := cmp.Or(d.openA2A(), d.openEvents())
	var handler http.Handler
	var closeHandler func()
	if err == nil {
		handler, closeHandler, err = d.handler()
	}
	if err != nil {
		at.Close()
		return err
	}
	server := d.server(handler)
	failed := make(chan error, 7) // one for each listener, and two for the cluster
	for _, l := range at.All() {
		d.running.Go(func() {
			shed := d.connections.Shed(l, d.log)
			if l == at.TLS {
				shed = tls.NewListener(shed, d.cert.Config())
			}
			if err := server.Serve(shed); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
				d.stop()
			}
		})
	}
	d.running.Go(func() { d.office.Set.Run(d.closing) })
	if d.office.Far != nil {
		d.running.Go(func() { d.office.Far.Run(d.closing) })
	} else {
		d.running.Go(func() { d.office.TendTeams(d.closing) })
		d.running.Go(func() { d.github.Run(d.closing) })
	}
	d.running.Go(func() { d.tendServer(failed) })
	d.running.Go(func() { d.office.SendKept(d.closing) })
	d.running.Go(func() { d.office.FollowSessions(d.closing) })
	d.running.Go(func() { d.office.WatchClaims(d.closing) })
	d.running.Go(func() { d.office.TendDialogs(d.closing) })
	d.running.Go(func() { d.office.TendCodexDialogs(d.closing) })
	if c := d.office.Set.Cluster; c != nil {
		d.running.Go(func() {
			if err := c.Run(d.closing); err != nil {
				d.log.Error("post office ends", "err", err)
				failed <- err
				d.stop()
			}
		})
	}
	d.running.Go(func() { d.office.Set.Notify.Run(d.closing) })
	if d.a2a != nil {
		d.running.Go(func() { d.a2a.Run(d.closing) })
	}
	d.running.Go(d.tellHooks)
	d.running.Go(func() {
		d.office.Set.Resume(d.closing)
		if d.office.Far == nil {
			d.office.Set.Begin(d.closing)
		}
	})
	if d.opts.Auto {
		d.running.Go(d.leaveWhenAlone)
	}
	d.log.Info("post office open", "version", d.opts.Version, "pid", os.Getpid(), "socket", d.place.Socket, "http",
		d.place.HTTP, "auto", d.opts.Auto)
	if d.opts.Ready != nil {
		place := d.place
		if place.HTTP != "" {
			place.Login = func(room mail.RoomName) (string, error) { return d.pages.Link(wire.Login{Room: room}) }
		}
		d.opts.Ready(place)
	}
	<-d.closing.Done()
	d.log.Info("post office closing")
	d.shutDown(server, closeHandler)
	d.running.Wait()
	err = d.office.Set.Close()
	d.log.Info("post office closed", "up", time.Since(d.started).Round(time.Second))
	select {
	case serveErr := <-failed:
		return errors.Join(serveErr, err)
	default:
		return err
	}
}

// shutDown stops accepting, which removes the socket, and gives the calls under way their time. d.closing has
// already ended the waits and streams of the API; closeMCP ends those of MCP, which cannot be told from its calls.
func (d *daemon) shutDown(server *http.Server, closeMCP func()) {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	closeMCP = sync.OnceFunc(closeMCP)
	defer closeMCP()
	defer time.AfterFunc(mcpPatience, closeMCP).Stop()
	if err := server.Shutdown(ctx); err != nil {
		d.log.Warn("calls cancelled", "err", err)
		server.Close()
	}
	d.pages.site.Close()
}

// status answers GET /api/v1/status.
func (d *daemon) status(ctx context.Context) (wire.Status, error) {
	st := wire.Status{
		Version: d.opts.Version, PID: os.Getpid(), Started: mail.TimeOf(d.started), Home: string(d.opts.Config.Home),
		Listen: []string{d.place.Socket}, Rooms: d.office.Set.Each(func(*rooms.Entry) {}),
	}
	if pass := gate.PassOf(ctx); pass != nil && len(pass.Rooms) > 0 {
		st.Rooms = 0
		for _, name := range pass.Rooms {
			if d.office.Set.InUse(name) {
				st.Rooms++
			}
		}
		return st, nil
	}
	st.Busy = int(d.busy.Load())
	st.Bridges, st.Failing = d.office.Set.Troubles()
	st.Joined = d.office.Set.Reach.Machines.Names()
	if d.office.Far != nil {
		st.Relay = d.office.Far.Status()
	}
	st.Cluster = d.office.Set.Cluster.Status()
	st.Outbox = outboxStatus(d.office.Kept)
	if d.place.HTTP != "" {
		st.Listen = append(st.Listen, d.place.HTTP)
	}
	if d.cert != nil {
		st.Listen = append(st.Listen, d.place.HTTPS)
		st.Fingerprint = d.cert.Fingerprint()
	}
	return st, nil
}

// outboxStatus returns the figures of the outbox; nil if it is empty.
func outboxStatus(box *outbox.Box) *wire.OutboxFigures {
	all := box.List(func(*mail.Kept) bool { return true })
	st := &wire.OutboxFigures{Unread: all.Unread}
	for i := range all.Letters {
		switch k := &all.Letters[i]; {
		case k.Refused:
			st.Refused++
		case st.Waiting == 0 || k.Since < st.Since:
			st.Since, st.Why = k.Since, k.Why
			fallthrough
		default:
			st.Waiting++
		}
	}
	if *st == (wire.OutboxFigures{}) {
		return nil
	}
	return st
}
