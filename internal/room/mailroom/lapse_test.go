package mailroom

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestClocksApart checks that post offices whose clocks are twenty minutes apart never judge a live session as
// lapsed, and judge a silent one as soon as any other: by its own machine, or by the keeper if that is away.
func TestClocksApart(t *testing.T) {
	var gone away
	fakeTime(t, func(t *testing.T) {
		f := &fleet{T: t, now: time.Now, skews: []time.Duration{10 * time.Minute, -10 * time.Minute},
			opts: Options{Away: gone.is}}
		var killed atomic.Bool // the process 2.a
		f.opts.Alive = func(p string) bool { return p == "1.a" || p == "2.a" && !killed.Load() }
		defer f.close()
		f.start(2)
		for _, p := range f.posts {
			defer p.run(t)()
		}
		synctest.Wait()
		turn := func(i int, moment mail.Moment, session, process string) mail.Name {
			b, err := f.posts[i].As("ann").Turn(t.Context(),
				mail.Turn{Moment: moment, Session: session, Process: process})
			f.must("turn", err)
			synctest.Wait()
			return b.Agent
		}
		if got := turn(1, mail.SessionStart, "s1", "1.a"); got != "ann" {
			t.Errorf("the first is %s", got)
		}
		if got := turn(0, mail.SessionStart, "s0", "2.a"); got != "ann-2" {
			t.Errorf("a session on a machine whose clock is ahead is %s; the name is held", got)
		}
		time.Sleep(time.Hour) // only the machines say anything
		want := func(when string, name mail.Name, state mail.State, away bool) {
			t.Helper()
			synctest.Wait()
			for _, p := range f.posts {
				a, _, err := mail.OneAgent(t.Context(), p.As(mail.User), name)
				here := a.Machine == p.opts.Machine
				if err != nil || a.State != state || a.MachineAway != (away && !here) {
					t.Errorf("%s %s says %+v, %v; want it %s, its machine away: %v", when, p.opts.Machine, a, err,
						state, away)
				}
			}
		}
		want("after an hour", "ann", mail.Idle, false)
		want("after an hour", "ann-2", mail.Idle, false)
		killed.Store(true)
		time.Sleep(policy.SessionLapse + time.Minute)
		want("killed,", "ann-2", mail.Gone, false)
		want("with the other killed,", "ann", mail.Idle, false)

		release := f.posts[1].disk.Hold()
		f.posts[1].disk.Cut(mail.Errorf(mail.Unavailable, "no server answers"))
		gone.set("m1", true)
		time.Sleep(time.Minute)
		a, _, err := mail.OneAgent(t.Context(), f.posts[0].As(mail.User), "ann")
		if err != nil || a.State != mail.Idle || !a.MachineAway || a.Machine != "m1" {
			t.Errorf("with its machine away ann is %+v, %v", a, err)
		}
		time.Sleep(policy.SessionLapse + time.Minute)
		if a, _, _ = mail.OneAgent(t.Context(), f.posts[0].As(mail.User), "ann"); a.State != mail.Gone {
			t.Errorf("with its machine away for minutes ann is %+v", a)
		}
		release()
		f.posts[1].disk.Cut(nil)
		gone.set("m1", false)
		synctest.Wait()
		if got := turn(1, mail.TurnStart, "s1", "1.a"); got != "ann" {
			t.Errorf("the session that was cut off comes back as %s", got)
		}
		want("back again,", "ann", mail.Working, false)
	})
}

// TestLapseIsTooLate checks that a session which was heard of since does not lapse because another machine, which did
// not know, says so.
func TestLapseIsTooLate(t *testing.T) {
	bubble(t, 2, Options{}, func(f *fleet) {
		turn := func(moment mail.Moment) {
			_, err := f.posts[1].As("ann").Turn(f.Context(), mail.Turn{Moment: moment, Session: "s"})
			f.must("turn", err)
		}
		turn(mail.SessionStart)
		synctest.Wait()
		heard := f.posts[0].state.Members["ann"].Heard
		lapse := func() {
			_, err := f.posts[0].commit(f.Context(), mail.Event{Agent: &mail.AgentChange{Name: "ann", Session: "s",
				By: mail.System, End: true, Silent: heard}})
			f.must("lapse", err)
		}
		f.race(func() { turn(mail.TurnStart) }, lapse)
		if got := f.posts[0].state.Members["ann"].State; got != mail.Working {
			f.Errorf("ann is %s, though heard of", got)
		}
	})
}
