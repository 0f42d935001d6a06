package openalice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// oneRoom is a post office with one room.
type oneRoom struct {
	mail.Office
	room *mailroom.Room
}

func (o oneRoom) Room(_ context.Context, _ mail.RoomName, as mail.Name) (mail.Service, error) {
	return o.room.As(as), nil
}

// TestDocumentsElsewhere: a document of a workspace on another machine comes from there if a message names it, and
// only from inside the workspace; if the machine does not answer, the error names it.
func TestDocumentsElsewhere(t *testing.T) {
	var store journaltest.Store
	open := func(m mail.Machine) oneRoom {
		room, err := mailroom.Open(t.Context(), "lab", store.Open(), mailroom.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { room.Close() })
		return oneRoom{room: room}
	}
	a, b := open("a"), open("b")
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.txt")
	for path, text := range map[string]string{filepath.Join(dir, "plan.md"): "# Plan", secret: "secret",
		filepath.Join(dir, "other.md"): "not named"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	ws, err := a.room.As(mail.User).AddWorkspace(t.Context(), mail.Workspace{ID: "ws", Dir: dir})
	if err != nil || ws.Machine != "a" {
		t.Fatalf("AddWorkspace = %+v, %v, want one on a", ws, err)
	}
	sent, err := a.room.As("ws").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: "custom",
		Body: "done",
		Docs: []mail.Doc{{Path: "plan.md"}, {Path: "link.md"}, {Path: "gone.md"}}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := a.room.As(mail.User).Message(t.Context(), sent.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.room.Meet(t.Context()); err != nil {
		t.Fatal(err)
	}
	var down error
	there := &Documents{Here: "a"}
	here := &Documents{Here: "b", Heard: func(mail.Machine) mail.Time { return 77 },
		Ask: func(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error) {
			if to != "a" || subject != DocumentSubject || down != nil {
				return nil, down
			}
			return there.Answer(ctx, a, request)
		}}
	for n, want := range []string{"", InvalidPath, FileNotFound} {
		doc, err := here.Read(t.Context(), "lab", &it.Message, n, &ws)
		why, _ := errors.AsType[*DocumentError](err)
		if want == "" && (err != nil || string(doc.Text) != "# Plan" || doc.Name != "plan.md") {
			t.Errorf("Read(%s) = %+v, %v, want the plan", it.Docs[n].Path, doc, err)
		} else if want != "" && (why == nil || why.Reason != want) {
			t.Errorf("Read(%s): %v, want %s", it.Docs[n].Path, err, want)
		}
	}
	for _, ask := range []string{`{"room":"lab","message":"` + string(sent.ID) + `","n":3}`,
		`{"room":"lab","message":"` + string(sent.ID) + `","n":-1}`, `{"room":"lab","message":"msg_none","n":0}`,
		`{`} {
		if text, err := there.Answer(t.Context(), a, []byte(ask)); err == nil {
			t.Errorf("Answer(%s) = %s, want an error", ask, text)
		}
	}
	down = mail.Errorf(mail.Unavailable, "nobody is there")
	_, err = here.Read(t.Context(), "lab", &it.Message, 0, &ws)
	why, _ := errors.AsType[*DocumentError](err)
	if why == nil || why.Reason != Elsewhere || why.Machine != "a" || why.Heard != 77 ||
		!strings.Contains(err.Error(), "nobody is there") {
		t.Errorf("Read of a machine that is away: %+v, want that it is a", err)
	}
	svc := b.room.As(mail.User)
	if m, n, err := naming(t.Context(), svc, "ws", "plan.md"); err != nil || m.ID != sent.ID || n != 0 {
		t.Errorf("naming = %v, %d, %v, want the message", m, n, err)
	}
	if _, _, err := naming(t.Context(), svc, "ws", "other.md"); err == nil {
		t.Errorf("naming finds a document that no message names")
	}
}
