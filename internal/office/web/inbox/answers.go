package inbox

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/office/web/words"
)

const sendingTimeout = 30 * time.Second // for an answer that no one can take back any more

// answer accepts an answer to a message and sends it when the time to undo it is over. A browser without script shows
// no toast to undo with; its forms post to /send, which sends immediately.
func answer(v *page.View) error {
	id, err := mail.ParseID(v.R.PostForm.Get("reply_to"))
	if err != nil {
		return err
	}
	it, err := v.Svc.Message(v.Ctx(), id)
	if err != nil {
		return err
	}
	a := &undo.Answer{Draft: v.Draft(), Settles: it.Open && triage.ToUser(&it.Message)}
	if err := complete(v, a, &it); err != nil {
		return err
	}
	f := page.Post{View: v, Item: it}
	d := page.Toast{View: v, Messages: messageLines([]page.Post{f}), Done: "replied", MS: undoMS}
	before, undoKey, err := answeredBefore(f, a)
	switch {
	case err != nil:
		return err
	case before:
		d.Undo = undoKey
	case v.R.PostForm.Has("waited"): // it could be undone in the browser, and may have been sent already
		if _, err := sends(v, a.Draft); err != nil {
			return err
		}
	default:
		t := v.Target(id)
		d.Undo = v.Site.Undo.Add(&undo.Deed{Targets: []undo.Target{t}, Answers: map[undo.Target]*undo.Answer{t: a},
			Do: func([]undo.Target) { send(f, a) }})
	}
	to := strings.Join(bareNames(a.Draft.To), ", ")
	switch {
	case v.R.PostForm.Has("decline"):
		d.Text = "Declined to answer " + to
	case a.Settles:
		d.Text = "Answered “" + a.Text() + "” to " + to
	default:
		d.Text = "Replied “" + a.Text() + "” to " + to
	}
	if a.Settles {
		d.Done = "answered"
	}
	return acted(v, d)
}

// answeredBefore reports whether the same answer was accepted already: a browser that lost the response sends it
// again. undoKey undoes that answer, if it still can be. The error says that a choice is too late. A typed answer is
// deduplicated by the room, by its idempotency key.
func answeredBefore(f page.Post, a *undo.Answer) (before bool, undoKey string, err error) {
	d, choice := &a.Draft, strings.HasPrefix(a.Draft.Key, undo.ChoiceKey)
	if other, undoKey := f.Site.Undo.Answering(f.Target(f.ID)); other != nil {
		if d.Key != "" && other.Draft.Key == d.Key && other.Draft.Body == d.Body {
			return true, undoKey, nil
		}
		if choice {
			return false, "", mail.Errorf(mail.Conflict,
				"“%s” is being sent as the answer. Undo that first, with z", other.Text())
		}
	}
	if !choice {
		return false, "", nil
	}
	if s := f.Settled; s != nil && s.By == mail.ToUser && s.Answer != "" {
		given, err := f.Svc.Message(f.Ctx(), s.Answer)
		if err == nil && given.Body == d.Body {
			return true, "", nil
		}
	}
	return false, "", triage.Question{Item: &f.Item, By: mail.User, As: "it"}.Waits()
}

// complete fills in the rest of an answer from the form: its recipients and, for an option, a refusal or an adopted
// suggestion, its text.
func complete(v *page.View, a *undo.Answer, it *mail.Item) error {
	to, err := v.Reachable(it.AnswerTo(mail.User))
	if err != nil {
		return err
	}
	if len(to) == 0 {
		return mail.Errorf(mail.NotFound, "you cannot answer: %s is not on the roster", words.Who(it.From))
	}
	open := *it
	open.Open = true // answeredBefore checks whether it is open
	q, form := triage.Question{Item: &open, By: mail.User, As: "it"}, v.R.PostForm
	d := a.Draft
	switch n := form.Get("n"); {
	case n != "":
		i, _ := strconv.Atoi(n) // text that is not a number becomes no option
		d, err = q.Option(i)
	case form.Has("decline"):
		d, err = q.Decline(mail.DeclinedBody)
	case form.Has("adopt"):
		var suggestion mail.Item
		if suggestion, err = v.Svc.Message(v.Ctx(), mail.ID(form.Get("adopt"))); err == nil {
			d, err = q.Adopt(&suggestion)
		}
	default:
		d.To, d.Type = page.Texts(to), string(it.AnswerType(mail.User))
		a.Draft = d
		if strings.TrimSpace(d.Body) == "" {
			return mail.Errorf(mail.Invalid, "the answer is empty; nothing was sent")
		}
		return nil
	}
	d.To, d.Key = page.Texts(to), undo.ChoiceKey+string(it.ID)
	*a = undo.Answer{Settles: true, Draft: d}
	return err
}

// declined is the refusal to answer a question.
func declined(f page.Post) undo.Answer {
	d := f.Decline(mail.User, mail.DeclinedBody)
	d.Key = undo.ChoiceKey + string(f.ID)
	return undo.Answer{Settles: true, Draft: d}
}

// decline makes a deed decline questions as well.
func decline(act *undo.Deed, list []page.Post) {
	act.Answers = make(map[undo.Target]*undo.Answer)
	for _, f := range list {
		t := f.Target(f.ID)
		act.Targets = append(act.Targets, t)
		act.Answers[t] = new(declined(f))
	}
	act.Do = func([]undo.Target) {
		for _, f := range list {
			send(f, act.Answers[f.Target(f.ID)])
		}
	}
}

// send sends an answer after its time to undo. No request waits for the result, so a failed answer is stored and
// shown with its error below the question.
func send(f page.Post, a *undo.Answer) {
	ctx, cancel := context.WithTimeout(context.Background(), sendingTimeout)
	defer cancel()
	it, err := f.Svc.Message(ctx, f.ID)
	if err == nil && a.Settles && !it.Open {
		err = mail.Errorf(mail.Conflict, "the question was %s in the meantime", it.Settled.As)
	}
	if err == nil {
		_, err = f.Svc.Send(mail.Unkept(ctx), a.Draft)
	}
	if err == nil {
		return
	}
	f.Site.Log.Error("answer not sent; kept below the question", "room", f.Room, "question", f.ID, "err",
		err)
	failed := *a
	failed.Problem = err.Error()
	f.Site.Undo.Fail(f.Target(f.ID), &failed)
}

// bareNames are a draft's addresses as a person reads them.
func bareNames(list mail.Recipients) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = words.Who(a)
	}
	return slices.Clip(out)
}
