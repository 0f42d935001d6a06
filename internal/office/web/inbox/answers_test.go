package inbox_test

import (
	"net/url"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/undo"
)

// answersTo are the answers sent to an agent.
func (b *fixture) answersTo(name mail.Name) (texts []string) {
	b.T.Helper()
	page, err := b.As(name).Inbox(b.T.Context(), mail.InboxQuery{All: true})
	if err != nil {
		b.T.Fatal(err)
	}
	for _, it := range page.Messages {
		texts = append(texts, string(it.Type)+" "+it.Body)
	}
	return texts
}

// TestAnswerWaits tests that an answer can be undone for five seconds, while it is unsent and the question open, and
// is then sent once.
func TestAnswerWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Register(mail.Presence{Name: "ann"})
		id := b.Send("ann", mail.Draft{Type: "question", Body: "Which?",
			Metadata: mail.Metadata(`{"options":["A","B"]}`)})
		choose := func(n string) sitetest.Answer {
			return b.Post("/@shop/answer", url.Values{"reply_to": {string(id)}, "n": {n}},
				sitetest.AsScript("div#toasts"))
		}
		letter := func() sitetest.Answer { return b.Part("/@shop/letter?m="+string(id), "letter") }
		choose("3").Want(t, 400, "has no suggested answer 3")
		toast := choose("2").Want(t, 200, "Answered “B” to ann", `data-done="answered"`, `data-ms="5000"`,
			`data-messages="shop/`+string(id)+`"`)
		choose("1").Want(t, 409, "“B” is being sent")
		letter().Want(t, 200, "Sent in a few seconds", "Undo").Without(t, `name="body" value="A"`)
		b.Get("/@shop/").Want(t, 200).Without(t, `id="row-`+string(id)) // hidden already
		time.Sleep(undo.Time - time.Second)
		if got := b.answersTo("ann"); len(got) != 0 || !b.item(id).Open {
			t.Fatalf("after four seconds ann has %q, and the question is open: %v", got, b.item(id).Open)
		}
		b.undoOf(toast).Want(t, 200, "Not sent", `data-done="back"`).Without(t, "data-typed")
		letter().Want(t, 200, `name="body" value="A"`).Without(t, "Sent in")
		b.Get("/@shop/").Want(t, 200, `id="row-`+string(id))
		time.Sleep(2 * undo.Time)
		choose("1").Want(t, 200)
		time.Sleep(undo.Time + time.Second)
		if got := b.answersTo("ann"); len(got) != 1 || got[0] != "answer A" || b.item(id).Open {
			t.Errorf("ann has %q, and the question is open: %v", got, b.item(id).Open)
		}
		letter().Want(t, 200, "You answered")
		choose("2").Want(t, 409, "no longer waits for an answer")
	})
}

// TestAnswerComesAgain tests that a browser that lost the response can send the same answer again without a conflict
// or a second message, before and after it was sent.
func TestAnswerComesAgain(t *testing.T) {
	for name, form := range map[string]url.Values{
		"an option": {"n": {"2"}}, "its button": {"body": {"B"}, "key": {"choice-"}},
		"declined": {"decline": {"1"}}, "typed": {"body": {"Neither"}, "key": {"k1"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *fixture) {
				b.Register(mail.Presence{Name: "ann"})
				id := b.Send("ann", mail.Draft{Type: "question", Body: "Which?",
					Metadata: mail.Metadata(`{"options":["A","B"]}`)})
				form.Set("reply_to", string(id))
				if name == "its button" {
					form.Set("key", undo.ChoiceKey+string(id))
				}
				send := func() sitetest.Answer {
					return b.Post("/@shop/answer", form, sitetest.AsScript("div#toasts"))
				}
				send().Want(t, 200)
				time.Sleep(undo.Time / 2)
				b.undoOf(send().Want(t, 200, "ann<")).Want(t, 200, "Not sent") // of the only answer
				send().Want(t, 200)
				time.Sleep(undo.Time + time.Second)
				form.Set("waited", "1")
				send().Want(t, 200, "ann<").Without(t, "Undo")
				if got := b.answersTo("ann"); len(got) != 1 {
					t.Errorf("ann has %q", got)
				}
				b.Part("/@shop/letter?m="+string(id), "letter").Want(t, 200).Without(t, "was not sent")
			})
		})
	}
}

// TestAnswerIsSentAtTheEnd tests that an orderly shutdown sends waiting answers.
func TestAnswerIsSentAtTheEnd(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	id := b.Send("ann", mail.Draft{Type: "question", Body: "Which?"})
	b.Post("/@shop/answer", url.Values{"reply_to": {string(id)}, "body": {"Mine"}, "key": {"k"}},
		sitetest.AsScript("div#toasts")).Want(t, 200, "Answered “Mine”")
	b.Site.Close()
	if got := b.answersTo("ann"); len(got) != 1 || got[0] != "answer Mine" {
		t.Errorf("ann has %q", got)
	}
}

