package inbox_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

// sum is the sum of the tests' dialogs.
var sum = strings.Repeat("5a", 32)

// permission is a dialog about a command, answerable from here.
func permission(command string) mail.Card {
	c := mail.Card{Room: "shop", Agent: "release", Client: "claude", Here: true, Beside: true,
		Dialog: mail.Dialog{ID: "d-push", Kind: mail.AsksPermission, Tool: "Bash", Sum: sum, Since: 1_700_000_000_000}}
	c.Form, c.Text, c.Dir, c.Says = mail.FormCommand, command, "/home/you/infra", "Nobody's work can be lost."
	c.Offers = []mail.Offer{{Verdict: mail.SayAllow},
		{Verdict: mail.SayAllow, Rule: 1, Writes: "Bash(git push:*), until this session ends", Session: true},
		{Verdict: mail.SayDeny, Words: true}}
	return c
}

// TestDialogCard tests that a client's dialog is above the mail that needs the user, is counted, and is complete.
func TestDialogCard(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "release"})
	b.Send("release", mail.Draft{Type: "question", Subject: "Which?"})
	c := permission("git push --force-with-lease origin release/2.4")
	c.Waiters = []mail.Waiting{{Question: "msg_1", Asker: "e2e", Asked: "frontend", Subject: "Green?",
		Chain: []mail.Name{"e2e", "frontend", "release"}},
		{Question: "msg_2", Asker: "frontend", Asked: "release", Subject: "Is 2.4 out?",
			Chain: []mail.Name{"frontend", "release"}}}
	b.Office.Ask(c)
	b.Register(mail.Presence{Name: "frontend"}, mail.Presence{Name: "e2e"})
	b.Send("e2e", mail.Draft{To: mail.Recipients{"frontend"}, Type: "question", Subject: "Green?"})
	b.Send("frontend", mail.Draft{To: mail.Recipients{"release"}, Type: "question", Subject: "Is 2.4 out?"})
	shown := b.Get("/").Want(t, 200, `Needs you <span class="number">2</span>`, "(2) Inbox",
		`<code>git push --force-with-lease origin release/2.4</code>`, `href="/@shop/?d=d-push"`, `>2 waiting<`)
	if rows := sitetest.RowsOf(shown.Body); len(rows) != 2 || rows[0] != "d-push" {
		t.Errorf("the rows are %q: the dialog is first", rows)
	}
	b.Get("/@shop/?show=archived").Want(t, 200).Without(t, "d-push")
	open := b.Get("/@shop/?d=d-push").Want(t, 200, "May release run this command?", "release/2.4</code></pre>",
		"complete: 1 line, 46 characters, none hidden", "Bash</bdi>, in <bdi>/home/you/infra",
		"also open in its terminal; the first answer wins", "What the model says about it · not checked",
		"Allow once", "Bash(git push:*), until this session ends", `data-key="3"`, "Deny, and say why",
		`name="sum" value="`+sum, "Waiting for this", "it cannot be undone")
	if i, j := strings.Index(open.Body, "Is 2.4 out?"), strings.Index(open.Body, "Green?"); i < 0 || j < i {
		t.Error("who waits for it stands before who waits behind that")
	}
	if i, j := strings.Index(open.Body, "</code></pre>"), strings.Index(open.Body, "can be lost"); j < i {
		t.Error("what the model says of it stands below it")
	}
	b.Part("/@shop/?d=d-push", "detail").Want(t, 200, `<section id="detail"`, "release/2.4</code></pre>").
		Without(t, "<html")
	self := sitetest.Link(t, open.Body, `<article id="letter"`, "hx-get")
	b.Send("release", mail.Draft{Type: "status"})
	again := b.Get(self, sitetest.AsScript("article#letter")).Want(t, 200, "Allow once").Without(t, "</code></pre>")
	if now := sitetest.Link(t, again.Body, `<article id="letter"`, "hx-get"); now != self {
		t.Errorf("it is to be had at %s, then at %s", self, now)
	}
	if len(again.Body) > 8000 {
		t.Errorf("a refresh takes %d bytes", len(again.Body))
	}
}

