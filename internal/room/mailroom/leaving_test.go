package mailroom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold/foldtest"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
)

// slowCompacter is a journal whose compaction calls before first, and fails if that does. A lookup in its archive
// calls asked first.
type slowCompacter struct {
	*journaltest.Memory
	before *func() error
	asked  *func()
}

func (j slowCompacter) ArchivedOf(ctx context.Context, ids ...mail.ID) ([]mail.Event, error) {
	if *j.asked != nil {
		(*j.asked)()
	}
	return j.Memory.ArchivedOf(ctx, ids...)
}

func (j slowCompacter) Compact(ctx context.Context, fate func(mail.Event) journal.Fate) error {
	if err := (*j.before)(); err != nil {
		return err
	}
	return j.Memory.Compact(ctx, fate)
}

// leaver is a room with two old messages that leave for the archive when it is trimmed: a status to bea, and an
// answered question to bea.
type leaver struct {
	*testing.T
	store  *store
	before func() error
	asked  func()
	room   *Room
	now    time.Time
	ids    []mail.ID // the first two are those
}

func newLeaver(t *testing.T) *leaver {
	l := &leaver{T: t, store: inMemory(t), now: time.UnixMilli(1_000_000_000_000)}
	l.open()
	for _, n := range []mail.Name{"ann", "bea"} {
		if _, err := l.room.As(n).Register(t.Context(), mail.Presence{}); err != nil {
			t.Fatal(err)
		}
	}
	l.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "status", Body: "a status"})
	q := l.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Body: "why?"})
	l.ids = []mail.ID{l.ids[0], q}
	l.send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "because", ReplyTo: q})
	l.now = l.now.Add(2 * 24 * time.Hour)
	l.send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "status", Body: "news"})
	return l
}

func (l *leaver) open() {
	l.Helper()
	if l.before == nil {
		l.before = func() error { return nil }
	}
	r, err := Open(context.Background(), "lab", slowCompacter{l.store.memory.Open(), &l.before, &l.asked}, Options{
		Now: func() time.Time { return l.now }, Retention: policy.Retention{Age: 24 * time.Hour}})
	if err != nil {
		l.Fatal(err)
	}
	l.room = r
	l.Cleanup(func() { r.Close() })
}

func (l *leaver) send(from mail.Name, d mail.Draft) mail.ID {
	l.Helper()
	sent, err := l.room.As(from).Send(l.Context(), d)
	if err != nil {
		l.Fatal(err)
	}
	l.ids = append(l.ids, sent.ID)
	return sent.ID
}

// want checks that messages that have left the mailboxes are found in every way, each once and unchanged.
func (l *leaver) want(when string, state mail.DeliveryState) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
	defer cancel()
	user := l.room.As(mail.User)
	for _, id := range l.ids[:2] {
		it, err := user.Message(ctx, id)
		if err != nil {
			l.Errorf("%s: %s is nowhere: %v", when, id, err)
			continue
		}
		if it.Type == mail.Question && (it.Settled == nil || it.Settled.As != mail.Answered || it.Open) {
			l.Errorf("%s: the question is settled %+v", when, it.Settled)
		}
	}
	it, err := user.Message(ctx, l.ids[0])
	if state != "" && (err != nil || len(it.Deliveries) != 1 || it.Deliveries[0].State != state) {
		l.Errorf("%s: the status stands as %+v, %v; want %s", when, it.Deliveries, err, state)
	}
	for _, q := range []mail.HistoryQuery{{Archive: true}, {Archive: true, After: 1}} {
		page, err := user.History(ctx, q)
		if got := bodies(page.Messages); err != nil || !slices.Equal(got,
			[]string{"a status", "why?", "because", "news"}) {
			l.Errorf("%s: the history has %q, %v", when, got, err)
		}
	}
	var got []string
	q := mail.HistoryQuery{Archive: true, Limit: 1}
	for more := true; more && len(got) < 10; {
		page, err := user.History(ctx, q)
		if err != nil {
			l.Fatal(err)
		}
		got = append(got, bodies(page.Messages)...)
		more, q.Before = page.More, page.Next
	}
	if !slices.Equal(got, []string{"news", "because", "why?", "a status"}) {
		l.Errorf("%s: the history page by page is %q", when, got)
	}
	for it, err := range user.Export(ctx) {
		if err != nil {
			l.Fatal(err)
		}
		imported, err := user.Import(ctx, []mail.Item{it})
		if err != nil || imported.Skipped != 1 {
			l.Errorf("%s: importing %q again: %+v, %v", when, it.Body, imported, err)
		}
	}
}

