package mailroom

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal/journaltest"
)

// TestArchivedMarks checks that mail which retention took can be marked as done by its owners, before and after the
// next compaction and a restart, and that it does not come back from there.
func TestArchivedMarks(t *testing.T) {
	inLab(t, Options{Retention: policy.Retention{Age: 24 * time.Hour}}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		l.register(mail.Presence{Name: "bea"})
		sent := l.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "late"})
		all := l.send("bea", mail.Draft{To: mail.Recipients{"all"}, Body: "to all"})
		trim := func() {
			_, err := l.room.As(mail.User).Archive(l.Context())
			l.must(err)
		}
		time.Sleep(30 * 24 * time.Hour)
		trim()
		wantState := func(when string, want mail.DeliveryState, id mail.ID) {
			l.Helper()
			p, err := l.room.As(mail.User).History(l.Context(), mail.HistoryQuery{Archive: true, Deliveries: true})
			l.must(err)
			i := slices.IndexFunc(p.Messages, func(it mail.Item) bool { return it.ID == id })
			if i < 0 || len(p.Messages[i].Deliveries) != 1 || p.Messages[i].Deliveries[0].State != want {
				l.Errorf("%s: the history has %+v, want %s %s", when, p.Messages, id, want)
			}
			if got := l.state(id); got != want {
				l.Errorf("%s: the message stands as %s, want %s", when, got, want)
			}
		}
		for _, to := range []struct {
			mark mail.Mark
			want mail.DeliveryState
		}{{mail.MarkRead, mail.Read}, {mail.MarkArchived, mail.Archived}, {mail.MarkUnarchived, mail.Read}} {
			got, err := l.room.As("ann").Mark(l.Context(), mail.Marking{IDs: []mail.ID{sent.ID}, Mark: to.mark})
			l.must(err)
			if diff := cmp.Diff(mail.Marked{Marked: []mail.ID{sent.ID}}, got); diff != "" {
				l.Errorf("marking %s (-want +got):\n%s", to.mark, diff)
			}
			wantState("marked", to.want, sent.ID)
			for range 3 { // the second makes the room forget the messages that the archive has
				trim()
				wantState("compacted", to.want, sent.ID)
			}
			again, err := l.room.As("ann").Mark(l.Context(), mail.Marking{IDs: []mail.ID{sent.ID}, Mark: to.mark})
			if l.must(err); len(again.Already) != 1 {
				l.Errorf("marking %s again: %+v", to.mark, again)
			}
			opened := &lab{l.T, reopen(l.T, l.store, "lab", l.room.opts), l.store}
			if got := opened.state(sent.ID); got != to.want {
				l.Errorf("opened again: it stands as %s, want %s", got, to.want)
			}
			l.must(opened.room.Close())
		}
		l.mark("ann", mail.MarkRead, all.ID)
		wantState("a broadcast", mail.Read, all.ID)
		if _, err := l.room.As("bea").Mark(l.Context(), mail.Marking{IDs: []mail.ID{sent.ID},
			Mark: mail.MarkRead}); mail.CodeOf(err) != mail.Denied {
			l.Errorf("marking another's archived mail: %v", err)
		}
		if _, err := l.room.As("ann").Mark(l.Context(), mail.Marking{IDs: []mail.ID{sent.ID},
			Mark: mail.MarkUnread}); mail.CodeOf(err) != mail.Conflict {
			l.Errorf("marking archived mail unread: %v", err)
		}
		if _, err := l.room.As("ann").Mark(l.Context(), mail.Marking{IDs: []mail.ID{"msg_none"},
			Mark: mail.MarkUnread}); mail.CodeOf(err) != mail.NotFound {
			l.Errorf("marking what is nowhere: %v", err)
		}
		if got := l.unread("ann"); got != 0 {
			l.Errorf("%d came back", got)
		}
	})
}

// Marking archived mail back and forth makes the room no larger.
func TestLateMarksAreBounded(t *testing.T) {
	l := make(fold.LateMarks)
	for i := range mail.Seq(1000) {
		k := []mail.Mark{mail.MarkArchived, mail.MarkUnarchived}[i%2]
		l.Add(&mail.Event{Seq: i, Receipt: &mail.Receipt{Message: "m", Reader: "agent:a", Mark: k}})
	}
	if got := l["m"]; len(got) != 2 || got[1].Seq != 999 {
		t.Errorf("1000 marks of two kinds are kept as %v", got)
	}
}

