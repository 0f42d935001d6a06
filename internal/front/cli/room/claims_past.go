package room

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// pastClaim is a claim from the past or present.
type pastClaim struct {
	mail.Holding
	Ended mail.Time `json:"ended,omitzero"` // 0: still held, as far as the journal says
	How   string    `json:"how,omitempty"`  // why it ended
	By    mail.Name `json:"by,omitempty"`   // who released it for the agent
}

// pastClaims is the answer to --past, the newest last.
type pastClaims struct {
	Claims []pastClaim `json:"claims"`
}

// claimsPast lists who held what when, as far back as the room's journal goes.
func (a *app) claimsPast(ctx context.Context, agent mail.Name, limit int) error {
	if err := checkLimit(limit); err != nil {
		return err
	}
	svc, err := a.Existing(ctx)
	if err != nil {
		return err
	}
	list, err := readPast(ctx, svc)
	if agent != "" {
		list = slices.DeleteFunc(list, func(p pastClaim) bool { return p.Agent != agent })
	}
	list = list[max(0, len(list)-cmp.Or(limit, mail.DefaultLimit)):]
	return cli.Answer(a.App, pastClaims{append([]pastClaim{}, list...)}, err, a.showPast)
}

func (a *app) showPast(past pastClaims) error {
	if len(past.Claims) == 0 {
		a.Out.Line("The journal contains no claims.")
		return nil
	}
	rows := make([][]string, 0, len(past.Claims))
	for i := range past.Claims {
		p := &past.Claims[i]
		end := "held"
		if p.Ended != 0 {
			end = "until " + a.Out.Moment(p.Ended) + ", " + p.How
		}
		rows = append(rows, []string{a.Out.Moment(p.Since), cli.OneLine(string(p.Agent)),
			cli.OneLine(p.Target.String()), end, cli.OneLine(p.Why)})
	}
	a.Out.List(rows, []cli.Step{cli.At(4, cli.AtMost(32)), cli.At(2, cli.AtMost(32))}, 2)
	return nil
}

// pastSilence is the time without an event after which the journal counts as read: a watch may not be shown its last
// events.
const pastSilence = time.Second

// readPast reads the journal up to now.
func readPast(ctx context.Context, svc mail.Service) ([]pastClaim, error) {
	st, err := svc.Status(ctx)
	if err != nil || st.Seq == 0 {
		return nil, err
	}
	w, err := svc.Watch(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p := past{of: make(map[mail.Name]*holderPast)}
	for last := mail.Seq(0); last < st.Seq; {
		events, err := nextWithin(ctx, w)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for i := range events {
			p.apply(&events[i])
			last = events[i].Seq
		}
	}
	p.lapse(mail.TimeOf(time.Now()))
	slices.SortStableFunc(p.all, func(a, b *pastClaim) int { return cmp.Compare(a.Since, b.Since) })
	out := make([]pastClaim, len(p.all))
	for i, c := range p.all {
		out[i] = *c
	}
	return out, nil
}

// nextWithin returns the next events, or none after a silence.
func nextWithin(ctx context.Context, w mail.Watch) ([]mail.Event, error) {
	short, cancel := context.WithTimeout(ctx, pastSilence)
	defer cancel()
	events, err := w.Next(short)
	if err != nil && ctx.Err() == nil && errors.Is(short.Err(), context.DeadlineExceeded) {
		return events, nil
	}
	return events, err
}

// past follows claims through a journal. A claim that ends without an event of its own ends by its agent's events:
// the end of its session or its turn.
type past struct {
	all []*pastClaim // in the order they were taken
	of  map[mail.Name]*holderPast
}

// holderPast is the state of an agent at the time of an event.
type holderPast struct {
	session string
	idle    mail.Time // when its last turn ended; 0: a turn runs, or no turns are known
	open    []*pastClaim
}

func (p *past) at(n mail.Name) *holderPast {
	if p.of[n] == nil {
		p.of[n] = new(holderPast)
	}
	return p.of[n]
}

func (p *past) apply(e *mail.Event) {
	if e.Claim == nil && e.Agent == nil {
		return
	}
	p.lapse(e.At)
	if c := e.Agent; c != nil {
		p.agent(c, e.At)
		return
	}
	c := e.Claim
	h := p.at(c.Agent)
	how := "released"
	switch c.By {
	case "":
	case mail.System:
		how = "its program ended"
	default:
		how = "released by " + string(c.By)
	}
	h.end(e.At, how, c.By, func(o *pastClaim) bool { return slices.ContainsFunc(c.Free, o.Same) })
	for _, t := range c.Take {
		i := slices.IndexFunc(h.open, func(o *pastClaim) bool { return o.Same(t.Target) })
		if i >= 0 {
			t.Since = h.open[i].Since
			h.open[i].Claim = t
			continue
		}
		t.Since = e.At
		taken := &pastClaim{Holding: mail.Holding{Claim: t, Agent: c.Agent}}
		p.all, h.open = append(p.all, taken), append(h.open, taken)
	}
}

// agent ends the claims that ended with a session, and tracks when turns begin and end.
func (p *past) agent(c *mail.AgentChange, at mail.Time) {
	h := p.at(c.Name)
	all := func(*pastClaim) bool { return true }
	switch {
	case c.End && (c.Session == h.session || h.session == "" || c.Session == ""), c.State == mail.Gone, c.Retired:
		h.end(at, "its session ended", "", all)
		h.session = ""
	case c.Session != "" && !c.End:
		if c.TakeOver && h.session != "" && h.session != c.Session {
			h.end(at, "another session took over", "", all)
		}
		h.session = c.Session
	}
	h.rests(c, at)
	if c.Renamed != "" {
		p.rename(h, c.Name, c.Renamed)
	}
}

// rests records when an agent became idle.
func (h *holderPast) rests(c *mail.AgentChange, at mail.Time) {
	switch {
	case c.State == mail.Idle && h.idle == 0, c.Turn == mail.TurnEnd && h.idle == 0:
		h.idle = at
	case c.State != "" && c.State != mail.Idle, c.Turn == mail.TurnStart:
		h.idle = 0
	}
}

func (p *past) rename(h *holderPast, from, to mail.Name) {
	for _, o := range h.open {
		o.Agent = to
	}
	h.open = append(h.open, p.at(to).open...)
	p.of[to] = h
	delete(p.of, from)
}

// lapse ends the claims that have lapsed by a time.
func (p *past) lapse(now mail.Time) {
	for _, h := range p.of {
		for _, o := range slices.Clone(h.open) {
			turn := h.idle.Add(time.Duration(o.Quiet) * time.Second)
			only := func(other *pastClaim) bool { return other == o }
			switch {
			case o.Until != 0 && o.Until <= now:
				h.end(o.Until, "its time was up", "", only)
			case o.Quiet != 0 && h.idle != 0 && turn <= now:
				h.end(max(turn, o.Since), "its turn ended", "", only)
			}
		}
	}
}

// end ends some of the open claims.
func (h *holderPast) end(at mail.Time, how string, by mail.Name, which func(*pastClaim) bool) {
	h.open = slices.DeleteFunc(h.open, func(o *pastClaim) bool {
		if !which(o) {
			return false
		}
		o.Ended, o.How, o.By = at, how, by
		return true
	})
}
