package systemtest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkspaceInstall: the files of "workspace add --install" are sufficient. A session that is started in the
// directory is the workspace's agent, in the room of the workspace; it pushes to the Inbox, and the person's answer
// reaches it through its client's hook.
func TestWorkspaceInstall(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	there := *o
	there.dir = filepath.Join(o.root, "macro")
	if err := os.Mkdir(there.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	token := ask[struct{ Token string }](t, o, "workspace", "add", "ws-macro", there.dir, "--room", "lab").Token
	for range 2 { // the second time changes nothing
		out := o.must(t, "workspace", "add", "ws-macro", there.dir, "--room", "lab", "--install", "claude")
		for _, want := range []string{"in room lab", ".mcp.json", "settings.json", "inbox_push"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %s:\n%s", want, out)
			}
		}
		if strings.Contains(out, "Bearer") {
			t.Errorf("a token is made that nobody needs:\n%s", out)
		}
	}
	if r := o.runWith("", []string{"PENNYPOST_TOKEN=" + token}, "mcp", "--dialect", "openalice", "--remote",
		"http://127.0.0.1:1"); r.code != 6 {
		t.Errorf("mcp --remote: %+v", r)
	}
	if r := o.run("workspace", "add", "ws-other", there.dir, "--room", "lab", "--install", "claude"); r.code != 1 &&
		r.code != 5 || !strings.Contains(r.stderr, `contains agent = "ws-macro"`) {
		t.Errorf("another workspace in the same directory: %+v", r)
	}

	for _, era := range eras() { // both are open at a time: a workspace may have any number of sessions
		a := there.inClient().mustAgent(t, era)
		tools, err := a.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Contains(names, "inbox_push") || !slices.Contains(names, "read_messages") {
			t.Errorf("the session has the tools %q", names)
		}
		if got := must[struct{ OK bool }](t, a, "inbox_push", map[string]any{"comments": "Done, by " + era}); !got.OK {
			t.Error("the push failed")
		}
	}
	mail := ask[struct {
		Messages []struct{ From, Body, Subject string }
	}](t, o, "inbox", "--room", "lab").Messages
	if len(mail) != 2 || mail[0].From != "agent:ws-macro" || mail[0].Body != "Done, by "+eras()[0] ||
		mail[0].Subject != "" || mail[1].From != "agent:ws-macro" {
		t.Errorf("the person has %+v", mail)
	}

	o.must(t, "send", "--room", "lab", "--to", "ws-macro", "--body", "And the rates?")
	r := there.runWith(`{"session_id":"s1","hook_event_name":"SessionStart","cwd":"`+there.dir+`","source":"startup"}`,
		nil,
		"hook", "claude", "SessionStart")
	if r.code != 0 || !strings.Contains(r.stdout, "And the rates?") ||
		!strings.Contains(r.stdout, "ws-macro in room lab") {
		t.Errorf("the hook says %+v", r)
	}

	if out := o.must(t, "workspace", "remove", "ws-macro", "--room", "lab"); !strings.Contains(out,
		filepath.Join(there.dir, ".pennypost.toml")) {
		t.Errorf("what is left in the directory is not named:\n%s", out)
	}
	a := there.mustAgent(t, eras()[0], "--as", "ann")
	if tools, err := a.session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 6 {
		t.Errorf("an agent of no workspace has %d tools, %v", len(tools.Tools), err)
	}
}

// TestWorkspaceInstalledEverywhere: a client that has Pennypost for all projects does not get it twice.
func TestWorkspaceInstalledEverywhere(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	dir := filepath.Join(o.root, "macro")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.must(t, "install", "claude")
	o.must(t, "workspace", "add", "ws-macro", dir, "--install", "claude")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != ".pennypost.toml" {
		t.Errorf("in the directory is %v, %v", left, err)
	}
}

// TestWorkspaceAddress: the address that "workspace add" prints is the one where the post office listens.
func TestWorkspaceAddress(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	out := o.must(t, "workspace", "add", "ws-macro", o.dir)
	if !strings.Contains(out, "listens on no port") || strings.Contains(out, "http://127.0.0.1:8765/mcp") {
		t.Errorf("without a port:\n%s", out)
	}
	o.must(t, "stop")
	o.env = []string{"PENNYPOST_LISTEN=127.0.0.1:0"}
	got := ask[struct{ URL, Token string }](t, o, "workspace", "add", "ws-macro", o.dir)
	if !strings.HasPrefix(got.URL, "http://127.0.0.1:") || !strings.HasSuffix(got.URL, "/mcp/ws-macro") {
		t.Fatalf("the address is %q", got.URL)
	}
	a, err := agentHTTP(eras()[0], got.URL, &http.Client{Transport: bearer{got.Token, new(http.Transport)}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.session.Close()
	if got := must[struct{ OK bool }](t, a, "inbox_push", map[string]any{"comments": "hi"}); !got.OK {
		t.Error("the push failed")
	}
}
