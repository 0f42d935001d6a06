package openalice

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
)

func TestScripts(t *testing.T) { dialecttest.Scripts(t, Dialect()) }

// fixture is a room with the workspaces ws-abc and ws-def, and a bridge.
type fixture struct {
	*dialecttest.Fixture
	dir string // directory of ws-abc
}

func newFixture(t *testing.T) *fixture {
	b := &fixture{dialecttest.New(t, Dialect()), t.TempDir()}
	b.workspace("ws-abc", "Macro thesis", b.dir)
	b.workspace("ws-def", "Other <work> & more", t.TempDir())
	b.Bridge(mail.BridgeBoth)
	return b
}

func (b *fixture) workspace(id mail.Name, label, dir string) {
	b.T.Helper()
	if _, err := b.As(mail.User).AddWorkspace(b.T.Context(),
		mail.Workspace{ID: id, Label: label, Dir: dir}); err != nil {
		b.T.Fatal(err)
	}
}

// push pushes an entry and returns the answer.
func (b *fixture) push(workspace mail.Name, args string) pushed {
	b.T.Helper()
	out, err := b.Call(workspace, "inbox_push", args)
	if err != nil {
		b.T.Fatalf("inbox_push(%s): %v", args, err)
	}
	return decode[pushed](b.T, out)
}

// says pushes a comment and returns the entry's id.
func (b *fixture) says(workspace mail.Name, comments string) string {
	b.T.Helper()
	args, _ := json.Marshal(map[string]string{"comments": comments})
	p := b.push(workspace, string(args))
	if !p.OK {
		b.T.Fatalf("inbox_push(%s): %s", args, p.Error)
	}
	return string(p.EntryID)
}

func decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// listed is an entry of the history.
type listed struct {
	ID, WorkspaceID, WorkspaceLabel, Comments string
	TS, ReadAt                                int64
	Docs                                      []mail.Doc
}

// list requests the history.
func (b *fixture) list(query string) (entries []listed, more bool) {
	b.T.Helper()
	w := b.Route("GET", "/api/inbox/history?"+query, "")
	if w.Code != http.StatusOK {
		b.T.Fatalf("history?%s: %d %s", query, w.Code, w.Body)
	}
	page := decode[struct {
		Entries []listed
		HasMore *bool
	}](b.T, w.Body.String())
	if page.Entries == nil || page.HasMore == nil {
		b.T.Fatalf("history?%s lacks a member: %s", query, w.Body)
	}
	return page.Entries, *page.HasMore
}

// comments returns the comments in the history, newest first.
func (b *fixture) comments(query string) string {
	b.T.Helper()
	entries, more := b.list(query)
	var all []string
	for _, e := range entries {
		all = append(all, e.Comments)
	}
	if more {
		all = append(all, "…")
	}
	return strings.Join(all, " ")
}

func (b *fixture) path(name string) string { return filepath.Join(b.Dir, "data", "inbox", name) }

