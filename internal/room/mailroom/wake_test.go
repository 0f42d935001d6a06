package mailroom

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestUnwokenTellsWhatIsUrgent checks that the ringer learns of each message whether it is urgent, for that is
// another budget, and how many are.
func TestUnwokenTellsWhatIsUrgent(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	l := &lab{T: t, room: room}
	l.register(mail.Presence{Name: "bob"})
	ask := mail.Draft{To: mail.Recipients{"bob"}, Type: string(mail.Question), Body: "which?"}
	calm := l.send("ann", ask)
	ask.Body, ask.Priority = "now?", string(mail.Urgent)
	hurried := l.send("ann", ask)
	held := l.send("ann", mail.Draft{To: mail.Recipients{"role:nobody"}, Priority: string(mail.Urgent)})
	urgent := map[mail.ID]bool{}
	for _, u := range room.Unwoken(func(mail.Name, []string) bool { return true }) {
		n := 0
		for _, m := range u.Mail {
			if urgent[m.ID] = m.Urgent; m.Urgent {
				n++
			}
		}
		if n != u.Urgent || len(u.Mail) != u.Unread {
			t.Errorf("%s is told of %d urgent among %d, and listed are %+v", u.Agent, u.Urgent, u.Unread, u.Mail)
		}
	}
	if diff := cmp.Diff(map[mail.ID]bool{calm.ID: false, hurried.ID: true, held.ID: true}, urgent); diff != "" {
		t.Error(diff)
	}
}

// Senders are told of the door of a recipient, and Unwoken lists the recipients by the same rule.
func TestDoors(t *testing.T) {
	opts := Options{Limits: policy.Limits{RepeatWindow: -1}, Door: func(n mail.Name, roles []string) string {
		switch {
		case n == "bob":
			return "webhook"
		case slices.Contains(roles, "orchestrator"), slices.Contains(roles, "builder"):
			return "exec"
		}
		return ""
	}}
	inLab(t, opts, func(l *lab) {
		wake := func(to, typ string) string {
			t.Helper()
			d := l.send("worker", mail.Draft{To: mail.Recipients{to}, Type: typ,
				Metadata: mail.Metadata(`{"verdict":"approved"}`)}).Recipients[0]
			return string(d.State) + " " + d.Wake
		}
		l.register(mail.Presence{Name: "bob"})
		l.register(mail.Presence{Name: "eve"})
		for _, c := range []struct {
			name     string
			to, typ  string
			want     string
			presence mail.Presence
		}{
			{"a door", "bob", "question", "queued webhook", mail.Presence{}},
			{"no reason", "bob", "status", "queued none", mail.Presence{}},
			{"no door", "eve", "question", "queued no-door", mail.Presence{}},
			{"working", "bob", "question", "queued turn-end", mail.Presence{Name: "bob", State: mail.Working}},
			{"frozen", "bob", "question", "queued no-door", mail.Presence{Name: "bob", State: mail.Frozen}},
			{"gone, with a door", "bob", "question", "queued webhook", mail.Presence{Name: "bob", State: mail.Gone}},
			{"gone, without one", "eve", "question", "dead none", mail.Presence{Name: "eve", State: mail.Gone}},
			{"held", "orchestrator", "task-done", "held exec", mail.Presence{}},
			{"held, no reason", "orchestrator", "status", "held none", mail.Presence{}},
			{"held, no door", "role:reviewer", "review-request", "held none", mail.Presence{}},
			{"a holder that went", "role:builder", "task-assigned", "held webhook",
				mail.Presence{Name: "bob", Roles: []string{"builder"}, State: mail.Gone}},
			{"a holder that is frozen", "role:builder", "task-assigned", "held none",
				mail.Presence{Name: "eve", Roles: []string{"builder"}, State: mail.Frozen}},
		} {
			if c.presence.Name != "" {
				l.register(c.presence)
			}
			if got := wake(c.to, c.typ); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		time.Sleep(time.Second)
		l.register(mail.Presence{Name: "eve", State: mail.Gone})
		covers := func(n mail.Name, roles []string) bool { return opts.Door(n, roles) != "" }
		var got []mail.Unwoken
		for _, u := range l.room.Unwoken(covers) {
			if !slices.IsSortedFunc(u.Mail, func(a, b mail.UnwokenMail) int { return int(a.Seq) - int(b.Seq) }) {
				t.Errorf("the mail of %s is out of order", u.Agent)
			}
			u.Mail, u.Since = make([]mail.UnwokenMail, len(u.Mail)), 0
			got = append(got, u)
		}
		want := []mail.Unwoken{
			{Agent: "bob", Roles: []string{"builder"}, State: mail.Gone, Unread: 5, Mail: make([]mail.UnwokenMail, 4)},
			{Agent: "eve", Role: "builder", Roles: []string{"builder"}, State: mail.Gone, Unread: 4,
				Mail: make([]mail.UnwokenMail, 4)},
			{Agent: "orchestrator", Role: "orchestrator", Roles: []string{"orchestrator"}, State: mail.Gone, Unread: 2,
				Mail: make([]mail.UnwokenMail, 1)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		time.Sleep(8 * 24 * time.Hour) // mail for an agent by name has expired, mail for a role has not
		names := []mail.Name{}
		for _, u := range l.room.Unwoken(covers) {
			names = append(names, u.Agent)
		}
		if diff := cmp.Diff([]mail.Name{"eve", "orchestrator"}, names); diff != "" {
			t.Errorf("after a week: %s", diff)
		}
	})
}
