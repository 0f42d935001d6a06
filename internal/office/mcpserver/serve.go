package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/office/dialect"
)

// serving returns a server of a mailbox with the tools and prompts of an endpoint. opts has its other features.
func serving(box Mailbox, is *mcp.Implementation, e dialect.Endpoint, opts *mcp.ServerOptions) *Server {
	opts.Instructions, opts.Logger = box.introduce(e.Instructions), box.Log
	if opts.Capabilities == nil {
		opts.Capabilities = &mcp.ServerCapabilities{}
	}
	box.Channel.offer(opts)
	s := newServer(is, opts)
	s.forward = box.Forward
	s.AddReceivingMiddleware(box.harmlessErrors)
	s.Beside(box, e)
	for _, p := range e.Prompts {
		box.addPrompt(s, p)
	}
	return s
}

// NewDialect returns the MCP server of an agent that speaks another protocol: the tools and prompts of one endpoint
// and no others.
func NewDialect(box Mailbox, name string, e dialect.Endpoint) *Server {
	return serving(box.logged(), &mcp.Implementation{Name: name, Title: "Pennypost: " + name, Version: box.Version}, e,
		&mcp.ServerOptions{})
}

// Beside adds the tools of an endpoint to a server, for the agent of a mailbox.
func (s *Server) Beside(box Mailbox, e dialect.Endpoint) {
	for _, t := range e.Tools {
		hints := &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent,
			OpenWorldHint: new(false)}
		if !t.ReadOnly {
			hints.DestructiveHint = &t.Destructive
		}
		s.add(&mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, Meta: meta(t),
			InputSchema: json.RawMessage(t.Input), Annotations: hints}, box.serve(t))
	}
}

// meta asks Claude Code, which puts an answer of more than 25,000 tokens into a file, to accept a whole letter.
func meta(t dialect.Tool) mcp.Meta {
	if !t.Letters {
		return nil
	}
	return mcp.Meta{"anthropic/maxResultSizeChars": 500_000} // the most that it grants
}

// serve returns a tool in runnable form for a mailbox.
func (box Mailbox) serve(t dialect.Tool) served { return served{box.running(t), t.Waits} }

// call returns the context of one use of a tool or prompt of the mailbox.
func (box Mailbox) call(c *toolCall) *dialect.Call {
	return &dialect.Call{Service: box.Service, Caller: box.Agent, Also: box.Also, Room: box.Room, Tool: c.Name,
		Args: c.Arguments, Key: c.key, Waiting: c.reportProgress, Now: time.Now(), Log: box.Log}
}

// marking is how long a tool's Given may take.
const marking = 10 * time.Second

// running returns the function that runs a tool.
func (box Mailbox) running(t dialect.Tool) toolFunc {
	giving := make(chan struct{}, 1) // a lock from the run of a tool with Given to the end of Given
	return func(ctx context.Context, c *toolCall) toolAnswer {
		at, err := box.of(ctx, c.Meta)
		if err != nil {
			return box.answer(t, nil, err)
		}
		call := at.call(c)
		if t.Given == nil {
			out, err := t.Run(ctx, call)
			return at.answer(t, out, err)
		}
		select {
		case giving <- struct{}{}:
		case <-ctx.Done():
			return box.answer(t, nil, ctx.Err())
		}
		out, err := t.Run(ctx, call)
		a := at.answer(t, out, err)
		a.done = func(given bool) {
			defer func() { <-giving }()
			if !given || a.failed {
				return
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), marking)
			defer cancel()
			if err := t.Given(ctx, call, out); err != nil {
				at.Log.Warn("not marked as read", "tool", t.Name, "agent", at.Agent, "err", err)
			}
		}
		return a
	}
}

// addPrompt adds a prompt for the mailbox to a server.
func (box Mailbox) addPrompt(s *Server, p dialect.Prompt) {
	prompt := &mcp.Prompt{Name: p.Name, Description: p.Description}
	for _, a := range p.Arguments {
		prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description,
			Required: a.Required})
	}
	s.AddPrompt(prompt, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		at, err := box.of(ctx, req.Params.Meta)
		if err != nil {
			return nil, err
		}
		text, err := p.Run(ctx, at.call(&toolCall{}), req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{Description: p.Description,
			Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}
