package mcpserver

import (
	"context"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveConformance is the variable with the address at which the test binary serves the fixtures, for
// scripts/conformance.sh, instead of running tests.
const serveConformance = "PENNYPOST_SERVE_CONFORMANCE"

func TestMain(m *testing.M) {
	address := os.Getenv(serveConformance)
	if address == "" {
		os.Exit(m.Run())
	}
	s := conformanceServer()
	h, err := NewHTTPHandler(func(*http.Request) (*Server, error) { return s, nil }, HTTPOptions{})
	if err == nil {
		mux := http.NewServeMux()
		mux.Handle("/mcp", h)
		err = http.ListenAndServe(address, mux)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// scripts/conformance.sh runs the official suite. This part needs no Node: the fixtures answer over the real
// transport in both eras, and those that ask their client for input get it.
func TestConformanceServer(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			url, c := serveTCP(t, HTTPOptions{})
			client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann", "color": "red"}},
						nil
				},
			})
			cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: c},
				&mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			want := map[string]string{
				"test_simple_text":                       "This is a simple text response for testing.",
				"test_tool_with_progress":                "Made progress.",
				"test_input_required_result_elicitation": "Hello, Ann!",
			}
			if revision == "2026-07-28" { // the SDK asks an older client only once
				want["test_input_required_result_multi_round"] = "Ann likes red."
			}
			for tool, want := range want {
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
				if err != nil {
					t.Errorf("%s: %v", tool, err)
				} else if got := res.Content[0].(*mcp.TextContent).Text; got != want {
					t.Errorf("%s = %q, want %q", tool, got, want)
				}
			}
			read, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://template/123/data"})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := read.Contents[0].Text,
				`{"data":"Data for ID: 123","id":"123","templateTest":true}`; got != want {
				t.Errorf("template = %s, want %s", got, want)
			}
		})
	}
}

func TestRedPixel(t *testing.T) {
	img, err := png.Decode(strings.NewReader(redPixel))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := img.At(0, 0).RGBA(); r != 0xffff || g != 0 || b != 0 {
		t.Errorf("pixel is %x %x %x, want red", r, g, b)
	}
}
