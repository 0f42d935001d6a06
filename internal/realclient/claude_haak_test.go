package realclient

import (
	"regexp"
	"testing"
)

// claudeHaak: after only "haak install", a session is given the messages of the project's agents at its start, knows
// when to look again, and answers through HAAK's script under the id that Claude Code gives it.
func claudeHaak(t *testing.T, l *lab) {
	l.startOffice()
	l.shell()
	l.pp("haak", "install")
	l.pp("haak", "mailbox", "send", "--from", "architect-new", "--to", "all", "--body", "ZEBRA of the architect")
	l.finished(l.begin("hello haak [[sh python3 scripts/agent_mailbox.py send --from $CLAUDE_CODE_SESSION_ID " +
		"--to architect-new --body answered]] [[say bye]]"))
	r := l.request("hello haak")
	l.told(r, "ZEBRA of the architect")
	if !r.Has("Situation shift") {
		t.Error("the instructions of CLAUDE.md are not in the request")
	}
	session := regexp.MustCompile(`^agent:[0-9a-f]{8}-[0-9a-f-]{27}$`)
	if from := l.from("answered"); !session.MatchString(string(from)) {
		t.Errorf("the answer is from %s", from)
	}
	l.finished(l.begin("hello again [[say bye]]")) // another session, for which the broadcast is new
	l.told(l.request("hello again"), "ZEBRA of the architect")
	l.pp("haak", "uninstall")
	for _, name := range []string{"scripts", ".claude", "CLAUDE.md"} {
		if l.exists(name) {
			t.Errorf("uninstall leaves %s", name)
		}
	}
}
