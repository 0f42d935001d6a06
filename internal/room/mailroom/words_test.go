package mailroom

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
	"pennypost/internal/policy"
	"pennypost/internal/room/search/searchtest"
)

// wordsRoom is a room with an index, and all messages ever sent in it.
type wordsRoom struct {
	*testing.T
	store *store
	opts  Options
	room  *Room
	sent  []mail.Message
	gone  map[mail.ID]bool
}

func newWordsRoom(t *testing.T) *wordsRoom {
	w := &wordsRoom{T: t, store: newStore(t), gone: make(map[mail.ID]bool)}
	w.opts = Options{Index: t.TempDir(), SearchPatience: time.Hour, Retention: policy.Retention{Count: 300},
		Limits: policy.Limits{RepeatWindow: -1, PerMinute: -1, Exchanges: -1}}
	w.reopen()
	if _, err := w.room.As("bob").Register(t.Context(), mail.Presence{}); err != nil { // or a message is number 1
		t.Fatal(err)
	}
	t.Cleanup(func() { w.room.Close() })
	return w
}

func (w *wordsRoom) reopen() {
	w.Helper()
	if w.room != nil {
		if err := w.room.Close(); err != nil {
			w.Fatal(err)
		}
	}
	w.room = reopen(w.T, w.store, "lab", w.opts)
}

func (w *wordsRoom) send(subject, body string) {
	w.Helper()
	r, err := w.room.As(mail.User).Send(w.Context(), mail.Draft{To: mail.Recipients{"all"}, Subject: subject,
		Body: body})
	if err != nil {
		w.Fatal(err)
	}
	w.sent = append(w.sent, mail.Message{ID: r.ID, Subject: subject, Body: body})
}

// search returns the ids of the matches of a query, page by page, newest first or oldest first.
func (w *wordsRoom) search(q mail.HistoryQuery, newest bool) (ids []mail.ID) {
	w.Helper()
	q.Archive, q.Limit = true, 100
	if !newest {
		q.After = 1
	}
	for {
		page, err := w.room.As(mail.User).History(w.Context(), q)
		if err != nil {
			w.Fatal(err)
		}
		some := make([]mail.ID, 0, len(page.Messages))
		for _, it := range page.Messages {
			some = append(some, it.ID)
		}
		if newest {
			ids = append(some, ids...)
		} else {
			ids = append(ids, some...)
		}
		if !page.More {
			return ids
		}
		q.Before, q.After = page.Next, 0
		if !newest {
			q.Before, q.After = 0, page.Next
		}
	}
}

// check compares the result of a search with the matches among all texts.
func (w *wordsRoom) check(typed string) {
	w.Helper()
	var want []mail.ID
	q := find.Parse(typed)
	for _, m := range w.sent {
		if !w.gone[m.ID] && q.In(find.Text(nil, m.Subject, m.Body)) {
			want = append(want, m.ID)
		}
	}
	for _, newest := range []bool{true, false} {
		if got := w.search(mail.HistoryQuery{Search: typed}, newest); !slices.Equal(got, want) {
			w.Fatalf("%q, newest first %v: found %d messages, want %d", typed, newest, len(got), len(want))
		}
	}
}

// TestSearchIsAScan checks that an index changes no answer: not while it is made, not during retention, not after
// erasures, and not when its files were damaged.
func TestSearchIsAScan(t *testing.T) {
	w := newWordsRoom(t)
	c := searchtest.New(3)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		for range 400 {
			w.send(c.Message())
		}
		switch round {
		case 1, 3:
			if _, err := w.room.As(mail.User).Archive(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 4:
			w.reopen()
		}
		if round%2 == 1 {
			awaitIndex(t, w.room)
		}
		for range 6 {
			m := w.sent[rng.IntN(len(w.sent))]
			text := []rune(m.Subject + " " + m.Body)
			i := rng.IntN(len(text))
			part := string(text[i:min(len(text), i+1+rng.IntN(12))])
			w.check(part)
			w.check(`"` + part + `"`)
			w.check(c.Word(rng.IntN(200)) + " " + c.Word(rng.IntN(50)))
		}
		w.check(c.Han())
		w.check("zqx")
		w.check("q")
		id := w.sent[rng.IntN(len(w.sent))].ID
		if err := w.room.As(mail.User).Erase(t.Context(), id); err != nil && mail.CodeOf(err) != mail.NotFound {
			t.Fatal(err)
		}
		w.gone[id] = true
	}
}

// TestSearchErased checks that the index has nothing of an erased message: its words reveal the text.
func TestSearchErased(t *testing.T) {
	w := newWordsRoom(t)
	w.send("", "the safe opens with zqxwvq")
	awaitIndex(t, w.room)
	indexed := func() []mail.Seq {
		t.Helper()
		found := w.room.index.Find(find.Parse("zqxwvq"), w.room.index.End(), true)
		if found == nil {
			t.Fatal("the index does not know the end of the journal")
		}
		seqs, ok := found.Next(10)
		if !ok {
			t.Fatal("the index changes")
		}
		return seqs
	}
	if n := len(indexed()); n != 1 {
		t.Fatalf("the index has %d messages with the word, want 1", n)
	}
	if err := w.room.As(mail.User).Erase(t.Context(), w.sent[0].ID); err != nil {
		t.Fatal(err)
	}
	if left := indexed(); len(left) > 0 {
		t.Errorf("after the erasure the index has the word at %v", left)
	}
}

