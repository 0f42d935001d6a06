package jsonl

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// model is a naive journal.
type model struct {
	hot, archive []mail.Event
	last         mail.Seq
}

func (m *model) append(e mail.Event) {
	m.last++
	e.Seq = m.last
	if n := len(m.hot); n > 0 && m.hot[n-1].Message == nil { // it only held the last sequence number
		m.hot = m.hot[:n-1]
	}
	m.hot = append(m.hot, e)
}

func (m *model) compact(fate func(mail.Event) journal.Fate) {
	var kept []mail.Event
	for i, e := range m.hot {
		switch {
		case i == len(m.hot)-1 || e.Message == nil || fate(e) == journal.Keep:
			kept = append(kept, e)
		case fate(e) == journal.Archive:
			m.archive = append(m.archive, e)
		}
	}
	m.hot = kept
}

func (m *model) erase(id mail.ID) (gone int) {
	var kept, archive []mail.Event
	for i, e := range m.hot {
		if e.Message == nil || e.Message.ID != id {
			kept = append(kept, e)
		} else if gone++; i == len(m.hot)-1 {
			kept = append(kept, mail.Event{Seq: e.Seq, At: e.At})
		}
	}
	for _, e := range m.archive {
		if e.Message.ID != id {
			archive = append(archive, e)
		} else {
			gone++
		}
	}
	m.hot, m.archive = kept, archive
	return gone
}

// sorted returns the archive by sequence number.
func (m *model) sorted() []mail.Event {
	return slices.SortedFunc(slices.Values(m.archive), func(a, b mail.Event) int { return cmp.Compare(a.Seq, b.Seq) })
}

// Any sequence of appends, compactions, erasures and reopenings leaves the state of the model.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newMemDisk()
		j, err := openMem(d)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { j.Close() }()
		var m model
		next := 0
		ctx := context.Background()
		cursor := j.Follow(0)
		seen := mail.Seq(0) // by the cursor
		defer func() { cursor.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				events := make([]mail.Event, rapid.IntRange(1, 5).Draw(t, "events"))
				for i := range events {
					events[i] = note(next)
					next++
					m.append(events[i])
				}
				if seq, err := j.Append(ctx, events...); seq != m.last || err != nil {
					t.Fatalf("Append = %d, %v, want %d, nil", seq, err, m.last)
				}
			},
			"compact": func(t *rapid.T) {
				fates := rapid.SliceOfN(rapid.IntRange(0, 2), 7, 7).Draw(t, "fates")
				fate := func(e mail.Event) journal.Fate { return journal.Fate(fates[e.Seq%7]) }
				if err := j.Compact(ctx, fate); err != nil {
					t.Fatalf("Compact: %v", err)
				}
				m.compact(fate)
			},
			"erase": func(t *rapid.T) {
				n := rapid.IntRange(0, next).Draw(t, "note")
				want := m.erase(noteID(n))
				got, err := j.Erase(ctx, noteID(n), func(e mail.Event) bool {
					return e.Message != nil && e.Message.ID == noteID(n)
				})
				if got != want || err != nil {
					t.Fatalf("Erase = %d, %v, want %d, nil", got, err, want)
				}
				if names := d.holds(secret(n)); names != nil {
					t.Fatalf("erased text is in %v", names)
				}
			},
			"reopen": func(t *rapid.T) {
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				if j, err = openMem(d); err != nil {
					t.Fatal(err)
				}
				cursor = j.Follow(seen)
			},
			"follow": func(t *rapid.T) {
				var want []mail.Event
				for _, e := range m.hot {
					if e.Seq > seen {
						want = append(want, e)
					}
				}
				if len(want) == 0 {
					t.Skip("nothing to see")
				}
				var got []mail.Event
				for len(got) < len(want) {
					events, err := cursor.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, events...)
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Fatalf("a cursor behind %d differs (-want +got):\n%s", seen, diff)
				}
				seen = got[len(got)-1].Seq
			},
			"": func(t *rapid.T) { m.compare(t, j) },
		})
	})
}

func (m *model) compare(t *rapid.T, j *Journal) {
	if got := j.Last(); got != m.last {
		t.Fatalf("Last() = %d, want %d", got, m.last)
	}
	cursor := j.Follow(0)
	defer cursor.Close()
	var hot, archive []mail.Event
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for len(hot) < len(m.hot) {
		events, err := cursor.Next(ctx)
		if err != nil {
			t.Fatalf("%v; there are %v, want %v", err, hot, m.hot)
		}
		hot = append(hot, events...)
	}
	if diff := gocmp.Diff(m.hot, hot); diff != "" {
		t.Fatalf("the journal differs (-want +got):\n%s", diff)
	}
	for e, err := range j.Archived(context.Background(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		archive = append(archive, e)
	}
	if diff := gocmp.Diff(m.sorted(), archive); diff != "" {
		t.Fatalf("the archive differs (-want +got):\n%s", diff)
	}
	if v, err := j.Verify(context.Background()); err != nil || len(v.Problems) > 0 {
		t.Fatalf("Verify = %+v, %v", v, err)
	}
}
