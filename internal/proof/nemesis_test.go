//go:build linux

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"time"

	"pennypost/internal/mail"
)

// fault is one kind of harm that is done to the post office.
type fault struct {
	name string
	// missing says what this machine lacks for it, "" if nothing.
	missing func(*office) string
	// do does it and makes it good again; r decides its details. An error is a broken promise, not a fault of the
	// test.
	do func(n *nemesis, r *rand.Rand) error
}

// faults lists every kind. Their order matters to a seed.
func faults() []fault {
	return []fault{
		{"kill -9", always, (*nemesis).killed},
		{"stopped and started", always, (*nemesis).restarted},
		{"SIGSTOP", always, (*nemesis).suspended},
		{"disk full", needsMount, (*nemesis).full},
		{"fdatasync fails", needsStrace, (*nemesis).syncFails},
		{"write fails", needsStrace, (*nemesis).writeFails},
		{"no room to write", needsStrace, (*nemesis).noSpace},
		{"directory sync fails", needsStrace, (*nemesis).dirSyncFails},
		{"clock steps", always, (*nemesis).clockSteps},
		{"file replaced", always, (*nemesis).replaced},
		{"file removed", always, (*nemesis).removed},
		{"damaged while stopped", always, (*nemesis).damaged},
		{"link in a bridged place", always, (*nemesis).linked},
		{"FIFO in a bridged place", always, (*nemesis).piped},
		{"out of descriptors", always, (*nemesis).starved},
	}
}

func always(*office) string { return "" }

func needsMount(o *office) string {
	if o.mounted() {
		return ""
	}
	return "the home is no file system of its own, for that wants root"
}

// step is one entry of the schedule.
type step struct {
	fault fault
	pause time.Duration // before it
	dice  *rand.Rand    // for its details
}

// schedule returns the n-th round of faults: all that are possible here, each once. It follows from seed and n alone.
func schedule(seed uint64, n int, possible []fault) []step {
	r := dice(seed, fmt.Sprint("round ", n))
	steps := make([]step, 0, len(possible))
	for _, f := range faults() { // every kind takes its dice, so that the others do not change where one is missing
		steps = append(steps, step{f, time.Duration(r.IntN(2000)) * time.Millisecond,
			rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))})
	}
	r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	return slices.DeleteFunc(steps, func(s step) bool {
		return !slices.ContainsFunc(possible, func(f fault) bool { return f.name == s.fault.name })
	})
}

// effect is what a kind of fault did over a run.
type effect struct {
	times  int
	harmed int // entries of clients that did not succeed meanwhile
	slow   time.Duration
}

// copied is a journal that was replaced by a copy of itself.
type copied struct {
	room         mail.RoomName
	read, placed time.Duration // since the run began: when the copy was made, and when it took the journal's place
}

// nemesis does harm, one fault after the other, and is the only one that starts and ends the post office meanwhile.
type nemesis struct {
	*office
	seed     uint64
	began    time.Time
	found    *findings
	stranger *foreign
	probe    *door
	only     *regexp.Regexp // the names of the faults that are wanted
	failed   func() int     // how many calls of clients have failed so far
	log      func(format string, args ...any)

	effects map[string]*effect
	annexes int      // rooms that were made to be damaged
	copies  []copied // of journals that took their place
	broken  bool
}

// run does rounds until ctx ends. A round that was begun is cut short, the fault under way is not.
func (n *nemesis) run(ctx context.Context) {
	n.effects = make(map[string]*effect)
	var possible []fault
	for _, f := range faults() {
		if !n.only.MatchString(f.name) {
			continue
		}
		if lack := f.missing(n.office); lack != "" {
			n.log("SKIPPED %s: %s", f.name, lack)
			continue
		}
		possible = append(possible, f)
		n.effects[f.name] = new(effect)
	}
	for round := 0; ctx.Err() == nil; round++ {
		for _, s := range schedule(n.seed, round, possible) {
			if pause(ctx, s.pause); ctx.Err() != nil || n.broken {
				return
			}
			n.step(s)
		}
	}
}

// step does one fault and holds that the post office recovers from it by itself.
func (n *nemesis) step(s step) {
	e, before, began := n.effects[s.fault.name], n.failed(), time.Now()
	e.times++
	if err := s.fault.do(n, s.dice); err != nil {
		n.found.add("P1", "%s: %v", s.fault.name, err)
	}
	harm := n.failed() - before
	e.harmed += harm
	healed := time.Now()
	if err := n.recovered(); err != nil {
		n.found.add("P1", "%s: %v after it was over no message could be sent: %v. It was started anew", s.fault.name,
			recoverWithin, err)
		n.kill()
		if err := n.start(); err != nil {
			n.found.add("P1", "%s: %v", s.fault.name, err)
			n.broken = true
		}
	}
	took := time.Since(healed)
	e.slow = max(e.slow, took)
	n.log("%-24s %6v, %d calls failed, usable again after %v", s.fault.name,
		healed.Sub(began).Round(10*time.Millisecond), harm, took.Round(10*time.Millisecond))
}

// recoverWithin is how long after a fault a send may still fail.
const recoverWithin = 30 * time.Second

// recovered waits until mail can be sent in every room.
func (n *nemesis) recovered() (err error) {
	for end := time.Now().Add(recoverWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err = nil
		for _, room := range []string{"main", "harbour", "cellar"} {
			in := map[string]any{"to": []string{"user"}, "body": "probe " + time.Now().String()}
			if e := n.probe.do(context.Background(), http.MethodPost, "/rooms/"+room+"/messages", in, nil); e != nil {
				err = fmt.Errorf("%s: %w", room, e)
			}
		}
		if err == nil {
			return nil
		}
	}
	return err
}
