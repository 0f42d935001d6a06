package acceptance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openaliceItems() []item {
	return []item{
		{id: "OA-01", says: "inbox_push{docs?, comments?}, at least one of them", holds: oaPush,
			differs: "The tool has two more arguments, needs and options, with which a push asks for a decision. " +
				"Without them it is the document's tool."},
		{id: "OA-02", says: "only at /mcp/:wsId", holds: oaEndpoint},
		{id: "OA-03", says: "the agent neither sees nor gives its workspaceId", holds: oaNoForgery,
			differs: "The token identifies the workspace, not the path alone: a path can be guessed."},
		{id: "OA-04", says: "paths are relative to the workspace's root", holds: oaPaths},
		{id: "OA-05", says: "documents are shown in their current state", holds: oaLive},
		{id: "OA-06", says: "comments are Markdown, below the documents", holds: oaOrder},
		{id: "OA-07", says: "grouped by date, newest first", holds: oaGroups},
		{id: "OA-08", says: "a row dims once it is opened, and no other", holds: oaDims},
		{id: "OA-09", says: "trash button and Delete key delete for good", holds: oaDelete, also: oaRowDelete},
		{id: "OA-10", says: "detail: label, documents, comments", holds: oaDetail, also: oaLarge},
		{id: "OA-11", says: "the reply bar leads back into the workspace's session", holds: oaReply,
			differs: "A reply is mail to the workspace's agent, which its hooks deliver. `Open session` brings its " +
				"terminal to the front, or shows the command that resumes it."},
		{id: "OA-12", says: "entries.jsonl, one line an entry", holds: oaFile},
		{id: "OA-13", says: "a delete rewrites the file atomically", holds: oaAtomic},
		{id: "OA-14", says: "lines that cannot be parsed survive a delete", holds: oaGarbage},
		{id: "OA-15", says: "GET /api/inbox/history, in pages, newest first", holds: oaHistory},
		{id: "OA-16", says: "POST /api/inbox/seed, for development only", holds: oaSeed, also: oaSeedThere},
		{id: "OA-17", says: "the page polls every 20 s", holds: oaPoll,
			differs: "A stream updates the page immediately. It polls every 20 s if the stream is blocked."},
		{id: "OA-18", says: "notify_user is legacy, and not for workspaces", holds: oaNotify},
		{id: "OA-19", says: "the tool says when to push", holds: oaWhen},
	}
}

const (
	oaEntries = "alice/data/inbox/entries.jsonl"
	oaState   = "alice/data/inbox/read-state.json"
)

// oaEntry is an entry of the Inbox, in the file and in answers.
type oaEntry struct {
	ID             string  `json:"id"`
	TS             int64   `json:"ts"`
	WorkspaceID    string  `json:"workspaceId"`
	WorkspaceLabel string  `json:"workspaceLabel"`
	Docs           []oaDoc `json:"docs,omitempty"`
	Comments       string  `json:"comments,omitempty"`
	ReadAt         int64   `json:"readAt,omitempty"`
}

type oaDoc struct {
	Path string `json:"path"`
}

// oaDesk is a workspace, with OpenAlice's own directory bridged to it.
type oaDesk struct {
	*office
	ws    string // the workspace's id
	token string
	agent *client
}

func newDesk(t *testing.T, o *office) *oaDesk {
	t.Helper()
	return openDesk(t, o.project(t))
}