func bodies(items []mail.Item) (out []string) {
	for _, it := range items {
		out = append(out, it.Body)
	}
	return out
}

// TestLookupsBesideCompaction checks that messages that a compaction is taking to the archive are found meanwhile,
// without waiting for the compaction.
func TestLookupsBesideCompaction(t *testing.T) {
	l := newLeaver(t)
	l.before = func() error {
		l.want("during the compaction", "")
		return nil
	}
	if _, err := l.room.As(mail.User).Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.want("after the compaction", "")
}

// TestCompactionThatFails checks that after a compaction which failed after its checkpoint nothing is missing, that
// the room opened again from that journal is the same, and that the next one does the rest.
func TestCompactionThatFails(t *testing.T) {
	l := newLeaver(t)
	user := func() mail.Service { return l.room.As(mail.User) }
	if _, err := l.room.As("bea").Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkPresented,
		Door: "mcp"}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	l.before = func() error { return full }
	for i := range 3 {
		if _, err := user().Archive(t.Context()); !errors.Is(err, full) {
			t.Fatalf("Archive = %v", err)
		}
		if page, err := l.room.As("bea").Inbox(t.Context(), mail.InboxQuery{}); err != nil || len(page.Messages) != 1 {
			t.Errorf("bea has %d messages, %v; want the news", len(page.Messages), err)
		}
		state := mail.Presented
		if i > 0 {
			state = mail.Read
		}
		l.want(fmt.Sprint("failed ", i), state)
		live := foldtest.Dump(l.room.state, mail.TimeOf(l.now))
		if err := l.room.Close(); err != nil {
			t.Fatal(err)
		}
		l.open()
		if diff := cmp.Diff(live, foldtest.Dump(l.room.state, mail.TimeOf(l.now))); diff != "" {
			t.Errorf("failed %d, the room opened again differs (-live +opened again):\n%s", i, diff)
		}
		l.want(fmt.Sprint("failed ", i, " and opened again"), state)
		got, err := l.room.As("bea").Mark(t.Context(), mail.Marking{IDs: l.ids[:1], Mark: mail.MarkRead})
		if err != nil || len(got.Marked)+len(got.Already) != 1 {
			t.Errorf("bea reads it: %+v, %v", got, err)
		}
	}
	if err := user().Erase(t.Context(), l.ids[2]); err != nil {
		t.Error(err)
	}
	erased := mail.Item{Message: mail.Message{ID: l.ids[2], From: "agent:bea", To: []mail.Address{"user"}, Body: "x",
		Sent: 1}}
	l.before = func() error { return nil }
	for range 3 {
		if got, err := user().Import(t.Context(), []mail.Item{erased}); err != nil || got.Skipped != 1 {
			t.Errorf("importing what was erased: %+v, %v", got, err)
		}
		if _, err := user().Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(l.room.state.Leaving) + len(l.room.state.LateMarks) + len(l.room.state.Erased); n > 0 {
			t.Errorf("%d things are kept in memory that the archive has", n)
		}
		it, err := user().Message(t.Context(), l.ids[0])
		if err != nil || len(it.Deliveries) != 1 || it.Deliveries[0].State != mail.Read {
			t.Errorf("in the archive the status stands as %+v, %v", it.Deliveries, err)
		}
	}
}

