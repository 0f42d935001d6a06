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

// Team is a team that Claude Code runs, as its files describe it.
type Team struct {
	Name string // as in file names
	Dir  string // the directory of its files

	config config
}

// Teams returns the teams below a directory, ~/.claude/teams, that a session of Claude Code leads. It skips
// unreadable ones.
func Teams(dir string) (all []Team) {
	list, _ := os.ReadDir(dir) // there may be no teams
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

// Inside returns the members that run in the lead's process and have no session of their own.
func (t *Team) Inside() (names []string) {
	for _, m := range t.config.members {
		if t.config.inside(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// inside reports whether a member runs in the lead's process.
func (c *config) inside(m member) bool {
	return m.name != c.lead && m.object.string("backendType") == "in-process"
}

// Worker returns the member that runs as the subagent with an id and a kind, as the hooks of Claude Code 2.1.330
// report them: a<name>-<hex> and the name. It is "" if there is none.
func (t *Team) Worker(id, kind string) string {
	if slices.Contains(t.Inside(), kind) && strings.HasPrefix(id, "a"+kind+"-") {
		return kind
	}
	return ""
}

// InPane returns the member that runs in a tmux pane as an agent of a kind, as its hooks report it, or "". Pane
// numbers are those of one tmux server, so the kind, which a person's sessions do not have, must match the member's.
func (t *Team) InPane(pane, kind string) string {
	for _, m := range t.config.members {
		if pane != "" && kind != "" && m.kind == kind && m.object.string("tmuxPaneId") == pane {
			return m.name
		}
	}
	return ""
}

// Called returns the name that a room with this roster gives a member of the team.
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
