// Package acptest has an agent that speaks ACP, and misbehaves on request, for tests of packages that start one.
package acptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// marker is the first argument of a test program that acts as such an agent.
const marker = "acptest"

// Command returns the command of an agent that behaves as how says, and records its input in a file.
func Command(t *testing.T, how, file string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, marker, how, file}
}

// Main runs the agent if Command started the program. TestMain calls it first; in a test it returns.
func Main() {
	if len(os.Args) != 4 || os.Args[1] != marker {
		return
	}
	notes, err := os.OpenFile(os.Args[3], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(9)
	}
	a := &agent{how: os.Args[2], notes: notes, cancelled: make(chan struct{}), answered: make(chan json.RawMessage, 1)}
	os.Exit(a.serve())
}

// agent is a running agent. Its behaviour:
//
//	turn       reads its mail with its MCP server, and ends its turn
//	old        the same, but cannot load sessions
//	forgetful  the same, but does not find the sessions to load
//	join       has its MCP server join, and works until it is cancelled
//	ask        asks before it reads its mail
//	hang       works until it is cancelled
//	deaf       works, and ignores its input
//	attack     tries to act as another agent, by commands below it
//	crash      ends in the middle of its turn
//	others     silent, version, auth, refuse, broken, nameless, garbage, noise, long, replay
type agent struct {
	how   string
	notes io.Writer

	mu        sync.Mutex // held while writing
	cancelled chan struct{}
	answered  chan json.RawMessage // the answer to its question
	server    *mcp.ClientSession   // of the MCP server
	program   string               // the server's
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

func (a *agent) serve() int {
	dir, _ := os.Getwd()
	a.note("dir %s", dir)
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "PENNYPOST_") {
			a.note("%s", v)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return 8
		}
		a.note("%s %s%s", m.Method, m.Params, m.Result)
		switch {
		case m.Method == "":
			a.answered <- m.Result
		case m.Method == "session/cancel":
			close(a.cancelled)
		case m.Method == "session/prompt":
			go a.prompt(m.ID)
		case m.ID != nil:
			a.open(&m)
		}
	}
	if a.how == "deaf" {
		time.Sleep(time.Minute)
	}
	if a.server != nil {
		_ = a.server.Close()
	}
	a.note("input ended")
	return 0
}

func (a *agent) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.notes, format+"\n", args...)
}

func (a *agent) say(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

func (a *agent) reply(id json.RawMessage, result string) {
	a.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (a *agent) refuse(id json.RawMessage, code int, text string) {
	a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":` +
	`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"GNU, which is no mail"}}}}`

// open answers the requests before the prompt.
func (a *agent) open(m *message) {
	switch {
	case m.Method == "initialize" && a.how == "silent":
	case m.Method == "initialize" && a.how == "version":
		a.reply(m.ID, `{"protocolVersion":99,"agentCapabilities":{}}`)
	case m.Method == "initialize":
		if a.how == "noise" {
			a.say("Loaded cached credentials.\n{torn\n[]\n\"x\"\n")
		}
		a.reply(m.ID, fmt.Sprintf(`{"protocolVersion":1,"agentCapabilities":{"loadSession":%t},"authMethods":[]}`,
			a.how != "old"))
	case m.Method == "session/load" && a.how == "forgetful":
		a.refuse(m.ID, -32602, "no such session")
	case m.Method == "session/load":
		for range 20_000 {
			a.say(update)
		}
		a.join(m.Params)
		a.reply(m.ID, "null")
	case m.Method == "session/new" && a.how == "auth":
		a.refuse(m.ID, -32000, "Authentication required")
	case m.Method == "session/new" && a.how == "nameless":
		a.reply(m.ID, `{"sessionId":""}`)
	case m.Method == "session/new":
		a.join(m.Params)
		a.reply(m.ID, `{"sessionId":"s1"}`)
	default:
		a.refuse(m.ID, -32601, "Method not found")
	}
}

// join starts the MCP server of a session.
func (a *agent) join(params json.RawMessage) {
	var p struct {
		Servers []struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Env     []struct{ Name, Value string }
		} `json:"mcpServers"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.Servers) != 1 ||
		!slices.Contains([]string{"turn", "join", "ask", "old", "forgetful", "attack"}, a.how) {
		return
	}
	cmd := exec.Command(p.Servers[0].Command, p.Servers[0].Args...)
	cmd.Env = os.Environ()
	for _, v := range p.Servers[0].Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "acptest", Version: "1"}, nil)
	s, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		a.note("no server: %v", err)
		return
	}
	a.server, a.program = s, p.Servers[0].Command
}

// attack runs commands that it has no right to run, and records their results.
func (a *agent) attack() {
	for _, args := range [][]string{
		{"send", "--as", "lead", "--to", "user", "--type", "status", "--body", "FORGED of lead"},
		{"send", "--as", "user", "--to", "lead", "--type", "status", "--body", "FORGED of the user"},
		{"agents", "update", "ann", "--role", "orchestrator"}, {"dialogs"}, {"stop"},
		{"agents", "token", "lead"}, {"inbox", "--as", "lead"}, {"mcp", "--as", "lead"},
	} {
		cmd := exec.Command(a.program, args...)
		out, err := cmd.CombinedOutput()
		a.note("tried %q: %v", args, err)
		a.note("%s", out)
	}
}

// prompt runs the turn.
func (a *agent) prompt(id json.RawMessage) {
	a.say(update)
	switch a.how {
	case "crash":
		fmt.Fprintln(os.Stderr, "first line\nno such \x1b[31mmodel\xff")
		os.Exit(3)
	case "refuse":
		a.reply(id, `{"stopReason":"refusal"}`)
	case "broken":
		a.reply(id, `{"stopReason":"cancelled"}`)
	case "garbage":
		for range 2000 {
			a.say("this is no message")
		}
	case "long":
		a.say(`{"jsonrpc":"2.0","method":"x","params":"%s"}`, strings.Repeat("long", 2<<20))
	case "attack":
		a.attack()
		a.reply(id, `{"stopReason":"end_turn"}`)
	case "hang", "join":
		<-a.cancelled
		a.reply(id, `{"stopReason":"cancelled"}`)
	case "deaf":
		select {}
	case "ask":
		a.say(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":` +
			`{"toolCallId":"t1","title":"make deploy","kind":"execute","rawInput":{"command":"make deploy"}},` +
			`"options":[{"optionId":"for ever","name":"Always allow","kind":"allow_always"},` +
			`{"optionId":"now","name":"Allow","kind":"allow_once"},` +
			`{"optionId":"no","name":"No","kind":"reject_once"}]}}`)
		answer := <-a.answered
		a.note("answered %s", answer)
		fallthrough
	default:
		a.read()
		a.reply(id, `{"stopReason":"end_turn"}`)
	}
}

// read reads the mail.
func (a *agent) read() {
	if a.server == nil {
		return
	}
	got, err := a.server.CallTool(context.Background(), &mcp.CallToolParams{Name: "read_messages",
		Arguments: map[string]any{}})
	if err != nil {
		a.note("no mail: %v", err)
		return
	}
	text, _ := json.Marshal(got.Content)
	a.note("mail %s", text)
}
