package acceptance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func haakItems() []item {
	return append([]item{
		{id: "HK-01", says: "one JSON line a message in agent-mailbox.jsonl", holds: hkLines},
		{id: "HK-02", says: "eight keys, always", holds: hkKeys},
		{id: "HK-03", says: "content is Markdown of under 500 words", holds: hkWords},
		{id: "HK-04", says: "thread is the id of the parent, or null", holds: hkThread},
		{id: "HK-05", says: "the file is append-only", holds: hkAppended},
		{id: "HK-06", says: "reads have a file of their own", holds: hkReads},
		{id: "HK-07", says: "unread is the difference of the two files", holds: hkDifference},
		{id: "HK-08", says: "the user sees everything", holds: hkUserSees},
		{id: "HK-09", says: "direct: next poll, waits if frozen, dead letter; 24 h", holds: hkDirect,
			also: hkHexIsSession},
		{id: "HK-10", says: "a role: waits until an agent holds it", holds: hkRole},
		{id: "HK-11", says: "role mail outlives its holder, until it is claimed", holds: hkRoleOutlives,
			also: hkRoleAll},
		{id: "HK-12", says: "all: every living agent, for 4 h", holds: hkAll},
		{id: "HK-13", says: "ttl_hours overrides each default", holds: hkTTL},
		{id: "HK-14", says: "expired is not deleted", holds: hkExpired},
		{id: "HK-15", says: "session start: all unread mail, then marked", holds: hkStart},
		{id: "HK-16", says: "polls at any time, without a daemon", holds: hkPoll},
		{id: "HK-17", says: "a hook, .claude/scripts/check-mailbox.sh", holds: hkHook, also: hkSessionEnd},
		{id: "HK-18", says: "roster entries have tags", holds: hkTags},
		{id: "HK-19", says: "send --from --to --subject --body", holds: hkSend},
		{id: "HK-20", says: "a namespace in --to is a tag; the tag is stored", holds: hkTagStored},
	}, haakMore()...)
}

const (
	hkMailbox = "data/agent-mailbox.jsonl"
	hkReadsIn = "data/agent-mailbox-reads.jsonl"
	hkRoster  = "data/agent-roster.jsonl"
)

// hkMessage is a line of the mailbox.
type hkMessage struct {
	ID        string   `json:"id"`
	Sender    string   `json:"sender"`
	Recipient string   `json:"recipient"`
	Timestamp string   `json:"timestamp"`
	Content   string   `json:"content"`
	Thread    *string  `json:"thread"`
	TTLHours  *int     `json:"ttl_hours"`
	ReadBy    []string `json:"read_by"`
	Subject   string   `json:"subject,omitempty"`
}

// hkProject is a HAAK project.
type hkProject struct{ *office }

func newHaak(t *testing.T, o *office, sessions ...string) hkProject {
	t.Helper()
	return openHaak(t, o.project(t), sessions...)
}

func openHaak(t *testing.T, o *office, sessions ...string) hkProject {
	t.Helper()
	h := hkProject{o}
	h.must(t, "bridge", "add", "haak", h.dir)
	for _, s := range sessions {
		h.register(t, s)
	}
	return h
}

func (h hkProject) register(t *testing.T, session string, more ...string) {
	t.Helper()
	h.must(t, append([]string{"haak", "roster", "register", "--session-id", session}, more...)...)
}

// send sends a message and returns its line. On a busy machine the line is written after the command's end.
func (h hkProject) send(t *testing.T, from, to, body string, more ...string) hkMessage {
	t.Helper()
	last := func() (m hkMessage) {
		if log := h.log(t); len(log) > 0 {
			m = log[len(log)-1]
		}
		return m
	}
	before := last()
	h.must(t, append([]string{"haak", "mailbox", "send", "--from", from, "--to", to, "--body", body}, more...)...)
	eventually(t, "the message is in the file", func() bool { return last().ID != before.ID })
	return last()
}

