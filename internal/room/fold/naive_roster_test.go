package fold_test

import (
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

const day = 24 * time.Hour

// change is a change of the roster.
func (n *naive) change(c *mail.AgentChange, at mail.Time) {
	p := n.agent(c.Name)
	switch {
	case c.End:
		if p != nil {
			n.endSession(p, c, at)
		}
	case c.Merge:
		n.merge(c, at)
	case c.Renamed != "":
		n.rename(p, c.Renamed)
	case c.Retired:
		if p != nil {
			p.TokenSum, p.Session, p.Parent, p.Dialogs = "", "", "", nil
			n.drop(p)
			p.enter(mail.Gone, at)
			p.Retired = true
			n.resettle(p)
		}
	case c.Name == mail.User || n.find(c.Name) == n.person(mail.User):
		n.describe(c)
	default:
		p = n.who(c, at)
		n.update(p, c, at)
		if c.Turn != "" {
			n.resettle(p)
			n.turns(p, c, at)
		}
		n.resettle(p)
	}
}

// enter changes the state of a person.
func (p *person) enter(s mail.State, at mail.Time) {
	if p.State == s {
		return
	}
	if p.State == mail.Frozen {
		p.Freezes[len(p.Freezes)-1].To = at
	}
	if s == mail.Frozen {
		p.Freezes = append(p.Freezes, mail.Freeze{From: at})
	}
	p.State, p.Since = s, at
}

// who returns the person whom a change is about: a session that finds its name held by a live one gets the next.
func (n *naive) who(c *mail.AgentChange, at mail.Time) *person {
	p := n.person(c.Name)
	if c.Session == "" {
		if c.TakeOver {
			p.Evicted, p.Session, p.Dialogs = p.Session, "", nil
			n.drop(p)
		}
		return p
	}
	held := func(p *person) bool {
		live := p.Session != "" && p.State != mail.Gone && at.Sub(p.SessionAt) < policy.SessionLapse
		return p.Session != c.Session && (c.Session == p.Evicted || live)
	}
	if base := p.Name; !c.TakeOver && held(p) {
		for i := 2; ; i++ {
			p = n.person(fold.Numbered(base, i))
			others := (!p.Retired || p.Registered != 0) && p.Base != base
			if !others && !held(p) {
				break
			}
		}
		p.Base = base
	}
	if p.Session != c.Session {
		if p.Evicted, p.Session = p.Session, c.Session; c.Session != p.Left {
			p.Began = n.seq
		}
		p.Left, p.Continues, p.GaveUp, p.Broken, p.Dialogs = "", 0, false, false, nil
		n.drop(p)
		if !p.Retired {
			p.enter(mail.Idle, at)
		}
	}
	p.SessionAt = at
	return p
}

// update copies a change into a person. A person that changes itself is there.
func (n *naive) update(p *person, c *mail.AgentChange, at mail.Time) {
	if p.Retired {
		p.Retired, p.Registered = false, at
		p.enter(mail.Idle, at)
	}
	if c.Roles != nil {
		p.Roles = slices.Clone(c.Roles)
	}
	if p.Name == mail.Orchestrator && !p.has("orchestrator") {
		p.Roles = append(slices.Clone(p.Roles), "orchestrator")
	}
	if c.Tags != nil {
		p.Tags = slices.Clone(c.Tags)
	}
	if c.Task != nil {
		p.Task = *c.Task
	}
	if c.Parent != nil {
		p.Parent = *c.Parent
	}
	itself := c.By == "" || c.By == c.Name
	if itself {
		p.Seen = at
	}
	switch {
	case c.State != "":
		p.enter(c.State, at)
	case itself && p.State == mail.Gone:
		p.enter(mail.Idle, at)
	}
	if c.Summed {
		p.Summed = n.seq
	}
}

// turns is the beginning or the end of a turn. Mail that wakes and was not shown keeps an agent working, a few times.
func (n *naive) turns(p *person, c *mail.AgentChange, at mail.Time) {
	p.GaveUp, p.Broken = false, c.Over && (p.Broken || p.State != mail.Idle)
	if c.Turn == mail.TurnStart {
		p.Continues = 0
		p.enter(mail.Working, at)
		return
	}
	waits := slices.ContainsFunc(n.letters, func(l *letter) bool {
		k := l.marksOf(p)
		return l.unread(p, at) && l.wakes(p) && k.shown == 0 && !k.pending() && k.rang != mail.InboxDoor
	})
	if waits && !c.Over && p.Continues < mail.MaxContinues {
		p.Continues++
		p.enter(mail.Working, at)
		return
	}
	p.GaveUp, p.Continues = waits, 0
	p.enter(mail.Idle, at)
}

// endSession ends a session. A lapse that the post office reports does not count if the session was heard of since.
func (n *naive) endSession(p *person, c *mail.AgentChange, at mail.Time) {
	live := p.State != mail.Gone && at.Sub(p.SessionAt) < policy.SessionLapse
	if c.Session == "" || p.Session != c.Session || c.By == mail.System && live {
		return
	}
	p.Left, p.Session, p.Dialogs = c.Session, "", nil
	n.drop(p)
	if p.State != mail.Frozen {
		p.enter(mail.Gone, at)
	}
	n.resettle(p)
}

// dialog is a dialog of a person's session. A report on another session, or on a dialog that is not open, is late.
func (n *naive) dialog(c *mail.DialogChange, at mail.Time) {
	p := n.agent(c.Agent)
	if p == nil || p.Session != c.Session {
		return
	}
	open := slices.ContainsFunc(p.Dialogs, func(d mail.Dialog) bool { return d.ID == c.ID })
	if !open && c.Outcome == "" && !c.Doubt {
		d := c.Dialog
		d.Since = at
		p.Dialogs = append(p.Dialogs, d)
		return
	}
	var still []mail.Dialog
	for _, d := range p.Dialogs {
		if d.ID == c.ID {
			if c.Outcome != "" {
				continue
			}
			d.Doubt = c.Doubt
		}
		still = append(still, d)
	}
	p.Dialogs = still
}

// standing is the state that others see of a person.
func (p *person) standing() mail.State {
	if len(p.Dialogs) > 0 && p.State.Live() {
		return mail.Asking
	}
	return p.State
}

// ringable is the state of a person for the decision to ring: one dialog that is certain keeps it from being rung.
func (p *person) ringable() mail.State {
	for _, d := range p.Dialogs {
		if !d.Doubt {
			return p.standing()
		}
	}
	return p.State
}

// rename gives a person another name, unless that leads to another's mailbox.
func (n *naive) rename(p *person, to mail.Name) {
	if o := n.find(to); p == nil || p.Name == to || o != nil && o != p {
		return
	}
	for _, child := range n.roster() {
		if child.Parent == p.Name {
			child.Parent = to
		}
	}
	p.Aliases = append(slices.DeleteFunc(p.Aliases, func(a mail.Name) bool { return a == to }), p.Name)
	p.Name = to
}

// merge makes one of two people, who turned out to be the same.
func (n *naive) merge(c *mail.AgentChange, at mail.Time) {
	o, p := n.find(c.Name), n.find(c.Renamed)
	user := n.person(mail.User)
	if o == nil || p == nil || o == p || o == user || p.Retired && p != user {
		return
	}
	if o.Session != "" && o.State != mail.Gone && at.Sub(o.SessionAt) < policy.SessionLapse {
		return
	}
	for _, child := range n.roster() {
		if child.Parent == o.Name {
			if child.Parent = p.Name; child == p || p == user {
				child.Parent = ""
			}
		}
	}
	for _, name := range append(o.Aliases, o.Name) {
		if !slices.Contains(p.Aliases, name) {
			p.Aliases = append(p.Aliases, name)
		}
		p.Merged = append(p.Merged, name)
	}
	for _, role := range o.Roles {
		if role != "orchestrator" && !p.has(role) {
			p.Roles = append(slices.Clone(p.Roles), role)
		}
	}
	for _, tag := range o.Tags {
		if !slices.Contains(p.Tags, tag) {
			p.Tags = append(slices.Clone(p.Tags), tag)
		}
	}
	for _, l := range n.letters {
		l.mergeReaders(o, p)
	}
	for _, keys := range n.spent {
		for i := range keys {
			if keys[i].who == o {
				keys[i].who = p
			}
		}
	}
	n.drop(o)
	n.people = slices.DeleteFunc(n.people, func(q *person) bool { return q == o })
	n.resettle(p)
}

// mergeReaders replaces o by p wherever a letter mentions it.
func (l *letter) mergeReaders(o, p *person) {
	if l.by == o {
		l.by = p
	}
	for _, s := range l.seats {
		if i := slices.Index(s.who, o); i >= 0 && slices.Contains(s.who, p) {
			s.who = slices.Delete(slices.Clone(s.who), i, i+1)
		} else if i >= 0 {
			s.who = slices.Clone(s.who)
			s.who[i] = p
		}
	}
	for _, k := range l.marks { // none of them is p's: see refused
		if k.who == o {
			k.who = p
		}
	}
	for _, s := range l.seats {
		if l.isOffer() && s.role != "" && len(s.who) > 1 && slices.ContainsFunc(s.who, l.done) {
			s.who = []*person{p}
		}
	}
}

// describe gives the user roles and tags.
func (n *naive) describe(c *mail.AgentChange) {
	user := n.person(mail.User)
	if c.Roles != nil {
		user.Roles = slices.Clone(c.Roles)
	}
	if c.Tags != nil {
		user.Tags = slices.Clone(c.Tags)
	}
}

// forget is what a checkpoint does: it forgets keys of yesterday, whose turn it was in roles that no one has, and
// names that no one bore once nothing mentions them.
func (n *naive) forget(at mail.Time) {
	n.recent = nil
	for i := range n.spent {
		for len(n.spent[i]) > 0 && at.Sub(n.spent[i][0].Sent) > day {
			n.spent[i] = n.spent[i][1:]
		}
	}
	for role := range n.turn {
		if !slices.ContainsFunc(n.people, func(p *person) bool { return !p.Retired && p.has(role) }) {
			delete(n.turn, role)
		}
	}
	n.people = slices.DeleteFunc(n.people, func(p *person) bool {
		return p.Registered == 0 && p.Name != mail.User && !n.mentions(p)
	})
}

// mentions reports whether a letter, or a key that outlived its letter, mentions a person.
func (n *naive) mentions(p *person) bool {
	for _, keys := range n.spent {
		if slices.ContainsFunc(keys, func(s spent) bool { return s.who == p }) {
			return true
		}
	}
	if slices.ContainsFunc(n.later, func(c *mail.Scheduling) bool { return n.find(c.From) == p }) {
		return true
	}
	return slices.ContainsFunc(n.letters, func(l *letter) bool {
		return l.by == p || l.isMarked(p) || len(l.throughWhich(p)) > 0
	})
}
