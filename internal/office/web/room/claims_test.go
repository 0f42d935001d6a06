package room_test

import (
	"net/http"
	"net/url"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

// claimed makes ann hold five claims, one of which bob waits for.
func claimed(t *testing.T, b *fixture) {
	t.Helper()
	b.Register(mail.Presence{Name: "ann", State: mail.Working}, mail.Presence{Name: "bob", State: mail.Idle})
	file := func(path string) mail.Target { return mail.Target{Root: "1-2", At: "/src", Path: path} }
	hold(t, b, "ann", mail.ClaimRequest{Why: "the <lexer>", Take: []mail.Target{file("a.go"), file("b.go"),
		file("c.go"), file("src/lex.go"), {Name: "build"}}})
	hold(t, b, "bob", mail.ClaimRequest{Take: []mail.Target{file("src/lex.go")}, Wait: true})
}

func hold(t *testing.T, b *fixture, who mail.Name, r mail.ClaimRequest) {
	t.Helper()
	if _, err := b.As(who).Claim(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestClaimsOnAgents(t *testing.T) {
	b := newFixture(t)
	claimed(t, b)
	b.Get("/@shop/agents").Want(t, http.StatusOK, `<span class="holds">holds <code`, "<bdi>src/lex.go</bdi>",
		`title="bob waits for it">waited for`, " and 2 more, since ", "for: <bdi>the &lt;lexer&gt;</bdi>",
		`waits for <code><bdi>src/lex.go</bdi></code>, which <bdi>ann</bdi> has held`).Without(t, "<lexer>")
	b.Part("/@shop/agents/ann", "about").Want(t, http.StatusOK, `Holds <span class="number">5`, "Free all 5",
		`Free<span class="hidden"> build, which ann holds</span>`, "<bdi>bob waits for it</bdi>")
	b.Get("/@shop/agents/bob").Want(t, http.StatusOK, "Waits for <code>").Without(t, "Free all")
	b.AddRoom("lab")
	b.Get("/@lab/agents?rooms=all").Want(t, http.StatusOK, "<bdi>src/lex.go</bdi>")
}

func TestStuckClaim(t *testing.T) {
	b := newFixture(t)
	claimed(t, b)
	for _, path := range []string{"/@shop/stuck", "/@shop/stuck?kind=claim"} {
		b.Get(path).Want(t, http.StatusOK, "Waiting for a claim", "<bdi>src/lex.go</bdi>",
			`<a href="/@shop/agents/ann"><bdi>ann</bdi></a> has held since`).Without(t, "in a circle")
	}
	hold(t, b, "bob", mail.ClaimRequest{Take: []mail.Target{{Name: "deploy"}}})
	hold(t, b, "ann", mail.ClaimRequest{Take: []mail.Target{{Name: "deploy"}}, Wait: true})
	b.Get("/@shop/stuck").Want(t, http.StatusOK, "They wait in a circle: bob for ann for bob.")
}

// TestFree tests that the person can free one claim, or all claims of an agent, that the agent is told, and that an
// invalid form changes nothing.
func TestFree(t *testing.T) {
	b := newFixture(t)
	claimed(t, b)
	one := url.Values{"of": {"ann"}, "target": {`{"root":"1-2","at":"/src","path":"src/lex.go"}`}}
	for _, bad := range []url.Values{{}, {"of": {"ann"}}, {"all": {"yes"}}, {"of": {"ann"}, "target": {"x"}},
		{"of": {"ann"}, "target": {`{"path":"../x"}`}}} {
		b.Post("/@shop/claims/free", bad, sitetest.AsScript("form")).Want(t, http.StatusBadRequest)
	}
	b.Post("/@shop/claims/free", one, sitetest.AsScript("form")).Want(t, http.StatusOK,
		"src/lex.go is free; ann has been told")
	b.Post("/@shop/claims/free", one, sitetest.AsScript("form")).Want(t, http.StatusOK, "Already free")
	b.Get("/@shop/stuck").Want(t, http.StatusOK).Without(t, "src/lex.go")
	if page, err := b.As("ann").Inbox(t.Context(), mail.InboxQuery{}); err != nil ||
		page.Messages[len(page.Messages)-1].Subject != "The user released your claims" {
		t.Errorf("ann is told %+v, %v", page.Messages, err)
	}
	got := b.Post("/@shop/claims/free", url.Values{"of": {"ann"}, "all": {"yes"}}).Want(t, http.StatusSeeOther)
	if to := got.Header.Get("Location"); to != "/@shop/agents/ann" {
		t.Errorf("goes on at %s", to)
	}
	list, err := b.As(mail.User).Claims(t.Context(), mail.ClaimQuery{})
	if err != nil || len(list.Claims) != 0 {
		t.Errorf("held is %+v, %v", list.Claims, err)
	}
}
