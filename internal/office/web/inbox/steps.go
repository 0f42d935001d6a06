package inbox

import "pennypost/internal/mail"

// steps are a person's steps to the first mail, and the progress so far.
type steps struct {
	Agents []mail.Name // the first agents that have come
}

// nothing fills an empty inbox: with the first steps if no agent has written yet, else with who is at work.
func (p *inboxPage) nothing() error {
	agents, messages := 0, 0
	for i := range p.Rooms {
		agents += p.Rooms[i].Agents
		messages += p.Rooms[i].Messages
	}
	if p.Shelf == "" && messages == 0 {
		p.Steps = new(steps)
		if agents == 0 {
			return nil
		}
	}
	list, err := p.Svc.Agents(p.Ctx(), mail.RosterQuery{Limit: 3})
	p.Working, p.Asking, p.Idle = list.States[mail.Working], list.States[mail.Asking], list.States[mail.Idle]
	if p.Steps != nil {
		for _, a := range list.Agents {
			p.Steps.Agents = append(p.Steps.Agents, a.Name)
		}
	}
	return err
}
