package caller

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
	"pennypost/internal/office/wake/sessions"
)

// TestP14_NoDialogWithoutAClient: a dialog that is open in a room but unknown on this machine is ended, or its agent
// would be asking for ever. It is not ended if it is recent, held here, or another machine's.
func TestP14_NoDialogWithoutAClient(t *testing.T) {
	home, err := os.MkdirTemp("", "pp") // socket names must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	o := New(&config.Config{Home: config.Home(home)}, slog.New(slog.DiscardHandler), rooms.NewMetrics(), nil)
	t.Cleanup(func() { _ = o.Set.Close() })
	ctx := t.Context()
	for _, agent := range []mail.Name{"far", "held", "lost"} {
		d := mail.Dialog{ID: mail.ID("d-" + agent), Kind: mail.AsksPermission, Tool: "Bash",
			Sum: strings.Repeat("0f", 32)}
		session := "s-" + string(agent)
		if agent != "far" {
			o.Set.Reach.Sessions.Put(sessions.Session{Room: "lab", Agent: agent, Client: "claude", ID: session})
		}
		if agent == "held" {
			h := hook.Held{Room: "lab", Agent: agent, Client: "claude", Session: session, Asked: hook.Asked{Dialog: d}}
			if d.ID, _, err = o.Asked.Add(h); err != nil {
				t.Fatal(err)
			}
		}
		svc := o.Own(ctx, "lab", agent)
		if _, err := svc.Register(ctx, mail.Presence{Client: "claude", Session: session}); err != nil {
			t.Fatal(err)
		}
		if err := svc.Dialog(ctx, mail.DialogChange{Dialog: d, Session: session}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		older time.Duration
		asks  []mail.Name
	}{{time.Hour, []mail.Name{"far", "held", "lost"}}, {0, []mail.Name{"far", "held"}}} {
		o.endOrphans(ctx, c.older)
		var asks []mail.Name
		err := o.Set.With(ctx, "lab", func(e *rooms.Entry) error {
			for _, a := range e.Room.Asking() {
				asks = append(asks, a.Name)
			}
			return nil
		})
		slices.Sort(asks)
		if err != nil || !slices.Equal(asks, c.asks) {
			t.Errorf("of those older than %v, %v are asking, %v; want %v", c.older, asks, err, c.asks)
		}
	}
}
