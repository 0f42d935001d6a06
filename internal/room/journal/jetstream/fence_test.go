package jetstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jsonl"
)

// A room moves to a file of one machine while others write to it, and the servers store events after the fence too,
// like a server that has not heard of the move: no sender is told that these are stored, and the file has the events
// before the fence.
func TestFence(t *testing.T) {
	servers := shared(t)
	mover, err := jetstream.Connect(t.Context(), jetstream.Config{URLs: servers.URLs(), Machine: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mover.Delete(context.Background(), "fence"); err != nil {
			t.Error(err)
		}
		mover.Close()
	})
	told := newTold()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for m := range 2 {
		j := open(t, connect(t, servers.URLs()), "fence", t.TempDir())
		for w := range 8 {
			writing.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						_ = told.send(t, j, fmt.Sprint(m, "-", w, "-", i)) // the results are checked below
					}
				}
			})
		}
	}
	end := sync.OnceFunc(func() { close(stop); writing.Wait() })
	defer end()
	eventually(t, func() error {
		if n := told.count(); n < 200 {
			return fmt.Errorf("only %d are stored", n)
		}
		return nil
	})
	js, err := natsjs.New(mover.Conn())
	if err != nil {
		t.Fatal(err)
	}
	const fenced = "pennypost.shard.1.fence.1.log"
	ack, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: fenced,
		Header: nats.Header{"Pennypost-Moved": {"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // sends under way are stored after it
	end()
	if err := mover.CloseOff(t.Context(), "fence"); err != nil {
		t.Fatal(err)
	}
	j := open(t, mover, "fence", t.TempDir())
	s, err := js.Stream(t.Context(), "pennypost_shard_1")
	if err != nil {
		t.Fatal(err)
	}
	before, behind := mail.Seq(0), 0
	for seq := uint64(1); ; seq++ {
		m, err := s.GetMsg(t.Context(), seq, natsjs.WithGetMsgSubject(fenced))
		if err != nil {
			break
		}
		if seq = m.Sequence; seq < ack.Sequence {
			before++
		} else {
			behind++
		}
	}
	t.Logf("%d events stand behind the fence", behind-2)
	if moved := j.Moved(t.Context()); !moved || j.Last() != before {
		t.Errorf("moved: %t; the copy ends at %d, and %d events are before the fence", moved, j.Last(), before)
	}
	if len(told.unknown) > 0 {
		t.Errorf("of %d it is not known whether they are stored", len(told.unknown))
	}
	told.check(t, all(t, j, int(j.Last())))
	if _, err := j.Append(t.Context(), note("late")); mail.CodeOf(err) != mail.Unavailable ||
		!strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("Append before the move is done: %v", err)
	}
	_, err = connect(t, servers.URLs()).Open(t.Context(), "fence", t.TempDir(), jsonl.Options{})
	if mail.CodeOf(err) != mail.Unavailable || !strings.Contains(err.Error(), "moved to a file on the machine a") {
		t.Errorf("Open of a room that has moved, elsewhere: %v", err)
	}
}
