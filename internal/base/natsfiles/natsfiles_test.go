package natsfiles_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/natsfiles"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestSearch: a message is found in the files of each server until it is deleted and the log is compacted, by its id,
// which other messages may mention.
func TestSearch(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	nc, err := nats.Connect(servers.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "s", Subjects: []string{"s.>"}, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	long := make([]byte, natsfiles.Compressed-500)
	for i := range long {
		long[i] = "etaoin shrdlu"[rand.IntN(13)]
	}
	for _, m := range [][2]string{{"short.1", "text"}, {"long.1", string(long)}, {"kept.1", "Nats-Msg-Id: short.2"}} {
		if _, err := js.Publish("s.room", []byte(m[1]), nats.MsgId(m[0])); err != nil {
			t.Fatal(err)
		}
	}
	ids := []string{"short.1", "short", "long.1", "short.2", "2", "kept.1"}
	found := func(want ...string) {
		t.Helper()
		for _, s := range servers.Servers {
			var got []string
			for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				if got, err = natsfiles.Search(s.Dir, ids); err != nil {
					t.Fatal(err)
				}
				if slices.Equal(got, want) {
					break
				}
				if time.Now().After(until) {
					t.Fatalf("in the files of %s are %q, want %q", s.Name, got, want)
				}
			}
		}
	}
	found("kept.1", "long.1", "short.1")
	for seq := range uint64(2) {
		if err := js.SecureDeleteMsg("s", seq+1); err != nil {
			t.Fatal(err)
		}
	}
	found("kept.1", "long.1", "short.1")
	random := make([]byte, 100<<10)
	for range 200 { // more than 8 MiB, which makes the servers compact their logs
		for i := range random {
			random[i] = byte(rand.Uint32())
		}
		if _, err := js.Publish("s.room", random); err != nil {
			t.Fatal(err)
		}
	}
	found("kept.1")
}
