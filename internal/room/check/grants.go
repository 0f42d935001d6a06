package check

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Entrant is the request of a session that starts in this room.
type Entrant struct {
	Agent  mail.Name     // the name that it wants; "": none but Free
	Free   mail.Name     // made of client and directory: its name if it must not have Agent
	Dir    string        // where its client works, as grants spell it
	Client string        // as hooks call it
	File   bool          // the file of Dir wants it, not a command line
	Room   mail.RoomName // another room that the file names, and that Dir has not been allowed to enter
	Home   bool          // the file of Dir has named this room, which is new, or Dir was at home here before
	Held   bool          // a session in Dir had the name already, before grants were recorded
	Meant  bool          // the person let Dir in here under that name
	Ask    bool          // the person is asked for anything the session may not have
}

// Admit decides the name of a session, what to record with it, and what to ask the person for.
func (v *View) Admit(c Entrant) (name mail.Name, events []mail.Event, asked *mail.Grant) {
	name, record, asked := v.placing(c)
	if !c.Ask {
		return name, nil, nil
	}
	for _, g := range record {
		events = append(events, mail.Event{Grant: &g})
	}
	if asked != nil && (v.RuledOn(asked) || !v.MayAsk(asked)) {
		asked = nil
	}
	return name, events, asked
}

// placing decides the name of a session, what to record with it, and the grant it needs to be more.
func (v *View) placing(c Entrant) (name mail.Name, record []mail.Grant, asked *mail.Grant) {
	home := mail.Grant{Dir: c.Dir, By: mail.System}
	if c.Home && !v.Granted(&home) {
		record = append(record, home)
	}
	name = cmp.Or(c.Agent, c.Free)
	own := mail.Grant{Agent: name, Dir: c.Dir, By: mail.System}
	switch bearer := v.Bearer(name); {
	case c.Room != "":
		asked = &mail.Grant{Agent: c.Agent, Dir: c.Dir, Room: c.Room}
		if !c.File {
			asked.Agent = ""
			return name, record, asked // the command line gave that name
		}
	case c.Agent == "":
		return name, record, nil
	case !c.File:
		if !v.Leads(name) || v.mayLead(name, &c) {
			return name, record, nil
		}
		asked = &mail.Grant{Agent: name, Role: string(mail.Orchestrator), Dir: c.Dir, Client: c.Client}
	case v.Granted(&own):
		return name, record, nil
	case v.mayTake(name, bearer, c):
		return name, append(record, own), nil
	case !v.Leads(name) && bearer != nil:
		asked = &mail.Grant{Agent: name, Dir: c.Dir}
	}
	if name = c.Free; v.Leads(name) {
		name = v.FreeName(name)
	}
	return name, record, asked
}

// mayTake reports whether the sessions of a directory, if its file says so, may have a name that is not granted to
// it.
func (v *View) mayTake(name mail.Name, bearer *fold.Member, c Entrant) bool {
	switch {
	case bearer != nil && c.Held:
		return true
	case v.Leads(name):
		return false
	case bearer != nil:
		return c.Meant
	}
	return v.CheckNew(name, nil) == nil
}

// mayLead reports whether the orchestrator with a name may work in a directory, in a client. If the person did not
// say which may, an agent that has the role keeps it wherever it works.
func (v *View) mayLead(n mail.Name, c *Entrant) bool {
	if slices.Contains(v.Orchestrators, n) {
		return true
	}
	refused := false
	for i := range v.Grants {
		g := &v.Grants[i]
		if g.Agent != n || g.Role != string(mail.Orchestrator) || !g.Covers(c.Dir, c.Client) {
			continue
		}
		if !g.Refused {
			return true
		}
		refused = true
	}
	m := v.Agent(n)
	return !refused && !v.LeadGranted(n) && m != nil && m.HasRole(string(mail.Orchestrator))
}

// mayOpen reports whether a client's hook or server may begin a session of an orchestrator: the agent has the role,
// or it is granted somewhere. Where was checked when the session was placed.
func (v *View) mayOpen(n mail.Name) bool {
	m := v.Agent(n)
	return m != nil && m.HasRole(string(mail.Orchestrator)) || v.LeadGranted(n) ||
		slices.Contains(v.Orchestrators, n)
}

// MayGrant says why the caller cannot grant anything: only the person can, and by their own act.
func (v *Asker) MayGrant() error {
	if err := v.NeedUser("decide which agent a session may be"); err != nil {
		return err
	}
	switch {
	case v.Files:
	case v.Means == "", v.Means == mail.BySystem, v.Means == mail.ByOperator, v.Means.IsAct():
		return nil
	}
	return mail.Errorf(mail.Denied, "only you yourself can decide which agent a session may be, on the pages, with "+
		"your phone or in your own terminal: nothing was changed")
}
