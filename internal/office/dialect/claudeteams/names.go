package claudeteams

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// client is the client that the roster shows for members.
const client = "claude"

// names maps a team's members to their names in the room: their own names or, if another team has the name,
// <name>.<team>. A name once given stays, regardless of who joins or leaves.
type names struct {
	team string
	file dialect.Own // no path: not saved
	// unsaved means that the file is out of date.
	unsaved bool
	// elsewhere reports whether another team has the name. It is called once for each name.
	elsewhere func(ctx context.Context, native string) bool

	Names map[string]named `json:"names"` // by the team's name
}

// named is a member's or sender's name in the room.
type named struct {
	Room   mail.Name `json:"room"`
	Member bool      `json:"member,omitzero"` // was in config.json
}

// openNames loads the names from file.
func openNames(team, file string, elsewhere func(context.Context, string) bool) (*names, error) {
	n := &names{team: team, elsewhere: elsewhere, Names: make(map[string]named),
		file: dialect.Own{Path: file, Has: "what the members of " + team + " are called"}}
	if file == "" {
		return n, nil
	}
	return n, n.file.Load(n)
}

// of returns the room's name for a native name. An error means that the native name is not valid.
func (n *names) of(ctx context.Context, native string) (mail.Name, error) {
	if known, ok := n.Names[native]; ok {
		return known.Room, nil
	}
	name, err := n.choose(ctx, native)
	if err != nil {
		return "", err
	}
	n.set(native, named{Room: name})
	return name, nil
}

func (n *names) choose(ctx context.Context, native string) (mail.Name, error) {
	plain := norm.NFC.String(native)
	own := mail.Name(plain + "." + n.team)
	if reserved(mail.Name(plain)) {
		return own, nil
	}
	if _, err := mail.ParseName(plain); err != nil {
		return "", err
	}
	if n.elsewhere(ctx, native) {
		return mail.ParseName(string(own))
	}
	return mail.Name(plain), nil
}

// reserved reports whether a name belongs to a party that no writer of a team's files can be.
func reserved(n mail.Name) bool {
	return slices.Contains([]mail.Name{mail.User, mail.Orchestrator, mail.System, "all", "broadcast"}, n)
}

// member records that native is a member and returns its name in the room.
func (n *names) member(ctx context.Context, native string) (mail.Name, error) {
	name, err := n.of(ctx, native)
	if known := n.Names[native]; err == nil && !known.Member {
		known.Member = true
		n.set(native, known)
	}
	return name, err
}

// renamed records an agent's new name in the room.
func (n *names) renamed(from, to mail.Name) {
	for native, known := range n.Names {
		if known.Room == from {
			known.Room = to
			n.set(native, known)
			return
		}
	}
}

func (n *names) set(native string, as named) { n.Names[native], n.unsaved = as, true }

// save writes new names to the file, before anyone else learns them.
func (n *names) save() error {
	if n.file.Path == "" || !n.unsaved {
		return nil
	}
	err := n.file.Save(n)
	n.unsaved = err != nil
	return err
}

// nobody is the sender of messages whose signature is not a valid name.
const nobody = "unknown"

// sender returns the author of a message. "system" is Claude Code itself.
func (n *names) sender(ctx context.Context, native string) mail.Address {
	if native == string(mail.System) {
		return mail.FromSystem
	}
	if !n.Names[native].Member && !signs(native) {
		native = nobody
	}
	name, _ := n.of(ctx, native)
	return mail.AgentAddress(name)
}

// signs reports whether a name can be a signature: one with an '@' would read as an agent of another room.
func signs(native string) bool {
	plain := mail.Name(norm.NFC.String(native))
	_, err := mail.ParseName(string(plain))
	return reserved(plain) || err == nil && plain.CheckNew() == nil
}

// claimed reports whether another team of the room has an earlier claim to a name: it was bridged, or got the
// member, before us.
func claimed(self mail.Bridge, joined mail.Time, others []mail.Bridge, native string) bool {
	since := max(self.Added, joined)
	for _, o := range others {
		if o.Dialect != self.Dialect || o.ID == self.ID {
			continue
		}
		c, err := readConfig(confined.At(o.Dir), configFile)
		if err != nil {
			continue
		}
		theirs := o.Added
		m, ok := c.member(native)
		switch {
		case ok:
			theirs = max(theirs, m.joined)
		case !exists(confined.At(o.Dir), inboxDir+"/"+sanitise(native)+".json"):
			continue
		}
		if theirs < since || theirs == since && (o.Added < self.Added || o.Added == self.Added && o.ID < self.ID) {
			return true
		}
	}
	return false
}

// teamTag returns the tag that members carry, so that mail to the tag reaches the team.
func teamTag(team string) string { return "project:" + team }

// held reports whether the roster has an agent of this name from another team.
func held(roster []mail.Agent, team, native string) bool {
	a, ok := dialect.OnRoster(roster, mail.Name(norm.NFC.String(native)))
	if !ok || a.Client != client && !slices.Contains(a.Roles, leadName) || slices.Contains(a.Tags, teamTag(team)) {
		return false
	}
	return slices.ContainsFunc(a.Tags, func(t string) bool { return strings.HasPrefix(t, teamTag("")) })
}

// presence returns the presence that the room gets for a member. It keeps the roles and tags on the roster.
func presence(name mail.Name, team string, lead bool, state mail.State, roster []mail.Agent) mail.Presence {
	p := mail.Presence{Name: name, Client: client, State: state, Tags: []string{teamTag(team)}}
	if lead {
		p.Roles = []string{leadName}
	}
	if a, ok := dialect.OnRoster(roster, name); ok {
		p.Tags, p.Roles = union(a.Tags, p.Tags), union(a.Roles, p.Roles)
		p.Update = true // otherwise a name with a live session would get a namesake
		if state == "" && !a.State.Live() {
			p.State = mail.Idle
		}
	}
	return p
}

// farewell returns the presence of an agent that is no longer a member: gone or, if it has a session of its own,
// merely out of the team.
func farewell(a mail.Agent, team string) mail.Presence {
	if a.Session == "" {
		return mail.Presence{Name: a.Name, State: mail.Gone, Inbox: new(""), Update: true}
	}
	without := func(list []string, word string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == word })
	}
	return mail.Presence{Name: a.Name, Tags: without(a.Tags, teamTag(team)), Roles: without(a.Roles, leadName),
		Inbox: new(""), Update: true}
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// rosterOf returns a function that loads the roster on first use.
func rosterOf(ctx context.Context, svc mail.Registrar) func() ([]mail.Agent, error) {
	var list []mail.Agent
	return func() ([]mail.Agent, error) {
		if list != nil {
			return list, nil
		}
		var err error
		list, err = mail.Roster(ctx, svc)
		return list, err
	}
}
