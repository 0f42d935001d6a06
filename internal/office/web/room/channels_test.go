package room_test

import (
	"cmp"
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
	"pennypost/internal/office/web/room"
	"pennypost/internal/office/web/sitetest"
)

func TestChannels(t *testing.T) {
	b := newFixture(t)
	b.Get("/@shop/channels").Want(t, http.StatusOK, "Everyone", "no recent messages", "Choose a channel")
	b.Register(
		mail.Presence{Name: "builder", State: mail.Working, Roles: []string{"builder"},
			Tags: []string{"project:inscription"}},
		mail.Presence{Name: "cold", State: mail.Frozen, Tags: []string{"project:inscription"}},
		mail.Presence{Name: "other", State: mail.Idle},
	)
	b.Send("builder", mail.Draft{To: mail.Recipients{"project:inscription"}, Body: "One"})
	b.Send("builder", mail.Draft{To: mail.Recipients{"project:inscription"}, Body: "Two"})
	b.Send("cold", mail.Draft{To: mail.Recipients{"project:inscription"}, Subject: "Three", Body: "x"})
	b.Send("other", mail.Draft{To: mail.Recipients{"concern:speed"}, Body: "Only written to"})
	b.Send("other", mail.Draft{To: mail.Recipients{"agent:builder"}, Body: "Between two"})

	got := b.Get("/@shop/channels/project:inscription").Want(t, http.StatusOK,
		`href="/@shop/channels/all"`, `href="/@shop/channels/role:builder"`, `href="/@shop/channels/concern:speed"`,
		`<bdi>inscription</bdi>`, `title="3 messages recently"`,
		`id="audience"`, `href="/@shop/agents/builder"`, `href="/@shop/agents/cold"`, "One", "Two", "Three", "Today",
		"read by 0 of 1", `name="to" value="project:inscription"`, `aria-current="true"`)
	if _, talk, _ := strings.Cut(got.Body, `id="talk"`); strings.Contains(talk, "Between two") {
		t.Error("the channel shows what was said elsewhere")
	}
	if n := strings.Count(got.Body, `class="said goes-on"`); n != 1 {
		t.Errorf("%d messages go on with what the same sender said, want 1", n)
	}
	b.Part("/@shop/channels/project:inscription", "talk").Want(t, http.StatusOK, `<section id="talk"`,
		"One").Without(t, "<html", "<nav", "<textarea")
	b.Part("/@shop/channels/project:inscription", "channels").Want(t, http.StatusOK, `<nav id="channels"`,
		`aria-current="true"`).Without(t, "<html", `id="talk"`)
	b.Part("/@shop/channels/project:inscription", "audience").Want(t, http.StatusOK,
		`<header id="audience"`).Without(t, "<html", `id="talk"`)
	b.Part("/@shop/channels/project:inscription", "writing").Want(t, http.StatusOK, `<textarea`).Without(t, "<html",
		`id="talk"`)
}

