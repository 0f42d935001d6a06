package realclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// teammateTools makes a teammate load the tools that it uses.
const teammateTools = `[[tool ToolSearch {"query":"select:mcp__pennypost__send_message,SendMessage"}]] `

// status is a directive that sends the person a line with Pennypost's tool.
func status(body string) string {
	return `[[tool send_message {"to":["user"],"type":"status","body":"` + body + `"}]] `
}

// newTeam starts a session in a terminal that leads a Claude Code team with one teammate, researcher, and bridges the
// team. Both say who they are with Pennypost's tool, and the teammate also in a shell.
func (l *lab) newTeam(mode string) *terminal {
	l.t.Helper()
	l.more = append(l.more, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1")
	// Its members run commands. A member in a pane has the permissions of the settings, not of the command line.
	l.write(".claude/settings.json", map[string]any{"permissions": map[string]any{"allow": []string{"Bash"}}})
	l.install()
	w := l.tui("--teammate-mode", mode)
	w.prompt("hello first [[say hi]]")
	w.sees("● hi") // the tools are loaded by then
	input, _ := json.Marshal(map[string]any{"description": "scripted", "name": "researcher",
		"subagent_type": "general-purpose", "prompt": "hello child " + teammateTools +
			"[[sh pennypost send --to user --type status --body 'by a shell'; touch tried]] " +
			status("by researcher") +
			"[[say child is done]]"})
	w.prompt("hello lead [[tool Agent " + string(input) + "]] " + status("by lead") + "[[say bye]]")
	l.until("there is a team", func() bool { return l.teamDir() != "" })
	l.pp("bridge", "add", "claudeteams", l.teamDir())
	return w
}

// teamDir returns the directory of the team's files; "" before the team has its teammate.
func (l *lab) teamDir() string {
	found, _ := filepath.Glob(filepath.Join(l.home, ".claude", "teams", "*", "config.json"))
	for _, path := range found {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), `"researcher"`) {
			return filepath.Dir(path)
		}
	}
	return ""
}

// mail waits for the message with a body.
func (l *lab) mail(body string) (found mail.Message) {
	l.t.Helper()
	l.until("mail: "+body, func() bool {
		for line := range strings.Lines(l.pp("export")) {
			var m mail.Message
			l.must(json.Unmarshal([]byte(line), &m))
			if strings.HasPrefix(m.Body, body) {
				found = m
			}
		}
		return found.ID != ""
	})
	return found
}

// identities checks that the lead is the agent of its session and the teammate that of its name, and that there are
// no others.
func (l *lab) identities() {
	l.t.Helper()
	for body, from := range map[string]mail.Address{"by lead": mail.AgentAddress(l.agent),
		"by researcher": "agent:researcher"} {
		if m := l.mail(body); m.From != from {
			l.t.Errorf("%q is from %s, want %s", body, m.From, from)
		}
	}
	for _, a := range l.agents() {
		switch {
		case a.Name == l.agent && !slices.Contains(a.Roles, "team-lead"):
			l.t.Errorf("the session's agent is not the lead: %+v", a)
		case a.Name != l.agent && a.Name != "researcher":
			l.t.Errorf("the roster has %s", a.Name)
		}
	}
}

// answered checks that a question to the teammate is in a request once, and that its answer is from the teammate, in
// the question's thread. pattern matches the question's id in the teammate's input.
func (l *lab) answered(pattern string) model.Request {
	l.t.Helper()
	answer, _ := json.Marshal(map[string]any{"to": []string{"user"}, "type": "answer", "body": "the second",
		"reply_to": "{{" + pattern + "}}"})
	sent := ask[mail.Sent](l, "send", "--to", "researcher", "--type", "question", "--body",
		"ZEBRA which of the two? [[tool send_message "+string(answer)+"]] [[say replied]]")
	id := sent.ID
	if how := sent.Recipients[0].Awaits(); strings.Contains(how, "cannot be woken") {
		l.t.Errorf("the sender is told %q", how)
	}
	r := l.request("hello child", "ZEBRA which")
	m := l.mail("the second")
	if m.From != "agent:researcher" || m.ReplyTo != id || m.Thread != id {
		l.t.Errorf("the answer to %s is %+v", id, m)
	}
	l.until("the teammate is idle", func() bool { return l.state("researcher") == mail.Idle })
	for _, r := range l.model.Requests() {
		if n := r.Copies("ZEBRA which"); n > 1 {
			l.t.Errorf("request %d has the question %d times", r.N, n)
		}
	}
	return r
}

// teamMailOnce checks that Claude Code delivers the members' mail to each other, and no hook of ours does.
func (l *lab) teamMailOnce() {
	l.t.Helper()
	m := l.mail("child is done")
	if m.From != "agent:researcher" || m.To[0] != mail.AgentAddress(l.agent) || m.Type != mail.Status {
		l.t.Errorf("the idle notice is %+v", m)
	}
	l.request("hello lead", `"result":"child is done"`)
	for _, r := range l.model.Requests() {
		if r.Has("1 message for "+string(l.agent)) || r.Has("messages for "+string(l.agent)) {
			l.t.Errorf("request %d has the team's mail from a hook", r.N)
		}
	}
}

// claudeTeamInside: a teammate that shares its lead's process has its own name, and answers senders outside.
func claudeTeamInside(t *testing.T, l *lab) {
	w := l.newTeam("in-process")
	l.identities()
	l.until("the shell", func() bool { return l.exists("tried") })
	if strings.Contains(l.pp("export"), "by a shell") {
		t.Error("a shell speaks as somebody, and nobody knows whose it is")
	}
	l.request("hello child", "a shell command does not show which")
	l.teamMailOnce()
	r := l.answered(`This is message (msg_\S+) of`)
	if !r.Has("<teammate-message") {
		t.Error("the question did not come as Claude Code hands over a message")
	}
	w.leave()
}

// claudeTeamApart: a teammate in a pane of tmux, with a session of its own, has its own name in hooks, tools and
// shells, and gets its mail once.
func claudeTeamApart(t *testing.T, l *lab) {
	w := l.newTeam("tmux")
	l.identities()
	if m := l.mail("by a shell"); m.From != "agent:researcher" {
		t.Errorf("the shell speaks as %s", m.From)
	}
	l.teamMailOnce()
	l.until("the teammate is idle", func() bool { return l.state("researcher") == mail.Idle })
	l.told(l.answered(`id="(msg_[^"]+)"`), "ZEBRA which")
	w.leave()
}