func (b *fixture) file(name string) string {
	b.T.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil {
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

func (b *fixture) route(want int, method, target, body string) string {
	b.T.Helper()
	w := b.Route(method, target, body)
	if w.Code != want {
		b.T.Errorf("%s %s: %d %s, want %d", method, target, w.Code, w.Body, want)
	}
	return w.Body.String()
}

func TestPush(t *testing.T) {
	t.Run("OA-01 docs or comments must be present", func(t *testing.T) {
		b := newFixture(t)
		for _, args := range []string{`{}`, `{"docs":[]}`, `{"comments":"  "}`, `{"docs":[],"comments":"\n\t"}`} {
			if p := b.push("ws-abc", args); p.OK || p.EntryID != "" ||
				!strings.HasSuffix(p.Error, "at least one of docs or comments must be present") {
				t.Errorf("inbox_push(%s) = %+v", args, p)
			}
		}
		for _, args := range []string{`{"docs":[{"path":"a.md"}]}`, `{"comments":"c"}`,
			`{"docs":[{"path":"a.md"}],"comments":" "}`,
			`{"docs":[{"path":"a.md"},{"path":"./b/c.png"}],"comments":"c"}`} {
			if p := b.push("ws-abc", args); !p.OK || p.TS != dialecttest.Began.UnixMilli() || p.Error != "" ||
				!uuid4(string(p.EntryID)) {
				t.Errorf("inbox_push(%s) = %+v", args, p)
			}
		}
		if n := len(b.History()); n != 4 {
			t.Errorf("%d messages were sent, want 4", n)
		}
	})
	t.Run("OA-01 the answer to the key", func(t *testing.T) {
		b := newFixture(t)
		out, err := b.Call("ws-abc", "inbox_push", `{"comments":"c"}`)
		it := b.History()[0]
		if want := `{"ok":true,"entryId":"` + string(it.ID) + `","ts":` + strconv.FormatInt(int64(it.Sent), 10) +
			`}`; out != want || err != nil {
			t.Errorf("inbox_push = %s, %v; want %s", out, err, want)
		}
		out, err = b.Call("ws-abc", "inbox_push", `{}`)
		if want := `{"ok":false,"error":"inbox_push: at least one of docs or comments must be present"}`; out != want || err != nil {
			t.Errorf("inbox_push = %s, %v; want %s", out, err, want)
		}
	})
	t.Run("OA-03 the workspace is the endpoint's", func(t *testing.T) {
		b := newFixture(t)
		_, err := b.Call("ws-abc", "inbox_push", `{"comments":"c","workspaceId":"ws-def"}`)
		if mail.CodeOf(err) != mail.Invalid || !strings.Contains(err.Error(), "workspaceId") {
			t.Errorf("a workspaceId is answered with %v", err)
		}
		b.says("ws-def", "c")
		it := b.History()[0]
		if it.From != "agent:ws-def" || !slices.Equal(it.To, []mail.Address{mail.ToUser}) ||
			it.Subject != "" || labelIn(it.Metadata) != "Other <work> & more" || it.Body != "c" {
			t.Errorf("the message is %+v", it.Message)
		}
	})
	t.Run("OA-04 docs stay in the workspace", func(t *testing.T) {
		b := newFixture(t)
		for _, path := range []string{"", " ", "../x", "/etc/passwd", "a/../../x", "a/..", `..\x`, `a\..\..\x`,
			`\\host\x`, `C:\x`, "c:x", "a\x00b"} {
			args, _ := json.Marshal(map[string]any{"comments": "c", "docs": []map[string]string{{"path": path}}})
			if p := b.push("ws-abc", string(args)); p.OK || p.Error == "" {
				t.Errorf("a push of %q: %+v", path, p)
			}
		}
		if n := len(b.History()); n != 0 {
			t.Errorf("%d messages were sent", n)
		}
	})
	t.Run("a push that the room refuses says so", func(t *testing.T) {
		b := newFixture(t)
		args, _ := json.Marshal(map[string]string{"comments": strings.Repeat("x", mail.MaxBody+1)})
		if p := b.push("ws-abc", string(args)); p.OK || !strings.Contains(p.Error, "65537 bytes") {
			t.Errorf("an endless comment: %+v", p)
		}
		if _, err := b.Call("ws-abc", "inbox_push", `{"docs":[{"path":"a","title":"b"}]}`); mail.CodeOf(
			err) != mail.Invalid {
			t.Errorf("an unknown member is answered with %v", err)
		}
	})
}

func uuid4(id string) bool {
	return len(id) == 36 && id[8] == '-' && id[13] == '-' && id[14] == '4' &&
		strings.ContainsRune("89ab", rune(id[19])) && strings.ToLower(id) == id
}

func TestEndpoints(t *testing.T) {
	d := Dialect()
	tools := func(i int) (names []string) {
		for _, tool := range d.Endpoints[i].Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	t.Run("OA-02 OA-18 inbox_push in a workspace, notify_user elsewhere", func(t *testing.T) {
		if e := d.Endpoints[0]; e.Path != "/mcp/{agent}" || !slices.Equal(tools(0), []string{"inbox_push"}) {
			t.Errorf("%s serves %v", e.Path, tools(0))
		}
		if e := d.Endpoints[1]; e.Path != "/dialect/openalice/mcp" ||
			!slices.Equal(tools(1), []string{"notify_user"}) {
			t.Errorf("%s serves %v", e.Path, tools(1))
		}
		if len(d.Endpoints) != 2 {
			t.Errorf("%d endpoints", len(d.Endpoints))
		}
	})
	t.Run("OA-03 the schema has docs and comments, and what asks", func(t *testing.T) {
		type schema struct {
			Properties           map[string]any
			AdditionalProperties *bool
			Required             []string
		}
		s := decode[schema](t, d.Endpoints[0].Tools[0].Input)
		if names := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(names,
			[]string{"comments", "docs", "needs", "options"}) || s.Required != nil ||
			s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("the schema is %+v", s)
		}
	})
	t.Run("OA-19 when to push", func(t *testing.T) {
		text := strings.ToLower(d.Endpoints[0].Tools[0].Description)
		for _, word := range []string{"finished", "blocked", "check-in", "internal", "do not push"} {
			if !strings.Contains(text, word) {
				t.Errorf("the description does not say %q", word)
			}
		}
	})
	t.Run("only workspaces come in", func(t *testing.T) {
		b := newFixture(t)
		b.Register("builder")
		if _, err := b.Call("builder", "inbox_push", `{"comments":"c"}`); mail.CodeOf(err) != mail.NotFound ||
			err.Error() != "unknown workspace" {
			t.Errorf("an agent that is no workspace is told %v", err)
		}
	})
}

func TestNotify(t *testing.T) {
	t.Run("OA-18 notifications are no entries", func(t *testing.T) {
		b := newFixture(t)
		if text := b.Dialect.Endpoints[1].Tools[0].Description; !strings.HasPrefix(text, "Deprecated.") ||
			!strings.Contains(text, "inbox_push") {
			t.Errorf("the description is %q", text)
		}
		for _, who := range []mail.Name{"heartbeat", "ws-abc"} {
			out, err := b.Call(who, "notify_user", `{"text":"still alive"}`)
			if err != nil || !decode[pushed](t, out).OK {
				t.Errorf("notify_user = %s, %v", out, err)
			}
		}
		if n := len(b.Inbox(mail.User)); n != 2 {
			t.Errorf("the user has %d messages, want 2", n)
		}
		if got := b.comments(""); got != "" {
			t.Errorf("the history has %q", got)
		}
		if _, err := os.Stat(b.path("entries.jsonl")); err == nil {
			t.Errorf("entries.jsonl says %s", b.file("entries.jsonl"))
		}
		if _, err := b.Call("heartbeat", "notify_user", `{"text":" "}`); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("an empty notification: %v", err)
		}
	})
}

func TestHistory(t *testing.T) {
	b := newFixture(t)
	ids := make(map[string]string)
	for i, c := range strings.Split("a b c d e f", " ") {
		ids[c] = b.says([]mail.Name{"ws-abc", "ws-def"}[i%2], c)
		b.Advance(time.Minute)
	}
	b.Register("builder")
	b.Send("builder", mail.Draft{To: mail.Recipients{"user"}, Body: "not from a workspace"})
	b.Send("ws-abc", mail.Draft{To: mail.Recipients{"agent:ws-def"}, Body: "not to the user"})
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"agent:ws-abc"}, Body: "an answer"})
	ts := func(minute int) string {
		return strconv.FormatInt(dialecttest.Began.Add(time.Duration(minute)*time.Minute).UnixMilli(), 10)
	}
	for _, test := range []struct{ name, query, want string }{
		{"OA-07 OA-15 newest first", "", "f e d c b a"},
		{"OA-15 limit", "limit=2", "f e …"},
		{"OA-15 limit of all", "limit=6", "f e d c b a"},
		{"OA-15 before", "limit=2&before=" + ids["e"], "d c …"},
		{"OA-15 before the last but one", "limit=2&before=" + ids["c"], "b a"},
		{"OA-15 before the oldest", "before=" + ids["a"], ""},
		{"OA-15 workspace", "workspaceId=ws-def", "f d b"},
		{"OA-15 workspace and limit", "workspaceId=ws-def&limit=2", "f d …"},
		{"OA-15 workspace and before", "workspaceId=ws-def&before=" + ids["d"], "b"},
		{"OA-15 before of another workspace", "workspaceId=ws-def&before=" + ids["c"], ""},
		{"OA-15 unknown workspace", "workspaceId=ws-ghi", ""},
		{"O8 unknown before", "before=nobody", ""},
		{"a time as before", "before=" + ts(2), "b a"},
		{"a time as before, and limit", "limit=1&before=" + ts(2), "b …"},
		{"O8 beforeTs", "beforeTs=" + ts(2), "b a"},
		{"O8 beforeTs and limit", "limit=1&beforeTs=" + ts(2), "b …"},
		{"odd limits mean the default", "limit=0", "f e d c b a"},
		{"odd limits mean the default", "limit=many", "f e d c b a"},
		{"odd limits mean the default", "limit=-3", "f e d c b a"},
		{"odd limits mean the default", "limit=NaN", "f e d c b a"},
		{"a limit is cut", "limit=2.9", "f e …"},
		{"a limit has a limit", "limit=1e300", "f e d c b a"},
		{"a limit has a limit", "limit=1e999", "f e d c b a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := b.comments(test.query); got != test.want {
				t.Errorf("history?%s = %q, want %q", test.query, got, test.want)
			}
		})
	}
	t.Run("OA-15 nothing yet", func(t *testing.T) {
		b := newFixture(t)
		if got := b.route(200, "GET", "/api/inbox/history", ""); got != `{"entries":[],"hasMore":false}` {
			t.Errorf("the history of nothing is %s", got)
		}
	})
	t.Run("what retention moved to the archive is still in the inbox", func(t *testing.T) {
		b.Advance(8 * 24 * time.Hour)
		if trimmed, err := b.As(mail.User).Archive(t.Context()); err != nil || trimmed.Age == 0 {
			t.Fatalf("%+v, %v", trimmed, err)
		}
		b.says("ws-abc", "new")
		for query, want := range map[string]string{"": "new f e d c b a", "limit=3": "new f e …",
			"workspaceId=ws-abc": "new e c a", "limit=2&before=" + ids["d"]: "c b …"} {
			if got := b.comments(query); got != want {
				t.Errorf("history?%s = %q, want %q", query, got, want)
			}
		}
	})
	t.Run("a workspace that was removed keeps its entries", func(t *testing.T) {
		if err := b.As(mail.User).RemoveWorkspace(t.Context(), "ws-def"); err != nil {
			t.Fatal(err)
		}
		if got := b.comments("workspaceId=ws-def"); got != "f d b" {
			t.Errorf("its history is %q", got)
		}
	})
}

