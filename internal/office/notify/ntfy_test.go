package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// ntfyServer is a server with the topics desk and back: token has full access, and button may only write to back.
type ntfyServer struct{ url, token, button string }

// standIn implements the part of ntfy's server that we use, from its documentation.
type standIn struct {
	mu    sync.Mutex
	next  int
	all   []map[string]any
	fresh chan struct{} // closed when there is more
}

func newStandIn(t *testing.T) ntfyServer {
	t.Helper()
	s := &standIn{fresh: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return ntfyServer{server.URL, "tk_me", "tk_button"}
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	topic, stream := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/json")
	m := map[string]any{"topic": topic}
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		if m["message"] = string(body); topic == "" {
			_ = json.Unmarshal(body, &m)
			topic, _ = m["topic"].(string)
		}
	}
	if token != "tk_me" && (token != "tk_button" || topic != "back" || stream) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w,
			`{"code":40301,"http":403,"error":"forbidden","link":"https://ntfy.sh/docs/publish/#authentication"}`)
		return
	}
	if stream {
		s.stream(w, r, topic)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	m["event"], m["id"] = "message", fmt.Sprintf("msg%d", s.next)
	s.all = append(s.all, m)
	close(s.fresh)
	s.fresh = make(chan struct{})
	_ = json.NewEncoder(w).Encode(m)
}

func (s *standIn) stream(w http.ResponseWriter, r *http.Request, topic string) {
	since, shown := r.URL.Query().Get("since"), 0
	s.mu.Lock()
	for i, m := range s.all {
		if m["id"] == since {
			shown = i + 1
		}
	}
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"event": "open", "topic": topic})
	for {
		s.mu.Lock()
		batch, fresh := s.all[shown:], s.fresh
		s.mu.Unlock()
		for _, m := range batch {
			if shown++; m["topic"] == topic {
				_ = json.NewEncoder(w).Encode(m)
			}
		}
		w.(http.Flusher).Flush()
		if r.URL.Query().Get("poll") == "1" {
			return
		}
		select {
		case <-fresh:
		case <-r.Context().Done():
			return
		}
	}
}

// realNtfy starts ntfy's own server.
func realNtfy(t *testing.T) ntfyServer {
	t.Helper()
	program, err := exec.LookPath("ntfy")
	if err != nil || exec.Command(program, "serve", "--help").Run() != nil {
		t.Skip("no ntfy server here; put ntfy into the PATH to run this against it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := l.Addr().String(), t.TempDir()
	l.Close()
	conf := filepath.Join(dir, "server.yml")
	text := fmt.Sprintf("base-url: http://%s\nlisten-http: %s\ncache-file: %s/cache.db\nauth-file: %s/auth.db\n"+
		"auth-default-access: deny-all\nvisitor-request-limit-exempt-hosts: 127.0.0.1\n", address, address, dir, dir)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--config", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	wait(t, "ntfy listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	run := func(args ...string) string {
		c := exec.Command(program, append([]string{args[0], "--config", conf}, args[1:]...)...)
		c.Env = append(os.Environ(), "NTFY_PASSWORD=a-long-password")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("ntfy %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	s := ntfyServer{url: "http://" + address}
	for user, token := range map[string]*string{"me": &s.token, "button": &s.button} {
		run("user", "add", user)
		_, after, _ := strings.Cut(run("token", "add", user), "token ")
		*token, _, _ = strings.Cut(after, " ")
	}
	run("access", "me", "desk", "rw")
	run("access", "me", "back", "rw")
	run("access", "button", "back", "wo")
	return s
}

// messages returns the messages published to a topic.
func (s *ntfyServer) messages(t *testing.T, topic string) (out []ntfyMessage) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/"+topic+"/json?poll=1&since=all", nil)
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var m ntfyMessage
		if d.Decode(&m) != nil {
			return out
		}
		if m.Event == "message" {
			out = append(out, m)
		}
	}
}

// press presses a button as the app does.
func press(t *testing.T, a ntfyAction) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), a.Method, a.URL, bytes.NewReader([]byte(a.Body)))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range a.Headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the button: %v, %v", resp, err)
	}
	resp.Body.Close()
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// desk is a room with a Notifier that uses an ntfy server, in real time.
type desk struct {
	*testing.T
	server ntfyServer
	file   string
	room   *mailroom.Room
	notify *Notifier
	stop   func()
}

