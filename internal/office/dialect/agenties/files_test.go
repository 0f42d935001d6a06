package agenties

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/dialecttest"
)

func (b *fixture) path(name string) string { return filepath.Join(b.Dir, filepath.FromSlash(name)) }

// text returns a file's content, or "" if it is missing.
func (b *fixture) text(name string) string {
	b.T.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil && !os.IsNotExist(err) {
		b.T.Fatal(err)
	}
	return string(text)
}

func (b *fixture) write(name, text string) {
	b.T.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.T.Fatal(err)
	}
}

func (b *fixture) add(name, text string) { b.write(name, b.text(name)+text) }

// ids returns the ids in a file, in order.
func (b *fixture) ids(name string) []mail.ID {
	b.T.Helper()
	out := []mail.ID{}
	for line := range strings.Lines(b.text(name)) {
		out = append(out, idOf([]byte(line)))
	}
	return out
}

func historyIDs(b *fixture) []mail.ID {
	out := []mail.ID{}
	for _, it := range b.History() {
		out = append(out, it.ID)
	}
	return out
}

// foreign returns a line from another program.
func foreign(id, to string, read bool, at time.Time) string {
	return fmt.Sprintf(
		`{"id":%q,"type":"custom","from":"agent:ag_x2","to":%q,"body":"body of %s","read":%v,"createdAt":%q}`, id, to,
		id, read, at.Format(time.RFC3339)) + "\n"
}

