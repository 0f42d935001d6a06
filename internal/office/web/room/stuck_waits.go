package room

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

// The kinds of groups that are about questions.
const (
	stuckCircle     mail.StuckKind = "circle"
	stuckUnanswered mail.StuckKind = "unanswered"
)

// asking adds an agent that is at a client dialog, unless it was found already, and returns its group.
func (c *catch) asking(agent mail.Address, since mail.Time) *stuckGroup {
	s := &stuckGroup{Kind: string(mail.StuckAsking), Who: agent, Since: since}
	if known := c.found[s.Key()]; known != nil {
		return known
	}
	s.Why = "It has been at a dialog of its client since " + words.Moment(c.Now, since) + "."
	return c.add(s)
}

// dialogs finds the agents at client dialogs, with the questions asked there.
func (c *catch) dialogs() {
	cards := c.CardsIn(c.Room)
	for i := range cards {
		s := c.asking(mail.AgentAddress(cards[i].Agent), cards[i].Since)
		s.Asks = append(s.Asks, &cards[i])
	}
}

// ofWaits reports whether a kind is about questions.
func ofWaits(kind mail.StuckKind) bool { return kind == stuckCircle || kind == stuckUnanswered }

// waits finds circles of waits, and questions that were seen but have long gone unanswered.
func (c *catch) waits() error {
	links, _, err := waits.In(c.View)
	if err != nil {
		return err
	}
	round := make(map[mail.ID]bool)
	for _, chain := range waits.ChainsOf(links) {
		if len(chain.Circle) > 0 {
			c.circle(chain)
			for _, l := range chain.Circle {
				round[l.Question] = true
			}
		}
	}
	looked := 0
	for _, l := range links {
		if !l.Late() || looked == mostLate {
			break // the rest have waited less long
		}
		if round[l.Question] || l.Asked == "" || l.Asked == mail.User {
			continue
		}
		looked++
		if seen, err := c.seen(l); err != nil {
			return err
		} else if seen {
			c.unanswered(l)
		}
	}
	return nil
}

// mostLate limits the questions examined.
const mostLate = 200

// seen reports whether the reader was shown the question. An unseen one is stuck as mail.
func (c *catch) seen(l waits.Link) (bool, error) {
	it, err := c.Svc.Message(c.Ctx(), l.Question)
	if mail.CodeOf(err) == mail.NotFound {
		return false, nil // erased meanwhile
	}
	return slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
		return d.Agent == l.Asked && (d.State == mail.Presented || d.State == mail.Read || d.State == mail.Archived)
	}), err
}

// circle adds a circle. Several chains may lead into the same one.
func (c *catch) circle(chain waits.Chain) {
	var members []string
	for _, l := range chain.Circle {
		members = append(members, string(l.Asker))
	}
	slices.SortFunc(members, mail.CompareNames)
	s := c.add(&stuckGroup{Kind: string(stuckCircle), Title: strings.Join(members, ", "), Waits: chain.Circle,
		Since: chain.Circle[0].Since,
		Why: "Each of them waits for the next. Answer or withdraw one of the questions, " +
			"and the others continue."})
	for _, l := range chain.Circle {
		s.Since = min(s.Since, l.Since)
	}
}

// unanswered adds a question to the group of the agent that was asked.
func (c *catch) unanswered(l waits.Link) {
	s := &stuckGroup{Kind: string(stuckUnanswered), Who: mail.Address("agent:" + l.Asked), Since: l.Since}
	if known := c.found[s.Key()]; known != nil {
		s = known
	} else {
		c.add(s)
		if s.Why = "It has seen this but not answered."; len(l.Chain) > 2 {
			further := waits.Link{Waiting: mail.Waiting{Asked: l.Chain[2]}}
			s.Why = "It has seen this and waits for " + further.Whom() + " itself."
		}
	}
	if s.Count++; len(s.Waits) < maxShown {
		s.Waits = append(s.Waits, l)
	}
}

// MoreWaits is how many questions the page does not list.
func (s *stuckGroup) MoreWaits() int { return max(0, s.Count-len(s.Waits)) }

// remindAgain is the time until the same reminder can be sent again.
const remindAgain = 10 * time.Minute

// remind sends the asked agent a message from the user, which wakes it as any such message does.
func remind(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	to := v.R.PostForm.Get("to")
	if len(items) != 1 || to == "" {
		return mail.Errorf(mail.Invalid, "name the question and whom to remind. No reminder was sent")
	}
	q := &items[0]
	if q.Settled != nil {
		return mail.Errorf(mail.Conflict, "the question was already %s. No reminder was sent", q.Settled.As)
	}
	_, err = v.Svc.Send(v.Ctx(), mail.Draft{
		To: mail.Recipients{to}, Type: string(mail.Custom), ReplyTo: q.ID, Issue: q.Issue,
		Subject: "Reminder: " + wording.ClipRunes(words.Subject(&q.Message), 200),
		Body: words.Who(q.From) + " has been waiting for your answer since " + words.Moment(v.Now, q.Sent) +
			". Answer or decline " + string(q.ID) + ".",
		Key: fmt.Sprintf("remind-%s-%s-%d", q.ID, to, v.Now.Unix()/int64(remindAgain.Seconds())),
	})
	if err != nil {
		return err
	}
	return changed(v, "%s was reminded", words.Who(to))
}

// withdraw withdraws questions on behalf of their askers.
func withdraw(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	for _, q := range items {
		if err := v.Svc.Withdraw(v.Ctx(), q.ID); err != nil {
			return err
		}
	}
	return changed(v, "Question withdrawn")
}
