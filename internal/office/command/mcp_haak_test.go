package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session of HAAK reads over MCP: the files record it, nothing is new twice, and it outlives its client.
func TestMCPHaak(t *testing.T) {
	project := t.TempDir() // outlives the post office
	env := mcpHome(t)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("pennypost", args...)
		cmd.Env, cmd.Dir = env, project
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("pennypost %v: %v", args, err)
		}
		return string(out)
	}
	run("haak", "roster", "register", "--session-id", "architect-new", "--tags", "project:inscription")
	run("send", "--to", "architect-new", "--body", "from the console")
	run("haak", "mailbox", "send", "--from", "lina", "--to", "project:inscription", "--body", "tagged")
	server := exec.Command("pennypost", "mcp", "--dialect", "haak", "--as", "architect-new")
	server.Env, server.Dir = env, project
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := call(t, s, "read_mailbox", nil)["unread"]; n != 2.0 {
		t.Errorf("%v unread, want 2", n)
	}
	if n := call(t, s, "read_mailbox", nil)["unread"]; n != 0.0 {
		t.Errorf("%v new twice", n)
	}
	text, err := os.ReadFile(filepath.Join(project, "data", "agent-mailbox-reads.jsonl"))
	if n := strings.Count(string(text), `"reader_session_id":"architect-new"`); n != 2 || err != nil {
		t.Errorf("the file of reads has it %d times, %v:\n%s", n, err, text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var entry map[string]any
	if err := json.Unmarshal([]byte(run("haak", "roster", "show", "--json", "--session-id", "architect-new")),
		&entry); err != nil || entry["state"] != "live" {
		t.Errorf("after its client has left: %v, %v", entry, err)
	}
	out := run("haak", "mailbox", "send", "--from", "lina", "--to", "architect-new", "--body", "more")
	if !strings.Contains(out, "would reach: architect-new") {
		t.Error(out)
	}
}
