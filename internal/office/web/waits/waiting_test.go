package waits_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
	"pennypost/internal/policy"
)

// openQuestions turns "a>b c>role:x" into waits as the room lists them, a minute apart, oldest first.
func openQuestions(text string) []mail.Waiting {
	var out []mail.Waiting
	next := make(map[mail.Name][]mail.Name)
	for i, pair := range strings.Fields(text) {
		from, to, _ := strings.Cut(pair, ">")
		w := mail.Waiting{Question: mail.ID(fmt.Sprint("q", i)), Type: mail.Question, Since: mail.Time(i+1) * 60_000,
			Asker: mail.Name(from), Address: mail.Address(to)}
		if !strings.Contains(to, ":") {
			w.Asked, w.Address = mail.Name(to), mail.AgentAddress(mail.Name(to))
			next[w.Asker] = append(next[w.Asker], w.Asked)
		}
		out = append(out, w)
	}
	for i := range out {
		if w := &out[i]; w.Asked != "" {
			w.Chain, w.Circle = policy.Chain(w.Asker, w.Asked, func(n mail.Name) []mail.Name { return next[n] })
		}
	}
	return out
}

func TestChainsOf(t *testing.T) {
	for _, c := range []struct{ waits, want string }{
		{"", ""},
		{"a>b", "a>b@1"},
		{"b>c a>b", "a>b>c@1"},                 // one chain, as old as its oldest question
		{"a>b b>c x>c", "a>b>c@1 x>c@3"},       // each question is in one
		{"x>y a>b b>c", "x>y@1 a>b>c@2"},       // longest wait first
		{"a>b a>b a>b", "a>b+2@1"},             // later questions are counted
		{"a>b b>a", "(a>b>a)@1"},               // a circle
		{"a>b b>c c>a x>a", "x>(a>b>c>a)@1"},   // and one who waits for its member
		{"a>b b>c c>b", "a>(b>c>b)@1"},         // which the room also sees from a
		{"a>b b>role:x", "a>b>role:x@1"},       // ends at an untaken role
		{"a>project:p", "a>project:p@1"},       //
		{"a>b b>c b>d d>e", "a>b>c@1 b>d>e@3"}, // the longest wait of each, and the other alone
		{"a>user b>user", "a>user@1 b>user@2"}, //
		{"a>a", "(a>a)@1"},                     // it asked itself
		{"a>b b>c c>a d>e e>d", "(a>b>c>a)@1 (d>e>d)@4"},
	} {
		var got []string
		for _, chain := range waits.ChainsOf(waits.LinksOf(&page.View{}, openQuestions(c.waits))) {
			got = append(got, spelled(chain))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.waits, s, c.want)
		}
	}
}

// TestChainsOfCutList tests that a chain ends where a truncated list lacks its next link.
func TestChainsOfCutList(t *testing.T) {
	all := openQuestions("a>b b>c c>a")
	if got := waits.ChainsOf(waits.LinksOf(&page.View{}, all[:2])); len(got) != 1 || spelled(got[0]) != "a>b>c@1" {
		t.Errorf("%d chains, the first %s", len(got), spelled(got[0]))
	}
}

// spelled is a chain in letters: "x>(a>b>a)@3", with the minute of the longest wait.
func spelled(c waits.Chain) string {
	more := func(l waits.Link) string {
		if l.More == 0 {
			return ""
		}
		return fmt.Sprint("+", l.More)
	}
	text := ""
	for _, l := range c.Lead {
		text += string(l.Asker) + ">"
	}
	if len(c.Circle) > 0 {
		text += "("
		for _, l := range c.Circle {
			text += string(l.Asker) + ">"
		}
		text += words.Who(c.Back().To()) + ")"
	}
	for _, l := range c.Ends() {
		text += words.Who(l.To()) + more(l)
	}
	return fmt.Sprint(text, "@", int64(c.Since/60_000))
}

// waitingFixture is a room with waits: a for b for c, c for the user; x and y for each other; z for a role.
func waitingFixture(t *testing.T, b *fixture) map[string]mail.ID {
	t.Helper()
	for _, n := range []mail.Name{"a", "b", "c", "x", "y", "z"} {
		b.Register(mail.Presence{Name: n, State: mail.Working})
	}
	ids := make(map[string]mail.ID)
	for _, pair := range []string{"b>c", "a>b", "c>user", "x>y", "y>x", "z>role:designer", "z>b"} {
		from, to, _ := strings.Cut(pair, ">")
		ids[pair] = b.Send(mail.Name(from), mail.Draft{To: mail.Recipients{to}, Type: "question",
			Subject: "From " + from + " to " + to})
		time.Sleep(time.Minute)
	}
	return ids
}

