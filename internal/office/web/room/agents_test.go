package room_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/room"
	"pennypost/internal/office/web/sitetest"
)

func TestAgentsByState(t *testing.T) {
	b := newFixture(t)
	b.Get("/@shop/agents").Want(t, http.StatusOK, "No agent is registered")
	b.Register(
		mail.Presence{Name: "lead", State: mail.Working, Roles: []string{"orchestrator"},
			Task: sitetest.Ptr("Ship it")},
		mail.Presence{Name: "zed", State: mail.Idle, Parent: sitetest.Ptr(mail.Name("lead")),
			Tags: []string{"project:inscription"}},
		mail.Presence{Name: "under", State: mail.Idle, Parent: sitetest.Ptr(mail.Name("zed"))},
		mail.Presence{Name: "cold", State: mail.Frozen, Parent: sitetest.Ptr(mail.Name("lead"))},
		mail.Presence{Name: "old", State: mail.Gone},
	)
	b.Send("zed", mail.Draft{Subject: "The parser stands"})
	b.Send("lead", mail.Draft{To: mail.Recipients{"agent:zed"}})
	got := b.Get("/@shop/agents").Want(t, http.StatusOK,
		`aria-current="page" aria-keyshortcuts="g a"`, "Ship it", "The parser stands",
		`<b class="count">1</b><span class="faint"> unread`, `of <bdi>lead</bdi>`)
	order := []string{"Working ", `id="agent-lead"`, "Idle ", `id="agent-under"`, `id="agent-zed"`, "Frozen ",
		`id="agent-cold"`, "Gone ", `id="agent-old"`}
	at := 0
	for _, text := range order {
		i := strings.Index(got.Body[at:], text)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", text, got.Body)
		}
		at += i
	}
	part := b.Part("/@shop/agents", "roster").Want(t, http.StatusOK, `<section id="roster"`)
	part.Without(t, "<html")
}

func TestAgentsGoneAreCut(t *testing.T) {
	b := newFixture(t)
	for i := range room.OtherRows + 3 {
		b.Register(mail.Presence{Name: mail.Name(fmt.Sprintf("a%03d", i)), State: mail.Gone})
	}
	if n := rows(b.Get("/@shop/agents").Want(t, http.StatusOK, `Gone <span class="number">23</span>`,
		`href="/@shop/agents?show=gone"`)); n != room.OtherRows {
		t.Errorf("%d rows, want %d", n, room.OtherRows)
	}
	if n := rows(b.Get("/@shop/agents?show=gone").Want(t, http.StatusOK,
		`hx-get="/@shop/agents?show=gone"`)); n != room.OtherRows+3 {
		t.Errorf("%d rows of all, want %d", n, room.OtherRows+3)
	}
}

func rows(a sitetest.Answer) int { return strings.Count(a.Body, `class="agent `) }

// TestAgentsInParts tests that a page of the roster shows a limited number of agents, working ones first, links to
// the others, and can be searched.
func TestAgentsInParts(t *testing.T) {
	b := newFixture(t)
	for i := range room.RosterRows + 5 {
		b.Register(mail.Presence{Name: mail.Name(fmt.Sprintf("a%03d", i)), Roles: []string{"builder"}})
	}
	b.Register(mail.Presence{Name: "zed", State: mail.Working, Task: new("Mend the roof")})
	first := b.Get("/@shop/agents").Want(t, http.StatusOK, `Idle <span class="number">105</span>`,
		`href="/@shop/agents?show=idle"`, `id="agent-zed"`).Without(t, `id="agent-a100"`)
	if n := rows(first); n != room.RosterRows+1 {
		t.Errorf("%d rows, want %d", n, room.RosterRows+1)
	}
	b.Get("/@shop/agents?show=idle").Want(t, http.StatusOK, `href="/@shop/agents?after=a099&amp;show=idle"`).Without(t,
		`id="agent-zed"`)
	if n := rows(b.Get("/@shop/agents?after=a099&show=idle").Want(t, http.StatusOK,
		`id="agent-a100"`)); n != 5 {
		t.Errorf("%d rows of the next part, want 5", n)
	}
	b.Get("/@shop/agents?q=ROOF").Want(t, http.StatusOK, `id="agent-zed"`, `value="ROOF"`).Without(t, `id="agent-a0`)
	b.Get("/@shop/agents?q=nobody").Want(t, http.StatusOK, "No agent on the roster matches.")
	b.Get("/@shop/agents?show=asleep").Want(t, http.StatusBadRequest)
}

