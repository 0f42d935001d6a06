package mailroom

import (
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
)

// TestOneOrchestrator checks that a second session does not become the orchestrator, nor a second one beside it,
// while the first lives; that it is told who does; and that the name is adopted once that one is gone.
func TestOneOrchestrator(t *testing.T) {
	alive := map[string]bool{"1.a@b": true, "2.a@b": true, "3.a@b": true}
	room, _ := openRoom(t, "lab", Options{Ended: func(p string) bool { return p != "" && !alive[p] }})
	ctx := t.Context()
	v := room.As(mail.Orchestrator)
	register := func(session, process string) (mail.Agent, error) {
		return v.Register(ctx, mail.Presence{Session: session, Process: process, Client: "claude"})
	}
	turn := func(moment mail.Moment, session, process string) (mail.Briefing, error) {
		return v.Turn(ctx, mail.Turn{Moment: moment, Session: session, Process: process})
	}
	wantRefused := func(what string, err error, holder string) {
		t.Helper()
		if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "the session "+holder+" of claude") {
			t.Errorf("%s: %v; want a conflict that names %s", what, err, holder)
		}
	}
	wantSeat := func(what string, name mail.Name, err error) {
		t.Helper()
		if err != nil || name != mail.Orchestrator {
			t.Errorf("%s is %q, %v; want the orchestrator", what, name, err)
		}
	}
	a, err := register("s1", "1.a@b")
	wantSeat("the first", a.Name, err)
	_, err = register("s2", "2.a@b")
	wantRefused("a second session", err, "s1")
	_, err = turn(mail.SessionStart, "s2", "2.a@b")
	wantRefused("a second session's hook", err, "s1")
	b, err := turn(mail.TurnStart, "s1", "1.a@b")
	wantSeat("the first, at work", b.Agent, err)
	a, err = v.Register(ctx, mail.Presence{Session: "c1", Process: "1.a@b", Join: true})
	wantSeat("the first's connection", a.Name, err)

	alive["1.a@b"] = false // killed: no session end was heard
	a, err = register("s2", "2.a@b")
	wantSeat("the second, the first being dead,", a.Name, err)
	if _, err := v.Register(ctx, mail.Presence{Session: "s2", End: true}); err != nil {
		t.Fatal(err)
	}
	b, err = turn(mail.SessionStart, "s3", "3.a@b")
	wantSeat("the third, the second having ended,", b.Agent, err)
	if _, err := turn(mail.SessionEnd, "s3", "3.a@b"); err != nil {
		t.Fatal(err)
	}

	var all sync.WaitGroup
	var mu sync.Mutex
	seats := 0
	for _, session := range []string{"r1", "r2", "r3", "r4"} {
		all.Go(func() {
			if _, err := register(session, ""); err == nil {
				mu.Lock()
				defer mu.Unlock()
				seats++
			}
		})
	}
	all.Wait()
	if list, err := mail.Roster(ctx, room.As(mail.User)); seats != 1 || err != nil || len(list) != 1 {
		t.Errorf("of four at once %d are the orchestrator, and the roster is %+v, %v", seats, list, err)
	}
}

// TestDeadNameIsFree checks that a name is free when the program of its session is known to have ended, for sessions
// and connections alike, and that the newcomer, whose own program need not be known, gets its unread mail. The name
// of a live session is not free.
func TestDeadNameIsFree(t *testing.T) {
	alive := map[string]bool{"1.a@b": true, "2.a@b": true, "3.a@b": true, "4.a@b": true}
	room, _ := openRoom(t, "lab", Options{Ended: func(p string) bool { return p != "" && !alive[p] }})
	ctx := t.Context()
	begin := func(as mail.Name, session, process string) mail.Name {
		t.Helper()
		b, err := room.As(as).Turn(ctx, mail.Turn{Moment: mail.SessionStart, Session: session, Process: process})
		if err != nil {
			t.Fatal(err)
		}
		return b.Agent
	}
	want := func(what string, got, name mail.Name) {
		t.Helper()
		if got != name {
			t.Errorf("%s is %s, want %s", what, got, name)
		}
	}
	want("the first", begin("ann", "s1", "1.a@b"), "ann")
	want("a second beside it", begin("ann", "s2", "2.a@b"), "ann-2")
	if _, err := room.As(mail.User).Send(ctx, mail.Draft{To: mail.Recipients{"ann"}, Body: "for ann"}); err != nil {
		t.Fatal(err)
	}
	alive["1.a@b"] = false
	want("a third, the first being dead,", begin("ann", "s3", "3.a@b"), "ann")
	if page, err := room.As("ann").Inbox(ctx, mail.InboxQuery{}); err != nil || len(page.Messages) != 1 {
		t.Errorf("its inbox is %+v, %v", page.Messages, err)
	}
	alive["2.a@b"] = false
	a, err := room.As("ann").Register(ctx, mail.Presence{Session: "c4", Process: "4.a@b", Join: true})
	if err != nil {
		t.Fatal(err)
	}
	want("a connection, the second being dead,", a.Name, "ann-2")
	alive["5.a@b"] = true
	want("one that resumes the first", begin("ann", "s1", "5.a@b"), "ann-3")
	want("one of which no program is known", begin("ann", "s5", ""), "ann-4")
}