// TestWaitingOnPages tests that the roster shows each agent's waits in both directions, and that the flow draws the
// chains, with links to the questions.
func TestWaitingOnPages(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Get("/@shop/agents").Want(t, http.StatusOK).Without(t, "waits for")
		b.Get("/@shop/flow?view=waiting").Want(t, http.StatusOK, "No one is waiting for an answer.").Without(t,
			"flow-earlier")
		ids := waitingFixture(t, b)
		at := func(pair string) string {
			return `href="/@shop/t/` + string(ids[pair]) + `#m-` + string(ids[pair]) + `"`
		}
		b.Get("/@shop/agents").Want(t, http.StatusOK,
			at("a>b")+` title="a has waited for b since `, `waits for <bdi>b</bdi></span> · <time data-lasting`,
			">6 min</time>",
			`<a class="waited" `+at("a>b"), `<bdi>a</bdi> waits for it</span> · 2</a>`,
			`<bdi>b</bdi> waits for it</span></a>`,
			`waits for <bdi>you</bdi>`, `href="/@shop/?m=`+string(ids["c>user"])+`"`,
			`waits for <bdi>role:designer</bdi> +1`)
		b.Get("/@shop/agents/a").Want(t, http.StatusOK, `waits for <bdi>b</bdi>`)
		page := b.Get("/@shop/flow?view=waiting").Want(t, http.StatusOK, `hx-get="/@shop/flow?view=waiting"`,
			`aria-current="true">Waiting</a>`, at("b>c"), at("a>b"), at("x>y"), at("y>x"), at("z>role:designer"),
			`<span class="badge bad">circle</span>`, `class="wait-back"`, "7 min",
			`href="/@shop/channels/role:designer"`)
		page.Without(t, "flow-earlier", "Time span")
		if n := strings.Count(page.Body, `<li class="chain`); n != 4 {
			t.Errorf("%d chains, want 4", n)
		}
		b.Send("b", mail.Draft{To: mail.Recipients{"a"}, Type: "answer", ReplyTo: ids["a>b"]})
		b.Part("/@shop/flow?view=waiting", "flow").Want(t, http.StatusOK).Without(t, at("a>b"), "<html")
	})
}

// TestStuckWaits tests that circles are stuck immediately, and seen questions after a while; questions to the user
// are in the inbox, and unseen ones are stuck as mail.
func TestStuckWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		ids := waitingFixture(t, b)
		circle := "Waiting in a circle"
		b.Get("/@shop/stuck").Want(t, http.StatusOK, circle, "From x to y", "From y to x").Without(t,
			"Long unanswered")
		for _, pair := range []string{"b>c", "a>b"} {
			if _, err := b.As(mail.Name(pair[2:])).Mark(t.Context(), mail.Marking{IDs: []mail.ID{ids[pair]},
				Mark: mail.MarkRead}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(waits.LongWait)
		page := b.Get("/@shop/stuck").Want(t, http.StatusOK, circle, "Long unanswered", "From b to c", "From a to b",
			"It has seen this and waits for c itself.", "waits for you itself", "answered for 30 min").Without(t,
			"From c to user")
		if n := strings.Count(page.Body, "From z to b"); n != 1 {
			t.Errorf("what was not seen is listed %d times, want once, as mail", n)
		}
		b.Get("/@shop/stuck?kind=unanswered").Want(t, http.StatusOK, "From a to b").Without(t, circle)
		b.Get("/@shop/stuck?kind=circle").Want(t, http.StatusOK, "From x to y").Without(t, "From a to b")
	})
}

// TestStuckWaitsAreMended tests that a reminder wakes the asked agent once, and that an answer or a withdrawal ends
// the wait.
func TestStuckWaitsAreMended(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		ids := waitingFixture(t, b)
		x, y := string(ids["x>y"]), string(ids["y>x"])
		for range 2 {
			b.Post("/@shop/stuck/remind", url.Values{"id": {x}, "to": {"agent:y"}}, sitetest.AsScript("form")).Want(t,
				http.StatusOK, "y was reminded")
		}
		page, err := b.As("y").Inbox(t.Context(), mail.InboxQuery{})
		if err != nil || len(page.Messages) != 2 {
			t.Fatalf("%d messages, %v; want the question and one reminder", len(page.Messages), err)
		}
		if m := page.Messages[1]; m.Subject != "Reminder: From x to y" || m.ReplyTo != ids["x>y"] ||
			!strings.Contains(m.Body, "x has been waiting") {
			t.Errorf("the reminder is %+v", m.Message)
		}
		b.Get("/@shop/stuck").Want(t, http.StatusOK, "Waiting in a circle")
		b.Post("/@shop/stuck/remind", url.Values{"id": {x}}).Want(t, http.StatusBadRequest)
		b.Post("/@shop/stuck/withdraw", url.Values{"id": {y}}, sitetest.AsScript("form")).Want(t, http.StatusOK,
			"Question withdrawn")
		b.Get("/@shop/stuck").Want(t, http.StatusOK).Without(t, "Waiting in a circle")
		b.Post("/@shop/stuck/withdraw", url.Values{"id": {x}}).Want(t, http.StatusSeeOther)
		b.Post("/@shop/stuck/remind", url.Values{"id": {x}, "to": {"agent:y"}}).Want(t, http.StatusConflict)
	})
}
