package jetstream_test

import (
	"testing"
)

// TestConnectionBreaks holds that a room takes mail again after a connection that broke and was back at once, over
// which nats.go goes on to follow by itself.
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
