package inbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
)

// brought imports mail from an agent to the user, with times in the past, into a room.
func (b *fixture) brought(room int, from mail.Address, ids map[string]time.Duration) {
	b.T.Helper()
	var items []mail.Item
	for id, ago := range ids {
		items = append(items, mail.Item{Message: mail.Message{ID: mail.ID(id), Type: "custom", From: from,
			To: []mail.Address{"user"}, Body: "It is " + id, Sent: mail.TimeOf(time.Now().Add(-ago))}})
	}
	if _, err := b.Office.Open[room].As(mail.User).Import(b.T.Context(), items); err != nil {
		b.T.Fatal(err)
	}
}

// allRows follows a list to its end.
func (b *fixture) allRows(path string) []string {
	b.T.Helper()
	page := b.Get(path).Want(b.T, 200).Body
	rows := sitetest.RowsOf(page)
	for strings.Contains(page, `id="more"`) {
		page = b.Part(sitetest.Link(b.T.(*testing.T), page, `id="more"`, "hx-get"), "more").Want(b.T, 200).Body
		rows = append(rows, sitetest.RowsOf(page)...)
	}
	return rows
}

// TestInboxBySent tests that the list is sorted by time sent, with one heading per period, and that late arrivals are
// sorted in.
func TestInboxBySent(t *testing.T) {
	b := newFixture(t)
	fresh := string(b.Send("ann", mail.Draft{}))
	const day = 24 * time.Hour
	b.brought(0, "agent:ann", map[string]time.Duration{"older": 30 * day, "oldest": 40 * day, "old": 20 * day})
	page := b.Get("/@shop/").Want(t, 200).Body
	if want := []string{fresh, "old", "older", "oldest"}; !slices.Equal(sitetest.RowsOf(page), want) {
		t.Errorf("the rows are %q, want %q", sitetest.RowsOf(page), want)
	}
	if h := regexp.MustCompile(`class="when">([^<]*)<`).FindAllString(page, -1); len(h) != 2 {
		t.Errorf("the headings are %q, want today's and the older ones'", h)
	}
	live := sitetest.Link(t, page, `id="rows"`, "hx-get")
	b.brought(0, "agent:ann", map[string]time.Duration{"late": 35 * day, "latest": 50 * day})
	if got, want := sitetest.RowsOf(b.Part(live, "rows").Body), []string{fresh, "old", "older", "late", "oldest",
		"latest"}; !slices.Equal(got, want) {
		t.Errorf("refreshed, the rows are %q, want %q", got, want)
	}
}

// TestInboxPreview tests that a row shows below its subject the first line of the body, or else the first document.
func TestInboxPreview(t *testing.T) {
	b := newFixture(t)
	b.Send("ann", mail.Draft{Subject: "Macro thesis", Body: "\n## The *draft*\nis there",
		Docs: []mail.Doc{{Path: "a.md"}}})
	b.Send("ann", mail.Draft{Subject: "Only files", Body: " ", Docs: []mail.Doc{{Path: "b.md"}, {Path: "c.md"}}})
	b.Send("ann", mail.Draft{Body: " ", Docs: []mail.Doc{{Path: "d.md"}}})
	b.Send("ann", mail.Draft{Body: "Without a subject"})
	b.Get("/@shop/").Want(t, 200, `<span class="preview"><bdi>The draft · is there</bdi>`,
		`<span class="preview"><bdi>b.md · &#43;1 more</bdi>`, `<span class="subject"><bdi>d.md</bdi>`,
		`<span class="subject"><bdi>Without a subject</bdi>`).Without(t, `<span class="preview"><bdi>Without`,
		`<span class="preview"><bdi>d.md`)
}

