package systemtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// TestExportImport carries a room to another post office, in both formats. Every message, archived or not, comes
// back equal, with its readers' marks; and a second import of the same file changes nothing.
func TestExportImport(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jsonl", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			from, to := newOffice(t), newOffice(t)
			fill(t, from)
			registerTwo(t, to)
			text := from.must(t, "export", "--format", format)
			items := from.exported(t)
			if len(items) != 7 {
				t.Fatalf("%d messages were exported, want 7", len(items))
			}
			for _, want := range []mail.Imported{{Added: 7}, {Skipped: 7}} {
				r := to.runWith(text, nil, "import", "--json", "-")
				if got := decode[mail.Imported](t, r.stdout); r.code != 0 || got != want {
					t.Errorf("import: %+v, exit %d %s; want %+v", got, r.code, r.stderr, want)
				}
			}
			if diff := cmp.Diff(carried(items), carried(to.exported(t))); diff != "" {
				t.Errorf("exported and imported (-exported +imported):\n%s", diff)
			}
			// From then on it is a room like any other.
			to.must(t, "send", "--as", "builder", "--to", "user", "--reply-to", string(items[0].ID), "--body",
				"after the move")
			if p := ask[mail.Page](t, to, "history", "--thread", string(items[0].ID)); len(p.Messages) != 3 {
				t.Errorf("the thread has %d messages after the move, want 3", len(p.Messages))
			}
			to.must(t, "stop")
			if r := to.run("verify"); r.code != 0 {
				t.Errorf("verify: %+v", r)
			}
		})
	}
}

// fill makes a room with a message of every kind, half of them in the archive.
func fill(t *testing.T, o *office) {
	t.Helper()
	writeConfig(t, o, "[room.retention]\ncount = 3\n")
	registerTwo(t, o)
	first := ask[mail.Sent](t, o, "send", "--to", "builder", "--type", "task-assigned", "--subject", "Parser",
		"--body", "Write *it*.\n\n\t\"quoted\"\\ \u2028 \x01 👩‍🚀",
		"--issue", "P-1", "--metadata", `{"z":1,"a":[1.50,{"x":null}],"big":12345678901234567890}`, "--doc",
		"docs/a.md@abc", "--doc", "b.md", "--ttl", "9h", "--urgent")
	o.must(t, "mark", "--as", "builder", string(first.ID), "--read")
	o.must(t, "send", "--as", "builder", "--to", "user", "--type", "task-done", "--reply-to", string(first.ID),
		"--body", "done")
	o.must(t, "mark", "--all", "--archived")
	for i, to := range []string{"role:builder", "project:parser", "all", "小克 builder", "role:nobody"} {
		o.must(t, "send", "--as", "小克 builder", "--to", to, "--body", fmt.Sprint("number ", i))
	}
	o.must(t, "read", "--as", "builder")
	if kept := ask[mail.Trimmed](t, o, "archive").Kept; kept >= 7 {
		t.Fatalf("nothing went to the archive: %d kept", kept)
	}
	if found, err := filepath.Glob(filepath.Join(o.home, "rooms", "default", "archive", "*.jsonl")); err != nil ||
		len(found) != 1 {
		t.Fatalf("the archive is %v, %v", found, err)
	}
}

func registerTwo(t *testing.T, o *office) {
	t.Helper()
	o.must(t, "agents", "register", "builder", "--role", "builder", "--tag", "project:parser")
	o.must(t, "agents", "register", "小克 builder")
}

// carriedItem is the part of a message that an import keeps: the whole message, and its readers' marks.
type carriedItem struct {
	Message mail.Message
	Done    string
}

func carried(items []mail.Item) (out []carriedItem) {
	for _, it := range items {
		var done []string
		for _, d := range it.Deliveries {
			if d.State == mail.Presented || d.State == mail.Read || d.State == mail.Archived {
				done = append(done, fmt.Sprintf("%s %s at %s by %s", d.Agent, d.State, d.At, d.Door))
			}
		}
		it.By = "" // an import makes no words the person's own
		out = append(out, carriedItem{it.Message, strings.Join(done, "; ")})
	}
	return out
}

// TestImportRefused holds that a file with one bad message changes nothing, and that the answer names that message.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const good = `{"id":"a","type":"custom","from":"agent:x","to":["user"],"body":"GOOD","sent":"2026-01-01T00:00:00Z"}` + "\n"
	for _, bad := range []string{
		`{"id":"b","type":"nonsense","from":"agent:x","to":["user"],"body":"y","sent":"2026-01-01T00:00:00Z"}`,
		`{"id":"b","type":"custom","from":"agent:x","to":["somebody"],"body":"y","sent":"2026-01-01T00:00:00Z"}`,
		`{"id":"b","type":"custom","from":"agent:x","to":["user"],"body":"y"}`,
		`{"id":"","type":"custom","from":"agent:x","to":["user"],"body":"y","sent":"2026-01-01T00:00:00Z"}`,
		`{"id":"b","type":"custom","from":"agent:x","to":["user"],"body":"` + strings.Repeat("y", 1<<20+1) +
			`","sent":"2026-01-01T00:00:00Z"}`,
		`{"id":"b","type":"custom","from":`,
		`nonsense`,
	} {
		r := o.runWith(good+bad+"\n", nil, "import", "-")
		if r.code != 2 && r.code != 5 || !strings.Contains(r.stderr, "2") {
			t.Errorf("import of %.80s: exit %d, %q; want a refusal that names message or line 2", bad, r.code,
				r.stderr)
		}
	}
	if r := o.run("import", filepath.Join(o.dir, "nothing")); r.code != 3 {
		t.Errorf("import of no file: %+v, want exit 3", r)
	}
	if r := o.runWith(good, nil, "import", "--as", "x", "-"); r.code != 5 {
		t.Errorf("import as an agent: %+v, want exit 5", r)
	}
	if p := ask[mail.Page](t, o, "history"); len(p.Messages) != 0 {
		t.Errorf("refused imports have stored %+v", p.Messages)
	}
}
