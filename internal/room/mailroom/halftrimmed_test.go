package mailroom

import (
	"context"
	"errors"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
)

// killed is a journal whose process is killed when it is about to compact.
type killed struct{ *journaltest.Memory }

func (killed) Compact(context.Context, func(mail.Event) journal.Fate) error {
	return errors.New("killed")
}

// Messages trimmed at a checkpoint are found again though the journal was not compacted after it: after a kill there,
// on a full disk, and in a backup that was made at that moment.
func TestP11_KilledBeforeCompaction(t *testing.T) {
	for _, heals := range []bool{false, true} {
		opts := Options{Retention: policy.Retention{Count: 1}}
		store := inMemory(t)
		memory := store.memory.Open()
		r, err := Open(t.Context(), "lab", killed{memory}, opts)
		if err != nil {
			t.Fatal(err)
		}
		user := r.As(mail.User)
		if _, err := user.Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
			t.Fatal(err)
		}
		var sent []mail.ID
		for _, body := range []string{"one", "two", "three"} {
			s, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: body})
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, s.ID)
		}
		if _, err := user.Archive(t.Context()); err == nil {
			t.Fatal("the test is wrong: the journal was compacted")
		}
		if heals { // the next retention completes it, though it has nothing else to do
			r.journal = memory
			r.runRetention(t.Context())
		} else {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			r = reopen(t, store, "lab", opts)
			user = r.As(mail.User)
		}
		for _, id := range sent {
			if _, err := user.Message(t.Context(), id); err != nil {
				t.Errorf("a message that was to be archived (healed: %v): %v", heals, err)
			}
		}
		var all []mail.ID
		for it, err := range user.Export(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, it.ID)
		}
		if len(all) != len(sent) {
			t.Errorf("an export has %v, want %v", all, sent)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
