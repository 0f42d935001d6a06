package web

import (
	"context"
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
	"pennypost/internal/office/web/words"
)

// rowsOf returns the ids of the rows of a page, in their order.
func rowsOf(shown string) (ids []string) {
	for _, m := range regexp.MustCompile(`class="row[^"]*" id="row-([^"]*)"`).FindAllStringSubmatch(shown, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// link returns an attribute's value in the element that begins so.
func link(t *testing.T, shown, element, attribute string) string {
	t.Helper()
	_, rest, ok := strings.Cut(shown, element)
	tag, _, _ := strings.Cut(rest, ">")
	_, value, found := strings.Cut(tag, " "+attribute+`="`)
	if !ok || !found {
		t.Fatalf("there is no %s with %s in %s", element, attribute, shown)
	}
	value, _, _ = strings.Cut(value, `"`)
	return strings.ReplaceAll(value, "&amp;", "&")
}

func TestInboxRow(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann"})
	asked := b.send("ann", mail.Draft{Type: "question", Issue: "SH-1", Body: "# Shall I?\n\nOr not."})
	b.send("ann", mail.Draft{Subject: "With documents", Docs: []mail.Doc{{Path: "a.md"}, {Path: "b.md"}}})
	b.send("ann", mail.Draft{Type: "question", Priority: "urgent", Subject: "Which?",
		Metadata: mail.Metadata(`{"options":["Left","Right"]}`)})
	shown := b.get("/@shop/").want(t, 200, "Shall I?", "needs an answer", ">urgent</span>", "SH-1", "Unread: ",
		"2 documents",
		`<h3 class="when">Today</h3>`, words.Color("ann"), `Needs you <span class="number">2</span>`, "Updates",
		`<kbd>1</kbd> <bdi>Left</bdi>`, `data-asks="2"`, `(2) Inbox`)
	if n := len(rowsOf(shown.Body)); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	b.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, ReplyTo: asked, Type: "answer", Body: "Yes."})
	b.get("/@shop/").want(t, 200, "Shall I?").without(t, "needs an answer")
}

// TestInboxParts: what needs the user comes first, the urgent and then the oldest, and updates follow, the newest
// first. A conversation is one row, whose form names all its messages. Status reports are one row, until they are
// unfolded.
func TestInboxParts(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann"}, mail.Presence{Name: "ben"})
	first := b.send("ann", mail.Draft{Type: "question", Subject: "First?"})
	second := b.send("ben", mail.Draft{Type: "question", Subject: "Second?"})
	told := b.send("ann", mail.Draft{Subject: "A report"})
	more := b.send("ann", mail.Draft{Subject: "More of it", ReplyTo: told})
	urgent := b.send("ben", mail.Draft{Subject: "It burns", Priority: "urgent"})
	reports := []mail.ID{b.send("ann", mail.Draft{Type: "status", Subject: "Half of it"}),
		b.send("ben", mail.Draft{Type: "status", Subject: "All of it"})}
	shown := b.get("/@shop/").want(t, 200, "2 status reports", `data-messages="shop/`+string(told)+"\nshop/"+
		string(more)+`"`,
		`title="2 messages"`).without(t, "Half of it")
	want := []string{string(urgent), string(first), string(second), string(more)}
	if got := rowsOf(shown.Body); !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
	unfold := link(t, shown.Body, `id="reports"`, "href")
	open := b.get(unfold).want(t, 200, `aria-expanded="true"`, "Half of it", "All of it")
	if got := len(rowsOf(open.Body)); got != 6 {
		t.Errorf("unfolded there are %d rows, want 6", got)
	}
	// What is done with the folded row is done with all that it stands for, and with nothing that came later.
	line := link(t, shown.Body, `id="slot-`+string(reports[1])+`"`, "data-messages")
	if _, err := b.as(mail.User).Import(t.Context(), []mail.Item{{Message: mail.Message{ID: "later", Type: "status",
		From: "agent:ann", To: []mail.Address{"user"}, Body: "Later",
		Sent: mail.TimeOf(time.Now().Add(time.Second))}}}); err != nil {
		t.Fatal(err)
	}
	b.post("/@shop/mark", url.Values{"messages": {line}, "mark": {"archived"}}, asScript("div#toasts")).want(t, 200,
		"Archived 2 messages", line)
	if got := b.ids(mail.InArchived); len(got) != 2 || slices.Contains(got, mail.ID("later")) {
		t.Errorf("archived are %q", got)
	}
	// An open question that was archived stays in sight.
	b.post("/@shop/mark", url.Values{"id": {string(first)}, "mark": {"archived"}, "open": {"archive"}}).want(t, 303)
	shown = b.get("/@shop/").want(t, 200, "Archived, and still open", "First?")
	if got := rowsOf(shown.Body)[:3]; !slices.Equal(got, []string{string(urgent), string(second), string(first)}) {
		t.Errorf("the rows begin with %q", got)
	}
}

