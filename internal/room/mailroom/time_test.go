package mailroom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// lab is a room in a bubble of fake time, and shorthands for it.
type lab struct {
	*testing.T
	room  *Room
	store *store
}

func inLab(t *testing.T, opts Options, f func(l *lab)) {
	fakeTime(t, func(t *testing.T) {
		r, store := openRoom(t, "lab", opts)
		f(&lab{t, r, store})
	})
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) register(p mail.Presence) mail.Agent {
	l.Helper()
	a, err := l.room.As(mail.User).Register(l.Context(), p)
	l.must(err)
	return a
}

func (l *lab) send(from mail.Name, d mail.Draft) mail.Sent {
	l.Helper()
	if d.Body == "" {
		d.Body = "body"
	}
	sent, err := l.room.As(from).Send(l.Context(), d)
	l.must(err)
	return sent
}

func (l *lab) mark(n mail.Name, k mail.Mark, ids ...mail.ID) {
	l.Helper()
	_, err := l.room.As(n).Mark(l.Context(), mail.Marking{IDs: ids, Mark: k, Door: "test"})
	l.must(err)
}

func (l *lab) unread(n mail.Name) int {
	l.Helper()
	p, err := l.room.As(mail.User).Inbox(l.Context(), mail.InboxQuery{Agent: n})
	l.must(err)
	if len(p.Messages) != min(p.Unread, mail.DefaultLimit) {
		l.Errorf("%s: %d messages shown, %d unread", n, len(p.Messages), p.Unread)
	}
	return p.Unread
}

func (l *lab) state(id mail.ID) mail.DeliveryState {
	l.Helper()
	it, err := l.room.As(mail.User).Message(l.Context(), id)
	l.must(err)
	if len(it.Deliveries) == 0 {
		l.Fatalf("%s has no deliveries: %+v", id, it)
	}
	return it.Deliveries[0].State
}

func TestExpiry(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann", Tags: []string{"project:x"}, Roles: []string{"builder"}})
		for _, c := range []struct {
			to   string
			ttl  int64
			life time.Duration
		}{
			{"ann", 0, 7 * 24 * time.Hour}, {"project:x", 0, 24 * time.Hour}, {"all", 0, 4 * time.Hour},
			{"ann", 60, time.Minute}, {"role:builder", 60, time.Minute}, {"all", 3600 * 24 * 30, 30 * 24 * time.Hour},
		} {
			id := l.send(mail.User, mail.Draft{To: mail.Recipients{c.to}, TTLSeconds: c.ttl}).ID
			time.Sleep(c.life - time.Millisecond)
			if got := l.state(id); got != mail.Queued || l.unread("ann") != 1 {
				t.Errorf("%s: %s with %d unread just before %v", c.to, got, l.unread("ann"), c.life)
			}
			time.Sleep(time.Millisecond)
			if got := l.state(id); got != mail.Expired || l.unread("ann") != 0 {
				t.Errorf("%s: %s with %d unread after %v", c.to, got, l.unread("ann"), c.life)
			}
		}
		forever := l.send(mail.User, mail.Draft{To: mail.Recipients{"role:builder"}}).ID
		time.Sleep(400 * 24 * time.Hour)
		if got := l.state(forever); got != mail.Queued {
			t.Errorf("role mail after a year: %s, want queued", got)
		}
	})
}

func TestExpiryPausesWhileFrozen(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		id := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, TTLSeconds: 3600}).ID
		time.Sleep(30 * time.Minute)
		l.register(mail.Presence{Name: "ann", State: mail.Frozen})
		time.Sleep(100 * time.Hour)
		if got := l.state(id); got != mail.Queued {
			t.Errorf("while frozen: %s", got)
		}
		l.register(mail.Presence{Name: "ann", State: mail.Idle})
		time.Sleep(30*time.Minute - time.Millisecond)
		if got := l.state(id); got != mail.Queued {
			t.Errorf("half an hour after thawing: %s", got)
		}
		time.Sleep(time.Millisecond)
		if got := l.state(id); got != mail.Expired {
			t.Errorf("after an hour unfrozen: %s", got)
		}
		l.register(mail.Presence{Name: "ann", State: mail.Frozen})
		if got := l.state(id); got != mail.Expired {
			t.Errorf("a later freeze brought it back: %s", got)
		}
	})
}

