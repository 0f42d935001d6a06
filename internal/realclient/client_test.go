package realclient

import (
	"regexp"
	"slices"
	"testing"
)

// client is everything that the scenarios need to know of one client.
type client struct {
	name  string // its name in pennypost install, versions.txt and the table
	title string
	// settings writes its user's settings from before Pennypost, such as the way to the model (l.model.URL): files
	// below l.home and l.project. It grants nothing.
	settings func(l *lab)
	// trust records that its user has worked in the project before, and trusts the folder; nil: it asks for no trust.
	trust func(l *lab)
	// shell lets it run commands, as its user would, for scenarios that need that; nil: it does not ask. It grants
	// nothing of ours: install does that.
	shell func(l *lab)
	// env is its environment in addition to lab.env: the address of the model, a key, no telemetry.
	env func(l *lab) []string
	// installed is called after pennypost install, for a person's confirmations; nil: none.
	installed func(l *lab)
	// ended is called after a scenario, for processes that the client leaves running on purpose; nil: none.
	ended func(l *lab)
	// headless are the arguments of a run that does one prompt and ends.
	headless func(prompt string) []string
	// tui are the arguments of an interactive session.
	tui []string
	// modes are additional arguments, one set for each mode in which nothing may be asked in the first minute; nil:
	// one mode.
	modes [][]string
	// once are the dialogs that its user answers in the first minute, according to docs/clients.md.
	once []dialog
	// uses is the directive that makes the model use a tool of ours; nil: [[tool NAME INPUT]].
	uses func(name, input string) string
	// write is the directive that makes the model write a file with the client's own tool, with PATH for its path;
	// "": it has only the shell.
	write string
	// ready matches the screen when the session takes a prompt.
	ready *regexp.Regexp
	// pastes says that it takes an Enter soon after typing for a line break.
	pastes bool
	// swallows says that it sometimes loses an Enter; ready matches again once a prompt was sent.
	swallows bool
	// quit is typed to leave a session, and resume are the arguments that continue the last one.
	quit   string
	resume []string
	// inUse is its question when a session whose program was killed is resumed, answered by Enter; "": it has none.
	inUse string
	// breakOff are the keys that break a turn off, by tmux's names.
	breakOff []string
	asking   *asking // its dialogs; nil: TestDialogs does not try them
	// outlives says that the program outlives its terminal, with or without us: it has to be killed.
	outlives bool
	// subagent is the directive ([[tool …]]) that makes the model start a subagent with a prompt, in the foreground.
	subagent func(prompt string) string
	// doorless is a config.toml in which an idle session without a turn so far has no door.
	doorless string
	// lacks gives the reasons, by scenario name, why scenarios are not for this client: the table shows ✗ there.
	lacks map[string]string
	// more are scenarios of this client only.
	more []scenario
}

// clients are all clients that are tried. A new one is a file with a function like claude, and a line here.
func clients() []client {
	return []client{claude(), codex(), gemini(), qwen(), opencode(), pi(), copilot(), cline()}
}

// scenario is a behaviour that must hold with every client.
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

// TestCore runs the scenarios that ./test has time for.
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

// wanted returns the version of a client to try, or skips.
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
	t.Cleanup(func() { // after the lab's cleanups, which may find leftovers
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
