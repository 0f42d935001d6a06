package realclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// formsVar makes this program an MCP server whose one tool, ask, makes the client show a form.
const formsVar = "PENNYPOST_TEST_FORMS"

// serveForms is that server, on standard input and output (modelcontextprotocol.io, 2025-06-18).
func serveForms() int {
	var calls []json.RawMessage // ids of calls that wait for the form
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch {
		case m.Method == "initialize":
			reply(m.ID, map[string]any{"protocolVersion": m.Params.Version, "capabilities": map[string]any{
				"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "forms", "version": "1"}})
		case m.Method == "tools/list":
			reply(m.ID, map[string]any{"tools": []any{map[string]any{"name": "ask", "description": "asks the person",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{}}}}})
		case m.Method == "tools/call":
			calls = append(calls, m.ID)
			city := map[string]any{"city": map[string]any{"type": "string"}}
			form := map[string]any{"type": "object", "properties": city}
			say(map[string]any{"jsonrpc": "2.0", "id": "form", "method": "elicitation/create",
				"params": map[string]any{"message": "Where to?", "requestedSchema": form}})
		case len(m.Result) > 0 && len(calls) > 0:
			reply(calls[0], map[string]any{"content": []any{map[string]any{"type": "text", "text": string(m.Result)}}})
			calls = calls[1:]
		case len(m.ID) > 0 && m.Method != "":
			reply(m.ID, map[string]any{})
		}
	}
	return 0
}

func reply(id json.RawMessage, result any) {
	say(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func say(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		fmt.Println(string(line))
	}
}

// withMember is a JSON file of the home with an additional member.
func withMember(l *lab, file, name string, value any) map[string]any {
	members := map[string]any{}
	text, err := os.ReadFile(filepath.Join(l.home, file))
	l.must(err)
	l.must(json.Unmarshal(text, &members))
	members[name] = value
	return members
}