// TestSearchBesideRetention checks that a search finds messages acknowledged before it, once, while messages are
// sent, move to the archive, are indexed, and others are erased.
func TestSearchBesideRetention(t *testing.T) {
	w := newWordsRoom(t)
	user := w.room.As(mail.User)
	var acknowledged atomic.Int64
	var running sync.WaitGroup
	sent := make(chan struct{})
	running.Go(func() {
		defer close(sent)
		c := searchtest.New(4)
		for i := range 1500 {
			subject, body := c.Message()
			if i%5 == 0 {
				body += " zqxmark"
			}
			r, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Subject: subject, Body: body})
			if err != nil {
				t.Error(err)
				return
			}
			switch {
			case i%5 == 0:
				acknowledged.Add(1)
			case i%101 == 0:
				if err := user.Erase(t.Context(), r.ID); err != nil {
					t.Error(err)
				}
			case i%250 == 0:
				if _, err := user.Archive(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for more := true; more; {
		select {
		case <-sent:
			more = false
		default:
		}
		before := int(acknowledged.Load())
		page, err := user.History(t.Context(), mail.HistoryQuery{Search: "QXMark", Archive: true, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		after := int(acknowledged.Load()) + 1
		if n := len(page.Messages); n < before || n > after {
			t.Errorf("%d were found, %d had been acknowledged before and %d after", n, before, after)
			break
		}
	}
	running.Wait()
}

// TestSearchAfterDamage checks that a room whose index was damaged while it was closed finds the same.
func TestSearchAfterDamage(t *testing.T) {
	w := newWordsRoom(t)
	c := searchtest.New(11)
	for range 1300 {
		w.send(c.Message())
	}
	awaitIndex(t, w.room)
	for _, damage := range []func(b []byte) []byte{
		func(b []byte) []byte { return b[:len(b)/2] },
		func(b []byte) []byte { // everything that is not read when the room is opened
			for i := 4096 + 17; i < len(b)-3*4096; i += 4096 {
				b[i] ^= 4
			}
			return b
		},
	} {
		if err := w.room.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(w.opts.Index, "*.words"))
		if err != nil || len(names) == 0 {
			t.Fatalf("the index has the files %q, %v", names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, damage(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w.room = reopen(t, w.store, "lab", w.opts)
		for range 2 {
			w.check(c.Word(5))
			w.check(c.Word(70) + " " + c.Word(3))
			w.check("zqx")
			awaitIndex(t, w.room)
		}
	}
}

// TestSearchByOtherConditions checks that the other conditions of a query hold as well.
func TestSearchByOtherConditions(t *testing.T) {
	w := newWordsRoom(t)
	for i := range 20 {
		w.send("", fmt.Sprint("needle in a haystack ", i))
	}
	if _, err := w.room.As("bob").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: "question",
		Body: "is there a needle?"}); err != nil {
		t.Fatal(err)
	}
	awaitIndex(t, w.room)
	for name, c := range map[string]struct {
		q    mail.HistoryQuery
		want int
	}{
		"words":        {mail.HistoryQuery{Search: "hay needle"}, 20},
		"from":         {mail.HistoryQuery{Search: "needle", From: "bob"}, 1},
		"type":         {mail.HistoryQuery{Search: "needle", Types: []mail.Type{mail.Question}}, 1},
		"open":         {mail.HistoryQuery{Search: "needle", Open: true}, 1},
		"open, absent": {mail.HistoryQuery{Search: "haystack", Open: true}, 0},
		"state":        {mail.HistoryQuery{Search: "needle", States: []mail.DeliveryState{mail.Dead}}, 0},
		"hot":          {mail.HistoryQuery{Search: `"haystack 1"`}, 11},
		"empty":        {mail.HistoryQuery{Search: ` "" `}, 21},
		"limit":        {mail.HistoryQuery{Search: "needle", Limit: 3}, 3},
		"before":       {mail.HistoryQuery{Search: "needle", Before: 3}, 1},
	} {
		page, err := w.room.As(mail.User).History(t.Context(), c.q)
		if err != nil || len(page.Messages) != c.want {
			t.Errorf("%s: %d messages, %v, want %d", name, len(page.Messages), err, c.want)
		}
	}
}

// TestSearchWhileTheIndexIsMade: a search does not wait for what would take long, and the answer says so.
func TestSearchWhileTheIndexIsMade(t *testing.T) {
	w := newWordsRoom(t)
	for i := range 3000 {
		w.send("", fmt.Sprintf("bronze %d", i))
	}
	w.opts.Index, w.opts.SearchPatience = t.TempDir(), 1 // as if the index had been deleted
	w.reopen()
	search := func(q mail.HistoryQuery) mail.Page {
		t.Helper()
		q.Archive, q.Limit = true, mail.MaxLimit
		page, err := w.room.As(mail.User).History(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	old, recent := `"bronze 7"`, `"bronze 2999"` // phrases; the first also occurs in others
	if page := search(mail.HistoryQuery{Search: recent}); len(page.Messages) != 1 ||
		!strings.Contains(page.Partly, "the newest 68%") {
		t.Errorf("the newest: %d messages, %q, want it, and that the rest was not searched", len(page.Messages),
			page.Partly)
	}
	awaitIndex(t, w.room)
	all := search(mail.HistoryQuery{Search: old})
	if page := search(mail.HistoryQuery{Search: old, Conversations: true}); all.Partly+page.Partly != "" ||
		len(all.Messages) != 111 || len(page.Messages) != 111 {
		t.Errorf("indexed: %d messages and %d conversations, %q, want 111 and nothing left out", len(all.Messages),
			len(page.Messages), all.Partly+page.Partly)
	}
}

// awaitIndex waits until the index knows all there is.
func awaitIndex(tb testing.TB, r *Room) {
	tb.Helper()
	r.wakeIndexer()
	for r.index.End() < r.journal.Last() {
		select {
		case <-tb.Context().Done():
			tb.Fatal("the index does not grow")
		case <-time.After(time.Millisecond):
		}
	}
}