// TestChannelThreads tests that agents' threads are listed beside the channels, and that a message written in one is
// sent to that agent.
func TestChannelThreads(t *testing.T) {
	b := newFixture(t)
	b.Register(
		mail.Presence{Name: "ann", State: mail.Idle, Tags: []string{"concern:governance"}},
		mail.Presence{Name: "bea", State: mail.Gone},
		mail.Presence{Name: "cold", State: mail.Gone},
	)
	b.Send("ann", mail.Draft{To: mail.Recipients{"bea"}, Subject: "Between two", Body: "Which stone?"})
	b.Send("ann", mail.Draft{To: mail.Recipients{"concern:governance"}, Body: "To those who care"})
	list := b.Part("/@shop/channels/agent:bea", "channels").Want(t, 200).Body
	var got []string
	for _, m := range regexp.MustCompile(`<h2 class="when">(.*?)</h2>|<a class="row" href="/@shop/channels/([^"]*)"`).
		FindAllStringSubmatch(list, -1) {
		got = append(got, m[1]+m[2])
	}
	if want := "Everyone all Tags concern:governance Agents agent:ann agent:bea"; strings.Join(got, " ") != want {
		t.Errorf("the list is %q, want %q", got, want)
	}
	b.Get("/@shop/channels/agent:bea").Want(t, 200, "Which stone?", `<span class="to">to <bdi>bea</bdi>`,
		`name="to" value="agent:bea"`, `href="/@shop/agents/bea"`).Without(t, `<p dir="auto">To those who care</p>`)
	b.Post("/@shop/send", url.Values{"to": {"agent:bea"}, "body": {"The third."},
		"next": {"/channels/agent:bea"}}).Want(t, 303)
	b.Get("/@shop/channels/agent:bea").Want(t, 200, "said mine", "The third.")
	b.Get("/@shop/channels/agent:nobody").Want(t, 404)
	if err := b.As(mail.User).Retire(t.Context(), "bea"); err != nil {
		t.Fatal(err)
	}
	if to := b.Get("/@shop/channels/agent:bea").Want(t, 303).Header.Get("Location"); !strings.Contains(to,
		"/history?") {
		t.Errorf("the thread of one who was retired leads to %s", to)
	}
}

// TestManyThreads tests that the list has the agents with the latest mail if there are many.
func TestManyThreads(t *testing.T) {
	b := newFixture(t)
	for i := range room.MaxThreads + 5 {
		b.Register(mail.Presence{Name: mail.Name(fmt.Sprintf("agent-%02d", i)), State: mail.Idle})
	}
	b.Send("agent-54", mail.Draft{Body: "Still here"})
	page := b.Get("/@shop/channels").Want(t, 200, "Still here", "5 more agents").Body
	if n := strings.Count(page, `href="/@shop/channels/agent:`); n != room.MaxThreads {
		t.Errorf("%d threads, want %d", n, room.MaxThreads)
	}
}

// TestTalkBySent tests that last week's mail is above today's, whenever it arrived, and that each day has one
// heading.
func TestTalkBySent(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann", Tags: []string{"project:x"}})
	b.Send("ann", mail.Draft{To: mail.Recipients{"project:x"}, Body: "said today"})
	now := time.Now()
	var items []mail.Item
	for i, days := range []int{9, 3, 12, 3, 9} {
		items = append(items, mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprintf("m%d", i)), Type: "custom",
			From: "agent:ann", To: []mail.Address{"project:x"}, Body: fmt.Sprintf("imported %d", i),
			Sent: mail.TimeOf(now.AddDate(0, 0, -days).Add(time.Duration(i) * time.Second))}})
	}
	if _, err := b.As(mail.User).Import(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/@shop/channels/project:x", "/@shop/agents/ann", "/@shop/channels/agent:ann"} {
		_, talk, _ := strings.Cut(b.Get(path).Want(t, 200).Body, `id="talk"`)
		var bodies []string
		for _, m := range regexp.MustCompile(`<p dir="auto">([a-z]+ \w+)</p>`).FindAllStringSubmatch(talk, -1) {
			bodies = append(bodies, m[1])
		}
		if want := "imported 2, imported 0, imported 4, imported 1, imported 3, said today"; strings.Join(bodies,
			", ") != want {
			t.Errorf("%s: %q, want %q", path, bodies, want)
		}
		headings := regexp.MustCompile(`<h2 class="date"><span>(.*?)</span>`).FindAllString(talk, -1)
		if n := len(headings); n != 4 || len(slices.Compact(slices.Sorted(slices.Values(headings)))) != n {
			t.Errorf("%s: the headings are %q, want 4, each once", path, headings)
		}
	}
}

