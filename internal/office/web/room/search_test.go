package room_test

import (
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
)

// TestSearchWords tests that the words in the search box that name filters become filters, and no others.
func TestSearchWords(t *testing.T) {
	for typed, want := range map[string]page.Filters{
		"harbour lights": {"q": "harbour lights"},
		"lights from:scout yesterday": {"q": "lights", "from": "scout", "since": "yesterday",
			"until": "yesterday"},
		`"from:scout yesterday" Today`:    {"q": `"from:scout yesterday"`, "since": "today", "until": "today"},
		`To:role:builder from:"odd name"`: {"to": "role:builder", "from": "odd name"},
		`on:2026-05-09 type:question x`: {"q": "x", "type": "question", "since": "2026-05-09",
			"until": "2026-05-09"},
		`since:"last week" until:monday`:   {"since": "last week", "until": "monday"},
		`status:"ok"  5" disk from: :ann`:  {"q": `status:"ok"  5" disk from: :ann`},
		`"an "inner" one" https://a.b/x:y`: {"q": `"an "inner" one" https://a.b/x:y`},
		"issue:PP-12":                      {"issue": "PP-12"},
		"yesterday's news":                 {"q": "yesterday's news"},
	} {
		if diff := cmp.Diff(want, page.FiltersOf(url.Values{"q": {typed}})); diff != "" {
			t.Errorf("%q: -want +got\n%s", typed, diff)
		}
	}
}

// TestFindYesterday tests that two words in the search box find a message of yesterday among others with the same
// word.
func TestFindYesterday(t *testing.T) {
	now := time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)
	q, err := page.FiltersOf(url.Values{"q": {"harbour yesterday"}}).Query(now)
	if err != nil || q.Search != "harbour" || len(strings.Fields("harbour yesterday")) > 3 {
		t.Fatalf("%+v, %v", q, err)
	}
	for day, want := range map[int]bool{8: false, 9: true, 10: false} {
		sent := mail.TimeOf(time.Date(2026, 5, day, 12, 0, 0, 0, time.UTC))
		if got := q.Since <= sent && sent < q.Until; got != want {
			t.Errorf("day %d: %v, want %v", day, got, want)
		}
	}
}

// TestSearchPage tests that the text of the search box fills the fields, and that matches are marked.
func TestSearchPage(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "scout"}, mail.Presence{Name: "ann"})
	b.Send("scout", mail.Draft{Subject: "Old lights", Body: "Of the **harbour** master: [a table](https://a.b)"})
	b.Send("ann", mail.Draft{Subject: "Of the harbour"})
	a := b.Get("/@shop/history?q=harbour+lights+from:scout+today").Want(t, 200, "<b>1</b> message in 1 conversation",
		`name="q" type="search" value="harbour lights"`, `name="from" value="scout"`, `name="since" value="today"`,
		"Old <mark>lights</mark>", "Of the <mark>harbour</mark> master: a table")
	a.Without(t, "**harbour", "Of the <mark>harbour</mark></bdi>")
	b.Get("/@shop/history?q=from:nobody").Want(t, 400, "nobody")
	b.Get("/@shop/palette?q=lights+from:scout").Want(t, 200, "Old lights")
	b.Get("/@shop/palette?q=since:soon").Want(t, 200)
}

// TestSearchByConversation tests that each conversation is listed once, as its best match, with the number of others,
// sorted by time sent whenever mail arrived.
func TestSearchByConversation(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "bob"})
	far := "harbour " + strings.Repeat("and so on ", 30) + "lights"
	root := b.Send("ann", mail.Draft{To: mail.Recipients{"bob"}, Subject: "The question", Body: far})
	for _, d := range []mail.Draft{{Subject: "Lights of the harbour"}, {Body: "harbour lights, close by"}, {Body: far},
		{Body: "nothing"}} {
		d.To, d.ReplyTo = mail.Recipients{"ann"}, root
		b.Send("bob", d)
	}
	b.Send("ann", mail.Draft{Body: "Harbour without lights"})
	a := b.Get("/@shop/history?q=harbour+lights").Want(t, 200, "<b>5</b> messages in 2 conversations",
		"<mark>Lights</mark> of the <mark>harbour</mark>", "3 more in this conversation", "without")
	a.Without(t, "The question", "close by")
	if n := strings.Count(a.Body, `class="row event"`); n != 2 {
		t.Errorf("%d rows for two conversations", n)
	}
	b.Get("/@shop/history").Without(t, "more in this conversation")
}

// TestSearchPages tests that every conversation is reached once, and that a refresh covers the same rows.
func TestSearchPages(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "bob"})
	const n = 2*page.Rows + 2
	var roots []mail.ID
	for i := range n {
		roots = append(roots, b.Send("ann", mail.Draft{To: mail.Recipients{"bob"}, Subject: "Of lamp " +
			strconv.Itoa(i)}))
	}
	for i := range n { // the last match and the one shown of a conversation are far apart
		b.Send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "a lamp", ReplyTo: roots[(i*7)%n]})
	}
	shown := regexp.MustCompile(`id="row-([^"]+)"`)
	link := func(pattern, text string) string {
		if m := regexp.MustCompile(pattern + `"([^"]+)"`).FindStringSubmatch(text); m != nil {
			return html.UnescapeString(m[1])
		}
		return ""
	}
	seen := make(map[string]bool)
	a := b.Get("/@shop/history?q=lamp").Want(t, 200, "<b>204</b> messages in 102 conversations")
	live := link(`id="rows" hx-get=`, a.Body)
	for pages := 1; ; pages++ {
		rows := shown.FindAllStringSubmatch(a.Body, -1)
		for _, m := range rows {
			if seen[m[1]] {
				t.Errorf("%s is there again", m[1])
			}
			seen[m[1]] = true
		}
		if k := strings.Count(a.Body, "1 more in this conversation"); k != len(rows) {
			t.Errorf("page %d has %d rows, and %d with another hit", pages, len(rows), k)
		}
		next := link(`id="more" class="more" href=`, a.Body)
		if next == "" {
			break
		}
		a = b.Part(next, "more").Want(t, 200).Without(t, `<h2 class="when">`)
	}
	if len(seen) != n {
		t.Errorf("%d conversations were reached, want %d", len(seen), n)
	}
	b.Send("ann", mail.Draft{To: mail.Recipients{"bob"}, Subject: "The newest lamp"})
	again := b.Part(live, "rows").Want(t, 200, "The newest <mark>lamp</mark>")
	if k := len(shown.FindAllString(again.Body, -1)); k != page.Rows+1 ||
		link(`id="rows" hx-get=`, again.Body) != live {
		t.Errorf("got again it has %d rows, want %d", k, page.Rows+1)
	}
	all := b.Part("/@shop/history?q=lamp&down=", "rows").Want(t, 200)
	if k := len(shown.FindAllString(all.Body, -1)); k != n+1 {
		t.Errorf("a list that is there to its end has %d rows, want %d", k, n+1)
	}
}
