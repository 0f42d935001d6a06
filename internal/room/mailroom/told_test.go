package mailroom

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold/foldtest"
)

// teller is a room whose agents have sessions, with the fate of each message.
type teller struct {
	now   time.Time
	store *store
	room  *Room
	// holds are the messages that a session was told and that no moment has proven or refuted since.
	holds map[mail.ID]bool
	sent  []mail.ID
}

func (l *teller) open(t *rapid.T) {
	var err error
	l.room, err = Open(context.Background(), "lab", l.store.Open(), Options{
		Now:       func() time.Time { return l.now },
		Retention: policy.Retention{Age: 60 * time.Hour, Count: 12},
		Limits:    policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1},
	})
	must(t, err)
}

func (l *teller) ann() mail.Service { return l.room.As("ann") }

// presented returns when a message was presented to ann, 0 if it was not or is in the archive.
func (l *teller) presented(id mail.ID) mail.Time {
	l.room.mu.RLock()
	defer l.room.mu.RUnlock()
	s := l.room.state
	if r := s.Records[id]; r != nil {
		if k := r.MarksOf(s.Members["ann"]); k != nil {
			return k.Shown().Presented
		}
	}
	return 0
}

// turn plays a moment of ann's session, and marks the mail that it tells, like a client that takes it or does not.
func (l *teller) turn(t *rapid.T, q mail.Turn) {
	before := make(map[mail.ID]mail.Time)
	for _, id := range l.sent {
		before[id] = l.presented(id)
	}
	q.Session, q.Client = "s1", "test"
	brief, err := l.ann().Turn(t.Context(), q)
	must(t, err)
	for id, was := range before {
		if l.presented(id) != was && (!q.Proof || !l.holds[id]) {
			t.Fatalf("%s is presented by %+v, and was not told: %v", id, q, l.holds)
		}
	}
	if q.Proof && !q.Sub || q.Moment == mail.SessionEnd {
		clear(l.holds)
	}
	ids := []mail.ID{}
	for _, it := range brief.Items {
		if rapid.Bool().Draw(t, "taken") {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	_, err = l.ann().Mark(t.Context(), mail.Marking{IDs: ids, Mark: mail.MarkTold, Door: mail.HookDoor})
	must(t, err)
	for _, id := range ids {
		l.holds[id] = true
	}
}

// Mail told to a session is presented by a proof and by nothing else, through any order of moments, retention and
// restarts; and a replay of the journal agrees afterwards.
func TestP7_ToldModel(t *testing.T) {
	defer atLeast(t, "rapid.checks", "300")()
	defer atLeast(t, "rapid.steps", "60")()
	rapid.Check(t, func(t *rapid.T) {
		l := &teller{now: time.UnixMilli(1_778_421_600_000), store: newStore(t),
			holds: make(map[mail.ID]bool)}
		l.open(t)
		defer func() { must(t, l.room.Close()) }()
		l.turn(t, mail.Turn{Moment: mail.SessionStart})
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				sent, err := l.room.As(mail.User).Send(t.Context(), mail.Draft{
					To:   mail.Recipients{rapid.SampledFrom([]string{"ann", "all"}).Draw(t, "to")},
					Type: rapid.SampledFrom([]string{"question", "cancel", "status"}).Draw(t, "type"), Body: "x"})
				must(t, err)
				l.sent = append(l.sent, sent.ID)
			},
			"moment": func(t *rapid.T) {
				q := mail.Turn{Moment: rapid.SampledFrom([]mail.Moment{mail.SessionStart, mail.TurnStart,
					mail.BeforeTool,
					mail.AfterTool, mail.TurnEnd, mail.SessionEnd}).Draw(t, "moment")}
				q.Over = q.Moment == mail.TurnEnd && rapid.Bool().Draw(t, "over")
				q.Proof = (q.Moment == mail.BeforeTool || q.Moment == mail.TurnEnd) && !q.Over
				q.Sub = q.Moment == mail.BeforeTool && rapid.Bool().Draw(t, "sub")
				l.turn(t, q)
			},
			"read": func(t *rapid.T) {
				_, err := l.ann().Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead})
				must(t, err)
			},
			"pass time": func(t *rapid.T) {
				l.now = l.now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "seconds")) * time.Second)
			},
			"archive": func(t *rapid.T) {
				_, err := l.room.As(mail.User).Archive(t.Context())
				must(t, err)
			},
			"reopen": func(t *rapid.T) {
				now := mail.TimeOf(l.now)
				live := foldtest.Dump(l.room.state, now)
				must(t, l.room.Close())
				l.open(t)
				if diff := cmp.Diff(live, foldtest.Dump(l.room.state, now)); diff != "" {
					t.Fatalf("opened again (-live +opened again):\n%s", diff)
				}
			},
		})
	})
}

// A notice about mail over which a turn was interrupted has the time at which it was written.
func TestNoticeHasItsTime(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	turn := func(q mail.Turn) {
		t.Helper()
		q.Session = "s1"
		if _, err := room.As("ann").Turn(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	turn(mail.Turn{Moment: mail.SessionStart})
	sent, err := room.As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"}, Type: "question",
		Body: "x"})
	if err != nil {
		t.Fatal(err)
	}
	turn(mail.Turn{Moment: mail.TurnStart})
	if _, err := room.As("ann").Mark(t.Context(), mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkTold,
		Door: mail.HookDoor}); err != nil {
		t.Fatal(err)
	}
	turn(mail.Turn{Moment: mail.TurnEnd, Over: true})
	page, err := room.As(mail.User).Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].Sent == 0 {
		t.Errorf("the user has %+v, %v, want a notice of now", page.Messages, err)
	}
}
