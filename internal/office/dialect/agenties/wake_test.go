package agenties

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

func TestWakes(t *testing.T) { // A6
	t.Run("AG-24 exactly three types of the agents wake the dormant orchestrator", func(t *testing.T) {
		b := newFixture(t)
		woken := make(map[mail.Type]bool)
		for _, typ := range mail.Types() {
			out, err := b.Call("ag_x1", "send_message",
				fmt.Sprintf(`{"type":%q,"to":"orchestrator","body":"b","metadata":{"verdict":"approved"}}`, typ))
			if err == nil && !strings.Contains(out, `"wake":"none"`) {
				woken[typ] = true
			}
		}
		if len(woken) != 3 || !woken[mail.TaskDone] || !woken[mail.ReviewResult] || !woken[mail.Question] {
			t.Errorf("woken by %v", woken)
		}
	})
	t.Run("AG-15 AG-24 mail of a turn is caught at its end", func(t *testing.T) {
		b := newFixture(t)
		if _, err := b.As(mail.User).Register(t.Context(),
			mail.Presence{Name: "orchestrator", State: mail.Working}); err != nil {
			t.Fatal(err)
		}
		if r := b.send("ag_x1", mail.TaskDone, "orchestrator", "").Recipients; len(r) != 1 ||
			r[0].AgentID != "orchestrator" || r[0].Wake != mail.WakeTurnEnd {
			t.Errorf("%+v", r)
		}
		b.wantBodies("orchestrator", "", "b")
	})
	t.Run("AG-11 a status wakes nobody and shows in the roster", func(t *testing.T) {
		b := newFixture(t)
		for _, r := range b.send("ag_x1", mail.Status, "broadcast",
			`"body":"Running tests...\nof the parser"`).Recipients {
			if r.Wake != mail.WakeNone {
				t.Errorf("%+v", r)
			}
		}
		if policy.Wakes(mail.Status, mail.Normal, "agent:ag_x1", mail.ToOrchestrator, true) {
			t.Error("a status wakes the orchestrator")
		}
		agents, err := mail.Roster(t.Context(), b.As(mail.User))
		if err != nil || agents[0].Name != "ag_x1" || agents[0].Task != "Running tests..." {
			t.Errorf("%+v, %v", agents, err)
		}
	})
}

func TestCancel(t *testing.T) {
	t.Run("AG-12 a cancel is found without taking other mail", func(t *testing.T) {
		b := newFixture(t)
		b.send("orchestrator", mail.TaskAssigned, "agent:ag_x1", `"body":"work"`)
		cancels := mail.InboxQuery{Types: []mail.Type{mail.Cancel}}
		if p, err := b.As("ag_x1").Inbox(t.Context(), cancels); err != nil || len(p.Messages) != 0 {
			t.Errorf("%+v, %v", p, err)
		}
		id := b.send("orchestrator", mail.Cancel, "agent:ag_x1", `"body":"stop"`).ID
		for range 2 {
			if p, err := b.As("ag_x1").Inbox(t.Context(), cancels); err != nil || len(p.Messages) != 1 ||
				p.Messages[0].ID != id {
				t.Errorf("%+v, %v", p, err)
			}
			if it, err := b.As("ag_x1").Wait(t.Context(),
				mail.WaitQuery{Types: []mail.Type{mail.Cancel}}); err != nil || it.ID != id {
				t.Errorf("%+v, %v", it, err)
			}
		}
		b.wantBodies("ag_x1", "", "work", "stop")
	})
	t.Run("AG-12 a cancel reaches those whom the agent started, leaves first", func(t *testing.T) {
		b := newFixture(t)
		for child, parent := range map[mail.Name]mail.Name{"ag_x2": "ag_x1", "leaf": "ag_x2"} {
			if _, err := b.As(mail.User).Register(t.Context(),
				mail.Presence{Name: child, Parent: &parent}); err != nil {
				t.Fatal(err)
			}
		}
		var names []mail.Name
		for _, r := range b.send("orchestrator", mail.Cancel, "agent:ag_x1", "").Recipients {
			names = append(names, r.AgentID)
		}
		if fmt.Sprint(names) != "[leaf ag_x2 ag_x1]" {
			t.Errorf("cancelled in the order %v", names)
		}
	})
}

func TestAnswer(t *testing.T) {
	t.Run("AG-13 whoever waits for an answer goes on when it comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			room, err := mailroom.Open(context.Background(), "lab", new(journaltest.Store).Open(), mailroom.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer room.Close()
			for _, n := range []mail.Name{"orchestrator", "ag_x1"} {
				if _, err := room.As(n).Register(t.Context(), mail.Presence{}); err != nil {
					t.Fatal(err)
				}
			}
			send := func(from mail.Name, to, typ, body string) {
				if _, err := room.As(from).Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Type: typ,
					Body: body}); err != nil {
					t.Error(err)
				}
			}
			send("ag_x1", "orchestrator", "question", "which?")
			type result struct {
				it   mail.Item
				err  error
				took time.Duration
			}
			got := make(chan result, 1)
			go func() {
				began := time.Now()
				it, err := room.As("ag_x1").Wait(t.Context(), mail.WaitQuery{Types: []mail.Type{mail.Answer}})
				got <- result{it, err, time.Since(began)}
			}()
			synctest.Wait()
			time.Sleep(time.Hour)
			send("orchestrator", "agent:ag_x1", "custom", "something else")
			send("orchestrator", "agent:ag_x1", "answer", "this one")
			if r := <-got; r.err != nil || r.it.Body != "this one" || r.took != time.Hour {
				t.Errorf("%+v", r)
			}
		})
	})
}
