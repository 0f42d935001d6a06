package claudeteams

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Team is a team that Claude Code runs, as its files say who is who.
type Team struct {
	Name string // as it stands in file names
	Dir  string // where its files are

	config config
}

// Teams returns the teams below a directory, ~/.claude/teams, that a session of Claude Code leads. What cannot be read
// is none.
func Teams(dir string) (all []Team) {
	list, _ := os.ReadDir(dir) // there may never have been a team
	for _, d := range list {
		c, err := readConfig(confined.At(filepath.Join(dir, d.Name())), configFile)
		if err != nil || c.session == "" || c.ours() {
			continue
		}
		t := Team{Name: d.Name(), Dir: filepath.Join(dir, d.Name()), config: c}
		if c.name != "" {
			t.Name = c.name
		}
		t.Name = sanitise(t.Name)
		all = append(all, t)
	}
	return all
}

// LedBy reports whether a session leads the team.
func (t *Team) LedBy(session string) bool { return session != "" && t.config.session == session }

// Inside returns the members that run in the process of the lead's session, and have no session of their own.
func (t *Team) Inside() (names []string) {
	for _, m := range t.config.members {
		if t.config.inside(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// inside reports whether a member runs in the process of its lead.
func (c *config) inside(m member) bool {
	return m.name != c.lead && m.object.string("backendType") == "in-process"
}

// Worker returns the member that is the subagent of an id and a kind, as Claude Code 2.1.330 calls them in its hooks:
// a<name>-<hex> and the name. "" if it is none.
func (t *Team) Worker(id, kind string) string {
	if slices.Contains(t.Inside(), kind) && strings.HasPrefix(id, "a"+kind+"-") {
		return kind
	}
	return ""
}

// InPane returns the member that runs in a pane of tmux, and is of a kind of agent, as its hooks say; "" if there is
// none. The numbers of panes are those of one tmux server, so the kind, which sessions of a person do not have, must
// be the member's.
func (t *Team) InPane(pane, kind string) string {
	for _, m := range t.config.members {
		if pane != "" && kind != "" && m.kind == kind && m.object.string("tmuxPaneId") == pane {
			return m.name
		}
	}
	return ""
}

// Called returns what a room with a roster calls a member of the team.
func (t *Team) Called(roster []mail.Agent, member string) mail.Name {
	plain := mail.Name(norm.NFC.String(member))
	own := plain + "." + mail.Name(t.Name)
	for _, name := range []mail.Name{own, plain} {
		if a, ok := dialect.OnRoster(roster, name); ok && slices.Contains(a.Tags, teamTag(t.Name)) {
			return name
		}
	}
	if reserved(plain) || held(roster, t.Name, member) {
		return own
	}
	return plain
}
