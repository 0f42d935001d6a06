package mcpserver

import (
	"context"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// away is a room that cannot be reached, so its mail is kept.
type away struct{ mail.Service }

func (away) Send(_ context.Context, d mail.Draft) (mail.Sent, error) {
	k := mail.Kept{Key: d.Key, Room: "lab", From: "builder", To: d.To, Why: "it cannot be reached"}
	return k.AsKept(), nil
}

// TestKept: a model is told that no one has a kept message yet, and that it need not send it again.
func TestKept(t *testing.T) {
	call := &dialect.Call{Service: away{}, Key: "call-1"}
	got, err := sendMessage(t.Context(), call, sendParams{To: mail.Recipients{"user"}, Body: "Half of it is done."})
	if err != nil {
		t.Fatal(err)
	}
	if got.Kept == nil || got.ID != "" || !strings.Contains(got.Note, "not delivered yet") {
		t.Errorf("%+v, %q", got.Sent, got.Note)
	}
	if len(got.Recipients) != 1 || got.Recipients[0].State != mail.KeptHere {
		t.Errorf("recipients: %+v", got.Recipients)
	}
}
