package realclient

import (
	"os"
	"regexp"
	"testing"

	"pennypost/internal/mail"
)

// example is a line of the README that starts Claude Code as an agent.
var example = regexp.MustCompile(`(?m)^    (PENNYPOST_AGENT=(\S+) claude)\s`)

// TestReadme follows the README's first example: two terminals in one project are two agents, and one writes to the
// other, which is idle and is woken. The user does what the README says, and answers Claude Code's question about the
// folder; nothing else is granted.
func TestReadme(t *testing.T) {
	c := claude()
	v := wanted(t, c.name)
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := example.FindAllStringSubmatch(string(text), -1)
	if len(lines) != 2 {
		t.Fatalf("the README has the commands %q, want two that start Claude Code", lines)
	}
	c.trust = nil // the folder is new to Claude Code
	l := newLab(t, c, v)
	l.pp("install", c.name)
	l.startOffice()
	var windows []*terminal
	var agents []mail.Name
	for _, line := range lines {
		w := l.open("bash", "-c", line[1])
		w.begins()
		windows, agents = append(windows, w), append(agents, mail.Name(line[2]))
	}
	windows[1].prompt("hello second [[say bye]]")
	l.until(string(agents[1])+" is idle", func() bool { return l.state(agents[1]) == mail.Idle })
	windows[0].prompt(`hello first [[tool send_message {"to":["` + string(agents[1]) +
		`"],"type":"question","body":"ZEBRA from the first"}]] [[say bye]]`)
	l.told(l.request("hello second", "ZEBRA from the first"), "ZEBRA from the first")
	if got := l.state(agents[0]); got == "" {
		t.Errorf("%s is not on the roster: %+v", agents[0], l.agents())
	}
}
