package mailroom

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestChangedBeforeItGoes checks that a step of retention leaves messages that have changed since they were chosen:
// mail that the person has put off meanwhile stays, missing messages do no harm, and a step that has nothing to do is
// not journalled.
func TestChangedBeforeItGoes(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	off, going := d.send("ann", to("user", "put off")).ID, d.send("ann", to("user", "going")).ID
	until := mail.TimeOf(d.now.Add(time.Hour))
	if _, err := d.room.As(mail.User).Mark(d.Context(), mail.Marking{IDs: []mail.ID{off}, Mark: mail.MarkSnoozed,
		Until: until}); err != nil {
		t.Fatal(err)
	}
	step := func(ids ...mail.ID) mail.Seq {
		t.Helper()
		if err := d.room.letGo(d.Context(), ids, d.room.now(), d.room.journal.Last(), false); err != nil {
			t.Fatal(err)
		}
		return d.room.journal.Last()
	}
	before := d.room.journal.Last()
	if after := step(off, "msg_of_which_nothing_is_known"); after != before {
		t.Errorf("a step that has nothing to do made %d events", after-before)
	}
	step(off, going, "msg_of_which_nothing_is_known")
	if d.room.state.Records[off] == nil || d.room.state.Records[going] != nil {
		t.Errorf("put off stays: %v; the other stays: %v; want only the first", d.room.state.Records[off] != nil,
			d.room.state.Records[going] != nil)
	}
}

// TestAskedRetentionAnywhere checks that the person may run retention on any machine, not only on the one that looks
// after the room.
func TestAskedRetentionAnywhere(t *testing.T) {
	bubble(t, 2, Options{Retention: policy.Retention{Count: 3}}, func(f *fleet) {
		for i := range 8 {
			_, err := f.posts[0].As("ann").Send(f.Context(), mail.Draft{To: mail.Recipients{"user"},
				Body: fmt.Sprint(i), Again: true})
			f.must("send", err)
		}
		synctest.Wait()
		if f.posts[1].Keeps() {
			f.Fatal("the second machine looks after the room")
		}
		trimmed, err := f.posts[1].As(mail.User).Archive(f.Context())
		f.must("archive", err)
		synctest.Wait()
		if n := len(f.posts[0].state.Records); n != 3 {
			f.Errorf("%d messages are hot when the second machine has trimmed %+v; want 3", n, trimmed)
		}
	})
}
