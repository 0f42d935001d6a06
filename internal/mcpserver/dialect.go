package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/dialect"
	"pennypost/internal/fence"
	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
)

// NewDialect returns the MCP server of an agent that speaks another protocol: the tools and prompts of one of its endpoints and no
// others.
func NewDialect(box Mailbox, name string, e dialect.Endpoint) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Title: "Pennypost: " + name, Version: box.Version}, &mcp.ServerOptions{
		Instructions: e.Instructions,
		Logger:       box.Log,
		Capabilities: &mcp.ServerCapabilities{},
	})
	d := dialectServer{box}
	for _, t := range e.Tools {
		d.addTool(s, t)
	}
	for _, p := range e.Prompts {
		d.addPrompt(s, p)
	}
	return s
}

type dialectServer struct{ box Mailbox }

func (d dialectServer) call(args []byte) *dialect.Call {
	return &dialect.Call{Service: d.box.Service, Caller: d.box.Agent, Room: d.box.Room, Args: args, Now: time.Now(), Log: d.box.Log}
}

func (d dialectServer) addTool(s *mcp.Server, t dialect.Tool) {
	tool := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: json.RawMessage(t.Input),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent, DestructiveHint: &t.Destructive, OpenWorldHint: new(false)},
	}
	if t.Output != "" {
		tool.OutputSchema = json.RawMessage(t.Output)
	}
	s.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := t.Run(ctx, d.call(req.Params.Arguments))
		res := toolResult(d.box, t.Name, out, err)
		if t.Output == "" {
			res.StructuredContent = nil
		}
		return res, nil
	})
}

func (d dialectServer) addPrompt(s *mcp.Server, p dialect.Prompt) {
	prompt := &mcp.Prompt{Name: p.Name, Description: p.Description}
	for _, a := range p.Arguments {
		prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	s.AddPrompt(prompt, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := p.Run(ctx, d.call(nil), req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}

// toolResult turns what a tool returned into what the client gets: JSON as structured content, which is exact, and as text, which a model
// reads and in which tags of mail are made harmless. An error is told to the model, which can mend its call; only the public
// message is.
func toolResult(box Mailbox, name string, out any, err error) *mcp.CallToolResult {
	if err == nil {
		var text []byte
		if text, err = jsonx.Marshal(out); err == nil {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fence.Text(string(text))}}, StructuredContent: json.RawMessage(text)}
		}
	}
	msg := err.Error()
	if mail.CodeOf(err) == mail.Internal {
		box.Log.Error("tool failed", "tool", name, "agent", box.Agent, "err", err)
		msg = "the post office failed; nothing is known of the outcome. Look into your mailbox before you try again"
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: msg}}}
}
