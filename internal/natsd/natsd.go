package natsd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/natsfiles"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

type natsMsg = nats.Msg

const (
	// idlePatience is how long the process of a machine in no cluster waits for a request for one.
	idlePatience = time.Minute
	maxQuestion  = 1 << 20
)

// Options configure Run. Home must be set.
type Options struct {
	Home config.Home
	Log  *slog.Logger // default: discard
}

// daemon is the process.
type daemon struct {
	home config.Home
	log  *slog.Logger
	stop context.CancelFunc // ends Run
	ctx  context.Context    // of Run

	changed pause.Nudge // streams must be checked
	running sync.WaitGroup

	acting   sync.Mutex // held while a cluster is made, joined or changed
	applying sync.Mutex // held by apply

	cluster atomic.Pointer[config.Cluster] // nil: this machine is in none
	cert    tls.Certificate
	node    *node // set, like cert, codes and js, before cluster is
	js      jetstream.JetStream
	codes   *codes
}

// Run runs the server of a machine until ctx ends or a request stops it. A machine that is in no cluster waits for a
// request for one. If another process already does this, it returns nil immediately.
func Run(ctx context.Context, opts Options) (err error) {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	lock, err := durable.TryLock(opts.Home.ServerLock())
	if _, held := errors.AsType[*durable.LockedError](err); held {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	d := &daemon{home: opts.Home, log: opts.Log, changed: pause.NewNudge()}
	d.ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	c, err := config.LoadCluster(opts.Home)
	switch {
	case err != nil:
		return err
	case c == nil:
		defer time.AfterFunc(idlePatience, func() {
			if d.cluster.Load() == nil {
				d.stop()
			}
		}).Stop()
	case c.Removed:
		return mail.Errorf(mail.Conflict, "this machine was removed from its cluster; pennypost cluster leave "+
			"forgets that")
	default:
		if c.Stopped {
			c.Stopped = false
			err = c.Write(opts.Home)
		}
		if err == nil {
			err = d.begin(c)
		}
		if err != nil {
			return err
		}
	}
	defer d.end()
	return d.serve()
}

// begin starts the server of a machine that is in a cluster.
func (d *daemon) begin(c *config.Cluster) error {
	if err := d.prepare(); err != nil {
		return err
	}
	if len(c.Members) == 1 {
		if err := d.clear(); err != nil {
			return err
		}
	}
	d.cluster.Store(c)
	n := &node{log: d.log, cert: d.cert, codes: d.codes,
		known: func(pin selfsigned.Pin) bool { return d.cluster.Load().Knows(pin) }}
	d.node = n
	err := n.start(d.home, c)
	if err == nil {
		d.js, err = jetstream.New(n.members)
	}
	if err != nil {
		d.cluster.Store(nil)
		return err
	}
	d.log.Info("server of a cluster runs", "machine", c.Machine, "members", len(c.Members), "pid", os.Getpid())
	return nil
}

// clear puts away the server's data from times with other machines: alone it stores nothing.
func (d *daemon) clear() error {
	if left, _ := filepath.Glob(filepath.Join(d.home.Servers(), "jetstream", rooms, "streams", "*")); len(left) == 0 {
		return os.RemoveAll(d.home.Servers())
	}
	return d.home.PutServersAway()
}

// prepare reads, or creates, the key of this machine, and the codes.
func (d *daemon) prepare() (err error) {
	if d.cert, err = selfsigned.KeepEd25519(d.home.ClusterKey(), nil, time.Now()); err != nil {
		return err
	}
	d.codes, err = openCodes(d.home.ClusterCodes())
	return err
}

// tendAll starts everything that runs while the machine is in a cluster.
func (d *daemon) tendAll() {
	d.running.Go(func() { d.follow(d.ctx) })
	d.running.Go(func() { d.tend(d.ctx) })
	d.running.Go(func() { d.admitAll(d.ctx) })
	if _, err := d.node.rooms.Subscribe(natsfiles.Subject, d.answerFiles); err != nil {
		d.log.Error("erased messages will not be looked for in the server's files", "err", err)
	}
	d.running.Go(func() {
		select {
		case <-d.ctx.Done():
		case why := <-d.node.fatal:
			d.log.Error("the server cannot go on", "err", why)
			d.stop()
		}
	})
}

// end ends everything that runs.
func (d *daemon) end() {
	d.stop()
	d.running.Wait()
	if d.node != nil {
		d.node.stop()
	}
}

func (d *daemon) pin() selfsigned.Pin { return selfsigned.PinOf(d.cert.Leaf) }

// serve answers on the socket until the process must end.
func (d *daemon) serve() error {
	if err := d.home.CheckSocket(true); err != nil {
		return err
	}
	_ = os.Remove(d.home.ServerSocket()) // of a process that was killed; we hold the lock
	l, err := net.Listen("unix", d.home.ServerSocket())
	if err != nil {
		return err
	}
	if err := os.Chmod(d.home.ServerSocket(), 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	if d.cluster.Load() != nil {
		d.tendAll()
	}
	mux := http.NewServeMux()
	answer(mux, "init", d.init)
	answer(mux, "join", d.join)
	answer(mux, "invite", d.invite)
	answer(mux, "status", d.status)
	answer(mux, "remove", d.remove)
	answer(mux, "stop", d.stopped)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err = <-failed:
		return err
	case <-d.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	return nil
}

// answer registers f as the handler of a question.
func answer[Q, A any](mux *http.ServeMux, what string, f func(context.Context, Q) (A, error)) {
	mux.HandleFunc("POST /"+what, func(w http.ResponseWriter, r *http.Request) {
		var q Q
		var got A
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
		if err == nil {
			err = jsonx.Unmarshal(text, &q)
		}
		if err != nil {
			err = mail.Errorf(mail.Invalid, "the question cannot be read: %v", err)
		} else {
			got, err = f(r.Context(), q)
		}
		status := http.StatusOK
		if err != nil {
			status = http.StatusConflict
			text, err = jsonx.Marshal(wire.Problem{Code: mail.CodeOf(err), Detail: err.Error(), Status: status})
		} else {
			text, err = jsonx.Marshal(got)
		}
		if err != nil {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
		_, _ = w.Write(text)
	})
}

// stopped stops the server until the person starts it again.
func (d *daemon) stopped(_ context.Context, _ wire.None) (wire.None, error) {
	d.acting.Lock()
	defer d.acting.Unlock()
	if c := d.cluster.Load(); c != nil {
		stopped := *c
		stopped.Stopped = true
		d.applying.Lock()
		err := stopped.Write(d.home)
		d.cluster.Store(&stopped)
		d.applying.Unlock()
		if err != nil {
			return wire.None{}, err
		}
	}
	d.stop()
	return wire.None{}, nil
}

// inCluster returns what this machine knows of its cluster.
func (d *daemon) inCluster() (*config.Cluster, error) {
	if c := d.cluster.Load(); c != nil {
		return c, nil
	}
	return nil, mail.Errorf(mail.NotFound, "this machine is in no cluster: pennypost cluster init makes one, and "+
		"pennypost cluster join comes into one")
}
