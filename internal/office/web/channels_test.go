package web

import (
	"net/http"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

func TestChannels(t *testing.T) {
	b := newFixture(t)
	b.get("/@shop/channels").want(t, http.StatusOK, "Everybody", "nothing said lately", "Choose a channel")
	b.register(
		mail.Presence{Name: "builder", State: mail.Working, Roles: []string{"builder"},
			Tags: []string{"project:inscription"}},
		mail.Presence{Name: "cold", State: mail.Frozen, Tags: []string{"project:inscription"}},
		mail.Presence{Name: "other", State: mail.Idle},
	)
	b.send("builder", mail.Draft{To: mail.Recipients{"project:inscription"}, Body: "One"})
	b.send("builder", mail.Draft{To: mail.Recipients{"project:inscription"}, Body: "Two"})
	b.send("cold", mail.Draft{To: mail.Recipients{"project:inscription"}, Subject: "Three", Body: "x"})
	b.send("other", mail.Draft{To: mail.Recipients{"concern:speed"}, Body: "Only written to"})
	b.send("other", mail.Draft{To: mail.Recipients{"agent:builder"}, Body: "Between two"})

	got := b.get("/@shop/channels/project:inscription").want(t, http.StatusOK,
		`href="/@shop/channels/all"`, `href="/@shop/channels/role:builder"`, `href="/@shop/channels/concern:speed"`,
		`<bdi>inscription</bdi>`, `title="3 messages lately"`,
		`id="audience"`, `href="/@shop/agents/builder"`, `href="/@shop/agents/cold"`, "One", "Two", "Three", "Today",
		"read by 0 of 1", `name="to" value="project:inscription"`, `aria-current="true"`)
	got.without(t, "Between two")
	if n := strings.Count(got.Body, `class="said goes-on"`); n != 1 {
		t.Errorf("%d messages go on with what the same sender said, want 1", n)
	}
	b.part("/@shop/channels/project:inscription", "talk").want(t, http.StatusOK, `<section id="talk"`,
		"One").without(t, "<html", "<nav", "<textarea")
	b.part("/@shop/channels/project:inscription", "channels").want(t, http.StatusOK, `<nav id="channels"`,
		`aria-current="true"`).without(t, "<html", `id="talk"`)
	b.part("/@shop/channels/project:inscription", "audience").want(t, http.StatusOK,
		`<header id="audience"`).without(t, "<html", `id="talk"`)
	b.part("/@shop/channels/project:inscription", "writing").want(t, http.StatusOK, `<textarea`).without(t, "<html",
		`id="talk"`)
}

func TestChannelOfRole(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "lead"})
	b.send("lead", mail.Draft{To: mail.Recipients{"role:reviewer"}, Subject: "Look", Type: "review-request"})
	b.get("/@shop/channels/role:reviewer").want(t, http.StatusOK, "Nobody holds the role", "1 held",
		`<span class="state">held</span>`)
	b.register(mail.Presence{Name: "rita", Roles: []string{"reviewer"}})
	b.get("/@shop/channels/role:reviewer").want(t, http.StatusOK, "taken by", "rita").without(t, "1 held")
}

func TestChannelSend(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "builder", Tags: []string{"project:inscription"}})
	form := map[string][]string{"to": {"project:inscription"}, "body": {"Hello all"},
		"next": {"/channels/project:inscription"}}
	a := b.post("/@shop/send", form).want(t, http.StatusSeeOther)
	if to := a.Header.Get("Location"); to != "/@shop/channels/project:inscription" {
		t.Errorf("it goes on at %s", to)
	}
	b.get("/@shop/channels/project:inscription").want(t, http.StatusOK, "Hello all", "said mine")
	b.post("/@shop/send", form, asScript("form")).want(t, http.StatusOK, "<bdi>builder</bdi>: queued")
}

func TestChannelErrors(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "builder"})
	b.get("/@shop/channels/nothing").want(t, http.StatusNotFound, "not a channel")
	b.get("/@shop/channels/user").want(t, http.StatusNotFound)
	b.get("/@shop/channels/far:ann@lab").want(t, http.StatusNotFound)
	b.get("/@shop/channels/nons:value").want(t, http.StatusNotFound)
	b.get("/@shop/channels/role:").want(t, http.StatusBadRequest)
	b.get("/@shop/channels/all?from=-1").want(t, http.StatusBadRequest)
	if to := b.get("/@shop/channels/agent:builder").want(t,
		http.StatusSeeOther).Header.Get("Location"); to != "/@shop/agents/builder" {
		t.Errorf("an agent's channel leads to %s", to)
	}
}

func TestChannelHostile(t *testing.T) {
	b := newFixture(t)
	for _, tag := range []string{`project:<img src=x>`, `project:a/b?c#d%`, `concern:小 克`, `domain:"onload="x`} {
		b.register(mail.Presence{Name: "<b>x</b>", Tags: []string{tag}, Roles: []string{"<u>"}})
		b.send("<b>x</b>", mail.Draft{To: mail.Recipients{tag}, Subject: "<em>s</em>",
			Body: "<script>alert(1)</script>", Docs: []mail.Doc{{Path: "<hr>"}}})
		href := (&view{Base: "/@shop"}).ChannelHref(tag)
		b.get(href).want(t, http.StatusOK, "&lt;script&gt;", `aria-current="true"`).without(t, "<img", "<script>alert",
			"<em>", "<hr>", "<u>", `"onload`)
	}
}
