package systemtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
)

// claudeTeam makes the files of a team of Claude Code, which contain a message for its lead, and returns its
// directory.
func (o *office) claudeTeam(t *testing.T, name, session, text string) string {
	t.Helper()
	dir := filepath.Join(o.root, "nobody", ".claude", "teams", name)
	if err := os.MkdirAll(filepath.Join(dir, "inboxes"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"inboxes/team-lead.json": fmt.Sprintf(
			`[{"from":"reviewer","text":%q,"timestamp":"2026-05-10T14:00:00.000Z","read":false}]`, text),
		"config.json": fmt.Sprintf(`{"name":%q,"leadAgentId":"team-lead@%[1]s","leadSessionId":%q,"members":[
			{"agentId":"team-lead@%[1]s","name":"team-lead","agentType":"team-lead","joinedAt":1778421600000},
			{"agentId":"reviewer@%[1]s","name":"reviewer","agentType":"general-purpose","joinedAt":1778421600001}]}`,
			name, session),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// bridges lists the room's bridges.
func (o *office) bridges(t *testing.T) []mail.BridgeStatus {
	t.Helper()
	return ask[struct{ Bridges []mail.BridgeStatus }](t, o, "bridge", "list").Bridges
}

// TestTeamIsBridged holds that the directory of a team is bridged automatically when hooks have reported its lead's
// session, with its earlier mail; that no other directory is; that a bridge which the person has removed stays
// removed, even over a restart; and that the bridge ends with the team.
func TestTeamIsBridged(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.claudeTeam(t, "session-else", "s-else", "led by nobody we know")
	dir := o.claudeTeam(t, "session-1", "s-lead", "from before")
	o.mustServe(t)
	h := o.hooks(hooktest.Claude(), "s-lead")
	h.Start("startup")
	eventually(t, "the team is bridged", func() bool { return len(o.bridges(t)) > 0 })
	eventually(t, "what was there is mail", func() bool {
		return strings.Contains(o.must(t, "export"), "from before")
	})
	if b := o.bridges(t); len(b) != 1 || b[0].Dir != dir || b[0].Failing != "" {
		t.Fatalf("bridged is %+v", b)
	}
	if strings.Contains(o.must(t, "export"), "nobody we know") {
		t.Error("the team of an unknown session was bridged")
	}
	sent := ask[mail.Sent](t, o, "send", "--to", "reviewer", "--type", "question", "--body", "from outside")
	text, err := os.ReadFile(filepath.Join(dir, "inboxes", "reviewer.json"))
	if err != nil || !strings.Contains(string(text), "from outside") {
		t.Errorf("after %s the inbox of the member holds %q, %v", sent.ID, text, err)
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bridge has ended with the team", func() bool { return len(o.bridges(t)) == 0 })
	o.claudeTeam(t, "session-1", "s-lead", "of the next team")
	eventually(t, "the next team is bridged", func() bool { return len(o.bridges(t)) == 1 })

	o.must(t, "bridge", "remove", o.bridges(t)[0].ID)
	time.Sleep(2500 * time.Millisecond) // time for two checks
	o.must(t, "stop")
	o.mustServe(t)
	h.Prompt("go on")
	time.Sleep(2500 * time.Millisecond)
	if b := o.bridges(t); len(b) != 0 {
		t.Errorf("what the person removed was bridged again: %+v", b)
	}
}

// TestTeamsAreLeft holds that no team is bridged if the configuration says so, and none through a link.
func TestTeamsAreLeft(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		o := newOffice(t)
		if dir := o.claudeTeam(t, "session-1", "s-lead", "hello"); linked {
			away := filepath.Join(o.root, "away")
			if err := os.Rename(dir, away); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(away, dir); err != nil {
				t.Fatal(err)
			}
		} else {
			if err := errors.Join(os.Mkdir(o.home, 0o700), os.WriteFile(filepath.Join(o.home, "config.toml"),
				[]byte("claude_teams = \"leave\"\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		o.mustServe(t)
		o.hooks(hooktest.Claude(), "s-lead").Start("startup")
		time.Sleep(2500 * time.Millisecond)
		if b := o.bridges(t); len(b) != 0 {
			t.Errorf("linked %v: bridged is %+v", linked, b)
		}
	}
}