func openDesk(t *testing.T, o *office) *oaDesk {
	t.Helper()
	d := &oaDesk{office: o, ws: "ws-" + o.room()}
	d.write(t, "macro/research/report.md", "# Rates\n\nThe first draft.\n")
	if err := os.MkdirAll(d.path("alice/data/inbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.token = ask[struct{ Token string }](t, o, "workspace", "add", d.ws, "macro", "--label",
		"Macro thesis 2026-05").Token
	d.must(t, "bridge", "add", "openalice", "alice")
	d.agent = d.overHTTP(t, "/mcp/"+d.ws, d.token)
	return d
}

// push pushes an entry and returns its id.
func (d *oaDesk) push(t *testing.T, comments string, docs ...string) string {
	t.Helper()
	a := args{}
	if comments != "" {
		a["comments"] = comments
	}
	var list []oaDoc
	for _, path := range docs {
		list = append(list, oaDoc{path})
	}
	if list != nil {
		a["docs"] = list
	}
	got := decode[struct {
		OK             bool
		EntryID, Error string
	}](t, d.agent.must(t, "inbox_push", a))
	if !got.OK {
		t.Fatalf("the push is refused: %s", got.Error)
	}
	return got.EntryID
}

// api makes a request about this room.
func (d *oaDesk) api(t *testing.T, method, path string) answer {
	t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return d.operator(t, method, path+sep+"room="+d.room(), "")
}

// history asks for a page of entries.
func (d *oaDesk) history(t *testing.T, query string) (entries []oaEntry, more bool) {
	t.Helper()
	a := d.api(t, http.MethodGet, "/api/inbox/history?"+query)
	if a.status != http.StatusOK {
		t.Fatalf("history %s: %d %s", query, a.status, a.body)
	}
	page := decode[struct {
		Entries []oaEntry
		HasMore bool
	}](t, a.body)
	return page.Entries, page.HasMore
}

func comments(entries []oaEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Comments)
	}
	return all
}

// file requests the present version of a document.
func (d *oaDesk) file(t *testing.T, path string) answer {
	t.Helper()
	return d.api(t, http.MethodGet, "/api/workspaces/"+d.ws+"/file?path="+url.QueryEscape(path))
}

// letter is the page of an entry.
func (d *oaDesk) letter(t *testing.T, id string) string {
	t.Helper()
	return d.page(t).get(t, "/@"+d.room()+"/?m="+id)
}

func oaPush(t *testing.T, o *office) {
	d := newDesk(t, o)
	for _, bad := range []args{{}, {"docs": []oaDoc{}}, {"comments": "  \n"}, {"docs": []oaDoc{{""}}}} {
		text, _ := d.agent.call(t, "inbox_push", bad)
		if !strings.Contains(text, `"ok":false`) || !strings.Contains(text, `"error":"`) {
			t.Errorf("%v is answered with %s", bad, text)
		}
	}
	if text, _ := d.agent.call(t, "inbox_push", args{}); !strings.Contains(text,
		"at least one of docs or comments must be present") {
		t.Errorf("an empty push is refused with %s", text)
	}
	d.push(t, "only comments")
	d.push(t, "", "research/report.md")
	d.push(t, "both", "research/report.md")
	if entries, _ := d.history(t, ""); len(entries) != 3 || len(entries[0].Docs) != 1 ||
		entries[0].Comments != "both" {
		t.Errorf("three pushes are %+v", entries)
	}
}

func oaEndpoint(t *testing.T, o *office) {
	d := newDesk(t, o)
	if tools := d.agent.tools(t); tools["inbox_push"] == nil {
		t.Errorf("the workspace's endpoint has %d tools, and no inbox_push", len(tools))
	}
	d.must(t, "agents", "register", "ann")
	if d.overHTTP(t, "/mcp", d.token).tools(t)["inbox_push"] != nil ||
		d.overHTTP(t, "/mcp", d.office.token(t, "ann")).tools(t)["inbox_push"] != nil {
		t.Error("/mcp has inbox_push")
	}
	for token, want := range map[string]int{"": 401, d.token: 404} {
		if a := d.request(t, token, http.MethodPost, "/mcp/ws-nothing", "{}"); a.status != want {
			t.Errorf("at the address of no workspace the answer is %d %s", a.status, a.body)
		}
	}
}