func TestOutward(t *testing.T) {
	b := newFixture(t)
	b.Bridge("")
	t.Run("AG-01 AG-03 a message is in the file before its sender is answered", func(t *testing.T) {
		id := b.send("orchestrator", mail.TaskAssigned, "agent:ag_x1", `"body":"minimal"`).ID
		want := `{"id":"` + string(id) +
			`","type":"task-assigned","from":"orchestrator","to":"agent:ag_x1","body":"minimal","agentId":"ag_x1","read":false,"createdAt":"2026-05-10T14:00:00Z"}` + "\n"
		if got := b.text(mailboxFile); got != want {
			t.Errorf("the file says\n%swant\n%s", got, want)
		}
		b.Advance(1500 * time.Millisecond)
		id = b.send("ag_x1", mail.Status, "broadcast",
			`"subject":"s","body":"maximal","metadata":{"b":{"y":1,"x":[2]},"a":null},"issueId":"issue_1"`).ID
		want += `{"id":"` + string(id) +
			`","type":"status","from":"agent:ag_x1","to":"broadcast","subject":"s","body":"maximal","metadata":{"b":{"y":1,"x":[2]},"a":null},"issueId":"issue_1","agentId":"ag_x1","read":false,"createdAt":"2026-05-10T14:00:01.500Z"}` + "\n"
		if got := b.text(mailboxFile); got != want {
			t.Errorf("the file says\n%swant\n%s", got, want)
		}
	})
	t.Run("AG-02 AG-05 the file only grows", func(t *testing.T) {
		before, text := stat(t, b.path(mailboxFile)), b.text(mailboxFile)
		for range 1000 { // without a check of the file after each, as the tests above do
			if _, err := b.Room.As("orchestrator").Send(t.Context(), mail.Draft{To: mail.Recipients{"agent:ag_x1"},
				Body: "b"}); err != nil {
				t.Fatal(err)
			}
			b.Advance(7 * time.Millisecond)
		}
		ask[marked](b, "ag_x1", "mark_read", `{"all":true}`)
		if !os.SameFile(before, stat(t, b.path(mailboxFile))) || !strings.HasPrefix(b.text(mailboxFile), text) {
			t.Error("the file is another one, or what it said has changed")
		}
		var last time.Time
		for line := range strings.Lines(b.text(mailboxFile)) {
			m, err := parse([]byte(line))
			at, timeErr := time.Parse(time.RFC3339, m.CreatedAt)
			if err != nil || timeErr != nil || at.Before(last) || !strings.HasSuffix(m.CreatedAt, "Z") {
				t.Fatalf("%s: %v, %v", line, err, timeErr)
			}
			last = at
		}
		if diff := cmp.Diff(historyIDs(b), b.ids(mailboxFile)[2:]); diff != "" { // a page holds a thousand
			t.Errorf("room and file differ:\n%s", diff)
		}
	})
	t.Run("who has read what stands beside it", func(t *testing.T) { // A1
		if n := strings.Count(b.text(readsFile), "\n"); n != 1001 {
			t.Errorf("%d marks", n)
		}
		if strings.Contains(b.text(mailboxFile), `"read":true`) {
			t.Error("a line was edited")
		}
		first, _, _ := strings.Cut(b.text(readsFile), "\n")
		want := `{"id":"` + string(b.ids(mailboxFile)[0]) + `","reader":"agent:ag_x1","read":true,"all":true,"at":"`
		if !strings.HasPrefix(first, want) {
			t.Errorf("%s, want %s…", first, want)
		}
	})
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestFolded(t *testing.T) {
	b := newFixture(t)
	b.Bridge("")
	direct := b.send("orchestrator", mail.Custom, "agent:ag_x1", "").ID
	b.Register("boss", "orchestrator", "builder")
	b.Register("ag_x3")
	role := b.send("orchestrator", mail.TaskAssigned, "role:builder", "").ID
	up := b.send("ag_x1", mail.TaskDone, "orchestrator", "").ID
	all := b.send("ag_x1", mail.Status, "broadcast", "").ID
	unread := b.send("orchestrator", mail.Custom, "agent:ag_x1", "").ID
	read := func(who mail.Name, ids ...mail.ID) {
		t.Helper()
		if _, err := b.As(who).Mark(t.Context(), mail.Marking{IDs: ids, Mark: mail.MarkRead}); err != nil {
			t.Fatal(err)
		}
	}
	read("ag_x1", direct, unread)
	if _, err := b.As("ag_x1").Mark(t.Context(),
		mail.Marking{IDs: []mail.ID{unread}, Mark: mail.MarkUnread}); err != nil {
		t.Fatal(err)
	}
	read("boss", role)
	it, err := b.As(mail.User).Message(t.Context(), up)
	if err != nil {
		t.Fatal(err)
	}
	read(it.Deliveries[0].Agent, up)
	read("ag_x2", all)
	restart := func() map[mail.ID]bool {
		b.Stop()
		b.Start()
		b.Sync()
		got := make(map[mail.ID]bool)
		for line := range strings.Lines(b.text(mailboxFile)) {
			m, err := parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			got[mail.ID(m.ID)] = m.Read
		}
		return got
	}
	want := map[mail.ID]bool{direct: true, role: true, up: true, all: false, unread: false}
	for range 2 {
		if diff := cmp.Diff(want, restart()); diff != "" { // A2
			t.Errorf("read after a start (-want +got):\n%s", diff)
		}
	}
	read("ag_x3", all)
	want[all] = true
	if diff := cmp.Diff(want, restart()); diff != "" {
		t.Errorf("everybody has read the broadcast (-want +got):\n%s", diff)
	}
	// A message marked read and then unread does not become read again because of its line.
	if _, err := b.As("ag_x1").Mark(t.Context(),
		mail.Marking{IDs: []mail.ID{direct}, Mark: mail.MarkUnread}); err != nil {
		t.Fatal(err)
	}
	want[direct] = false
	if diff := cmp.Diff(want, restart()); diff != "" {
		t.Errorf("a mark was taken back (-want +got):\n%s", diff)
	}
	b.wantBodies("ag_x1", "", "b", "b")
}

func TestInward(t *testing.T) {
	t.Parallel()
	at := dialecttest.Began.Add(-time.Hour)
	t.Run("AG-20 AG-02 a file written by hand", func(t *testing.T) {
		b := newFixture(t)
		lines := foreign("msg_001", "agent:ag_x1", true, at) + foreign("msg_002", "agent:ag_x1", false, at) +
			foreign("msg_003", "orchestrator", true, at) + foreign("msg_004", "broadcast", true,
			at) + foreign("msg_005", "role:builder", true, at) +
			foreign("msg_006", "user", true, at) + foreign("msg_007", "agent:stranger", true, at)
		b.write(mailboxFile, lines)
		st := b.Bridge("")
		if st.Imported != 7 || st.Rejected != 0 || st.Failing != "" {
			t.Errorf("%+v", st)
		}
		b.wantBodies("ag_x1", "", "body of msg_002", "body of msg_004") // a read broadcast does not name its readers
		b.wantBodies("ag_x1", `{"unreadOnly":false}`, "body of msg_001", "body of msg_002", "body of msg_004")
		b.wantBodies("orchestrator", "")
		if n := len(b.Inbox(mail.User)); n != 0 {
			t.Errorf("%d unread with the user", n)
		}
		for id, want := range map[mail.ID]mail.DeliveryState{"msg_001": mail.Read, "msg_003": mail.Read,
			"msg_005": mail.Held, "msg_006": mail.Read, "msg_007": mail.Read} {
			if it, err := b.As(mail.User).Message(t.Context(), id); err != nil || it.Deliveries[0].State != want {
				t.Errorf("%s is %+v, %v; want %s", id, it.Deliveries, err, want)
			}
		}
		if got := b.text(mailboxFile); got != lines {
			t.Errorf("the file has changed to\n%s", got)
		}
	})
	t.Run("the orchestrator by its role", func(t *testing.T) {
		b := &fixture{dialecttest.New(t, Dialect())}
		b.Register("boss", "orchestrator")
		b.write(mailboxFile, foreign("msg_1", "orchestrator", true, at)+foreign("msg_2", "orchestrator", false, at))
		b.Bridge("")
		b.wantBodies("boss", "", "body of msg_2")
	})
	t.Run("AG-06 much metadata, and a cut text in it", func(t *testing.T) {
		b := newFixture(t)
		line := func(id string, metadata string) string {
			return strings.Replace(foreign(id, "agent:ag_x1", false, at), `"read"`, `"metadata":`+metadata+`,"read"`,
				1)
		}
		much := `{"k":"` + strings.Repeat("x", mail.MaxAccepted-len(`{"k":""}`)) + `"}`
		text := line("msg_1", much) + line("msg_3", `{"k":"half \ud83d"}`)
		text += line("msg_4", `{"k":"`+strings.Repeat("x", mail.MaxKept)+`"}`)
		b.write(mailboxFile, text)
		if st := b.Bridge(""); st.Imported != 2 || st.Rejected != 1 {
			t.Errorf("%+v, want 2 imported, 1 rejected", st)
		}
		it, err := b.As(mail.User).Message(t.Context(), "msg_1")
		if err != nil || string(it.Metadata) != much {
			t.Errorf("%d bytes of metadata, %v", len(it.Metadata), err)
		}
		if it, err := b.As(mail.User).Message(t.Context(), "msg_3"); err != nil ||
			it.Metadata.Text("k") != "half \uFFFD" {
			t.Errorf("%s, %v", it.Metadata, err)
		}
		got := ask[found](b, "ag_x1", "read_messages", "").Messages
		if len(got) != 2 || !strings.Contains(got[0].Body, "pennypost read msg_1 --as ag_x1") {
			t.Errorf("read_messages: %+v", got)
		}
		if b.text(mailboxFile) != text {
			t.Error("the file has changed")
		}
		export := b.verb("export")
		other := newFixture(t)
		other.write("export.json", export)
		other.verb("import", "export.json")
		if it, err := other.As(mail.User).Message(t.Context(), "msg_1"); err != nil || string(it.Metadata) != much {
			t.Errorf("exported and imported: %d bytes of metadata, %v", len(it.Metadata), err)
		}
	})
	t.Run("AG-19 from the orchestrator, by its role", func(t *testing.T) {
		b := &fixture{dialecttest.New(t, Dialect())}
		b.Register("boss", "orchestrator")
		b.Register("ag_x1")
		line := strings.Replace(foreign("msg_1", "agent:ag_x1", false, at), `agent:ag_x2`, `orchestrator`, 1)
		b.write(mailboxFile, line)
		b.Bridge("")
		it, err := b.As(mail.User).Message(t.Context(), "msg_1")
		if err != nil || it.From != "agent:boss" {
			t.Errorf("what the file has from orchestrator is from %s, %v", it.From, err)
		}
		ours := b.send("boss", mail.TaskAssigned, "agent:ag_x1", "")
		if text := b.text(mailboxFile); !strings.HasPrefix(text, line) ||
			!strings.Contains(text, string(ours.ID)+`","type":"task-assigned","from":"orchestrator"`) {
			t.Errorf("the file is\n%s", text)
		}
		for _, m := range ask[found](b, "ag_x1", "read_messages", "").Messages {
			if m.From != "orchestrator" {
				t.Errorf("read_messages: %s is from %s", m.ID, m.From)
			}
		}
		if text := b.verb("history"); strings.Count(text, " orchestrator → agent:ag_x1 ") != 2 {
			t.Errorf("history:\n%s", text)
		}
		export := b.verb("export")
		if strings.Count(export, `"from":"orchestrator"`) != 2 {
			t.Errorf("export:\n%s", export)
		}
		other := &fixture{dialecttest.New(t, Dialect())}
		other.Register("chief", "orchestrator")
		other.Register("ag_x1")
		other.write("export.json", export)
		other.verb("import", "export.json")
		if it, err := other.As(mail.User).Message(t.Context(), ours.ID); err != nil || it.From != "agent:chief" {
			t.Errorf("what was exported is from %s, %v", it.From, err)
		}
	})
	t.Run("lines that others append, and what is no line", func(t *testing.T) {
		b := newFixture(t)
		garbage := "garbage\n\n{\"id\":\"x\"}\n\xff\xfe\r\n"
		b.write(mailboxFile, garbage+foreign("msg_1", "agent:ag_x1", false, at))
		if st := b.Bridge(""); st.Rejected != 3 || !strings.Contains(st.Notice, "line 1: ") {
			t.Errorf("%+v, want 3 rejected", st)
		}
		ours := b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"ours"`).ID
		b.add(mailboxFile, foreign("msg_2", "agent:ag_x1", false, at)+`{"id":"msg_3","ty`)
		b.Sync()
		ours2 := b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"behind a torn line"`).ID
		if st := b.Sync(); st.Rejected != 4 {
			t.Errorf("%+v, want 4 rejected", st)
		}
		want := []mail.ID{"msg_1", ours, "msg_2", ours2}
		if diff := cmp.Diff(want, historyIDs(b)); diff != "" {
			t.Errorf("the room (-want +got):\n%s", diff)
		}
		text := b.text(mailboxFile)
		if !strings.HasPrefix(text, garbage) || !strings.Contains(text, "\n{\"id\":\"msg_3\",\"ty\n") {
			t.Errorf("the file is\n%s", text)
		}
		b.Stop()
		b.Start()
		b.Sync()
		if b.text(mailboxFile) != text || len(historyIDs(b)) != len(want) {
			t.Errorf("after a restart the room has %v and the file is\n%s", historyIDs(b), b.text(mailboxFile))
		}
	})
	t.Run("others edit read", func(t *testing.T) {
		b := newFixture(t)
		b.Bridge("")
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"one"`)
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"two"`)
		all := b.send("ag_x1", mail.Status, "broadcast", "").ID
		text := b.text(mailboxFile)
		b.Sync()
		b.write(mailboxFile, strings.Replace(text, `"body":"one","agentId":"ag_x1","read":false`, `"body":"one","agentId":"ag_x1","read":true`, 1))
		b.Sync()
		b.wantBodies("ag_x1", "", "two")
		b.write(mailboxFile, strings.Replace(b.text(mailboxFile), `"body":"b","agentId":"ag_x1","read":false`, `"body":"b","agentId":"ag_x1","read":true`,
			1))
		b.Sync()
		it, err := b.As(mail.User).Message(t.Context(), all)
		if err != nil || !everybodyRead(&it) {
			t.Errorf("the broadcast is %+v, %v", it.Deliveries, err)
		}
		b.write(mailboxFile, text)
		b.Sync()
		b.wantBodies("ag_x1", "", "one", "two")
	})
	t.Run("others edit while we are away", func(t *testing.T) {
		b := newFixture(t)
		b.Bridge("")
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"one"`)
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"two"`)
		b.Stop()
		b.write(mailboxFile, strings.Replace(b.text(mailboxFile), `"body":"one","agentId":"ag_x1","read":false`,
			`"body":"one","agentId":"ag_x1","read":true`, 1)+foreign("msg_new", "agent:ag_x1", false, at))
		b.Start()
		b.Sync()
		b.wantBodies("ag_x1", "", "body of msg_new", "two")
	})
	t.Run("followed files are not touched", func(t *testing.T) {
		b := newFixture(t)
		lines := foreign("msg_old", "agent:ag_x1", false, at.AddDate(0, -1, 0)) + foreign("msg_1", "agent:ag_x1",
			false, at)
		b.write(mailboxFile, lines)
		b.Bridge(mail.BridgeFollow)
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"native"`)
		b.Sync()
		b.wantBodies("ag_x1", "", "body of msg_1", "native") // the old one has expired, and is in the room
		if entries, err := os.ReadDir(b.path(".agenties")); err != nil || len(entries) != 1 ||
			b.text(mailboxFile) != lines || len(historyIDs(b)) != 3 {
			t.Errorf("%v, %v; the room has %v and the file is\n%s", entries, err, historyIDs(b), b.text(mailboxFile))
		}
	})
}

