package mailroom

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// The person finds in the mailbox what happened to the room's files while it was open, and the status says what is
// missing.
func TestNewsReachesThePerson(t *testing.T) {
	dir := t.TempDir()
	open := func() (*Room, context.CancelFunc) {
		files, err := jsonl.Open(dir, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), "lab", files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = r.Run(ctx) }()
		return r, stop
	}
	send := func(r *Room) mail.ID {
		sent, err := r.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	wantTold := func(r *Room, subject string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			page, err := r.As(mail.User).Inbox(t.Context(), mail.InboxQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(page.Messages, func(it mail.Item) bool {
				return it.From == mail.FromSystem && it.Subject == subject
			}) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the person was not told: %s", subject)
			}
		}
	}
	path := filepath.Join(dir, "mailbox.jsonl")
	r, stop := open()
	send(r)
	gone := send(r)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	send(r)
	wantTold(r, "The mailbox file was changed from outside")
	stop()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = slices.DeleteFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(gone)) })
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	r, stop = open()
	defer func() { stop(); r.Close() }()
	wantTold(r, "Part of the mailbox is missing")
	if st := r.Status(); st.Missing != 1 {
		t.Errorf("Status = %+v, want one missing line", st)
	}
	if _, err := r.As("ann").Repair(t.Context()); mail.CodeOf(err) != mail.Denied {
		t.Errorf("Repair by an agent = %v, want it denied", err)
	}
}

// Lines that go bad on the disk under an open room are named with the messages that the room remembers.
func TestVerifyNamesWhatTheRoomKnows(t *testing.T) {
	dir := t.TempDir()
	files, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), "lab", files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sent, err := r.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.As("ann").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "more"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mailbox.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, l := range lines {
		if bytes.Contains(l, []byte(sent.ID)) {
			lines[i] = append(bytes.Repeat([]byte(" "), len(l)-1), '\n')
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Join(lines, nil), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	v, err := r.As(mail.User).Verify(t.Context())
	named := func(p mail.Problem) bool {
		return p.First == sent.Seq && strings.Contains(p.Text, string(sent.ID)+" from agent:ann to [user]")
	}
	if err != nil || !slices.ContainsFunc(v.Problems, named) {
		t.Errorf("Verify = %+v, %v, want that it names %s", v, err, sent.ID)
	}
}