// TestBridgedInLate: an entry sent before the newest one, but bridged in after it, follows it in the list.
func TestBridgedInLate(t *testing.T) {
	b := newFixture(t)
	b.Advance(time.Hour)
	b.says("ws-abc", "pushed")
	at := b.Now().UnixMilli()
	line := func(id string, ts int64, comments string) string {
		return `{"id":"` + id + `","ts":` + strconv.FormatInt(ts, 10) +
			`,"workspaceId":"ws-abc","workspaceLabel":"M",` +
			`"comments":"` + comments + "\"}\n"
	}
	b.write("entries.jsonl", b.file("entries.jsonl")+line("late-2", at-2000, "second")+line("late-3", at-1000,
		"third")+
		line("late-1", at-3000, "first"))
	b.Sync()
	for query, want := range map[string]string{"": "pushed third second first", "limit=2": "pushed third …",
		"limit=2&before=late-3": "second first", "before=late-2": "first"} {
		if got := b.comments(query); got != want {
			t.Errorf("history?%s = %q, want %q", query, got, want)
		}
	}
}

// TestRows checks the data that a list adds to an entry's line.
func TestRows(t *testing.T) {
	b := newFixture(t)
	at := b.Now().UnixMilli()
	b.write("entries.jsonl", `{"id":"far","ts":`+strconv.FormatInt(at-1, 10)+
		`,"workspaceId":"ws-elsewhere","workspaceLabel":"E","comments":"> quoted","origin":{"kind":"manual"},`+
		`"preview":"theirs","room":7}`+"\n")
	b.Sync()
	b.push("ws-abc", `{"docs":[{"path":"a.md"},{"path":"b.md"}],"comments":" \n\n## The *title*\nand more"}`)
	b.push("ws-abc", `{"docs":[{"path":"a.md"}],"comments":" \n"}`)
	b.push("ws-abc", `{"docs":[{"path":"a.md"},{"path":"b.md"},{"path":"c.md"}]}`)
	b.says("ws-def", strings.Repeat("ü", 1000))
	b.Send("ws-def", mail.Draft{To: mail.Recipients{"user"}, Subject: "With a subject", Body: "and a body"})
	rows := func() (out []string) {
		page := decode[struct {
			Entries []struct {
				Room, Preview string
				CanReply      bool
			}
		}](t, b.route(200, "GET", "/api/inbox/history", ""))
		for _, e := range page.Entries {
			out = append(out, strings.Join([]string{e.Room, e.Preview, strconv.FormatBool(e.CanReply)}, "|"))
		}
		return out
	}
	want := []string{"lab|With a subject|true", "lab|" + strings.Repeat("ü", 199) + "…|true",
		"lab|a.md · +2 more|true",
		"lab|a.md|true", "lab|The *title*|true", "lab|quoted|false"}
	if got := rows(); !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
	if text := b.route(200, "GET", "/api/inbox/history?workspaceId=ws-elsewhere", ""); !strings.Contains(text,
		`"origin":{"kind":"manual"},"room":"lab","preview":"quoted","canReply":false}`) ||
		strings.Contains(text, "theirs") {
		t.Errorf("members of others are lost, or stand twice: %s", text)
	}
	if err := b.As(mail.User).RemoveWorkspace(t.Context(), "ws-abc"); err != nil {
		t.Fatal(err)
	}
	if got := rows(); got[3] != "lab|a.md|false" {
		t.Errorf("an entry of a workspace that was removed: %q", got[3])
	}
}