// TestDialogAnswers tests that an answer applies only to the question shown, is sent once, and that an error says
// that nothing was done.
func TestDialogAnswers(t *testing.T) {
	b := newFixture(t)
	b.Office.Ask(permission("ls"))
	say := func(more ...string) url.Values {
		form := url.Values{"dialog": {"d-push"}, "sum": {sum}, "verdict": {"allow"}, "next": {"/?d=d-push&after=0"}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return form
	}
	b.Post("/@shop/dialog", say("rule", "7")).Want(t, 400, "nothing was done")
	b.Post("/@shop/dialog", say("rule", "x")).Want(t, 400, "nothing was done")
	b.Post("/@shop/dialog", say("words", "yes")).Want(t, 400, "nothing was done")
	b.Post("/@shop/dialog", say("dialog", "d-other")).Want(t, 404)
	b.Post("/@shop/dialog", say("sum", strings.Repeat("00", 32))).Want(t, 409, "nothing was done")
	b.Get("/@shop/dialog?d=d-push&verdict=allow").Want(t, 303)
	if len(b.Office.Answers) > 0 {
		t.Fatalf("answered: %+v", b.Office.Answers)
	}
	got := b.Post("/@shop/dialog", say("verdict", "deny", "words", "Open a pull request\r\ninstead. "),
		sitetest.AsScript("form")).Want(t, 200, "Denied", `data-done="settled"`)
	if got.Header.Get("HX-Trigger") != "pp-done" {
		t.Errorf("the page is not told: %v", got.Header)
	}
	want := mail.DialogAnswer{Dialog: "d-push", Sum: sum, Verdict: mail.SayDeny,
		Words: "Open a pull request\ninstead."}
	if a := b.Office.Answers[0]; a.Dialog != want.Dialog || a.Sum != want.Sum || a.Verdict != want.Verdict ||
		a.Words != want.Words || a.Rule != 0 {
		t.Errorf("the client has %+v, want %+v", a, want)
	}
	b.Post("/@shop/dialog", say()).Want(t, 404)
	b.Get("/@shop/?d=d-push").Want(t, 200, "no longer open")
	b.Get("/@shop/dialog?d=d-push&after=0", sitetest.AsScript("article#letter")).Want(t, 200, "no longer open")
}

// TestDialogIsOver tests that a closed dialog says how it ended, if that is still known.
func TestDialogIsOver(t *testing.T) {
	b := newFixture(t)
	for _, c := range []struct {
		how   mail.DialogOutcome
		by    mail.Name
		where string
		want  string
	}{
		{mail.DialogAllowed, mail.User, string(mail.ByPages), "You have allowed it here"},
		{mail.DialogDenied, mail.User, string(mail.ByPhone), "You have denied it on your phone"},
		{mail.DialogAllowed, "", mail.AtClient, "It was allowed in its terminal"},
		{mail.DialogEnded, "", mail.AtClient, "This dialog is over"},
	} {
		card := permission("ls")
		b.Asks(card)
		shown := b.Get("/@shop/?d=d-push").Want(t, 200, "Allow once")
		self := sitetest.Link(t, shown.Body, `<article id="letter"`, "hx-get")
		b.Ends(card, c.how, c.by, c.where)
		b.Get(self, sitetest.AsScript("article#letter")).Want(t, 200, c.want, `data-id="d-push"`).
			Without(t, "Allow once", "hx-get")
		b.Get("/@shop/?d=d-push").Want(t, 200, "no longer open")
		b.Get("/").Want(t, 200).Without(t, "row-d-push")
	}
}

// TestDialogAsksElse tests that a page gets the new question, and answers to it, when a dialog's question changes.
// Digits then do not answer it, since the person may mean the old one.
func TestDialogAsksElse(t *testing.T) {
	b := newFixture(t)
	b.Office.Ask(permission("ls"))
	shown := b.Get("/@shop/?d=d-push").Want(t, 200, "ls</code></pre>", `data-key="1"`)
	self := func(shown string) string { return sitetest.Link(t, shown, `<article id="letter"`, "hx-get") }
	id := func(shown string) string { return sitetest.Link(t, shown, `<div class="what-is-asked"`, "id") }
	again := b.Get(self(shown.Body), sitetest.AsScript("article#letter")).Want(t, 200, "Allow once", `data-key="1"`).
		Without(t, "</code></pre>", "something else")
	if id(again.Body) != id(shown.Body) || self(again.Body) != self(shown.Body) {
		t.Errorf("%s is %s, %s", id(shown.Body), id(again.Body), self(again.Body))
	}
	c := permission("rm -rf /")
	c.Sum = strings.Repeat("6b", 32)
	b.Office.Forget(c.ID)
	b.Office.Ask(c)
	changed := b.Get(self(shown.Body), sitetest.AsScript("article#letter")).Want(t, 200, "rm -rf /</code></pre>",
		"It now asks something else", `name="sum" value="`+c.Sum, "Allow once").Without(t, "data-key=", sum)
	if id(changed.Body) == id(shown.Body) {
		t.Error("the page would keep the text that it has")
	}
	b.Get(self(changed.Body), sitetest.AsScript("article#letter")).Want(t, 200, "It now asks something else",
		id(changed.Body)).Without(t, "</code></pre>", "data-key=")
	b.Get("/@shop/?d=d-push&shown="+strings.TrimPrefix(id(changed.Body), "asked-d-push-")).Want(t, 200,
		"rm -rf /</code></pre>").Without(t, "something else") // such a link hides nothing
	b.Office.Forget(c.ID)
	b.Get(self(changed.Body), sitetest.AsScript("article#letter")).Want(t, 200, "no longer open", id(changed.Body))
}

// TestDialogComesLater tests that a question arrives on a page opened earlier, when only its sum was known.
func TestDialogComesLater(t *testing.T) {
	b := newFixture(t)
	c := questions("Which port?")
	bare := c
	bare.Ask, bare.Here, bare.Why = mail.Ask{Cut: true}, false, "its hook has not come yet"
	b.Office.Ask(bare)
	shown := b.Get("/@shop/?d=d-ask").Want(t, 200, "cannot be answered here").Without(t, "Which port?")
	b.Office.Forget(c.ID)
	c.Text = "as it is"
	b.Office.Ask(c)
	b.Get(sitetest.Link(t, shown.Body, `<article id="letter"`, "hx-get"), sitetest.AsScript("article#letter")).
		Want(t, 200, "as it is</code></pre>", "Which port?", `value="`+sum).Without(t, "something else")
}

// TestDialogLongRefreshed tests that a long text can still be allowed after a refresh.
func TestDialogLongRefreshed(t *testing.T) {
	b := newFixture(t)
	c := permission(strings.Repeat("echo and so on\n", 1000))
	b.Office.Ask(c)
	b.Office.Short = true
	shown := b.Get("/@shop/?d=d-push").Want(t, 200, "Allow once", "none hidden")
	self := sitetest.Link(t, shown.Body, `<article id="letter"`, "hx-get")
	b.Get(self, sitetest.AsScript("article#letter")).Want(t, 200, "Allow once").Without(t,
		"The whole request cannot be shown")
}

// TestDialogHostile tests that a model's texts appear as text, with invisible characters written out.
func TestDialogHostile(t *testing.T) {
	b := newFixture(t)
	c := permission("ls " + sitetest.Hostile + " \x1b[8mrm -rf /\u202e\u200b\r\n⟨U+0007⟩")
	c.Says, c.Path, c.Dir, c.Tool = sitetest.Hostile, sitetest.Hostile, sitetest.Hostile, sitetest.Hostile
	c.Offers[1].Writes, c.Who, c.Client = sitetest.Hostile, sitetest.Hostile, sitetest.Hostile
	c.Waiters = []mail.Waiting{{Question: "msg_1", Asker: "e2e", Asked: "release", Subject: sitetest.Hostile}}
	b.Office.Ask(c)
	q := questions(sitetest.Hostile + "\u202e")
	b.Office.Ask(q)
	plan := permission("")
	plan.ID, plan.Kind, plan.Form, plan.Plan = "d-plan", mail.AsksPlan, "", sitetest.Hostile+"\u202e\n\n# Do it"
	b.Office.Ask(plan)
	for _, path := range []string{"/", "/@shop/?d=d-push", "/@shop/?d=d-ask", "/@shop/?d=d-plan", "/@shop/stuck",
		"/@shop/agents", "/@shop/compose?to=agent:release"} {
		a := b.Get(path).Harmless(t).Without(t, "\x1b", "\u202e", "\u200b", "\r")
		if _, err := sitetest.Scan(a.Body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	b.Get("/@shop/?d=d-push").Want(t, 200, `<b class="unseen">⟨U+001B⟩</b>[8mrm -rf /`,
		`<b class="unseen">⟨U+202E⟩⟨U+200B⟩⟨U+000D⟩</b>`+"\n⟨U+0007⟩</code>", "4 of them hidden")
	b.Get("/@shop/?d=d-plan").Want(t, 200, "⟨U+202E⟩", ">Do it</h1>")
}

// TestDialogLarge tests that the longest text accepted is shown in full without delay.
func TestDialogLarge(t *testing.T) {
	b := newFixture(t)
	text := strings.Repeat("echo <b>\x00", mail.MaxAsk/9)
	b.Office.Ask(permission(text))
	begun := time.Now()
	a := b.Get("/@shop/?d=d-push").Want(t, 200, "Allow once")
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := strings.Count(a.Body, "echo &lt;b&gt;"); n < mail.MaxAsk/9 {
		t.Errorf("%d of %d pieces are shown", n, mail.MaxAsk/9)
	}
	if n := strings.Count(a.Body, `class="unseen"`); n == 0 || n > 2000 {
		t.Errorf("%d characters are marked: a browser has to bear it", n)
	}
	if n := len(b.Get("/@shop/").Body); n > 40_000 {
		t.Errorf("the list has %d bytes", n)
	}
}

// TestDialogNotHere tests that a truncated question cannot be allowed, and that a dialog the client does not accept
// answers to is only shown.
func TestDialogNotHere(t *testing.T) {
	b := newFixture(t)
	cut := permission("ls")
	cut.Cut = true
	b.Office.Ask(cut)
	b.Get("/@shop/?d=d-push").Want(t, 200, "The whole request cannot be shown here", "incomplete", `data-key="1"`,
		"Deny, and say why").Without(t, "Allow once", "Allow for this session", `value="allow"`)
	form := url.Values{"dialog": {"d-push"}, "sum": {sum}, "verdict": {"allow"}}
	b.Post("/@shop/dialog", form).Want(t, 403, "nothing was done")
	there := questions("Which port?")
	there.ID, there.Here, there.Why = "d-there", false, "answer in its terminal: gemini takes none"
	b.Office.Ask(there)
	b.Get("/@shop/?d=d-there").Want(t, 200, "It cannot be answered here: answer in its terminal: gemini takes none",
		"Which port?", "<b dir=\"auto\">8080</b>", "data-again").Without(t, `action="/@shop/dialog"`)
}

// TestDialogStranger tests that dialogs can be neither seen nor answered without a login.
func TestDialogStranger(t *testing.T) {
	b := newFixture(t)
	b.Office.Ask(permission("ls"))
	none := func(r *http.Request) { r.Header.Del("Cookie") }
	form := url.Values{"dialog": {"d-push"}, "sum": {sum}, "verdict": {"allow"}}
	b.Post("/@shop/dialog", form, none).Want(t, 401)
	b.Post("/@shop/away", url.Values{"for": {"1h"}}, none).Want(t, 401)
	b.Get("/@shop/?d=d-push", none).Want(t, 401).Without(t, "release")
	b.Get("/@shop/dialog?d=d-push", none, sitetest.AsScript("article#letter")).Want(t, 401).Without(t, "release")
	if len(b.Office.Answers) > 0 || len(b.Away.List) > 0 {
		t.Errorf("answered: %v, away: %v", b.Office.Answers, b.Away.List)
	}
}

// questions is a dialog with two questions; the second takes several options.
func questions(text string) mail.Card {
	c := permission("")
	c.ID, c.Kind, c.Form, c.Tool = "d-ask", mail.AsksQuestion, "", "AskUserQuestion"
	c.Questions = []mail.AskedQuestion{
		{Header: text, Text: text, Free: true, Options: []mail.Choice{{Label: "8080", Note: text}, {Label: text}}},
		{Text: "Which checks?", Several: true, Options: []mail.Choice{{Label: "vet"}, {Label: "a\r\nb"},
			{Label: "c"}}}}
	c.Offers = []mail.Offer{{Verdict: mail.SayAnswer}, {Verdict: mail.SayDeny, Words: true}}
	return c
}

// TestDialogQuestions tests that several questions have a form, that a single one has buttons, and that labels reach
// the client byte for byte.
func TestDialogQuestions(t *testing.T) {
	b := newFixture(t)
	b.Office.Ask(questions("Which port?"))
	b.Get("/@shop/?d=d-ask").Want(t, 200, "release has 2 questions for you", `type="radio" name="q0" value="1"`,
		`type="checkbox" name="q1" value="2"`, `name="w0"`, "Do not answer, and say why").Without(t, `name="w1"`)
	say := func(more url.Values) url.Values {
		form := url.Values{"dialog": {"d-ask"}, "sum": {sum}, "verdict": {"answer"}}
		for k, v := range more {
			form[k] = v
		}
		return form
	}
	b.Post("/@shop/dialog", say(url.Values{"q0": {"7"}, "q1": {"0"}})).Want(t, 400, "nothing was done")
	b.Post("/@shop/dialog", say(url.Values{"q1": {"0"}})).Want(t, 400, "has no answer: nothing was done")
	b.Post("/@shop/dialog", say(url.Values{"q0": {"0", "1"}, "q1": {"0"}})).Want(t, 400, "takes only one option")
	b.Post("/@shop/dialog", say(url.Values{"w0": {" 7070 "}, "q1": {"1", "2"}})).Want(t, 303)
	got := b.Office.Answers[0].Answers
	if len(got) != 2 || got[0].Words != "7070" || len(got[0].Labels) > 0 ||
		!slices.Equal(got[1].Labels, []string{"a\r\nb", "c"}) {
		t.Errorf("the client is told %+v", got)
	}
	one := questions("Which port?")
	one.Questions = one.Questions[:1]
	b.Office.Ask(one)
	b.Get("/@shop/?d=d-ask").Want(t, 200, `data-key="1"`, `data-key="3"`,
		"Answer in your own words", `data-key="r"`)
	b.Post("/@shop/dialog", say(url.Values{"q0": {"0"}})).Want(t, 303)
	if got := b.Office.Answers[1].Answers; len(got) != 1 || !slices.Equal(got[0].Labels, []string{"8080"}) {
		t.Errorf("the client is told %+v", got)
	}
}

// TestDialogElsewhere tests that a dialog of another room is in the inbox over all rooms, and is answered in its own.
func TestDialogElsewhere(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("lab")
	c := permission("ls")
	c.Room = "lab"
	b.Office.Ask(c)
	b.Get("/").Want(t, 200, `href="/@lab/?d=d-push&amp;rooms=all"`, `<span class="room">lab</span>`)
	b.Get("/@shop/").Want(t, 200, `title="need you">1<`).Without(t, `data-count="inbox">1<`)
	b.Get("/@shop/?rooms=all").Want(t, 200, `data-count="inbox">1<`)
	b.Get("/@shop/").Want(t, 200).Without(t, "row-d-push")
	b.Get("/@lab/").Want(t, 200, "row-d-push")
	b.Get("/@shop/?d=d-push").Want(t, 200, `action="/@lab/dialog"`, `hx-get="/@lab/dialog?d=d-push`)
}

// TestAway tests that the person can say how long agents should ask here, and that they are back.
func TestAway(t *testing.T) {
	b := newFixture(t)
	b.Get("/").Want(t, 200, "I am away from the terminals: ask me here", `name="for" value="1h"`)
	for _, form := range []url.Values{{"for": {"1000h"}}, {"for": {"-1h"}}, {"at": {"2001-01-01T10:00"}}, {}} {
		b.Post("/@shop/away", form).Want(t, 400, "nothing was changed")
	}
	b.Post("/@shop/away", url.Values{"for": {"1h"}}, sitetest.AsScript("form")).Want(t, 200,
		"Agents ask you here until")
	if left := time.Until(b.Away.List[0].Until.Std()); left < 59*time.Minute || left > time.Hour {
		t.Errorf("away: %+v", b.Away.List)
	}
	b.Get("/").Want(t, 200, "You are away until ", "I am back").Without(t, "ask me here")
	b.Post("/@shop/away", url.Values{"back": {"1"}}).Want(t, 303)
	if len(b.Away.List) != 0 {
		t.Errorf("away: %+v", b.Away.List)
	}
	at := time.Now().Add(3 * time.Hour).Format("2006-01-02T15:04")
	b.Post("/@shop/away", url.Values{"at": {at}}).Want(t, 303)
	if left := time.Until(b.Away.List[0].Until.Std()); left < 2*time.Hour {
		t.Errorf("away: %+v, want until %s", b.Away.List, at)
	}
}
