package mailroom

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold/foldtest"
)

// TestErasedBetweenCheckpoints erases a message that came before one checkpoint and kept a turn from ending after it.
// When the room is opened again, that effect is unchanged: the checkpoint of the erasure has it.
func TestErasedBetweenCheckpoints(t *testing.T) {
	room, store := openRoom(t, "lab", Options{})
	ctx := t.Context()
	user := room.As(mail.User)
	send := func(to, body string) mail.ID {
		t.Helper()
		sent, err := user.Send(ctx, mail.Draft{To: mail.Recipients{to}, Type: string(mail.Question), Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	turn := func(at mail.Moment) {
		t.Helper()
		if _, err := room.As("ann").Turn(ctx, mail.Turn{Moment: at, Session: "s1", Quiet: true}); err != nil {
			t.Fatal(err)
		}
	}
	erase := func(id mail.ID) {
		t.Helper()
		if err := user.Erase(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	turn(mail.TurnStart)
	asked, unrelated := send("ann", "Which?"), send("user", "x")
	erase(unrelated) // a checkpoint follows
	turn(mail.TurnEnd)
	erase(asked)
	want := foldtest.Dump(room.state, room.now())
	again := reopen(t, store, "lab", Options{})
	defer again.Close()
	if diff := cmp.Diff(want, foldtest.Dump(again.state, room.now())); diff != "" {
		t.Errorf("opened again it differs (-before +after):\n%s", diff)
	}
	if m := again.state.Members["ann"]; m.Continues != 1 || m.State != mail.Working {
		t.Errorf("ann is %s and was kept from stopping %d times, want working and once", m.State, m.Continues)
	}
}

// TestErasedWhileBehind erases mail that a lagging machine has not read. Its effects are known there too, when the
// room is opened again, as the machine requests.
func TestErasedWhileBehind(t *testing.T) {
	inMemory(t)
	bubble(t, 2, Options{Limits: policy.Limits{Exchanges: -1}}, func(f *fleet) {
		user := f.posts[0].As(mail.User)
		for _, n := range []mail.Name{"ann", "bob", "eve"} {
			_, err := user.Register(f.Context(), mail.Presence{Name: n, Roles: []string{"builder"}})
			f.must("register", err)
		}
		f.settle()
		release := f.posts[1].disk.Hold()
		var ids []mail.ID
		for i := range 3 {
			sent, err := user.Send(f.Context(), mail.Draft{To: mail.Recipients{"role:builder"}, Body: fmt.Sprint(i)})
			f.must("send", err)
			ids = append(ids, sent.ID)
		}
		_, err := f.posts[0].writeCheckpoint(f.Context())
		f.must("checkpoint", err)
		sent, err := user.Send(f.Context(), mail.Draft{To: mail.Recipients{"role:builder"}, Body: "last"})
		f.must("send", err)
		f.wantError("erase", user.Erase(f.Context(), ids[1]), mail.Unavailable, "disk of m1")
		release()
		err = f.posts[1].await(f.Context(), f.posts[0].journal.Last())
		f.wantError("wait for what came behind it", err, mail.Unavailable, "read again")
		<-f.posts[1].Reopen()
		f.settle()
		it, err := f.posts[1].As(mail.User).Message(f.Context(), sent.ID)
		f.must("message", err)
		if len(it.Deliveries) != 1 || it.Deliveries[0].Agent != "ann" {
			f.Errorf("the last is for %+v, want ann", it.Deliveries)
		}
	})
}

// TestRepeatedBeforeACheckpoint makes two machines send one text, the second of which lags: it learns at the same
// time of the first message, of its own, which does not count, and of a checkpoint after them. Its sender is told the
// first.
func TestRepeatedBeforeACheckpoint(t *testing.T) {
	inMemory(t)
	bubble(t, 2, Options{}, func(f *fleet) {
		for _, n := range []mail.Name{"ann", "bob"} {
			_, err := f.posts[0].As(mail.User).Register(f.Context(), mail.Presence{Name: n})
			f.must("register", err)
		}
		f.settle()
		send := func(p *post) mail.ID {
			sent, err := p.As("bob").Send(f.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: "the same"})
			if err != nil {
				f.Errorf("send: %v", err)
			}
			return sent.ID
		}
		release := f.posts[1].disk.Hold()
		first := send(f.posts[0])
		second := make(chan mail.ID)
		go func() { second <- send(f.posts[1]) }()
		synctest.Wait()
		_, err := f.posts[0].writeCheckpoint(f.Context())
		f.must("checkpoint", err)
		release()
		if got := <-second; got != first {
			f.Errorf("who repeated %s was told %s", first, got)
		}
	})
}

// TestReadAfterRetention makes an agent read mail of its role on a lagging machine, after another was given it and
// has read it, and retention has taken it. It is told that it came too late.
func TestReadAfterRetention(t *testing.T) {
	inMemory(t)
	limits := policy.Limits{Exchanges: -1, PerMinute: -1, RepeatWindow: -1}
	bubble(t, 2, Options{Retention: policy.Retention{Count: 1}, Limits: limits}, func(f *fleet) {
		user := f.posts[0].As(mail.User)
		for _, n := range []mail.Name{"bob", "eve"} {
			_, err := user.Register(f.Context(), mail.Presence{Name: n, Roles: []string{"builder"}})
			f.must("register", err)
		}
		sent, err := user.Send(f.Context(), mail.Draft{To: mail.Recipients{"role:builder"}, Body: "a task"})
		f.must("send", err)
		f.settle()
		read := func(p *post, by mail.Name) error {
			_, err := p.As(by).Mark(f.Context(), mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkRead})
			return err
		}
		if sent.Recipients[0].Agent != "bob" {
			f.Fatalf("it is for %s, want bob", sent.Recipients[0].Agent)
		}
		release := f.posts[1].disk.Hold()
		_, err = user.Register(f.Context(), mail.Presence{Name: "bob", State: mail.Gone})
		f.must("bob leaves", err)
		f.must("eve reads", read(f.posts[0], "eve"))
		for i := range 3 {
			_, err := user.Send(f.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: fmt.Sprint(i)})
			f.must("send", err)
		}
		_, err = user.Archive(f.Context())
		f.must("retention", err)
		if f.posts[0].state.Records[sent.ID] != nil {
			f.Fatal("retention did not take it")
		}
		late := make(chan error)
		go func() { late <- read(f.posts[1], "bob") }()
		synctest.Wait()
		release()
		f.wantError("bob reads", <-late, mail.Denied, "who read it first")
	})
}
