package inbox_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

func TestCompose(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder", State: mail.Idle, Roles: []string{"builder"},
		Tags: []string{"project:inscription"}, Task: sitetest.Ptr("Walls")})
	page := b.Get("/@shop/compose?to=agent:builder&subject=S&body=B&issue=7&type=question&priority=urgent").Want(t,
		http.StatusOK, "<html",
		`<option value="agent:builder">idle · Walls</option>`, `<option value="role:builder">builder</option>`,
		`<option value="project:inscription">builder</option>`, `<option value="all">`,
		`name="to" value="agent:builder" checked`, `value="S"`, `>B</textarea>`, `value="7"`,
		`<option value="question" selected>`, `value="urgent" checked`)
	for _, typ := range mail.Types() {
		page.Want(t, http.StatusOK, `<option value="`+string(typ)+`"`)
	}
	b.Part("/@shop/compose", "dialog").Want(t, http.StatusOK, `<dialog id="compose"`, `hx-nonce=`).Without(t, "<html")
	b.Get("/@shop/compose?to=one&to=a%2C%20b").Want(t, http.StatusOK, `value="one" checked`, `value="a, b" checked`)
}

func TestComposeAnswer(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"})
	asked := b.Send("builder", mail.Draft{Type: "question", Subject: "Which?", Issue: "12"})
	b.Get("/@shop/compose?reply_to="+string(asked)).Want(t, http.StatusOK,
		`name="reply_to" value="`+string(asked)+`"`, `value="agent:builder" checked`,
		`<option value="answer" selected>`, `value="Re: Which?"`, `value="12"`)
	mine := b.Send(mail.User, mail.Draft{To: mail.Recipients{"builder"}, ReplyTo: asked, Subject: "Re: Which?"})
	b.Get("/@shop/compose?reply_to="+string(mine)).Want(t, http.StatusOK, `value="agent:builder" checked`,
		`value="Re: Which?"`)
	b.Get("/@shop/compose?reply_to=msg_none").Want(t, http.StatusNotFound)
}

func TestComposeSends(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"}, mail.Presence{Name: "with, comma and space"})
	form := url.Values{"to": {"agent:with, comma and space", "builder, all", " "}, "subject": {"S"},
		"body": {"one\r\ntwo"}, "type": {"review-result"}, "verdict": {"approved"}, "priority": {"urgent"},
		"issue": {"9"}}
	b.Post("/@shop/compose", form, sitetest.AsScript("div#compose-error")).Want(t, http.StatusOK,
		"<bdi>builder</bdi>: cannot be woken; sees it when it next looks",
		"<bdi>with, comma and space</bdi>: cannot be woken")
	page, err := b.As(mail.User).History(context.Background(), mail.HistoryQuery{})
	if err != nil || len(page.Messages) != 1 {
		t.Fatalf("history = %+v, %v", page, err)
	}
	m := page.Messages[0]
	if m.From != mail.ToUser || m.Body != "one\ntwo" || m.Subject != "S" || m.Issue != "9" ||
		m.Priority != mail.Urgent || m.Metadata.Text("verdict") != "approved" || len(m.To) != 3 {
		t.Errorf("what was sent is %+v", m)
	}
	got := b.Post("/@shop/compose", url.Values{"to": {"builder"}, "body": {"plain"}}).Want(t, http.StatusSeeOther)
	if to := got.Header.Get("Location"); !strings.HasPrefix(to, "/@shop/t/msg_") {
		t.Errorf("a browser without script goes on at %s", to)
	}
}

// TestComposeRefused tests that a refusal is shown beside the typed text, which stays.
func TestComposeRefused(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"})
	form := url.Values{"to": {"bilder"}, "subject": {`<b>"S"`}, "body": {"</textarea><script>x</script>"},
		"issue": {"9"}, "type": {"status"}, "priority": {"urgent"}}
	b.Post("/@shop/compose", form, sitetest.AsScript("div#compose-error")).Want(t, http.StatusNotFound,
		"unknown recipient &#34;bilder&#34;", "Did you mean builder?").Without(t, "<form", "<html")
	page := b.Post("/@shop/compose", form).Want(t, http.StatusNotFound, "Did you mean builder?",
		`value="bilder" checked`, `value="&lt;b&gt;&#34;S&#34;"`,
		"&lt;/textarea&gt;&lt;script&gt;", `<option value="status" selected>`, `value="urgent" checked`, `value="9"`)
	page.Without(t, "<script>x")
	for name, form := range map[string]url.Values{
		"nobody":       {"body": {"x"}},
		"no text":      {"to": {"builder"}, "body": {" "}},
		"no such type": {"to": {"builder"}, "body": {"x"}, "type": {"shout"}},
		"no verdict":   {"to": {"builder"}, "body": {"x"}, "type": {"review-result"}},
	} {
		if got := b.Post("/@shop/compose", form,
			sitetest.AsScript("div#compose-error")); got.Code != http.StatusBadRequest ||
			!strings.Contains(got.Body, `role="alert"`) {
			t.Errorf("%s: status %d: %s", name, got.Code, got.Body)
		}
	}
	b.Post("/@shop/compose", url.Values{"to": {"builder"}, "body": {"kept"}, "reply_to": {"msg_none"}}).Want(t,
		http.StatusNotFound, ">kept</textarea>")
}

func TestPreview(t *testing.T) {
	b := newFixture(t)
	form := url.Values{"body": {"*fine* <script>x</script> ![i](https://evil.example/i.png)"}, "subject": {"kept"},
		"to": {"someone"}}
	b.Post("/@shop/preview", form, sitetest.AsScript("div#compose-preview")).Want(t, http.StatusOK, "<em>fine</em>",
		"&lt;script&gt;").Without(t, "<script>", "<img", "<html")
	b.Post("/@shop/preview", form).Want(t, http.StatusOK, "<em>fine</em>", `value="kept"`, `value="someone" checked`,
		"</textarea>").Without(t, "<script>x", "<img")
	if got, err := b.As(mail.User).History(context.Background(), mail.HistoryQuery{}); err != nil ||
		len(got.Messages) != 0 {
		t.Errorf("a preview has sent %+v, %v", got, err)
	}
}
