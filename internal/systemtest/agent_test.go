package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence/fencetest"
)

// The two kinds of protocol: with sessions, and without.
const (
	eraSessions  = "2025-11-25"
	eraStateless = "2026-07-28"
)

// eras are the protocol revisions in which every MCP test runs.
func eras() []string { return []string{eraSessions, eraStateless} }

// agent is an agent's MCP client: the official SDK's.
type agent struct {
	session  *mcp.ClientSession
	cmd      *exec.Cmd // nil over HTTP
	stderr   *buffer
	updated  chan string // URIs of resources that were reported as changed
	progress chan string // messages of progress notifications
}

// agent starts "pennypost mcp" and connects to it. The program must report the revision era.
func (o *office) agent(era string, args ...string) (*agent, error) {
	a := &agent{cmd: o.command(context.Background(), append([]string{"mcp"}, args...)...), stderr: new(buffer)}
	a.cmd.Stderr = a.stderr
	if err := a.connect(era, &mcp.CommandTransport{Command: a.cmd}); err != nil {
		return nil, fmt.Errorf("pennypost mcp %q: %w\n%s", args, err, a.stderr)
	}
	return a, nil
}

// agentHTTP connects to a post office's /mcp.
func agentHTTP(era, url string, client *http.Client) (*agent, error) {
	a := &agent{stderr: new(buffer)}
	err := a.connect(era, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, MaxRetries: -1})
	return a, err
}

func (a *agent) connect(era string, transport mcp.Transport) (err error) {
	a.updated, a.progress = make(chan string, 100), make(chan string, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "systemtest", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			offer(a.updated, r.Params.URI)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			offer(a.progress, r.Params.Message)
		},
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if a.session, err = client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era}); err != nil {
		return err
	}
	if got := a.session.InitializeResult().ProtocolVersion; got != era {
		a.session.Close()
		return fmt.Errorf("asked for revision %s, got %s", era, got)
	}
	return nil
}

// offer sends s unless the channel is full.
func offer(c chan string, s string) {
	select {
	case c <- s:
	default:
	}
}

// mustAgent is agent for a test; it ends the agent with the test.
func (o *office) mustAgent(t testing.TB, era string, args ...string) *agent {
	t.Helper()
	a, err := o.agent(era, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.session.Close() })
	return a
}

// toolError is the text of a failed tool call.
type toolError struct{ text string }

func (e *toolError) Error() string { return e.text }

// call calls a tool and returns its text. If the tool reports failure, the error is a *toolError.
func (a *agent) call(ctx context.Context, tool string, args any) (string, error) {
	return a.callParams(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
}

func (a *agent) callParams(ctx context.Context, p *mcp.CallToolParams) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	res, err := a.session.CallTool(ctx, p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Name, err)
	}
	if len(res.Content) != 1 {
		return "", fmt.Errorf("%s: %d parts of content", p.Name, len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("%s: content is a %T", p.Name, res.Content[0])
	}
	if res.IsError {
		return "", &toolError{text.Text}
	}
	if res.StructuredContent != nil { // clients would give it to the model in place of the text
		return "", fmt.Errorf("%s: structured content %v", p.Name, res.StructuredContent)
	}
	return text.Text, nil
}

// must calls a tool that must succeed and decodes its answer, which is JSON.
func must[T any](t testing.TB, a *agent, tool string, args any) T {
	t.Helper()
	text, err := a.call(context.Background(), tool, args)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", tool, args, err, a.stderr)
	}
	return decode[T](t, text)
}

// read calls a tool that shows mail, and returns the mail and the text after it.
func (a *agent) read(t testing.TB, tool string, args any) (letters []fencetest.Letter, end string) {
	t.Helper()
	text, err := a.call(context.Background(), tool, args)
	if err == nil {
		letters, end, err = fencetest.Parse(text)
	}
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", tool, args, err, a.stderr)
	}
	return letters, end
}

// kill kills the agent's server, as a crash does.
func (a *agent) kill() {
	_ = a.cmd.Process.Kill()
	a.session.Close() // this reaps it
}
