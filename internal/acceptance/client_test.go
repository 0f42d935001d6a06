package acceptance

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are the revisions of the protocol, one with sessions and one without. Clients alternate between them.
var eras = []string{"2025-11-25", "2026-07-28"}

var clients atomic.Int64

// args are the arguments of a tool.
type args = map[string]any

// client is an agent's MCP client: the official SDK's.
type client struct{ session *mcp.ClientSession }

// token makes an agent's token.
func (o *office) token(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(o.must(t, "agents", "token", name))
}

// overHTTP connects to an endpoint of the post office.
func (o *office) overHTTP(t *testing.T, path, token string) *client {
	t.Helper()
	h := &http.Client{Transport: bearer{token, new(http.Transport)}}
	return connect(t, &mcp.StreamableClientTransport{Endpoint: o.running.HTTP + path, HTTPClient: h, MaxRetries: -1})
}

// overStdio starts "pennypost mcp", as a client with these variables and arguments in its configuration would.
func (o *office) overStdio(t *testing.T, env []string, arguments ...string) *client {
	t.Helper()
	cmd := exec.Command(o.typed, append([]string{"mcp"}, arguments...)...)
	cmd.Dir, cmd.Env = o.dir, o.environ(env...)
	log := new(buffer)
	cmd.Stderr = log
	t.Cleanup(func() {
		if t.Failed() && log.String() != "" {
			t.Logf("pennypost mcp %q: %s", arguments, log)
		}
	})
	return connect(t, &mcp.CommandTransport{Command: cmd})
}

func connect(t *testing.T, transport mcp.Transport) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	era := eras[int(clients.Add(1))%len(eras)]
	session, err := mcp.NewClient(&mcp.Implementation{Name: "acceptance", Version: "1"}, nil).Connect(ctx, transport,
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &client{session}
}

// call calls a tool and returns its text, and whether the tool refused.
func (c *client) call(t *testing.T, tool string, arguments any) (text string, refused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	for _, part := range res.Content {
		if p, ok := part.(*mcp.TextContent); ok {
			text += p.Text
		}
	}
	return text, res.IsError
}

// must calls a tool that has to succeed.
func (c *client) must(t *testing.T, tool string, arguments any) string {
	t.Helper()
	text, refused := c.call(t, tool, arguments)
	if refused {
		t.Fatalf("%s %v is refused: %s", tool, arguments, text)
	}
	return text
}

// refused calls a tool that has to refuse, and returns the refusal.
func (c *client) refused(t *testing.T, tool string, arguments any) string {
	t.Helper()
	text, refused := c.call(t, tool, arguments)
	if !refused {
		t.Fatalf("%s %v has to be refused, and answers %s", tool, arguments, text)
	}
	return text
}

// tools returns the endpoint's tools by their names.
func (c *client) tools(t *testing.T) map[string]*mcp.Tool {
	t.Helper()
	all := make(map[string]*mcp.Tool)
	for tool, err := range c.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[tool.Name] = tool
	}
	return all
}

// properties returns the names of a tool's parameters, and the required ones.
func properties(t *testing.T, tool *mcp.Tool) (names, required []string) {
	t.Helper()
	schema, ok := tool.InputSchema.(map[string]any)
	if !ok {
		t.Fatalf("the schema of %s is a %T", tool.Name, tool.InputSchema)
	}
	for name := range schema["properties"].(map[string]any) {
		names = append(names, name)
	}
	if list, ok := schema["required"].([]any); ok {
		for _, name := range list {
			required = append(required, name.(string))
		}
	}
	return names, required
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// answer is a response to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// operator makes a request with the operator's token.
func (o *office) operator(t *testing.T, method, path, body string) answer {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(o.home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	return o.request(t, strings.TrimSpace(string(token)), method, path, body)
}

func (o *office) request(t *testing.T, token, method, path, body string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, o.running.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := bearer{token, http.DefaultTransport}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// page is a browser without script in which the person has logged in.
type page struct {
	base   string
	client http.Client
}

func (o *office) page(t *testing.T) *page {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(strings.TrimSpace(o.must(t, "open", "--print")))
	if err != nil {
		t.Fatal(err)
	}
	// Names below localhost are this machine, as in browsers.
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", link.Port()))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	p := &page{client: http.Client{Jar: jar, Transport: transport}}
	offer, err := p.client.Get(link.String())
	answered(t, offer, err)
	p.base = "http://" + offer.Request.URL.Host // the address that the link led to
	p.post(t, "/login", link.Query())
	return p
}

func answered(t *testing.T, r *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s (%v)\n%.300s", r.Request.URL, r.Status, err, text)
	}
	return string(text)
}

func (p *page) get(t *testing.T, path string) string {
	t.Helper()
	r, err := p.client.Get(p.base + path)
	return answered(t, r, err)
}

// post posts a form, as its page would, and follows the redirect.
func (p *page) post(t *testing.T, path string, form url.Values) string {
	t.Helper()
	r, err := p.client.PostForm(p.base+path, form)
	return answered(t, r, err)
}
