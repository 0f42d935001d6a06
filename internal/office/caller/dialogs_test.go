package caller

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
)

// looking is a room with an observer that looks once the room was told about a dialog, before the call returns.
type looking struct {
	hook.Service
	look func(outcome mail.DialogOutcome)
}

func (l looking) Dialog(ctx context.Context, c mail.DialogChange) error {
	err := l.Service.Dialog(ctx, c)
	l.look(c.Outcome)
	return err
}

// TestDialogEndsWithItsEvent: a page that learns from the room that a dialog has ended, and then asks for the dialogs,
// no longer gets that one. No later event would correct the page.
func TestDialogEndsWithItsEvent(t *testing.T) {
	home, err := os.MkdirTemp("", "pp") // socket names must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	o := New(&config.Config{Home: config.Home(home)}, slog.New(slog.DiscardHandler), rooms.NewMetrics(), nil)
	t.Cleanup(func() { _ = o.Set.Close() })
	ctx := t.Context()
	svc := o.Own(ctx, "lab", "builder")
	if _, err := svc.Register(ctx, mail.Presence{Client: "claude", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	looks := 0
	room := looking{svc, func(outcome mail.DialogOutcome) {
		looks++
		cards, err := o.allCards(ctx, mail.DialogQuery{})
		if shown := len(cards) > 0; err != nil || shown != (outcome == "") {
			t.Errorf("told of the outcome %q, the person is shown %+v, %v", outcome, cards, err)
		}
	}}
	h := hook.Held{Room: "lab", Agent: "builder", Client: "claude", Session: "s", Asked: hook.Asked{
		Dialog: mail.Dialog{Kind: mail.AsksPermission, Tool: "Bash", Sum: strings.Repeat("0f", 32)}}}
	h.Ask.Offers = []mail.Offer{{Verdict: mail.SayAllow}}
	id, err := o.Asked.Open(ctx, room, h)
	if err != nil {
		t.Fatal(err)
	}
	h.ID = id
	if err := o.Asked.Settle(ctx, room, &h, mail.DialogEnded); err != nil || looks != 2 {
		t.Errorf("settled: %v, after %d looks", err, looks)
	}
}
