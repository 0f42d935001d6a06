package inbox_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
)

func TestInboxRow(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	asked := b.Send("ann", mail.Draft{Type: "question", Issue: "SH-1", Body: "# Shall I?\n\nOr not."})
	b.Send("ann", mail.Draft{Subject: "With documents", Docs: []mail.Doc{{Path: "a.md"}, {Path: "b.md"}}})
	b.Send("ann", mail.Draft{Type: "question", Priority: "urgent", Subject: "Which?",
		Metadata: mail.Metadata(`{"options":["Left","Right"]}`)})
	shown := b.Get("/@shop/").Want(t, 200, "Shall I?", "needs an answer", ">urgent</span>", "SH-1", "Unread: ",
		"2 documents",
		`<h3 class="when">Today</h3>`, `<i class="letters asks" aria-hidden="true">AN</i>`, `Needs you <span class="number">2</span>`, "Updates",
		`<b>1</b> <bdi>Left</bdi>`, `data-asks="2"`, `(2) Inbox`)
	if n := len(sitetest.RowsOf(shown.Body)); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, ReplyTo: asked, Type: "answer", Body: "Yes."})
	b.Get("/@shop/").Want(t, 200, "Shall I?").Without(t, "needs an answer")
}

// TestInboxParts tests that items that need the user come first, urgent and then oldest, followed by updates, newest
// first. A conversation is one row whose form names all its messages. Status reports share one row until they are
// unfolded.
func TestInboxParts(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "ben"})
	first := b.Send("ann", mail.Draft{Type: "question", Subject: "First?"})
	second := b.Send("ben", mail.Draft{Type: "question", Subject: "Second?"})
	told := b.Send("ann", mail.Draft{Subject: "A report"})
	more := b.Send("ann", mail.Draft{Subject: "More of it", ReplyTo: told})
	urgent := b.Send("ben", mail.Draft{Subject: "It burns", Priority: "urgent"})
	reports := []mail.ID{b.Send("ann", mail.Draft{Type: "status", Subject: "Half of it"}),
		b.Send("ben", mail.Draft{Type: "status", Subject: "All of it"})}
	shown := b.Get("/@shop/").Want(t, 200, "2 status reports", `data-messages="shop/`+string(told)+"\nshop/"+
		string(more)+`"`,
		`title="2 messages"`).Without(t, "Half of it")
	want := []string{string(urgent), string(first), string(second), string(more)}
	if got := sitetest.RowsOf(shown.Body); !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
	unfold := sitetest.Link(t, shown.Body, `id="reports"`, "href")
	open := b.Get(unfold).Want(t, 200, `aria-expanded="true"`, "Half of it", "All of it")
	if got := len(sitetest.RowsOf(open.Body)); got != 6 {
		t.Errorf("unfolded there are %d rows, want 6", got)
	}
	// An action on the folded row applies to all its messages, and to none that came later.
	line := sitetest.Link(t, shown.Body, `id="slot-`+string(reports[1])+`"`, "data-messages")
	if _, err := b.As(mail.User).Import(t.Context(), []mail.Item{{Message: mail.Message{ID: "later", Type: "status",
		From: "agent:ann", To: []mail.Address{"user"}, Body: "Later",
		Sent: mail.TimeOf(time.Now().Add(time.Second))}}}); err != nil {
		t.Fatal(err)
	}
	b.Post("/@shop/mark", url.Values{"messages": {line}, "mark": {"archived"}},
		sitetest.AsScript("div#toasts")).Want(t, 200,
		"Archived 2 messages", line)
	if got := b.ids(mail.InArchived); len(got) != 2 || slices.Contains(got, mail.ID("later")) {
		t.Errorf("archived are %q", got)
	}
	// An archived question stays visible while it is open.
	b.Post("/@shop/mark", url.Values{"id": {string(first)}, "mark": {"archived"}, "open": {"archive"}}).Want(t, 303)
	shown = b.Get("/@shop/").Want(t, 200, "Archived but still open", "First?")
	if got := sitetest.RowsOf(shown.Body)[:3]; !slices.Equal(got, []string{string(urgent), string(second),
		string(first)}) {
		t.Errorf("the rows begin with %q", got)
	}
}

// TestInboxRooms tests that the inbox covers all rooms, that each room is a filter, and that old links to letters
// still work.
func TestInboxRooms(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("macro")
	b.Register(mail.Presence{Name: "ann"})
	own := b.Send("ann", mail.Draft{Subject: "Here"})
	b.brought(1, "agent:ann", map[string]time.Duration{"there": time.Hour})
	want := []string{string(own), "there"}
	for _, path := range []string{"/", "/?rooms=all", "/@shop/?rooms=all", "/@macro/?rooms=all"} {
		shown := b.Get(path).Want(t, 200, `<span class="room">macro</span>`, `data-rooms="all"`,
			`class="name">All rooms<`)
		if got := sitetest.RowsOf(shown.Body); !slices.Equal(got, want) {
			t.Errorf("%s has %q", path, got)
		}
	}
	for path, want := range map[string]string{"/@shop/": string(own), "/@macro/": "there",
		"/@macro/?m=there": "there"} {
		shown := b.Get(path).Want(t, 200, `/?rooms=all" data-scope="all"`).Without(t, `class="room"`, `data-rooms`)
		if got := sitetest.RowsOf(shown.Body); !slices.Equal(got, []string{want}) {
			t.Errorf("%s has %q", path, got)
		}
	}
	b.Get("/@macro/?m=there&rooms=all").Want(t, 200, `id="row-`+string(own), `aria-current="true"`,
		`action="/@macro/mark"`)
	b.Get("/?m="+string(own)).Want(t, 200, `aria-current="true"`, "Here") // in the room that changed last
	b.Get("/@macro/?m="+string(own)).Want(t, 404)
}