// TestInboxRooms: the inbox is over all rooms, and each room is a filter; links to a letter lead where they did.
func TestInboxRooms(t *testing.T) {
	b := newFixture(t)
	b.addRoom("macro")
	b.register(mail.Presence{Name: "ann"})
	own := b.send("ann", mail.Draft{Subject: "Here"})
	b.brought(1, "agent:ann", map[string]time.Duration{"there": time.Hour})
	want := []string{string(own), "there"}
	for _, path := range []string{"/", "/?rooms=all", "/@shop/?rooms=all", "/@macro/?rooms=all"} {
		shown := b.get(path).want(t, 200, `<span class="room">macro</span>`, `data-rooms="all"`,
			`class="name">All rooms<`)
		if got := rowsOf(shown.Body); !slices.Equal(got, want) {
			t.Errorf("%s has %q", path, got)
		}
	}
	for path, want := range map[string]string{"/@shop/": string(own), "/@macro/": "there",
		"/@macro/?m=there": "there"} {
		shown := b.get(path).want(t, 200, `/?rooms=all">`).without(t, `class="room"`, `data-rooms`)
		if got := rowsOf(shown.Body); !slices.Equal(got, []string{want}) {
			t.Errorf("%s has %q", path, got)
		}
	}
	b.get("/@macro/?m=there&rooms=all").want(t, 200, `id="row-`+string(own), `aria-current="true"`,
		`action="/@macro/mark"`)
	b.get("/?m="+string(own)).want(t, 200, `aria-current="true"`, "Here") // in the room that changed last
	b.get("/@macro/?m="+string(own)).want(t, 404)
}

// TestInboxEarlier: a letter has what was said before and after with it, and opening it reads that too.
func TestInboxEarlier(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann"})
	root := b.send("ann", mail.Draft{Subject: "Root", Body: "It *begins*."})
	asked := b.send("ann", mail.Draft{Type: "question", Subject: "Which?", ReplyTo: root})
	after := b.send("ann", mail.Draft{Body: "I cannot wait.", ReplyTo: asked})
	shown := b.get("/@shop/?m="+string(asked)).want(t, 200, "1 earlier message</summary>", `id="m-`+string(root),
		`id="m-`+string(after), `id="earlier" hx-morph-skip`)
	opens := link(t, shown.Body, `id="opened"`, "data-messages")
	b.post("/@shop/opened", url.Values{"messages": {opens}}, asScript("article#letter")).want(t, 200, `id="letter"`)
	for _, id := range []mail.ID{root, asked, after} {
		if !b.item(id).Read {
			t.Errorf("%s stood on the page and is unread", id)
		}
	}
}

func TestInboxPages(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann"})
	var sent []string
	for i := range 2*page.Rows + 20 {
		sent = append(sent, string(b.send("ann", mail.Draft{Subject: fmt.Sprintf("Report %d", i)})))
	}
	slices.Reverse(sent)
	first := b.get("/@shop/").want(t, 200)
	got := rowsOf(first.Body)
	live := link(t, first.Body, `id="rows"`, "hx-get")
	shown := first.Body
	for strings.Contains(shown, `id="more"`) {
		shown = b.part(link(t, shown, `id="more"`, "hx-get"), "more").want(t, 200).without(t, "<html",
			`class="when"`).Body
		got = append(got, rowsOf(shown)...)
	}
	if !slices.Equal(got, sent) {
		t.Errorf("the pages of the list have %d rows, want the %d messages, each once, newest first", len(got),
			len(sent))
	}
	// What is live is what the page showed first, and what came since.
	fresh := string(b.send("ann", mail.Draft{Subject: "Fresh"}))
	again := b.part(live, "rows").want(t, 200, `id="rows"`).without(t, "<html", `id="more"`)
	want := append([]string{fresh}, sent[:page.Rows]...)
	for range 2 { // what was got again is got again as far
		if !slices.Equal(rowsOf(again.Body), want) {
			t.Errorf("refreshed, the list begins with %d rows, want %d", len(rowsOf(again.Body)), len(want))
		}
		again = b.part(link(t, again.Body, `id="rows"`, "hx-get"), "rows")
	}
}

