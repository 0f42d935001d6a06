package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// mcpHome returns an environment with its own data directory, whose post office ends with the test.
func mcpHome(t *testing.T) []string {
	t.Helper()
	home, err := os.MkdirTemp("", "pp")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PENNYPOST_HOME=" + home + "/h",
		"PENNYPOST_LISTEN=none", "PENNYPOST_ROOM=test", "GORACE=" + raceOptions}
	t.Cleanup(func() {
		pennypost(t, env, "stop")
		os.RemoveAll(home)
	})
	return env
}

func pennypost(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return run(t, exec.Command("pennypost", args...), env)
}

func run(t *testing.T, cmd *exec.Cmd, env []string) string {
	t.Helper()
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// connect starts pennypost mcp as agents' clients do, one for each server.
func connect(t *testing.T, env []string, args ...string) *mcp.ClientSession {
	t.Helper()
	return connectBy(t, "pennypost", env, args...)
}

func connectBy(t *testing.T, program string, env []string, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd := exec.Command(program, append([]string{"mcp"}, args...)...)
	cmd.Env = env
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call calls a tool that answers in JSON.
func call(t *testing.T, s *mcp.ClientSession, tool string, args any) map[string]any {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &out); err != nil || res.IsError {
		t.Fatalf("%s: %v, %v", tool, res.Content, err)
	}
	return out
}

// The mail of a name belongs to its next session; while one lives, a second gets another name, unless it takes over.
func TestMCPNames(t *testing.T) {
	env := mcpHome(t)
	first := connect(t, env, "--as", "bob")
	if you := call(t, first, "list_agents", nil)["you"]; you != "bob" {
		t.Errorf("the first session is %v, want bob", you)
	}
	second := connect(t, env, "--as", "bob")
	if you := call(t, second, "list_agents", nil)["you"]; you != "bob-2" {
		t.Errorf("the second session is %v, want bob-2", you)
	}
	call(t, second, "send_message", map[string]any{"to": "bob", "body": "from the second"})
	third := connect(t, env, "--as", "bob", "--take-over")
	if you := call(t, third, "list_agents", nil)["you"]; you != "bob" {
		t.Errorf("the third session is %v, want bob", you)
	}
	read, err := third.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_messages"})
	if err != nil || !strings.Contains(read.Content[0].(*mcp.TextContent).Text, "from the second") {
		t.Errorf("bob's mail is %v, %v, want the message from bob-2", read, err)
	}
	for _, s := range []*mcp.ClientSession{first, second, third} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if out := pennypost(t, env, "agents"); strings.Count(out, " gone ") != 2 {
		t.Errorf("after all sessions ended:\n%s", out)
	}
	again := connect(t, env, "--as", "bob")
	if you := call(t, again, "list_agents", nil)["you"]; you != "bob" {
		t.Errorf("the next session is %v, want bob", you)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// Without a name the agent is named after its client and directory, and gets the same name again.
func TestMCPDefaultName(t *testing.T) {
	env := append(mcpHome(t), "CODEX_THREAD_ID=x")
	for range 2 {
		s := connect(t, env)
		if you := callAs(t, s, "one", "list_agents")["you"]; you != "codex-command" {
			t.Errorf("the agent is %v, want codex-command", you)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// callAs calls a tool for a session of Codex, whose calls have more members than these two (0.169.0).
func callAs(t *testing.T, s *mcp.ClientSession, session, tool string) map[string]any {
	t.Helper()
	p := &mcp.CallToolParams{Name: tool}
	p.SetMeta(map[string]any{"threadId": session, "sessionId": session})
	res, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &out); err != nil || res.IsError {
		t.Fatalf("%s: %v, %v", tool, res.Content, err)
	}
	return out
}

// The sessions of Codex share a program, and each is its own agent, as named in its calls. A call that names none is
// refused, and registers no agent.
func TestMCPThreads(t *testing.T) {
	env := append(mcpHome(t), "CODEX_THREAD_ID=x")
	below := programs["pennypost"][0] // because the test acts as Codex
	s := connectBy(t, below, env)
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_agents"})
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "did not say") {
		t.Errorf("a call of nobody: %v, %v, want a refusal", res, err)
	}
	for _, one := range []struct{ session, agent string }{{"one", "codex-command"}, {"two", "codex-command-2"},
		{"one", "codex-command"}} {
		if you := callAs(t, s, one.session, "list_agents")["you"]; you != one.agent {
			t.Errorf("session %s is %v, want %s", one.session, you, one.agent)
		}
	}
	sub := connectBy(t, below, env) // of a subagent of the first
	p := &mcp.CallToolParams{Name: "send_message", Arguments: map[string]any{"to": "user", "body": "from below"}}
	p.SetMeta(map[string]any{"threadId": "sub", "sessionId": "one"})
	if res, err := sub.CallTool(t.Context(), p); err != nil || res.IsError {
		t.Errorf("a subagent's call: %v, %v", res, err)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
	if out := run(t, exec.Command(below, "agents", "--as", "codex-command"), env); strings.Contains(out, " gone ") ||
		strings.Count(out, "codex-") != 2 {
		t.Errorf("after the subagent's end:\n%s", out)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if out := run(t, exec.Command(below, "agents", "--as", "codex-command"), env); strings.Count(out, " gone ") != 1 {
		t.Errorf("after the end of all:\n%s", out)
	}
}

// Codex waits a second for its servers before it asks the model without their tools, and a post office may take longer
// to start. So the server lists its tools before it hears from one.
func TestMCPBeforeOffice(t *testing.T) {
	env := append(mcpHome(t), "CODEX_THREAD_ID=x")
	socket := strings.TrimPrefix(env[2], "PENNYPOST_HOME=") + "/pennypost.sock"
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pennypost", "mcp")
	cmd.Env = env
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx,
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) < 6 || !strings.Contains(s.InitializeResult().Instructions, "your mailbox") {
		t.Errorf("before the post office says anything: %+v, %v", tools, err)
	}
	asking, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = asking.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := io.Copy(io.Discard, asking); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what was asked of the post office is not asked any more: %v", err)
	}
	silent.Close() // this removes the socket too: the pending request gets no answer, and a post office can be started
	asking.Close()
	if you := callAs(t, s, "one", "list_agents")["you"]; you != "codex-command" {
		t.Errorf("the agent is %v, want codex-command", you)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// roster is a service with names and sessions only.
type roster struct {
	mail.Service
	answer mail.Agent
	agents []mail.Agent
	beats  int
}

func (r *roster) Register(context.Context, mail.Presence) (mail.Agent, error) {
	r.beats++
	return r.answer, nil
}

func (r *roster) Agents(_ context.Context, q mail.RosterQuery) (mail.AgentList, error) {
	return mail.AgentList{Agents: slices.DeleteFunc(slices.Clone(r.agents), func(a mail.Agent) bool {
		return a.Name != q.Name
	})}, nil
}

func TestBeat(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer mail.Name
		roster []mail.Name
		want   mail.Code
		after  mail.Name
		beats  int // within 100 s
	}{
		{"alive", "bob", []mail.Name{"bob"}, "", "bob", 3},
		{"renamed", "rob", []mail.Name{"rob"}, "", "rob", 3},
		{"taken over", "bob-2", []mail.Name{"bob", "bob-2"}, mail.Conflict, "bob-2", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &roster{answer: mail.Agent{Name: tt.answer, Session: "s"}}
				for _, n := range tt.roster {
					r.agents = append(r.agents, mail.Agent{Name: n})
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				s := &session{name: "bob", id: "s"}
				if got := mail.CodeOf(s.beat(ctx, r)); got != tt.want || s.name != tt.after || r.beats != tt.beats {
					t.Errorf("beat = %q, name %s after %d beats; want %q, %s after %d", got, s.name, r.beats, tt.want,
						tt.after, tt.beats)
				}
			})
		})
	}
}

// A server that is a channel tells an idle session that it has mail, and continues when the session's name changes.
func TestMCPChannel(t *testing.T) {
	env := mcpHome(t)
	cmd := exec.Command("pennypost", "mcp", "--as", "bob", "--channel")
	cmd.Env = env
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
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewScanner(out)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("%q is not written: %v", want, lines.Err())
	}
	fmt.Fprintln(in,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	until(`"experimental":{"claude/channel":{}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var sent struct{ ID string }
	answer := pennypost(t, env, "send", "--to", "bob", "--type", "question", "--body", "how far?", "--json")
	if err := json.Unmarshal([]byte(answer), &sent); err != nil {
		t.Fatal(err, answer)
	}
	until(
		`"method":"notifications/claude/channel","params":{"content":"[Pennypost] Notice from the post office, not from your user: 1 unread`)
	// a model takes longer to read than the server to record that it has rung
	for begun := time.Now(); !strings.Contains(pennypost(t, env, "read", sent.ID, "--json"), `"notified"`); {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("it is not recorded that the channel has rung")
		}
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_messages","arguments":{}}}`)
	until("how far?")
	if got := pennypost(t, env, "agents", "--json"); !strings.Contains(got, `"door":"channel"`) {
		t.Errorf("the roster does not say that the channel has worked:\n%s", got)
	}
	fmt.Fprintln(in,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"set_presence","arguments":{"name":"rob"}}}`)
	until(`\"rob\"`)
	pennypost(t, env, "send", "--to", "rob", "--type", "question", "--body", "and now?")
	until("notifications/claude/channel")
	if text, err := exec.Command("pennypost", "mcp", "--channel", "--dialect", "haak").CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "--dialect") {
		t.Errorf("a dialect's server became a channel: %v %s", err, text)
	}
}
