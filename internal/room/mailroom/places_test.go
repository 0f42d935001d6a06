package mailroom

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// kept is a message to the user as the naive model of TestPlaces knows it.
type kept struct {
	id             mail.ID
	read, archived bool
	snoozed        time.Time
}

func (k *kept) mark(m mail.Mark, until time.Time) {
	switch m {
	case mail.MarkRead:
		k.read, k.snoozed = true, time.Time{}
	case mail.MarkUnread:
		k.read, k.snoozed = false, time.Time{}
	case mail.MarkArchived:
		k.archived, k.snoozed = true, time.Time{}
	case mail.MarkUnarchived:
		k.archived = false
	case mail.MarkSnoozed:
		k.read, k.archived, k.snoozed = false, false, until
	}
}

func (k *kept) in(q mail.InboxQuery, now time.Time) bool {
	snoozed := k.snoozed.After(now)
	switch q.Place {
	case mail.InArchived:
		return k.archived
	case mail.InSnoozed:
		return snoozed
	}
	return !snoozed && !k.archived && (q.All || !k.read)
}

// TestPlaces marks the user's mail at random, closing and compacting the room in between, and compares each place of
// the mailbox, read in pages from either end, with a naive one.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_000_000_000_000)
		store := newStore(t)
		opts := Options{Now: func() time.Time {
			return now
		}, Retention: policy.Retention{Age: -1, Count: -1}, Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1,
			PerMinute: -1, Depth: -1}}
		ctx := context.Background()
		room, err := Open(ctx, "lab", store.Open(), opts)
		must(t, err)
		defer func() { must(t, room.Close()) }()
		user := room.As(mail.User)
		var all []*kept
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				sent, err := user.Send(ctx, mail.Draft{To: mail.Recipients{"user"}, Body: "x"})
				must(t, err)
				all = append(all, &kept{id: sent.ID})
			},
			"mark": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("no mail")
				}
				k := rapid.SampledFrom(all).Draw(t, "message")
				q := mail.Marking{IDs: []mail.ID{k.id},
					Mark: rapid.SampledFrom([]mail.Mark{mail.MarkRead, mail.MarkUnread, mail.MarkArchived,
						mail.MarkUnarchived, mail.MarkSnoozed}).Draw(t, "mark")}
				until := now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "minutes")) * time.Minute)
				if q.Mark == mail.MarkSnoozed {
					q.Until = mail.TimeOf(until)
				}
				k.mark(q.Mark, until)
				_, err := user.Mark(ctx, q)
				must(t, err)
			},
			"pass time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute)
			},
			"compact": func(t *rapid.T) {
				_, err := user.Archive(ctx)
				must(t, err)
			},
			"reopen": func(t *rapid.T) {
				last := room.Status().Last
				must(t, room.Close())
				room, err = Open(ctx, "lab", store.Open(), opts)
				must(t, err)
				user = room.As(mail.User)
				if got := room.Status().Last; got != last {
					t.Fatalf("opened again, something last happened at %s, before at %s", got, last)
				}
			},
			"": func(t *rapid.T) {
				for _, q := range []mail.InboxQuery{{}, {All: true}, {Place: mail.InSnoozed},
					{Place: mail.InArchived}} {
					q.Newest = rapid.Bool().Draw(t, "newest")
					want := []mail.ID{}
					for _, k := range all {
						if k.in(q, now) {
							want = append(want, k.id)
						}
					}
					if q.Newest {
						slices.Reverse(want)
					}
					if diff := cmp.Diff(want, inPages(t, user, q)); diff != "" {
						t.Fatalf("%+v (-naive +room):\n%s", q, diff)
					}
				}
			},
		})
	})
}

// inPages reads a place to its end.
func inPages(t *rapid.T, v mail.Service, q mail.InboxQuery) []mail.ID {
	out := []mail.ID{}
	for q.Limit = 2; ; {
		p, err := v.Inbox(context.Background(), q)
		must(t, err)
		for _, it := range p.Messages {
			out = append(out, it.ID)
		}
		if !p.More {
			return out
		}
		if q.Newest {
			q.Before = p.Next
		} else {
			q.After = p.Next
		}
	}
}

// TestSnoozeEnds lets a snooze end: nothing is written then, and the mail is where it was.
func TestSnoozeEnds(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		later := l.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "later"})
		other := l.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "other"})
		l.mark(mail.User, mail.MarkRead, later.ID)
		user := l.room.As(mail.User)
		_, err := user.Mark(l.Context(), mail.Marking{IDs: []mail.ID{later.ID}, Mark: mail.MarkSnoozed,
			Until: l.room.now().Add(time.Hour)})
		l.must(err)
		before := l.room.Status()
		for _, c := range []struct {
			after  time.Duration
			unread int
			first  mail.ID
		}{{time.Hour - time.Millisecond, 1, other.ID}, {time.Millisecond, 2, later.ID}} {
			time.Sleep(c.after)
			p, err := user.Inbox(l.Context(), mail.InboxQuery{})
			l.must(err)
			if p.Unread != c.unread || p.Messages[0].ID != c.first || p.Messages[0].Snoozed != 0 ||
				l.room.Status().Unread != c.unread {
				t.Errorf("after %v: %+v", c.after, p)
			}
		}
		if st := l.room.Status(); st.Seq != before.Seq || st.Last != before.Last {
			t.Errorf("at %d, before at %d: the end of a snooze is no event", st.Seq, before.Seq)
		}
		it, err := user.Wait(l.Context(), mail.WaitQuery{})
		l.must(err)
		if it.ID != later.ID {
			t.Errorf("waited for %s, want %s", it.ID, later.ID)
		}
	})
}

// TestSnoozedIsKept checks that mail that the person put off is not taken to the archive before its time, and that
// the snooze survives the rewriting of the journal.
func TestSnoozedIsKept(t *testing.T) {
	inLab(t, Options{Retention: policy.Retention{Count: 1}}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		later := l.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "later"})
		user := l.room.As(mail.User)
		until := l.room.now().Add(30 * 24 * time.Hour)
		_, err := user.Mark(l.Context(), mail.Marking{IDs: []mail.ID{later.ID}, Mark: mail.MarkSnoozed, Until: until})
		l.must(err)
		time.Sleep(20 * 24 * time.Hour)
		l.send("ann", mail.Draft{To: mail.Recipients{"user"}, Body: "fresh"})
		_, err = user.Archive(l.Context())
		l.must(err)
		p, err := user.Inbox(l.Context(), mail.InboxQuery{Place: mail.InSnoozed})
		l.must(err)
		if len(p.Messages) != 1 || p.Messages[0].Snoozed != until {
			t.Errorf("snoozed after retention: %+v", p)
		}
	})
}
