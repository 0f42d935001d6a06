package mailroom

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// TestP12_SameTextAtOnce sends each of 40 texts by four calls at the same moment, like a client that retries messages
// it takes for lost. Each is delivered once, all four senders are told of that one, and the person once.
func TestP12_SameTextAtOnce(t *testing.T) {
	const texts, each = 40, 4
	d := newDesk(t, policy.Limits{})
	first := make([]mail.ID, texts)
	for text := range texts {
		var ready, all sync.WaitGroup
		sent := make([]mail.Sent, each)
		ready.Add(each)
		for i := range each {
			all.Go(func() {
				ready.Done()
				ready.Wait()
				var err error
				if sent[i], err = d.room.As("ann").Send(d.Context(), to("bob", "text %d", text)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		fresh := 0
		for _, s := range sent {
			if s.ID != sent[0].ID {
				t.Errorf("text %d is told to be %s and %s", text, sent[0].ID, s.ID)
			}
			if !s.Duplicate {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("of text %d, %d senders are told that theirs was delivered", text, fresh)
		}
		first[text] = sent[0].ID
	}
	p, err := d.room.As("bob").Inbox(d.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil || len(p.Messages) != texts {
		t.Fatalf("%d messages, %v, want %d", len(p.Messages), err, texts)
	}
	for i, it := range p.Messages {
		if it.ID != first[i] || it.Body != fmt.Sprint("text ", i) {
			t.Errorf("message %d is %s, %q; want %s", i, it.ID, it.Body, first[i])
		}
	}
	d.wantTold("repeat_window")
}

// TestRepeatInJournal checks that text in the journal from another version, or another program, is ignored.
func TestRepeatInJournal(t *testing.T) {
	r := fold.Repeat{1, 2, 3, 255}
	if got := fold.RepeatIn(r.String()); got != r {
		t.Errorf("%s is read as %v, want %v", r, got, r)
	}
	for _, text := range []string{"", "AAAA", r.String() + "A", strings.Repeat("A", 1000), strings.Repeat("!", 22)} {
		if got := fold.RepeatIn(text); got != (fold.Repeat{}) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