func TestP7_Dead(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		ann := l.room.As("ann")
		_, err := ann.Register(l.Context(), mail.Presence{Session: "s"})
		l.must(err)
		id := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}}).ID
		_, err = ann.Register(l.Context(), mail.Presence{Session: "s", End: true})
		l.must(err)
		if got := l.state(id); got != mail.Dead {
			t.Errorf("after the session: %s, want dead", got)
		}
		_, err = ann.Register(l.Context(), mail.Presence{Session: "s2"})
		l.must(err)
		if got := l.state(id); got != mail.Queued || l.unread("ann") != 1 {
			t.Errorf("adopted by the next session: %s, want queued", got)
		}
	})
}

func TestP6_LapsedSession(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		ctx, cancel := context.WithCancel(l.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.room.Run(ctx) }()
		for _, n := range []mail.Name{"ann", "bea"} {
			_, err := l.room.As(n).Register(l.Context(), mail.Presence{Roles: []string{"builder"}, Session: string(n)})
			l.must(err)
		}
		sent := l.send(mail.User, mail.Draft{To: mail.Recipients{"role:builder"}})
		first := sent.Recipients[0].Agent
		other := map[mail.Name]mail.Name{"ann": "bea", "bea": "ann"}[first]
		for range 10 { // the other one lives on, the first is silent
			time.Sleep(30 * time.Second)
			_, err := l.room.As(other).Register(l.Context(), mail.Presence{Session: string(other)})
			l.must(err)
		}
		if l.unread(first) != 0 || l.unread(other) != 1 {
			t.Errorf("after a lapse: %s has %d, %s has %d; want 0, 1", first, l.unread(first), other, l.unread(other))
		}
		_, err := l.room.As(first).Mark(l.Context(), mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkRead})
		if mail.CodeOf(err) != mail.Denied {
			t.Errorf("the former holder's mark: %v, want denied", err)
		}
		cancel()
		<-done
	})
}

// A session whose process lives does not lapse for being silent: it waits for a person, or for a tool.
func TestSilentSessionWithProcess(t *testing.T) {
	var ended atomic.Bool
	inLab(t, Options{Alive: func(process string) bool { return !ended.Load() && process == "p1" }}, func(l *lab) {
		ctx, cancel := context.WithCancel(l.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.room.Run(ctx) }()
		for n, process := range map[mail.Name]string{"ann": "p1", "bea": "p2", "cleo": ""} {
			_, err := l.room.As(n).Turn(l.Context(), mail.Turn{Moment: mail.TurnStart, Session: string(n),
				Process: process})
			l.must(err)
		}
		state := func(n mail.Name) mail.State {
			list, err := mail.Roster(l.Context(), l.room.As(mail.User))
			l.must(err)
			return list[slices.IndexFunc(list, func(a mail.Agent) bool { return a.Name == n })].State
		}
		time.Sleep(time.Hour)
		for n, want := range map[mail.Name]mail.State{"ann": mail.Working, "bea": mail.Gone, "cleo": mail.Gone} {
			if got := state(n); got != want {
				t.Errorf("after an hour of silence %s is %s, want %s", n, got, want)
			}
		}
		ended.Store(true)
		time.Sleep(5 * time.Minute)
		if got := state("ann"); got != mail.Gone {
			t.Errorf("ann's process has ended, and ann is %s", got)
		}
		cancel()
		<-done
	})
}

// TestRosterShowsLiveSessions checks that others see which session an agent runs in for as long as that lives: until
// it ends, or is silent for three minutes.
func TestRosterShowsLiveSessions(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "bob"})
		session := func(p mail.Presence) {
			t.Helper()
			p.Session = "s1"
			_, err := l.room.As("ann").Register(l.Context(), p)
			l.must(err)
		}
		for _, c := range []struct {
			when, want string
			first      func()
		}{
			{"while it lives", "s1", func() { session(mail.Presence{}) }},
			{"just before it lapses", "s1", func() { time.Sleep(3*time.Minute - time.Millisecond) }},
			{"when it has lapsed", "", func() { time.Sleep(time.Millisecond) }},
			{"when it is heard of again", "s1", func() { session(mail.Presence{}) }},
			{"when it has ended", "", func() { session(mail.Presence{End: true}) }},
		} {
			c.first()
			roster, err := mail.Roster(l.Context(), l.room.As("bob"))
			l.must(err)
			if len(roster) != 2 || roster[0].Name != "ann" || roster[0].Session != c.want {
				t.Errorf("%s the roster says %+v, want the session %q", c.when, roster, c.want)
			}
		}
	})
}

