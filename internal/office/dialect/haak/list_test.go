package haak_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// TestRecipientMayBeAList: an array of tags is a recipient in a tool's arguments, after --to, in a saved draft and
// in a line of the file, and an array is written as an array.
func TestRecipientMayBeAList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for id, tags := range map[string]string{"a": "project:a", "b": "concern:b", "both": "project:a,concern:b",
		"none": "domain:z"} {
		d.register(id, "--tags", tags)
	}
	list := []any{"project:a", "concern:b"}
	out, err := d.Call("s", "send_message", `{"to":["project:a","#b"],"subject":"S","body":"by the tool"}`)
	if err != nil || !strings.Contains(out, `"recipient":"project:a,concern:b","reaches":["a","both","b"]`) {
		t.Errorf("%s, %v", out, err)
	}
	d.send("s", `["project:a", "concern:b"]`, "by the verb")
	d.ok("mailbox", "send", "--later", "--from", "a", "--to", `["project:a","concern:b"]`, "--body", "by a draft")
	d.ok("checkpoint", "--keep-live", "--session-id", "a")
	for _, m := range d.file(mailbox) {
		if diff := cmp.Diff(any(list), m["recipient"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m["content"], diff)
		}
	}
	line := strings.Replace(foreign("f-1", "zoe", "X", "2026-05-10T14:00:00Z", "by the file"), `"X"`,
		`["concern:b","project:a"]`, 1)
	d.stranger(mailbox, line, strings.Replace(line, `["concern:b","project:a"]`, `[]`, 1),
		strings.Replace(line, `"project:a"`, `7`, 1))
	want := []string{"by the tool", "by the verb", "by a draft", "by the file"}
	for _, id := range []string{"b", "both"} {
		d.wantUnread(id, want...)
	}
	d.wantUnread("none")
	if st := d.Sync(); st.Rejected != 2 {
		t.Errorf("%d lines are rejected, want those with an empty and with a foolish list", st.Rejected)
	}
	if out := d.ok("mailbox", "list", "--json"); strings.Count(out, `"recipient":["project:a","concern:b"]`) != 3 ||
		!strings.Contains(out, `"recipient":["concern:b","project:a"]`) {
		t.Errorf("listed: %s", out)
	}
	for _, to := range []string{`[]`, `["project:a",""]`, `["foo:bar"]`} {
		if _, err := d.Call("s", "send_message", fmt.Sprintf(`{"to":%s,"subject":"S","body":"m"}`, to)); err == nil {
			t.Errorf("mail to %s was taken", to)
		}
	}
	d.refused(mail.Invalid, "mailbox", "send", "--from", "s", "--to", `[]`, "--body", "m")
	d.Stop()
	if out, _, err := d.offline("check-mailbox", "--session-id", "b"); err != nil ||
		!strings.Contains(out, "\nby the file\n") || !strings.Contains(out, "\nby the verb\n") {
		t.Errorf("from the files: %s, %v", out, err)
	}
}
