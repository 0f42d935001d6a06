package daemon

import (
	"testing"

	"pennypost/internal/mail"
)

// TestSentAgain: a message sent again without a key, after a send that failed although it arrived, is one message.
// An acknowledged message that is sent again is another message.
func TestSentAgain(t *testing.T) {
	f, cfg := newFleet(t), testConfig(t)
	cfg.Outbox.Letters = -1 // no mail is kept: sends fail
	f.near.stop(t)
	f.near = start(t, Options{Config: cfg, Remote: f.remote})
	f.near.register(t, "a", "ann")
	ann := f.near.room(t, "a", "ann")
	d := mail.Draft{To: []string{"user"}, Body: "done", Again: true}
	if _, err := ann.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	f.cable.silence(true)
	if _, err := ann.Send(t.Context(), d); mail.CodeOf(err) != mail.Unavailable {
		t.Fatalf("without an answer: %v, want that it failed", err)
	}
	f.wantSent(t, "when the answer was lost", 2)
	f.cable.silence(false)
	f.near.stop(t)
	f.near = start(t, Options{Config: cfg, Remote: f.remote}) // the failure is known after a restart too
	ann = f.near.room(t, "a", "ann")
	eventually(t, "the way is back", func() bool {
		_, err := ann.Send(t.Context(), d)
		return err == nil
	})
	f.wantSent(t, "when it was sent again", 2)
	if _, err := ann.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	f.wantSent(t, "when it was sent once more, on purpose", 3)
}

// wantSent fails the test unless ann has sent that many messages.
func (f *fleet) wantSent(t *testing.T, when string, want int) {
	t.Helper()
	page, err := f.far.room(t, "a", mail.User).History(t.Context(), mail.HistoryQuery{From: "ann"})
	if err != nil || len(page.Messages) != want {
		t.Errorf("%s: %d messages, %v, want %d", when, len(page.Messages), err, want)
	}
}
