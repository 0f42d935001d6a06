package check

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Register checks a change, completes it, and returns its event; none if it would change nothing.
func (v *View) Register(p mail.Presence, c *mail.AgentChange) ([]mail.Event, error) {
	if v.isPerson(c.Name) {
		return v.describe(c)
	}
	if err := v.mayRegister(p, c); err != nil {
		return nil, err
	}
	v.Adopt(p, c, v.Now)
	events, err := v.enter(c)
	if err != nil || !v.Changes(c, v.Now) {
		return events, err
	}
	v.checked(c, p.Update)
	events = append(events, mail.Event{At: v.Now, Agent: c})
	return append(events, v.takesBack(c)...), nil
}

// describe returns the event by which the user says which roles and tags go with a name that leads to them. Nothing
// else can be said of the user.
func (v *View) describe(c *mail.AgentChange) ([]mail.Event, error) {
	if !v.IsUser() || v.Files {
		return nil, v.notPerson(c.Name)
	}
	if slices.Contains(c.Roles, string(mail.Orchestrator)) || c.Session != "" || c.State != "" || c.Task != nil ||
		c.Parent != nil || c.TakeOver {
		return nil, mail.Errorf(mail.Invalid, "%q is you, the user: you have roles and tags, but no state, "+
			"session, task or parent, and cannot be the orchestrator. Nothing was changed", c.Name)
	}
	c.Name = mail.User
	return []mail.Event{{At: v.Now, Agent: &mail.AgentChange{Name: mail.User, Roles: c.Roles, Tags: c.Tags}}}, nil
}

// takesBack returns the events that end the grants which would give an agent the role of the orchestrator again after
// the user takes it away.
func (v *View) takesBack(c *mail.AgentChange) (events []mail.Event) {
	const role = string(mail.Orchestrator)
	if !v.IsUser() || v.Files || c.Roles == nil || slices.Contains(c.Roles, role) {
		return nil
	}
	for _, g := range v.Grants {
		if g.Agent == c.Name && g.Role == role && !g.Refused {
			g.Refused, g.By, g.At, g.Question, g.Answer = true, mail.User, 0, "", ""
			events = append(events, mail.Event{Grant: &g})
		}
	}
	return events
}

// Change checks p and turns it into the change for the journal.
func (v *Asker) Change(p mail.Presence) (*mail.AgentChange, error) {
	if p.Name == "" {
		p.Name = v.Who
	}
	name, err := mail.ParseName(norm.NFC.String(string(p.Name)))
	if err != nil {
		return nil, err
	}
	if err := v.checkWords(p); err != nil {
		return nil, err
	}
	if p.State != "" {
		switch s, err := mail.ParseState(string(p.State)); {
		case err != nil:
			return nil, err
		case s == mail.Asking:
			return nil, mail.Errorf(mail.Invalid, "the state asking is set by the dialogs that an agent's client "+
				"reports. Nothing was changed; use working or idle")
		}
	}
	if p.End && p.Session == "" {
		return nil, mail.Errorf(mail.Invalid, "give the session to end")
	}
	c := &mail.AgentChange{
		Name: name, Roles: normalAll(p.Roles), Tags: normalAll(p.Tags), State: p.State, Task: p.Task, Parent: p.Parent,
		Client: p.Client, Session: p.Session, TakeOver: p.TakeOver, End: p.End, Process: p.Process, Join: p.Join,
	}
	v.place(c, p)
	if name != v.Who {
		c.By = v.Who
	}
	return c, nil
}

// place records in a change where its session runs, and whose word it is if a bridge reports it.
func (v *Asker) place(c *mail.AgentChange, p mail.Presence) {
	if c.Session != "" && !c.End && !v.Files || c.Binds() {
		c.Machine = v.Machine
	}
	if c.Session != "" && c.Join && p.Serves {
		c.Server = v.Process
	}
	if v.Files {
		c.Inbox = p.Inbox
	}
}

// maxTask is the longest task, client or session text, in bytes: one line of a roster.
const maxTask = 512