func TestHeartbeatsAreJournalledOnceAMinute(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		before := l.room.Status().Seq
		for range 100 {
			_, err := l.room.As("ann").Inbox(l.Context(), mail.InboxQuery{})
			l.must(err)
			_, err = l.room.As("ann").Register(l.Context(), mail.Presence{})
			l.must(err)
			time.Sleep(3 * time.Second)
		}
		if n := l.room.Status().Seq - before; n < 4 || n > 7 {
			t.Errorf("five minutes of activity made %d events, want about 5", n)
		}
	})
}

// TestP7_ArchivedStandsAsBefore checks that the state of a message for a reader who marked it is the same as before
// retention took it.
func TestP7_ArchivedStandsAsBefore(t *testing.T) {
	inLab(t, Options{Retention: policy.Retention{Age: 24 * time.Hour}}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		histories := [][]mail.Mark{
			{mail.MarkRead}, {mail.MarkArchived}, {mail.MarkArchived, mail.MarkRead},
			{mail.MarkRead, mail.MarkArchived, mail.MarkUnarchived},
			{mail.MarkArchived, mail.MarkUnarchived}, {mail.MarkRead, mail.MarkUnread},
			{mail.MarkRead, mail.MarkArchived, mail.MarkUnread},
		}
		before := make(map[mail.ID]mail.DeliveryState)
		for i, marks := range histories {
			id := l.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: fmt.Sprint(marks, i)}).ID
			for _, k := range marks {
				l.mark("ann", k, id)
			}
			before[id] = l.state(id)
		}
		time.Sleep(30 * 24 * time.Hour)
		_, err := l.room.As(mail.User).Archive(l.Context())
		l.must(err)
		for id, want := range before {
			it, err := l.room.As(mail.User).Message(l.Context(), id)
			l.must(err)
			if len(it.Deliveries) != 1 || it.Deliveries[0].State != want {
				t.Errorf("%s: archived as %+v, want %s as before", it.Body, it.Deliveries, want)
			}
		}
	})
}

func TestP11_Retention(t *testing.T) {
	inLab(t, Options{Retention: policy.Retention{Count: 11}}, func(l *lab) {
		l.register(mail.Presence{Name: "ann", Roles: []string{"builder"}, Tags: []string{"project:x"}})
		l.register(mail.Presence{Name: "bea"})
		l.register(mail.Presence{Name: "kid", Parent: new(mail.Name("ann"))})
		held := l.send(mail.User, mail.Draft{To: mail.Recipients{"role:nobody"}, Body: "held"})
		given := l.send(mail.User, mail.Draft{To: mail.Recipients{"role:builder"}, Body: "given"})
		old := l.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "old and unread"})
		_, err := l.room.As(mail.User).Rename(l.Context(), "bea", "beatrice")
		l.must(err)
		time.Sleep(8 * 24 * time.Hour)
		read := l.send("beatrice", mail.Draft{To: mail.Recipients{"ann"}, Body: "read", ReplyTo: old.ID})
		l.mark("ann", mail.MarkRead, read.ID)
		time.Sleep(25 * time.Hour)
		present := l.send(mail.User, mail.Draft{To: mail.Recipients{"project:x"}, Audience: mail.AudiencePresent,
			Body: "present"})
		cancel := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: "cancel", Body: "cancel"})
		for i := range 7 {
			l.send("beatrice", mail.Draft{To: mail.Recipients{"ann", "all"}, Body: fmt.Sprint("fresh ", i)})
		}
		got, err := l.room.As(mail.User).Archive(l.Context())
		l.must(err)
		if want := (mail.Trimmed{Age: 1, Read: 1, Unread: 1, Kept: 11}); got != want {
			t.Errorf("Trimmed = %+v, want %+v", got, want)
		}
		for name, id := range map[string]mail.ID{"held": held.ID, "given": given.ID, "present": present.ID,
			"cancel": cancel.ID} {
			if got := l.state(id); got != mail.Held && got != mail.Queued {
				t.Errorf("%s is %s after trimming", name, got)
			}
		}
		p, err := l.room.As(mail.User).History(l.Context(), mail.HistoryQuery{Archive: true, Search: "old and"})
		l.must(err)
		if len(p.Messages) != 1 || p.Messages[0].ID != old.ID {
			t.Errorf("the archive has %+v, want %s", p.Messages, old.ID)
		}
		it, err := l.room.As(mail.User).Message(l.Context(), old.ID)
		l.must(err)
		if it.Body != "old and unread" {
			t.Errorf("Message of an archived one: %+v", it)
		}
		answer := l.send("ann", mail.Draft{To: mail.Recipients{"bea"}, ReplyTo: old.ID, Body: "late answer"})
		if it, _ := l.room.As(mail.User).Message(l.Context(), answer.ID); it.Thread != old.ID {
			t.Errorf("thread of a reply to an archived message = %q", it.Thread)
		}
		l.register(mail.Presence{Name: "new", Roles: []string{"nobody"}})
		if l.unread("new") != 1+7 {
			t.Errorf("the new holder has %d unread, want the held one and 7 broadcasts", l.unread("new"))
		}
		l.must(l.room.As(mail.User).Erase(l.Context(), old.ID))
		if _, err := l.room.As(mail.User).Message(l.Context(), old.ID); mail.CodeOf(err) != mail.NotFound {
			t.Errorf("erased from the archive: %v", err)
		}
	})
}

