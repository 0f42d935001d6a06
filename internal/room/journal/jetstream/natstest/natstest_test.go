package natstest

import (
	"testing"
	"time"
)

// TestCluster checks that three servers form a cluster that takes appends, even after one was killed and came back.
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

// TestClock checks that a server has the time that was set, even after a restart, and the right one afterwards.
func TestClock(t *testing.T) {
	if _, err := Clocked(); err != nil {
		t.Skip("there is no server whose clock could be set: ", err)
	}
	s := Start(t, 1, Options{Clocks: true}).Servers[0]
	// hasTime waits until the server's clock is off by off.
	hasTime := func(what string, off time.Duration) {
		t.Helper()
		var now time.Time
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			var err error
			if now, err = s.Now(); err == nil && time.Until(now.Add(-off)).Abs() < 5*time.Second {
				return
			}
		}
		t.Errorf("%s: the server's clock is off by %v, want %v", what, time.Until(now), off)
	}
	hasTime("before", 0)
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		if err := s.SetClock(off); err != nil {
			t.Fatal(err)
		}
		hasTime("while it runs", off)
		s.Kill()
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		hasTime("after a start", off)
	}
	if err := s.SetClock(0); err != nil {
		t.Fatal(err)
	}
	hasTime("put right", 0)
}
