package systemtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/superportia/contracttest"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/wire"
)

// cable is the connection from one machine to another, which can be cut.
type cable struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// lay returns a cable to an address.
func lay(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: l, to: to, conns: make(map[net.Conn]bool)}
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
		c.set(true)
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
	c.conns[near] = true
	c.mu.Unlock()
	if cut {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		defer near.Close()
		_, _ = io.Copy(near, far)
	})
	_, _ = io.Copy(far, near)
	far.Close()
	back.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, near)
}

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		if cut {
			conn.Close()
		}
	}
	c.cut = cut
}

// cloud is a post office that ships use from other machines.
type cloud struct {
	*office
	daemon *daemon
}

// ship is a machine without a post office of its own.
type ship struct {
	*office
	cable *cable
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	o := newOffice(t)
	return &cloud{o, o.mustServe(t, "--tls=127.0.0.1:0")}
}

// ship makes a machine join.
func (c *cloud) ship(t *testing.T, name string) *ship {
	t.Helper()
	invited := ask[wire.Invited](t, c.office, "invite")
	s := &ship{newOffice(t), lay(t, strings.TrimPrefix(invited.URL, "https://"))}
	s.must(t, "join", "https://"+s.cable.Addr().String(), invited.Code, "--name", name)
	return s
}

// relays returns the relays that run on a ship.
func (s *ship) relays() (found []process) {
	for _, p := range s.processes() {
		if len(p.args) > 1 && p.args[1] == "relay" {
			found = append(found, p)
		}
	}
	return found
}

// portSession is an agent's session for the contract.
type portSession struct{ *agent }

func (s portSession) Tools() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := s.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s portSession) Call(tool string, args []byte) ([]byte, error) {
	text, err := s.call(context.Background(), tool, json.RawMessage(args))
	return []byte(text), err
}

// TestShipsContract holds the superportia dialect to its contract when each identity is on another ship.
func TestShipsContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	places := []*office{c.ship(t, "ship-1").office, c.ship(t, "ship-2").office, c.office}
	fleets := 0
	contracttest.Run(t, func(t *testing.T, identities []byte) contracttest.Connect {
		fleets++
		room, n := fmt.Sprintf("fleet-%d", fleets), -1
		c.load(t, room, identities)
		return func(t *testing.T, identity string) contracttest.Session {
			n++
			a, err := places[n%len(places)].agent(eras()[n%2], "--dialect", "superportia", "--room", room, "--as",
				identity)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { a.session.Close() })
			return portSession{a}
		}
	})
}

