package daemon

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/client"
	"pennypost/internal/mail"
)

// A session that told of its inbox socket is woken through it when it is idle, and neither the socket nor its token is anywhere on disk.
func TestP8_SessionSocket(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	dir, err := os.MkdirTemp("", "cc") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "inbox.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lines := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for s := bufio.NewScanner(c); s.Scan(); {
				lines <- s.Text()
			}
			c.Close()
		}
	}()
	const token = "0123456789abcdef0123456789abcdef"
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	bob := r.room(t, "a", "bob")
	turn := func(m mail.Moment) {
		t.Helper()
		if _, err := bob.Turn(t.Context(), mail.Turn{Moment: m, Session: "s1", Client: "claude", Access: &mail.Access{Socket: path, Token: token, Dir: dir}}); err != nil {
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
	if _, err := bob.Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkPresented, Door: mail.HookDoor}); err != nil {
		t.Fatal(err)
	}
	turn(mail.TurnEnd)
	if d := ask("SECRET BODY"); d.Wake != "claude-socket" {
		t.Errorf("mail to an idle agent: %+v, want that its socket is rung", d)
	}
	auth, message := <-lines, <-lines
	if !strings.Contains(auth, token) || !strings.Contains(message, "unread in room a") || strings.Contains(message, "SECRET") {
		t.Errorf("the socket got %s and %s", auth, message)
	}
	// Who comes over TCP cannot have a socket of this machine written to.
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
		if _, err := remote.Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil { // nothing keeps its turn going
			t.Fatal(err)
		}
		if _, err := remote.Turn(t.Context(), mail.Turn{Moment: m, Session: "s2", Client: "claude", Access: &mail.Access{Socket: path}}); err != nil {
			t.Fatal(err)
		}
	}
	if d := ask("from afar"); d.Wake != mail.WakeNoDoor {
		t.Errorf("a session far away has a door here: %+v", d)
	}
	if _, err := remote.Turn(t.Context(), mail.Turn{Moment: mail.SessionEnd, Session: "s2", Client: "claude"}); err != nil {
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