func (h hkProject) log(t *testing.T) []hkMessage {
	t.Helper()
	return lines[hkMessage](t, h.read(t, hkMailbox))
}

// poll reads a session's unread mail, which marks it.
func (h hkProject) poll(t *testing.T, session string) (contents []string) {
	t.Helper()
	for _, m := range ask[[]hkMessage](t, h.office, "haak", "mailbox", "read", "--session-id", session,
		"--unread-only") {
		contents = append(contents, m.Content)
	}
	return contents
}

// polls checks a session's unread mail.
func (h hkProject) polls(t *testing.T, session string, want ...string) {
	t.Helper()
	if got := h.poll(t, session); !slices.Equal(got, want) {
		t.Errorf("%s reads %q, want %q", session, got, want)
	}
}

// foreign appends a line as HAAK's own script does.
func (h hkProject) foreign(t *testing.T, id, from, to, content string, at time.Time) {
	t.Helper()
	h.add(t, hkMailbox, hkLine(id, from, to, content, at))
}

func hkLine(id, from, to, content string, at time.Time) string {
	return fmt.Sprintf(
		`{"id":%q,"sender":%q,"recipient":%q,"timestamp":%q,"content":%q,"thread":null,"ttl_hours":null,`+
			`"read_by":[]}`, id, from, to, at.UTC().Format(time.RFC3339), content)
}

func hkLines(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	for i := range 3 {
		h.send(t, "alice", "bob", fmt.Sprintf("line one\nline two %d", i))
	}
	if text := h.read(t, hkMailbox); strings.Count(text, "\n") != 3 || len(lines[map[string]any](t, text)) != 3 {
		t.Errorf("three messages are %q", text)
	}
}

func hkKeys(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	h.send(t, "alice", "bob", "plain")
	h.send(t, "alice", "bob", "with a subject", "--subject", "S", "--ttl-hours", "5")
	h.must(t, "send", "--to", "bob", "--body", "from the person")
	want := []string{"content", "id", "read_by", "recipient", "sender", "thread", "timestamp", "ttl_hours"}
	for i, line := range lines[map[string]any](t, h.read(t, hkMailbox)) {
		if _, ok := line["subject"]; ok != (i == 1) {
			t.Errorf("line %d has a subject: %t", i, ok)
		}
		delete(line, "subject")
		var keys []string
		for k := range line {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("line %d has other keys (-want +got):\n%s", i, diff)
		}
		if !matches(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, line["id"].(string)) {
			t.Errorf("%v is no UUID, version 4", line["id"])
		}
		if _, err := time.Parse(time.RFC3339, line["timestamp"].(string)); err != nil || line["thread"] != nil ||
			fmt.Sprint(line["read_by"]) != "[]" || (line["ttl_hours"] == nil) != (i != 1) {
			t.Errorf("line %d is %v", i, line)
		}
	}
}

func hkWords(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	send := func(n int, more ...string) result {
		return h.run(append([]string{"haak", "mailbox", "send", "--from", "alice", "--to", "bob", "--body",
			strings.Repeat("word ", n)}, more...)...)
	}
	if r := send(500); r.code != 0 || r.stderr != "" {
		t.Errorf("500 words: %+v", r)
	}
	if r := send(501); r.code != 0 || !strings.Contains(r.stderr, "501 words") {
		t.Errorf("501 words are not warned of: %+v", r)
	}
	if r := send(501, "--strict"); r.code == 0 {
		t.Errorf("501 words are sent though --strict: %+v", r)
	}
	if n := len(h.log(t)); n != 2 {
		t.Errorf("%d messages are stored, want 2", n)
	}
}