func (c *cloud) load(t *testing.T, room string, identities []byte) {
	t.Helper()
	file := filepath.Join(c.dir, room+".json")
	if err := os.WriteFile(file, identities, 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(t, "superportia", "identities", "load", file, "--room", room)
}

// mailbox is the answer of check_agent_mailbox.
type mailbox struct {
	Unread   int `json:"unread"`
	Messages []struct {
		ID      string `json:"msg_id"`
		Subject string `json:"subject"`
		Read    bool   `json:"read"`
	} `json:"messages"`
}

// subjects returns the subjects, the newest first.
func (m mailbox) subjects() (out []string) {
	for _, one := range m.Messages {
		out = append(out, one.Subject)
	}
	return out
}

// TestTwoShips holds the case that SuperPortia was made for: a mailbox in the cloud, and two ships. The agents of
// both share one mailbox in one order through its tools; an agent that is cut off is told so immediately, and finds
// everything when it is back, with its marks, and nothing twice.
func TestTwoShips(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	one, two := c.ship(t, "ship-1"), c.ship(t, "ship-2")
	c.load(t, "fleet", []byte(`[{"identity":"小克","ship":"SS1","platform":"Terminal",
		"role":"Engineer"},{"identity":"小A","ship":"SS2","platform":"Terminal","role":"Assistant"}]`))
	kai := one.mustAgent(t, eraSessions, "--dialect", "superportia", "--room", "fleet", "--as", "小克")
	ana := two.mustAgent(t, eraSessions, "--dialect", "superportia", "--room", "fleet", "--as", "小A")
	call := func(a *agent, into any, tool string, args map[string]any) error {
		text, err := a.call(context.Background(), tool, args)
		if err == nil && into != nil {
			err = json.Unmarshal([]byte(text), into)
		}
		return err
	}
	must := func(a *agent, into any, tool string, args map[string]any) {
		t.Helper()
		if err := call(a, into, tool, args); err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
	}
	send := func(a *agent, to, subject string) error {
		return call(a, nil, "send_agent_message", map[string]any{"to": to, "subject": subject, "body": "b"})
	}
	var want []string
	tell := func(subject string) {
		t.Helper()
		if err := send(kai, "小A", subject); err != nil {
			t.Fatal(err)
		}
		want = append(want, subject)
	}
	tell("m1")
	tell("m2")
	var box mailbox
	must(ana, &box, "check_agent_mailbox", nil)
	if box.Unread != 2 || len(box.Messages) != 2 {
		t.Fatalf("on the other ship there are %+v", box)
	}
	must(ana, nil, "mark_message", map[string]any{"msg_id": box.Messages[0].ID})
	read := box.Messages[0].ID

	if st := two.must(t, "status"); !strings.Contains(st, "to https://"+two.cable.Addr().String()+", machine ship-2") {
		t.Errorf("the status of a ship:\n%s", st)
	}
	if r := c.run("relay"); r.code == 0 || !strings.Contains(r.stderr, "has joined no post office") {
		t.Errorf("a relay where the post office is: %+v", r)
	}

	two.cable.set(true)
	began := time.Now()
	err := send(ana, "小克", "lost")
	if took := time.Since(began); err == nil || took > 5*time.Second {
		t.Errorf("a send of a ship that is cut off ends after %s with %v", took, err)
	}
	r := two.run("send", "--to", "user", "--body", "kept", "--room", "fleet")
	if r.code != 0 || !strings.Contains(r.stdout, "kept on this machine") {
		t.Errorf("a command of a ship that is cut off: exit status %d, %s", r.code, r.stderr)
	}
	h := two.hooks(hooktest.Claude(), "s0", "PENNYPOST_AGENT=ann")
	h.Start("startup")
	if len(h.Context) > 0 || len(h.Faults) > 0 {
		t.Errorf("a hook of a ship that is cut off says %q, %v", h.Context, h.Faults)
	}
	for i := range 10 {
		tell(fmt.Sprintf("m%d", i+3))
	}
	two.cable.set(false)

	eventually(t, "the ship is back", func() bool { return call(ana, &box, "check_agent_mailbox", nil) == nil })
	eventually(t, "what was kept has gone", func() bool {
		return strings.Contains(two.must(t, "outbox"), "Nothing is kept")
	})
	must(ana, &box, "check_agent_mailbox", map[string]any{"limit": 50})
	slices.Reverse(want)
	if got := box.subjects(); !slices.Equal(got, want) {
		t.Errorf("after it was back there are %q, want %q", got, want)
	}
	for _, m := range box.Messages {
		if m.Read != (m.ID == read) {
			t.Errorf("%s is read: %t", m.Subject, m.Read)
		}
	}
	if err := send(ana, "小克", "back"); err != nil {
		t.Fatal(err)
	}
	must(kai, &box, "check_agent_mailbox", nil)
	if got := box.subjects(); !slices.Equal(got, []string{"back"}) {
		t.Errorf("the first ship has %q, want what was sent when the other was back, and not what failed", got)
	}
	order := func(o *office) (subjects []string) {
		for line := range strings.Lines(o.must(t, "export", "--room", "fleet")) {
			subjects = append(subjects, decode[mail.Item](t, line).Subject)
		}
		return subjects
	}
	here, there := order(one.office), order(two.office)
	if !slices.Equal(here, there) || len(here) != 14 { // one of them was kept
		t.Errorf("the order on one ship is %q, and on the other %q", here, there)
	}
}

// TestP8_ShipIsWoken holds that a session on one ship is woken by mail from another, once, by the waiting hook
// alongside it.
func TestP8_ShipIsWoken(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	one, two := c.ship(t, "ship-1"), c.ship(t, "ship-2")
	h := two.rewaking("s1")
	h.Start("startup")
	h.Prompt("go on")
	h.End()
	first := ask[mail.Sent](t, one.office, "send", "--to", "ann", "--type", "question", "--body", "how far?")
	if !h.Rewoken() {
		t.Fatal("the session was not woken")
	}
	whole, _ := hooktest.Shown(strings.Join(h.Context, "\n"))
	if len(whole) != 1 || whole[0] != first.ID {
		t.Errorf("the model was shown %q, want the mail once", h.Context)
	}
	if got := c.stateOf(t, first.ID, "ann"); got != mail.Presented {
		t.Errorf("in the cloud the message is %q", got)
	}
	if got := c.proven(t); got != mail.RewakeDoor+" on ship-2" {
		t.Errorf("in the cloud the roster says that %q has worked", got)
	}
	two.must(t, "mark", "--read", "--all", "--as", "ann")
	if h.Rewoken() { // the turn ended twice and began two hooks: one remains, or the other could not have replaced it
		t.Error("one whose place another took has woken the session")
	}
	h.Exit("prompt_input_exit")
	if h.Rewoken() {
		t.Error("the end of the session has woken it, or it was rung twice")
	}
	h.Quit()
	for _, f := range h.Faults {
		t.Error(f)
	}
}

// TestP8_RelayKilled holds that a killed relay knows the doors of sessions when it is back, and that mail that a
// session missed because of its death rings then, once.
func TestP8_RelayKilled(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	one, two := c.ship(t, "ship-1"), c.ship(t, "ship-2")
	path := filepath.Join(two.root, "inbox")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(conn)
			told <- string(text)
			conn.Close()
		}
	}()
	rung := func(when string, unread int) {
		t.Helper()
		select {
		case text := <-told:
			if !strings.Contains(text, fmt.Sprintf("%d unread in room", unread)) {
				t.Errorf("%s the session got %s", when, text)
			}
		case <-time.After(patience):
			t.Fatalf("%s the session was not rung", when)
		}
	}
	h := two.hooks(hooktest.Claude(), "s1", "PENNYPOST_AGENT=bob", "CLAUDE_CODE_MESSAGING_SOCKET="+path,
		"CLAUDE_CODE_MESSAGING_TOKEN=0123456789abcdef", "CLAUDE_CONFIG_DIR="+two.dir)
	h.Start("startup")
	h.Prompt("go on")
	h.End()
	one.must(t, "send", "--to", "bob", "--type", "question", "--body", "how far?")
	rung("at first", 1)
	two.must(t, "mark", "--read", "--all", "--as", "bob")
	eventually(t, "the door is in the file", func() bool {
		text, err := os.ReadFile(filepath.Join(two.home, "doors.json"))
		return err == nil && strings.Contains(string(text), path)
	})

	relays := two.relays()
	if len(relays) != 1 {
		t.Fatalf("%d relays run", len(relays))
	}
	relays[0].kill()
	sent := ask[mail.Sent](t, one.office, "send", "--to", "bob", "--type", "question", "--body", "and now?")
	eventually(t, "it is gone", func() bool { return !two.locked() })
	two.must(t, "rooms") // this starts the relay again
	rung("when the relay was back", 1)
	eventually(t, "the ring is recorded", func() bool {
		return c.stateOf(t, sent.ID, "bob") == mail.Notified &&
			strings.Contains(c.must(t, "export"), `"claude-socket on ship-2"`)
	})
	if len(told) > 0 {
		t.Errorf("the session was rung again: %s", <-told)
	}
}
