package realclient

import (
	"regexp"
	"slices"
	"testing"
)

// client is what the scenarios have to know of one client.
type client struct {
	name  string // as pennypost install, versions.txt and the table call it
	title string
	// settings writes what its user has set up before Pennypost, such as the way to the model (l.model.URL): files
	// below l.home and l.project. It grants nothing.
	settings func(l *lab)
	// trust writes that its user has worked in the project before, and trusts the folder; nil: it asks for no trust.
	trust func(l *lab)
	// shell has its user let it run commands, for scenarios that are about that; nil: it does not ask. Nothing of ours
	// is granted: that is what install does.
	shell func(l *lab)
	// env is what it wants in its environment, besides lab.env: the address of the model, a key, no telemetry.
	env func(l *lab) []string
	// installed is called after pennypost install, for what a person would confirm; nil: nothing.
	installed func(l *lab)
	// ended is called when a scenario has ended, for what the client leaves running on purpose; nil: nothing.
	ended func(l *lab)
	// headless are the arguments of a run that does one prompt and ends.
	headless func(prompt string) []string
	// tui are the arguments of an interactive session.
	tui []string
	// modes are arguments besides, one set for each mode in which nothing may be asked in the first minute; nil: one.
	modes [][]string
	// once are the dialogs that its user answers in the first minute, as docs/clients.md says.
	once []dialog
	// uses is the directive by which the model uses a tool of ours; nil: [[tool NAME INPUT]].
	uses func(name, input string) string
	// write is the directive by which the model writes a file with the client's own tool, with PATH for where; "": it
	// has none but the shell.
	write string
	// ready stands on the screen when the session takes a prompt.
	ready *regexp.Regexp
	// pastes says that it takes Enter for a line break if it comes soon after what was typed.
	pastes bool
	// swallows says that it loses an Enter now and then; ready stands there again when a prompt was sent.
	swallows bool
	// quit is typed to leave a session, and resume are the arguments that go on with the last one.
	quit   string
	resume []string
	// inUse is asked when a session is resumed whose program was killed, and Enter answers; "": nothing is.
	inUse string
	// breakOff are the keys, as tmux calls them, that break a turn off.
	breakOff []string
	asking   *asking // its dialogs; nil: they are not tried in numbers
	// outlives says that the program goes on without its terminal, with or without us: it has to be killed.
	outlives bool
	// subagent is the directive ([[tool …]]) by which the model starts a subagent with a prompt, in the foreground.
	subagent func(prompt string) string
	// doorless is a config.toml in which an idle session that had no turn yet has no door.
	doorless string
	// lacks says of scenarios, by name, why they are not for this client: the table says ✗ there.
	lacks map[string]string
	// more are scenarios that only this client has.
	more []scenario
}

// clients are all that are tried. A new one is a file with a function like claude, and a line here.
func clients() []client {
	return []client{claude(), codex(), gemini(), qwen(), opencode(), pi(), copilot(), cline()}
}

// scenario is something that must hold with every client.
type scenario struct {
	name string // of the test
	row  string // of the table in docs/clients-evidence.md; "": none
	core bool   // run by ./test too
	run  func(t *testing.T, l *lab)
}

// TestClients runs every scenario with every client that is installed.
func TestClients(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			v := wanted(t, c.name)
			for _, s := range append(scenarios(), c.more...) {
				t.Run(s.name, func(t *testing.T) { try(t, c, v, s) })
			}
		})
	}
}

// TestCore runs what ./test has time for.
func TestCore(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			v := wanted(t, c.name)
			for _, s := range append(scenarios(), c.more...) {
				if s.core {
					t.Run(s.name, func(t *testing.T) { try(t, c, v, s) })
				}
			}
		})
	}
}

// wanted returns the version of a client that is to be tried, or skips.
func wanted(t *testing.T, name string) clientVersion {
	t.Helper()
	if *installed == "" {
		t.Skipf("%s: no real client without ./test clients", name)
	}
	v, err := version(name)
	if err != nil {
		t.Skip(err)
	}
	return v
}

// try runs one scenario with one client.
func try(t *testing.T, c client, v clientVersion, s scenario) {
	note := func(cell string) {
		if err := seen.note(c, v, s, cell); err != nil {
			t.Error(err)
		}
	}
	if why := c.lacks[s.name]; why != "" {
		if s.row == "" || c.lacksRow(s.row) {
			note(no)
		}
		t.Skipf("%s %s: %s", c.title, v.version, why)
	}
	t.Parallel()
	var l *lab
	t.Cleanup(func() { // after those of the lab, which may find that something is left
		if t.Failed() {
			note(no)
			return
		}
		note(l.cell())
	})
	l = newLab(t, c, v)
	s.run(t, l)
}

// lacksRow reports whether no scenario of a row is for a client.
func (c client) lacksRow(row string) bool {
	return !slices.ContainsFunc(slices.Concat(scenarios(), c.more), func(s scenario) bool {
		return s.row == row && c.lacks[s.name] == ""
	})
}
