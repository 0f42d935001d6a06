//go:build linux

package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// needsClocks says why the clocks of the servers cannot be set, "" if they can.
func (s *storm) needsClocks() string { return s.noClocks }

// serverClockOff sets the clock of one server off by up to ten minutes, in half of the cases over a kill.
func (s *storm) serverClockOff(r *rand.Rand) error {
	steps := []time.Duration{-10 * time.Minute, -40 * time.Second, 5 * time.Second, 10 * time.Minute}
	_, server := s.server(r)
	err := hasTime(server, steps[r.IntN(len(steps))])
	time.Sleep(while(r))
	if r.IntN(2) == 0 {
		server.Kill()
		err = errors.Join(err, server.Start())
		time.Sleep(between(r, 500*time.Millisecond, 3*time.Second))
	}
	return errors.Join(err, hasTime(server, 0))
}

// hasTime sets the clock of a server off by that much, and waits until its monitoring confirms it.
func hasTime(server *natstest.Server, off time.Duration) error {
	err := server.SetClock(off)
	if err != nil {
		return err
	}
	var now time.Time
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if now, err = server.Now(); err == nil && time.Until(now.Add(-off)).Abs() < 2*time.Second {
			return nil
		}
	}
	return fmt.Errorf("the test cannot put the clock of %s off by %v: it is %v there: %w", server.Name, off, now, err)
}

// rolledBack resets the disk of one server to its state some seconds earlier. By then both others have everything
// that this server acknowledged meanwhile together with one of them.
func (s *storm) rolledBack(r *rand.Rand) error {
	_, server := s.server(r)
	old := server.Dir + ".old"
	defer os.RemoveAll(old)
	server.Kill()
	if err := errors.Join(os.CopyFS(old, os.DirFS(server.Dir)), server.Start()); err != nil {
		return err
	}
	forgets, err := s.takesPart(server, between(r, time.Second, 5*time.Second))
	server.Kill()
	if err != nil {
		return errors.Join(err, server.Start())
	}
	// Each room takes mail without that server, so the two others have all that was acknowledged before.
	if _, err := recovers(s); err != nil {
		return errors.Join(fmt.Errorf("without %s: %w", server.Name, err), server.Start())
	}
	entries, err := os.ReadDir(server.Dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(server.Dir, e.Name())))
	}
	if err := errors.Join(err, os.CopyFS(server.Dir, os.DirFS(old)), server.Start()); err != nil {
		return err
	}
	s.log("  %s has forgotten %d events of main", server.Name, forgets)
	return nil
}

// takesPart waits until a restarted server has written a new event of the room main, and then for more, and returns
// how many events it has written since.
func (s *storm) takesPart(server *natstest.Server, more time.Duration) (written int, err error) {
	const within = 20 * time.Second
	first := 0
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		last, err := lastOf(server)
		if err != nil || last == 0 {
			continue
		}
		if first == 0 {
			first = last
		}
		if last > first {
			time.Sleep(more)
			last, err = lastOf(server)
			return last - first, err
		}
	}
	return 0, fmt.Errorf("%s wrote nothing of main within %v of its start", server.Name, within)
}

// lastOf returns the last sequence number in the stream of the room main that a server has on its own disk.
func lastOf(server *natstest.Server) (int, error) {
	text, err := server.Get("/jsz?streams=true")
	if err != nil {
		return 0, err
	}
	var jsz struct {
		Accounts []struct {
			Streams []struct {
				Name  string
				State struct {
					Last int `json:"last_seq"`
				}
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	err = json.Unmarshal(text, &jsz)
	for _, a := range jsz.Accounts {
		for _, stream := range a.Streams {
			if stream.Name == streamOfMain {
				return stream.State.Last, nil
			}
		}
	}
	return 0, err
}

// attic is the room whose stream is deleted.
const attic = "attic"

// streamDeleted deletes the stream of a room that each machine has a copy of, while mail flows there, and makes the
// user of one post office restore it. A machine without a copy that does not hear the others would take the room for
// a new one.
func (s *storm) streamDeleted(r *rand.Rand) error {
	if _, err := recovers(s); err != nil {
		return err
	}
	var deleted struct {
		Success bool
		Error   struct {
			Code jetstream.ErrorCode `json:"err_code"`
		}
	}
	gone := func() bool { // an answer may have been lost
		return deleted.Success || deleted.Error.Code == jetstream.JSErrCodeStreamNotFound
	}
	var err error
	for end := time.Now().Add(10 * time.Second); !gone() && time.Now().Before(end); {
		err = s.ask("$JS.API.STREAM.DELETE."+streamOfMain, &deleted)
	}
	if !gone() {
		return fmt.Errorf("the test cannot delete the stream of %s: %w", attic, err)
	}
	time.Sleep(while(r))
	_, o := s.office(r)
	return s.restored(o)
}

// restoreWithin is how long the user may have to repeat the command: the machines must hear of each other first, which
// took ten seconds on a quiet machine, and 31 on one whose processors others used.
const restoreWithin = 2 * time.Minute

// restored types the user's command, and says yes, until the room is on the servers again.
func (s *storm) restored(o *office) error {
	var said string
	for began := time.Now(); time.Since(began) < restoreWithin; time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), restoreWithin)
		cmd := o.command(ctx, "rooms", "restore", attic)
		cmd.Path = o.person
		cmd.Stdin = strings.NewReader("y\n")
		text, err := cmd.CombinedOutput()
		cancel()
		said = string(text)
		if err == nil && strings.Contains(said, "is on the NATS servers again") {
			s.log("  %s restored %s after %v", o.name, attic, time.Since(began).Round(time.Millisecond))
			return nil
		}
	}
	return fmt.Errorf("P12: %s was not restored at %s within %v:\n%s", attic, o.name, restoreWithin, said)
}