// stuckEraser is a journal whose files cannot be rewritten.
type stuckEraser struct {
	*journaltest.Memory
	stuck *atomic.Bool
}

func (j stuckEraser) Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error) {
	if j.stuck.Load() {
		return 0, errors.New("the disk is full")
	}
	return j.Memory.Erase(ctx, id, match)
}

// TestErasureThatCannotBeFinished checks that such an erasure keeps no room shut: everything is served except that
// text, the person is told, and it is finished as soon as it can be.
func TestErasureThatCannotBeFinished(t *testing.T) {
	for _, archived := range []bool{false, true} {
		fakeTime(t, func(t *testing.T) {
			var stuck atomic.Bool
			stuck.Store(true)
			store := inMemory(t)
			open := func() *lab {
				r, err := Open(t.Context(), "lab", stuckEraser{store.memory.Open(), &stuck}, Options{})
				if err != nil {
					t.Fatalf("the room does not open: %v", err)
				}
				return &lab{t, r, store}
			}
			l := open()
			l.register(mail.Presence{Name: "ann"})
			id := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "secret"}).ID
			other := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "other", ReplyTo: id}).ID
			if archived {
				time.Sleep(30 * 24 * time.Hour)
				_, err := l.room.As(mail.User).Archive(l.Context())
				l.must(err)
			}
			if err := l.room.As(mail.User).Erase(l.Context(), id); mail.CodeOf(err) != mail.Unavailable {
				t.Errorf("Erase = %v, want that it cannot be done", err)
			}
			for _, when := range []string{"at once", "opened again"} {
				if when == "opened again" {
					l.must(l.room.Close())
					l = open()
				}
				l.wantHidden(when, id, other)
			}
			p, err := l.room.As(mail.User).Inbox(l.Context(), mail.InboxQuery{})
			l.must(err)
			if len(p.Messages) != 1 || !strings.Contains(p.Messages[0].Subject, "still on the disk") {
				t.Errorf("the person is told %+v, want one notice", p.Messages)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go l.room.Run(ctx)
			time.Sleep(time.Minute)
			stuck.Store(false)
			time.Sleep(time.Hour)
			j := store.memory.Open()
			defer j.Close()
			if found, err := j.ArchivedOf(t.Context(), id); err != nil ||
				slices.ContainsFunc(found, func(e mail.Event) bool {
					return e.Message != nil
				}) {
				t.Errorf("the archive still has %+v, %v", found, err)
			}
			if len(l.room.state.Erasing) != 0 {
				t.Errorf("still to be erased: %v", l.room.state.Erasing)
			}
			cancel()
			synctest.Wait()
			l.must(l.room.Close())
		})
	}
}

// wantHidden fails the test if anything shows a message, or does not show the other one.
func (l *lab) wantHidden(when string, id, other mail.ID) {
	l.Helper()
	user := l.room.As(mail.User)
	if _, err := user.Message(l.Context(), id); mail.CodeOf(err) != mail.NotFound {
		l.Errorf("%s: Message = %v", when, err)
	}
	if _, err := user.Message(l.Context(), other); err != nil {
		l.Errorf("%s: the other message: %v", when, err)
	}
	p, err := user.History(l.Context(), mail.HistoryQuery{Archive: true, From: "user"})
	l.must(err)
	if len(p.Messages) != 1 || p.Messages[0].ID != other {
		l.Errorf("%s: the history has %+v, want only %s", when, p.Messages, other)
	}
	if n := seen(l.T, user, nil); n[id] != 0 || n[other] != 1 {
		l.Errorf("%s: the export has %v", when, n)
	}
	w, err := user.Watch(l.Context(), 0)
	l.must(err)
	defer w.Close()
	for last := mail.Seq(0); last < l.room.Shown(); {
		events, err := w.Next(l.Context())
		l.must(err)
		for _, e := range events {
			if last = e.Seq; e.Message != nil && e.Message.ID == id {
				l.Errorf("%s: a watch shows %+v", when, e.Message)
			}
		}
	}
}
