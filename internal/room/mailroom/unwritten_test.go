package mailroom

import (
	"context"
	"slices"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestBridgesSeeWhatCompactionKeeps: a bridge that lags still finds in the journal the mail, the renamed agent and
// the erasure that it has not brought to its files.
func TestBridgesSeeWhatCompactionKeeps(t *testing.T) {
	written := mail.Seq(0)
	r, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 1},
		Written: func() mail.Seq { return written }})
	user := r.As(mail.User)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	send := func(body string) mail.ID {
		t.Helper()
		sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	secret := send("secret")
	written = r.Status().Seq
	send("one")
	send("two")
	if _, err := user.Rename(t.Context(), "ann", "bea"); err != nil {
		t.Fatal(err)
	}
	if err := user.Erase(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	seen := func() (out []string) {
		t.Helper()
		w, err := r.As(mail.System).Watch(t.Context(), written)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for last := mail.Seq(0); last < r.Shown(); {
			events, err := w.Next(ctx)
			if err != nil {
				return out // the target of its wait is no longer there
			}
			for _, e := range events {
				switch last = e.Seq; {
				case e.Message != nil:
					out = append(out, e.Message.Body)
				case e.Agent != nil && e.Agent.Renamed != "":
					out = append(out, "renamed "+string(e.Agent.Renamed))
				case e.Erased != nil && !e.Erased.Done:
					out = append(out, "erased "+string(e.Erased.Message))
				}
			}
		}
		return out
	}
	want := []string{"one", "two", "renamed bea", "erased " + string(secret)}
	for _, when := range []string{"before", "after"} {
		if got := seen(); !slices.Equal(got, want) {
			t.Errorf("%s compaction a bridge sees %q, want %q", when, got, want)
		}
		if _, err := user.Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	written = r.Status().Seq
	if out, err := user.Archive(t.Context()); err != nil || out.Kept != 1 {
		t.Errorf("with everything written, %+v, %v", out, err)
	}
}
