package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// newRooms returns an empty post office with the agents ann and bob in room lab.
func newRooms(t *testing.T) *rooms {
	o := &rooms{t: t, rooms: make(map[mail.RoomName]*mailroom.Room)}
	user, err := o.Room(t.Context(), "lab", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []mail.Name{"ann", "bob"} {
		if _, err := user.Register(t.Context(), mail.Presence{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (o *rooms) as(n mail.Name) mail.Service {
	svc, err := o.Room(o.t.Context(), "lab", n)
	if err != nil {
		o.t.Fatal(err)
	}
	return svc
}

func (o *rooms) send(body string) mail.Sent {
	sent, err := o.as("ann").Send(o.t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: body})
	if err != nil {
		o.t.Fatal(err)
	}
	return sent
}

// link is a connection between client and server that can be cut, refuse and answer by itself.
type link struct {
	*httptest.Server
	down atomic.Bool
	hook atomic.Pointer[http.HandlerFunc] // sees a request first, and may keep it from the server

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newLink(t *testing.T, office mail.Office, authenticate func(*http.Request) (mail.Caller, error)) *link {
	l := &link{conns: make(map[net.Conn]bool)}
	api := httpapi.New(httpapi.Options{Office: office, Authenticate: authenticate})
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.down.Load() {
			panic(http.ErrAbortHandler)
		}
		if hook := l.hook.Load(); hook != nil {
			(*hook)(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}))
	l.Config.ConnState = func(c net.Conn, s http.ConnState) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns[c] = s != http.StateClosed
	}
	l.Start()
	t.Cleanup(l.Close)
	return l
}

// cut breaks every connection.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

// as returns the room lab at the far end of l.
func (l *link) as(t *testing.T, n mail.Name) *Client {
	o, err := New(Options{URL: l.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	svc, err := o.Room(t.Context(), "lab", n)
	if err != nil {
		t.Fatal(err)
	}
	return svc.(*Client)
}

// TestSendIsRepeatedOnce breaks the connection after the message was stored and before the sender was told.
func TestSendIsRepeatedOnce(t *testing.T) {
	office := newRooms(t)
	l := newLink(t, office, peer)
	api := l.Config.Handler
	var requests atomic.Int32
	hook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			l.hook.Store(nil)
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
	})
	l.hook.Store(&hook)
	sent, err := l.as(t, "ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: "once"})
	if err != nil || sent.Duplicate {
		t.Fatalf("Send = %+v, %v", sent, err)
	}
	page, err := l.as(t, "bob").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != sent.ID || page.Messages[0].Key != "" {
		t.Errorf("inbox = %+v, %v; want %s once and no key", page, err, sent.ID)
	}
}

// TestNothingElseIsRepeated checks that calls that are not safe to repeat are made once.
func TestNothingElseIsRepeated(t *testing.T) {
	l := newLink(t, newRooms(t), peer)
	var requests atomic.Int32
	hook := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		panic(http.ErrAbortHandler)
	})
	l.hook.Store(&hook)
	user := l.as(t, mail.User)
	for name, c := range map[string]struct {
		call func() error
		want int32
	}{
		"Token":  {func() error { _, err := user.Token(t.Context(), "ann"); return err }, 1},
		"Merge":  {func() error { _, err := user.Merge(t.Context(), "ann", "eve"); return err }, 1},
		"Rename": {func() error { _, err := user.Rename(t.Context(), "ann", "eve"); return err }, 1},
		"Inbox":  {func() error { _, err := user.Inbox(t.Context(), mail.InboxQuery{}); return err }, attempts},
	} {
		requests.Store(0)
		if err := c.call(); mail.CodeOf(err) != mail.Unavailable ||
			!strings.Contains(err.Error(), "before you try again") {
			t.Errorf("%s: %v", name, err)
		}
		if got := requests.Load(); got != c.want {
			t.Errorf("%s was asked %d times, want %d", name, got, c.want)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	dir := t.TempDir()
	refused := filepath.Join(dir, "refused")
	if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: refused, Net: "unix"}); err == nil {
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	for _, socket := range []string{filepath.Join(dir, "missing"), refused} {
		o, err := New(Options{Socket: socket})
		if err != nil {
			t.Fatal(err)
		}
		room, _ := o.Room(t.Context(), "lab", "ann")
		_, waited := room.Wait(t.Context(), mail.WaitQuery{})
		_, watched := room.Watch(t.Context(), 0)
		for _, err := range []error{o.Ping(t.Context()), waited, watched} {
			if mail.CodeOf(err) != mail.Unavailable || !strings.Contains(err.Error(), "pennypost serve") {
				t.Errorf("%s: %v (%s), want unavailable and what to type", socket, err, mail.CodeOf(err))
			}
		}
	}
}

func TestStart(t *testing.T) {
	office := newRooms(t)
	socket := filepath.Join(t.TempDir(), "s")
	starts := 0
	o, err := New(Options{Socket: socket, Start: func(context.Context) error {
		starts++
		return os.Rename(serve(t, office), socket)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for range 2 {
		if err := o.Ping(t.Context()); err != nil || starts != 1 {
			t.Fatalf("Ping: %v after %d starts", err, starts)
		}
	}
	failing, _ := New(Options{Socket: socket + "x", Start: func(context.Context) error {
		return mail.Errorf(mail.Unavailable, "autostart is off")
	}})
	if err := failing.Ping(t.Context()); err == nil || err.Error() != "autostart is off" {
		t.Errorf("Ping = %v, want the error of Start", err)
	}
}

func TestNew(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:8765", "ftp://x", "http://", "http://x/path", "http://a:b@x",
		"http://x?y=1", "http://\x00"} {
		if _, err := New(Options{URL: bad}); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("New(%q) = %v, want invalid", bad, err)
		}
	}
	o, err := New(Options{URL: "https://mail.example.org:8765/"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Room(t.Context(), "../x", "ann"); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("Room = %v, want invalid", err)
	}
}

// TestCredentials checks the headers that identify the caller.
func TestCredentials(t *testing.T) {
	var seen http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		w.Header().Set("Content-Type", wire.JSON)
		io.WriteString(w, "{}")
	}))
	defer server.Close()
	for _, c := range []struct {
		token        string
		as           mail.Name
		agent, bears string
	}{
		{"", mail.User, "", ""},
		{"", "小克 builder", "%E5%B0%8F%E5%85%8B%20builder", ""},
		{"t0ken", "", "", "Bearer t0ken"},
		{"t0ken", mail.User, "user", "Bearer t0ken"},
		{"t0ken", "ann", "ann", "Bearer t0ken"},
	} {
		o, _ := New(Options{URL: server.URL, Token: c.token})
		room, _ := o.Room(t.Context(), "lab", c.as)
		if _, err := room.Inbox(t.Context(), mail.InboxQuery{}); err != nil {
			t.Fatal(err)
		}
		if seen.Get(wire.AgentHeader) != c.agent || seen.Get("Authorization") != c.bears {
			t.Errorf("token %q as %q: agent %q, authorization %q", c.token, c.as, seen.Get(wire.AgentHeader),
				seen.Get("Authorization"))
		}
		o.Close()
	}
}

func TestForeignAnswers(t *testing.T) {
	var status int
	var kind, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	defer server.Close()
	o, _ := New(Options{URL: server.URL, Token: "secret"})
	defer o.Close()
	for _, c := range []struct {
		status     int
		kind, body string
		want       mail.Code
	}{
		{502, "text/html", "<h1>Bad gateway</h1>", mail.Unavailable},
		{403, "text/html", "blocked", mail.Denied},
		{429, "text/plain", "", mail.Limited},
		{302, "text/html", "", mail.Unavailable}, // not followed
		{200, "text/html", "<h1>Welcome</h1>", mail.Internal},
		{409, wire.ProblemJSON, `{"code":"conflict","detail":"taken","new_member":1}`, mail.Conflict},
		{418, wire.ProblemJSON, `{"code":"teapot","detail":"short and stout"}`, "teapot"},
	} {
		status, kind, body = c.status, c.kind, c.body
		if _, err := o.Rooms(t.Context()); mail.CodeOf(err) != c.want {
			t.Errorf("%d %s: %v (%s), want %s", c.status, c.body, err, mail.CodeOf(err), c.want)
		}
	}
}

func TestContextEnds(t *testing.T) {
	l := newLink(t, newRooms(t), peer)
	hook := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server notices that its client left only after it has read the body
		<-r.Context().Done()
	})
	l.hook.Store(&hook)
	room := l.as(t, "ann")
	for name, call := range map[string]func(context.Context) error{
		"Send":  func(ctx context.Context) error { _, err := room.Send(ctx, mail.Draft{}); return err },
		"Wait":  func(ctx context.Context) error { _, err := room.Wait(ctx, mail.WaitQuery{}); return err },
		"Watch": func(ctx context.Context) error { _, err := room.Watch(ctx, 0); return err },
		"Export": func(ctx context.Context) error {
			for _, err := range room.Export(ctx) {
				return err
			}
			return nil
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); mail.CodeOf(err) != mail.Timeout || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v (%s), want timeout", name, err, mail.CodeOf(err))
		}
		cancel()
	}
}