func newDesk(t *testing.T, server ntfyServer) *desk {
	var store journaltest.Store
	room, err := mailroom.Open(t.Context(), "lab room", store.Open(), mailroom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, server: server, file: filepath.Join(t.TempDir(), "notify.json"), room: room, stop: func() {}}
	d.start()
	t.Cleanup(func() { d.stop(); _ = room.Close() })
	return d
}

func (d *desk) start() {
	d.notify = newNotifier(Options{File: d.file,
		Use: func(_ context.Context, _ mail.RoomName, use func(Room) error) error { return use(d.room) }})
	d.notify.addLine("ntfy", NewNtfy(&Ntfy{Server: d.server.url, Topic: "desk", Token: d.server.token,
		ReplyTopic: "back", ReplyToken: d.server.button}), config.Telling{URL: "https://box.example"}, false, true)
	d.notify.lines[0].gather, d.notify.lines[0].apart = 0, 0
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.notify.Run(ctx) })
	running.Go(func() { _ = d.notify.Follow(ctx, d.room) })
	d.stop = func() { cancel(); running.Wait() }
}

// ask sends a question from ann to the user and returns the notification.
func (d *desk) ask(draft mail.Draft) (id mail.ID, shown ntfyMessage) {
	d.Helper()
	draft.To = mail.Recipients{"user"}
	sent, err := d.room.As("ann").Send(d.Context(), draft)
	if err != nil {
		d.Fatal(err)
	}
	return sent.ID, d.shows("ann asks: " + draft.Subject)
}

// shows waits for a notification with that title.
func (d *desk) shows(title string) (m ntfyMessage) {
	d.Helper()
	wait(d.T, "the notification "+title, func() bool {
		for _, m = range d.server.messages(d.T, "desk") {
			if m.Title == title {
				return true
			}
		}
		return false
	})
	return m
}

