package jetstream_test

import (
	"testing"
)

// TestConnectionBreaks checks that a room takes mail again after a connection broke and came back immediately, over
// which nats.go continues its subscriptions by itself.
func TestConnectionBreaks(t *testing.T) {
	c := connect(t, shared(t).URLs())
	j := open(t, c, "breaks", t.TempDir())
	for i := range 3 {
		add(t, j, "before", 1)
		if err := c.Conn().ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			_, err := j.Append(t.Context(), note("behind"))
			return err
		})
		t.Log("connection", i, "broke, and the room takes mail again")
	}
}
