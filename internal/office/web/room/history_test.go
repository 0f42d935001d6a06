package room_test

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/room"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/words"
)

func TestHistory(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder-1", Roles: []string{"builder"}}, mail.Presence{Name: "builder-2"})
	b.Send("builder-1", mail.Draft{Subject: "The lamp is lit", To: mail.Recipients{"builder-2"}, Type: "status",
		Issue: "LH-1"})
	asked := b.Send("builder-2", mail.Draft{Subject: "Which oil?", Body: "Whale or rape?", Type: "question"})
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"builder-2"}, Body: "RAPE oil", Type: "answer", ReplyTo: asked})

	all := b.Get("/@shop/history").Want(t, 200, "The lamp is lit", "Which oil?", "RAPE oil",
		"<b>3</b> messages in 2 conversations", "Today")
	if i, j := strings.Index(all.Body, "RAPE oil"), strings.Index(all.Body, "The lamp is lit"); i > j {
		t.Error("the newest is not first")
	}
	b.Register(mail.Presence{Name: "o'<b>neill"})
	tests := []struct {
		query    string
		has, not []string
	}{
		{"type=question", []string{"Which oil?", `<option selected>question</option>`,
			"Remove the filter type question"}, []string{"The lamp", "RAPE"}},
		{"type=question,answer", []string{"Which oil?", "RAPE", `<option selected>question,answer</option>`},
			[]string{"The lamp"}},
		{"agent=builder-1", []string{"The lamp"}, []string{"Which oil?"}},
		{"from=user", []string{"RAPE"}, []string{"Which oil?", "The lamp"}},
		{"to=user", []string{"Which oil?"}, []string{"RAPE", "The lamp"}},
		{"issue=LH-1", []string{"The lamp"}, []string{"Which oil?"}},
		{"state=queued&to=user", []string{"Which oil?"}, []string{"The lamp"}},
		{"since=1h", []string{"The lamp"}, nil},
		{"q=rape", []string{"<mark>RAPE</mark> oil", "1 more in this conversation", "in 1 conversation"},
			[]string{"The lamp"}},
		{"thread=" + string(asked), []string{"Which oil?", "RAPE"}, []string{"The lamp"}},
		{"q=&type=&agent=", []string{"<b>3</b>"}, []string{"Remove the filter"}},
		{"until=2001-01-01", []string{"No message matches this filter", "Without until", "<b>3</b>"},
			[]string{"The lamp"}},
		{"q=whale&type=status", []string{"No message matches all of these filters",
			">Without text</a> there is <b>1</b>", ">Without type</a> there is <b>1</b>"}, nil},
		{"agent=" + url.QueryEscape("o'<b>neill"), []string{"o&#39;&lt;b&gt;neill"}, []string{"o'<b>neill"}},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			b.Get("/@shop/history?"+tt.query).Want(t, 200, tt.has...).Without(t, tt.not...)
		})
	}
}

// TestHistoryRefuses tests that an invalid filter shows an error, and that the form keeps its contents.
func TestHistoryRefuses(t *testing.T) {
	b := newFixture(t)
	b.Send("builder-1", mail.Draft{Subject: "One"})
	for query, says := range map[string]string{
		"type=gossip&issue=LH-7":      "&#34;gossip&#34; is not a message type",
		"since=soon&issue=LH-7":       "&#34;soon&#34; is not a time",
		"until=2026-13-40&issue=LH-7": "is not a time",
		"agent=nobody&issue=LH-7":     "there is no agent",
		"state=lost&issue=LH-7":       "is not a delivery state",
		"before=x&issue=LH-7":         "is not a position in a list",
		"before=0-999&issue=LH-7":     "is in the future",
	} {
		b.Get("/@shop/history?"+query).Want(t, http.StatusBadRequest, says, `role="alert"`, `value="LH-7"`,
			`id="filters"`).Without(t, "No message matches")
		b.Part("/@shop/history?"+query, "list").Want(t, http.StatusBadRequest, says, `id="list"`).Without(t,
			`id="filters"`)
	}
}