func TestOpenMarksOne(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann"}, mail.Presence{Name: "ben"})
	one, two := b.send("ann", mail.Draft{Subject: "One"}), b.send("ann", mail.Draft{Subject: "Two"})
	other := b.send("ann", mail.Draft{To: mail.Recipients{"ben"}, Subject: "Not for the user"})
	b.part("/@shop/letter?m="+string(one), "letter").want(t, 200, "One", "unread")
	const sign = `id="opened"` // by which our script knows that it is to say that the letter was opened
	b.part("/@shop/?m="+string(one), "detail").want(t, 200, "<title>• One", `id="letter"`, sign).without(t, "<html",
		"Two")
	// and without script there is a button
	b.get("/@shop/?m="+string(one)).want(t, 200, sign, "<span>unread</span>", `value="read"`)
	if b.item(one).Read {
		t.Fatal("a GET marked the message read")
	}
	b.post("/@shop/opened", url.Values{"id": {string(one)}}, asScript("article#letter")).want(t, 200, `id="letter"`,
		"<span>read</span>").without(t, sign, "<html")
	if !b.item(one).Read || b.item(two).Read {
		t.Errorf("opening one of two marked: %v, %v", b.item(one).Read, b.item(two).Read)
	}
	b.get("/@shop/?m="+string(one)).want(t, 200, "<title>• One").without(t, sign)
	b.get("/@shop/?m="+string(other)).want(t, 200, "Not for the user").without(t, `id="acts"`, sign)
	b.post("/@shop/opened", url.Values{"id": {string(two)}}, asScript("article#letter"))
	b.get("/@shop/?show=unread").want(t, 200, "All read.")
}

// TestGetChangesNothing asks for every page there is, of every kind of message, and finds the journal as it was.
func TestGetChangesNothing(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann", Roles: []string{"builder"}, State: mail.Working})
	letters := []mail.ID{
		b.send("ann", mail.Draft{Subject: "A report"}),
		b.send("ann", mail.Draft{Type: "question", Body: "Which?", Metadata: mail.Metadata(`{"options":["a","b"]}`)}),
		b.send("ann", mail.Draft{To: mail.Recipients{"role:reviewer"}, Subject: "Held"}),
		b.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Subject: "From the user"}),
	}
	snoozed := b.send("ann", mail.Draft{Subject: "Later"})
	if _, err := b.as(mail.User).Mark(t.Context(), mail.Marking{IDs: []mail.ID{snoozed}, Mark: mail.MarkSnoozed,
		Until: mail.TimeOf(time.Now().Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	letters = append(letters, snoozed)
	closed, cancel := context.WithCancel(t.Context())
	cancel()
	ended := func(r *http.Request) { *r = *r.WithContext(closed) } // streams end at once
	link := b.site.Link("shop", false)
	place := func() mail.Seq {
		st, err := b.as(mail.User).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Seq
	}
	before, asked := place(), 0
	look := func(path string) {
		t.Helper()
		asked++
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, how := range [][]func(*http.Request){{}, {asScript("section#detail")}, {asScript("article#letter")},
				{asScript("section#rows")}} {
				if strings.Contains(path, "/events") {
					how = append(how, ended)
				}
				b.do(method, path, nil, how...)
			}
			if now := place(); now != before {
				t.Fatalf("%s %s wrote in the journal: from %d to %d", method, path, before, now)
			}
		}
	}
	for pattern, path := range paths(b.site) {
		if !strings.HasPrefix(pattern, "GET ") {
			continue
		}
		look("/@shop" + path)
		for _, id := range letters {
			look("/@shop" + path + "?m=" + string(id) + "&n=0&q=report&reply=" + string(id))
			look("/@shop" + strings.TrimSuffix(path, "/x") + "/" + string(id))
		}
	}
	for _, path := range []string{link, "/logout", "/favicon.svg?n=3", "/static/app.css", "/@shop/agents/ann",
		"/@shop/channels/role:reviewer", "/@shop/t/" + string(letters[0]) + "/read",
		"/@shop/mark?id=" + string(letters[0])} {
		look(path)
	}
	b.get("/@shop/").want(t, 200) // who looked at /logout is logged in
	b.enters(link, stranger).want(t, http.StatusSeeOther)
	if asked < 50 {
		t.Errorf("%d addresses were looked at", asked)
	}
}

func TestInboxNothing(t *testing.T) {
	b := newFixture(t)
	b.get("/@shop/").want(t, 200, "nobody has written yet", `id="steps"`, "No agent is connected yet.",
		"pennypost install").without(t, `class="did"`)
	b.register(mail.Presence{Name: "ann", State: mail.Working}, mail.Presence{Name: "ben", State: mail.Idle},
		mail.Presence{Name: "cy", State: mail.Idle})
	b.get("/@shop/").want(t, 200, "Agent connected: <bdi>ann</bdi>, <bdi>ben</bdi>, <bdi>cy</bdi>", `class="did"`)
	b.send("ann", mail.Draft{To: mail.Recipients{"ben"}})
	b.get("/@shop/").want(t, 200, "Nothing needs you.", "1 agent is working, and 2 wait for something to do.").
		without(t, `id="steps"`)
	b.get("/@shop/?show=archived").want(t, 200, "Nothing is archived.")
	b.get("/@shop/?show=snoozed").want(t, 200, "Nothing is snoozed.")

	empty := newFixture(t)
	rooms, names := empty.office.open, empty.office.names
	empty.office.open, empty.office.names = nil, nil
	empty.get("/").want(t, 200, "pennypost send --to user --body", `id="steps"`)
	for _, path := range []string{"/letter?m=x", "/doc?m=x&n=0"} {
		empty.get(path).want(t, 404)
	}
	empty.office.open, empty.office.names = rooms, names // they are closed with the fixture
}

func TestInboxErrors(t *testing.T) {
	b := newFixture(t)
	for path, code := range map[string]int{
		"/@shop/?m=nothing": 404, "/@shop/?show=<b>": 400, "/@shop/?after=x": 400, "/@shop/?down=x": 400,
		"/@nowhere/": 404, "/@shop/letter?m=x": 303,
	} {
		b.get(path).want(t, code).without(t, "<b>")
	}
}

// hostile is text that is markup, script and a template, and leads the eye astray.
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{.}}' --><b`