// After a crash changes are replayed from any point; the files take them once.
func TestWrittenOnce(t *testing.T) {
	b := newFixture(t)
	b.Bridge("")
	b.write(mailboxFile, foreign("msg_1", "agent:ag_x1", false, dialecttest.Began))
	b.Sync()
	for range 3 {
		b.send("orchestrator", mail.Custom, "agent:ag_x1", "")
	}
	ask[marked](b, "ag_x1", "mark_read", `{"all":true}`)
	if _, err := b.As("ag_x1").Mark(t.Context(),
		mail.Marking{IDs: []mail.ID{"msg_1"}, Mark: mail.MarkUnread}); err != nil {
		t.Fatal(err)
	}
	lines, events := b.text(mailboxFile), len(b.events())
	for range 2 {
		b.Stop()
		if err := os.Remove(filepath.Join(b.State, "agenties", "cursor")); err != nil {
			t.Fatal(err)
		}
		b.Start()
		if st := b.Sync(); st.Behind != 0 || st.Failing != "" {
			t.Errorf("%+v", st)
		}
	}
	if want := strings.ReplaceAll(lines, `"body":"b","agentId":"ag_x1","read":false`,
		`"body":"b","agentId":"ag_x1","read":true`); b.text(mailboxFile) != want {
		t.Errorf("the mailbox is\n%swant\n%s", b.text(mailboxFile), want)
	}
	if n := len(b.events()); n != events {
		t.Errorf("the room has %d events more", n-events)
	}
	for _, id := range b.ids(mailboxFile)[1:] {
		if n := strings.Count(b.text(readsFile), string(id)); n != 1 {
			t.Errorf("%d marks on %s:\n%s", n, id, b.text(readsFile))
		}
	}
	if m := b.files(nil).marks["msg_1"]; m == nil || m.last.Read {
		t.Errorf("the marks on msg_1 are %+v", m)
	}
	t.Run("nor when the archive has them", func(t *testing.T) {
		b.Advance(8 * day)
		b.Stop()
		if err := os.Remove(filepath.Join(b.State, "agenties", "cursor")); err != nil {
			t.Fatal(err)
		}
		b.Start()
		b.Sync()
		if b.text(mailboxFile)+b.text(readsFile) != "" ||
			strings.Count(b.text(archiveDir+"/2026-05.jsonl"), "\n") != 4 {
			t.Errorf("%v", b.tree(".agenties"))
		}
	})
}

