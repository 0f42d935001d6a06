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
			Instructions: box.introduce(e.Instructions),
			Logger:       box.Log,
			Capabilities: &mcp.ServerCapabilities{},
		})
	s.AddReceivingMiddleware(box.harmlessErrors)
	s.Beside(box, e)
	for _, p := range e.Prompts {
		dialectServer{box}.addPrompt(s, p)
	}
	return s
}

// Beside adds the tools of another protocol's endpoint to a server that has others, for the agent of a mailbox.
func (s *Server) Beside(box Mailbox, e dialect.Endpoint) {
	for _, t := range e.Tools {
		dialectServer{box}.addTool(s, t)
	}
}

type dialectServer struct{ box Mailbox }

func (d dialectServer) call(args []byte) *dialect.Call {
	return &dialect.Call{Service: d.box.Service, Caller: d.box.Agent, Also: d.box.Also, Room: d.box.Room, Args: args,
		Now: time.Now(),
		Log: d.box.Log}
}

func (d dialectServer) addTool(s *Server, t dialect.Tool) {
	s.add(&mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: json.RawMessage(t.Input),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent,
			DestructiveHint: &t.Destructive, OpenWorldHint: new(false)},
	}, served{run: d.running(t)})
}

// marking is how long a tool may take for what it does when its answer was given.
const marking = 10 * time.Second

// running returns what runs a tool.
func (d dialectServer) running(t dialect.Tool) toolFunc {
	giving := make(chan struct{}, 1) // has something in it from the run of a tool with Given to its end
	return func(ctx context.Context, c *toolCall) toolAnswer {
		box, err := d.box.of(ctx, c.Meta)
		if err != nil {
			return d.box.answer(t.Name, "", err)
		}
		call := dialectServer{box}.call(c.Arguments)
		if t.Given == nil {
			a, _ := d.run(ctx, t, call)
			return a
		}
		select {
		case giving <- struct{}{}:
		case <-ctx.Done():
			return d.box.answer(t.Name, "", ctx.Err())
		}
		a, out := d.run(ctx, t, call)
		a.done = func(given bool) {
			defer func() { <-giving }()
			if !given || a.failed {
				return
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), marking)
			defer cancel()
			if err := t.Given(ctx, call, out); err != nil {
				box.Log.Warn("not marked as read", "tool", t.Name, "agent", box.Agent, "err", err)
			}
		}
		return a
	}
}

// run runs a tool once, and returns its answer, and what that was made of.
func (d dialectServer) run(ctx context.Context, t dialect.Tool, c *dialect.Call) (toolAnswer, any) {
	var text string
	out, err := t.Run(ctx, c)
	if err == nil {
		text, err = fence.JSON(out)
	}
	return d.box.answer(t.Name, text, err), out
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
