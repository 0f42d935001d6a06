package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
	"pennypost/internal/wire"
)

// teamOf makes the files of a team of Claude Code led by a session, with a teammate in its process and one in a pane
// of tmux.
func teamOf(t *testing.T, session string) (transcript string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	file := filepath.Join(dir, "teams", "session-1", "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"name":"session-1","leadAgentId":"team-lead@session-1","leadSessionId":"` + session + `","members":[
		{"agentId":"team-lead@session-1","name":"team-lead","tmuxPaneId":"leader","backendType":"in-process"},
		{"name":"researcher","agentType":"general-purpose","tmuxPaneId":"in-process","backendType":"in-process"},
		{"name":"apart","agentType":"general-purpose","tmuxPaneId":"%1","backendType":"tmux"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "projects", "-srv", session+".jsonl")
}

// For agents that share a process, the caller is identified or the call is refused.
func TestTeammatesOfOneProcess(t *testing.T) {
	transcript := teamOf(t, "s-lead")
	cfg := testConfig(t)
	o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	defer o.Set.Close()
	if _, err := o.Own(t.Context(), "a", "lead").Turn(t.Context(),
		mail.Turn{Moment: mail.SessionStart, Session: "s-lead"}); err != nil {
		t.Fatal(err)
	}
	note := func(use, session, worker, kind string) {
		e := &hook.Event{ToolUse: use, Worker: worker, Kind: kind}
		e.Session.ID, e.Session.Script = session, transcript
		o.ToolUses.Note("a", "lead", e)
	}
	note("own", "s-lead", "", "")
	note("mate", "s-lead", "aresearcher-21cd83441fe1e21e", "researcher")
	note("subagent", "s-lead", "a21cd83441fe1e21e", "general-purpose")
	note("named", "s-lead", "a21cd83441fe1e21e", "researcher") // a kind of subagent may have any name
	note("alone", "s-other", "a21cd83441fe1e21e", "general-purpose")
	for _, test := range []struct {
		use, session string
		want         mail.Address // "": refused
	}{
		{"", "s-lead", "agent:lead"}, {"own", "", "agent:lead"}, {"mate", "", "agent:researcher"},
		{"subagent", "", ""},
		{"named", "", ""}, {"alone", "", "agent:lead"}, {"unknown", "s-lead", ""},
		{"unknown", "s-other", "agent:lead"},
		{wire.ShellUse, "s-lead", ""}, {wire.ShellUse, "s-other", "agent:lead"},
	} {
		v := o.Own(t.Context(), "a", "lead")
		v.ID = v.ID.InSession(test.session).ForToolUse(test.use)
		sent, err := v.Send(
			t.Context(),
			mail.Draft{To: mail.Recipients{"user"}, Body: "x " + test.use + test.session},
		)
		if test.want == "" {
			if mail.CodeOf(err) != mail.Denied || !strings.Contains(err.Error(), "nothing was done: ") {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		it, err2 := o.Own(t.Context(), "a", mail.User).Message(t.Context(), sent.ID)
		if err != nil || err2 != nil || it.From != test.want {
			t.Errorf("%+v: from %s, %v, %v", test, it.From, err, err2)
		}
	}
	// No caller gains anything by another agent's tool call, or by a name that a session has.
	v := o.Own(t.Context(), "a", "builder")
	v.ID = v.ID.ForToolUse("mate")
	if a, err := v.Register(t.Context(), mail.Presence{}); err != nil || a.Name != "builder" {
		t.Errorf("another's use makes %v, %v", a.Name, err)
	}
	if _, err := o.Own(t.Context(), "a", "researcher").Turn(t.Context(),
		mail.Turn{Moment: mail.SessionStart, Session: "s-own"}); err != nil {
		t.Fatal(err)
	}
	v = o.Own(t.Context(), "a", "lead")
	v.ID = v.ID.ForToolUse("mate")
	if _, err := v.Inbox(t.Context(), mail.InboxQuery{}); mail.CodeOf(err) != mail.Denied {
		t.Errorf("a teammate reads the mail of a session of its name: %v", err)
	}
}

// A teammate with a session of its own is the member of its pane, in its hooks and its MCP server.
func TestTeammateApart(t *testing.T) {
	transcript := teamOf(t, "s-lead")
	cfg := testConfig(t)
	o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	defer o.Set.Close()
	const lead, apart = "10.1@b", "20.1@b"
	event := func(session, kind, program string) *hook.Event {
		e := &hook.Event{Client: "claude", Kind: kind}
		e.Session.ID, e.Session.Script, e.Session.Process = session, transcript, program
		return e
	}
	for _, test := range []struct {
		pane string
		e    *hook.Event
		want mail.Name
	}{
		{"%1", event("s-apart", "general-purpose", apart), "apart"},
		{"%1", event("s-person", "", lead), ""}, // a person's session has no kind
		{"%2", event("s-other", "general-purpose", lead), ""},
		{"", event("s-other", "general-purpose", lead), ""},
	} {
		if name, err := o.Teammate(t.Context(), "a", test.pane, test.e); err != nil || name != test.want {
			t.Errorf("%s, %+v: %q, %v", test.pane, test.e, name, err)
		}
	}
	if _, err := o.Own(t.Context(), "a", "apart").Turn(t.Context(), mail.Turn{Moment: mail.SessionStart,
		Session: "s-apart",
		Process: apart}); err != nil {
		t.Fatal(err)
	}
	svc, err := o.Room(below(t, "claude-shop", apart), "a", "claude-shop") // the name that its server uses
	if err != nil {
		t.Fatal(err)
	}
	a, err := svc.Register(t.Context(), mail.Presence{Session: "mcp-1", Process: apart, Join: true})
	if err != nil || a.Name != "apart" {
		t.Errorf("the server is %s, %v", a.Name, err)
	}
}
