package mail_test

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestAwaits: the words for waiting mail, by its state.
func TestAwaits(t *testing.T) {
	later := mail.TimeOf(time.Date(2026, 5, 10, 14, 5, 0, 0, time.Local))
	for _, tt := range []struct {
		d    mail.Delivery
		want string
	}{
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeNone},
			"sees it when it next looks"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeWaiting},
			"is waiting for mail and gets it now"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeTurnEnd},
			"is working; sees it when it next looks"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeTurnEnd, Sees: mail.SeesWhole},
			"is working; sees it after its next tool call, or when its turn ends"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeNone, Sees: mail.SeesWhole},
			"sees it when its next turn begins"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeNone, Sees: mail.SeesCount},
			"sees the number of messages when its next turn begins"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeBroken, PutOff: later},
			"was interrupted; not woken before 14:05:00"},
		{mail.Delivery{Agent: "ann", State: mail.Notified, Door: mail.HookDoor, Wake: mail.WakeNone},
			"was notified; has not read it yet"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeNoDoor},
			"cannot be woken; sees it when it next looks"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeDeferred, PutOff: later},
			"did not react to a wake; not woken again before 14:05"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: "socket"}, "is being woken"},
		{mail.Delivery{Agent: "ann", State: mail.Notified, Wake: "socket"}, "was woken; has not looked yet"},
		{mail.Delivery{Agent: "ann", State: mail.Dead}, "its session has ended; gets it when it comes back"},
		{mail.Delivery{Agent: "ann", State: mail.Read, Wake: mail.WakeNone}, ""},
		{mail.Delivery{Address: "role:builder", State: mail.Held},
			"no agent has the role; the next one to take it gets this"},
		{mail.Delivery{Address: "all", State: mail.Queued}, "no recipient yet"},
		{mail.Delivery{Agent: mail.User, State: mail.Queued, Wake: mail.WakeNoDoor}, "not read yet"},
		{mail.Delivery{Agent: mail.User, State: mail.Queued, Wake: mail.WakeNone}, "not read yet"},
		{mail.Delivery{Agent: mail.User, State: mail.Queued, Wake: "desktop, ntfy"},
			"is being notified by desktop, ntfy"},
		{mail.Delivery{Agent: mail.User, State: mail.Queued, Wake: mail.WakeDeferred, PutOff: later},
			"is notified after the quiet hours, at 14:05"},
		{mail.Delivery{Agent: mail.User, State: mail.Notified, Door: "ntfy"}, "was notified by ntfy; not read yet"},
		{mail.Delivery{Agent: mail.User, State: mail.Read}, ""},
		{mail.Delivery{Agent: "ann", State: mail.NotSent, Why: "the room is away"}, "the room is away"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeOn("laptop-2", "socket"), Machine: "laptop-2"},
			"is being woken on laptop-2"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeAway, Machine: "laptop-2"},
			"is on laptop-2, which is away; is woken when that returns"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeAsking, Asking: later},
			"has been in its client's dialog since 14:05; its user was asked"},
		{mail.Delivery{Agent: "ann", State: mail.Notified, Door: "tmux", Wake: mail.WakeAsking, Asking: later},
			"has been in its client's dialog since 14:05; its user was asked"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: mail.WakeNone, Asking: later},
			"has been in its client's dialog since 14:05; its user was asked"},
		{mail.Delivery{Agent: "ann", State: mail.Queued, Wake: "tmux", Asking: later, Doubt: true},
			"may still be in its client's dialog of 14:05; is being woken"},
		{mail.Delivery{Agent: "ann", State: mail.Presented, Asking: later}, ""},
	} {
		if got := tt.d.Awaits(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.d, got, tt.want)
		}
	}
}

// TestOn: the words for an agent's machine.
func TestOn(t *testing.T) {
	for _, tt := range []struct {
		a    mail.Agent
		want string
	}{
		{mail.Agent{}, ""},
		{mail.Agent{Machine: "laptop-2"}, "on laptop-2"},
		{mail.Agent{Machine: "laptop-2", MachineAway: true}, "on laptop-2, away"},
	} {
		if got := tt.a.On(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.a, got, tt.want)
		}
	}
	for door, want := range map[string]string{"": "on laptop-2", "socket": "socket on laptop-2"} {
		if got := mail.WakeOn("laptop-2", door); got != want {
			t.Errorf("WakeOn(%q) = %q, want %q", door, got, want)
		}
	}
}

// TestLooked: the words for how an agent came to see its mail, by door.
func TestLooked(t *testing.T) {
	for door, want := range map[string]string{
		"": "has not looked at mail yet", "mcp": "checked its mail", "cli": "checked its mail",
		mail.HookDoor: "was shown its mail", mail.WaitDoor: "got the mail it waited for", "socket": "was woken",
		mail.PosterDoor: "was woken", "exec": "was woken",
	} {
		if got := mail.Looked(door); got != want {
			t.Errorf("Looked(%q) = %q, want %q", door, got, want)
		}
	}
}
