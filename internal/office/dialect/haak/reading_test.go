package haak_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// readBy returns the bodies that read_mailbox shows a session, and its unread count.
func (d desk) readBy(session mail.Name) (bodies []string, unread int) {
	d.T.Helper()
	out, err := d.Call(session, "read_mailbox", "{}")
	if err != nil {
		d.T.Fatal(err)
	}
	var answer struct {
		Messages []struct {
			Body string `json:"body"`
		} `json:"messages"`
		Unread int `json:"unread"`
	}
	if err := jsonx.Unmarshal([]byte(out), &answer); err != nil {
		d.T.Fatal(err)
	}
	for _, m := range answer.Messages {
		bodies = append(bodies, m.Body)
	}
	return bodies, answer.Unread
}

// TestReadingOverMCPIsRecorded: mail that the tool showed a session is in the reads file, so that it is not new
// again to the tool, the verb or a reader of the files alone.
func TestReadingOverMCPIsRecorded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.register("bob", "--role", "steward", "--tags", "project:x")
	d.register("carol", "--tags", "project:x")
	var want []string
	for _, to := range []string{"bob", "steward", "project:x"} {
		id := d.send("alice", to, "for "+to)
		want = append(want, fmt.Sprintf("%s by bob", id))
	}
	bodies, n := d.readBy("bob")
	if diff := cmp.Diff([]string{"for bob", "for steward", "for project:x"}, bodies); diff != "" || n != 3 {
		t.Errorf("%d unread (-want +got):\n%s", n, diff)
	}
	var got []string
	for _, r := range d.file(reads) {
		got = append(got, fmt.Sprintf("%s by %s", r["message_id"], r["reader_session_id"]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if bodies, n := d.readBy("bob"); bodies != nil || n != 0 {
		t.Errorf("new twice: %q, %d unread", bodies, n)
	}
	d.wantUnread("carol", "for project:x")
	if it, err := d.As(mail.User).Message(t.Context(), d.History()[0].ID); err != nil ||
		it.Deliveries[0].State != mail.Read {
		t.Errorf("its sender sees %+v, %v", it.Deliveries, err)
	}
	d.Stop()
	if out, _, err := d.offline("check-mailbox", "--session-id", "bob"); out != "" || err != nil {
		t.Errorf("from the files: %q, %v", out, err)
	}
}

// TestReadingInParts: mail that exceeds one answer comes over several calls, and a text that does not fit with
// others comes alone and whole; one over the room's body limit is not read until its reader got the whole some other
// way.
func TestReadingInParts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.register("bob")
	d.send("alice", "bob", "long "+strings.Repeat("x", 2*fence.Budget))
	for i := range 6 {
		d.send("alice", "bob", fmt.Sprint(i, strings.Repeat("y", fence.Budget/4)))
	}
	d.send("alice", "bob", "another "+strings.Repeat("x", fence.Budget))
	var seen []string
	for range 6 {
		bodies, _ := d.readBy("bob")
		var begin []string
		for _, b := range bodies {
			begin = append(begin, fmt.Sprintf("%.1s %d", b, len(b)))
		}
		seen = append(seen, strings.Join(begin, ", "))
	}
	if diff := cmp.Diff([]string{"0 5001, 1 5001, 2 5001", "3 5001, 4 5001, 5 5001", "l 40005", "a 20008", "", ""},
		seen); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	it := mail.Item{Message: mail.Message{ID: "8f0c5d1e-3b7a-4c56-9d2e-6a41b7e0f9c3", From: "agent:alice",
		To: []mail.Address{"agent:bob"}, Body: strings.Repeat("z", mail.MaxBody+1), Sent: mail.TimeOf(d.Now())}}
	if _, err := d.As(mail.User).Import(t.Context(), []mail.Item{it}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if bodies, n := d.readBy("bob"); n != 1 || !strings.Contains(bodies[0], "pennypost read "+string(it.ID)) {
			t.Errorf("%d unread, and it ends %q", n, bodies[0][len(bodies[0])-120:])
		}
	}
	if _, err := d.As("bob").Mark(t.Context(), mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkPresented,
		Door: "cli"}); err != nil { // as "pennypost read" does after printing the whole
		t.Fatal(err)
	}
	d.readBy("bob")
	if _, n := d.readBy("bob"); n != 0 {
		t.Errorf("%d unread after the whole was handed over", n)
	}
}
