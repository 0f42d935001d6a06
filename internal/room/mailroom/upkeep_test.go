package mailroom

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
)

// away has each machine's view of the others.
type away struct {
	mu   sync.Mutex
	gone map[mail.Machine]bool
}

func (a *away) set(m mail.Machine, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone == nil {
		a.gone = make(map[mail.Machine]bool)
	}
	a.gone[m] = gone
}

func (a *away) is(m mail.Machine) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone[m]
}

// run makes a machine look after its part of the room until stop is called.
func (p *post) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-over
	})
}

func (f *fleet) keeper() mail.Machine {
	synctest.Wait()
	_, keeper := f.posts[0].Machines()
	return keeper
}

// TestUpkeepIsTakenOver checks that a room has a keeper immediately if there is one machine, the next when it stops,
// and another within fifteen seconds of the last sign of one that was killed; and that the old one, which does not
// know, no longer trims anything.
func TestUpkeepIsTakenOver(t *testing.T) {
	var gone away
	fakeTime(t, func(t *testing.T) {
		f := &fleet{T: t, opts: Options{Away: gone.is}}
		defer func() {
			f.agree()
			f.close()
		}()
		first := f.add()
		defer first.run(t)()
		if got := f.keeper(); got != "m0" {
			t.Fatalf("a single machine has the keeper %q at first, want itself", got)
		}
		second, third := f.add(), f.add()
		stopSecond := second.run(t)
		defer stopSecond()
		defer third.run(t)()
		if all, _ := first.Machines(); len(all) != 1 {
			synctest.Wait()
		}
		release := first.disk.Hold() // it was cut off, or killed
		first.disk.Cut(mail.Errorf(mail.Unavailable, "no server answers"))
		lastWord := time.Now()
		time.Sleep(10 * time.Second)
		gone.set("m0", true)
		for synctest.Wait(); !second.Keeps() && !third.Keeps(); synctest.Wait() {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(lastWord); took > 15*time.Second {
			t.Errorf("the room was without a keeper for %v", took)
		}
		if second.Keeps() == third.Keeps() || !first.Keeps() {
			t.Errorf("m1 keeps: %v, m2: %v; the first, which does not know: %v", second.Keeps(), third.Keeps(),
				first.Keeps())
		}
		release()
		first.disk.Cut(nil)
		gone.set("m0", false)
		synctest.Wait()
		if first.Keeps() {
			t.Error("the old keeper does not know that it was replaced")
		}
		if second.Keeps() {
			stopSecond() // its post office ends, or closes the room
			time.Sleep(upkeepEvery)
			if got := f.keeper(); got != "m0" && got != "m2" {
				t.Errorf("a room that its keeper has left has the keeper %q", got)
			}
		}
	})
}

// TestKeeperThatForgot checks that a machine that is there, and does not look after the room, is replaced.
func TestKeeperThatForgot(t *testing.T) {
	bubble(t, 2, Options{}, func(f *fleet) {
		defer f.posts[1].run(f.T)()
		time.Sleep(upkeepLasts - time.Minute)
		if got := f.keeper(); got != "m0" {
			f.Errorf("the keeper is %q too soon", got)
		}
		time.Sleep(2 * time.Minute)
		if got := f.keeper(); got != "m1" {
			f.Errorf("the keeper is %q, though it does nothing", got)
		}
		time.Sleep(24 * time.Hour)
		if got := f.keeper(); got != "m1" {
			f.Errorf("the keeper is %q, though m1 says each hour that it is", got)
		}
	})
}

// TestRetentionEverywhere checks that mail that the keeper trims leaves the mailboxes of all machines, and goes to
// the archive of each: of one that was there, of one that was held back meanwhile, and of one that comes later.
func TestRetentionEverywhere(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		f := &fleet{T: t, opts: Options{Retention: policy.Retention{Count: 5}}}
		defer f.close()
		var stops []func()
		for range 3 {
			stops = append(stops, f.add().run(t))
		}
		synctest.Wait()
		user := f.posts[0].As(mail.User)
		_, err := user.Register(t.Context(), mail.Presence{Name: "ann"})
		f.must("register", err)
		synctest.Wait() // until all machines know her
		release := f.posts[2].disk.Hold()
		const sent = 40
		for i := range sent {
			_, err := f.posts[i%2].As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"},
				Body: fmt.Sprint(i), Key: fmt.Sprint("key ", i)})
			f.must("send", err)
			if i%3 == 0 {
				_, err := f.posts[1].As("ann").Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead})
				f.must("mark", err)
			}
		}
		time.Sleep(2 * time.Hour)
		release()
		time.Sleep(time.Hour)
		synctest.Wait()
		stops = append(stops, f.add().run(t))
		synctest.Wait()
		time.Sleep(2 * time.Hour) // in which each has looked once more
		for _, stop := range stops {
			stop()
		}
		for _, p := range f.posts {
			archived := 0
			for e, err := range p.journal.(journal.Compacter).Archived(t.Context(), 0, false) {
				f.must("archived", err)
				if e.Message != nil {
					archived++
				}
			}
			hot := len(p.state.Records)
			if archived < sent-10 || hot+archived != sent || len(p.state.Leaving) > 0 {
				f.Errorf("%s has %d hot messages, %d archived and %d on their way; want %d in all",
					p.opts.Machine, hot, archived, len(p.state.Leaving), sent)
			}
			page, err := p.As(mail.User).History(t.Context(), mail.HistoryQuery{Archive: true, Limit: mail.MaxLimit})
			if err != nil || len(page.Messages) != sent {
				f.Errorf("%s shows %d messages, %v; want %d", p.opts.Machine, len(page.Messages), err, sent)
			}
			_, err = p.As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: "0", Key: "key 0"})
			f.must("send again", err)
		}
		f.agree()
	})
}