// TestArchivedMarks: every entry in the history can be marked, even in the archive.
func TestArchivedMarks(t *testing.T) {
	b := newFixture(t)
	read, fresh, put := b.says("ws-abc", "read"), b.says("ws-abc", "fresh"), b.says("ws-abc", "put away")
	b.route(200, "PUT", "/api/inbox/"+read+"/read", "")
	if _, err := b.As(mail.User).Mark(t.Context(), mail.Marking{IDs: []mail.ID{mail.ID(put)},
		Mark: mail.MarkArchived}); err != nil {
		t.Fatal(err)
	}
	readOnes := func() string {
		var out []string
		entries, _ := b.list("")
		for _, e := range entries {
			if e.ReadAt != 0 {
				out = append(out, e.Comments)
			}
		}
		return strings.Join(out, ", ")
	}
	check := func(did, want string) {
		t.Helper()
		if got := readOnes(); got != want {
			t.Errorf("%s: read are %q, want %q", did, got, want)
		}
		for _, id := range []string{read, fresh, put} {
			marked := strings.Contains(b.file("read-state.json"), id)
			if e, _ := b.list(""); marked != slices.ContainsFunc(e, func(e listed) bool {
				return e.ID == id && e.ReadAt != 0
			}) {
				t.Errorf("%s: read-state.json says %s", did, b.file("read-state.json"))
			}
		}
	}
	check("at first", "put away, read")
	b.route(200, "DELETE", "/api/inbox/"+put+"/read", "")
	b.route(200, "DELETE", "/api/inbox/"+put+"/read", "")
	check("what the person put away is unread again", "read")
	b.route(200, "PUT", "/api/inbox/"+put+"/read", "")
	b.route(200, "PUT", "/api/inbox/"+fresh+"/read", "")
	b.Advance(8 * 24 * time.Hour) // retention keeps unread mail
	if trimmed, err := b.As(mail.User).Archive(t.Context()); err != nil || trimmed.Age != 3 {
		t.Fatalf("%+v, %v", trimmed, err)
	}
	check("in the archive", "put away, fresh, read")
	for range 2 {
		b.route(200, "DELETE", "/api/inbox/"+fresh+"/read", "")
		check("unread in the archive", "put away, read")
	}
	for range 2 {
		b.route(200, "PUT", "/api/inbox/"+fresh+"/read", "")
		check("read in the archive", "put away, fresh, read")
	}
	if n := len(b.Inbox(mail.User)); n != 0 {
		t.Errorf("%d messages came back to the mailbox", n)
	}
	b.write("read-state.json", `{"version":1,"read":{"`+read+`":1715789099999}}`)
	b.Sync()
	check("two markers taken away in OpenAlice", "read")
	if w := b.Route("DELETE", "/api/inbox/"+read, ""); w.Code != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", w.Code, w.Body)
	}
	if got := b.comments(""); got != "put away fresh" {
		t.Errorf("after a deletion: %q", got)
	}
}

