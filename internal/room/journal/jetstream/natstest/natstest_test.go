package natstest

import (
	"testing"
	"time"
)

// TestCluster holds that three servers form a cluster that takes appends, also when one was killed and came back.
func TestCluster(t *testing.T) {
	c := Start(t, 3, Options{})
	c.Servers[0].Kill()
	if err := c.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(time.Minute); err != nil {
		t.Fatal(err)
	}
}