func hkThread(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	root := h.send(t, "alice", "bob", "root")
	reply := h.send(t, "bob", "alice", "reply", "--thread", root.ID)
	h.send(t, "alice", "bob", "reply to it", "--thread", reply.ID)
	if root.Thread != nil || reply.Thread == nil || *reply.Thread != root.ID {
		t.Errorf("threads are %v and %v", root.Thread, reply.Thread)
	}
	tree := h.must(t, "haak", "mailbox", "list", "--thread", root.ID)
	indents := []int{}
	for line := range strings.Lines(tree) {
		indents = append(indents, len(line)-len(strings.TrimLeft(line, " ")))
	}
	if !slices.Equal(indents, []int{0, 2, 4}) {
		t.Errorf("the chain is no tree:\n%s", tree)
	}
	if r := h.run("haak", "mailbox", "send", "--from", "bob", "--to", "alice", "--body", "x", "--thread",
		"6b1d2c11-7b1e-4c57-9d11-2b8f3b1b2c3d"); r.code == 0 || len(h.log(t)) != 3 {
		t.Errorf("a reply to what is not there is sent: %+v", r)
	}
}

func hkAppended(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	before := make(map[string]string)
	check := func(what string) {
		t.Helper()
		for _, name := range []string{hkMailbox, hkReadsIn, hkRoster} {
			now := h.read(t, name)
			if !strings.HasPrefix(now, before[name]) {
				t.Errorf("%s has changed what stood in %s", what, name)
			}
			before[name] = now
		}
	}
	h.send(t, "alice", "bob", "one")
	h.send(t, "alice", "all", "two")
	check("send")
	h.poll(t, "bob")
	check("read")
	for _, verb := range [][]string{{"update", "--session-id", "bob", "--role", "steward"}, {"freeze",
		"--session-id", "bob"},
		{"bury", "--session-id", "bob"}, {"clean"}} {
		h.must(t, append([]string{"haak", "roster"}, verb...)...)
		check("roster " + verb[0])
	}
	h.must(t, "haak", "mailbox", "archive")
	check("archive of a small mailbox")
}

// hkRead is a line of the file of reads.
type hkRead struct {
	MessageID       string `json:"message_id"`
	ReaderSessionID string `json:"reader_session_id"`
	Timestamp       string `json:"timestamp"`
}

func hkReads(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	one, two := h.send(t, "alice", "bob", "one"), h.send(t, "alice", "all", "two")
	before := h.read(t, hkMailbox)
	h.polls(t, "bob", "one", "two")
	if h.read(t, hkMailbox) != before {
		t.Error("reading has changed the mailbox")
	}
	var ids []string
	for _, r := range lines[hkRead](t, h.read(t, hkReadsIn)) {
		if _, err := time.Parse(time.RFC3339, r.Timestamp); err != nil || r.ReaderSessionID != "bob" {
			t.Errorf("a line of the reads is %+v", r)
		}
		ids = append(ids, r.MessageID)
	}
	if !slices.Equal(ids, []string{one.ID, two.ID}) {
		t.Errorf("the reads are of %q", ids)
	}
}

func hkDifference(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob", "carol")
	m := h.send(t, "alice", "all", "news")
	h.add(t, hkReadsIn, fmt.Sprintf(`{"message_id":%q,"reader_session_id":"bob","timestamp":%q}`, m.ID,
		time.Now().UTC().Format(time.RFC3339)))
	eventually(t, "the line of reads is taken in", func() bool {
		return strings.Contains(h.must(t, "haak", "mailbox", "list", "--all", "--json"), `"read_by":["bob"]`)
	})
	h.polls(t, "bob")
	h.polls(t, "carol", "news")
}

func hkUserSees(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob", "carol")
	h.send(t, "alice", "bob", "between two")
	h.foreign(t, "old-1", "alice", "bob", "expired", time.Now().Add(-48*time.Hour))
	eventually(t, "the user sees what is direct, and what has expired", func() bool {
		all := h.must(t, "haak", "mailbox", "list", "--all")
		return strings.Contains(all, "between two") && strings.Contains(all, "expired")
	})
	if r := h.run("haak", "mailbox", "list", "--session-id", "carol"); strings.Contains(r.stdout, "between two") {
		t.Errorf("carol's list has mail between others: %+v", r)
	}
}