func TestDefaultLimit(t *testing.T) {
	b := newFixture(t)
	for i := range 101 {
		b.says("ws-abc", strconv.Itoa(i))
	}
	if got, more := b.list(""); len(got) != 100 || !more || got[0].Comments != "100" {
		t.Errorf("OA-15: %d entries, more %v", len(got), more)
	}
}

func TestSeed(t *testing.T) {
	b := newFixture(t)
	t.Run("OA-16 only for development", func(t *testing.T) {
		for _, r := range b.Dialect.Routes {
			if r.DevOnly != (r.Pattern == "POST /api/inbox/seed") {
				t.Errorf("%s: DevOnly is %v", r.Pattern, r.DevOnly)
			}
		}
	})
	t.Run("OA-16 appends an entry", func(t *testing.T) {
		out := b.route(200, "POST", "/api/inbox/seed",
			`{"workspaceId":"ws-demo","workspaceLabel":"Demo","docs":[{"path":"a.md"}],"comments":"hi"}`)
		p := decode[pushed](t, out)
		want := []listed{{ID: string(p.EntryID), TS: p.TS, WorkspaceID: "ws-demo", WorkspaceLabel: "Demo",
			Docs: []mail.Doc{{Path: "a.md"}}, Comments: "hi"}}
		if got, _ := b.list(""); !cmp.Equal(got, want) || !uuid4(string(p.EntryID)) {
			t.Errorf("the history has %+v, want %+v", got, want)
		}
		if got, want := b.file("entries.jsonl"), `{"id":"`+string(p.EntryID)+`","ts":`+strconv.FormatInt(p.TS, 10)+
			`,"workspaceId":"ws-demo","workspaceLabel":"Demo","docs":[{"path":"a.md"}],"comments":"hi"}`+
			"\n"; got != want {
			t.Errorf("entries.jsonl says %q, want %q", got, want)
		}
		b.route(200, "POST", "/api/inbox/seed", `{"workspaceId":"ws-abc","comments":"labelled"}`)
		if got, _ := b.list("limit=1"); got[0].WorkspaceLabel != "Macro thesis" {
			t.Errorf("the label of a known workspace is %q", got[0].WorkspaceLabel)
		}
	})
	t.Run("OA-16 what is wrong is refused", func(t *testing.T) {
		for _, body := range []string{``, `[]`, `{"comments":"c"}`, `{"workspaceId":"ws-abc"}`,
			`{"workspaceId":"ws-abc","docs":[{"path":"../x"}]}`, `{"workspaceId":"user","comments":"c"}`} {
			if p := decode[pushed](t, b.route(400, "POST", "/api/inbox/seed", body)); p.OK || p.Error == "" {
				t.Errorf("seed of %s: %+v", body, p)
			}
		}
	})
}