// TestAnswerTyped tests that undo returns a written answer's text, that an answer that cannot be sent stays below the
// question with the error, and that a refusal settles the question as declined.
func TestAnswerTyped(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Register(mail.Presence{Name: "ann"})
		id := b.Send("ann", mail.Draft{Type: "question", Body: "Which?"})
		write := func(form url.Values) sitetest.Answer {
			form.Set("reply_to", string(id))
			form.Set("to", "agent:somebody-else") // the recipient follows from the question
			return b.Post("/@shop/answer", form, sitetest.AsScript("div#toasts"))
		}
		write(url.Values{"body": {" "}}).Want(t, 400, "the answer is empty")
		toast := write(url.Values{"body": {"My *own*"}, "key": {"k1"}}).Want(t, 200, "Answered “My own” to ann")
		b.undoOf(toast).Want(t, 200, `data-typed="My *own*"`)

		write(url.Values{"body": {"First"}, "key": {"k2"}})
		write(url.Values{"body": {"Second"}, "key": {"k3"}}) // sends the previous one
		time.Sleep(time.Second)
		if got := b.answersTo("ann"); len(got) != 1 || got[0] != "answer First" {
			t.Errorf("before its time, ann has %q", got)
		}
		time.Sleep(undo.Time)

		id = b.Send("ann", mail.Draft{Type: "question", Body: "And now?"})
		write(url.Values{"body": {"Too late"}, "key": {"k4"}}).Want(t, 200)
		if err := b.As(mail.User).Withdraw(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(undo.Time + time.Second)
		b.Part("/@shop/letter?m="+string(id), "letter").Want(t, 200, "Not sent: ", "was withdrawn in the meantime",
			"Too late")

		id = b.Send("ann", mail.Draft{Type: "question", Body: "Really?"})
		write(url.Values{"decline": {"1"}}).Want(t, 200, "Declined to answer ann")
		time.Sleep(undo.Time + time.Second)
		if s := b.item(id).Settled; s == nil || s.As != mail.Declined {
			t.Errorf("it is settled as %+v", s)
		}
	})
}

// TestP13_SuggestionOnTheCard tests that a third party's answer is shown on the question's card with its author,
// settles nothing, and can be adopted with one button.
func TestP13_SuggestionOnTheCard(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		for _, n := range []mail.Name{"dave", "mallory"} {
			b.Register(mail.Presence{Name: n})
		}
		id := b.Send("dave", mail.Draft{Type: "question", Body: "May I force-push?"})
		suggest := func(from mail.Name, to, body string) mail.ID {
			sent, err := b.As(from).Send(t.Context(),
				mail.Draft{To: mail.Recipients{to}, Type: "answer", Body: body, ReplyTo: id})
			if err != nil {
				t.Fatal(err)
			}
			return sent.ID
		}
		first := suggest("mallory", "dave", "<script>yes</script>, go on")
		newest := suggest("mallory", "dave", "only to *your* branch")
		adopt := func(s mail.ID) sitetest.Answer {
			return b.Post("/@shop/answer", url.Values{"reply_to": {string(id)}, "adopt": {string(s)}},
				sitetest.AsScript("div#toasts"))
		}
		letter := func() sitetest.Answer { return b.Part("/@shop/letter?m="+string(id), "letter") }
		b.Get("/@shop/").Want(t, 200, `id="row-`+string(id), "2 suggestions")
		letter().Want(t, 200, "needs an answer", "Suggested by <bdi>mallory</bdi>, who was not asked",
			"only to <em>your</em> branch", "&lt;script&gt;yes", `name="adopt" value="`+string(first)+`"`,
			`name="adopt" value="`+string(newest)+`" formnovalidate data-key="a"`).Without(t, "<script>yes")
		adopt(id).Want(t, 400, "has no answer suggested by")
		adopt("msg_none").Want(t, 404)
		adopt(newest).Want(t, 200, "Answered “only to your branch” to dave")
		time.Sleep(undo.Time + time.Second)
		if b.item(id).Open {
			t.Error("the question is open")
		}
		if got := b.answersTo("dave"); len(got) != 3 || got[2] != "answer only to *your* branch" {
			t.Errorf("dave has %q", got)
		}
		letter().Want(t, 200, "You answered").Without(t, "Suggested by")
		adopt(first).Want(t, 409, "no longer waits for an answer")
	})
}
