package inbox

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
)

// waiters are the agents that wait for an open question or dialog, directly or through others.
type waiters struct {
	*page.View
	Self    string // the address that refreshes it
	Waiters []waiter
}

// waiter is an agent that waits, with its distance from the question.
type waiter struct {
	waits.Link
	Depth int
}

// deepest is the deepest indentation of rows.
const deepest = 3

func waitersFor(v *page.View, agent mail.Name, self string) waiters {
	b := waiters{View: v, Self: self}
	list, depths := v.WaitersFor(v.Room, agent)
	for i, w := range list {
		b.Waiters = append(b.Waiters, waiter{waits.Link{View: v, Waiting: w}, min(depths[i], deepest)})
	}
	return b
}

// StateClass is the CSS class of the waiting agent's letters.
func (w waiter) StateClass() string { return w.View.StateClass(w.Room, w.From(), false) }

// Opened lists the agents that wait for the open letter or dialog; empty if none is open.
func (p *inboxPage) Opened() waiters {
	switch {
	case p.Dialog != nil:
		return waitersFor(p.Dialog.View, p.Dialog.Agent, p.Dialog.Base+page.Query("/waiters", "agent",
			string(p.Dialog.Agent)))
	case p.Open != nil && p.Open.Asks():
		from := p.Open.From.Signer()
		return waitersFor(p.Open.View, from, p.Open.Base+page.Query("/waiters", "agent", string(from)))
	}
	return waiters{View: p.View}
}

// showWaiters renders the agents that wait for an agent.
func showWaiters(v *page.View) error {
	agent := mail.Name(v.R.URL.Query().Get("agent"))
	return v.Part("inbox", "waiters", waitersFor(v, agent, v.Base+page.Query("/waiters", "agent", string(agent))))
}
