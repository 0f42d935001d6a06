package systemtest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	pennypostd "pennypost/internal/office/daemon"
	"pennypost/internal/office/dialect"
)

// offered is the offer of an MCP server: tools and prompts by name, as JSON.
type offered map[string]any

// offers returns the offer that a client sees.
func (a *agent) offers(t *testing.T) offered {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got := make(offered)
	for tool, err := range a.session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got["tool "+tool.Name] = []any{tool.Title, tool.Description, plain(t, tool.InputSchema), tool.OutputSchema}
	}
	if a.session.InitializeResult().Capabilities.Prompts == nil {
		return got
	}
	for prompt, err := range a.session.Prompts(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got["prompt "+prompt.Name] = []any{prompt.Description, len(prompt.Arguments)}
	}
	return got
}

// promised returns the offer that a dialect declares for an endpoint.
func promised(t *testing.T, e dialect.Endpoint) offered {
	t.Helper()
	want := make(offered)
	for _, tool := range e.Tools {
		want["tool "+tool.Name] = []any{tool.Title, tool.Description, decode[any](t, tool.Input), any(nil)}
	}
	for _, p := range e.Prompts {
		want["prompt "+p.Name] = []any{p.Description, len(p.Arguments)}
	}
	return want
}

// plain returns v as it is in JSON.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return decode[any](t, text)
}

// desks is a post office with two workspaces: their agents may use the endpoints of every dialect.
type desks struct {
	*office
	daemon      *daemon
	desk, other string // tokens
}

func newDesks(t *testing.T) *desks {
	t.Helper()
	o := newOffice(t)
	d := &desks{office: o, daemon: o.mustServe(t, loopback)}
	token := func(id string) string {
		return ask[struct{ Token string }](t, o, "workspace", "add", id, o.dir).Token
	}
	d.desk, d.other = token("desk"), token("other")
	return d
}

func (d *desks) connect(t *testing.T, era, path, token string) *agent {
	t.Helper()
	a, err := agentHTTP(era, d.daemon.HTTP+path, &http.Client{Transport: d.daemon.door(token)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.session.Close() })
	return a
}

// at returns the path of an endpoint for an agent.
func at(e dialect.Endpoint, agent string) string { return strings.ReplaceAll(e.Path, "{agent}", agent) }

// TestDialectEndpoints holds that each endpoint offers exactly its dialect's tools and prompts, over HTTP and, where
// available, over stdio; that /mcp has only the native ones; and that an endpoint lets in the agents that it is for.
func TestDialectEndpoints(t *testing.T) {
	t.Parallel()
	d := newDesks(t)
	for _, dia := range pennypostd.Dialects() {
		for i, e := range dia.Endpoints {
			t.Run(e.Path, func(t *testing.T) {
				want := promised(t, e)
				for _, era := range eras() {
					if diff := cmp.Diff(want, d.connect(t, era, at(e, "desk"), d.desk).offers(t)); diff != "" {
						t.Errorf("over HTTP %s (-want +got):\n%s", era, diff)
					}
				}
				d.refuses(t, e)
				if i > 0 {
					return
				}
				if diff := cmp.Diff(want, d.mustAgent(t, eraStateless, "--dialect", dia.Name, "--as",
					"desk").offers(t)); diff != "" {
					t.Errorf("over stdio (-want +got):\n%s", diff)
				}
			})
		}
	}
	t.Run("/mcp", func(t *testing.T) {
		want := []string{"list_agents", "mark_messages", "read_messages", "send_message", "set_presence",
			"wait_for_messages"}
		var got []string
		for name := range d.connect(t, eraSessions, "/mcp", d.desk).offers(t) {
			if tool, ok := strings.CutPrefix(name, "tool "); ok {
				got = append(got, tool)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	})
	if r := d.run("mcp", "--dialect", "nothing", "--as", "desk"); r.code != 3 ||
		!strings.Contains(r.stderr, "superportia") {
		t.Errorf("a dialect that nobody knows: %+v, want exit 3 and the dialects", r)
	}
}

// refuses tries to get in without a credential, with another's, and as an agent that does not exist.
func (d *desks) refuses(t *testing.T, e dialect.Endpoint) {
	t.Helper()
	another, unknown := 200, 200
	if strings.Contains(e.Path, "{agent}") {
		another, unknown = 403, 403
		if e.Known != nil {
			unknown = 404
		}
	}
	for _, c := range []struct {
		name, agent, token string
		want               int
	}{
		{"nobody", "desk", "", 401},
		{"a made-up token", "desk", "pp.ZGVmYXVsdA.AAAAAAAAAAAAAAAAAAAAAAAAAA", 401},
		{"another agent", "desk", d.other, another},
		{"an agent at an address of nobody", "nobody", d.other, unknown},
		{"the agent", "desk", d.desk, 200},
	} {
		for body, fields := range map[string][]string{initialize: nil, listTools: {"Mcp-Protocol-Version: 2026-07-28",
			"Mcp-Method: tools/list"}} {
			a, err := d.daemon.door(c.token).do(http.MethodPost, at(e, c.agent), body,
				append(fields, "Accept: application/json, text/event-stream")...)
			if err != nil || a.status != c.want {
				t.Errorf("%s at %s: %d %s, %v; want %d", c.name, at(e, c.agent), a.status, a.body, err, c.want)
			}
			if a.status == 401 && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", c.name)
			}
		}
	}
}