// TestP11_ArchivedHistoryInOrder checks that a history is in journal order if archived and hot messages alternate,
// whole and page by page, forwards and backwards.
func TestP11_ArchivedHistoryInOrder(t *testing.T) {
	inLab(t, Options{Retention: policy.Retention{Count: 4}}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		var want []mail.ID
		for i := range 8 {
			want = append(want, l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: fmt.Sprint(i)}).ID)
		}
		l.mark("ann", mail.MarkRead, want[1], want[3], want[4], want[6])
		time.Sleep(25 * time.Hour)
		if got, err := l.room.As(mail.User).Archive(l.Context()); err != nil || got.Read != 4 {
			t.Fatalf("Archive = %+v, %v; want the four that were read", got, err)
		}
		ask := func(q mail.HistoryQuery) (ids []mail.ID, next mail.Seq) {
			t.Helper()
			q.Archive = true
			p, err := l.room.As(mail.User).History(l.Context(), q)
			l.must(err)
			for _, it := range p.Messages {
				ids = append(ids, it.ID)
			}
			return ids, p.Next
		}
		if got, _ := ask(mail.HistoryQuery{}); !slices.Equal(got, want) {
			t.Errorf("history = %v, want %v", got, want)
		}
		for limit := 1; limit <= len(want); limit++ {
			var back, on []mail.ID
			for page, before := ask(mail.HistoryQuery{Limit: limit}); ; {
				if back = append(slices.Clone(page), back...); before == 0 {
					break
				}
				page, before = ask(mail.HistoryQuery{Limit: limit, Before: before})
			}
			for page, after := ask(mail.HistoryQuery{Limit: limit, After: 1}); ; {
				if on = append(on, page...); after == 0 {
					break
				}
				page, after = ask(mail.HistoryQuery{Limit: limit, After: after})
			}
			if !slices.Equal(back, want) || !slices.Equal(on, want) {
				t.Errorf("%d a page: backwards %v, onwards %v; want %v", limit, back, on, want)
			}
		}
	})
}

// TestP2_KeysOutliveRetention checks that a retry is one message even if the first was trimmed meanwhile, and that a
// key is forgotten after a day.
func TestP2_KeysOutliveRetention(t *testing.T) {
	inLab(t, Options{Retention: policy.Retention{Count: 1}}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		d := mail.Draft{To: mail.Recipients{"ann"}, Body: "once", Key: "k"}
		first := l.send(mail.User, d)
		l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "other"})
		for range 2 { // the second checkpoint must not forget the keys that the first one kept
			_, err := l.room.As(mail.User).Archive(l.Context())
			l.must(err)
			if again := l.send(mail.User, d); again.ID != first.ID || !again.Duplicate {
				t.Errorf("sent again after trimming: %+v, want %s", again, first.ID)
			}
		}
		time.Sleep(25 * time.Hour)
		_, err := l.room.As(mail.User).Archive(l.Context())
		l.must(err)
		if again := l.send(mail.User, d); again.ID == first.ID {
			t.Error("the key was known for ever")
		}
	})
}

func TestP7_WakeOfAWait(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		got := make(chan mail.ID)
		go func() {
			it, err := l.room.As("ann").Wait(l.Context(), mail.WaitQuery{Types: []mail.Type{mail.TaskDone}})
			if err != nil {
				t.Error(err)
			}
			got <- it.ID
		}()
		synctest.Wait()
		if w := l.send(mail.User,
			mail.Draft{To: mail.Recipients{"ann"}, Type: "status"}).Recipients[0].Wake; w != mail.WakeNone {
			t.Errorf("mail that is not waited for: wake %q, want none", w)
		}
		sent := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: "task-done"})
		if w := sent.Recipients[0].Wake; w != mail.WakeWaiting {
			t.Errorf("mail that is waited for: wake %q, want waiting", w)
		}
		if id := <-got; id != sent.ID {
			t.Errorf("Wait returned %s, want %s", id, sent.ID)
		}
		// The waiter leaves the list when it has its message.
		synctest.Wait()
		if w := l.send(mail.User,
			mail.Draft{To: mail.Recipients{"ann"}, Type: "task-done"}).Recipients[0].Wake; w != mail.WakeNone {
			t.Errorf("when nobody waits any more: wake %q, want none", w)
		}
	})
}

