package daemon

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/rooms"
)

func TestAuthenticate(t *testing.T) {
	cfg := testConfig(t)
	o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	defer o.Set.Close()
	const operator = "pp-operator.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	g := testGate(t, operator, &cfg, o)
	token := func(room mail.RoomName, name mail.Name) string {
		svc, err := o.Room(gate.Own(t.Context()), room, mail.User)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Register(t.Context(), mail.Presence{Name: name}); err != nil {
			t.Fatal(err)
		}
		s, err := svc.Token(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := token("a", "bob")
	bob := token("a", "bob")
	gone := token("a", "gone")
	svc, _ := o.Room(gate.Own(t.Context()), "a", mail.User)
	if err := svc.Retire(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	made := strings.Replace(bob, "pp.YQ.", "pp.bm9yb29t.", 1) // of a room "noroom"

	itself := gate.NewPeer(os.Getuid(), os.Getpid(), nil)
	agent := gate.NewPeer(os.Getuid(), sleeping(t, "CLAUDECODE=1"), nil)
	stray := gate.NewPeer(os.Getuid(), sleeping(t), nil)
	user := func(by mail.Means) mail.Caller { return mail.Caller{Name: mail.User, Means: by} }
	for _, tt := range []struct {
		name   string
		peer   *gate.Peer // nil: TCP
		auth   string
		header string // Pennypost-Agent
		path   string
		want   mail.Caller
		code   mail.Code
	}{
		{name: "tcp, nothing", code: mail.Unknown},
		{name: "tcp, agent header alone", header: "bob", code: mail.Unknown},
		{name: "tcp, operator", auth: "Bearer " + operator, want: user(mail.ByOperator)},
		{name: "tcp, operator, lower case scheme", auth: "bearer " + operator, want: user(mail.ByOperator)},
		{name: "tcp, operator cut short", auth: "Bearer " + operator[:20], code: mail.Unknown},
		{name: "tcp, basic", auth: "Basic " + operator, code: mail.Unknown},
		{name: "tcp, bearer of nothing", auth: "Bearer ", code: mail.Unknown},
		{name: "tcp, agent", auth: "Bearer " + bob, want: mail.Caller{Name: "bob", Room: "a"}},
		{name: "tcp, agent who says to be another", auth: "Bearer " + bob, header: "ann", code: mail.Denied},
		{name: "tcp, operator who says to be an agent", auth: "Bearer " + operator, header: "bob", code: mail.Denied},
		{name: "unix, agent's process with the operator's token", peer: agent, auth: "Bearer " + operator,
			code: mail.Denied},
		{name: "tcp, void token", auth: "Bearer " + old, code: mail.Unknown},
		{name: "tcp, token of a retired agent", auth: "Bearer " + gone, code: mail.Unknown},
		{name: "tcp, token of a room that is not", auth: "Bearer " + made, code: mail.Unknown},
		{name: "tcp, garbage", auth: "Bearer pp.%%%.x", code: mail.Unknown},
		{name: "unix, the post office itself", peer: itself, want: user(mail.ByOperator)},
		{name: "unix, named user", peer: itself, header: "user", want: user(mail.ByOperator)},
		{name: "unix, no terminal", peer: stray, code: mail.Denied},
		{name: "unix, no terminal, by name", peer: stray, header: "user", code: mail.Denied},
		{name: "unix, no terminal, with the operator's token", peer: stray, auth: "Bearer " + operator,
			want: user(mail.ByOperator)},
		{name: "unix, agent", peer: itself, header: "bob", want: mail.Caller{Name: "bob"}},
		{name: "unix, agent with a Chinese name", peer: itself, header: "%E5%B0%8F%E5%85%8B",
			want: mail.Caller{Name: "小克"}},
		{name: "unix, agent with a name in two parts", peer: itself, header: "e%CC%81",
			want: mail.Caller{Name: "\u00e9"}},
		{name: "unix, system", peer: itself, header: "system", code: mail.Denied},
		{name: "unix, not a name", peer: itself, header: "%00", code: mail.Invalid},
		{name: "unix, agent's process as the user", peer: agent, code: mail.Denied},
		{name: "unix, agent's process as user by name", peer: agent, header: "user", code: mail.Denied},
		{name: "unix, agent's process as agent", peer: agent, header: "bob", want: mail.Caller{Name: "bob"}},
		{name: "unix, agent's process looks around", peer: agent, path: "/api/v1/rooms",
			want: mail.Caller{Name: mail.User}},
		{name: "unix, agent's process looks into a room", peer: agent, path: "/api/v1/rooms/a", code: mail.Denied},
		{name: "unix, token", peer: agent, auth: "Bearer " + bob, want: mail.Caller{Name: "bob", Room: "a"}},
		{name: "unix, wrong token", peer: itself, auth: "Bearer x", code: mail.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path == "" {
				tt.path = "/api/v1/rooms/a/inbox"
			}
			r := httptest.NewRequest(http.MethodGet, tt.path, nil)
			if tt.peer != nil {
				r = r.WithContext(gate.WithPeer(r.Context(), tt.peer))
			}
			if tt.auth != "" {
				r.Header.Set("Authorization", tt.auth)
			}
			if tt.header != "" {
				r.Header.Set("Pennypost-Agent", tt.header)
			}
			var got mail.Caller
			var err error
			g.Admit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got, err = g.Authenticate(r)
			})).ServeHTTP(httptest.NewRecorder(), r)
			if mail.CodeOf(err) != tt.code || err == nil && got != tt.want {
				t.Errorf("authenticate = %+v, %v, want %+v and code %q", got, err, tt.want, tt.code)
			}
		})
	}
	if o.Set.Exists("noroom") {
		t.Error("a made-up token made a room")
	}
}

