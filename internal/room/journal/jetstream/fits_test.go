package jetstream

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// An event that does not fit into one message is refused as too large, with what to change, and does not affect other
// sends; an event that fits when packed is accepted.
func TestFits(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: []string{"nats://" + servers.Servers[0].Client}, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	awaitMachines(t, "the server is there", func() bool { return c.Trouble() == nil })
	j, err := c.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	noise := make([]byte, 1<<20)
	rand.Read(noise)
	long := said(hex.EncodeToString(noise)) // packed, it takes half
	_, err = j.Append(t.Context(), said("before"), long)
	if mail.CodeOf(err) != mail.TooLarge || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("what does not fit: %v", err)
	}
	for _, body := range []string{strings.Repeat("packs well ", 100_000), "after"} {
		if _, err := j.Append(t.Context(), said(body)); err != nil {
			t.Errorf("%.20q: %v", body, err)
		}
	}
}