func TestBrokenJournal(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		store := newStore(t)
		r := reopen(t, store, "lab", Options{})
		l := &lab{t, r, store}
		l.register(mail.Presence{Name: "ann"})
		l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "kept"})
		store.memory.Break(errors.New("no space left on device"))
		_, err := r.As(mail.User).Send(l.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: "lost"})
		if mail.CodeOf(err) != mail.Unavailable || strings.Contains(err.Error(), "device") {
			t.Errorf("Send on a broken journal: %v (%s), want unavailable without the private cause", err,
				mail.CodeOf(err))
		}
		if l.unread("ann") != 1 {
			t.Errorf("%d unread, want the one that was acknowledged", l.unread("ann"))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		r = reopen(t, store, "lab", Options{})
		defer r.Close()
		l.room = r
		if l.unread("ann") != 1 {
			t.Errorf("opened again: %d unread, want 1", l.unread("ann"))
		}
	})
}

func TestErasureIsFinishedAtOpen(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		store := newStore(t)
		r := reopen(t, store, "lab", Options{})
		l := &lab{t, r, store}
		l.register(mail.Presence{Name: "ann"})
		id := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "secret"}).ID
		// As if the process had died between the two steps of Erase.
		if _, err := r.commit(l.Context(),
			mail.Event{At: r.now(), Erased: &mail.Erasure{Message: id, By: mail.User}}); err != nil {
			t.Fatal(err)
		}
		l.must(r.Close())
		l.must(reopen(t, store, "lab", Options{}).Close())
		j := store.Open()
		defer j.Close()
		c := j.Follow(0)
		defer c.Close()
		for done := false; !done; {
			events, err := c.Next(l.Context())
			l.must(err)
			for _, e := range events {
				if e.Message != nil {
					t.Errorf("the journal still holds %+v", e.Message)
				}
				done = done || e.Erased != nil && e.Erased.Done
			}
		}
	})
}

func TestForward(t *testing.T) {
	o := newOffice(t, Options{})
	ctx := t.Context()
	here, _ := o.Room(ctx, "lab-1.ü", "ann")
	there, _ := o.Room(ctx, "other", "bob")
	for _, v := range []mail.Service{here, there} {
		if _, err := v.Register(ctx, mail.Presence{}); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := here.Send(ctx, mail.Draft{To: mail.Recipients{"ann", "bob@other", "agent:bob@other"}, Body: "across"})
	if err != nil {
		t.Fatal(err)
	}
	if len(sent.Recipients) != 2 || sent.Recipients[1].Address != "agent:bob@other" ||
		sent.Recipients[1].Agent != "bob" {
		t.Errorf("recipients: %+v", sent.Recipients)
	}
	p, err := there.Inbox(ctx, mail.InboxQuery{})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].From != "far:ann@lab-1.ü" {
		t.Fatalf("bob's inbox: %+v, %v", p, err)
	}
	if _, err := there.Send(ctx, mail.Draft{To: mail.Recipients{string(p.Messages[0].From)}, Body: "back",
		ReplyTo: p.Messages[0].ID}); err != nil {
		t.Fatal(err)
	}
	if p, err = here.Inbox(ctx, mail.InboxQuery{}); err != nil || len(p.Messages) != 2 ||
		p.Messages[1].Body != "back" {
		t.Errorf("ann's inbox: %+v, %v", p, err)
	}
	user, _ := o.Room(ctx, "lab-1.ü", mail.User)
	sent, err = user.Send(ctx, mail.Draft{To: mail.Recipients{"bob@other"}, Body: "from the person"})
	if err != nil || sent.Room != "other" {
		t.Fatalf("the user's: %+v, %v", sent, err)
	}
	if it, err := there.Message(ctx, sent.ID); err != nil || it.From != mail.ToUser {
		t.Errorf("the user signs as %q in another room (%v)", it.From, err)
	}
	if _, err := here.Send(ctx, mail.Draft{To: mail.Recipients{"bob@nowhere"}, Body: "x"}); mail.CodeOf(
		err) != mail.NotFound {
		t.Errorf("to an unknown room: %v", err)
	}
}