func oaNoForgery(t *testing.T, o *office) {
	d := newDesk(t, o)
	names, _ := properties(t, d.agent.tools(t)["inbox_push"])
	if !slices.Contains(names, "comments") || !slices.Contains(names, "docs") || slices.ContainsFunc(names,
		func(name string) bool { return strings.Contains(strings.ToLower(name), "workspace") }) {
		t.Errorf("inbox_push takes %q", names)
	}
	d.agent.refused(t, "inbox_push", args{"comments": "forged", "workspaceId": "ws-other"})
	d.push(t, "mine")
	entries, _ := d.history(t, "")
	if len(entries) != 1 || entries[0].WorkspaceID != d.ws || entries[0].WorkspaceLabel != "Macro thesis 2026-05" {
		t.Errorf("the entries are %+v", entries)
	}
	other := ask[struct{ Token string }](t, d.office, "workspace", "add", "ws-other", "macro").Token
	if a := d.request(t, other, http.MethodPost, "/mcp/"+d.ws, "{}"); a.status != http.StatusForbidden {
		t.Errorf("with another workspace's token the answer is %d %s", a.status, a.body)
	}
}

func oaPaths(t *testing.T, o *office) {
	d := newDesk(t, o)
	d.write(t, "secret.md", "a secret of the machine")
	for link, to := range map[string]string{"out": d.path("secret.md"), "up": d.dir} {
		if err := os.Symlink(to, d.path("macro/"+link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"../secret.md", "/etc/passwd", "research/../../secret.md"} {
		if text, _ := d.agent.call(t, "inbox_push", args{"docs": []oaDoc{{path}}}); !strings.Contains(text,
			`"ok":false`) {
			t.Errorf("a push of %s is answered with %s", path, text)
		}
	}
	for _, path := range []string{"../secret.md", "/etc/passwd", "out", "up/secret.md", "research"} {
		if a := d.file(t, path); a.status/100 == 2 || strings.Contains(a.body, "a secret") {
			t.Errorf("%s is shown: %d %s", path, a.status, a.body)
		}
	}
	if page := d.letter(t, d.push(t, "see", "out", "up/secret.md")); strings.Contains(page,
		"a secret of the machine") {
		t.Error("the page shows what a link leads to")
	}
}

func oaLive(t *testing.T, o *office) {
	d := newDesk(t, o)
	id := d.push(t, "read it", "research/report.md")
	if a := d.file(t, "research/report.md"); a.status != 200 || !strings.Contains(a.body, "The first draft.") {
		t.Errorf("the document is %d %s", a.status, a.body)
	}
	d.write(t, "macro/research/report.md", "# Rates\n\nThe second draft.\n")
	if a, page := d.file(t, "research/report.md"), d.letter(t, id); !strings.Contains(a.body, "The second draft.") ||
		!strings.Contains(page, "The second draft.") || strings.Contains(page, "The first draft.") {
		t.Errorf("after an edit the document is %s", a.body)
	}
	if err := os.Remove(d.path("macro/research/report.md")); err != nil {
		t.Fatal(err)
	}
	if a := d.file(t, "research/report.md"); a.status != 404 || !strings.Contains(a.body, "file_not_found") {
		t.Errorf("a file that is gone is %d %s", a.status, a.body)
	}
	if page := d.letter(t, id); !strings.Contains(page, "doc-notice") || !strings.Contains(page, "read it") {
		t.Error("the entry of a file that is gone has no notice, or no comments")
	}
	if entries, _ := d.history(t, ""); len(entries) != 1 || entries[0].Docs[0].Path != "research/report.md" {
		t.Errorf("the entry of a file that is gone is %+v", entries)
	}
}

// inOrder checks that a page has some texts, in order.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	at := 0
	for _, text := range texts {
		i := strings.Index(page[at:], text)
		if i < 0 {
			t.Errorf("the page lacks %q, or not behind what comes before it in %q", text, texts)
			return
		}
		at += i + len(text)
	}
}

func oaOrder(t *testing.T, o *office) {
	d := newDesk(t, o)
	page := d.letter(t, d.push(t, "The **voice** of the agent", "research/report.md"))
	inOrder(t, page, "research/report.md", "The first draft.", "<strong>voice</strong>")
}

func oaGroups(t *testing.T, o *office) {
	d := newDesk(t, o)
	now := time.Now()
	for name, age := range map[string]time.Duration{"older": 20 * 24 * time.Hour, "of yesterday": 24 * time.Hour} {
		d.add(t, oaEntries,
			fmt.Sprintf(`{"id":"e-%d","ts":%d,"workspaceId":%q,"workspaceLabel":"Macro","comments":%q}`,
				age, now.Add(-age).UnixMilli(), d.ws, name))
	}
	d.push(t, "the first of today")
	d.push(t, "the second of today")
	eventually(t, "the lines of the file are entries", func() bool {
		entries, _ := d.history(t, "")
		return slices.Equal(comments(entries), []string{"the second of today", "the first of today", "of yesterday",
			"older"})
	})
	page := d.page(t).get(t, "/@"+d.room()+"/")
	inOrder(t, page, "Today", "the second of today", "the first of today", "Yesterday", "of yesterday", "Older",
		"older")
	if groups := regexp.MustCompile(`<h3 class="when">([^<]*)`).FindAllStringSubmatch(page, -1); len(groups) != 3 {
		t.Errorf("the groups are %q", groups)
	}
}

func oaDims(t *testing.T, o *office) {
	d := newDesk(t, o)
	var ids []string
	for i := range 3 {
		ids = append(ids, d.push(t, fmt.Sprint("entry ", i)))
	}
	p := d.tab(t)
	p.sees("#list .row.unread", "entry 1")
	p.click("#row-" + ids[1])
	p.until(`!document.getElementById("row-` + ids[1] + `").matches(".unread")`)
	p.until(`document.querySelectorAll("#list .row.unread").length === 2`)
	eventually(t, "the one that was opened is read", func() bool {
		entries, _ := d.history(t, "")
		return entries[1].ReadAt != 0 && entries[0].ReadAt == 0 && entries[2].ReadAt == 0
	})
	eventually(t, "read-state.json has it, and no other", func() bool {
		state := d.read(t, oaState)
		return strings.Contains(state, ids[1]) && !strings.Contains(state, ids[0])
	})
}

// deleted waits until an entry is gone from the list, the answers and the file.
func (d *oaDesk) deleted(t *testing.T, id, text string) {
	t.Helper()
	eventually(t, text+" is deleted for good", func() bool {
		entries, _ := d.history(t, "")
		return !slices.Contains(comments(entries), text) && !strings.Contains(d.read(t, oaEntries), id)
	})
	eventually(t, text+" is erased from the room", func() bool {
		files, err := os.ReadDir(d.home + "/rooms/" + d.room())
		return err == nil && !slices.ContainsFunc(files, func(f os.DirEntry) bool {
			content, err := os.ReadFile(d.home + "/rooms/" + d.room() + "/" + f.Name())
			return err == nil && strings.Contains(string(content), text)
		})
	})
}

func oaDelete(t *testing.T, o *office) {
	d := newDesk(t, o)
	kept, button, key, api := d.push(t, "stays here"), d.push(t, "goes by button"), d.push(t, "goes by key"),
		d.push(t, "goes by the route")
	p := d.tab(t)
	p.click("#row-" + button)
	p.sees("#letter", "goes by button")
	p.click("#act-delete")
	p.misses("#list .row", "goes by button")
	p.click("#row-" + key)
	p.sees("#letter", "goes by key")
	p.press("\u007f")
	p.misses("#list .row", "goes by key")
	if a := d.api(t, http.MethodDelete, "/api/inbox/"+api); a.status != http.StatusNoContent {
		t.Errorf("DELETE is answered with %d %s", a.status, a.body)
	}
	if a := d.api(t, http.MethodDelete, "/api/inbox/"+api); a.status != http.StatusNotFound {
		t.Errorf("the second DELETE is answered with %d %s", a.status, a.body)
	}
	d.deleted(t, button, "goes by button")
	d.deleted(t, key, "goes by key")
	d.deleted(t, api, "goes by the route")
	if entries, _ := d.history(t, ""); len(entries) != 1 || entries[0].ID != kept {
		t.Errorf("what is left is %+v", entries)
	}
}

func oaRowDelete(t *testing.T, o *office) {
	d := newDesk(t, o)
	id := d.push(t, "goes from its row")
	p := d.tab(t)
	p.sees("#list .row", "goes from its row")
	p.until(`document.querySelector("#slot-` + id + ` .quick [data-act=delete]")?.click() === undefined`)
	p.misses("#list .row", "goes from its row")
	d.deleted(t, id, "goes from its row")
}

func oaDetail(t *testing.T, o *office) {
	d := newDesk(t, o)
	d.write(t, "macro/main.go", "package main // code")
	d.write(t, "macro/plot.bin", "\x00\x01binary")
	page := d.letter(t, d.push(t, "the comments", "research/report.md", "main.go", "plot.bin"))
	inOrder(t, page, "Macro thesis 2026-05", "research/report.md", "<h1", "Rates", "main.go", "package main // code",
		"plot.bin", "download", "the comments")
	if a := d.file(t, "plot.bin"); a.status != 200 || a.body != "\x00\x01binary" ||
		!strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("a binary file is answered with %d, %v", a.status, a.header)
	}
}

