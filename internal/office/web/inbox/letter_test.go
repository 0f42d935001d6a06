package inbox_test

import (
	"bytes"
	"encoding/base64"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/inbox"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/words"
)

func TestCard(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann with, odd name", State: mail.Working})
	id := b.Send("ann with, odd name",
		mail.Draft{Type: "question", Body: "Which?",
			Metadata: mail.Metadata(`{"options":["The <first>","The second"]}`)})
	letter := func() sitetest.Answer { return b.Part("/@shop/letter?m="+string(id), "letter") }
	letter().Want(t, 200, `<button name="body" value="The &lt;first&gt;" data-key="1"`, "needs an answer",
		`name="to" value="agent:ann with, odd name"`, `name="type" value="answer"`)

	form := url.Values{"to": {"agent:ann with, odd name"}, "reply_to": {string(id)}, "type": {"answer"},
		"body": {"The <first>"}}
	form.Set("key", "choice-"+string(id))
	letter().Want(t, 200, `name="key" value="choice-`+string(id)+`"`)
	b.Post("/@shop/send", form, sitetest.AsScript("form")).Want(t, 200, "sees it when it next looks")
	b.Post("/@shop/send", form, sitetest.AsScript("form")).Want(t, 200) // a second press is not a second answer
	other := maps.Clone(form)
	other.Set("body", "The second")
	b.Post("/@shop/send", other, sitetest.AsScript("form")).Want(t, 409, "already sent with another text")
	letter().Want(t, 200, "You answered", "The &lt;first&gt;",
		"is working; sees it when it next looks").Without(t, "<button name=\"body\"", "needs an answer")

	page, err := b.As("ann with, odd name").Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].Type != mail.Answer ||
		page.Messages[0].ReplyTo != id || page.Messages[0].Body != "The <first>" {
		t.Fatalf("the agent has %+v, %v", page.Messages, err)
	}
	if _, err := b.As("ann with, odd name").Mark(t.Context(), mail.Marking{IDs: []mail.ID{page.Messages[0].ID},
		Mark: mail.MarkPresented, Door: "hook"}); err != nil {
		t.Fatal(err)
	}
	letter().Want(t, 200, `title="presented by hook">delivered `)
	if _, err := b.As("ann with, odd name").Mark(t.Context(),
		mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	if a := letter(); !regexp.MustCompile(
		`<bdi>ann with, odd name</bdi> <span class="state" title="read[^"]*">delivered \d\d:\d\d, read \d\d:\d\d`).MatchString(a.Body) {
		t.Errorf("the card does not tell the answer's steps:\n%s", a.Body)
	}
}

func TestBecame(t *testing.T) {
	for want, d := range map[string]mail.Delivery{
		"sees it when it next looks": {Agent: "ann", State: mail.Queued,
			Wake: mail.WakeNone},
		"cannot be woken; sees it when it next looks": {Agent: "ann", State: mail.Queued,
			Wake: mail.WakeNoDoor},
		"is being woken": {Agent: "ann", State: mail.Queued,
			Wake: "socket"},
		"woken; has not looked yet": {Agent: "ann", State: mail.Notified,
			Door: "socket"},
		"no agent has the role; the next one to take it gets this": {Address: "role:reviewer", State: mail.Held},
		"expired unread": {Agent: "ann", State: mail.Expired},
		"not delivered: the session has ended without reading this": {Agent: "ann", State: mail.Dead},
		"read and archived": {Agent: "ann", State: mail.Archived},
	} {
		if got := words.Became(page.View{}.Now, d); got != want {
			t.Errorf("became(%+v) = %q, want %q", d, got, want)
		}
	}
}