// TestHistoryPart tests that a part is served alone, with the address without the form's empty fields.
func TestHistoryPart(t *testing.T) {
	b := newFixture(t)
	b.Send("builder-1", mail.Draft{Subject: "One"})
	const path = "/@shop/history?q=on%26e&type=&agent="
	a := b.Get(path, sitetest.AsScript("section#list"), func(r *http.Request) {
		r.Header.Set("HX-Source", "form#filters")
	}).Want(t, 200, `id="list"`).Without(t, "<html", `id="filters"`)
	if got := a.Header.Get("HX-Push-Url"); got != "/@shop/history?q=on%26e" {
		t.Errorf("pushed %q", got)
	}
	if got := b.Part(path, "list").Header.Get("HX-Push-Url"); got != "" {
		t.Errorf("what refreshes itself pushed %q", got)
	}
}

// TestHistoryPages tests that the list continues where it ended, without repeating a day's heading, until every
// message was shown once.
func TestHistoryPages(t *testing.T) {
	b := newFixture(t)
	for i := range 2*page.Rows + 7 {
		b.Send("builder-1", mail.Draft{Subject: "Number " + strconv.Itoa(i) + "."})
	}
	more := regexp.MustCompile(`id="more" class="more" href="([^"]*)"`)
	rows := regexp.MustCompile(`Number (\d+)\.`)
	a := b.Get("/@shop/history").Want(t, 200, `<h2 class="when">Today</h2>`)
	var seen []string
	for {
		for _, m := range rows.FindAllStringSubmatch(a.Body, -1) {
			seen = append(seen, m[1])
		}
		next := more.FindStringSubmatch(a.Body)
		if next == nil {
			break
		}
		a = b.Part(html.UnescapeString(next[1]), "more").Want(t, 200).Without(t, `<h2 class="when">`)
	}
	if len(seen) != 2*page.Rows+7 || seen[0] != strconv.Itoa(2*page.Rows+6) || seen[len(seen)-1] != "0" {
		t.Errorf("%d rows, from %s to %s", len(seen), seen[0], seen[len(seen)-1])
	}
}

func TestHistoryHostile(t *testing.T) {
	b := newFixture(t)
	b.Send(`evil"><img src=x>`, mail.Draft{Subject: sitetest.HostileText, Body: "# " + sitetest.HostileText + "\njavascript:alert(1)",
		Issue: `"><i>`, Docs: []mail.Doc{{Path: `"><u>`}}})
	for _, query := range []string{"", "?q=script", "?q=" + url.QueryEscape(sitetest.HostileText), "?q=%3C", "?q=%26",
		"?issue=" + url.QueryEscape(`"><i>`), "?type=" + url.QueryEscape(`"><i>`)} {
		a := b.Get("/@shop/history" + query)
		a.Without(t, "<script>alert", "<img", `"><i>`, `"><u>`)
		if query != "" && a.Code == 200 && !strings.Contains(a.Body, "<mark>") && strings.Contains(query, "q=s") {
			t.Errorf("%s: nothing is marked", query)
		}
	}
}

func TestMarked(t *testing.T) {
	for _, tt := range []struct{ text, search, want string }{
		{"plain", "", "plain"},
		{"a<b", "<", "a<mark>&lt;</mark>b"},
		{"Öl und öl", "ÖL", "<mark>Öl</mark> und <mark>öl</mark>"},
		{"İstanbul now", "now", "İstanbul <mark>now</mark>"}, // its lower case is longer
		{"Kelvin K now", "now", "Kelvin K <mark>now</mark>"},
		{"aaa", "aa", "<mark>aa</mark>a"},
		{"the write  path, the path", "path the", "<mark>the</mark> write  <mark>path</mark>, <mark>the</mark> " +
			"<mark>path</mark>"},
		{"the write\npath", `"Write path"`, "the <mark>write\npath</mark>"},
		{"x & y", "&", "x <mark>&amp;</mark> y"},
	} {
		if got := string(room.Marked(tt.text, tt.search)); got != tt.want {
			t.Errorf("marked(%q, %q) = %q, want %q", tt.text, tt.search, got, tt.want)
		}
	}
}

