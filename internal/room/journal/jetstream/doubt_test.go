package jetstream_test

import (
	"errors"
	"testing"

	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestDisconnectedIsInDoubt checks that a stored send is not answered with "nothing was stored" if the connection is
// given up before the answer comes, as suspect does because of another room. If the connection is back in time, the
// send succeeds, and is stored once.
func TestDisconnectedIsInDoubt(t *testing.T) {
	p := natstest.NewLink(t, shared(t).Servers[0].Client)
	c := connect(t, []string{p.URL()})
	j := open(t, c, "doubt", t.TempDir())
	far := open(t, connect(t, shared(t).URLs()), "doubt", t.TempDir())
	told := newTold()
	for _, back := range []bool{false, true} {
		text := map[bool]string{false: "away", true: "back"}[back]
		add(t, j, "before "+text, 1)
		before := far.Last()
		p.Lose(true)
		answer := make(chan error, 1)
		go func() { answer <- told.send(t, j, text) }()
		eventually(t, func() error {
			if far.Last() == before {
				return errors.New("it is not stored")
			}
			return nil
		})
		if err := c.Conn().ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		if back {
			p.Cut()
		}
		err := <-answer
		if !back && !errors.Is(err, journal.ErrUnknown) {
			t.Errorf("stored, and cut off from its answer: %v, want that it is in doubt", err)
		}
		if back && err != nil {
			t.Errorf("stored, and connected again: %v", err)
		}
		p.Cut()
	}
	add(t, j, "after", 1)
	told.check(t, all(t, far, int(j.Last())))
}
