package dialog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// room records how dialogs ended, and is slow to do so.
type room struct {
	hook.Service
	mu    sync.Mutex
	ended []string
}

func (r *room) Dialog(_ context.Context, c mail.DialogChange) error {
	time.Sleep(time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Outcome != "" {
		r.ended = append(r.ended, string(c.Outcome)+" "+string(c.By)+" "+c.Where)
	}
	return nil
}

func (r *room) is(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.ended, want) {
		t.Errorf("the room was told %q, want %q", r.ended, want)
	}
}

// waited returns a dialog with a waiting hook.
func waited(t *testing.T, d *Desk, r *room) (*hook.Held, chan *mail.DialogAnswer) {
	t.Helper()
	h := hook.Held{Room: "lab", Agent: "ann", Client: "opencode", Session: "s1"}
	h.Sum, h.Kind = "5", mail.AsksPermission
	h.Offers = []mail.Offer{{Verdict: mail.SayAllow}}
	id, err := d.Open(t.Context(), r, h)
	if err != nil {
		t.Fatal(err)
	}
	h, _ = d.Find(id)
	got := make(chan *mail.DialogAnswer, 1)
	go func() {
		a, _ := d.Wait(t.Context(), id, h.Shown())
		got <- a
	}()
	synctest.Wait()
	return &h, got
}

// When several hooks report the end of a dialog at the same time, the room is told once.
func TestEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := Open("", slog.New(slog.DiscardHandler)), &room{}
		h, _ := waited(t, d, r)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := d.Settle(t.Context(), r, h, mail.DialogAllowed); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		r.is(t, "allowed  client")
	})
}

// A hook's report about a dialog, while its client is given the person's answer, counts only if the client did not
// take the answer.
func TestEndsWhileAnswered(t *testing.T) {
	for _, taken := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d, r := Open("", slog.New(slog.DiscardHandler)), &room{}
			h, got := waited(t, d, r)
			a := &mail.DialogAnswer{Dialog: h.ID, Sum: h.Shown(), Verdict: mail.SayAllow}
			done := make(chan error, 1)
			var how mail.DialogOutcome
			go func() {
				var err error
				how, err = d.Answer(a, func() bool { return true })
				done <- err
			}()
			<-got
			if err := d.Settle(t.Context(), r, h, mail.DialogDenied); err != nil {
				t.Fatal(err)
			}
			r.is(t)
			if taken {
				d.Taken(h.ID)
			}
			if err := <-done; (err == nil) != taken {
				t.Fatalf("taken %t: %v", taken, err)
			}
			if !taken {
				if r.is(t); how != mail.DialogDenied {
					t.Errorf("it ended %q at the client, want denied", how)
				}
				return
			}
			if err := d.Answered(t.Context(), r, h, a, "page"); err != nil {
				t.Fatal(err)
			}
			r.is(t, "allowed user page")
		})
	}
}