// FuzzMarked tests that marking loses no text and adds no markup, whatever the search.
func FuzzMarked(f *testing.F) {
	f.Add("İ<b>\xffx", "i")
	f.Add("a\u0130b", "B")
	f.Fuzz(func(t *testing.T, text, search string) {
		got := string(room.Marked(text, search))
		bare := strings.NewReplacer("<mark>", "", "</mark>", "").Replace(got)
		if strings.ContainsAny(bare, "<>\"") {
			t.Errorf("marked(%q, %q) = %q", text, search, got)
		}
		if want := strings.ReplaceAll(text, "\x00", "\uFFFD"); html.UnescapeString(bare) != want {
			t.Errorf("marked(%q, %q) = %q, which reads %q", text, search, got, html.UnescapeString(bare))
		}
		for _, s := range find.Parse(search).Spans(text) {
			if cut := room.Around(text, s.From, s.To); len(cut) > s.To-s.From+200 {
				t.Errorf("around(%q, %d, %d) = %q", text, s.From, s.To, cut)
			}
		}
	})
}

func TestOutcome(t *testing.T) {
	ds := func(states ...mail.DeliveryState) (out []mail.Delivery) {
		for _, s := range states {
			out = append(out, mail.Delivery{State: s})
		}
		return out
	}
	for _, tt := range []struct {
		ds   []mail.Delivery
		want string
	}{
		{nil, "no recipient yet"}, {ds(mail.Read), "read"}, {ds(mail.Read, mail.Queued), "1 of 2 read"},
		{ds(mail.Queued, mail.Queued), "queued"},
		{ds(mail.Read, mail.Dead), "not delivered"}, {ds(mail.Held), "held"}, {ds(mail.Archived), "archived"},
	} {
		if got := words.OutcomeOf(tt.ds).String(); got != tt.want {
			t.Errorf("outcomeOf(%v) = %q, want %q", tt.ds, got, tt.want)
		}
	}
}

// TestHistoryLive tests that a refresh has the beginning of the list with new rows, and leaves the rows loaded later
// alone.
func TestHistoryLive(t *testing.T) {
	b := newFixture(t)
	for i := range 2 * page.Rows {
		b.Send("builder-1", mail.Draft{Subject: "Number " + strconv.Itoa(i)})
	}
	shown := b.Get("/@shop/history").Want(t, 200, `id="later"`)
	live := regexp.MustCompile(`id="rows" hx-get="([^"]+)"`).FindStringSubmatch(shown.Body)
	if live == nil {
		t.Fatalf("the rows are not live: %s", shown.Body)
	}
	b.Send("builder-1", mail.Draft{Subject: "The newest"})
	rows := b.Part(html.UnescapeString(live[1]), "rows").Want(t, 200, "The newest", "Number 50<").Without(t,
		"Number 49<", `id="more"`, `id="list"`)
	if n := strings.Count(rows.Body, `class="row event"`); n != page.Rows+1 {
		t.Errorf("%d rows, want %d", n, page.Rows+1)
	}
	if again := regexp.MustCompile(`id="rows" hx-get="([^"]+)"`).FindStringSubmatch(rows.Body); again == nil ||
		again[1] != live[1] {
		t.Errorf("it goes on at %v, want %s", again, live[1])
	}
	b.Part("/@shop/history", "found").Want(t, 200, "<b>101</b> messages").Without(t, "The newest")
}

