package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/relay"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// cable is a network between two machines that can be cut.
type cable struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	cut     bool // new connections are refused
	deaf    bool // nothing gets through, and no one is told
	mute    bool // no answer gets through
	conns   map[net.Conn]bool
	carried int // connections, in total
}

// newCable returns a cable to an address.
func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, to: to, conns: make(map[net.Conn]bool)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.carry(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.set(true, false)
		running.Wait()
	})
	return c
}

func (c *cable) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	cut := c.cut
	c.conns[near], c.conns[far] = true, true
	c.carried++
	c.mu.Unlock()
	if cut {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			defer near.Close()
			defer far.Close()
			_, _ = io.Copy(&gated{pair[1], c, pair[1] == near}, pair[0])
		})
	}
	both.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, near)
	delete(c.conns, far)
}

// gated is a connection that discards writes while the cable is deaf or, in the direction of the answers, mute.
type gated struct {
	net.Conn
	cable   *cable
	answers bool
}

func (g *gated) Write(b []byte) (int, error) {
	g.cable.mu.Lock()
	deaf := g.cable.deaf || g.cable.mute && g.answers
	g.cable.mu.Unlock()
	if deaf {
		return len(b), nil
	}
	return g.Conn.Write(b)
}

// silence makes all answers disappear, without telling anyone, until it is called again.
func (c *cable) silence(mute bool) {
	c.mu.Lock()
	c.mute = mute
	c.mu.Unlock()
	if !mute { // discarded writes never arrive
		c.set(true, false)
		c.set(false, false)
	}
}

// connections returns how many there have been.
func (c *cable) connections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.carried
}

// set cuts the cable, or makes it deaf, or mends it.
func (c *cable) set(cut, deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf && !deaf || cut { // discarded writes never arrive: the connections are spoilt
		for conn := range c.conns {
			conn.Close()
		}
	}
	c.cut, c.deaf = cut, deaf
}

// fleet is a post office and a relay to it on another machine.
type fleet struct {
	far, near *running
	cable     *cable
	remote    *relay.Remote
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	cfg := testConfig(t)
	cfg.TLS.Listen = "127.0.0.1:0"
	f := &fleet{far: start(t, Options{Config: cfg})}
	f.cable = newCable(t, strings.TrimPrefix(f.far.place.HTTPS, "https://"))
	f.remote = f.join(t, "ship-2", wire.Invite{})
	f.near = start(t, Options{Config: testConfig(t), Remote: f.remote})
	return f
}

// relay turns an office into that of a relay.
func (f *fleet) relay(t *testing.T, o *caller.Rooms) {
	t.Helper()
	far, err := relay.New(*f.remote, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o.Relayed(far)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		far.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended; far.There.Close() })
}

// join lets a machine in.
func (f *fleet) join(t *testing.T, name mail.Machine, ask wire.Invite) *relay.Remote {
	t.Helper()
	invited, err := f.far.office.Invite(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	code, err := wire.ParseCode(invited.Code)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay.Remote{URL: "https://" + f.cable.listener.Addr().String(), TLS: code.Trust.Config("127.0.0.1"),
		Machine: name}
	office, err := client.New(client.Options{URL: r.URL, TLS: r.TLS})
	if err != nil {
		t.Fatal(err)
	}
	defer office.Close()
	joined, err := office.Join(t.Context(), wire.Join{Secret: code.Secret.String(), Machine: r.Machine})
	if err != nil {
		t.Fatal(err)
	}
	r.Token = joined.Token
	return r
}

// A relay is a mail.Office like any other, except for calls that only work where the post office is.
func TestRelaySuite(t *testing.T) {
	mailtest.Run(t, func(t *testing.T) mail.Office {
		f := newFleet(t)
		return desked{f.near.office, f.far.office}
	})
}

// desked is a relay whose person makes such calls at the post office.
type desked struct {
	mail.Office
	far mail.Office
}

func (d desked) Room(ctx context.Context, room mail.RoomName, as mail.Name) (mail.Service, error) {
	near, err := d.Office.Room(ctx, room, as)
	if err != nil {
		return nil, err
	}
	far, err := d.far.Room(ctx, room, as)
	return deskedRoom{near, far}, err
}

type deskedRoom struct {
	mail.Service
	far mail.Service
}

func (d deskedRoom) Token(ctx context.Context, name mail.Name) (string, error) {
	return d.far.Token(ctx, name)
}

func (d deskedRoom) GuestToken(ctx context.Context, name mail.Name) (string, error) {
	return d.far.GuestToken(ctx, name)
}

func (d deskedRoom) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	if _, err := d.Service.AddBridge(ctx, b); mail.CodeOf(err) == "" {
		return mail.BridgeStatus{}, fmt.Errorf("adding it at the relay: %w, want that it is refused", err)
	}
	return d.far.AddBridge(ctx, b)
}