func TestNews(t *testing.T) {
	b := newFixture(t)
	mark := `{"id":"msg_1","reader":"agent:ag_x1","read":true,"all":true,"at":"2026-05-10T13:00:00.000Z"}` + "\n"
	b.write(mailboxFile, aged("msg_0", 8*day, false)+foreign("msg_1", "agent:ag_x1", true,
		dialecttest.Began)+foreign("msg_2", "agent:ag_x1", true, dialecttest.Began))
	b.write(readsFile, mark)
	f := b.files(nil)
	read := func() dialect.News {
		t.Helper()
		n, err := f.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := read()
	if ids := []mail.ID{n.Items[0].ID, n.Items[1].ID, n.Items[2].ID}; !slices.Equal(ids,
		[]mail.ID{"msg_0", "msg_1", "msg_2"}) {
		t.Errorf("%v, want what was trimmed too", ids)
	}
	// The mark on msg_1 came from the room; that on msg_2 did not.
	want := []mail.Receipt{{Message: "msg_2", Reader: "agent:ag_x1", Mark: mail.MarkRead}}
	if diff := cmp.Diff(want, n.Receipts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := f.Write(t.Context(),
		[]dialect.Change{{Event: mail.Event{Erased: &mail.Erasure{Message: "msg_0"}}}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(f.trimmed.Path()); err != nil || len(text) != 0 {
		t.Errorf("what was erased is still in our own list: %q, %v", text, err)
	}
	// Another program rewrites the file, and we look while it is empty and while it is half written.
	text := strings.ReplaceAll(b.text(mailboxFile), "true", "false")
	half := strings.Index(text, "\n") + 1
	for _, part := range []string{"", text[:half], text} {
		b.write(mailboxFile, part)
		if n := read(); len(n.Items) != 0 {
			t.Errorf("known messages came again: %+v", n.Items)
		}
	}
	if f.known["msg_1"] || f.known["msg_2"] {
		t.Error("an edit was missed")
	}
	// A second line with an id replaces the read flag.
	b.add(mailboxFile, foreign("msg_3", "agent:ag_x1", false, dialecttest.Began)+foreign("msg_3", "agent:ag_x1", true,
		dialecttest.Began))
	if n := read(); len(n.Items) != 1 || len(n.Items[0].Deliveries) != 1 || len(n.Receipts) != 1 {
		t.Errorf("%+v", n)
	}
}

// events returns the room's journal.
func (b *fixture) events() []mail.Event {
	b.T.Helper()
	w, err := b.As(mail.User).Watch(b.T.Context(), 0)
	if err != nil {
		b.T.Fatal(err)
	}
	defer w.Close()
	var all []mail.Event
	for last := b.Room.Shown(); len(all) == 0 || all[len(all)-1].Seq < last; {
		events, err := w.Next(b.T.Context())
		if err != nil {
			b.T.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}

func TestBrokerAndDisk(t *testing.T) {
	b := newFixture(t)
	b.Bridge("")
	t.Run("AG-21 what a watcher sees the file has", func(t *testing.T) {
		w, err := b.As("ag_x1").Watch(t.Context(), b.Room.Shown())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for range 20 {
			id := b.send("orchestrator", mail.Custom, "agent:ag_x1", "").ID
			for shown := mail.ID(""); shown != id; {
				events, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if m := events[len(events)-1].Message; m != nil {
					shown = m.ID
				}
			}
			if ids := b.ids(mailboxFile); ids[len(ids)-1] != id {
				t.Fatalf("the watcher was shown %s, and the file ends with %v", id, ids)
			}
		}
	})
	t.Run("AG-22 delivery needs no disk", func(t *testing.T) {
		text := b.text(mailboxFile)
		if err := os.Rename(b.path(".agenties"), b.path("aside")); err != nil {
			t.Fatal(err)
		}
		b.write(".agenties", "not a directory")
		var want []mail.ID
		for i := range 3 {
			want = append(want, b.send("orchestrator", mail.Custom, "agent:ag_x2", fmt.Sprintf(`"body":"%d"`, i)).ID)
		}
		b.wantBodies("ag_x2", "", "0", "1", "2")
		if st := b.Sync(); st.Failing == "" || st.Behind == 0 {
			t.Errorf("%+v, want it failing", st)
		}
		// Out of the bridge's reach, because it would create a missing .agenties again.
		dir, away := b.Dir, b.Dir+".away"
		for _, err := range []error{
			os.Rename(dir, away), os.Remove(filepath.Join(away, ".agenties")),
			os.Rename(filepath.Join(away, "aside"), filepath.Join(away, ".agenties")), os.Rename(away, dir),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if st := b.Sync(); st.Failing != "" || st.Behind != 0 {
			t.Errorf("%+v, want it working", st)
		}
		ids := b.ids(mailboxFile)
		if !strings.HasPrefix(b.text(mailboxFile), text) || !slices.Equal(ids[len(ids)-3:], want) {
			t.Errorf("the file ends with %v, want %v", ids, want)
		}
	})
}

// Another program appends while we do: both sides have everything once.
func TestForeignWriter(t *testing.T) {
	const each = 200
	b := newFixture(t)
	b.Bridge("")
	b.send("orchestrator", mail.Custom, "agent:ag_x1", "")
	done := make(chan error)
	go func() {
		done <- func() error {
			f, err := os.OpenFile(b.path(mailboxFile), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			for i := range each {
				if _, err := f.WriteString(foreign(fmt.Sprint("theirs_", i), "agent:ag_x1", false,
					dialecttest.Began)); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	for range each {
		b.Send("orchestrator", mail.Draft{To: mail.Recipients{"agent:ag_x1"}, Body: "ours"})
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if st := b.Sync(); st.Imported != each || st.Rejected != 0 {
		t.Errorf("%+v", st)
	}
	room, file := historyIDs(b), b.ids(mailboxFile)
	slices.Sort(room)
	slices.Sort(file)
	if diff := cmp.Diff(room, file); diff != "" || len(file) != 2*each+1 {
		t.Errorf("%d messages; room and file differ:\n%s", len(file), diff)
	}
}

// A room that fails is asked again.
func TestReadAgain(t *testing.T) {
	b := newFixture(t)
	b.write(mailboxFile, foreign("msg_1", "agent:ag_x1", false, dialecttest.Began)+"garbage\n"+
		foreign("msg_2", "orchestrator", true, dialecttest.Began))
	f := b.files(func(o *dialect.FilesOptions) { o.Service = failing{o.Service, new(1)} })
	if n, err := f.Read(t.Context()); err == nil {
		t.Errorf("%+v", n)
	}
	if n, err := f.Read(t.Context()); err != nil || len(n.Items) != 2 || n.Rejected != 1 {
		t.Errorf("%+v, %v", n, err)
	}
}

// failing fails to list the agents the given number of times.
type failing struct {
	mail.Service
	times *int
}

func (f failing) Agents(ctx context.Context, q mail.RosterQuery) (mail.AgentList, error) {
	if *f.times--; *f.times >= 0 {
		return mail.AgentList{}, mail.Errorf(mail.Unavailable, "not now")
	}
	return f.Service.Agents(ctx, q)
}

func TestErased(t *testing.T) {
	b := newFixture(t)
	old := dialecttest.Began.AddDate(0, 0, -20)
	b.write(mailboxFile, "garbage\n"+foreign("msg_old", "agent:ag_x1", false, old)+foreign("msg_older", "agent:ag_x1",
		false, old))
	b.begun()
	b.Bridge("")
	id := b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"a secret"`).ID
	b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"not one"`)
	ask[marked](b, "ag_x1", "mark_read", `{"all":true}`)
	for _, id := range []mail.ID{id, "msg_old"} {
		if err := b.As(mail.User).Erase(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	b.Sync()
	for _, dir := range []string{b.Dir, b.State} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, gone := range []string{"a secret", string(id), "msg_old\""} {
				if bytes.Contains(text, []byte(gone)) {
					t.Errorf("%s still has %q:\n%s", path, gone, text)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := b.text(mailboxFile)
	if !strings.HasPrefix(text, "garbage\n") || !strings.Contains(text, "not one") ||
		!strings.Contains(b.text(archiveDir+"/2026-04.jsonl"), "msg_older") {
		t.Errorf("too much is gone:\n%s", text)
	}
	b.Stop()
	b.Start()
	b.Sync()
	if slices.Contains(historyIDs(b), id) || slices.Contains(historyIDs(b), "msg_old") {
		t.Error("an erased message came back")
	}
}

func TestReadsLine(t *testing.T) {
	b, err := jsonx.Marshal(receipt{ID: "msg_1", Reader: "agent:a", Read: true, At: mail.TimeOf(dialecttest.Began)})
	if want := `{"id":"msg_1","reader":"agent:a","read":true,"at":"2026-05-10T14:00:00.000Z"}`; err != nil ||
		string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
