package daemon

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// inbox is the inbox socket of a session of Claude Code. posted receives the text of each connection.
func inbox(t *testing.T) (path string, posted <-chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cc") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "inbox.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	texts := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c)
			texts <- string(text)
			c.Close()
		}
	}()
	return path, texts
}

// A session that reported its inbox socket is woken through it when it is idle, and neither the socket nor its token
// is stored on disk.
func TestP8_SessionSocket(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	path, posted := inbox(t)
	const token = "0123456789abcdef0123456789abcdef"
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	bob := r.room(t, "a", "bob")
	turn := func(m mail.Moment) {
		t.Helper()
		if _, err := bob.Turn(t.Context(), mail.Turn{Moment: m, Session: "s1", Client: "claude",
			Access: &mail.Access{Socket: path, Token: token, Dir: filepath.Dir(path), Mode: "default"}}); err != nil {
			t.Fatal(err)
		}
	}
	turn(mail.SessionStart)
	turn(mail.TurnStart)
	user := r.room(t, "a", mail.User)
	ask := func(body string) mail.Delivery {
		t.Helper()
		sent, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Type: string(mail.Question), Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return sent.Recipients[0]
	}
	if d := ask("while you work"); d.Wake != mail.WakeTurnEnd {
		t.Errorf("mail to an agent at work: %+v", d)
	}
	if _, err := bob.Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkPresented,
		Door: mail.HookDoor}); err != nil {
		t.Fatal(err)
	}
	turn(mail.TurnEnd)
	if d := ask("SECRET BODY"); d.Wake != "claude-socket" {
		t.Errorf("mail to an idle agent: %+v, want that its socket is rung", d)
	}
	if text := <-posted; !strings.Contains(text, token) || !strings.Contains(text, "2 unread: read_messages") ||
		strings.Contains(text, "SECRET") {
		t.Errorf("the socket got %s", text)
	}
	for _, name := range [][2]mail.Name{{"bob", "rob"}, {"rob", "bob"}} { // its session goes with its name
		if _, err := user.Rename(t.Context(), name[0], name[1]); err != nil {
			t.Fatal(err)
		}
		if d := ask("to " + string(name[1])); d.Agent != name[1] || d.Wake != "claude-socket" {
			t.Errorf("mail to an agent that was renamed: %+v", d)
		}
	}
	// A caller over TCP cannot make the post office write to a socket of this machine.
	secret, err := user.Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	turn(mail.SessionEnd)
	far, err := client.New(client.Options{URL: r.place.HTTP, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	remote, err := far.Room(t.Context(), "a", "bob")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []mail.Moment{mail.SessionStart, mail.TurnEnd} {
		// no mail keeps its turn going
		if _, err := remote.Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Turn(t.Context(), mail.Turn{Moment: m, Session: "s2", Client: "claude",
			Access: &mail.Access{Socket: path, Mode: "default"}}); err != nil {
			t.Fatal(err)
		}
	}
	if d := ask("from afar"); d.Wake != mail.WakeNoDoor {
		t.Errorf("a session far away has a door here: %+v", d)
	}
	if _, err := remote.Turn(t.Context(), mail.Turn{Moment: mail.SessionEnd, Session: "s2",
		Client: "claude"}); err != nil {
		t.Fatal(err)
	}
	if d := ask("gone"); d.Wake != mail.WakeNone && d.Wake != mail.WakeNoDoor {
		t.Errorf("mail to an agent whose session has ended: %+v", d)
	}
	r.stop(t)
	err = filepath.Walk(string(cfg.Home), func(p string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		if strings.Contains(string(text), token) || strings.Contains(string(text), "inbox.sock") {
			t.Errorf("%s tells how to get at the session", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An MCP server reports the access to its session where no hook does, and overrides nothing that a hook reported. A
// caller over TCP cannot.
func TestServerAlone(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	if err := os.WriteFile(filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "settings.json"),
		[]byte(`{"crossSessionInbound":"accept"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	path, posted := inbox(t)
	r := start(t, Options{Config: testConfig(t)})
	user := r.room(t, "a", mail.User)
	joins := func(svc mail.Service, name mail.Name, socket string) string {
		t.Helper()
		if _, err := svc.Register(t.Context(), mail.Presence{Name: name, Session: "mcp-1", Client: "claude",
			Join: true, Access: &mail.Access{Session: "s1", Socket: socket}}); err != nil {
			t.Fatal(err)
		}
		sent, err := user.Send(t.Context(), mail.Draft{To: []string{string(name)}, Type: string(mail.Question),
			Body: "how far?"})
		if err != nil {
			t.Fatal(err)
		}
		return sent.Recipients[0].Wake
	}
	if wake := joins(r.room(t, "a", "bob"), "bob", path); wake != "claude-socket" {
		t.Errorf("a server without hooks: woken by %q", wake)
	}
	if text := <-posted; !strings.Contains(text, "unread in room a") {
		t.Errorf("the socket got %s", text)
	}

	if _, err := r.room(t, "a", "ann").Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s1",
		Client: "claude", Access: &mail.Access{Socket: path, Mode: "default"}}); err != nil {
		t.Fatal(err)
	}
	joins(r.room(t, "a", "ann"), "ann", filepath.Join(filepath.Dir(path), "another"))
	if text := <-posted; !strings.Contains(text, "unread in room a") {
		t.Errorf("the socket that a hook told of got %s", text)
	}

	if _, err := user.Register(t.Context(), mail.Presence{Name: "far"}); err != nil {
		t.Fatal(err)
	}
	secret, err := user.Token(t.Context(), "far")
	if err != nil {
		t.Fatal(err)
	}
	far, err := client.New(client.Options{URL: r.place.HTTP, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	remote, err := far.Room(t.Context(), "a", "far")
	if err != nil {
		t.Fatal(err)
	}
	if wake := joins(remote, "far", path); wake != mail.WakeNoDoor {
		t.Errorf("a server far away: woken by %q", wake)
	}
}