func (d deskedRoom) RemoveBridge(ctx context.Context, id string) error {
	return d.far.RemoveBridge(ctx, id)
}

func (d deskedRoom) SyncBridge(ctx context.Context, id string) (mail.BridgeStatus, error) {
	return d.far.SyncBridge(ctx, id)
}

func (d deskedRoom) AddWorkspace(ctx context.Context, w mail.Workspace) (mail.Workspace, error) {
	return d.far.AddWorkspace(ctx, w)
}

func (d deskedRoom) RemoveWorkspace(ctx context.Context, id mail.Name) error {
	return d.far.RemoveWorkspace(ctx, id)
}

// TestRelay holds that on a machine that uses another's post office everything is done there, as the caller that the
// relay has identified.
func TestRelay(t *testing.T) {
	f := newFleet(t)
	f.near.register(t, "a", "ann")
	sent, err := f.near.room(t, "a", "ann").Send(t.Context(), mail.Draft{To: []string{"user"}, Body: "from ship 2"})
	if err != nil {
		t.Fatal(err)
	}
	it, err := f.far.room(t, "a", mail.User).Message(t.Context(), sent.ID)
	if err != nil || it.From != mail.AgentAddress("ann") {
		t.Errorf("at the post office it is %+v, %v", it.Message, err)
	}
	st, err := f.near.office.Status(t.Context())
	want := wire.RelayStatus{URL: f.remote.URL, Machine: "ship-2"}
	if err != nil || st.Relay == nil || *st.Relay != want {
		t.Errorf("the relay says of itself %+v, %v; want %+v", st.Relay, err, want)
	}
	eventually(t, "the post office knows the machine", func() bool {
		st, err := f.far.office.Status(t.Context())
		return err == nil && len(st.Joined) == 1 && st.Joined[0] == "ship-2"
	})
	token, err := f.far.room(t, "a", mail.User).Token(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	if code, body := f.near.get(t, "/api/v1/rooms/a/inbox", token); code != 200 {
		t.Errorf("an agent's token at the relay: %d %s", code, body)
	}
	if code, _ := f.near.get(t, "/api/v1/rooms/b/inbox", token); code != 403 {
		t.Errorf("an agent's token opens another room at the relay: %d", code)
	}
	before := f.cable.connections()
	for range 20 {
		if code, body := f.near.get(t, "/api/v1/rooms/a/inbox", token); code != 200 {
			t.Fatalf("an agent's token at the relay: %d %s", code, body)
		}
	}
	if n := f.cable.connections() - before; n > 3 {
		t.Errorf("20 requests with an agent's token made %d connections to the post office", n)
	}
	link, err := f.near.office.Login(t.Context(), wire.Login{})
	if err != nil || !strings.HasPrefix(link, f.near.place.HTTP+"/login?key=") {
		t.Errorf("the relay opens its pages by %q, %v; want a link to itself", link, err)
	}
}

// TestP8_RelaySocket holds that an agent on another machine is woken there, once, by the door of its session there,
// and that mail that arrived while the machine was away is rung for when it is back.
func TestP8_RelaySocket(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	f := newFleet(t)
	path, posted := inbox(t)
	bob := f.near.room(t, "a", "bob")
	turn := func(m mail.Moment) {
		t.Helper()
		if _, err := bob.Turn(t.Context(), mail.Turn{Moment: m, Session: "s1", Client: "claude",
			Access: &mail.Access{Socket: path, Token: "0123456789abcdef", Dir: filepath.Dir(path),
				Mode: "default"}}); err != nil {
			t.Fatal(err)
		}
	}
	turn(mail.SessionStart)
	turn(mail.TurnEnd)
	user := f.far.room(t, "a", mail.User)
	ask := func(body string) *mail.Sent {
		t.Helper()
		sent, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Type: string(mail.Question), Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return &sent
	}
	sent := ask("how far?")
	if text := <-posted; !strings.Contains(text, "1 unread in room a") {
		t.Errorf("the socket got %s", text)
	}
	eventually(t, "the door is recorded", func() bool {
		it, err := user.Message(t.Context(), sent.ID)
		return err == nil && it.Deliveries[0].State == mail.Notified &&
			it.Deliveries[0].Door == "claude-socket on ship-2"
	})
	if _, err := bob.Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	f.cable.set(true, false)
	if got := ask("are you there?").Recipients[0].Wake; got != "claude-socket on ship-2" {
		t.Errorf("the sender is told that it is woken by %q", got)
	}
	eventually(t, "the machine is away", func() bool {
		st, _ := f.far.office.Status(t.Context())
		return len(st.Joined) == 0
	})
	f.cable.set(false, false)
	if text := <-posted; !strings.Contains(text, "1 unread in room a") {
		t.Errorf("the socket got %s", text)
	}
	select {
	case text := <-posted:
		t.Errorf("it is rung again: %s", text)
	case <-time.After(300 * time.Millisecond):
	}
}

// TestRelayAway holds that while the post office cannot be reached, calls fail within two seconds, with words that
// say so, and that watches then continue from their position.
func TestRelayAway(t *testing.T) {
	f := newFleet(t)
	f.near.register(t, "a", "ann")
	user, near := f.far.room(t, "a", mail.User), f.near.room(t, "a", "ann")
	if _, err := user.Send(t.Context(), mail.Draft{To: []string{"user"}, Body: "1"}); err != nil {
		t.Fatal(err)
	}
	w, err := near.Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var seen []string
	next := func(until string) {
		t.Helper()
		for len(seen) == 0 || seen[len(seen)-1] != until {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Message != nil {
					seen = append(seen, e.Message.Body)
				}
			}
		}
	}
	next("1")
	for name, fault := range map[string][2]bool{"cut": {true, false}, "deaf": {false, true}} {
		f.cable.set(fault[0], fault[1])
		for range 2 {
			began := time.Now()
			_, err := near.Inbox(t.Context(), mail.InboxQuery{})
			// two, plus the delay of a busy machine
			if took := time.Since(began); mail.CodeOf(err) != mail.Unavailable || took > 3*time.Second {
				t.Errorf("%s: reading fails after %s with %v", name, took, err)
			}
		}
		if _, err := user.Send(t.Context(), mail.Draft{To: []string{"user"}, Body: name}); err != nil {
			t.Fatal(err)
		}
		f.cable.set(false, false)
		next(name)
		eventually(t, "calls go through again", func() bool {
			_, err := near.Inbox(t.Context(), mail.InboxQuery{})
			return err == nil
		})
	}
	if len(seen) != 3 {
		t.Errorf("the watch has shown %q, want each once", seen)
	}
}