// harmless fails the test if something that was written by another is part of the page.
func (a fixtureAnswer) harmless(t *testing.T) fixtureAnswer {
	t.Helper()
	return a.want(t, 200).without(t, "<img src=x", "<script>alert", `"><img`, "<b\"", "javascript:")
}

func TestInboxInjection(t *testing.T) {
	b := newFixture(t)
	name := mail.Name(hostile)
	task := "x"
	b.register(mail.Presence{Name: name, Client: hostile, Session: hostile, Task: &task, State: mail.Working})
	id := b.send(name, mail.Draft{
		Subject: hostile, Body: hostile + "\n\n[x](javascript:alert(1)) ![y](https://tracker.example/p.png)",
		Type: "question", Issue: hostile[:40],
		Docs: []mail.Doc{{Path: hostile, Revision: hostile}},
		Metadata: mail.Metadata(
			`{"options":["\"><img src=x onerror=alert(1)>",{"label":"<script>alert(3)</script>","description":"<b onmouseover=x>"}]}`),
	})
	b.send(mail.User, mail.Draft{To: mail.Recipients{string(mail.AgentAddress(name))}, ReplyTo: id, Body: hostile})
	if _, err := b.as(mail.User).Import(t.Context(), []mail.Item{{Message: mail.Message{
		ID: mail.ID(hostile), From: mail.AgentAddress(name), To: []mail.Address{mail.ToUser}, Body: hostile,
		Via: hostile[:20], Sent: 1,
	}}}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{string(id), hostile} {
		q := "?m=" + strings.NewReplacer("%", "%25", "<", "%3C", ">", "%3E", `"`, "%22", "'", "%27", " ", "%20", "{",
			"%7B", "}", "%7D", "=", "%3D", "/", "%2F").Replace(m)
		b.get("/@shop/" + q).harmless(t)
		b.part("/@shop/"+q, "detail").harmless(t)
		b.part("/@shop/letter"+q, "letter").harmless(t)
		b.part("/@shop/"+q, "rows").harmless(t)
	}
	b.post("/@shop/mark", map[string][]string{"id": {hostile}, "mark": {"archived"}},
		asScript("div#toasts")).harmless(t)
}

// TestOldInboxSaysSo holds that an inbox which may be old says of when it is.
func TestOldInboxSaysSo(t *testing.T) {
	b := newFixture(t)
	b.send("ann", mail.Draft{Subject: "Half of it"})
	const said = "This is as of 14:02; the NATS servers cannot be reached."
	b.office.trouble = "as of 14:02; the NATS servers cannot be reached"
	b.get("/@shop/").want(t, 200, said, "Half of it")
	b.office.trouble = ""
	b.get("/@shop/").want(t, 200, "Half of it").without(t, said)
}
