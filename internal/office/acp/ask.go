package acp

import (
	"context"
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"

	"pennypost/internal/base/jsonx"
)

// Limits on the questions of a turn.
const (
	maxAsked   = 32 // open at a time
	maxOptions = 32
)

// Question is a permission request of an agent before it uses a tool.
type Question struct {
	Tool    jsonx.Value // the tool call, as the agent describes it: a JSON object
	Options []Option
}

// Option is an answer that the agent accepts.
type Option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once or reject_always
}

// handle answers the agent's requests to us. We do not offer access to files or commands: it has its own.
func (c *conversation) handle(_ context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	if method != sdk.ClientMethodSessionRequestPermission {
		return nil, sdk.NewMethodNotFound(method)
	}
	q, session := readQuestion(jsonx.Value(params))
	if q == nil {
		return nil, sdk.NewInvalidParams(nil)
	}
	out := sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}
	if session == c.sessionID() && c.begin() {
		if option := c.turn.Ask(c.asking, q); option != "" {
			out.Outcome = sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(option))
		}
		c.answered()
	}
	return out, nil
}

// readQuestion parses a permission request; nil: it is not one.
func readQuestion(params jsonx.Value) (q *Question, session string) {
	var p struct {
		Session string      `json:"sessionId"`
		Tool    jsonx.Value `json:"toolCall"`
		Options []Option    `json:"options"`
	}
	if jsonx.UnmarshalLenient(params, &p) != nil || len(p.Tool) == 0 || p.Tool[0] != '{' ||
		len(p.Options) > maxOptions {
		return nil, ""
	}
	return &Question{p.Tool, p.Options}, p.Session
}

// begin reports whether a question may be asked. If so, call answered afterwards.
func (c *conversation) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.turn.Ask == nil || c.waiting >= maxAsked {
		return false
	}
	c.waiting++
	c.calls.Add(1)
	return true
}

func (c *conversation) answered() {
	c.mu.Lock()
	c.waiting--
	c.mu.Unlock()
	c.calls.Done()
}

// close stops new questions, and ends the open ones.
func (c *conversation) close() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.let()
}