func TestReplyGoesTo(t *testing.T) {
	for name, tt := range map[string]struct {
		m    mail.Message
		want []mail.Address
	}{
		"an agent's": {mail.Message{From: "agent:ann", To: []mail.Address{"user"}},
			[]mail.Address{"agent:ann"}},
		"the orchestrator's": {mail.Message{From: "orchestrator", To: []mail.Address{"user"}},
			[]mail.Address{"orchestrator"}},
		"one's own": {mail.Message{From: "user", To: []mail.Address{"agent:ann", "user", "all"}},
			[]mail.Address{"agent:ann", "all"}},
		"a notice": {mail.Message{From: "system", To: []mail.Address{"user"}}, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.m.AnswerTo(mail.User)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestResume(t *testing.T) {
	for _, tt := range []struct{ client, session, dir, want string }{
		{"claude", "0a1b-2c", "", "claude --resume 0a1b-2c"},
		{"claude-code/2.1", "0a1b", "/home/me/it's here", `cd '/home/me/it'\''s here' && claude --resume 0a1b`},
		{"Codex", "s_1.2", "", "codex resume s_1.2"},
		{"gemini-cli", "7", "", "gemini --resume 7"},
		{"copilot", "7", "/x\n\x1b", "copilot --resume 7"},
		{"", "7", "", ""},
		{"unheard", "7", "", ""},
		{"claude", "", "", ""},
		{"claude", "--dangerously-skip-permissions", "", ""},
		{"claude", "x; rm -rf /", "", ""},
		{"claude", "$(x)", "", ""},
		{"claude", "х", "", ""}, // Cyrillic
	} {
		if got := page.Resume(&mail.Agent{Client: tt.client, Session: tt.session}, tt.dir); got != tt.want {
			t.Errorf("resume(%q, %q, %q) = %q, want %q", tt.client, tt.session, tt.dir, got, tt.want)
		}
	}
}

// pixel is a GIF.
var pixel = base64.StdEncoding.EncodeToString([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"))

// workspaceFixture is a fixture with an agent, ann, and files in its workspace. The letter names all of paths.
func workspaceFixture(t *testing.T, files map[string]string, paths ...string) (*fixture, mail.ID) {
	t.Helper()
	b := newFixture(t)
	dir := t.TempDir()
	root := filepath.Join(dir, "workspace")
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.As(mail.User).AddWorkspace(t.Context(),
		mail.Workspace{ID: "ann", Label: "The shop", Dir: root}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret of the person"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	d := mail.Draft{Subject: "Papers"}
	for _, p := range paths {
		d.Docs = append(d.Docs, mail.Doc{Path: p})
	}
	return b, b.Send("ann", d)
}

func TestDocuments(t *testing.T) {
	gif, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"a.md": "# Title\n\n<script>alert(1)</script> and ![x](https://tracker.example/p.png)",
		"b.go": "package b // <b>", "c.html": "<script>alert(1)</script>", "d.svg": "<svg onload=alert(1)>",
		"e.png": string(gif), "f.bin": "\x00\x01", "g.txt": "plain", "h.html": string(gif) +
			"<script>alert(1)</script>", "big": strings.Repeat("x", 1<<20+1),
		"paper.pdf": "%PDF-1.7\n" + strings.Repeat("\x00page", 600_000),
	}
	names := []string{"a.md", "b.go", "c.html", "d.svg", "e.png", "f.bin", "g.txt", "h.html", "big", "paper.pdf",
		"absent", "link", "../secret", "/etc/passwd"}
	b, id := workspaceFixture(t, files, names...)
	page := b.Get("/@shop/?m="+string(id)).Want(t, 200,
		"The shop", `<h1 dir="auto">Title</h1>`, "&lt;script&gt;alert(1)&lt;/script&gt; and", // Markdown
		`<code class="language-go">package b // &lt;b&gt;</code>`, `<code class="language-xml">&lt;svg onload`,
		"<code>plain</code>",
		`<iframe src="`, "sandbox title=", `<img src="/@shop/doc?`, `alt="e.png"`,
		"too large to show", "not in the workspace", "outside the workspace", "This is neither text",
	)
	page.Without(t, "<script>alert", "<svg onload", "secret of the person", "root:", `src="https://tracker`)
	for n, want := range []struct{ kind, policy, disposition string }{
		{"application/octet-stream", inbox.Inert, "attachment; filename=a.md"},
		{"application/octet-stream", inbox.Inert, "attachment; filename=b.go"},
		{"text/html; charset=utf-8", inbox.LaidOut, ""},
		{"application/octet-stream", inbox.Inert, "attachment; filename=d.svg"},
		{"image/gif", inbox.Inert, ""},
		{"application/octet-stream", inbox.Inert, "attachment; filename=f.bin"},
		{"application/octet-stream", inbox.Inert, "attachment; filename=g.txt"},
		{"image/gif", inbox.Inert, ""},
		{"application/octet-stream", inbox.Inert, "attachment; filename=big"},
		{"application/octet-stream", inbox.Inert, "attachment; filename=paper.pdf"},
	} {
		path := "/@shop/doc?m=" + string(id) + "&n=" + strconv.Itoa(n)
		got := b.Get(path).Want(t, 200)
		h := got.Header
		if h.Get("Content-Type") != want.kind || h.Get("Content-Security-Policy") != want.policy ||
			h.Get("Content-Disposition") != want.disposition || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is served as %v", names[n], h)
		}
		if !bytes.Equal([]byte(got.Body), []byte(files[names[n]])) {
			t.Errorf("%s is served with other bytes: %q", names[n], got.Body)
		}
		if kept := b.Get(path+"&as=file").Want(t, 200).Header; !strings.HasPrefix(kept.Get("Content-Disposition"),
			"attachment") || kept.Get("Content-Security-Policy") != inbox.Inert {
			t.Errorf("as a file, %s is served as %v", names[n], kept)
		}
	}
	paper := "/@shop/doc?m=" + string(id) + "&n=9&as=file"
	page.Want(t, 200, "3.0 MB", `href="`+html.EscapeString(paper)+`" download`)
	part := b.Get(paper, func(r *http.Request) { r.Header.Set("Range", "bytes=2999990-") }).Want(t, 206)
	if want := files["paper.pdf"][2_999_990:]; part.Body != want ||
		part.Header.Get("Content-Range") != "bytes 2999990-3000008/3000009" {
		t.Errorf("a part of it is %q, %v", part.Body, part.Header)
	}
	for n := 10; n < len(names); n++ {
		b.Get("/@shop/doc?m="+string(id)+"&n="+strconv.Itoa(n)).Want(t, 404).Without(t, "secret of", "root:")
	}
	for _, query := range []string{"m=" + string(id) + "&n=99", "m=" + string(id) + "&n=-1", "m=" + string(id),
		"m=x&n=0", ""} {
		b.Get("/@shop/doc?"+query).Want(t, 404)
	}
}

func TestDocumentsElsewhere(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ben"})
	id := b.Send("ben", mail.Draft{Docs: []mail.Doc{{Path: "a.md"}}})
	b.Get("/@shop/?m="+string(id)).Want(t, 200, "No workspace of ben is known")
	b.Get("/@shop/doc?m="+string(id)+"&n=0").Want(t, 404)

	// A letter with more documents than a page can show says so, and shows the first ones.
	half := strings.Repeat("x", inbox.MaxInline/2+1)
	many, id := workspaceFixture(t, map[string]string{"a": half, "b": half, "c": "more"}, "a", "b", "c")
	many.Get("/@shop/?m="+string(id)).Want(t, 200, "more documents than one page shows").Without(t,
		"<code>more</code>")
}