// TestP13_ArchivedAsSettled checks that the archive says of each question how it was settled.
func TestP13_ArchivedAsSettled(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	room, store := openRoom(t, "lab", Options{Now: func() time.Time { return now },
		Retention: policy.Retention{Age: time.Hour}})
	user := room.As(mail.User)
	for _, n := range []mail.Name{"ann", "bea"} {
		if _, err := user.Register(t.Context(), mail.Presence{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(from mail.Name, d mail.Draft) mail.ID {
		t.Helper()
		sent, err := room.As(from).Send(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	ask := func(body string) mail.ID {
		return send("ann", mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Body: body})
	}
	answered, declined, withdrawn := ask("why?"), ask("how?"), ask("when?")
	send("bea", mail.Draft{To: mail.Recipients{"ann"}, Body: "because", ReplyTo: answered})
	send("bea", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "no", ReplyTo: declined,
		Metadata: mail.Metadata(`{"declined":true}`)})
	if err := room.As("ann").Withdraw(t.Context(), withdrawn); err != nil {
		t.Fatal(err)
	}
	want := make(map[mail.ID]*mail.Settlement)
	for _, id := range []mail.ID{answered, declined, withdrawn} {
		it, err := user.Message(t.Context(), id)
		if err != nil || it.Settled == nil {
			t.Fatalf("%+v, %v", it, err)
		}
		want[id] = it.Settled
	}
	now = now.Add(30 * 24 * time.Hour)
	for range 2 {
		if _, err := user.Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	again := reopen(t, store, "lab", Options{})
	defer again.Close()
	for _, r := range []*Room{room, again} {
		if n := len(r.state.Records); n != 0 {
			t.Fatalf("%d messages are not archived", n)
		}
		page, err := r.As(mail.User).History(t.Context(), mail.HistoryQuery{Archive: true})
		got := make(map[mail.ID]*mail.Settlement)
		for _, it := range page.Messages {
			if it.Type == mail.Question {
				got[it.ID] = it.Settled
			}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("settled, %v (-before +in the archive):\n%s", err, diff)
		}
	}
}

// TestNote_Archived checks that acts of readers elsewhere on archived mail are recorded, once.
func TestNote_Archived(t *testing.T) {
	l := newLeaver(t)
	if _, err := l.room.As(mail.User).Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reader mail.Address
		mark   mail.Mark
		want   int
	}{{"agent:bea", mail.MarkRead, 1}, {"agent:bea", mail.MarkRead, 0}, {"agent:bea", mail.MarkUnread, 1},
		{"agent:bea", mail.MarkUnread, 0}, {"agent:bea", mail.MarkRead, 1},
		{"agent:stranger", mail.MarkRead, 1}, {"agent:stranger", mail.MarkRead, 0}} {
		n, err := l.room.Note(t.Context(), []mail.Receipt{{Message: l.ids[0], Reader: c.reader, Mark: c.mark},
			{Message: "nowhere", Reader: c.reader, Mark: c.mark}})
		if err != nil || n != c.want {
			t.Errorf("%s by %s: %d marks, %v; want %d", c.mark, c.reader, n, err, c.want)
		}
	}
	it, err := l.room.As(mail.User).Message(t.Context(), l.ids[0])
	if err != nil || len(it.Deliveries) != 2 || it.Deliveries[0].State != mail.Read {
		t.Errorf("it stands as %+v, %v", it.Deliveries, err)
	}
}

// TestMarkedWhileItLeaves checks that a message that retention takes to the archive during a marking is marked: when
// the mark reaches it, it is neither in the mailboxes any more nor among the looked-up ones.
func TestMarkedWhileItLeaves(t *testing.T) {
	for name, mark := range map[string]func(*leaver) (mail.ID, error){
		"mark": func(l *leaver) (mail.ID, error) {
			m, err := l.room.As("bea").Mark(l.Context(), mail.Marking{IDs: []mail.ID{"msg_of_nobody", l.ids[0]},
				Mark: mail.MarkRead})
			if diff := cmp.Diff([]mail.ID{"msg_of_nobody"}, m.NotFound); diff != "" {
				l.Errorf("not found (-want +got):\n%s", diff)
			}
			return slices.Concat(m.Marked, []mail.ID{""})[0], err
		},
		"note": func(l *leaver) (mail.ID, error) {
			n, err := l.room.Note(l.Context(), []mail.Receipt{
				{Message: "msg_of_nobody", Reader: "agent:bea", Mark: mail.MarkRead},
				{Message: l.ids[0], Reader: "agent:bea", Mark: mail.MarkRead}})
			if n == 0 {
				return "", err
			}
			return l.ids[0], err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaver(t)
			l.asked = func() {
				l.asked = nil
				if got, err := l.room.As(mail.User).Archive(t.Context()); err != nil || got.Age == 0 {
					t.Fatalf("Archive = %+v, %v", got, err)
				}
			}
			if id, err := mark(l); id != l.ids[0] || err != nil {
				t.Errorf("marked %q, %v, want %s", id, err, l.ids[0])
			}
			if it, err := l.room.As(mail.User).Message(t.Context(), l.ids[0]); err != nil || !it.Read {
				t.Errorf("the message is read: %v, %v", it.Read, err)
			}
		})
	}
}