func hkDirect(t *testing.T, _ *office) {
	c := newClockOffice(t)
	h := openHaak(t, c.office, "alice", "live", "frozen", "dying", "late")
	h.must(t, "haak", "roster", "freeze", "--session-id", "frozen")
	for _, to := range []string{"live", "frozen", "dying", "late"} {
		h.send(t, "alice", to, "to "+to)
	}
	h.polls(t, "live", "to live")
	h.must(t, "haak", "roster", "bury", "--session-id", "dying")
	if out := h.must(t, "haak", "mailbox", "dead-letters"); !strings.Contains(out, "to dying") ||
		strings.Contains(out, "to live") {
		t.Errorf("the dead letters are\n%s", out)
	}
	c.advance(t, 25*time.Hour)
	h.polls(t, "late")
	c.advance(t, 100*time.Hour)
	h.must(t, "haak", "roster", "update", "--session-id", "frozen", "--state", "live")
	h.polls(t, "frozen", "to frozen")
}

// hkHexIsSession: mail to an id that is on no roster yet is mail to a session, and expires as such; the first digits
// of an id and the whole id are one session.
func hkHexIsSession(t *testing.T, _ *office) {
	c := newClockOffice(t)
	h := openHaak(t, c.office, "alice")
	const unknown = "6b1d2c11-7b1e-4c57-9d11-2b8f3b1b2c3d"
	if r := h.run("haak", "mailbox", "send", "--from", "alice", "--to", unknown, "--body", "to whom?"); r.code == 0 {
		t.Errorf("mail to a session that nobody knows is sent: %+v", r)
	}
	h.foreign(t, "3f0e2c11-7b1e-4c57-9d11-2b8f3b1b2c3d", "alice", unknown, "too old", c.now())
	eventually(t, "the line is mail", func() bool {
		return strings.Contains(h.must(t, "haak", "mailbox", "list", "--all"), "too old")
	})
	c.advance(t, 25*time.Hour)
	h.register(t, unknown)
	h.polls(t, unknown)
	h.register(t, "a1b2c3d4")
	h.send(t, "alice", "a1b2c3d4", "for both spellings")
	if out := h.must(t, "haak", "check-mailbox", "--session-id",
		"a1b2c3d4-7b1e-4c57-9d11-2b8f3b1b2c3d"); !strings.Contains(
		out, "for both spellings") {
		t.Errorf("under its whole id the session reads %q", out)
	}
}

func hkRole(t *testing.T, _ *office) {
	c := newClockOffice(t)
	h := openHaak(t, c.office, "alice")
	r := h.run("haak", "mailbox", "send", "--from", "alice", "--to", "architect", "--body", "plan")
	if r.code != 0 || !strings.Contains(r.stderr, "no such role yet") {
		t.Errorf("mail to a role that nobody has: %+v", r)
	}
	c.advance(t, 90*24*time.Hour)
	h.register(t, "lina", "--role", "architect")
	h.polls(t, "lina", "plan")
}

func hkRoleOutlives(t *testing.T, o *office) {
	h := newHaak(t, o, "alice")
	h.register(t, "first", "--role", "steward")
	h.send(t, "alice", "steward", "claimed")
	h.polls(t, "first", "claimed")
	h.send(t, "alice", "steward", "waits")
	if r := h.run("haak", "roster", "bury", "--session-id", "first"); !strings.Contains(r.stderr+r.stdout, "vacancy") {
		t.Errorf("the vacant role is not told: %+v", r)
	}
	h.register(t, "second", "--role", "steward")
	h.polls(t, "second", "waits")
}

