package caller

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/acp"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/rooms"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/door"
)

// An agent's question over ACP is always shown whole, and can only be allowed then.
func TestHeldOverACP(t *testing.T) {
	who := door.Asker{Room: "lab", Agent: "ann", Client: "gemini", Process: "1.2@x", Dir: "/src"}
	once := []acp.Option{{ID: "a", Kind: "allow_once"}, {ID: "n", Kind: "reject_once"}}
	for _, tt := range []struct {
		name, tool string
		form       mail.AskForm
		text       string // shown to the person
		cut        bool
	}{
		{"command", `{"kind":"execute","rawInput":{"command":"make deploy"}}`, mail.FormCommand, "make deploy", false},
		{"patch", `{"kind":"edit","rawInput":{"command":"x"},"content":[{"type":"diff","newText":"EVIL"}]}`,
			mail.FormJSON, "EVIL", false},
		{"input unknown", `{"title":"GNU","rawInput":{"a":{"b":"EVIL"}}}`, mail.FormJSON, "EVIL", false},
		{"no input", `{"title":"touch EVIL","toolCallId":"1"}`, mail.FormJSON, "EVIL", false},
		{"input no object", `{"title":"touch EVIL","rawInput":"x"}`, mail.FormJSON, "EVIL", false},
		{"no object", `{"kind":7,"title":["EVIL"]}`, mail.FormJSON, "EVIL", false},
		{"huge", `{"rawInput":{"command":"` + strings.Repeat("x", mail.MaxAsk) + `"}}`, mail.FormJSON, "command", true},
	} {
		h := held(who, &acp.Question{Tool: []byte(tt.tool), Options: once})
		if h.Form != tt.form || !strings.Contains(h.Text, tt.text) || h.Cut != tt.cut || !h.Beside {
			t.Errorf("%s: %s %q, cut %t", tt.name, h.Form, h.Text[:min(len(h.Text), 200)], h.Cut)
		}
		change := mail.DialogChange{Dialog: h.Dialog, Session: "s"}
		change.ID = "d-1"
		if err := change.Check(); err != nil {
			t.Errorf("%s: a room refuses it: %v", tt.name, err)
		}
		if err := h.Fits(&mail.DialogAnswer{Verdict: mail.SayAllow}); (err != nil) != tt.cut {
			t.Errorf("%s: to allow it is %v", tt.name, err)
		}
	}
	long := held(who, &acp.Question{Tool: []byte(`{"kind":"` + strings.Repeat("long", 1000) + `"}`)})
	if len(long.Tool) > mail.MaxName || len(long.Offers) > 0 {
		t.Errorf("%d bytes of a kind, and the answers %+v", len(long.Tool), long.Offers)
	}
}

func TestRepliesOverACP(t *testing.T) {
	q := &acp.Question{Options: []acp.Option{
		{ID: "ever", Name: "Always \x1b[31mallow", Kind: "allow_always"},
		{ID: "now", Name: "Allow", Kind: "allow_once"}, {Name: "x", Kind: "allow_once"},
		{ID: "mode", Name: "Allow, and edit", Kind: "allow_once"},
		{ID: "never", Name: "Never", Kind: "reject_always"}, {ID: "no", Name: "No", Kind: "reject_once"},
		{ID: "odd", Name: "?", Kind: "something"},
	}}
	var got []mail.Offer
	for _, r := range replies(q) {
		got = append(got, r.Offer)
	}
	want := []mail.Offer{
		{Verdict: mail.SayAllow, Rule: 1, Writes: "Always  [31mallow"}, {Verdict: mail.SayAllow},
		{Verdict: mail.SayAllow, Rule: 4, Writes: "Allow, and edit"},
		{Verdict: mail.SayDeny, Writes: "it accepts no text with an answer: send the text as mail"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for want, a := range map[string]mail.DialogAnswer{
		"ever": {Verdict: mail.SayAllow, Rule: 1}, "now": {Verdict: mail.SayAllow}, "no": {Verdict: mail.SayDeny},
		"mode": {Verdict: mail.SayAllow, Rule: 4}, "": {Verdict: mail.SayAnswer},
	} {
		if got := chosen(q, &a); got != want {
			t.Errorf("%+v chooses %q, want %q", a, got, want)
		}
	}
}

// TestNoTurnBesideASession: no turn over ACP begins between the start and the end of a session of its agent, whenever
// the ring was made.
func TestNoTurnBesideASession(t *testing.T) {
	home, err := os.MkdirTemp("", "pp") // socket names must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	log := slog.New(slog.DiscardHandler)
	o := New(&config.Config{Home: config.Home(home)}, log, rooms.NewMetrics(), nil)
	t.Cleanup(func() { _ = o.Set.Close() })
	x := &door.ACP{Argv: []string{"no-such-agent"}, Dir: home, Home: home, Timeout: time.Second, Log: log,
		Sessions: &o.Set.Reach.Sessions, Turns: o.Set.Reach.Turns}
	ring := func() string { return x.Ring(t.Context(), wake.Ring{Room: "lab", Agent: "ann"}).Error() }
	ann := o.RoomOf("lab", gate.Admitted(mail.Caller{Name: "ann", Room: "lab"}))
	says := map[string]func() error{
		"register": func() error {
			_, err := ann.Register(t.Context(), mail.Presence{Session: "s1"})
			return err
		},
		"turn": func() error {
			_, err := ann.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s1", Client: "claude"})
			return err
		},
	}
	for name, say := range says {
		began := make(chan error, 1)
		err = o.Set.With(t.Context(), "lab", func(e *rooms.Entry) error {
			e.Changing.Lock() // so that the room does not learn of the session yet, and answers no call
			defer e.Changing.Unlock()
			lives := x.Turns.Lives
			defer func() { x.Turns.Lives = lives }()
			x.Turns.Lives = nil
			go func() { began <- say() }()
			for until := time.Now().Add(10 * time.Second); !strings.Contains(ring(), "is starting"); {
				if time.Now().After(until) {
					return errors.New("a turn may begin while a session does")
				}
			}
			for since := time.Now(); time.Since(since) < 100*time.Millisecond; { // until the room knows the session
				if got := ring(); !strings.Contains(got, "is starting") {
					return errors.New("a turn may begin before the room knows of the session: " + got)
				}
			}
			return nil
		})
		if err := errors.Join(err, <-began); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := ring(); !strings.Contains(got, "has a session") {
			t.Errorf("%s: a ring from before the session began = %q", name, got)
		}
		if _, err := ann.Register(t.Context(), mail.Presence{Session: "s1", End: true}); err != nil {
			t.Fatal(err)
		}
		if got := ring(); !strings.Contains(got, "no-such-agent") {
			t.Errorf("%s: when the session has ended = %q", name, got)
		}
	}
}
