package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// said returns a result of text alone. No tool returns structured content: clients that get both hand the
// structured content to the model (Claude Code 2.1.330 and Codex 0.169.0 do), and that mail would have no fence.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// A toolAnswer is a tool's answer to a client. An error goes to the model, which can correct its call.
type toolAnswer struct {
	text   string
	failed bool
	done   func(given bool) // called by settle; may be nil
}

// settle must be called once for each answer, when the client was given it or could not be.
func (a toolAnswer) settle(given bool) {
	if a.done != nil {
		a.done(given)
	}
}

// result is the answer for the SDK.
func (a toolAnswer) result() *mcp.CallToolResult {
	res := said(a.text)
	res.IsError = a.failed
	return res
}

// answer turns a tool's return values into the answer for its client.
func (box Mailbox) answer(t dialect.Tool, out any, err error) toolAnswer {
	most := fence.Budget
	if t.Letters {
		most = fence.MaxLetter
	}
	prose, isProse := out.(dialect.Prose)
	text := string(prose)
	if err == nil && !isProse {
		text, err = fence.JSON(out)
	}
	// every tool limits its own answer; this is the last guard
	if n := fence.Sent(text); err == nil && n > most {
		box.Log.Error("answer too large", "tool", t.Name, "agent", box.Agent, "bytes", n)
		err = mail.Errorf(mail.TooLarge,
			"%s was carried out, but its answer is %d bytes long and cannot be shown; ask for less", t.Name, n)
	}
	if err == nil {
		return toolAnswer{text: text}
	}
	return toolAnswer{text: box.public(t.Name, err), failed: true}
}

// public returns the error text for a model: the public message, neutralised, because it may carry names that other
// agents chose.
func (box Mailbox) public(what string, err error) string {
	if mail.CodeOf(err) == mail.Internal {
		box.Log.Error("mcp request failed", "what", what, "agent", box.Agent, "err", err)
		return "internal error; the outcome is unknown. Check your mailbox before you try again"
	}
	return wording.Clip(fence.Text(err.Error()), fence.MaxError)
}

// harmlessErrors is middleware that neutralises the protocol's errors, as answer does those of tools.
func (box Mailbox) harmlessErrors(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err == nil || ctx.Err() != nil {
			return res, err
		}
		out := &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
		switch known, sdk := errors.AsType[*jsonrpc.Error](err); {
		case sdk:
			out.Code, out.Message = known.Code, wording.Clip(fence.Text(err.Error()), fence.MaxError)
			if data, err := fence.JSON(known.Data); err == nil && len(known.Data) > 0 && len(data) <= fence.MaxError {
				out.Data = json.RawMessage(data)
			}
		case mail.CodeOf(err) == mail.Invalid, mail.CodeOf(err) == mail.NotFound:
			out.Code = jsonrpc.CodeInvalidParams
			fallthrough
		default:
			out.Message = box.public(method, err)
		}
		return nil, out
	}
}