// TestRelayScope holds that on a machine that was let in for one agent and one room no caller gets more than that,
// and that a machine whose token was revoked is told what to type.
func TestRelayScope(t *testing.T) {
	f := newFleet(t)
	f.near.register(t, "a", "ann")
	f.near.register(t, "b", "bob")
	remote := f.join(t, "ship-3", wire.Invite{Rooms: []mail.RoomName{"a"}, Agent: "ann"})
	near := start(t, Options{Config: testConfig(t), Remote: remote})
	if _, err := near.room(t, "a", "ann").Send(t.Context(), mail.Draft{To: []string{"user"}, Body: "x"}); err != nil {
		t.Error(err)
	}
	for _, who := range []mail.Name{"bob", mail.User} {
		_, err := near.room(t, "a", who).Send(t.Context(), mail.Draft{To: []string{"ann"}, Body: "x"})
		if mail.CodeOf(err) != mail.Denied {
			t.Errorf("a send as %s: %v", who, err)
		}
	}
	if _, err := near.room(t, "b", "ann").Inbox(t.Context(), mail.InboxQuery{}); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("another room: %v", err)
	}
	if err := f.far.office.Revoke(t.Context(), string(remote.Machine)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the machine is told", func() bool {
		_, err := near.room(t, "a", "ann").Inbox(t.Context(), mail.InboxQuery{})
		return mail.CodeOf(err) == mail.Unknown && strings.Contains(err.Error(), "pennypost invite")
	})
	eventually(t, "its line has ended", func() bool {
		st, err := f.far.office.Status(t.Context())
		return err == nil && !slices.Contains(st.Joined, remote.Machine)
	})
}
