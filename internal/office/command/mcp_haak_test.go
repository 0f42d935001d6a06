package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session of HAAK reads over MCP: the files record it, and nothing is new twice. When its client has left, it is
// dead until it registers again.
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
	state := func() any {
		var entry map[string]any
		text := run("haak", "roster", "show", "--json", "--session-id", "architect-new")
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			t.Fatal(err, text)
		}
		return entry["state"]
	}
	// its client has left, which the post office notices within a second or two
	for begun := time.Now(); state() != "dead"; time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("after its client has left: %v", state())
		}
	}
	send := func() string {
		return run("haak", "mailbox", "send", "--from", "lina", "--to", "architect-new", "--body", "more")
	}
	if out := send(); strings.Contains(out, "would reach") {
		t.Error(out)
	}
	run("haak", "roster", "register", "--session-id", "architect-new")
	if out := send(); state() != "live" || !strings.Contains(out, "would reach: architect-new") {
		t.Error(state(), out)
	}
}
