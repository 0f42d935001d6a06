package inbox

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
)

// behind is who waits behind what is open.
type behind struct {
	*page.View
	Self    string // where it is to be had again
	Waiters []waiter
}

// waiter is somebody who waits, and how far behind.
type waiter struct {
	waits.Link
	Depth int
}

// deepest is how far rows are moved in; who waits further behind stands below these.
const deepest = 3

func behindOf(v *page.View, agent mail.Name, self string) behind {
	b := behind{View: v, Self: self}
	list, depths := v.BehindOf(v.Room, agent)
	for i, w := range list {
		b.Waiters = append(b.Waiters, waiter{waits.Link{View: v, Waiting: w}, min(depths[i], deepest)})
	}
	return b
}

// Stands is the class of the letters of who waits.
func (w waiter) Stands() string { return w.View.Stands(w.Room, w.From(), false) }

// Opened is who waits behind the open letter or dialog; nothing if none is.
func (p *inboxPage) Opened() behind {
	switch {
	case p.Dialog != nil:
		return behindOf(p.Dialog.View, p.Dialog.Agent, p.Dialog.Base+page.Query("/behind", "agent",
			string(p.Dialog.Agent)))
	case p.Open != nil && p.Open.Asks():
		from := p.Open.From.Signer()
		return behindOf(p.Open.View, from, p.Open.Base+page.Query("/behind", "agent", string(from)))
	}
	return behind{View: p.View}
}

// showBehind is who waits behind an agent now.
func showBehind(v *page.View) error {
	agent := mail.Name(v.R.URL.Query().Get("agent"))
	return v.Part("inbox", "behind", behindOf(v, agent, v.Base+page.Query("/behind", "agent", string(agent))))
}