func TestReadState(t *testing.T) {
	b := newFixture(t)
	one, two := b.says("ws-abc", "one"), b.says("ws-abc", "two")
	b.says("ws-def", "three")
	b.Advance(1500 * time.Millisecond)
	now := b.Now().UnixMilli()
	readAts := func() (out []int64) {
		entries, _ := b.list("")
		for _, e := range entries {
			out = append(out, e.ReadAt)
		}
		return out
	}
	t.Run("O3 OA-08 opening one leaves the others", func(t *testing.T) {
		stamp := strconv.FormatInt(now, 10)
		want := `{"ok":true,"id":"` + one + `","readAt":` + stamp + `}`
		for range 2 { // marking again changes nothing
			if got := b.route(200, "PUT", "/api/inbox/"+one+"/read", ""); got != want {
				t.Errorf("PUT = %s, want %s", got, want)
			}
			b.Advance(time.Second)
		}
		if got := readAts(); !slices.Equal(got, []int64{0, 0, now}) {
			t.Errorf("readAt is %v", got)
		}
		if got, want := b.file("read-state.json"), "{\n  \"version\": 1,\n  \"read\": {\n    \""+one+"\": "+stamp+
			"\n  }\n}\n"; got != want {
			t.Errorf("O2: read-state.json says %q, want %q", got, want)
		}
	})
	t.Run("O3 OA-08 unread again", func(t *testing.T) {
		b.route(200, "PUT", "/api/inbox/"+two+"/read", "")
		if got, want := b.route(200, "DELETE", "/api/inbox/"+one+"/read", ""), `{"ok":true,"id":"`+one+
			`"}`; got != want {
			t.Errorf("DELETE = %s, want %s", got, want)
		}
		if got := readAts(); got[0] != 0 || got[1] == 0 || got[2] != 0 {
			t.Errorf("readAt is %v", got)
		}
		if text := b.file("read-state.json"); strings.Contains(text, one) || !strings.Contains(text, two) {
			t.Errorf("read-state.json says %s", text)
		}
	})
	t.Run("O3 unknown ids and other mail", func(t *testing.T) {
		b.Register("builder")
		other := b.Send("builder", mail.Draft{To: mail.Recipients{"user"}, Body: "no entry"})
		for _, id := range []string{"nobody", string(other), "..%2F..%2Fx"} {
			for _, r := range [][2]string{{"PUT", "/read"}, {"DELETE", "/read"}, {"DELETE", ""}} {
				if got := b.route(404, r[0], "/api/inbox/"+id+r[1], ""); got != `{"error":"not_found"}` {
					t.Errorf("%s %s%s = %s", r[0], id, r[1], got)
				}
			}
		}
	})
	t.Run("entries are never changed by reading", func(t *testing.T) {
		if n := strings.Count(b.file("entries.jsonl"), "\n"); n != 3 ||
			strings.Contains(b.file("entries.jsonl"), "readAt") {
			t.Errorf("entries.jsonl says %s", b.file("entries.jsonl"))
		}
	})
}