// TestHugeDraft checks that a refusal arrives although the body was not read.
func TestHugeDraft(t *testing.T) {
	room := newLink(t, newRooms(t), peer).as(t, "ann")
	_, err := room.Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: strings.Repeat("x", 20<<20)})
	if mail.CodeOf(err) != mail.TooLarge {
		t.Errorf("Send of 20 MB: %v (%s), want too_large", err, mail.CodeOf(err))
	}
	_, err = room.Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: "a\xff"})
	if mail.CodeOf(err) != mail.Invalid {
		t.Errorf("Send of what is not UTF-8: %v, want invalid", err)
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{".": "%2E", "..": "%2E%2E", "...": "%2E%2E%2E", "a/b": "a%2Fb", ".a": ".a",
		"小": "%E5%B0%8F", "%": "%25", "a b+c;d": "a%20b+c%3Bd"} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
	room := newLink(t, newRooms(t), peer).as(t, mail.User)
	for _, odd := range []mail.Name{"..", ".", "a/b", "a//b", "%2F", "a;b", "a+b", "?", "#", "/rename"} {
		if _, err := room.Register(t.Context(), mail.Presence{Name: odd}); err != nil {
			t.Fatalf("Register(%q): %v", odd, err)
		}
		if err := room.Retire(t.Context(), odd); err != nil {
			t.Errorf("Retire(%q): %v", odd, err)
		}
		if _, err := room.Message(t.Context(), mail.ID(odd)); mail.CodeOf(err) != mail.NotFound ||
			!strings.Contains(err.Error(), "there is no message") {
			t.Errorf("Message(%q): %v", odd, err)
		}
	}
	for name, err := range map[string]error{
		"Message": second(room.Message(t.Context(), "")), "Erase": room.Erase(t.Context(), ""),
		"Retire": room.Retire(t.Context(), ""),
		"Merge":  second(room.Merge(t.Context(), "", "x")),
		"Rename": second(room.Rename(t.Context(), "", "x")), "Token": second(room.Token(t.Context(), "")),
	} {
		if mail.CodeOf(err) != mail.Invalid {
			t.Errorf("%s of nothing: %v, want invalid", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestImportInParts(t *testing.T) {
	l := newLink(t, newRooms(t), peer)
	var requests atomic.Int32
	hook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n > 1000 {
			t.Errorf("a part has %d bytes, %v", n, err)
		}
		w.Header().Set("Content-Type", wire.JSON)
		io.WriteString(w, `{"added":1,"skipped":2}`)
	})
	l.hook.Store(&hook)
	items := make([]mail.Item, 3)
	for i := range items {
		items[i].Body = strings.Repeat("x", 300)
	}
	got, err := l.as(t, mail.User).importParts(t.Context(), items, 1000)
	if want := (mail.Imported{Added: 2, Skipped: 4}); got != want || err != nil || requests.Load() != 2 {
		t.Errorf("Import = %+v, %v in %d parts; want %+v in 2", got, err, requests.Load(), want)
	}
}

// TestOfficeVersion: the version in an answer is known from then on.
func TestOfficeVersion(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(wire.VersionHeader, "v1.2.3")
		_, _ = io.WriteString(w, `{}`)
	}))
	defer srv.Close()
	o, err := New(Options{URL: srv.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got := o.Version(); got != "" {
		t.Errorf("before the first answer: %q", got)
	}
	if _, err := o.Status(t.Context()); err != nil || o.Version() != "v1.2.3" {
		t.Errorf("the version is %q (%v)", o.Version(), err)
	}
}

// operations collects the routes that the far end has served, from its log.
type operations chan string

func (operations) Enabled(context.Context, slog.Level) bool { return true }

func (o operations) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "op" {
			o <- a.Value.String()
		}
		return true
	})
	return nil
}