// TestInboxEarlier tests that a letter is shown with the messages before and after it, and that opening it marks
// those read too.
func TestInboxEarlier(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	root := b.Send("ann", mail.Draft{Subject: "Root", Body: "It *begins*."})
	asked := b.Send("ann", mail.Draft{Type: "question", Subject: "Which?", ReplyTo: root})
	after := b.Send("ann", mail.Draft{Body: "I cannot wait.", ReplyTo: asked})
	shown := b.Get("/@shop/?m="+string(asked)).Want(t, 200, "1 earlier message</summary>", `id="m-`+string(root),
		`id="m-`+string(after), `id="earlier" hx-morph-skip`)
	opens := sitetest.Link(t, shown.Body, `id="opened"`, "data-messages")
	b.Post("/@shop/opened", url.Values{"messages": {opens}}, sitetest.AsScript("article#letter")).Want(t, 200,
		`id="letter"`)
	for _, id := range []mail.ID{root, asked, after} {
		if !b.item(id).Read {
			t.Errorf("%s stood on the page and is unread", id)
		}
	}
}

func TestInboxPages(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	var sent []string
	for i := range 2*page.Rows + 20 {
		sent = append(sent, string(b.Send("ann", mail.Draft{Subject: fmt.Sprintf("Report %d", i)})))
	}
	slices.Reverse(sent)
	first := b.Get("/@shop/").Want(t, 200)
	got := sitetest.RowsOf(first.Body)
	live := sitetest.Link(t, first.Body, `id="rows"`, "hx-get")
	shown := first.Body
	for strings.Contains(shown, `id="more"`) {
		shown = b.Part(sitetest.Link(t, shown, `id="more"`, "hx-get"), "more").Want(t, 200).Without(t, "<html",
			`class="when"`).Body
		got = append(got, sitetest.RowsOf(shown)...)
	}
	if !slices.Equal(got, sent) {
		t.Errorf("the pages of the list have %d rows, want the %d messages, each once, newest first", len(got),
			len(sent))
	}
	// A refresh has the rows shown first and new ones.
	fresh := string(b.Send("ann", mail.Draft{Subject: "Fresh"}))
	again := b.Part(live, "rows").Want(t, 200, `id="rows"`).Without(t, "<html", `id="more"`)
	want := append([]string{fresh}, sent[:page.Rows]...)
	for range 2 { // refreshing again covers the same rows
		if !slices.Equal(sitetest.RowsOf(again.Body), want) {
			t.Errorf("refreshed, the list begins with %d rows, want %d", len(sitetest.RowsOf(again.Body)), len(want))
		}
		again = b.Part(sitetest.Link(t, again.Body, `id="rows"`, "hx-get"), "rows")
	}
}

func TestOpenMarksOne(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "ben"})
	one, two := b.Send("ann", mail.Draft{Subject: "One"}), b.Send("ann", mail.Draft{Subject: "Two"})
	other := b.Send("ann", mail.Draft{To: mail.Recipients{"ben"}, Subject: "Not for the user"})
	b.Part("/@shop/letter?m="+string(one), "letter").Want(t, 200, "One", "unread")
	const sign = `id="opened"` // tells the script to report that the letter was opened
	b.Part("/@shop/?m="+string(one), "detail").Want(t, 200, "<title>• One", `id="letter"`, sign).Without(t, "<html",
		"Two")
	// without script there is a button
	b.Get("/@shop/?m="+string(one)).Want(t, 200, sign, "<span>unread</span>", `value="read"`)
	if b.item(one).Read {
		t.Fatal("a GET marked the message read")
	}
	b.Post("/@shop/opened", url.Values{"id": {string(one)}}, sitetest.AsScript("article#letter")).Want(t, 200,
		`id="letter"`,
		"<span>read</span>").Without(t, sign, "<html")
	if !b.item(one).Read || b.item(two).Read {
		t.Errorf("opening one of two marked: %v, %v", b.item(one).Read, b.item(two).Read)
	}
	b.Get("/@shop/?m="+string(one)).Want(t, 200, "<title>• One").Without(t, sign)
	b.Get("/@shop/?m="+string(other)).Want(t, 200, "Not for the user").Without(t, `id="acts"`, sign)
	b.Post("/@shop/opened", url.Values{"id": {string(two)}}, sitetest.AsScript("article#letter"))
	b.Get("/@shop/?show=unread").Want(t, 200, "All read.")
}