func TestDelete(t *testing.T) {
	const secret = "the launch code is xyzzy"
	b := newFixture(t)
	b.says("ws-abc", "first")
	b.write("entries.jsonl", b.file("entries.jsonl")+"not json \xff\n\n{\"id\":\"half\"\n")
	id := b.says("ws-abc", secret)
	b.says("ws-def", "last")
	before := b.file("entries.jsonl")
	b.route(200, "PUT", "/api/inbox/"+id+"/read", "")
	b.write(".entries.jsonl.123.tmp", before) // left by a killed rewrite
	if w := b.Route("DELETE", "/api/inbox/"+id, ""); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Fatalf("DELETE: %d %s", w.Code, w.Body)
	}
	t.Run("OA-09 gone everywhere", func(t *testing.T) {
		if got := b.comments(""); got != "last first" {
			t.Errorf("the history has %q", got)
		}
		if _, err := b.As(mail.User).Message(t.Context(), mail.ID(id)); mail.CodeOf(err) != mail.NotFound {
			t.Errorf("the room still knows it: %v", err)
		}
		nowhere(t, b.Dir, "xyzzy")
		nowhere(t, b.State, "xyzzy")
		if text := b.file("read-state.json"); strings.Contains(text, id) {
			t.Errorf("its marker is there: %s", text)
		}
		b.route(404, "DELETE", "/api/inbox/"+id, "")
	})
	t.Run("OA-14 other lines stay to the byte", func(t *testing.T) {
		lines := strings.SplitAfter(before, "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "xyzzy") })
		if got, want := b.file("entries.jsonl"), strings.Join(lines, ""); got != want {
			t.Errorf("entries.jsonl says %q, want %q", got, want)
		}
	})
	t.Run("OA-13 nothing temporary is left", func(t *testing.T) {
		all, err := os.ReadDir(filepath.Join(b.Dir, "data", "inbox"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if strings.HasSuffix(e.Name(), ".tmp") {
				t.Errorf("%s is left", e.Name())
			}
		}
	})
	t.Run("O4 bad lines are counted and harmless", func(t *testing.T) {
		if st := b.Sync(); st.Rejected != 2 || st.Failing != "" {
			t.Errorf("the bridge fares %+v", st)
		}
		if n := b.Route("GET", "/api/inbox/history", "").Header().Get("X-Inbox-Malformed"); n != "2" {
			t.Errorf("X-Inbox-Malformed is %q, want 2", n)
		}
	})
}

// nowhere checks that no file below dir holds text.
func nowhere(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	b := newFixture(t)
	get := func(want int, path string) (body string, h http.Header) {
		t.Helper()
		w := b.Route("GET", "/api/workspaces/ws-abc/file?path="+url.QueryEscape(path), "")
		if w.Code != want {
			t.Errorf("file %q: %d %s, want %d", path, w.Code, w.Body, want)
		}
		return w.Body.String(), w.Header()
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("OA-05 live", func(t *testing.T) {
		put("research/macro.md", "# Draft")
		b.push("ws-abc", `{"docs":[{"path":"research/macro.md"}]}`)
		if got, _ := get(200, "research/macro.md"); got != "# Draft" {
			t.Errorf("the document says %q", got)
		}
		put("research/macro.md", "# Final <b>&</b>")
		if got, _ := get(200, "research/macro.md"); got != "# Final <b>&</b>" {
			t.Errorf("after an edit it says %q", got)
		}
		if err := os.Remove(filepath.Join(b.dir, "research", "macro.md")); err != nil {
			t.Fatal(err)
		}
		if got, _ := get(404, "research/macro.md"); got != `{"error":"file_not_found"}` {
			t.Errorf("a file that is gone: %s", got)
		}
		if entries, _ := b.list(""); len(entries) != 1 || entries[0].Docs[0].Path != "research/macro.md" {
			t.Errorf("the entry is %+v", entries)
		}
		text := b.file("entries.jsonl") + b.History()[0].Body
		if strings.Contains(text, "Draft") {
			t.Errorf("a snapshot was taken: %s", text)
		}
	})
	t.Run("OA-10 text is shown and binary is downloaded, and no browser runs either", func(t *testing.T) {
		put("page.html", "<script>alert(1)</script>")
		put("plot \"1\" ü.png", "\x89PNG\x00\x01")
		for path, want := range map[string][2]string{
			"page.html":          {"text/plain; charset=utf-8", ""},
			"plot \"1\" ü.png":   {"application/octet-stream", "attachment"},
			"./plot \"1\" ü.png": {"application/octet-stream", "attachment"},
		} {
			_, h := get(200, path)
			if h.Get("Content-Type") != want[0] || !strings.HasPrefix(h.Get("Content-Disposition"), want[1]) ||
				(want[1] == "") != (h.Get("Content-Disposition") == "") {
				t.Errorf("%s: %v", path, h)
			}
			if h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s: %v", path, h)
			}
		}
	})
	t.Run("1 MiB", func(t *testing.T) {
		put("full", strings.Repeat("x", MaxDocument))
		put("over", strings.Repeat("x", MaxDocument+1))
		get(200, "full")
		if got, _ := get(413, "over"); got != `{"error":"file_too_large","sizeBytes":1048577}` {
			t.Errorf("a large file: %s", got)
		}
		put("over.pdf", "%PDF-1.7\n"+strings.Repeat("x", 3*MaxDocument))
		if got, h := get(200, "over.pdf"); len(got) != 9+3*MaxDocument ||
			h.Get("Content-Disposition") != "attachment; filename=over.pdf" {
			t.Errorf("a large download has %d bytes and is served as %v", len(got), h)
		}
	})
	t.Run("OA-04 nothing outside", func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(outside, []byte("s"), 0o600); err != nil {
			t.Fatal(err)
		}
		put("in/here.md", "inside")
		for link, target := range map[string]string{"out": outside, "outdir": filepath.Dir(outside), "up": "..",
			"loop": "loop", "good": "in/here.md", "dirlink": "in"} {
			if err := os.Symlink(target, filepath.Join(b.dir, link)); err != nil {
				t.Skip(err)
			}
		}
		for _, path := range []string{"../x", "/etc/passwd", "in/../../x", `..\x`, "out", "outdir/secret", "up/x",
			"loop", "in", ".", "a\x00b", strings.Repeat("x", 5000), filepath.Join(b.dir, "in", "here.md")} {
			if got, _ := get(400, path); got != `{"error":"invalid_path"}` {
				t.Errorf("%q: %s", path, got)
			}
		}
		for _, path := range []string{"good", "dirlink/here.md", "./in//here.md"} {
			if got, _ := get(200, path); got != "inside" {
				t.Errorf("%q: %s", path, got)
			}
		}
		if got, _ := get(404, "in/here.md/x"); got != `{"error":"file_not_found"}` {
			t.Errorf("below a file: %s", got)
		}
	})
	t.Run("what is missing", func(t *testing.T) {
		if got, _ := get(400, ""); got != `{"error":"path required"}` {
			t.Errorf("no path: %s", got)
		}
		for _, id := range []string{"ws-ghi", "..", "%2e%2e"} {
			w := b.Route("GET", "/api/workspaces/"+id+"/file?path=x", "")
			if w.Code == http.StatusOK || w.Code == http.StatusNotFound && id == "ws-ghi" &&
				w.Body.String() != `{"error":"workspace_not_found"}` {
				t.Errorf("workspace %s: %d %s", id, w.Code, w.Body)
			}
		}
		if err := os.RemoveAll(b.dir); err != nil {
			t.Fatal(err)
		}
		if got, _ := get(404, "x"); got != `{"error":"workspace_not_found"}` {
			t.Errorf("a directory that is gone: %s", got)
		}
	})
}
