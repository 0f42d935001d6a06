package jetstream

import (
	"testing"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestMinorityIsTrouble checks that servers that are connected, but too few to store anything, are reported as
// trouble, even if nothing is sent.
func TestMinorityIsTrouble(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: servers.URLs()[:1]})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitMachines(t, "the servers answer", func() bool { return c.Trouble() == nil })
	servers.Servers[1].Kill()
	servers.Servers[2].Kill()
	awaitMachines(t, "one server is not enough", func() bool { return c.nc.IsConnected() && c.Trouble() != nil })
	for _, s := range servers.Servers[1:] {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
	awaitMachines(t, "all is well again", func() bool { return c.Trouble() == nil })
}