// A token opens one room, and another user's header does not change that.
func TestTokenOverTCP(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "a", "bob")
	r.register(t, "b", "bob")
	token, err := r.room(t, "a", mail.User).Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/api/v1/rooms/a/inbox": 200, "/api/v1/rooms/b/inbox": 403, "/api/v1/rooms/c": 403, "/metrics": 403,
		"/mcp?room=b": 403,
	} {
		if got, body := r.get(t, path, token); got != want {
			t.Errorf("GET %s with a token of room a = %d, want %d\n%s", path, got, want, body)
		}
	}
}

// TestOpenRoomsAskNoDisk holds that a call to an open room does not look for its directory: each call would, twice
// over TCP. So calls keep working while the directory is briefly missing.
func TestOpenRoomsAskNoDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory with open files cannot be renamed there")
	}
	cfg := testConfig(t)
	o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	defer o.Set.Close()
	room := func() mail.Service {
		svc, err := o.Room(gate.Own(t.Context()), "lab", mail.User)
		if err != nil {
			t.Fatal(err)
		}
		return svc
	}
	if _, err := room().Register(t.Context(), mail.Presence{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	token, err := room().Token(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	dir := o.Set.Dir("lab")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	caller, err := o.AgentOf(t.Context(), token)
	if want := (mail.Caller{Name: "ann", Room: "lab"}); err != nil || caller != want {
		t.Errorf("the token is %+v's, %v; want %+v", caller, err, want)
	}
	if list, err := mail.Roster(t.Context(), room()); err != nil || len(list) != 1 {
		t.Errorf("Agents = %+v, %v", list, err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
}

// sleeping starts a process without a terminal but with these variables, and returns its id.
func sleeping(t testing.TB, variables ...string) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the environment of others")
	}
	cmd := exec.Command("setsid", "sleep", "60")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, variables...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	// While a process executes another program, its environment cannot be read.
	for name := ""; name != "sleep"; {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		name = strings.TrimSpace(string(text))
		time.Sleep(time.Millisecond)
	}
	return cmd.Process.Pid
}