func TestAgentPage(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "lead"}, mail.Presence{Name: "builder", State: mail.Idle, Session: "0199-ab",
		Client: "claude", Parent: sitetest.Ptr(mail.Name("lead")), Task: sitetest.Ptr("Walls")})
	if _, err := b.As(mail.User).AddWorkspace(context.Background(),
		mail.Workspace{ID: "builder", Dir: "/srv/it's"}); err != nil {
		t.Fatal(err)
	}
	first := b.Send("lead", mail.Draft{To: mail.Recipients{"builder"}, Subject: "Build", Type: "task-assigned"})
	b.Send("builder", mail.Draft{To: mail.Recipients{"lead"}, Subject: "Built",
		Docs: []mail.Doc{{Path: "notes/<b>.md"}}})
	b.Send("lead", mail.Draft{Subject: "Not for the builder"})
	got := b.Get("/@shop/agents/builder").Want(t, http.StatusOK,
		"Walls", "claude", "0199-ab", `cd &#39;/srv/it&#39;\&#39;&#39;s&#39; &amp;&amp; claude --resume 0199-ab`,
		`id="m-`+string(first)+`"`, "Built", "notes/&lt;b&gt;.md",
		`Unread <span class="number">1`, `name="to" value="agent:builder"`, `hx-trigger="pp-live"`,
		`<span class="state" title="queued">queued</span>`, `?reply=`+string(first))
	got.Without(t, "Not for the builder")
	if strings.Index(got.Body, `id="m-`+string(first)) > strings.Index(got.Body, `<h3><bdi>Built`) {
		t.Error("the newest message is not at the bottom")
	}
	b.Part("/@shop/agents/builder", "talk").Want(t, http.StatusOK, `<section id="talk"`).Without(t, "<html",
		"<textarea", `id="about"`)
	b.Part("/@shop/agents/builder", "about").Want(t, http.StatusOK, `<div id="about"`).Without(t, "<html", "<textarea",
		`id="talk"`)
	if it, err := b.As("builder").Message(context.Background(), first); err != nil || it.Read {
		t.Errorf("looking at the page has marked the agent's mail: %+v, %v", it, err)
	}
}

func TestAgentPageAnswer(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"}, mail.Presence{Name: "lead"})
	asked := b.Send("lead", mail.Draft{To: mail.Recipients{"builder"}, Subject: "Which?", Type: "question"})
	got := b.Part("/@shop/agents/builder?reply="+string(asked), "writing").Want(t, http.StatusOK,
		`name="reply_to" value="`+string(asked)+`"`, `name="to" value="agent:builder"`, `name="to" value="agent:lead"`,
		`name="type" value="answer"`, "lead: Which?", `id="box"`)
	got.Without(t, "<html")
	b.Get("/@shop/agents/builder?reply=msg_none").Want(t, http.StatusNotFound)
	b.Get("/@shop/agents/builder?from=x").Want(t, http.StatusBadRequest)
	b.Get("/@shop/agents/builder?before=99999").Want(t, http.StatusBadRequest)
}

func TestAgentPageLost(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "lead"}, mail.Presence{Name: "away", State: mail.Gone})
	b.Send("lead", mail.Draft{To: mail.Recipients{"away"}, Subject: "Too late"})
	b.Get("/@shop/agents/away").Want(t, http.StatusOK, "Never read", "Too late", "state-dead")
}

