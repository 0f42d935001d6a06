//go:build linux

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"
)

// fault is one kind of harm.
type fault struct {
	name string
	// missing says what this machine lacks for it, "" if nothing. Nil: it is possible anywhere.
	missing func() string
	// do does it and undoes it; r decides its details. An error is a broken promise, not a fault of the test.
	do func(r *rand.Rand) error
}

// step is one entry of the schedule.
type step struct {
	fault fault
	pause time.Duration // before it
	dice  *rand.Rand    // for its details
}

// schedule returns the n-th round of faults: all that are possible here, each once. It depends only on seed, n and
// the list of faults.
func schedule(seed uint64, n int, all []fault, possible map[string]bool) []step {
	r := dice(seed, fmt.Sprint("round ", n))
	steps := make([]step, 0, len(all))
	for _, f := range all { // every kind takes its dice, so that a missing one does not change the others
		steps = append(steps, step{f, time.Duration(r.IntN(2000)) * time.Millisecond,
			rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))})
	}
	r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	return slices.DeleteFunc(steps, func(s step) bool { return !possible[s.fault.name] })
}

// effect is the outcome of a kind of fault over a run.
type effect struct {
	times  int
	harmed int // failed entries of clients meanwhile
	slow   time.Duration
}

// wrecker does one fault after the other by its schedule, and holds that mail is accepted again after each.
type wrecker struct {
	seed   uint64
	began  time.Time
	found  *findings
	only   *regexp.Regexp // the names of the wanted faults
	failed func() int     // how many calls of clients have failed so far
	log    func(format string, args ...any)

	effects map[string]*effect
	broken  bool
}

// victim is the target of faults.
type victim interface {
	faults() []fault
	recovered() error // why mail is not accepted everywhere, or nil
	anew() error      // restarts the parts that did not recover
}

// run does rounds until ctx ends. A round is then cut short, but the current fault is not.
func (w *wrecker) run(ctx context.Context, v victim) {
	w.effects = make(map[string]*effect)
	possible := make(map[string]bool)
	for _, f := range v.faults() {
		if !w.only.MatchString(f.name) {
			continue
		}
		if f.missing != nil && f.missing() != "" {
			w.log("SKIPPED %s: %s", f.name, f.missing())
			continue
		}
		possible[f.name] = true
		w.effects[f.name] = new(effect)
	}
	for round := 0; ctx.Err() == nil; round++ {
		for _, s := range schedule(w.seed, round, v.faults(), possible) {
			if pause(ctx, s.pause); ctx.Err() != nil || w.broken {
				return
			}
			w.step(s, v)
		}
	}
}

// step does one fault and holds that mail is accepted again by itself.
func (w *wrecker) step(s step, v victim) {
	e, before, began := w.effects[s.fault.name], w.failed(), time.Now()
	e.times++
	if err := s.fault.do(s.dice); err != nil {
		w.found.add("P1", "%s: %v", s.fault.name, err)
	}
	harm := w.failed() - before
	e.harmed += harm
	healed := time.Now()
	why, err := recovers(v)
	if took := time.Since(healed); took > recoverWithin/5 {
		w.log("  it took %v; the last refusal was: %v", took.Round(time.Millisecond), why)
	}
	if err != nil {
		w.found.add("P1", "%s: %v after it was over no message could be sent: %v. It was started anew", s.fault.name,
			recoverWithin, err)
		if err := v.anew(); err != nil {
			w.found.add("P1", "%s: %v", s.fault.name, err)
			w.broken = true
		}
	}
	took := time.Since(healed)
	e.slow = max(e.slow, took)
	w.log("%-24s %6v, %d calls failed, usable again after %v", s.fault.name,
		healed.Sub(began).Round(10*time.Millisecond), harm, took.Round(10*time.Millisecond))
}

// recoverWithin is how long after a fault a send may still fail, on a machine that others use too.
const recoverWithin = time.Minute

// recovers waits until mail is accepted everywhere, and returns why it was not for so long.
func recovers(v victim) (why, err error) {
	for end := time.Now().Add(recoverWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = v.recovered(); err == nil {
			return why, nil
		}
		why = err
	}
	return why, err
}