func (v *Asker) checkWords(p mail.Presence) error {
	for _, role := range p.Roles {
		if err := v.checkRole(role); err != nil {
			return err
		}
	}
	for _, tag := range p.Tags {
		if _, err := mail.ParseTag(tag, v.Namespaces); err != nil {
			return err
		}
	}
	texts := []string{p.Client, p.Session, p.Process}
	if p.Task != nil {
		texts = append(texts, *p.Task)
	}
	for _, t := range texts {
		if !isLine(t) {
			return mail.Errorf(mail.Invalid, "task, client, session and process are one line of at most %d bytes",
				maxTask)
		}
	}
	if len(p.Roles) > 50 || len(p.Tags) > 50 {
		return mail.Errorf(mail.TooLarge, "an agent has at most 50 roles and 50 tags")
	}
	return nil
}

// isLine reports whether a text can be one line of a roster.
func isLine(t string) bool {
	return len(t) <= maxTask && utf8.ValidString(t) &&
		!strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// checkRole refuses a text that is no role, or that reads as one that has rights.
func (v *Asker) checkRole(role string) error {
	if _, err := mail.ParseRole(role); err != nil {
		return err
	}
	if word := fold.ReservedLike(role); word == string(mail.Orchestrator) && role != word && !v.Files {
		return mail.Errorf(mail.Denied,
			"a role cannot be called %q: that reads as %q, which is reserved", role, word)
	}
	return nil
}

func normalAll(words []string) []string {
	if words == nil {
		return nil
	}
	out := make([]string, 0, len(words))
	seen := make(map[string]bool)
	for _, w := range words {
		if w = norm.NFC.String(w); !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// mayRegister checks that the caller may say this of this agent: of itself, of its children, and, for the user and
// the orchestrator, of everyone.
func (v *View) mayRegister(p mail.Presence, c *mail.AgentChange) error {
	m := v.Agent(c.Name)
	if m == nil && (p.Update || p.End) {
		_, err := v.Mailbox(c.Name)
		return err
	}
	if m != nil {
		c.Name = m.Name // an earlier name means the present one
	}
	if p := parentOf(c); p != "" && v.Agent(p) == nil && p != v.Who {
		return mail.Errorf(mail.NotFound, "there is no agent %q to be the parent%s", p, v.Suggest(string(p)))
	}
	if !v.maySpeakFor(m, c) {
		return mail.Errorf(mail.Denied,
			"%s may not act for %s: only the agent itself, its parent, the orchestrator and the "+
				"user may", v.Who, c.Name)
	}
	if err := v.mayChange(m, c); err != nil || m != nil {
		return err
	}
	if c.Parent == nil && v.Parent != "" && c.Name == v.Who {
		c.Parent = &v.Parent
	}
	return v.mayJoin(c.Name, parentOf(c))
}

// maySpeakFor reports whether the caller may register a change of m, or of a newcomer, which then becomes the
// caller's child.
func (v *View) maySpeakFor(m *fold.Member, c *mail.AgentChange) bool {
	return v.mayRule(m) || c.Name == v.Who || m == nil && parentOf(c) == v.Who
}

// parentOf returns the parent that a change gives an agent, "" if it gives none.
func parentOf(c *mail.AgentChange) mail.Name {
	if c.Parent == nil {
		return ""
	}
	return *c.Parent
}

// mayRule reports whether the caller may freeze, rename and retire m: it is m, m's parent, the orchestrator or the
// user.
func (v *View) mayRule(m *fold.Member) bool {
	if v.mayCommand() {
		return true
	}
	me := v.Me()
	return m != nil && me != nil && (me == m || m.Parent == me.Name)
}

// mayCommand reports whether the caller is the user or holds the role of the orchestrator.
func (v *View) mayCommand() bool {
	me := v.Me()
	return v.IsUser() || v.Who == mail.System || me != nil && me.HasRole(string(mail.Orchestrator))
}

// mayChange refuses changes that no agent may make to itself or to another: to become the orchestrator, which only
// the person decides, and to become another's child, which would take it out of its parent's hands.
func (v *View) mayChange(m *fold.Member, c *mail.AgentChange) error {
	const role = string(mail.Orchestrator)
	person := v.IsUser() || v.Who == mail.System
	switch {
	case !person && c.Name != mail.Orchestrator && slices.Contains(c.Roles, role) && (m == nil || !m.HasRole(role)):
		return notGranted(c.Name)
	case m != nil && m.Parent != "" && c.Parent != nil && *c.Parent != m.Parent && !v.mayCommand():
		return mail.Errorf(mail.Denied,
			"%s is a child of %s; only the orchestrator and the user may change that. Nothing "+
				"was changed", m.Name, m.Parent)
	}
	return nil
}

// Rename checks whether an agent can be renamed, and returns it and the event; none if it has the name.
func (v *View) Rename(from, to mail.Name) (m *fold.Member, events []mail.Event, err error) {
	if m, err = v.Mailbox(from); err != nil {
		return nil, nil, err
	}
	old := m.Name
	switch {
	case m.IsUser() || old == mail.Orchestrator:
		err = mail.Errorf(mail.Denied, "%s cannot be renamed", old)
	case !v.mayRule(m):
		err = mail.Errorf(mail.Denied, "only the agent %s itself, its parent, the orchestrator and the user may "+
			"rename it", old)
	case v.Taken(to, m):
		err = mail.Errorf(mail.Conflict, "the name %q is taken in room %s; no agent was renamed", to, v.Room)
	case to == mail.Orchestrator && !v.IsUser():
		err = notGranted(old)
	case v.Members[to] != m: // or it had that name before
		err = v.CheckNew(to, m)
	}
	if err != nil || old == to {
		return m, nil, err
	}
	return m, []mail.Event{{At: v.Now, Agent: &mail.AgentChange{Name: old, Renamed: to, By: v.by(old),
		Machine: v.Machine}}}, nil
}

// Merge checks whether an agent can be merged into another, or into the user, and returns that one and the events;
// none if they are already one.
func (v *View) Merge(from, into mail.Name) (*fold.Member, []mail.Event, error) {
	if err := v.NeedUser("merge agents"); err != nil {
		return nil, nil, err
	}
	o, err := v.Mailbox(from)
	if err != nil {
		return nil, nil, err
	}
	m, err := v.Mailbox(into)
	switch {
	case err != nil || o == m:
		return m, nil, err
	case o.IsUser() || o.Name == mail.Orchestrator:
		err = mail.Errorf(mail.Denied, "%s cannot be merged into another agent: nothing was changed", o.Name)
	case v.Files && (m.IsUser() || o.Session != "" || o.Inbox == ""):
		err = mail.Errorf(mail.Denied, "a client's files are no proof that %s is %s: nothing "+
			"was changed", o.Name, m.Name)
	case o.Live(v.Now):
		err = mail.Errorf(mail.Conflict, "%s has a running session: nothing was changed. End the "+
			"session first", o.Name)
	case v.anyLacks(mail.RulesOfMerge):
		err = mail.Errorf(mail.Unavailable, "a machine of room %s runs an older Pennypost, which cannot merge "+
			"agents: nothing was changed. Update it first; to find it: pennypost status", v.Room)
	}
	if err != nil {
		return nil, nil, err
	}
	events := []mail.Event{{At: v.Now, Agent: &mail.AgentChange{Name: o.Name, Renamed: m.Name, Merge: true,
		By: v.by(o.Name), Machine: v.Machine}}}
	for _, rc := range v.MarkedByOne(o, m) {
		events = append(events, mail.Event{At: v.Now, Receipt: &rc})
	}
	return m, events, nil
}

// by returns the caller, or nothing if it is the agent in question.
func (v *Caller) by(n mail.Name) mail.Name {
	if n == v.Who {
		return ""
	}
	return v.Who
}

// Retire checks whether an agent can be retired, and returns the event.
func (v *View) Retire(n mail.Name) ([]mail.Event, error) {
	m, err := v.Mailbox(n)
	switch {
	case err != nil:
		return nil, err
	case m.IsUser():
		return nil, mail.Errorf(mail.Denied, "the user cannot be retired")
	case !v.mayRule(m):
		return nil, mail.Errorf(mail.Denied,
			"only the agent %s itself, its parent, the orchestrator and the user may retire it", m.Name)
	}
	return []mail.Event{{At: v.Now, Agent: &mail.AgentChange{Name: m.Name, Retired: true, By: v.by(m.Name)}}}, nil
}

// Token checks whether an agent can have the token with a hash, and returns the event.
func (v *View) Token(n mail.Name, sum string) ([]mail.Event, error) {
	m, err := v.Mailbox(n)
	switch {
	case err != nil:
		return nil, err
	case m.IsUser():
		return nil, mail.Errorf(mail.Denied, "the user has no room token; the operator's token is in the file "+
			"token of the data directory")
	}
	c := &mail.AgentChange{Name: m.Name, TokenSum: sum, By: v.Who}
	v.checked(c, true)
	return []mail.Event{{At: v.Now, Agent: c}}, nil
}
