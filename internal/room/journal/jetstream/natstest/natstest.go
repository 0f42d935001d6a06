// Package natstest runs real NATS servers for tests, on loopback, as processes of their own.
package natstest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/clocktest"
	"pennypost/internal/suspendtest"
)

// Version is the version of the server that ./test builds from its module, and for which Program looks.
const Version = "v2.15.2"

// Program returns the path of the server program, or why there is none: $NATS_SERVER, the one that ./test has built,
// or the one in $PATH.
func Program() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	built := filepath.Join(cache, "pennypost-test", "bin", "nats-server-"+Version)
	for _, p := range []string{os.Getenv("NATS_SERVER"), built, "nats-server"} {
		if p == "" {
			continue
		}
		if path, err := exec.LookPath(p); err == nil {
			return path, nil
		}
	}
	return "", errors.New("nats-server is not here: ./test builds it, or set NATS_SERVER")
}

// Options of servers. The zero value syncs each write.
type Options struct {
	// Sync is the setting sync_interval, "always" by default.
	Sync string
	// Route returns the address at which server i finds server j, for tests that put something in between. Nil: its
	// own. With Route a server uses no other route, and notices within seconds that another is silent.
	Route func(i, j int, addr string) string
	// Config is added to the configuration of each server.
	Config string
	// Clocks makes SetClock work: the servers run the program of Clocked.
	Clocks bool
}

// Cluster is a cluster of servers, or a single server. Their data and configuration survive a restart.
type Cluster struct {
	dir     string
	program string
	opts    Options
	Servers []*Server
}

// Server is one server of a Cluster. Its addresses stay the same across restarts.
type Server struct {
	Name    string
	Client  string // address of clients, HOST:PORT
	Routes  string // address of the other servers
	Monitor string // address of its monitoring
	Dir     string // of its data

	cluster *Cluster
	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd has ended
}

// Start starts n servers for a test, stops them when it ends, and waits until they take appends. Without a server
// program, and with -short, it skips the test.
func Start(t testing.TB, n int, opts Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("NATS servers: ./test")
	}
	if _, err := Program(); err != nil {
		t.Skip(err)
	}
	c, err := New(t.TempDir(), n, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// New starts n servers with their data below dir, and waits until they take appends. The caller must stop them.
func New(dir string, n int, opts Options) (*Cluster, error) {
	find := Program
	if opts.Clocks {
		find = Clocked
	}
	program, err := find()
	if err != nil {
		return nil, err
	}
	opts.Sync = cmp.Or(opts.Sync, "always")
	c := &Cluster{dir: dir, program: program, opts: opts}
	for i := range n {
		addr, err := freeAddresses(3)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint("n", i+1)
		c.Servers = append(c.Servers, &Server{cluster: c, Name: name, Client: addr[0], Routes: addr[1],
			Monitor: addr[2], Dir: filepath.Join(dir, name)})
	}
	for i, s := range c.Servers {
		if err := c.configure(i, s); err != nil {
			return nil, err
		}
		if err := s.Start(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.Ready(time.Minute); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// configure writes the server's configuration.
func (c *Cluster) configure(i int, s *Server) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "server_name: %s\nlisten: %q\nhttp: %q\n", s.Name, s.Client, s.Monitor)
	fmt.Fprintf(&b, "jetstream { store_dir: %q, sync_interval: %s }\n", s.Dir, c.opts.Sync)
	if len(c.Servers) > 1 {
		var routes []string
		for j, o := range c.Servers {
			addr := o.Routes
			if c.opts.Route != nil && i != j {
				addr = c.opts.Route(i, j, addr)
			}
			routes = append(routes, fmt.Sprintf("%q", "nats://"+addr))
		}
		more := ""
		if c.opts.Route != nil { // else a server learns another's address from a third, and connects directly
			more = `advertise: "127.0.0.1:1", ping_interval: 2s, `
		}
		fmt.Fprintf(&b, "cluster { name: pennypost, listen: %q, no_advertise: true, %sroutes: [%s] }\n", s.Routes,
			more,
			strings.Join(routes, ", "))
	}
	b.WriteString(c.opts.Config)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(s.Dir+".conf", b.Bytes(), 0o600)
}

// URLs returns the addresses of all servers, for clients.
func (c *Cluster) URLs() (urls []string) {
	for _, s := range c.Servers {
		urls = append(urls, s.URL())
	}
	return urls
}

// Ready waits until a stream with a replica on each server can be created, which needs an elected leader.
func (c *Cluster) Ready(within time.Duration) error {
	deadline := time.Now().Add(within)
	var err error
	for time.Now().Before(deadline) {
		if err = c.tryStream(); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the servers took no stream in %v: %w", within, err)
}

func (c *Cluster) tryStream() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	nc, err := nats.Connect(strings.Join(c.URLs(), ","))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	const name = "natstest_ready"
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name},
		Replicas: len(c.Servers)}); err != nil {
		return err
	}
	return js.DeleteStream(ctx, name)
}

// Stop ends all servers.
func (c *Cluster) Stop() {
	for _, s := range c.Servers {
		s.Kill()
	}
}

// URL returns the address for clients as an URL.
func (s *Server) URL() string { return "nats://" + s.Client }

// Start starts the server, which must not be running, and waits until it answers.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(s.Dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.cluster.program, "-c", s.Dir+".conf")
	cmd.Stdout, cmd.Stderr = log, log
	if s.cluster.opts.Clocks {
		cmd.Env = append(os.Environ(), clocktest.Variable+"="+s.clock())
	}
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	s.cmd, s.ended = cmd, ended
	for range 600 {
		select {
		case <-ended:
			return fmt.Errorf("%s ended at once; its log:\n%s", s.Name, s.Log())
		case <-time.After(50 * time.Millisecond):
		}
		if conn, err := net.DialTimeout("tcp", s.Client, time.Second); err == nil {
			conn.Close()
			return nil
		}
	}
	return fmt.Errorf("%s does not answer; its log:\n%s", s.Name, s.Log())
}

// Kill ends the server like kill -9, and waits for it. It does nothing if the server is not running.
func (s *Server) Kill() { s.end(os.Kill) }

// Shut ends the server gracefully, and waits for it.
func (s *Server) Shut() { s.end(os.Interrupt) }

func (s *Server) end(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	<-s.ended
	s.cmd = nil
}

// Signal sends the server a signal, such as SIGSTOP.
func (s *Server) Signal(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return os.ErrProcessDone
	}
	return s.cmd.Process.Signal(sig)
}

// Suspend stops the server's execution until Resume, as if its machine hung.
func (s *Server) Suspend() error { return suspendtest.Suspend(s.PID()) }

// Resume continues it.
func (s *Server) Resume() error { return suspendtest.Resume(s.PID()) }

// PID returns the id of the server's process, 0 if it is not running.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// PIDs returns the process ids of the running servers.
func (c *Cluster) PIDs() (pids []int) {
	for _, s := range c.Servers {
		if pid := s.PID(); pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Log returns the server's log.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.Dir + ".log")
	return string(text)
}

// monitor gives up where a server that is stopped, or stuck, keeps a connection open without an answer.
var monitor = &http.Client{Timeout: 10 * time.Second}

// Get returns the server's monitoring data at a path such as /varz.
func (s *Server) Get(path string) ([]byte, error) {
	resp, err := monitor.Get("http://" + s.Monitor + path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
