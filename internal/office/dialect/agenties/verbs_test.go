package agenties

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
	"pennypost/internal/fence/fencetest"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
)

// verb runs a verb that must succeed.
func (b *fixture) verb(words ...string) string {
	b.T.Helper()
	out, _, err := b.Verb(words...)
	if err != nil {
		b.T.Fatalf("%q: %v", words, err)
	}
	return out
}

// peopled returns a fixture with mail of several kinds.
func peopled(t *testing.T) *fixture {
	b := newFixture(t)
	b.Register("b1", "builder")
	b.send("orchestrator", mail.TaskAssigned, "role:builder",
		`"subject":"Parser","body":"line one\nline two","metadata":{"k":[1,{"a":"b"}]},"issueId":"issue_1"`)
	b.Advance(1234 * time.Millisecond)
	b.send("b1", mail.Question, "orchestrator", `"body":"which?"`)
	b.Send("orchestrator", mail.Draft{To: mail.Recipients{"b1"}, Type: "answer", Body: "this",
		ReplyTo: b.History()[1].ID, Priority: "urgent", Docs: []mail.Doc{{Path: "a.md"}}})
	b.send("b1", mail.Status, "broadcast", `"body":"> quoted\u001b[2J"`)
	ask[marked](b, "b1", "mark_read", `{"all":true}`)
	return b
}

func TestHistory(t *testing.T) {
	b := peopled(t)
	types := func(text string) (out []string) {
		var messages []message
		if err := jsonx.UnmarshalStrict([]byte(text), &messages); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, m := range messages {
			out = append(out, m.Type)
		}
		return out
	}
	for _, c := range []struct {
		name, flags string
		want        []string
	}{
		{"AG-31 everything", "", []string{"task-assigned", "question", "answer", "status"}},
		{"AG-31 some types", "--type=question,answer", []string{"question", "answer"}},
		{"AG-31 a type that there is not", "--type=cancel", nil},
		{"AG-31 the newest", "--limit=1", []string{"status"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want,
				types(b.verb(append([]string{"history", "--json"}, strings.Fields(c.flags)...)...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("AG-31 a timeline", func(t *testing.T) {
		got := b.verb("history", "--type", "task-assigned,status")
		ids := historyIDs(b)
		want := "2026-05-10T14:00:00Z  task-assigned  orchestrator → role:builder  " + string(ids[0]) +
			", read\n> Subject: Parser\n> line one\n> line two\n\n" +
			"2026-05-10T14:00:01.234Z  status  agent:b1 → broadcast  " + string(ids[3]) +
			", unread\n> > quoted\uFFFD[2J\n\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := b.verb("history", "--type", "cancel"); got != "No matching messages.\n" {
			t.Errorf("nothing is shown as %q", got)
		}
	})
	for _, words := range [][]string{{"history", "--type", "nonsense"}, {"history", "--limit", "-1"},
		{"history", "too much"}, {"export", "markdown"}} {
		if out, _, err := b.Verb(words...); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("%q = %q, %v", words, out, err)
		}
	}
	t.Run("AG-31 AG-32 as prompts", func(t *testing.T) {
		text, err := b.Prompt("b1", "history", map[string]string{"type": "question"})
		if err != nil || !strings.Contains(text, "> which?\n") || strings.Contains(text, "line one") ||
			fencetest.Unfenced(text) == text {
			t.Errorf("%s, %v", text, err)
		}
		text, err = b.Prompt("b1", "export", map[string]string{"format": "json"})
		if err != nil || len(types(text)) != 4 || text != fence.EscapeJSON(b.verb("export", "json")) {
			t.Errorf("%s, %v", text, err)
		}
		for prompt, args := range map[string]map[string]string{"history": {"type": "x"}, "export": {"format": "xml"}} {
			if text, err := b.Prompt("b1", prompt, args); err == nil {
				t.Errorf("%s %v = %s", prompt, args, text)
			}
		}
		if _, err := b.Prompt("b1", "history", map[string]string{"limit": "0"}); err == nil {
			t.Error("a limit of 0 was taken")
		}
	})
}

func TestExport(t *testing.T) {
	b := peopled(t)
	exported := b.verb("export")
	t.Run("AG-32 it parses, and is complete", func(t *testing.T) {
		var messages []message
		if err := jsonx.UnmarshalStrict([]byte(exported), &messages); err != nil || len(messages) != len(b.History()) {
			t.Errorf("%d messages, %v, want %d", len(messages), err, len(b.History()))
		}
		if !messages[0].Read || messages[1].Read { // by its builder; by no one
			t.Errorf("read = %v, %v", messages[0].Read, messages[1].Read)
		}
	})
	t.Run("AG-32 it can be imported", func(t *testing.T) {
		other := &fixture{dialecttest.New(t, Dialect())}
		other.Register("b1", "builder")
		other.Register("orchestrator")
		other.write("mailbox.json", exported)
		if got := other.verb("import",
			"mailbox.json"); got != "4 messages imported, 0 already known, 0 invalid.\n" {
			t.Error(got)
		}
		// It does not name the reader of the role's message, so that waits again.
		want := strings.Replace(exported, `"read":true`, `"read":false`, 1)
		if diff := cmp.Diff(want, other.verb("export", "json")); diff != "" {
			t.Errorf("exported again (-first +second):\n%s", diff)
		}
		if got := other.verb("import", "--json", "mailbox.json"); got != `{"added":0,"skipped":4,"rejected":0}`+"\n" {
			t.Error(got)
		}
		a, bb := b.History()[2], other.History()[2]
		if a.ReplyTo != bb.ReplyTo || a.Thread != bb.Thread || a.Priority != bb.Priority ||
			cmp.Diff(a.Docs, bb.Docs) != "" {
			t.Errorf("the answer was %+v and is %+v", a.Message, bb.Message)
		}
	})
	t.Run("AG-32 by way of the file", func(t *testing.T) {
		other := &fixture{dialecttest.New(t, Dialect())}
		other.Register("b1", "builder")
		b.Bridge("")
		other.write(mailboxFile, b.text(mailboxFile)+"garbage\n")
		other.verb("import", mailboxFile)
		if diff := cmp.Diff(historyIDs(b), historyIDs(other)); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
	b.write("bad", "[1,")
	for _, file := range []string{"bad", "missing"} {
		if out, _, err := b.Verb("import", file); err == nil {
			t.Errorf("importing %s: %s", file, out)
		}
	}
	if got := (&fixture{dialecttest.New(t, Dialect())}).verb("export"); got != "[]\n" {
		t.Errorf("an empty room is %q", got)
	}
}