// TestErasureEverywhere checks that an erasure is pending until each machine that follows the room has rewritten its
// files, that the person is told which has not, and that one that was removed is not waited for; and that the text is
// then on no machine's disk, not even on that of one that came meanwhile.
func TestErasureEverywhere(t *testing.T) {
	var gone away
	fakeTime(t, func(t *testing.T) {
		f := &fleet{T: t, opts: Options{Away: gone.is}}
		defer f.close()
		var stops []func()
		for range 3 {
			stops = append(stops, f.add().run(t))
		}
		defer func() {
			for _, stop := range stops {
				stop()
			}
		}()
		synctest.Wait()
		user := f.posts[0].As(mail.User)
		send := func() mail.ID {
			sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "secret"})
			f.must("send", err)
			synctest.Wait() // a machine that has not read what another erases has to open the room again
			return sent.ID
		}
		has := func(p *post) (n int) {
			events, err := p.journal.Read(t.Context(), places(p.journal.Last())...)
			f.must("read", err)
			for _, e := range events {
				if e.Message != nil && e.Message.Body == "secret" {
					n++
				}
			}
			return n
		}
		f.must("erase", user.Erase(t.Context(), send()))
		id := send()
		release := f.posts[2].disk.Hold()
		gone.set("m2", true)
		f.wantError("erase", user.Erase(t.Context(), id), mail.Unavailable, "disk of m2")
		synctest.Wait()
		if st := f.posts[1].Status(); len(st.Erasing) != 1 || fmt.Sprint(st.Erasing[0].Machines) != "[m2]" {
			f.Errorf("the status says %+v", st.Erasing)
		}
		if has(f.posts[0])+has(f.posts[1]) != 0 {
			f.Error("the text is on the disks of those that have erased it")
		}
		slow := f.store.Machine()
		copied := slow.Open() // a machine that has the text before it is erased
		id = send()
		synctest.Wait()
		held := slow.Hold()
		f.wantError("erase", user.Erase(t.Context(), id), mail.Unavailable, "disk of m2")
		release()
		gone.set("m2", false)
		<-f.posts[2].Reopen() // it had not read the erased message
		stops[2]()
		f.settle()
		stops[2] = f.posts[2].run(t)
		time.Sleep(time.Second)
		synctest.Wait()
		synctest.Wait()
		if st := f.posts[1].Status(); len(st.Erasing) != 0 || has(f.posts[2]) != 0 {
			f.Errorf("the last machine is back and has %d, and the status says %+v", has(f.posts[2]), st.Erasing)
		}
		held()
		synctest.Wait()
		copied.Close()
		late := &post{disk: slow, opts: f.opts}
		late.opts.Machine = "m3"
		late.open(t)
		f.posts = append(f.posts, late)
		stops = append(stops, late.run(t))
		synctest.Wait()
		if n := has(late); n != 0 {
			f.Errorf("a machine that came late has %d erased texts", n)
		}
		id = send()
		synctest.Wait()
		defer late.disk.Hold()()
		gone.set("m3", true)
		f.wantError("erase", user.Erase(t.Context(), id), mail.Unavailable, "disk of m3")
		f.must("remove m3", f.posts[0].RemoveMachine(t.Context(), "m3"))
		synctest.Wait()
		if st := f.posts[1].Status(); len(st.Erasing) != 0 || strings.Contains(fmt.Sprint(st.Machines), "m3") {
			f.Errorf("a machine that was removed is waited for: %+v", st)
		}
		f.wantError("remove it again", f.posts[0].RemoveMachine(t.Context(), "m3"), mail.NotFound)
		f.posts = f.posts[:3]
		f.agree()
		f.posts = append(f.posts, late)
	})
}

func places(last mail.Seq) (all []mail.Seq) {
	for seq := mail.Seq(1); seq <= last; seq++ {
		all = append(all, seq)
	}
	return all
}

// TestLoserWithoutWinner checks that a machine which reads the room from its first event does not take for a message
// one that had lost to another which was erased since, though the server still has it.
func TestLoserWithoutWinner(t *testing.T) {
	bubble(t, 2, Options{}, func(f *fleet) {
		var sent [2]mail.Sent
		send := func(i int) func() {
			return func() {
				var err error
				sent[i], err = f.posts[i].As(mail.User).Send(f.Context(),
					mail.Draft{To: mail.Recipients{"user"}, Body: "x",
						Key: "k"})
				f.must("send", err)
			}
		}
		f.race(send(0), send(1))
		id := sent[0].ID
		_, err := f.posts[0].commit(f.Context(), mail.Event{Erased: &mail.Erasure{Message: id, By: mail.User}})
		f.must("erase", err)
		_, err = f.posts[0].writeCheckpoint(f.Context())
		f.must("checkpoint", err)
		only := func(e mail.Event) bool { return e.Message != nil && e.Message.ID == id }
		_, err = f.store.Open().Erase(f.Context(), id, only)
		f.must("erase from the store", err)
		for _, p := range f.posts { // on each disk, from which compaction has taken the loser before
			_, err := p.journal.(*journaltest.Copy).Memory.Erase(f.Context(), id, func(e mail.Event) bool {
				return only(e) || p.isLost(e.Seq)
			})
			f.must("erase", err)
			_, err = p.commit(f.Context(), mail.Event{Erased: &mail.Erasure{Message: id, By: mail.User, Done: true,
				Machine: p.opts.Machine}})
			f.must("say that it is done", err)
		}
	})
}
