package check

import (
	"fmt"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// ended returns the events that end sessions of c's name whose program has ended, so that the name is free before
// they have been silent for long enough, and whether c's own name is among them.
func (v *View) ended(c *mail.AgentChange) (events []mail.Event, frees bool) {
	if c.Session == "" || c.End || c.TakeOver || v.InSession(c.Name, c.Session) != nil {
		return nil, false
	}
	for m := range v.Agents() {
		if (m.Name == c.Name || m.Base == c.Name) && v.HeldByOther(m, c.Session, v.Now) {
			deaths := v.death(m, m.Programs())
			events = append(events, deaths...)
			frees = frees || len(deaths) > 0 && m.Name == c.Name
		}
	}
	return events, frees
}

// onlyOne refuses a second session of the orchestrator, where others would become NAME-2: no one would know which of
// the two leads. A connection whose program is not known may be the holder's own, and becomes NAME-2.
func (v *View) onlyOne(c *mail.AgentChange) error {
	m := v.Agent(c.Name)
	if c.Name != mail.Orchestrator || m == nil || c.Session == "" || c.End || c.TakeOver ||
		c.Join && c.Process == "" || v.SameProcess(c, v.Now) != nil || v.InSession(c.Name, c.Session) != nil ||
		!v.HeldByOther(m, c.Session, v.Now) {
		return nil
	}
	holder := m.Session
	if m.Client != "" {
		holder += " of " + m.Client
	}
	if !v.Here(m) {
		holder += " on " + string(m.Machine)
	}
	return mail.Errorf(mail.Conflict,
		"room %s already has an orchestrator, the session %s, last active %v ago: nothing was registered. End that "+
			"session and try again, or take over: pennypost mcp --as orchestrator --take-over", v.Room, holder,
		v.Now.Sub(max(m.Seen, m.SessionAt)).Round(time.Second))
}

// mayJoin says why the caller cannot put an agent on the roster, or that its parent would have too many children. It
// does not check an agent that is on the roster.
func (v *View) mayJoin(n, parent mail.Name) error {
	if err := v.notPerson(n); err != nil {
		return err
	}
	if v.Agent(n) != nil || v.IsUser() && v.Files || v.Who == mail.System || v.Foreign || n == mail.User {
		return nil
	}
	if n == mail.Orchestrator && n != v.Who && !v.IsUser() {
		return notGranted(n)
	}
	if err := v.CheckNew(n, nil); err != nil {
		return err
	}
	return v.crowded(parent)
}

func notGranted(n mail.Name) error {
	return mail.Errorf(mail.Denied, "only the user can make an agent the orchestrator: nothing was changed. In the "+
		"user's own terminal: pennypost agents update '%s' --role orchestrator", n)
}

// crowded refuses one more agent below parent if as many as allowed live below it, and below its top ancestor. An
// orchestrator's children may have their own teams: the limit on its children counts only direct ones.
func (v *View) crowded(parent mail.Name) error {
	limit := v.Limits.Children
	if parent == "" || limit < 0 || v.IsUser() {
		return nil
	}
	top, live := v.LivingBelow(parent, v.Now)
	if live < limit {
		return nil
	}
	return &Trip{
		What: fmt.Sprint("children ", top), Limit: "children",
		Err: mail.Errorf(mail.Limited, "%s already has %d live agents below it, the maximum: nothing was "+
			"registered. Retire agents that are done: pennypost agents retire NAME. The user can raise the limit: "+
			"children in [room.limits]", top, live),
		Note: fmt.Sprintf("%s already has %d live agents below it; another one was refused.", top, live),
	}
}

// doubled refuses one more agent of a name: NAME-2 for a session that finds NAME held, or for a caller that registers
// it from outside.
func (v *View) doubled(c *mail.AgentChange) error {
	m := v.Agent(c.Name)
	switch {
	case v.IsUser(), c.End, c.TakeOver:
		return nil
	case m == nil: // adopt gave it another name, or it is new and was counted
		if c.By == "" {
			return nil
		}
		return v.crowded(c.By)
	case c.Session == "" || v.InSession(c.Name, c.Session) != nil || !v.HeldByOther(m, c.Session, v.Now):
		return nil
	}
	live := v.LivingAs(m, v.Now)
	if limit := v.Limits.Children; limit < 0 || live < limit {
		return nil
	}
	return &Trip{
		What: fmt.Sprint("sessions ", m.Name), Limit: "children",
		Err: mail.Errorf(mail.Limited,
			"%d live sessions already share the name %s with yours, the maximum: nothing was registered. End "+
				"sessions that are done, or use another name", live, m.Name),
		Note: fmt.Sprintf("%d live sessions already share the name %s; another one was refused.", live, m.Name),
	}
}

// Pulse returns the event that records a sign of life of the caller, if one is due: an agent is registered by its
// first act, comes back by it when it was gone, and is otherwise noted once a minute.
func (v *View) Pulse() []mail.Event {
	if v.IsUser() || v.Who == mail.System || v.Foreign || v.Absent {
		return nil
	}
	m := v.Agent(v.Who)
	c := &mail.AgentChange{Name: v.Who}
	_ = v.bind(c) // the agent itself lives
	if m != nil && m.State != mail.Gone && !fold.Beats(m.Seen, v.Now) && m.Parted() == c.Binds() {
		return nil
	}
	v.grant(c)
	if m == nil && v.Parent != "" {
		c.Parent = &v.Parent
	}
	if m == nil {
		v.checked(c, false)
	}
	return []mail.Event{{At: v.Now, Agent: c}}
}

// grant adds the role of the orchestrator where the configuration or a grant gives it. A line in a file neither gives
// nor takes it, because it carries rights.
func (v *View) grant(c *mail.AgentChange) {
	const role = string(mail.Orchestrator)
	m := v.Agent(c.Name)
	if v.Files && c.Roles != nil {
		c.Roles = slices.DeleteFunc(c.Roles, func(r string) bool { return r == role })
		if m != nil && m.HasRole(role) {
			c.Roles = append(c.Roles, role)
		}
	}
	has := slices.Contains(c.Roles, role) || c.Roles == nil && m != nil && m.HasRole(role)
	granted := slices.Contains(v.Orchestrators, c.Name) || !v.IsUser() && v.LeadGranted(c.Name)
	if has || !granted {
		return
	}
	if c.Roles == nil && m != nil {
		c.Roles = slices.Clone(m.Roles)
	}
	c.Roles = append(c.Roles, role)
}

// enter completes a change that may be of a new session, and returns the events that end others before it.
func (v *View) enter(c *mail.AgentChange) ([]mail.Event, error) {
	v.grant(c)
	if m := v.Agent(c.Name); m != nil && m.Parted() && c.Session == "" {
		return v.bind(c), nil
	}
	events, frees := v.ended(c)
	if frees {
		return events, nil
	}
	if err := v.doubled(c); err != nil {
		return nil, err
	}
	return events, v.onlyOne(c)
}

// checked records in a change the state that it was checked against.
func (v *View) checked(c *mail.AgentChange, update bool) {
	if v.Machine == "" || v.Files || c.End {
		return
	}
	m := v.Agent(c.Name)
	switch {
	case update:
		c.Expects = mail.ExpectKnown
	case m == nil && c.By != "":
		c.Expects = mail.ExpectNew
	}
	if limit := v.Limits.Children; limit > 0 && !v.IsUser() && (m == nil || c.Session != "") {
		c.Most = limit
	}
	if c.Session != "" || c.Expects != "" || m == nil {
		c.Machine = v.Machine
	}
}
