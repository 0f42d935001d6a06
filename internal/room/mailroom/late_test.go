package mailroom

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestArchivedMarks holds that mail which retention took can be marked as done by those whose it is, before and after
// the next compaction and a restart, and that it does not come back from there.
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
			for range 3 { // the second makes the room forget what the archive has
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
	var l lateMarks
	for i := range mail.Seq(1000) {
		k := []mail.Mark{mail.MarkArchived, mail.MarkUnarchived}[i%2]
		l.add(&mail.Event{Seq: i, Receipt: &mail.Receipt{Message: "m", Reader: "agent:a", Mark: k}})
	}
	if got := l.of("m"); len(got) != 2 || got[1].Seq != 999 {
		t.Errorf("1000 marks of two kinds are kept as %v", got)
	}
}