// TestAgentPageCrowd tests that many recipients are only counted: they have their own page.
func TestAgentPageCrowd(t *testing.T) {
	b := newFixture(t)
	for i := range room.TalkCrowd + 1 {
		b.Register(mail.Presence{Name: mail.Name(fmt.Sprint("a", i)), Tags: []string{"project:x"}})
	}
	id := b.Send(mail.User, mail.Draft{To: mail.Recipients{"project:x"}})
	if _, err := b.As("a1").Mark(context.Background(),
		mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	b.Part("/@shop/agents/a0", "talk").Want(t, http.StatusOK, "read by 1 of 7", "a1: read").Without(t,
		"<li class=\"state-")
}

// TestAgentRetired tests that a retired agent's mail can still be found.
func TestAgentRetired(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	b.Send("ann", mail.Draft{Subject: "Before I went", Docs: []mail.Doc{{Path: "a.md"}}})
	if err := b.As(mail.User).Retire(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	b.Get("/@shop/agents").Want(t, 200).Without(t, "/agents/ann")
	to := b.Get("/@shop/agents/ann").Want(t, 303).Header.Get("Location")
	b.Get(to).Want(t, 200, "Before I went")
}

func TestAgentUnknown(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"})
	b.Get("/@shop/agents/bilder").Want(t, http.StatusNotFound, "Did you mean builder?")
	b.Get("/@shop/agents/user").Want(t, http.StatusNotFound)
}

// TestAgentHostile tests that the roster's link leads to every agent's page, whatever its name, and that names do no
// harm.
func TestAgentHostile(t *testing.T) {
	b := newFixture(t)
	for _, name := range sitetest.HostileNames {
		b.Register(mail.Presence{Name: name, State: mail.Idle, Task: sitetest.Ptr(string(name)), Client: string(name),
			Roles: []string{"x<i>"}, Tags: []string{`project:"><img src=x>`}})
		b.Send(name, mail.Draft{Subject: string(name), Body: "<img src=x onerror=alert(1)> " + string(name),
			Docs: []mail.Doc{{Path: string(name)}}})
	}
	roster := b.Get("/@shop/agents").Want(t, http.StatusOK)
	for _, name := range sitetest.HostileNames {
		v := &page.View{Base: "/@shop"}
		href := v.AgentHref(name)
		if !strings.Contains(html.UnescapeString(roster.Body), `href="`+href+`"`) {
			t.Errorf("the roster does not link to %q by %s", name, href)
		}
		page := b.Get(href).Want(t, http.StatusOK, `class="mail-of"`)
		b.Part(sitetest.Attribute(t, page.Body, `tabindex="-1" hx-get="`), "talk").Want(t, http.StatusOK,
			`<section id="talk"`)
		b.Part(sitetest.Attribute(t, page.Body, `class="answer-to" href="`), "writing").Want(t, http.StatusOK,
			`class="answering"`)
		page.Without(t, "<script>alert", "<img", `onmouseover="x"`, "<i>")
		if !strings.Contains(
			html.UnescapeString(page.Body), `hx-get="`+v.ComposeHref(mail.AgentAddress(name))+`"`) {
			t.Errorf("the page of %q lacks the link to write to it", name)
		}
	}
	roster.Without(t, "<script>alert", "<img", "<i>")
}

func TestTalkGrowsUpwards(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"})
	for i := range room.TalkPosts + 20 {
		b.Send("builder", mail.Draft{Subject: fmt.Sprintf("number %03d", i)})
	}
	got := b.Get("/@shop/agents/builder").Want(t, http.StatusOK, "number 069", "number 020", `id="earlier"`)
	got.Without(t, "<h3><bdi>number 019")
	href := sitetest.Attribute(t, got.Body, `id="earlier" href="`)
	more := b.Part(href, "talk").Want(t, http.StatusOK, "number 000", "number 069")
	more.Without(t, `id="earlier"`)
	here := sitetest.Attribute(t, more.Body,
		`id="talk" class="talk" aria-label="Mail to and from this agent" tabindex="-1" hx-get="`)
	b.Send("builder", mail.Draft{Subject: "number 070"})
	b.Part(here, "talk").Want(t, http.StatusOK, "number 000", "number 070")
}

// TestNamesInNaturalOrder tests that every list of agents puts agent-2 before agent-10.
func TestNamesInNaturalOrder(t *testing.T) {
	b := newFixture(t)
	for _, n := range []mail.Name{"agent-10", "agent-2", "agent-1"} {
		b.Register(mail.Presence{Name: n, Roles: []string{"role-" + string(n)}, Tags: []string{"project:p"}})
	}
	for _, c := range []struct{ path, before, after string }{
		{"/agents", `id="agent-`, `"`}, {"/channels", `/channels/agent:`, `"`},
		{"/channels", `/channels/role:role-`, `"`},
		{"/channels/project:p", `<a href="/@shop/agents/`, `"`}, {"/compose", `<option value="agent:`, `"`},
		{"/history", `<option value="role:role-`, `"`}, {"/palette?q=agent", `id="agent-`, `"`},
	} {
		body := b.Get("/@shop"+c.path).Want(t, http.StatusOK).Body
		var got []string
		for piece := range strings.SplitSeq(body, c.before) {
			if n, _, _ := strings.Cut(piece, c.after); strings.HasPrefix(n, "agent-") &&
				(len(got) == 0 || got[len(got)-1] != n) {
				got = append(got, n)
			}
		}
		if s := strings.Join(got, " "); s != "agent-1 agent-2 agent-10" {
			t.Errorf("%s lists %q", c.path, s)
		}
	}
}
