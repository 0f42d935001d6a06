package systemtest

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// TestKilledAgentIsItself holds, for Pennypost's own tools and for each dialect whose names are sessions, that an
// agent whose MCP server was killed, alone or with its client, has its name and its unread mail when it is restarted
// immediately.
func TestKilledAgentIsItself(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"", "agenties", "haak"} {
		for _, wholeClient := range []bool{false, true} {
			t.Run(dialect+map[bool]string{true: " client", false: " server"}[wholeClient], func(t *testing.T) {
				o := newOffice(t)
				o.mustServe(t)
				args := []string{"mcp", "--as", "ann"}
				if dialect != "" {
					args = append(args, "--dialect", dialect)
				}
				for round := range 3 {
					a := &agent{cmd: o.inClient().command(context.Background(), args...), stderr: new(buffer)}
					if wholeClient {
						a.cmd.Path, _ = exec.LookPath("perl")
						a.cmd.Args = append([]string{"client", "-e", "exec @ARGV unless fork; wait", binary}, args...)
					}
					a.cmd.Stderr = a.stderr
					if err := a.connect(eraSessions, &mcp.CommandTransport{Command: a.cmd}); err != nil {
						t.Fatalf("%v\n%s", err, a.stderr)
					}
					if round > 0 {
						if got := ask[mail.Page](t, o, "inbox", "--agent", "ann"); len(got.Messages) != round {
							t.Errorf("in round %d its unread mail is %d", round, len(got.Messages))
						}
					}
					o.must(t, "send", "--to", "ann", "--body", "for ann")
					a.kill()
				}
				var names []mail.Name
				for _, a := range o.roster(t) {
					names = append(names, a.Name)
				}
				if !slices.Equal(names, []mail.Name{"ann"}) {
					t.Errorf("the roster is %q", names)
				}
			})
		}
	}
}

// TestClosedTerminal holds that a session of HAAK lives as long as the client that ran its hook, whatever it does
// meanwhile: once that is killed, the roster says so, and its unread role mail immediately goes to another agent.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.mustServe(t)
	open := func(session string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command("perl", "-e", `system "$ARGV[0] haak check-mailbox --session-id $ARGV[1]"; `+
			`system "$ARGV[0] haak roster update --as $ARGV[1] --session-id $ARGV[1] --role architect"; $| = 1; print "ready\n"; `+
			`sleep 600`, binary, session)
		cmd.Dir, cmd.Env = o.dir, o.environ()
		out := new(buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		eventually(t, "the session is open", func() bool { return strings.Contains(out.String(), "ready") })
		return cmd
	}
	first, _ := open("sess-aaaa1111"), open("sess-bbbb2222")
	send := func() mail.Sent {
		return ask[mail.Sent](t, o, "send", "--to", "role:architect", "--body", "One schema?")
	}
	for range 4 {
		send()
	}
	if got := o.agentState(t, "sess-aaaa1111"); got != mail.Idle {
		t.Fatalf("while its client runs the session is %s", got)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	for range 4 {
		for _, d := range send().Recipients {
			if d.Agent == "sess-aaaa1111" {
				t.Errorf("role mail went to a session whose client was killed")
			}
		}
	}
	if got := ask[mail.Page](t, o, "inbox", "--agent", "sess-bbbb2222"); len(got.Messages) != 8 {
		t.Errorf("the session that lives has %d letters, want 8", len(got.Messages))
	}
	if got := o.agentState(t, "sess-aaaa1111"); got != mail.Gone {
		t.Errorf("when its client was killed the session is %s", got)
	}
	if got := o.must(t, "haak", "roster", "show", "--session-id", "sess-aaaa1111"); !strings.Contains(got, "dead") {
		t.Errorf("the roster says %s", got)
	}
	open("sess-aaaa1111")
	if got := o.agentState(t, "sess-aaaa1111"); got != mail.Idle {
		t.Errorf("opened again it is %s", got)
	}
}

// TestNameInContainer holds that an agent in a container keeps its name while it lives, although its client's
// process id means nothing outside.
func TestNameInContainer(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-pf", "--kill-child", "--mount-proc", "true").Run(); err != nil {
		t.Skip("no process namespaces here: ", err)
	}
	o := newOffice(t)
	o.mustServe(t)
	a := &agent{cmd: o.inClient().command(context.Background()), stderr: new(buffer)}
	a.cmd.Path, _ = exec.LookPath("unshare")
	a.cmd.Args = []string{"unshare", "-pf", "--kill-child", "--mount-proc", "perl", "-e", "system @ARGV", "perl", "-e",
		"system @ARGV", binary, "mcp", "--as", "ann"}
	a.cmd.Stderr = a.stderr
	if err := a.connect(eraSessions, &mcp.CommandTransport{Command: a.cmd}); err != nil {
		t.Fatalf("%v\n%s", err, a.stderr)
	}
	other := o.inClient().mustAgent(t, eraSessions, "--as", "ann")
	if got := must[struct{ You mail.Name }](t, other, "list_agents", nil).You; got != "ann-2" {
		t.Errorf("beside an agent in a container another is %s", got)
	}
	other.session.Close()
	a.kill()
	eventually(t, "the agent in the container is gone", func() bool { return o.agentState(t, "ann") == mail.Gone })
	third := o.inClient().mustAgent(t, eraSessions, "--as", "ann")
	if got := must[struct{ You mail.Name }](t, third, "list_agents", nil).You; got != "ann" {
		t.Errorf("after an agent in a container was killed, the next is %s", got)
	}
}
