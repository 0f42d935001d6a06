package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// machine is another machine that was let in.
type machine struct {
	wire.Joined
	url  string
	http *http.Client
	*client.Office
}

// startTLS runs a post office that listens for other machines.
func startTLS(t *testing.T) *running {
	t.Helper()
	cfg := testConfig(t)
	cfg.TLS.Listen = "127.0.0.1:0"
	return start(t, Options{Config: cfg})
}

// invite makes a code.
func (r *running) invite(t *testing.T, ask wire.Invite) (wire.Invited, wire.Code) {
	t.Helper()
	made, err := r.office.Invite(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	code, err := wire.ParseCode(made.Code)
	if err != nil {
		t.Fatal(err)
	}
	return made, code
}

// joined lets a machine in.
func (r *running) joined(t *testing.T, name mail.Machine, ask wire.Invite) *machine {
	t.Helper()
	made, code := r.invite(t, ask)
	conf := code.Trust.Config("127.0.0.1")
	stranger, err := client.New(client.Options{URL: made.URL, TLS: conf})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	m := &machine{url: made.URL, http: &http.Client{Transport: &http.Transport{TLSClientConfig: conf}}}
	t.Cleanup(m.http.CloseIdleConnections)
	if m.Joined, err = stranger.Join(t.Context(), wire.Join{Secret: code.Secret.String(), Machine: name}); err != nil {
		t.Fatal(err)
	}
	if m.Office, err = client.New(client.Options{URL: made.URL, Token: m.Token, TLS: conf}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Office.Close)
	return m
}

// ask makes a request as an agent of the machine (or without naming one if agent is ""), and returns the answer, or
// the part of it that arrives within a moment.
func (m *machine) ask(t *testing.T, method, path string, agent mail.Name, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, m.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+m.Token)
	if agent != "" {
		wire.SetAgent(req.Header, agent)
	}
	if body != "" {
		req.Header.Set("Content-Type", wire.JSON)
	}
	resp, err := m.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != wire.Events {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	var text bytes.Buffer // a stream does not end by itself
	time.AfterFunc(300*time.Millisecond, cancel)
	_, _ = text.ReadFrom(resp.Body)
	return resp.StatusCode, text.String()
}

// The outcomes of the routes for a machine that was let into one room as any agent there. A new route needs a line.
const (
	inRoom  = "in its rooms only"
	refused = "refused"
	shown   = "what is about it and its rooms"
)

var forMachines = map[string]string{
	"status": shown, "openapi": shown, "rooms": shown, "desks": shown, "deskEvents": shown, "leave": shown,
	"join": shown, "login": refused,
	"outbox": refused, "withdrawKept": refused,
	"stop": refused, "backup": refused, "notify": refused, "notifyTest": refused,
	"notifyPair": refused, "notifyUnpair": refused, "sessions": refused,
	"endSessions": refused, "endSession": refused, "removeRoom": refused,
	"machines": refused, "try": refused, "admitMachine": refused, "removeMachine": refused,
	"moveRoom": refused, "restoreRoom": refused, "shards": refused, "makeShards": refused,
	"invite": refused, "invites": refused,
	"addCredential": refused, "credentials": refused, "revokeCredential": refused, "confirm": refused,
	"setPassphrase": refused, "revoke": refused, "hook": refused, "hookTaken": refused, "place": shown,
	"dialogs": shown, "fleet": shown, "fleetMail": shown, "answerDialog": refused, "away": refused, "setAway": refused,
	"attach": refused, "token": refused, "guestToken": refused,
	"addBridge": refused, "removeBridge": refused, "syncBridge": refused,
	"addWorkspace": refused, "removeWorkspace": refused,
	"send": inRoom, "history": inRoom, "message": inRoom, "erase": inRoom, "inbox": inRoom, "desk": inRoom,
	"mark": inRoom, "turn": inRoom, "wait": inRoom, "ring": inRoom, "events": inRoom, "withdraw": inRoom,
	"dialog": inRoom, "waiting": inRoom, "stuck": inRoom, "agents": inRoom, "register": inRoom, "update": inRoom,
	"retire": inRoom, "rename": inRoom, "merge": inRoom, "grants": inRoom, "grant": inRoom,
	"claims": inRoom, "claim": inRoom, "scheduled": inRoom, "reschedule": inRoom, "unschedule": inRoom,
	"bridges": inRoom, "rejectedLines": inRoom, "workspaces": inRoom, "room": inRoom,
	"github": shown, "archive": inRoom, "verify": inRoom, "repair": inRoom, "export": inRoom, "import": inRoom,
}

// operation is a route of the API's own OpenAPI document.
type operation struct {
	ID           string `json:"operationId"`
	method, path string
}

func (m *machine) operations(t *testing.T) (all []operation) {
	t.Helper()
	_, text := m.ask(t, http.MethodGet, "/api/v1/openapi.json", "", "")
	var doc struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			op.method, op.path = strings.ToUpper(method), path
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (o *operation) in(room string) string {
	return "/api/v1" + strings.NewReplacer("{room}", room, "{id}", "m1", "{name}", "bob", "{bridge}", "haak",
		"{client}", "claude", "{event}", "Stop", "{ticket}", "x", "{session}", "x").Replace(o.path)
}

// TestMachineInOneRoom requests every route as a machine that was let into room lab: another room does not exist for
// it, in the same words as for one that was never made, and nothing reveals it.
func TestMachineInOneRoom(t *testing.T) {
	r := startTLS(t)
	m := r.joined(t, "laptop-2", wire.Invite{Rooms: []mail.RoomName{"lab"}})
	for _, room := range []mail.RoomName{"lab", "secretlab"} {
		svc, err := r.office.Room(t.Context(), room, "bob")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: string(mail.Question),
			Body: "of " + string(room)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range m.operations(t) {
		t.Run(op.ID, func(t *testing.T) {
			as := mail.Name("")
			if op.ID == "leave" { // it would
				return
			}
			body := ""
			if op.method == http.MethodPost || op.method == http.MethodPatch {
				body = "{}"
			}
			want, ok := forMachines[op.ID]
			if !ok {
				t.Fatalf("nothing is said of %s %s for machines", op.method, op.path)
			}
			status, there := m.ask(t, op.method, op.in("secretlab"), as, body)
			_, nowhere := m.ask(t, op.method, op.in("secretlob"), as, body)
			if strings.ReplaceAll(nowhere, "secretlob", "secretlab") != there && want != shown {
				t.Errorf("of a room that is there: %s, of one that is not: %s", there, nowhere)
			}
			switch _, lab := m.ask(t, op.method, op.in("lab")+"?timeout=1ms", as, body); want {
			case inRoom:
				if status != http.StatusNotFound || !strings.Contains(there, "for the machine laptop-2") {
					t.Errorf("in another room: %d %s", status, there)
				}
				if strings.Contains(lab, "laptop-2") || strings.Contains(lab, "secretlab") {
					t.Errorf("in its room: %s", lab)
				}
			case refused:
				if status != http.StatusForbidden {
					t.Errorf("%d %s, want it to be refused", status, there)
				}
			case shown:
				if strings.Contains(there, "secretlab") || op.ID == "desks" && !strings.Contains(there, "of lab") ||
					op.ID == "rooms" && !strings.Contains(there, `"lab"`) {
					t.Errorf("%d %s, want room lab alone", status, there)
				}
			}
		})
	}
	for _, to := range []string{"bob@secretlab", "far:bob@secretlab", "far:bob@secretlob"} {
		svc, _ := m.Room(t.Context(), "lab", "ann")
		_, err := svc.Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Body: "hi"})
		if mail.CodeOf(err) != mail.NotFound || strings.Contains(err.Error(), "Did you mean") {
			t.Errorf("sending to %s: %v, want that it cannot be reached", to, err)
		}
	}
	if _, err := m.Desk(t.Context(), mail.DeskQuery{Rooms: []mail.RoomName{"secretlab"}}); mail.CodeOf(err) !=
		mail.NotFound {
		t.Errorf("the desk of another room: %v", err)
	}
	for path, method := range map[string]string{"/mcp": http.MethodPost, "/metrics": http.MethodGet,
		"/dialect/agenties/mcp": http.MethodPost} {
		if status, text := m.ask(t, method, path, "", ""); status != http.StatusForbidden {
			t.Errorf("%s: %d %s, want that it is refused", path, status, text)
		}
	}
}

// TestMachineSeesItsDesk holds that a machine that was let into one room learns of no change in another.
func TestMachineSeesItsDesk(t *testing.T) {
	r := startTLS(t)
	m := r.joined(t, "laptop-2", wire.Invite{Rooms: []mail.RoomName{"lab"}})
	desk, err := m.WatchDesk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	if _, err := desk.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, room := range []mail.RoomName{"secretlab", "lab"} {
		svc, _ := r.office.Room(t.Context(), room, "bob")
		if _, err := svc.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	for seen := false; !seen; {
		changes, err := desk.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if c.Room == "secretlab" {
				t.Errorf("it is told of %+v", c)
			}
			seen = seen || c.Room == "lab"
		}
	}
}

// TestP5_MachineOfOneAgent holds that a machine that was let in as an agent is that agent, whatever it claims.
func TestP5_MachineOfOneAgent(t *testing.T) {
	r := startTLS(t)
	m := r.joined(t, "builder-box", wire.Invite{Agent: "builder"})
	svc, err := m.Room(t.Context(), "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := svc.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	lab, _ := r.office.Room(t.Context(), "lab", mail.User)
	if it, err := lab.Message(t.Context(), sent.ID); err != nil || it.From != "agent:builder" {
		t.Errorf("it is from %s, %v; want agent:builder", it.From, err)
	}
	for _, name := range []mail.Name{mail.User, "ann", "orchestrator"} {
		for _, path := range []string{"/status", "/rooms/lab/inbox", "/desk", "/login"} {
			status, text := m.ask(t, http.MethodGet, "/api/v1"+path, name, "")
			if path == "/login" {
				status, text = m.ask(t, http.MethodPost, "/api/v1"+path, name, "{}")
			}
			if status != http.StatusForbidden {
				t.Errorf("%s as %s: %d %s", path, name, status, text)
			}
		}
	}
	if status, text := m.ask(t, http.MethodGet, "/api/v1/desk", "", ""); status != http.StatusForbidden {
		t.Errorf("the user's desk: %d %s", status, text)
	}
}

// TestRevoke holds that a revoked machine's streams and waits end, as do the pages that were opened for it, and that
// it learns what to do.
func TestRevoke(t *testing.T) {
	r := startTLS(t)
	m := r.joined(t, "laptop-2", wire.Invite{})
	room, _ := m.Room(t.Context(), "lab", "ann")
	if _, err := room.Register(t.Context(), mail.Presence{}); err != nil {
		t.Fatal(err)
	}
	events, err := room.Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	desk, err := m.WatchDesk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	ends := make(chan error, 3)
	go func() {
		var err error
		for err == nil {
			_, err = events.Next(t.Context())
		}
		ends <- err
	}()
	go func() {
		var err error
		for err == nil {
			_, err = desk.Next(t.Context())
		}
		ends <- err
	}()
	go func() {
		_, err := room.Wait(t.Context(), mail.WaitQuery{})
		ends <- err
	}()
	link, err := m.Login(t.Context(), wire.Login{})
	if err != nil || !strings.HasPrefix(link, m.url+"/login?key=") {
		t.Fatalf("link = %q, %v", link, err)
	}
	unused, err := m.Login(t.Context(), wire.Login{})
	if err != nil {
		t.Fatal(err)
	}
	b := r.browser(t)
	b.Transport = m.http.Transport
	_, key, _ := strings.Cut(link, "key=")
	if resp, err := b.PostForm(m.url+"/login", url.Values{"key": {key}}); err != nil || len(resp.Cookies()) == 0 {
		t.Fatalf("logging in: %v", err)
	} else {
		resp.Body.Close()
	}
	if resp, _ := look(t, b, http.MethodGet, m.url+"/", "", ""); resp.StatusCode != http.StatusOK {
		t.Fatalf("the pages: %d", resp.StatusCode)
	}
	if list, err := r.office.Sessions(t.Context()); err != nil || len(list) != 1 || list[0].Machine != "laptop-2" {
		t.Errorf("sessions = %+v, %v; want that of laptop-2", list, err)
	}

	if err := r.office.Revoke(t.Context(), "laptop-2"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case err := <-ends:
			if mail.CodeOf(err) != mail.Unknown || !strings.Contains(err.Error(), "pennypost invite") {
				t.Errorf("it ended with %v (%s), want what to type", err, mail.CodeOf(err))
			}
		case <-time.After(5 * time.Second):
			t.Fatal("what was open did not end")
		}
	}
	eventually(t, "the browser is logged out", func() bool {
		resp, _ := look(t, b, http.MethodGet, m.url+"/", "", "")
		return resp.StatusCode == http.StatusUnauthorized
	})
	_, key, _ = strings.Cut(unused, "key=")
	if resp, err := b.PostForm(m.url+"/login", url.Values{"key": {key}}); err != nil || len(resp.Cookies()) != 0 {
		t.Errorf("an unused link still logs in: %v", err)
	} else {
		resp.Body.Close()
	}
	if err := r.office.Revoke(t.Context(), "laptop-2"); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("again: %v", err)
	}
}

// TestNoInvitation holds that an invitation where no other machine can get in is refused with the settings to write.
func TestNoInvitation(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	_, err := r.office.Invite(t.Context(), wire.Invite{})
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "[tls]\nlisten = ") ||
		!strings.Contains(err.Error(), "config.toml") {
		t.Errorf("Invite = %v; want the lines for config.toml", err)
	}
}