func oaLarge(t *testing.T, o *office) {
	d := newDesk(t, o)
	pdf := "%PDF-1.7\n\x00" + strings.Repeat("0123456789abcdef", 3<<16)
	d.write(t, "macro/report.pdf", pdf)
	page := d.letter(t, d.push(t, "", "report.pdf"))
	link := regexp.MustCompile(`<a class="apart" href="([^"]*)" download>`).FindStringSubmatch(page)
	if link == nil {
		t.Fatal("the page has no link to download it")
	}
	if got := d.page(t).get(t, strings.ReplaceAll(link[1], "&amp;", "&")); got != pdf {
		t.Errorf("of %d bytes %d are downloaded", len(pdf), len(got))
	}
}

func oaReply(t *testing.T, o *office) {
	d := newDesk(t, o)
	id := d.push(t, "Want a take on the rates?")
	before := d.read(t, oaEntries)
	p := d.tab(t)
	p.click("#row-" + id)
	p.sees("#letter", "Want a take on the rates?")
	p.until(`document.getElementById("reply-text").focus() === undefined`)
	p.do(sendKeys("#reply-text", "Yes: the long end."))
	p.click("#act-send")
	eventually(t, "the workspace's agent has the reply", func() bool {
		return strings.Contains(d.must(t, "inbox", "--as", d.ws), "Yes: the long end.")
	})
	if d.read(t, oaEntries) != before {
		t.Error("a reply was written to entries.jsonl")
	}
	d.must(t, "workspace", "remove", d.ws)
	if page := d.letter(t, id); strings.Contains(page, `id="reply-text"`) || !strings.Contains(page, "Want a take") {
		t.Error("of a workspace that is gone the page has a reply bar, or no entry")
	}
	if a := d.api(t, http.MethodGet, "/api/inbox/history"); !strings.Contains(a.body, `"canReply":false`) {
		t.Errorf("of a workspace that is gone the history says %s", a.body)
	}
}

