package dialecttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
)

// Each malformed piece of a bridge's files is listed with its present position, reason and beginning. The list has
// as many as the bridge counts, and listing changes nothing.
func TestRejectedLines(t *testing.T) {
	t.Parallel()
	const mailbox, roster, reads = "data/agent-mailbox.jsonl", "data/agent-roster.jsonl",
		"data/agent-mailbox-reads.jsonl"
	good := func(id int) string {
		return fmt.Sprintf(`{"id":"0f9d2c11-7b1e-4c57-9d11-2b8f3b1b2c%02d","sender":"ann","recipient":"all",`+
			`"timestamp":"2026-05-10T13:00:00Z","content":"c","thread":null,"ttl_hours":null,"read_by":[]}`, id)
	}
	for _, c := range []struct {
		dialect dialect.Dialect
		files   map[string]string
		want    []string // FILE:LINE EXCERPT
		send    bool     // the room also writes the files
	}{
		{
			dialect: haak.Dialect(), send: true,
			files: map[string]string{
				mailbox: good(1) + "\n<b>garbage\x1b[2J\n" + good(2) + "\n{\"id\":1}\n",
				roster:  `{"session_id":"ann"}` + "\n[]\n", reads: "{}\n",
				"data/agent-mailbox-archive/2026-03.jsonl":       good(3) + "\nold\n",
				"data/agent-mailbox-archive/2026-03-reads.jsonl": "1\n",
			},
			want: []string{roster + ":2 []", reads + ":1 {}", mailbox + ":2 <b>garbage\x1b[2J",
				mailbox + `:4 {"id":1}`, "data/agent-mailbox-archive/2026-03-reads.jsonl:1 1",
				"data/agent-mailbox-archive/2026-03.jsonl:2 old"},
		},
		{
			dialect: agenties.Dialect(), send: true,
			files: map[string]string{".agenties/mailbox.jsonl": "\nnot JSON\n\n" + strings.Repeat("克", 100) + "\n"},
			want: []string{".agenties/mailbox.jsonl:2 not JSON",
				".agenties/mailbox.jsonl:4 " + strings.Repeat("克", mail.MaxExcerpt/3) + "…"},
		},
		{
			dialect: openalice.Dialect(),
			files: map[string]string{"data/inbox/entries.jsonl": "\n{}\n",
				"data/inbox/read-state.json": "[" + "\n"},
			want: []string{"data/inbox/read-state.json:0 [\n", "data/inbox/entries.jsonl:2 {}"},
		},
		{
			dialect: claudeteams.Dialect(),
			files: map[string]string{
				"config.json": `{"name":"t","members":[{"name":"lead"},{"name":"ann"}]}`,
				"inboxes/ann.json": "[\n  {\n    \"from\": \"lead\",\n    \"text\": \"hi\",\n" +
					"    \"timestamp\": \"2026-05-10T13:00:00.000Z\",\n    \"read\": false\n  },\n  17,\n  {}\n]",
				"inboxes/lead.json": `{"from":`,
			},
			want: []string{"inboxes/ann.json:8 17", "inboxes/ann.json:9 {}", `inboxes/lead.json:0 {"from":`},
		},
	} {
		t.Run(c.dialect.Name, func(t *testing.T) {
			t.Parallel()
			b := dialecttest.New(t, c.dialect)
			for name, text := range c.files {
				path := filepath.Join(b.Dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			st := b.Bridge(mail.BridgeBoth)
			if c.send {
				b.Register("bob")
				b.Send(mail.User, mail.Draft{To: mail.Recipients{"agent:bob"}, Body: "in between"})
			}
			for range 2 {
				var got []string
				list, err := b.As("bob").RejectedLines(t.Context(), st.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range list {
					if got = append(got, fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Text)); l.Why == "" ||
						!utf8.ValidString(l.Text) || strings.Contains(l.Why, "\n") {
						t.Errorf("%+v", l)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if st := b.Sync(); st.Rejected != len(c.want) {
				t.Errorf("the bridge counts %d: %s", st.Rejected, st.Notice)
			}
		})
	}
}
