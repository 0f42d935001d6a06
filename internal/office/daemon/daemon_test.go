package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/wire/client"
)

// testConfig returns the configuration of a post office in a directory whose path is short enough for a socket.
// Tests may themselves run below an agent client, so callers are identified without their ancestors.
func testConfig(t testing.TB) config.Config {
	t.Helper()
	dir, err := os.MkdirTemp("", "pp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return config.Config{Home: config.Home(dir), Listen: "127.0.0.1:0"}
}

// running is a post office under test.
type running struct {
	place  Place
	office *client.Office
	token  string
	cancel context.CancelFunc
	ended  chan error
}

// start runs a post office until the test ends, and then checks that it left no goroutines.
func start(t *testing.T, opts Options) *running {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan Place, 1)
	opts.Ready = func(p Place) { ready <- p }
	go func() { r.ended <- Run(ctx, opts) }()
	select {
	case r.place = <-ready:
	case err := <-r.ended:
		t.Fatalf("Run = %v before it was ready", err)
	}
	var err error
	if r.office, err = client.New(client.Options{Socket: r.place.Socket}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.place.Token)
	if err != nil {
		t.Fatal(err)
	}
	r.token = strings.TrimSpace(string(text))
	t.Cleanup(func() {
		r.stop(t)
		r.office.Close()
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, leaks, goleak.IgnoreAnyFunction(
			"pennypost/internal/room/journal/jetstream/natstest.(*Server).Start.func1")) // servers of the test
	})
	return r
}

// stop ends the post office and expects a clean end.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.cancel = nil
	if err := <-r.ended; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if _, err := os.Stat(r.place.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func (r *running) room(t *testing.T, room mail.RoomName, as mail.Name) mail.Service {
	t.Helper()
	svc, err := r.office.Room(t.Context(), room, as)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func (r *running) register(t *testing.T, room mail.RoomName, name mail.Name) {
	t.Helper()
	if _, err := r.room(t, room, mail.User).Register(t.Context(), mail.Presence{Name: name}); err != nil {
		t.Fatal(err)
	}
}

// get makes a GET request over TCP.
func (r *running) get(t *testing.T, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.place.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestRun(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg, Version: "v1"})
	st, err := r.office.Status(t.Context())
	if err != nil || st.Version != "v1" || st.PID != os.Getpid() || len(st.Listen) != 2 {
		t.Errorf("Status = %+v, %v", st, err)
	}
	for _, f := range []string{r.place.Socket, r.place.Token} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600 (%v)", f, info.Mode(), err)
		}
	}
	if err := Run(t.Context(), Options{Config: cfg}); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("a second Run = %v, want a conflict", err)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 401, "/api/v1/rooms": 401,
		"/mcp": 401} {
		if got, _ := r.get(t, path, ""); got != want {
			t.Errorf("GET %s without a credential = %d, want %d", path, got, want)
		}
	}
	r.register(t, "a", "bob")
	if _, err := r.room(t, "a", mail.User).Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: "x"}); err != nil {
		t.Fatal(err)
	}
	if status, body := r.get(t, "/metrics", r.token); status != 200 ||
		!strings.Contains(body, "\npennypost_sends_total 1\n") ||
		!strings.Contains(body, "\npennypost_appends_per_fsync_count 2\n") ||
		!strings.Contains(body, "\npennypost_rooms_open 1\n") {
		t.Errorf("GET /metrics = %d\n%s", status, body)
	}
	if err := r.office.Stop(t.Context()); err != nil {
		t.Errorf("Stop = %v", err)
	}
	r.stop(t)

	// The next post office finds everything, including its token.
	again := start(t, Options{Config: cfg})
	if again.token != r.token {
		t.Error("the operator's token changed with a restart")
	}
	if page, err := again.room(t, "a", "bob").Inbox(t.Context(), mail.InboxQuery{}); err != nil || page.Unread != 1 {
		t.Errorf("Inbox = %+v, %v, want one unread message", page, err)
	}
}

// A stop ends waits, watches and streams immediately.
func TestStopEndsWaits(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "a", "bob")
	w, err := r.room(t, "a", "bob").Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	waited := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() {
		_, err := r.room(t, "a", "bob").Wait(ctx, mail.WaitQuery{})
		waited <- err
	}()
	for { // until the wait has arrived
		if _, body := r.get(t, "/metrics", r.token); strings.Contains(body, "\npennypost_watchers 2\n") {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	began := time.Now()
	r.stop(t)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("stopping took %s", took)
	}
	cancel()
	<-waited
}

