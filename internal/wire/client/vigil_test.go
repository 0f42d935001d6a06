package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// frozen is a post office behind in-memory connections that can be stopped like by SIGSTOP: it accepts connections,
// but neither reads nor writes.
type frozen struct {
	conns   chan net.Conn
	stopped atomic.Bool
	calls   atomic.Int32 // except the checks whether it lives
	done    chan struct{}
	once    sync.Once
}

func (f *frozen) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *frozen) Close() error { f.once.Do(func() { close(f.done) }); return nil }

func (f *frozen) Addr() net.Addr { return &net.UnixAddr{Name: "frozen", Net: "unix"} }

// withFrozen runs a test against h, in a bubble.
func withFrozen(t *testing.T, h http.HandlerFunc, run func(*testing.T, *frozen, *Office)) {
	synctest.Test(t, func(t *testing.T) {
		f := &frozen{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				return
			}
			f.calls.Add(1)
			h(w, r)
		})}
		served := make(chan error)
		go func() { served <- server.Serve(f) }()
		o, err := New(Options{Socket: "frozen"})
		if err != nil {
			t.Fatal(err)
		}
		var kept []net.Conn
		o.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			if f.stopped.Load() {
				kept = append(kept, far) // in the kernel's queue
				f.calls.Add(1)
				return near, nil
			}
			f.conns <- far
			return near, nil
		}
		run(t, f, o)
		o.Close()
		server.Close()
		<-served
		for _, c := range kept {
			c.Close()
		}
	})
}

// Every kind of call ends when the post office does not answer, and none that changes something is made twice.
func TestFrozenOffice(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{
		"Send":  func(ctx context.Context, c *Client) error { _, err := c.Send(ctx, mail.Draft{}); return err },
		"Inbox": func(ctx context.Context, c *Client) error { _, err := c.Inbox(ctx, mail.InboxQuery{}); return err },
		"Wait":  func(ctx context.Context, c *Client) error { _, err := c.Wait(ctx, mail.WaitQuery{}); return err },
		"Watch": func(ctx context.Context, c *Client) error { _, err := c.Watch(ctx, 0); return err },
		"Ring": func(ctx context.Context, c *Client) error {
			_, err := c.office.Ring(ctx, "lab", "ann", mail.Listener{Door: "monitor"})
			return err
		},
		"Turn": func(ctx context.Context, c *Client) error { _, err := c.Turn(ctx, mail.Turn{}); return err },
		"Export": func(ctx context.Context, c *Client) error {
			for _, err := range c.Export(ctx) {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFrozen(t, nil, func(t *testing.T, f *frozen, o *Office) {
				f.stopped.Store(true)
				room, _ := o.Room(t.Context(), "lab", "ann")
				began := time.Now()
				err := call(t.Context(), room.(*Client))
				if d := time.Since(began); mail.CodeOf(err) != mail.Unavailable ||
					!strings.Contains(err.Error(), "does not answer") || d != quiet+patience {
					t.Errorf("after %v: %v (%s), want unavailable after 10 s", d, err, mail.CodeOf(err))
				}
				if n := f.calls.Load(); n != 2 { // and the check whether it lives
					t.Errorf("%d connections, want 2", n)
				}
			})
		})
	}
}

// A slow call is waited for while the post office lives.
func TestSlowOffice(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * time.Minute)
		w.Header().Set("Content-Type", wire.JSON)
		io.WriteString(w, `{"agents":[{"name":`)
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Minute)
		io.WriteString(w, `"ann"}]}`)
	}
	withFrozen(t, slow, func(t *testing.T, f *frozen, o *Office) {
		room, _ := o.Room(t.Context(), "lab", "ann")
		if list, err := mail.Roster(t.Context(), room); err != nil || len(list) != 1 || f.calls.Load() != 1 {
			t.Errorf("Agents = %v, %v in %d calls", list, err, f.calls.Load())
		}
	})
}

// Calls that are connected when the post office freezes end, too.
func TestFreezesMeanwhile(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for name, call := range map[string]func(context.Context, *testing.T, *Client) error{
		"Watch": func(ctx context.Context, t *testing.T, c *Client) error {
			w, err := c.Watch(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			_, err = w.Next(ctx)
			return err
		},
		"Wait": func(ctx context.Context, t *testing.T, c *Client) error {
			_, err := c.Wait(ctx, mail.WaitQuery{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFrozen(t, stream, func(t *testing.T, f *frozen, o *Office) {
				room, _ := o.Room(t.Context(), "lab", "ann")
				began := time.Now()
				time.AfterFunc(time.Second, func() {
					o.transport.CloseIdleConnections()
					f.stopped.Store(true)
				})
				err := call(t.Context(), t, room.(*Client))
				if d := time.Since(began); mail.CodeOf(err) != mail.Unavailable || d > 2*(quiet+patience) {
					t.Errorf("after %v: %v (%s), want unavailable", d, err, mail.CodeOf(err))
				}
			})
		})
	}
}