// TestTalkEarlier goes back through a conversation whose messages arrived in another order than they were sent.
func TestTalkEarlier(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann", Tags: []string{"project:x"}})
	const n = 120
	var items []mail.Item
	for i := range n {
		minutes := i * 7 % n // of two that are a minute apart, either may have arrived first
		items = append(items, mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprintf("m%03d", minutes)),
			Type: "custom", From: "agent:ann", To: []mail.Address{"project:x"}, Body: "x",
			Sent: mail.TimeOf(time.Now().Add(-time.Duration(n-minutes) * time.Minute))}})
	}
	if _, err := b.As(mail.User).Import(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	path := "/@shop/channels/project:x"
	for _, want := range []int{50, 100, 120} {
		page := b.Part(path, "talk").Want(t, 200).Body
		ids := regexp.MustCompile(`id="m-(m\d+)"`).FindAllStringSubmatch(page, -1)
		if len(ids) != want || !slices.IsSortedFunc(ids, func(a, b []string) int { return cmp.Compare(a[1], b[1]) }) {
			t.Fatalf("%d messages, from %v to %v; want the last %d in order", len(ids), ids[0], ids[len(ids)-1], want)
		}
		if want < n {
			path = sitetest.Link(t, page, `id="earlier"`, "hx-get")
		}
	}
}

func TestChannelOfRole(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "lead"})
	b.Send("lead", mail.Draft{To: mail.Recipients{"role:reviewer"}, Subject: "Look", Type: "review-request"})
	b.Get("/@shop/channels/role:reviewer").Want(t, http.StatusOK, "No agent has the role", "1 held",
		`<span class="state" title="held">held</span>`)
	b.Register(mail.Presence{Name: "rita", Roles: []string{"reviewer"}})
	b.Get("/@shop/channels/role:reviewer").Want(t, http.StatusOK, "taken by", "rita").Without(t, "1 held")
}

func TestChannelSend(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder", Tags: []string{"project:inscription"}})
	form := map[string][]string{"to": {"project:inscription"}, "body": {"Hello all"},
		"next": {"/channels/project:inscription"}}
	a := b.Post("/@shop/send", form).Want(t, http.StatusSeeOther)
	if to := a.Header.Get("Location"); to != "/@shop/channels/project:inscription" {
		t.Errorf("it goes on at %s", to)
	}
	b.Get("/@shop/channels/project:inscription").Want(t, http.StatusOK, "Hello all", "said mine")
	b.Post("/@shop/send", form, sitetest.AsScript("form")).Want(t, http.StatusOK,
		"<bdi>builder</bdi>: sees it when it next looks")
}

func TestChannelErrors(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"})
	b.Get("/@shop/channels/nothing").Want(t, http.StatusNotFound, "not a channel")
	b.Get("/@shop/channels/user").Want(t, http.StatusNotFound)
	b.Get("/@shop/channels/far:ann@lab").Want(t, http.StatusNotFound)
	b.Get("/@shop/channels/nons:value").Want(t, http.StatusNotFound)
	b.Get("/@shop/channels/role:").Want(t, http.StatusBadRequest)
	b.Get("/@shop/channels/all?from=-1").Want(t, http.StatusBadRequest)
}

func TestChannelHostile(t *testing.T) {
	b := newFixture(t)
	for _, tag := range []string{`project:<img src=x>`, `project:a/b?c#d%`, `concern:小 克`, `domain:"onload="x`} {
		b.Register(mail.Presence{Name: "<b>x</b>", Tags: []string{tag}, Roles: []string{"<u>"}})
		b.Send("<b>x</b>", mail.Draft{To: mail.Recipients{tag}, Subject: "<em>s</em>",
			Body: "<script>alert(1)</script>", Docs: []mail.Doc{{Path: "<hr>"}}})
		href := (&page.View{Base: "/@shop"}).ChannelHref(tag)
		b.Get(href).Want(t, http.StatusOK, "&lt;script&gt;", `aria-current="true"`).Without(t, "<img", "<script>alert",
			"<em>", "<hr>", "<u>", `"onload`)
	}
}