// TestNoReply tests that there is no reply box if no one can be answered, and that the page says why.
func TestNoReply(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	b.brought(0, "agent:ws-gone", map[string]time.Duration{"stray": time.Minute})
	there := b.Send("ann", mail.Draft{Type: "question", Metadata: mail.Metadata(`{"options":["Yes"]}`)})
	b.Get("/@shop/?m=stray").Want(t, 200, "You cannot reply: <bdi>ws-gone</bdi> is not on the roster").
		Without(t, "<textarea", "act-send")
	b.Get("/@shop/t/stray").Want(t, 200, "No one you could answer").Without(t, "<textarea id")
	b.Get("/@shop/?m="+string(there)).Want(t, 200, `id="reply-text"`, "<button name=\"body\" value=\"Yes\"")
	b.Get("/@shop/t/"+string(there)).Want(t, 200, `<textarea id="box"`)
	if err := b.As(mail.User).Retire(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	b.Get("/@shop/?m="+string(there)).Want(t, 200, "You cannot reply").Without(t, "<textarea", "value=\"Yes\"")
}

// TestInboxWorkspaces tests the inbox of one workspace, of one room and of all. There is a choice only with several
// rooms, or workspaces.
func TestInboxWorkspaces(t *testing.T) {
	b := newFixture(t)
	own := string(b.Send("ann", mail.Draft{}))
	b.Get("/@shop/").Want(t, 200).Without(t, "scopes")
	b.AddRoom("macro")
	b.AddRoom("plain")
	for i, room := range b.Office.Open[:2] {
		ws := mail.Workspace{ID: mail.Name(fmt.Sprint("ws-", i)), Label: fmt.Sprint("Thesis ", i), Dir: t.TempDir()}
		if _, err := room.As(mail.User).AddWorkspace(t.Context(), ws); err != nil {
			t.Fatal(err)
		}
	}
	mine, theirs := map[string]time.Duration{}, map[string]time.Duration{}
	want := []string{own}
	for i := 1; i <= 140; i++ {
		id := fmt.Sprintf("entry-%03d", i)
		want = append(want, id)
		if i%3 == 0 {
			mine[id] = time.Duration(i) * time.Minute
		} else {
			theirs[id] = time.Duration(i) * time.Minute
		}
	}
	b.brought(0, "agent:ws-0", mine)
	b.brought(1, "agent:ws-1", theirs)
	b.brought(2, "agent:ann", map[string]time.Duration{"plainly": 141 * time.Minute})
	want = append(want, "plainly")

	page := b.Get("/@shop/").Want(t, 200, ">All rooms<", `href="/@plain/?rooms=one" data-scope="one"><bdi>plain</bdi>`, `href="/@shop/?ws=ws-0"`,
		`href="/@macro/?ws=ws-1"><bdi>Thesis 1</bdi> <span class="faint">macro</span>`)
	if n := len(sitetest.RowsOf(page.Body)); n != 1+len(mine) {
		t.Errorf("%d rows in the room, want %d", n, 1+len(mine))
	}
	if got := b.allRows("/@shop/?rooms=all"); !slices.Equal(got, want) {
		t.Errorf("all workspaces: %q, want %q", got, want)
	}
	if got := b.allRows("/@shop/?ws=ws-0"); len(got) != len(mine) || slices.Contains(got, own) {
		t.Errorf("the workspace's rows are %q, want %d", got, len(mine))
	}

	all := b.Get("/@shop/?rooms=all").Want(t, 200, `data-base="/@macro" href="/@macro/?m=entry-001&amp;rooms=all"`,
		`<span class="room">macro</span>`).Body
	late := map[string]time.Duration{"late": 90 * time.Second}
	b.brought(1, "agent:ws-1", late)
	fresh := sitetest.RowsOf(b.Part(sitetest.Link(t, all, `id="rows"`, "hx-get"), "rows").Want(t, 200).Body)
	if i := slices.Index(fresh, "late"); i != 2 || len(fresh) != len(sitetest.RowsOf(all))+1 {
		t.Errorf("refreshed, %d rows with the late one at %d: %q", len(fresh), i, fresh)
	}

	// A workspace that was never added is known by its mail.
	if _, err := b.Office.Open[2].As(mail.User).Import(t.Context(), []mail.Item{{Message: mail.Message{ID: "pushed",
		Type: "custom", From: "agent:ws-file", To: []mail.Address{"user"}, Subject: "Out of a file", Body: "x",
		Metadata: mail.Metadata(`{"openalice":{"workspaceLabel":"Out of a file"}}`),
		Sent:     mail.TimeOf(time.Now())}}}); err != nil {
		t.Fatal(err)
	}
	b.Get("/@plain/").Want(t, 200, `href="/@plain/?ws=ws-file"><bdi>Out of a file</bdi>`)
	b.Get("/@shop/?rooms=all").Want(t, 200, `id="row-pushed"`,
		`href="/@plain/?ws=ws-file"><bdi>Out of a file</bdi> <span class="faint">plain</span>`)
	if got := b.allRows("/@plain/?ws=ws-file"); !slices.Equal(got, []string{"pushed"}) {
		t.Errorf("its rows are %q", got)
	}
	if err := b.Office.Open[2].As(mail.User).Erase(t.Context(), "pushed"); err != nil {
		t.Fatal(err)
	}

	// An action on a message applies in its own room.
	b.Get("/@macro/?m=entry-001&rooms=all").Want(t, 200, `data-base="/@macro"`, `action="/@macro/mark"`,
		`id="row-entry-003"`, `aria-current="true"`)
	b.Post("/@macro/mark", url.Values{"id": {"entry-001"}, "mark": {"archived"}}).Want(t, 303)
	if got := b.allRows("/@shop/?rooms=all"); slices.Contains(got, "entry-001") || len(got) != len(want) {
		t.Errorf("archived, %d rows, want %d without it", len(got), len(want))
	}
	if got := b.allRows("/@shop/?rooms=all&show=archived"); !slices.Equal(got, []string{"entry-001"}) {
		t.Errorf("archived are %q", got)
	}
}

// TestInboxFollowsTheSwitch tests that a browser set to all rooms gets the inbox of all, with a menu that leads to
// one.
func TestInboxFollowsTheSwitch(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	other, err := b.Office.Room(t.Context(), "other", "lister")
	if err == nil {
		_, err = other.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Subject: "From elsewhere", Body: "?"})
	}
	if err != nil {
		t.Fatal(err)
	}
	all := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: page.ScopeCookie, Value: page.ScopeAll}) }
	b.Get("/@shop/", all).Want(t, 200, "From elsewhere", `href="/@shop/?rooms=one"`)
	b.Get("/@shop/?rooms=one", all).Want(t, 200).Without(t, "From elsewhere")
	b.Get("/@shop/").Want(t, 200).Without(t, "From elsewhere")
}
