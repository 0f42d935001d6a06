// Package dialecttest runs a dialect on a room in memory, with its own clock and its files in a test directory.
package dialecttest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/bridge"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// Began is the start of a Fixture's clock: 10 May 2026, 14:00 UTC.
var Began = time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)

// Room is the name of a Fixture's room.
const Room mail.RoomName = "lab"

// Fixture is a room, a dialect and a directory.
type Fixture struct {
	T       testing.TB
	Dialect dialect.Dialect
	Room    *mailroom.Room
	Dir     string // the foreign mailbox's, and the working directory of verbs
	State   string // of the bridges
	Env     map[string]string

	shared *shared
}

// shared is the state that fixtures on one room share.
type shared struct {
	dialects []dialect.Dialect
	elapsed  atomic.Int64 // nanoseconds since Began
	bridges  *bridge.Set
}

// New returns a fixture that ends with the test.
func New(t testing.TB, d dialect.Dialect) *Fixture { return NewIn(t, d, t.TempDir()) }

// NewIn is New with a given directory.
func NewIn(t testing.TB, d dialect.Dialect, dir string) *Fixture {
	b := newFixture(t, d, dir, &shared{dialects: []dialect.Dialect{d}})
	b.open()
	return b
}

// NewAll returns a fixture for each dialect. All share one room, whose bridges any of them starts and stops; each
// has its own directory.
func NewAll(t testing.TB, all ...dialect.Dialect) (beds []*Fixture) {
	common := &shared{dialects: all}
	for _, d := range all {
		b := newFixture(t, d, t.TempDir(), common)
		if beds == nil {
			b.open()
		} else {
			b.Room, b.State = beds[0].Room, beds[0].State
		}
		beds = append(beds, b)
	}
	return beds
}

func newFixture(t testing.TB, d dialect.Dialect, dir string, common *shared) *Fixture {
	return &Fixture{T: t, Dialect: d, Dir: dir, State: t.TempDir(), Env: make(map[string]string), shared: common}
}

// open makes the room, which ends with the test.
func (b *Fixture) open() {
	b.T.Helper()
	room, err := mailroom.Open(context.Background(), Room, new(journaltest.Store).Open(),
		mailroom.Options{Now: b.Now, Limits: policy.Limits{RepeatWindow: -1},
			Protocols: dialect.Protocols(b.shared.dialects)})
	if err != nil {
		b.T.Fatal(err)
	}
	b.Room = room
	b.Start()
	b.T.Cleanup(func() {
		b.Stop()
		if err := room.Close(); err != nil {
			b.T.Error(err)
		}
	})
}

// Start starts the room's bridges, as a starting post office does.
func (b *Fixture) Start() {
	b.shared.bridges = bridge.NewSet(b.shared.dialects, b.State, bridge.Options{
		Room: b.Room, Now: b.Now, Log: slog.New(slog.NewTextHandler(b.T.Output(), nil)), Getenv: b.getenv,
	})
	b.reconcile()
}

// Stop stops the bridges.
func (b *Fixture) Stop() { b.shared.bridges.Close() }

func (b *Fixture) reconcile() {
	b.T.Helper()
	if err := b.shared.bridges.Reconcile(func() ([]mail.BridgeStatus, error) {
		return b.Room.As(mail.User).Bridges(b.T.Context())
	}); err != nil {
		b.T.Fatal(err)
	}
}

func (b *Fixture) getenv(name string) string { return b.Env[name] }

// Now is the fixture's time.
func (b *Fixture) Now() time.Time { return Began.Add(time.Duration(b.shared.elapsed.Load())) }

// Advance advances the clock.
func (b *Fixture) Advance(d time.Duration) { b.shared.elapsed.Add(int64(d)) }

// service is a room that, like a post office, answers a change only after it is in the files.
type service struct {
	mail.Service
	fixture *Fixture
}

func (s service) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	sent, err := s.Service.Send(ctx, d)
	s.fixture.settle(ctx)
	return sent, err
}

func (s service) Mark(ctx context.Context, m mail.Marking) (mail.Marked, error) {
	out, err := s.Service.Mark(ctx, m)
	s.fixture.settle(ctx)
	return out, err
}

func (s service) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	a, err := s.Service.Register(ctx, p)
	s.fixture.settle(ctx)
	return a, err
}

func (s service) Retire(ctx context.Context, n mail.Name) error {
	err := s.Service.Retire(ctx, n)
	s.fixture.settle(ctx)
	return err
}

func (s service) Erase(ctx context.Context, id mail.ID) error {
	err := s.Service.Erase(ctx, id)
	s.fixture.settle(ctx)
	return err
}

func (s service) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	n, err := s.Service.Import(ctx, items)
	s.fixture.settle(ctx)
	return n, err
}

