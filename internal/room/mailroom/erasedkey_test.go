package mailroom

import (
	"fmt"
	"strings"
	"testing"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// journalled returns the content of the journal and its archive, as JSON.
func journalled(t *testing.T, r *Room) string {
	t.Helper()
	var b strings.Builder
	add := func(e mail.Event) {
		text, err := jsonx.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	events, err := r.journal.Read(t.Context(), places(r.journal.Last())...)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		add(e)
	}
	for e, err := range r.journal.(compacter).Archived(t.Context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		add(e)
	}
	return b.String()
}

// TestP11_ErasedKeys checks that the idempotency key of an erased message, in which its sender may have said
// anything, is in no line of the journal either, wherever retention has put it; and that the keys of other messages
// in the same line are still known.
func TestP11_ErasedKeys(t *testing.T) {
	for name, bury := range map[string]func(t *testing.T, r *Room, sent []mail.ID){
		"hot": func(*testing.T, *Room, []mail.ID) {},
		"trimmed": func(t *testing.T, r *Room, _ []mail.ID) {
			if _, err := r.trim(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		},
		"let go": func(t *testing.T, r *Room, sent []mail.ID) {
			if err := r.letGo(t.Context(), sent[:2], r.now(), r.opts.Written(), true); err != nil {
				t.Fatal(err)
			}
		},
		"by an older version": func(t *testing.T, r *Room, sent []mail.ID) {
			c := r.state.Checkpoint()
			c.Trimmed = sent[:2]
			for i, id := range c.Trimmed {
				c.Spent = append(c.Spent, mail.SpentKey{From: "user", Key: fmt.Sprint("secret-", i), Message: id,
					Seq: r.state.Records[id].Seq, Sent: r.now()})
			}
			if _, err := r.append(t.Context(), mail.Event{At: r.now(), Checkpoint: c}); err != nil {
				t.Fatal(err)
			}
		},
		"while it was erased": func(t *testing.T, r *Room, sent []mail.ID) {
			r.mu.RLock()
			spends := r.state.Spend(sent[:1], r.now())
			r.mu.RUnlock()
			erased := mail.Event{At: r.now(), Erased: &mail.Erasure{Message: sent[0], By: mail.User}}
			if _, err := r.commit(t.Context(), append([]mail.Event{erased}, spends...)...); err != nil {
				t.Fatal(err)
			}
		},
		"when there were too many": func(t *testing.T, r *Room, sent []mail.ID) {
			if _, err := r.trim(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			keys := &r.state.Spent.Kinds[0]
			for i, k := range *keys {
				if k.Key == "secret-0" {
					(*keys)[0], (*keys)[i] = k, (*keys)[0]
				}
			}
			r.state.Spent.ForgetFirst(keys)
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Retention: policy.Retention{Count: 1}}
			room, _ := openRoom(t, "lab", opts)
			if name == "when there were too many" { // which this test simulates
				room = reopen(t, inMemory(t), "lab", opts)
				t.Cleanup(func() { room.Close() })
			}
			user := room.As(mail.User)
			var sent []mail.ID
			for i := range 3 {
				s, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: fmt.Sprint(i),
					Key: fmt.Sprint("secret-", i)})
				if err != nil {
					t.Fatal(err)
				}
				sent = append(sent, s.ID)
			}
			if _, err := user.Mark(t.Context(), mail.Marking{IDs: sent, Mark: mail.MarkRead}); err != nil {
				t.Fatal(err)
			}
			bury(t, room, sent)
			if err := user.Erase(t.Context(), sent[0]); err != nil {
				t.Fatal(err)
			}
			text := journalled(t, room)
			if strings.Contains(text, "secret-0") {
				t.Errorf("the journal still has the key:\n%s", text)
			}
			for i := 1; i < 3; i++ {
				again, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: fmt.Sprint(i),
					Key: fmt.Sprint("secret-", i)})
				if err != nil || !again.Duplicate || again.ID != sent[i] {
					t.Errorf("%d sent again: %+v, %v; want the first, %s", i, again, err, sent[i])
				}
			}
			if _, err := room.trim(t.Context(), true); err != nil {
				t.Error(err)
			}
		})
	}
}