func TestInboxNothing(t *testing.T) {
	b := newFixture(t)
	b.Get("/@shop/").Want(t, 200, "there is no mail yet", `id="steps"`, "No agent is connected yet.",
		"pennypost install").Without(t, `class="did"`)
	b.Register(mail.Presence{Name: "ann", State: mail.Working}, mail.Presence{Name: "ben", State: mail.Idle},
		mail.Presence{Name: "cy", State: mail.Idle})
	b.Get("/@shop/").Want(t, 200, "Agent connected: <bdi>ann</bdi>, <bdi>ben</bdi>, <bdi>cy</bdi>", `class="did"`)
	b.Send("ann", mail.Draft{To: mail.Recipients{"ben"}})
	b.Get("/@shop/").Want(t, 200, "No one is waiting for you.", "1 agent is working, and 2 are idle.").
		Without(t, `id="steps"`)
	b.Get("/@shop/?show=archived").Want(t, 200, "Nothing is archived.")
	b.Get("/@shop/?show=snoozed").Want(t, 200, "Nothing is snoozed.")

	empty := newFixture(t)
	rooms, names := empty.Office.Open, empty.Office.Names
	empty.Office.Open, empty.Office.Names = nil, nil
	empty.Get("/").Want(t, 200, "pennypost send --to user --body", `id="steps"`)
	for _, path := range []string{"/letter?m=x", "/doc?m=x&n=0"} {
		empty.Get(path).Want(t, 404)
	}
	empty.Office.Open, empty.Office.Names = rooms, names // the fixture closes them
}

func TestInboxErrors(t *testing.T) {
	b := newFixture(t)
	for path, code := range map[string]int{
		"/@shop/?m=nothing": 404, "/@shop/?show=<b>": 400, "/@shop/?after=x": 400, "/@shop/?down=x": 400,
		"/@nowhere/": 404, "/@shop/letter?m=x": 303,
	} {
		b.Get(path).Want(t, code).Without(t, "<b>")
	}
}

func TestInboxInjection(t *testing.T) {
	b := newFixture(t)
	name := mail.Name(sitetest.Hostile)
	task := "x"
	b.Register(mail.Presence{Name: name, Client: sitetest.Hostile, Session: sitetest.Hostile, Task: &task,
		State: mail.Working})
	id := b.Send(name, mail.Draft{
		Subject: sitetest.Hostile,
		Body:    sitetest.Hostile + "\n\n[x](javascript:alert(1)) ![y](https://tracker.example/p.png)",
		Type:    "question", Issue: sitetest.Hostile[:40],
		Docs: []mail.Doc{{Path: sitetest.Hostile, Revision: sitetest.Hostile}},
		Metadata: mail.Metadata(
			`{"options":["\"><img src=x onerror=alert(1)>",{"label":"<script>alert(3)</script>","description":"<b onmouseover=x>"}]}`),
	})
	b.Send(mail.User, mail.Draft{To: mail.Recipients{string(mail.AgentAddress(name))}, ReplyTo: id,
		Body: sitetest.Hostile})
	if _, err := b.As(mail.User).Import(t.Context(), []mail.Item{{Message: mail.Message{
		ID: mail.ID(sitetest.Hostile), From: mail.AgentAddress(name), To: []mail.Address{mail.ToUser},
		Body: sitetest.Hostile,
		Via:  sitetest.Hostile[:20], Sent: 1,
	}}}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{string(id), sitetest.Hostile} {
		q := "?m=" + strings.NewReplacer("%", "%25", "<", "%3C", ">", "%3E", `"`, "%22", "'", "%27", " ", "%20", "{",
			"%7B", "}", "%7D", "=", "%3D", "/", "%2F").Replace(m)
		b.Get("/@shop/" + q).Harmless(t)
		b.Part("/@shop/"+q, "detail").Harmless(t)
		b.Part("/@shop/letter"+q, "letter").Harmless(t)
		b.Part("/@shop/"+q, "rows").Harmless(t)
	}
	b.Post("/@shop/mark", map[string][]string{"id": {sitetest.Hostile}, "mark": {"archived"}},
		sitetest.AsScript("div#toasts")).Harmless(t)
}

// TestOldInboxSaysSo tests that an inbox that may be outdated says of when it is.
func TestOldInboxSaysSo(t *testing.T) {
	b := newFixture(t)
	b.Send("ann", mail.Draft{Subject: "Half of it"})
	const said = "This is as of 14:02; the NATS servers cannot be reached."
	b.Office.Trouble = "as of 14:02; the NATS servers cannot be reached"
	b.Get("/@shop/").Want(t, 200, said, "Half of it")
	b.Office.Trouble = ""
	b.Get("/@shop/").Want(t, 200, "Half of it").Without(t, said)
	b.Office.Degraded = "The NATS server <tower> has not answered since 14:02:03."
	b.Get("/@shop/").Want(t, 200, "Half of it", "The NATS server &lt;tower&gt; has not answered since 14:02:03.")
}