func (s service) AddBridge(ctx context.Context, br mail.Bridge) (mail.BridgeStatus, error) {
	if err := bridge.Check(s.fixture.shared.dialects, &br); err != nil {
		return mail.BridgeStatus{}, err
	}
	st, err := s.Service.AddBridge(ctx, br)
	if err != nil {
		return st, err
	}
	s.fixture.reconcile()
	return s.fixture.shared.bridges.Sync(ctx, st.ID)
}

func (s service) RemoveBridge(ctx context.Context, id string) error {
	err := s.Service.RemoveBridge(ctx, id)
	s.fixture.reconcile()
	return err
}

func (s service) Bridges(context.Context) ([]mail.BridgeStatus, error) {
	return s.fixture.shared.bridges.Statuses(), nil
}

func (s service) SyncBridge(ctx context.Context, id string) (mail.BridgeStatus, error) {
	return s.fixture.shared.bridges.Sync(ctx, id)
}

func (s service) RejectedLines(ctx context.Context, id string) ([]mail.BadLine, error) {
	return s.fixture.shared.bridges.RejectedLines(ctx, id)
}

// settle waits until the files agree with the room; on a busy machine longer than a post office would.
func (b *Fixture) settle(ctx context.Context) {
	late := func(s mail.BridgeStatus) bool {
		return s.Running && s.Failing == "" && s.Mode != mail.BridgeFollow && s.Behind > 0
	}
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(5 * time.Millisecond) {
		b.shared.bridges.Await(ctx, b.Room.Shown())
		if !slices.ContainsFunc(b.shared.bridges.Statuses(), late) {
			return
		}
	}
}

// As returns the room as name sees it.
func (b *Fixture) As(name mail.Name) mail.Service {
	s := b.Room.As(name)
	if b.shared.bridges == nil {
		return s
	}
	return service{s, b}
}

// Register puts an agent on the roster: words with a colon are tags, the others roles.
func (b *Fixture) Register(name mail.Name, words ...string) {
	b.T.Helper()
	p := mail.Presence{Name: name}
	for _, w := range words {
		if strings.Contains(w, ":") {
			p.Tags = append(p.Tags, w)
		} else {
			p.Roles = append(p.Roles, w)
		}
	}
	if _, err := b.As(mail.User).Register(b.T.Context(), p); err != nil {
		b.T.Fatal(err)
	}
}

// Send sends a message and returns its id.
func (b *Fixture) Send(from mail.Name, d mail.Draft) mail.ID {
	b.T.Helper()
	sent, err := b.As(from).Send(b.T.Context(), d)
	if err != nil {
		b.T.Fatalf("%s sends %+v: %v", from, d, err)
	}
	return sent.ID
}