func (o operations) WithAttrs([]slog.Attr) slog.Handler { return o }
func (o operations) WithGroup(string) slog.Handler      { return o }

// TestCallsReachTheirRoutes makes every call of mail.Service, and checks which route of httpapi serves it.
func TestCallsReachTheirRoutes(t *testing.T) {
	served := make(operations, 1)
	rooms := newRooms(t)
	if _, err := rooms.as("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "now"}); err != nil {
		t.Fatal(err) // for Wait
	}
	api := httpapi.New(httpapi.Options{Office: rooms, Authenticate: peer, Log: slog.New(served)})
	l := &link{Server: httptest.NewServer(api)}
	defer l.Close()
	user := reflect.ValueOf(mail.Service(l.as(t, mail.User)))
	for m := range reflect.TypeFor[mail.Service]().Methods() {
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type.NumIn(); i++ {
			arg := reflect.New(m.Type.In(i)).Elem()
			switch arg.Kind() { // may be part of the path
			case reflect.String:
				arg.SetString("ann")
			case reflect.Struct:
				if id := arg.FieldByName("ID"); id.IsValid() && id.Kind() == reflect.String {
					id.SetString("ann")
				}
			}
			args = append(args, arg)
		}
		want := strings.ToLower(m.Name[:1]) + m.Name[1:]
		switch m.Name {
		case "Status":
			want = "room"
		case "Watch":
			want = "events"
		}
		answer := user.MethodByName(m.Name).Call(args)[0].Interface()
		switch v := answer.(type) {
		case mail.Watch:
			v.Close()
		case iter.Seq2[mail.Item, error]:
			for range v {
			}
		}
		select {
		case got := <-served:
			if got != want {
				t.Errorf("%s is served by %s, want %s", m.Name, got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is served by nothing, want %s", m.Name, want)
		}
	}
}
