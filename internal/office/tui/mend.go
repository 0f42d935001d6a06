package tui

import (
	"context"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// mend handles keys on a row of Stuck or Waiting.
func (m *model) mend(k string) ([]effect, bool) {
	e := m.pointed()
	switch {
	case e == nil || m.talk != nil || e.agent != nil:
	case k == "m":
		return m.remind(e), true
	case k == "x":
		if e.stuck != nil && len(e.stuck.Claims) > 0 {
			return m.askFree(e), true
		}
		return m.askWithdraw(e), true
	}
	return nil, false
}

// asksIn returns the open questions of a row of Stuck or Waiting.
func (e *entry) asksIn() (ids []mail.ID) {
	if e.wait != nil {
		return []mail.ID{e.wait.Question}
	}
	for i := range e.stuck.Mail {
		if e.stuck.Mail[i].Open {
			ids = append(ids, e.stuck.Mail[i].ID)
		}
	}
	return ids
}

// remind reminds the row's agent of an open question, which wakes it.
func (m *model) remind(e *entry) []effect {
	who, ids, room := e.who(), e.asksIn(), e.room
	switch {
	case who == mail.User || e.wait != nil && e.wait.Address == mail.ToUser:
		return m.say("It waits for you: enter opens it.")
	case who == "":
		return m.say("It is not for a particular agent, so no agent can be reminded.")
	case len(ids) == 0:
		return m.say("No open question there: c writes to " + cleanLine(string(who)) + ".")
	}
	now := m.now
	return []effect{call(func(ctx context.Context, p mail.Office) message {
		svc, err := p.Room(ctx, room, mail.User)
		if err != nil {
			return done{err: err}
		}
		q, err := svc.Message(ctx, ids[0])
		if err != nil {
			return done{err: err}
		}
		d, err := triage.Remind(&q, who, now)
		var sent mail.Sent
		if err == nil {
			sent, err = svc.Send(ctx, d)
		}
		if sent.Kept != nil {
			return done{notice: keptHere}
		}
		return done{notice: cleanLine(string(who)) + " was reminded.", err: err}
	})}
}

// askWithdraw asks whether to withdraw a row's questions on behalf of their askers.
func (m *model) askWithdraw(e *entry) []effect {
	ids, room := e.asksIn(), e.room
	if len(ids) == 0 {
		return m.say("No open question there to withdraw.")
	}
	m.choice = &choice{text: "Withdraw " + wording.Plural(len(ids), "question") + "? Its asker then waits no " +
		"longer.",
		keys: []option{{"x", "withdraw", func() []effect {
			return []effect{call(func(ctx context.Context, p mail.Office) message {
				svc, err := p.Room(ctx, room, mail.User)
				for _, id := range ids {
					if err == nil {
						err = svc.Withdraw(ctx, id)
					}
				}
				return done{notice: "Withdrawn.", err: err}
			})}
		}}}}
	return nil
}

// askFree asks whether to free the claims that an agent waits for.
func (m *model) askFree(e *entry) []effect {
	claims, room := e.stuck.Claims, e.room
	h := &claims[0].Held
	what := cleanLine(h.Target.String()) + ", which " + cleanLine(string(h.Agent)) + " holds"
	if len(claims) > 1 {
		what = wording.Plural(len(claims), "claim") + " that it waits for"
	}
	m.choice = &choice{text: "Free " + what + "? Its holder is notified.",
		keys: []option{{"x", "free", func() []effect {
			return []effect{call(func(ctx context.Context, p mail.Office) message {
				svc, err := p.Room(ctx, room, mail.User)
				for i := range claims {
					if h := &claims[i].Held; err == nil {
						_, err = svc.Claim(ctx, mail.ClaimRequest{Free: []mail.Target{h.Target}, Of: h.Agent})
					}
				}
				return done{notice: "It is free.", err: err}
			})}
		}}}}
	return nil
}
