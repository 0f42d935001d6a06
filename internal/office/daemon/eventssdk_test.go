package daemon

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pennypost/internal/mail"
)

// TestEventsSDK makes Vercel's client for MCP, at $EVENTS_SDK, subscribe: its webhook handler proves itself, checks
// signatures and forms, and learns of the end. See ./test.
func TestEventsSDK(t *testing.T) {
	sdk := os.Getenv("EVENTS_SDK")
	if sdk == "" {
		t.Skip("EVENTS_SDK does not lead to @ai-sdk/mcp: ./test installs it, with a Node.js that it can run on")
	}
	cfg := testConfig(t)
	cfg.Events.Webhooks, cfg.Events.Private = true, true
	r := start(t, Options{Config: cfg})
	r.register(t, "a", "bob")
	user := r.room(t, "a", mail.User)
	token, err := user.Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(sdk, "node_modules", ".bin", "node"),
		filepath.Join("testdata", "events.mjs"), r.place.HTTP+"/mcp", token)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	seen := make(map[string]bool)
	next := func(what string) (got json.RawMessage) {
		t.Helper()
		for lines.Scan() {
			var m map[string]json.RawMessage
			var event struct{ EventID string }
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(m["event"], &event)
			if m["event"] != nil && seen[event.EventID] {
				continue // an event may come twice, as after a refresh
			}
			seen[event.EventID] = true
			if m[what] == nil {
				break
			}
			return m[what]
		}
		t.Fatalf("the client says %s, %v, want %s", lines.Bytes(), lines.Err(), what)
		return nil
	}
	var listed []string
	if err := json.Unmarshal(next("listed"), &listed); err != nil || !slices.Contains(listed, "mail.arrived") {
		t.Errorf("listed: %q, %v", listed, err)
	}
	next("subscribed")
	ask := func(body string) {
		t.Helper()
		if _, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Type: string(mail.Question),
			Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	ask("first?")
	next("event")
	_, _ = io.WriteString(in, "refresh\n")
	next("refreshed")
	ask("second?")
	next("event")
	_, _ = io.WriteString(in, "unsubscribe\n")
	if left := next("unsubscribed"); string(left) != "0" {
		t.Errorf("the client keeps %s subscriptions", left)
	}
}