// hkRoleAll: of two holders, the one that polls first gets all of the role's mail (H4, H5).
func hkRoleAll(t *testing.T, o *office) {
	h := newHaak(t, o, "alice")
	h.register(t, "a", "--role", "librarian")
	h.register(t, "b", "--role", "librarian")
	var want []string
	for i := range 4 {
		want = append(want, fmt.Sprint("letter ", i))
		h.send(t, "alice", "librarian", want[i])
	}
	h.polls(t, "b", want...)
	h.polls(t, "a")
}

func hkAll(t *testing.T, _ *office) {
	c := newClockOffice(t)
	h := openHaak(t, c.office, "x", "a", "b")
	h.send(t, "x", "all", "hello")
	h.polls(t, "a", "hello")
	h.polls(t, "b", "hello")
	if out := h.must(t, "haak", "mailbox", "list", "--json"); !strings.Contains(out, `"read_by":["a","b"]`) {
		t.Errorf("not every reader is recorded: %s", out)
	}
	h.polls(t, "x")
	c.advance(t, 3*time.Hour)
	h.register(t, "c")
	h.polls(t, "c", "hello")
	c.advance(t, 61*time.Minute)
	h.register(t, "d")
	h.polls(t, "d")
}

func hkTTL(t *testing.T, _ *office) {
	c := newClockOffice(t)
	h := openHaak(t, c.office, "alice")
	h.register(t, "bob", "--role", "steward", "--tags", "project:x")
	for _, to := range []string{"bob", "steward", "project:x", "all"} {
		h.send(t, "alice", to, "short "+to, "--ttl-hours", "1")
		if m := h.send(t, "alice", to, "long "+to, "--ttl-hours", "48"); *m.TTLHours != 48 {
			t.Errorf("the line of %s says %d hours", to, *m.TTLHours)
		}
	}
	c.advance(t, 47*time.Hour)
	h.polls(t, "bob", "long bob", "long steward", "long project:x", "long all")
}

func hkExpired(t *testing.T, _ *office) {
	c := newClockOffice(t)
	h := openHaak(t, c.office, "alice", "bob")
	h.send(t, "alice", "all", "gone by then")
	c.advance(t, 5*time.Hour)
	h.polls(t, "bob")
	if out := h.must(t, "haak", "mailbox", "list"); strings.Contains(out, "gone by then") {
		t.Errorf("the list has what has expired: %s", out)
	}
	if !strings.Contains(h.read(t, hkMailbox), "gone by then") ||
		!strings.Contains(h.must(t, "haak", "mailbox", "list", "--all"), "gone by then") {
		t.Error("what has expired is deleted")
	}
}

func hkStart(t *testing.T, o *office) {
	h := newHaak(t, o, "alice")
	h.register(t, "bob", "--role", "steward", "--tags", "concern:governance")
	to := []string{"bob", "steward", "concern:governance", "all"}
	for _, address := range to {
		h.send(t, "alice", address, "for "+address, "--subject", "About "+address)
	}
	out := h.must(t, "haak", "check-mailbox", "--session-id", "bob")
	for _, address := range to {
		if !strings.Contains(out, "[mailbox from alice] About "+address) || !strings.Contains(out, "for "+address) {
			t.Errorf("mail to %s is not shown:\n%s", address, out)
		}
	}
	if n := strings.Count(h.read(t, hkReadsIn), "\n"); n != 4 {
		t.Errorf("four messages were shown, and %d lines of reads written", n)
	}
	if again := h.must(t, "haak", "check-mailbox", "--session-id", "bob"); again != "" {
		t.Errorf("the second time it prints %s", again)
	}
}

func hkPoll(t *testing.T, _ *office) {
	h := openHaak(t, newOffice(t), "alice", "bob")
	h.send(t, "alice", "bob", "one")
	h.polls(t, "bob", "one")
	h.send(t, "alice", "bob", "two")
	h.stop(t)
	check := func() string { return h.must(t, "haak", "check-mailbox", "--session-id", "bob") }
	if out := check(); !strings.Contains(out, "two") || strings.Contains(out, "one\n") {
		t.Errorf("without a post office the files say %q", out)
	}
	if again := check(); again != "" {
		t.Errorf("the second time they say %q", again)
	}
	h.serve(t)
	h.polls(t, "bob")
}

