package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
)

const (
	sendingTimeout = 30 * time.Second // for an answer, which is durable then
	// choiceKey begins the key of an answer that was a button: a question is answered by one of those once.
	choiceKey = "choice-"
)

// answer is what the person answered to a message. It waits for undoTime before it is sent.
type answer struct {
	Draft   mail.Draft
	Settles bool   // a question that was open when it was answered
	Problem string // why it could not be sent
}

// typed is what was written, and not chosen.
func (a *answer) typed() string {
	if strings.HasPrefix(a.Draft.Key, choiceKey) {
		return ""
	}
	return a.Draft.Body
}

// Text is the answer in a few words.
func (a *answer) Text() string { return previewOf(a.Draft.Body) }

// answer takes an answer to a message, which leaves once it can no longer be taken back. A browser without script has
// no toast to take it back by; its forms post to /send, and what they hold leaves at once.
func (s *Site) answer(v *view) error {
	if err := v.form(); err != nil {
		return err
	}
	id, err := mail.ParseID(v.r.PostForm.Get("reply_to"))
	if err != nil {
		return err
	}
	it, err := v.svc.Message(v.ctx(), id)
	if err != nil {
		return err
	}
	a := &answer{Draft: v.draft(), Settles: it.Open && toUser(&it.Message)}
	if err := v.complete(a, &it); err != nil {
		return err
	}
	t := target{v.Room, id}
	if other, _ := s.undo.answering(t); other != nil && strings.HasPrefix(a.Draft.Key, choiceKey) {
		return mail.Errorf(mail.Conflict, "“%s” is on its way as the answer. Take that back first, with z",
			other.Text())
	}
	f := found{v, it}
	act := &deed{targets: []target{t}, answers: map[target]*answer{t: a}, do: func([]target) { s.send(f, a) }}
	d := done{view: v, Messages: messageLines([]found{f}), Undo: s.undo.add(act), Done: "replied",
		MS: int(undoTime.Milliseconds())}
	to := strings.Join(bareNames(a.Draft.To), ", ")
	switch {
	case v.r.PostForm.Has("decline"):
		d.Text = "Declined to answer " + to
	case a.Settles:
		d.Text = "Answered “" + a.Text() + "” to " + to
	default:
		d.Text = "Replied “" + a.Text() + "” to " + to
	}
	if a.Settles {
		d.Done = "answered"
	}
	return v.answerDone(d)
}

// complete fills in what an answer is beside its text: whom it is for, and, if it is one that the question offers, or
// a refusal, that.
func (v *view) complete(a *answer, it *mail.Item) error {
	d, form := &a.Draft, v.r.PostForm
	to, err := v.reachable(it.AnswerTo(mail.User))
	if err != nil {
		return err
	}
	if len(to) == 0 {
		return mail.Errorf(mail.NotFound, "nobody would get an answer: %s is not on the roster", who(it.From))
	}
	d.To = nil
	for _, address := range to {
		d.To = append(d.To, string(address))
	}
	d.Type = string(it.AnswerType(mail.User))
	n := form.Get("n")
	if (n != "" || form.Has("decline")) && !a.Settles {
		return mail.Errorf(mail.Conflict, "it does not wait for an answer any more; nothing was sent")
	}
	switch {
	case n != "":
		i, err := strconv.Atoi(n)
		list := it.Metadata.Options()
		if err != nil || i < 1 || i > len(list) {
			return mail.Errorf(mail.Invalid, "the question offers no answer %s; nothing was sent", n)
		}
		d.Body, d.Key = list[i-1].Answer, choiceKey+string(it.ID)
	case form.Has("decline"):
		*a = declined(found{v, *it})
	case form.Has("adopt"):
		return v.adopt(a, it)
	}
	if strings.TrimSpace(d.Body) == "" {
		return mail.Errorf(mail.Invalid, "the answer has no text; nothing was sent")
	}
	return nil
}

// adopt makes a the answer to a question in the words of a suggestion.
func (v *view) adopt(a *answer, q *mail.Item) error {
	id, err := mail.ParseID(v.r.PostForm.Get("adopt"))
	if err != nil {
		return err
	}
	suggestion, err := v.svc.Message(v.ctx(), id)
	switch {
	case err != nil:
		return err
	case !q.Open:
		return mail.Errorf(mail.Conflict, "it does not wait for an answer any more; nothing was sent")
	case !suggestion.Suggests || suggestion.ReplyTo != q.ID:
		return mail.Errorf(mail.Invalid, "%s suggests no answer to the question; nothing was sent", id)
	}
	*a = answer{Settles: true, Draft: q.Adopt(mail.User, &suggestion.Message)}
	a.Draft.Key = choiceKey + string(q.ID)
	return nil
}

// declined is the refusal to answer a question.
func declined(f found) answer {
	d := f.Decline(mail.User, mail.DeclinedBody)
	d.Key = choiceKey + string(f.ID)
	return answer{Settles: true, Draft: d}
}

// decline makes a deed decline questions too.
func (s *Site) decline(act *deed, list []found) {
	act.answers = make(map[target]*answer)
	for _, f := range list {
		t := target{f.Room, f.ID}
		act.targets = append(act.targets, t)
		act.answers[t] = new(declined(f))
	}
	act.do = func([]target) {
		for _, f := range list {
			s.send(f, act.answers[target{f.Room, f.ID}])
		}
	}
}

// send sends an answer that can no longer be taken back. Nobody waits to be told of an error: it is kept, and stands
// with the text below the question.
func (s *Site) send(f found, a *answer) {
	ctx, cancel := context.WithTimeout(context.Background(), sendingTimeout)
	defer cancel()
	it, err := f.svc.Message(ctx, f.ID)
	if err == nil && a.Settles && !it.Open {
		err = mail.Errorf(mail.Conflict, "the question was %s meanwhile", it.Settled.As)
	}
	if err == nil {
		_, err = f.svc.Send(ctx, a.Draft)
	}
	if err == nil {
		return
	}
	s.opts.Log.Error("an answer was not sent; it is kept below the question", "room", f.Room, "question", f.ID, "err",
		err)
	failed := *a
	failed.Problem = err.Error()
	s.undo.fail(target{f.Room, f.ID}, &failed)
}

// bareNames are addresses of a draft as a person reads them.
func bareNames(list mail.Recipients) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = who(a)
	}
	return slices.Clip(out)
}
