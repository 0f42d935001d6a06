package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence"
	"pennypost/internal/office/dialect"
)

// NewDialect returns the MCP server of an agent that speaks another protocol: the tools and prompts of one of its
// endpoints and no others.
func NewDialect(box Mailbox, name string, e dialect.Endpoint) *Server {
	if box.Log == nil {
		box.Log = slog.New(slog.DiscardHandler)
	}
	s := newServer(&mcp.Implementation{Name: name, Title: "Pennypost: " + name, Version: box.Version},
		&mcp.ServerOptions{
			Instructions: e.Instructions,
			Logger:       box.Log,
			Capabilities: &mcp.ServerCapabilities{},
		})
	s.AddReceivingMiddleware(box.harmlessErrors)
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
	return &dialect.Call{Service: d.box.Service, Caller: d.box.Agent, Room: d.box.Room, Args: args, Now: time.Now(),
		Log: d.box.Log}
}

func (d dialectServer) addTool(s *Server, t dialect.Tool) {
	s.addQuick(&mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: json.RawMessage(t.Input),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent,
			DestructiveHint: &t.Destructive, OpenWorldHint: new(false)},
	}, func(ctx context.Context, c *toolCall) toolAnswer {
		var text string
		var out any
		box, err := d.box.of(ctx, c.Meta)
		if err == nil {
			out, err = t.Run(ctx, dialectServer{box}.call(c.Arguments))
		}
		if err == nil {
			text, err = fence.JSON(out)
		}
		return d.box.answer(t.Name, text, err)
	})
}

func (d dialectServer) addPrompt(s *Server, p dialect.Prompt) {
	prompt := &mcp.Prompt{Name: p.Name, Description: p.Description}
	for _, a := range p.Arguments {
		prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description,
			Required: a.Required})
	}
	s.AddPrompt(prompt, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := p.Run(ctx, d.call(nil), req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{Description: p.Description,
			Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}