// TestHistoryExport tests that an export has all matches, oldest first, in the format for imports.
func TestHistoryExport(t *testing.T) {
	b := newFixture(t)
	const n = mail.MaxLimit + 20
	for i := range n {
		b.Send("builder-1", mail.Draft{Subject: "Number " + strconv.Itoa(i),
			Type: map[bool]string{true: "status", false: "question"}[i%2 == 0]})
	}
	a := b.Get("/@shop/history/export?format=jsonl").Want(t, 200)
	if got := a.Header.Get("Content-Disposition"); !regexp.MustCompile(
		`^attachment; filename=shop-\d{4}-\d\d-\d\d-\d{4}\.jsonl$`).MatchString(got) {
		t.Errorf("Content-Disposition: %s", got)
	}
	if got := a.Header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("Content-Type: %s", got)
	}
	lines := strings.Split(strings.TrimSuffix(a.Body, "\n"), "\n")
	if len(lines) != n {
		t.Fatalf("%d lines, want %d", len(lines), n)
	}
	var items []mail.Item
	for i, line := range lines {
		var it mail.Item
		if err := json.Unmarshal([]byte(line), &it); err != nil {
			t.Fatal(err)
		}
		if it.Subject != "Number "+strconv.Itoa(i) || len(it.Deliveries) != 1 {
			t.Fatalf("line %d: %s", i, line)
		}
		items = append(items, it)
	}
	if got, err := b.AddRoom("copy").As(mail.User).Import(context.Background(), items); err != nil || got.Added != n {
		t.Errorf("imported %+v, %v", got, err)
	}

	var array []mail.Item
	a = b.Get("/@shop/history/export?format=json&type=question&since=1h").Want(t, 200)
	if err := json.Unmarshal([]byte(a.Body), &array); err != nil || len(array) != n/2 {
		t.Errorf("%d messages, %v", len(array), err)
	}
	b.Get("/@shop/history/export?format=json&type=cancel").Want(t, 200, "[]\n")
	b.Get("/@shop/history/export?format=md&type=cancel").Want(t, 200, "No messages", "- type cancel")
	b.Get("/@shop/history/export?format=pdf").Want(t, 400, "not a format")
	b.Get("/@shop/history/export?format=md&type=gossip").Want(t, 400, "not a message type")
}

// TestHistoryExportFirst tests a journal whose first event is a message, as in a room to which the user writes first.
func TestHistoryExportFirst(t *testing.T) {
	b := newFixture(t)
	b.Get("/@shop/history/export?format=json").Want(t, 200, "[]\n")
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"all"}, Subject: "First"})
	a := b.Get("/@shop/history/export?format=jsonl").Want(t, 200, `"First"`)
	if strings.Count(a.Body, "\n") != 1 {
		t.Errorf("%s", a.Body)
	}
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"all"}, Subject: "Second"})
	a = b.Get("/@shop/history/export?format=jsonl").Want(t, 200, `"First"`, `"Second"`)
	if strings.Count(a.Body, "\n") != 2 {
		t.Errorf("%s", a.Body)
	}
}

func TestHistoryExportMarkdown(t *testing.T) {
	b := newFixture(t)
	b.Send("builder-1", mail.Draft{Subject: "# [x](javascript:1) `y`",
		Body: "```go\nnever closed\n## Not a heading\x1b[31m", Issue: "LH-9", Docs: []mail.Doc{{Path: "docs/*.md"}}})
	a := b.Get("/@shop/history/export?format=md").Want(t, 200,
		"# shop, as of ", "\n## ", "\\# \\[x\\](javascript:1) \\`y\\`\n",
		"\n> ```go\n> never closed\n> ## Not a heading[31m\n", "- issue LH-9\n", "- document docs/\\*.md\n",
		"- user: queued")
	if strings.ContainsRune(a.Body, '\x1b') {
		t.Error("a control character is in the file")
	}
}

func TestHistoryWithoutRooms(t *testing.T) {
	b := newFixture(t)
	b.Office.Names = nil
	closing := b.Office.Open
	b.Office.Open = nil
	t.Cleanup(func() {
		for _, r := range closing {
			_ = r.Close()
		}
	})
	b.Get("/history").Want(t, 200, "No mail has come")
	b.Get("/flow").Want(t, 200, "No mail has come")
	b.Get("/t/x").Want(t, 404)
	b.Get("/history/export?format=json").Want(t, 404)
}

// TestHistoryHidesDeleted tests that a deleted message is hidden immediately, while it can still be undone.
func TestHistoryHidesDeleted(t *testing.T) {
	b := newFixture(t)
	gone := b.Send("builder-1", mail.Draft{Subject: "Burn this"})
	b.Send("builder-1", mail.Draft{Subject: "Keep this", ReplyTo: gone})
	b.Post("/@shop/delete", url.Values{"id": {string(gone)}}).Want(t, 303)
	for _, path := range []string{"/history", "/t/" + string(gone), "/flow"} {
		b.Get("/@shop"+path).Want(t, 200, "Keep this").Without(t, "Burn this")
	}
	b.Get("/@shop/history/export?format=jsonl").Want(t, 200, "Keep this").Without(t, "Burn this")
}