func (d *desk) item(id mail.ID) mail.Item {
	d.Helper()
	it, err := d.room.As(mail.User).Message(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return it
}

// TestNtfy asks through a server, presses buttons as the app does, and checks the answers: each once, as the user,
// even if pressed while no post office ran, and none for a settled question.
func TestNtfy(t *testing.T) {
	t.Run("stand-in", func(t *testing.T) { testNtfy(t, newDesk(t, newStandIn(t))) })
	t.Run("real", func(t *testing.T) { testNtfy(t, newDesk(t, realNtfy(t))) })
}

func testNtfy(t *testing.T, d *desk) {
	id, shown := d.ask(mail.Draft{Type: "question", Subject: "Which port?", Body: "a secret",
		Metadata: mail.Metadata(`{"options":["8080","9090"]}`)})
	link := "https://box.example/@lab%20room/?m=" + string(id)
	if shown.Title != "ann asks: Which port?" || strings.Contains(shown.Message, "secret") || shown.Click != link ||
		shown.Priority != ntfyNormal || len(shown.Actions) != 3 || shown.Actions[2].URL != link ||
		shown.Actions[1].Label != "9090" || !strings.HasPrefix(shown.Actions[1].URL, d.server.url+"/back") {
		t.Fatalf("shown: %+v", shown)
	}
	press(t, shown.Actions[1])
	press(t, shown.Actions[0]) // too late
	wait(t, "the answer", func() bool { return d.item(id).Settled != nil })
	wait(t, "that it counts as read", func() bool { return d.item(id).Read })
	by := d.item(id).Settled
	answer := d.item(by.Answer)
	if by.By != mail.ToUser || by.As != mail.Answered || answer.Body != "9090" || answer.Type != mail.Answer ||
		answer.Metadata.Text("via") != "ntfy" || answer.By != mail.ByButton || answer.IsUsers() {
		t.Errorf("settled %+v by %+v", by, answer)
	}
	if m := d.shows("Answered: 9090"); m.Message != shown.Title {
		t.Errorf("confirmed: %+v", m)
	}
	d.lateAnswers(t)
	page, err := d.room.As(mail.User).History(t.Context(), mail.HistoryQuery{From: "user"})
	if err != nil || len(page.Messages) != 2 {
		t.Errorf("the user has sent %+v, %v; want two answers", page.Messages, err)
	}
}

// lateAnswers presses a button while no post office runs, and one of a question answered elsewhere.
func (d *desk) lateAnswers(t *testing.T) {
	id, shown := d.ask(mail.Draft{Type: "review-request", Subject: "My change", Body: "x"})
	if len(shown.Actions) != 3 || shown.Actions[1].Label != "changes-requested" {
		t.Fatalf("shown: %+v", shown)
	}
	if !d.notify.Busy() {
		t.Error("not busy while a button can be pressed")
	}
	d.stop()
	press(t, shown.Actions[1])
	d.start()
	wait(t, "the answer", func() bool { return d.item(id).Settled != nil })
	if a := d.item(d.item(id).Settled.Answer); a.Type != mail.ReviewResult ||
		a.Metadata.Text("verdict") != "changes-requested" {
		t.Errorf("the review is %+v", a)
	}
	wait(t, "nothing to be pressed", func() bool { return !d.notify.Busy() })

	id, shown = d.ask(mail.Draft{Type: "question", Subject: "Late", Body: "x",
		Metadata: mail.Metadata(`{"options":["yes","no"]}`)})
	_, other := d.ask(mail.Draft{Type: "question", Subject: "Open", Body: "y",
		Metadata: mail.Metadata(`{"options":["yes","no"]}`)})
	if err := d.room.As("ann").Withdraw(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	press(t, ntfyAction{URL: shown.Actions[0].URL, Method: "POST", Headers: shown.Actions[0].Headers,
		Body: other.Actions[0].Body + "x"}) // forged
	press(t, shown.Actions[0])
	d.shows("Not sent: it was already settled")
}

// TestNtfyRefused: an error has the server's own words, and neither topic nor token.
func TestNtfyRefused(t *testing.T) {
	for _, server := range []ntfyServer{newStandIn(t)} {
		c := NewNtfy(&Ntfy{Server: server.url, Topic: "hidden", Token: "tk_wrong"})
		_, err := c.Send(t.Context(), &Note{Subject: "x"})
		if err == nil || err.Error() != "answered 403 Forbidden: forbidden" {
			t.Errorf("Send = %v", err)
		}
	}
	c := NewNtfy(&Ntfy{Server: "http://127.0.0.1:1", Topic: "hidden", Token: "tk_wrong"})
	if _, err := c.Send(t.Context(), &Note{Subject: "x"}); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("Send = %v", err)
	}
}

// TestTokens: a button gives only its own answer, for a day.
func TestTokens(t *testing.T) {
	n := newNotifier(Options{})
	n.addLine("ntfy", nil, config.Telling{}, false, true)
	l := n.lines[0]
	letter := &Letter{Room: "lab room", ID: "msg_1"}
	token := n.token(l, letter, 2, time.Now().Add(time.Minute))
	if p, ok := n.read(l, token); !ok || p != (pressed{"lab room", "msg_1", 2, false}) {
		t.Errorf("read %+v, %v", p, ok)
	}
	if p, ok := n.read(l, n.token(l, letter, 2, time.Now().Add(-time.Minute))); !ok || !p.late {
		t.Errorf("an old one: %+v, %v", p, ok)
	}
	other := newNotifier(Options{})
	other.addLine("ntfy", nil, config.Telling{}, false, true)
	encoded, mac, _ := strings.Cut(token, ".")
	swapped, _, _ := strings.Cut(n.token(l, letter, 1, time.Now().Add(time.Minute)), ".")
	for _, forged := range []string{"", ".", token + "x", encoded, encoded + ".", swapped + "." + mac, "%%." + mac,
		other.token(other.lines[0], letter, 2, time.Now().Add(time.Minute))} {
		if p, ok := n.read(l, forged); ok {
			t.Errorf("%q is read as %+v", forged, p)
		}
	}
}

// TestNotHeard: it is reported when answers do not come back.
func TestNotHeard(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	d := newDesk(t, ntfyServer{url: server.URL})
	if _, err := d.room.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: "question",
		Body:     "x",
		Metadata: mail.Metadata(`{"options":["yes","no"]}`)}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the trouble is told", func() bool {
		got := d.notify.Troubles()
		return len(got) == 1 && got[0] == "notify ntfy: answers are not received: answered 403 Forbidden"
	})
}
