package jetstream_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

func verify(t *testing.T, v mail.Verification, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range v.Problems {
		got = append(got, p.Text)
	}
	if len(got) != len(want) {
		t.Fatalf("verify says %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("verify says %q, want %q", got[i], want[i])
		}
	}
}

// A copy that lost lines gets them back from the stream, and verify names the lines that the stream has lost.
func TestVerifyComparesMachines(t *testing.T) {
	c := connect(t, natstest.Start(t, 3, natstest.Options{}).URLs())
	dirs := [2]string{t.TempDir(), t.TempDir()}
	a, b := open(t, c, "verify", dirs[0]), open(t, c, "verify", dirs[1])
	add(t, a, "text", 30)
	want := all(t, b, 30)
	v, err := a.Verify(t.Context())
	verify(t, v, err)
	v, err = b.Verify(t.Context())
	verify(t, v, err)
	b.Close()

	file := filepath.Join(dirs[1], "mailbox.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	damaged := bytes.Join(append(lines[:10:10], lines[13:27]...), nil)
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	b = open(t, c, "verify", dirs[1])
	if diff := cmp.Diff(want, all(t, b, 30)); diff != "" {
		t.Errorf("a copy that lost lines (-want +got):\n%s", diff)
	}
	v, err = b.Repair(t.Context())
	verify(t, v, err)
	b.Close()
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the copy differs from what it was: %v", err)
	}

	js, err := jetstream.New(c.Conn())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "pennypost_shard_1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SecureDeleteMsg(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	v, err = a.Verify(t.Context())
	verify(t, v, err, "messages were deleted")
	config := s.CachedInfo().Config
	config.MaxAge, config.AllowDirect = time.Hour, true
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	v, err = a.Verify(t.Context())
	verify(t, v, err, "drops messages older than 1h", "even one that is behind", "messages were deleted")
}

// If a copy was opened without servers, Repair fetches the missing events once the servers are there.
func TestPutBack(t *testing.T) {
	dir := t.TempDir()
	j, err := jsonl.Open(dir, jsonl.Options{Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	var events []jsonl.Placed
	for i := range 20 {
		text, err := jsonl.Encode(note("text"))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, jsonl.Placed{Seq: mail.Seq(i*2 + 1), Text: text})
	}
	if err := j.Place(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	j.Close()
	file := filepath.Join(dir, "mailbox.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.WriteFile(file, bytes.Join(append(lines[:4:4], lines[15:]...), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err = jsonl.Open(dir, jsonl.Options{Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	n, err := j.PutBack(t.Context(), events)
	if err != nil || n == 0 {
		t.Fatalf("PutBack = %d, %v", n, err)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, text) {
		t.Errorf("what was put back differs from what it was: %v\n%s", err, now)
	}
	v, err := j.Verify(t.Context())
	verify(t, v, err)
}
