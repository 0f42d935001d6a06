package dialecttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
)

// A foreign line of 1 MiB becomes mail whole, whether its text or its unknown members make it that long; a longer
// one is refused, listed, and blocks nothing. Mail sent here keeps its limits.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const time = "2026-05-10T13:00:00.000Z"
	for _, c := range []struct {
		dialect dialect.Dialect
		file    string
		// line returns a line with a text and an extra member; for files that are one array, an element.
		line     func(n int, text, more string) string
		array    bool
		besides  map[string]string // other files
		markedBy string            // the metadata member that keeps the extra
	}{
		{dialect: agenties.Dialect(), file: ".agenties/mailbox.jsonl", markedBy: `{"more":"`,
			line: func(n int, text, more string) string {
				return fmt.Sprintf(`{"id":"msg_%d","type":"custom","from":"agent:ann","to":"agent:bob","body":"%s",`+
					`"metadata":{"more":"%s"},"agentId":"ann","read":false,"createdAt":"%s"}`, n, text, more, time)
			}},
		{dialect: haak.Dialect(), file: "data/agent-mailbox.jsonl", markedBy: `{"haak":{`,
			line: func(n int, text, more string) string {
				return fmt.Sprintf(`{"id":"0f9d2c11-7b1e-4c57-9d11-2b8f3b1b2c%02d","sender":"ann","recipient":"bob",`+
					`"timestamp":"%s","content":"%s","thread":null,"ttl_hours":null,"read_by":[],"more":"%s"}`, n,
					time, text, more)
			}},
		{dialect: openalice.Dialect(), file: "data/inbox/entries.jsonl", markedBy: `"more":"`,
			line: func(n int, text, more string) string {
				return fmt.Sprintf(`{"id":"0f9d2c11-7b1e-4c57-9d11-2b8f3b1b2c%02d","ts":1778418000000,`+
					`"workspaceId":"ann","workspaceLabel":"Ann","comments":"%s","more":"%s"}`, n, text, more)
			}},
		{dialect: claudeteams.Dialect(), file: "inboxes/ann.json", array: true, markedBy: `"more":"`,
			besides: map[string]string{"config.json": `{"name":"t","members":[{"name":"lead"},{"name":"ann"}]}`},
			line: func(n int, text, more string) string {
				return fmt.Sprintf(`{"from":"lead","text":"%d %s","timestamp":"%s","read":false,"more":"%s"}`, n, text,
					time, more)
			}},
	} {
		t.Run(c.dialect.Name, func(t *testing.T) {
			t.Parallel()
			b := dialecttest.New(t, c.dialect)
			b.Register("bob")
			room := mail.MaxAccepted - len(c.line(1, "", ""))
			lines := []string{c.line(1, strings.Repeat("t", room-1), "m"), c.line(2, "t", strings.Repeat("m", room-1)),
				c.line(3, strings.Repeat("t", mail.MaxAccepted+1), "m"), c.line(4, "short", "m")}
			text := strings.Join(lines, "\n") + "\n"
			if c.array {
				text = "[" + strings.Join(lines, ",") + "]"
			}
			files := map[string]string{c.file: text}
			for name, text := range c.besides {
				files[name] = text
			}
			for name, text := range files {
				path := filepath.Join(b.Dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			st := b.Bridge(mail.BridgeBoth)
			list, err := b.As(mail.User).RejectedLines(t.Context(), st.ID)
			if err != nil || st.Imported != 3 || st.Rejected != 1 || len(list) != 1 || st.Failing != "" {
				t.Fatalf("%+v, %+v, %v", st, list, err)
			}
			all := b.History()
			if n := len(all[0].Body); n < room-2 {
				t.Errorf("of the long text came %d bytes of %d", n, room)
			}
			if m := string(all[1].Metadata); len(m) < room-2 || !strings.Contains(m, c.markedBy) {
				t.Errorf("of what is besides came %d bytes of %d: %.80s", len(m), room, m)
			}
			if after, err := os.ReadFile(filepath.Join(b.Dir, c.file)); err != nil || string(after) != text {
				t.Errorf("the file has changed, to %d bytes of %d, %v", len(after), len(text), err)
			}
			_, err = b.As("bob").Send(t.Context(), mail.Draft{To: mail.Recipients{"user"},
				Body: strings.Repeat("t", mail.MaxBody+1)})
			if mail.CodeOf(err) != mail.TooLarge {
				t.Errorf("sent too long: %v", err)
			}
		})
	}
}