func oaFile(t *testing.T, o *office) {
	d := newDesk(t, o)
	before := time.Now().UnixMilli()
	d.push(t, "Drafted the FOMC piece. <b> & \"more\"?", "research/report.md")
	d.push(t, "no documents")
	text := d.read(t, oaEntries)
	for i, line := range lines[map[string]any](t, text) {
		want := []string{"comments", "id", "ts", "workspaceId", "workspaceLabel"}
		if i == 0 {
			want = []string{"comments", "docs", "id", "ts", "workspaceId", "workspaceLabel"}
		}
		var keys []string
		for k := range line {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("line %d has other keys (-want +got):\n%s", i, diff)
		}
	}
	for _, e := range lines[oaEntry](t, text) {
		if !matches(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, e.ID) || e.TS < before ||
			e.TS > time.Now().UnixMilli() || e.WorkspaceID != d.ws || e.WorkspaceLabel != "Macro thesis 2026-05" {
			t.Errorf("an entry is %+v", e)
		}
	}
}

func oaAtomic(t *testing.T, _ *office) {
	d := openDesk(t, newOffice(t))
	d.stop(t)
	const n = 120
	for i := range n {
		d.add(t, oaEntries,
			fmt.Sprintf(`{"id":"e-%d","ts":%d,"workspaceId":"ws-old","workspaceLabel":"Old","comments":"c%d"}`,
				i, time.Now().UnixMilli(), i))
	}
	d.serve(t)
	eventually(t, "the entries are there", func() bool {
		entries, _ := d.history(t, "limit=1000")
		return len(entries) == n
	})
	gone := 0
	for round := range 3 {
		die := time.AfterFunc(time.Duration(30+20*round)*time.Millisecond, func() { _ = d.running.cmd.Process.Kill() })
		for ; gone < n; gone++ {
			if !d.tryDelete(gone) {
				break
			}
		}
		die.Stop()
		d.kill()
		for line := range strings.Lines(d.read(t, oaEntries)) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Fatalf("after kill -9 a line is %q", line)
			}
		}
		d.serve(t)
	}
	eventually(t, "every entry that was not deleted is there, and none that was", func() bool {
		left := strings.Count(d.read(t, oaEntries), "\n")
		return left == n-gone || left == n-gone-1 // the last one's answer was lost
	})
	d.api(t, http.MethodDelete, fmt.Sprintf("/api/inbox/e-%d", n-1))
	files, err := os.ReadDir(d.path("alice/data/inbox"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.Name(), "tmp") {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// tryDelete deletes an entry by its number and reports whether that was answered.
func (d *oaDesk) tryDelete(n int) bool {
	token, err := os.ReadFile(d.home + "/token")
	if err != nil {
		return false
	}
	r, err := http.NewRequest(http.MethodDelete, fmt.Sprintf("%s/api/inbox/e-%d", d.running.HTTP, n), nil)
	if err != nil {
		return false
	}
	resp, err := bearer{strings.TrimSpace(string(token)), http.DefaultTransport}.RoundTrip(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusNoContent
}

func oaGarbage(t *testing.T, o *office) {
	d := newDesk(t, o)
	id := d.push(t, "goes")
	const garbage = `{"id":"torn","ts":17157` + "\n" + "no JSON at all \u00ff"
	d.add(t, oaEntries, garbage)
	d.push(t, "stays")
	eventually(t, "what cannot be parsed is counted", func() bool {
		return d.api(t, http.MethodGet, "/api/inbox/history").header.Get("X-Inbox-Malformed") == "2"
	})
	d.api(t, http.MethodDelete, "/api/inbox/"+id)
	text := d.read(t, oaEntries)
	if !strings.HasPrefix(text, garbage+"\n") || strings.Contains(text, "goes") || !strings.Contains(text, "stays") {
		t.Errorf("after a delete the file is %q", text)
	}
}

func oaHistory(t *testing.T, o *office) {
	d := newDesk(t, o)
	for i := range 5 {
		d.push(t, fmt.Sprint("entry ", i))
	}
	first, more := d.history(t, "limit=2")
	if !slices.Equal(comments(first), []string{"entry 4", "entry 3"}) || !more {
		t.Errorf("the first page is %q, more: %t", comments(first), more)
	}
	second, _ := d.history(t, "limit=2&before="+first[1].ID)
	last, more := d.history(t, "limit=2&before="+second[1].ID)
	if !slices.Equal(comments(append(second, last...)), []string{"entry 2", "entry 1", "entry 0"}) || more {
		t.Errorf("the next pages are %q and %q, more: %t", comments(second), comments(last), more)
	}
	if none, _ := d.history(t, "before=unknown"); len(none) > 0 {
		t.Errorf("before an unknown id there is %q", comments(none))
	}
	if none, _ := d.history(t, "workspaceId=ws-other"); len(none) > 0 {
		t.Errorf("another workspace has %q", comments(none))
	}
	if mine, _ := d.history(t, "workspaceId="+d.ws+"&limit=0"); len(mine) != 5 {
		t.Errorf("the workspace has %q", comments(mine))
	}
}

func oaSeed(t *testing.T, o *office) {
	d := newDesk(t, o)
	const seed = `{"workspaceId":"ws-seeded","workspaceLabel":"Seeded","comments":"made up"}`
	if a := d.operator(t, http.MethodPost, "/api/inbox/seed?room="+d.room(), seed); a.status != 404 &&
		a.status != 403 {
		t.Errorf("outside of development the answer is %d %s", a.status, a.body)
	}
	dev := plannedOffice(t, binary, person)
	dev.serve(t, "--dev")
	mine := openDesk(t, dev)
	if a := mine.operator(t, http.MethodPost, "/api/inbox/seed?room="+mine.room(), seed); a.status != 200 {
		t.Errorf("in development the answer is %d %s", a.status, a.body)
	}
	if !strings.Contains(mine.read(t, oaEntries), `"comments":"made up"`) {
		t.Error("what was seeded is not in the file")
	}
	if a := mine.operator(t, http.MethodPost, "/api/inbox/seed?room="+mine.room(),
		`{"workspaceId":"x"}`); a.status != 400 {
		t.Errorf("an empty entry is answered with %d %s", a.status, a.body)
	}
}

// oaSeedThere: without a room in the request, seeded entries go where OpenAlice's file is.
func oaSeedThere(t *testing.T, _ *office) {
	dev := plannedOffice(t, binary, person)
	dev.serve(t, "--dev")
	mine := openDesk(t, dev.project(t))
	if a := mine.operator(t, http.MethodPost, "/api/inbox/seed",
		`{"workspaceId":"ws-seeded","comments":"made up"}`); a.status != 200 {
		t.Errorf("the answer is %d %s", a.status, a.body)
	}
	if !strings.Contains(mine.read(t, oaEntries), `"comments":"made up"`) {
		t.Error("what was seeded is not in the bridged file")
	}
}

func oaPoll(t *testing.T, o *office) {
	d := newDesk(t, o)
	d.push(t, "was there")
	p := d.tab(t)
	p.sees("#list .row", "was there")
	d.push(t, "came meanwhile")
	began := time.Now()
	p.until(`document.body.textContent.includes("came meanwhile") || ` + shows("#pill", "new"))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the page shows it after %s", took)
	}
	for range 2 { // as the original's page does
		if entries, _ := d.history(t, ""); len(entries) != 2 {
			t.Errorf("the history has %q", comments(entries))
		}
	}
}

func oaNotify(t *testing.T, o *office) {
	d := newDesk(t, o)
	if d.agent.tools(t)["notify_user"] != nil {
		t.Error("a workspace has notify_user")
	}
	d.must(t, "agents", "register", "heartbeat")
	legacy := d.overHTTP(t, "/dialect/openalice/mcp", d.office.token(t, "heartbeat"))
	tool := legacy.tools(t)["notify_user"]
	if tool == nil || !strings.Contains(strings.ToLower(tool.Description), "deprecated") {
		t.Fatalf("for legacy automations it is %+v", tool)
	}
	legacy.must(t, "notify_user", args{"text": "cron has run"})
	if entries, _ := d.history(t, ""); len(entries) != 0 {
		t.Errorf("a notification is in the Inbox: %+v", entries)
	}
	if out := d.must(t, "inbox"); !strings.Contains(out, "cron has run") {
		t.Errorf("the person does not see it: %s", out)
	}
}

func oaWhen(t *testing.T, o *office) {
	said := strings.ToLower(newDesk(t, o).agent.tools(t)["inbox_push"].Description)
	for _, word := range []string{"finished", "blocked", "check-in", "debugging", "do not push"} {
		if !strings.Contains(said, word) {
			t.Errorf("the description does not speak of %q: %s", word, said)
		}
	}
}