// Inbox returns the unread messages of a mailbox.
func (b *Fixture) Inbox(name mail.Name) []mail.Item {
	b.T.Helper()
	p, err := b.As(name).Inbox(b.T.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil {
		b.T.Fatal(err)
	}
	return p.Messages
}

// History returns all messages of the room.
func (b *Fixture) History() []mail.Item {
	b.T.Helper()
	p, err := b.As(mail.User).History(b.T.Context(), mail.HistoryQuery{Archive: true, Limit: mail.MaxLimit})
	if err != nil {
		b.T.Fatal(err)
	}
	return p.Messages
}

// Bridge adds a bridge of the dialect to the fixture's directory and returns its status.
func (b *Fixture) Bridge(mode mail.BridgeMode) mail.BridgeStatus {
	b.T.Helper()
	st, err := b.As(mail.User).AddBridge(b.T.Context(), mail.Bridge{Dialect: b.Dialect.Name, Dir: b.Dir, Mode: mode})
	if err != nil {
		b.T.Fatal(err)
	}
	return st
}

// Sync syncs room and files and returns the status of the dialect's first bridge.
func (b *Fixture) Sync() mail.BridgeStatus {
	b.T.Helper()
	all := b.shared.bridges.Statuses()
	i := slices.IndexFunc(all, func(st mail.BridgeStatus) bool { return st.Dialect == b.Dialect.Name })
	if i < 0 {
		b.T.Fatal("the room has no bridge of " + b.Dialect.Name)
	}
	st, err := b.shared.bridges.Sync(b.T.Context(), all[i].ID)
	if err != nil {
		b.T.Fatal(err)
	}
	return st
}

// Call calls a tool of any endpoint as an agent, with arguments in JSON, and returns its answer in JSON.
func (b *Fixture) Call(agent mail.Name, tool, args string) (string, error) {
	b.T.Helper()
	for _, e := range b.Dialect.Endpoints {
		i := slices.IndexFunc(e.Tools, func(t dialect.Tool) bool { return t.Name == tool })
		if i < 0 {
			continue
		}
		if e.Known != nil {
			if err := e.Known(b.T.Context(), b.As(mail.User), agent); err != nil {
				return "", err
			}
		}
		c := b.call(agent, args)
		c.Tool = tool
		out, err := e.Tools[i].Run(b.T.Context(), c)
		if err != nil {
			return "", err
		}
		text, err := fence.JSON(out)
		if err != nil {
			b.T.Fatalf("%s answers what is not JSON: %v", tool, err)
		}
		most := fence.Budget
		if e.Tools[i].Letters {
			most = fence.MaxLetter
		}
		if n := fence.Sent(text); n > most {
			b.T.Errorf("%s answers with %d bytes, over the budget", tool, n)
		}
		if given := e.Tools[i].Given; given != nil {
			err = given(b.T.Context(), c, out)
		}
		return text, err
	}
	b.T.Fatalf("the dialect %s has no tool %s", b.Dialect.Name, tool)
	return "", nil
}

func (b *Fixture) call(caller mail.Name, args string) *dialect.Call {
	return &dialect.Call{
		Service: b.As(caller), Caller: caller, Room: Room, Args: []byte(args), Now: b.Now(),
		Log: slog.New(slog.NewTextHandler(b.T.Output(), nil)),
	}
}

// Prompt runs a prompt as an agent.
func (b *Fixture) Prompt(agent mail.Name, name string, args map[string]string) (string, error) {
	b.T.Helper()
	for _, e := range b.Dialect.Endpoints {
		for _, p := range e.Prompts {
			if p.Name == name {
				return p.Run(b.T.Context(), b.call(agent, ""), args)
			}
		}
	}
	b.T.Fatalf("the dialect %s has no prompt %s", b.Dialect.Name, name)
	return "", nil
}

// Route sends a request to the dialect's routes as the user.
func (b *Fixture) Route(method, target, body string) *httptest.ResponseRecorder {
	b.T.Helper()
	mux := http.NewServeMux()
	for _, r := range b.Dialect.Routes {
		mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, req *http.Request) {
			r.Handle(w, req, b.call(mail.User, ""))
		})
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

// Verb runs a verb in the fixture's directory. words follow the dialect's name, and may include --as and --json.
func (b *Fixture) Verb(words ...string) (stdout, stderr string, err error) {
	b.T.Helper()
	v, rest := b.verb(words)
	fs := pflag.NewFlagSet(v.Path, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	as, json := fs.String("as", "", ""), fs.Bool("json", false, "")
	collect := v.Bind(fs)
	if err := fs.Parse(rest); err != nil {
		return "", "", mail.Errorf(mail.Invalid, "%v", err)
	}
	var out, errs bytes.Buffer
	in := &dialect.Invocation{
		Args: fs.Args(), Stdin: strings.NewReader(""), Stdout: &out, Fenced: &out, Stderr: &errs, JSON: *json,
		Dir: b.Dir, Project: b.Dir, Getenv: b.getenv, Now: b.Now(),
		Caller:  func(ctx context.Context) (mail.Name, error) { return b.caller(ctx, *as) },
		As:      func(_ context.Context, n mail.Name) (mail.Service, error) { return b.As(n), nil },
		Program: func() string { return "" },
		Address: func(context.Context) (string, error) { return "http://127.0.0.1:8899", nil },
		Install: func(client, dir string, as mail.Name, room mail.RoomName) ([]string, error) {
			return []string{client + " in " + dir + " is " + string(as) + " of " + string(room)}, nil
		},
		Bridge: func(ctx context.Context, dir string, mode mail.BridgeMode) (mail.BridgeStatus, error) {
			return b.As(mail.User).AddBridge(ctx, mail.Bridge{Dialect: b.Dialect.Name, Dir: filepath.Clean(dir),
				Mode: mode})
		},
	}
	if err = collect(in); err == nil {
		err = v.Run(b.T.Context(), in)
	}
	return out.String(), errs.String(), err
}

func (b *Fixture) caller(ctx context.Context, as string) (mail.Name, error) {
	switch {
	case as != "":
		return mail.Name(as), nil
	case b.Dialect.Identify != nil:
		all, err := b.Dialect.Identify(ctx, b.As(mail.User), b.getenv)
		if err != nil {
			return "", err
		}
		if len(all) > 0 {
			return all[0], nil
		}
	}
	return mail.User, nil
}

// verb finds the verb with the longest path that begins words.
func (b *Fixture) verb(words []string) (*dialect.Verb, []string) {
	b.T.Helper()
	var best *dialect.Verb
	n := 0
	for i := range b.Dialect.Verbs {
		path := strings.Fields(b.Dialect.Verbs[i].Path)
		if len(path) > n && len(path) <= len(words) && slices.Equal(path, words[:len(path)]) {
			best, n = &b.Dialect.Verbs[i], len(path)
		}
	}
	if best == nil {
		b.T.Fatalf("the dialect %s has no verb %q", b.Dialect.Name, words)
	}
	return best, words[n:]
}
