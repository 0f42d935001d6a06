package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var updateTools = flag.Bool("update-tools", false, "write the tools into package install")

// TestToolsOfExtensions: the tools that client extensions offer are those that a session is then served.
func TestToolsOfExtensions(t *testing.T) {
	const path = "../../front/install/extension/tools.json"
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	var all []definition
	for _, tool := range tools() {
		all = append(all, definition{tool.Name, tool.Description, json.RawMessage(tool.Input)})
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	if *updateTools {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what is served (%v): go test ./internal/office/mcpserver -run %s -update-tools", path, err,
			t.Name())
	}
}