func hkHook(t *testing.T, o *office) {
	h := hkProject{o.project(t)}
	h.must(t, "haak", "install")
	h.register(t, "alice")
	h.send(t, "alice", "all", "hello")
	script := h.path(".claude/scripts/check-mailbox.sh")
	client := h.session(t, "s-hook", "CLAUDE_PROJECT_DIR="+h.dir)
	if r := client.shell(t, script, "", "bob"); r.code != 0 || !strings.Contains(r.stdout, "hello") {
		t.Errorf("the script ends with %+v", r)
	}
	if r := client.shell(t, script, "", "bob"); r != (result{}) {
		t.Errorf("with nothing to say it ends with %+v", r)
	}
	if r := client.shell(t, script, "", ""); r.code != 0 {
		t.Errorf("without a session it ends with %+v", r)
	}
	if settings := h.read(t, ".claude/settings.json"); !strings.Contains(settings, "SessionStart") ||
		!strings.Contains(settings, "check-mailbox.sh") {
		t.Errorf("the settings of Claude Code are %s", settings)
	}
	if info, err := os.Stat(script); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the script cannot be executed: %v %v", info, err)
	}
}

func hkSessionEnd(t *testing.T, o *office) {
	h := hkProject{o.project(t)}
	h.must(t, "haak", "install")
	if settings := h.read(t, ".claude/settings.json"); !strings.Contains(settings, "SessionEnd") {
		t.Errorf("the settings of Claude Code are %s", settings)
	}
}

func hkTags(t *testing.T, o *office) {
	h := newHaak(t, o, "architect-new")
	h.must(t, "haak", "roster", "update", "--session-id", "architect-new", "--tags",
		"project:inscription,concern:governance,domain:architecture")
	want := []string{"project:inscription", "concern:governance", "domain:architecture"}
	type entry struct {
		SessionID string `json:"session_id"`
		State     string
		Tags      []string
	}
	shown := ask[entry](t, h.office, "haak", "roster", "show", "--session-id", "architect-new")
	all := lines[entry](t, h.read(t, hkRoster))
	for where, e := range map[string]entry{"roster show": shown, "the file": all[len(all)-1]} {
		if e.SessionID != "architect-new" || e.State != "live" || !slices.Equal(e.Tags, want) {
			t.Errorf("%s has %+v", where, e)
		}
	}
}

func hkSend(t *testing.T, o *office) {
	h := newHaak(t, o, "architect-new")
	m := h.send(t, "architect-new", "project:inscription", "One schema?", "--subject", "Tags")
	if m.Sender != "architect-new" || m.Recipient != "project:inscription" || m.Subject != "Tags" ||
		m.Content != "One schema?" {
		t.Errorf("stored is %+v", m)
	}
}

func hkTagStored(t *testing.T, o *office) {
	h := newHaak(t, o, "s")
	h.register(t, "a", "--tags", "project:x")
	h.register(t, "b", "--tags", "project:x,concern:y", "--role", "steward")
	for to, reaches := range map[string]string{"project:x": "a, b", "concern:y": "b", "role:steward": "b",
		"domain:z": ""} {
		r := h.run("haak", "mailbox", "send", "--from", "s", "--to", to, "--body", "m")
		if r.code != 0 || reaches != "" && !strings.Contains(r.stdout, "would reach: "+reaches+"\n") ||
			(reaches == "") != strings.Contains(r.stderr, "no living session") {
			t.Errorf("to %s: %+v, want it to say that it reaches %q", to, r, reaches)
		}
		if log := h.log(t); log[len(log)-1].Recipient != to {
			t.Errorf("for %s, %q is stored", to, log[len(log)-1].Recipient)
		}
	}
}