// An unused room is closed, and a caller that has its service does not notice.
func TestIdleRoomCloses(t *testing.T) {
	const idle = 30 * time.Millisecond
	o, ctx := testOffice(t, idle), t.Context()
	user, err := o.Room(gate.Own(ctx), "a", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Register(ctx, mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	closed := func(room mail.RoomName) bool {
		open, _, known := o.Set.LastKnown(room)
		return !open && known
	}
	for range 3 {
		for !closed("a") {
			time.Sleep(5 * time.Millisecond)
		}
		if rooms, err := o.Rooms(ctx); err != nil || len(rooms) != 1 || rooms[0].Agents != 1 || rooms[0].Open {
			t.Errorf("Rooms = %+v, %v, want what the closed room last said", rooms, err)
		}
		if agents, err := mail.Roster(ctx, user); err != nil || len(agents) != 1 {
			t.Fatalf("Agents = %v, %v", agents, err)
		}
	}
	// A watch keeps its room open.
	w, err := user.Watch(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Another room, used later than this one and closed nevertheless, shows that this one's time would have come.
	other, err := o.Room(gate.Own(ctx), "b", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Register(ctx, mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	for !closed("b") {
		time.Sleep(5 * time.Millisecond)
	}
	if closed("a") {
		t.Error("the room was closed under a watch")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	_ = w.Close() // a second GiveBack would let the room close under another user
}

func TestLeavesWhenAlone(t *testing.T) {
	cfg := testConfig(t)
	cfg.IdleExit = config.Duration(time.Second) // even a busy machine opens a room within that
	r := start(t, Options{Config: cfg, Auto: true})
	w, err := r.room(t, "a", mail.User).Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-r.ended:
		t.Fatalf("Run = %v while somebody watched", err)
	case <-time.After(2 * time.Second):
	}
	w.Close()
	r.office.Close()
	select {
	case err := <-r.ended:
		r.ended <- err
	case <-time.After(10 * time.Second):
		t.Error("it is still there")
	}
}

// Mail to an address in another room arrives; a room that does not exist is not made.
func TestMailBetweenRooms(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "a", "ann")
	r.register(t, "b", "bob")
	if _, err := r.room(t, "a", "ann").Send(t.Context(), mail.Draft{To: []string{"bob@b"}, Body: "x"}); err != nil {
		t.Fatal(err)
	}
	page, err := r.room(t, "b", "bob").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || page.Unread != 1 {
		t.Errorf("Inbox = %+v, %v, want one unread message", page, err)
	}
	_, err = r.room(t, "a", "ann").Send(t.Context(), mail.Draft{To: []string{"bob@bb"}, Body: "x"})
	if mail.CodeOf(err) != mail.NotFound || !strings.Contains(err.Error(), "Did you mean b?") {
		t.Errorf("Send to a room that does not exist = %v", err)
	}
	if rooms, err := r.office.Rooms(t.Context()); err != nil || len(rooms) != 2 {
		t.Errorf("Rooms = %v, %v, want a and b", rooms, err)
	}
}

// A post office that was killed leaves its socket and lock file behind.
func TestLeftovers(t *testing.T) {
	cfg := testConfig(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: cfg.Home.Socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := os.WriteFile(cfg.Home.Lock(), []byte("999999"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, Options{Config: cfg})
}

func TestLongHome(t *testing.T) {
	cfg := testConfig(t)
	cfg.Home += config.Home("/" + strings.Repeat("long", 30))
	r := start(t, Options{Config: cfg})
	if !strings.HasPrefix(r.place.Socket, "/tmp/pennypost-") {
		t.Errorf("the socket is %s", r.place.Socket)
	}
}

// The default port may be taken by another process; a configured port must not.
func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", config.DefaultListen)
	if err == nil {
		defer l.Close()
	}
	cfg := testConfig(t)
	cfg.Listen = ""
	if r := start(t, Options{Config: cfg}); r.place.HTTP != "" {
		t.Errorf("it listens on %s", r.place.HTTP)
	}
	cfg = testConfig(t)
	cfg.Listen = config.DefaultListen
	if err := Run(t.Context(), Options{Config: cfg}); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("Run at a port that is taken = %v, want unavailable", err)
	}
}

func TestLogFile(t *testing.T) {
	path := t.TempDir() + "/log"
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	line := []byte(strings.Repeat("x", 99) + "\n")
	for range 3 * maxLog / len(line) {
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{path, path + ".1"} {
		if info, err := os.Stat(f); err != nil || info.Size() > maxLog || info.Size()%100 != 0 {
			t.Errorf("%s: %v, %v, want whole lines of at most %d bytes", f, info, err, maxLog)
		}
	}
}
