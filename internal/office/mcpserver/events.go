package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/events"
)

// eventsExtension is MCP's Events (SEP-3415).
const eventsExtension = "io.modelcontextprotocol/events"

// Callbacks are addresses to which events are posted.
type Callbacks interface {
	// Subscribe and Unsubscribe act for the caller of ctx.
	Subscribe(ctx context.Context, ask *events.Subscribe) (*events.Subscribed, error)
	Unsubscribe(ctx context.Context, ask *events.Subscribe) error
}

// offerEvents makes a server offer the events of the room.
func (box Mailbox) offerEvents(s *Server) {
	s.methods = map[string]method{"events/list": box.event(box.listEvents), "events/poll": box.event(pollEvents),
		"events/stream": box.event(streamEvents)}
	if box.Callbacks != nil {
		s.methods["events/subscribe"] = box.event(box.subscribeEvents)
		s.methods["events/unsubscribe"] = box.event(box.unsubscribeEvents)
	}
	s.AddReceivingMiddleware(sayEvents)
}

func (box Mailbox) subscribeEvents(ctx context.Context, _ *events.Feed, r *methodCall) (any, error) {
	ask, err := asked[events.Subscribe](r)
	if err != nil {
		return nil, err
	}
	return box.Callbacks.Subscribe(ctx, ask)
}

func (box Mailbox) unsubscribeEvents(ctx context.Context, _ *events.Feed, r *methodCall) (any, error) {
	ask, err := asked[events.Subscribe](r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, box.Callbacks.Unsubscribe(ctx, ask)
}

// event turns a function that answers from the caller's feed into a method.
func (box Mailbox) event(answer func(context.Context, *events.Feed, *methodCall) (any, error)) method {
	return func(ctx context.Context, r *methodCall) (any, error) {
		at, err := box.of(ctx, r.Meta)
		var out any
		if err == nil {
			out, err = answer(ctx, &events.Feed{Service: at.Service, Room: at.Room, Agent: at.Agent}, r)
		}
		if err != nil {
			return nil, box.eventError(r.Method, err)
		}
		return out, nil
	}
}

// eventError translates an error into one of the extension's.
func (box Mailbox) eventError(what string, err error) error {
	out := &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
	if e, ok := errors.AsType[*events.Error](err); ok {
		out.Code, out.Message = int64(e.Code), e.Message
		if e.Data != nil {
			out.Data, _ = jsonx.Marshal(e.Data) // strings and numbers
		}
		return out
	}
	switch mail.CodeOf(err) {
	case mail.Invalid:
		out.Code = jsonrpc.CodeInvalidParams
	case mail.Denied, mail.Unknown, mail.NotFound:
		out.Code = events.Forbidden
	}
	out.Message = box.public(what, err)
	return out
}

// asked decodes the params of a request. It ignores unknown ones, which a later version may define.
func asked[P any](r *methodCall) (*P, error) {
	p := new(P)
	if len(r.Params) == 0 {
		return p, nil
	}
	if err := jsonx.Unmarshal(r.Params, p); err != nil {
		return nil, &events.Error{Code: events.InvalidParams, Message: "params: " + jsonx.Explain(err)}
	}
	return p, nil
}

// listedEvent is an event type as events/list shows it.
type listedEvent struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Delivery    []string        `json:"delivery"`
	Input       json.RawMessage `json:"inputSchema"`
	Payload     json.RawMessage `json:"payloadSchema"`
}

func (box Mailbox) listEvents(context.Context, *events.Feed, *methodCall) (any, error) {
	delivery := []string{"poll", "push"}
	if box.Callbacks != nil {
		delivery = append(delivery, "webhook")
	}
	var out struct {
		Events []listedEvent `json:"events"`
	}
	for _, t := range events.Types() {
		out.Events = append(out.Events, listedEvent{t.Name, t.Description, delivery, t.Input, t.Payload})
	}
	return out, nil
}

func pollEvents(ctx context.Context, f *events.Feed, r *methodCall) (any, error) {
	q, err := asked[events.Query](r)
	if err != nil {
		return nil, err
	}
	return f.Poll(ctx, q)
}

func streamEvents(ctx context.Context, f *events.Feed, r *methodCall) (any, error) {
	q, err := asked[events.Query](r)
	if err != nil {
		return nil, err
	}
	type sign struct {
		Cursor    string `json:"cursor"`
		Truncated *bool  `json:"truncated,omitempty"`
	}
	begun := false
	err = f.Stream(ctx, q, events.Signs{
		Active: func(cursor string, truncated bool) error {
			begun = true
			return r.notify("notifications/events/active", sign{cursor, &truncated})
		},
		Event: func(o events.Occurrence) error { return r.notify("notifications/events/event", o) },
		Beat:  func(cursor string) error { return r.notify("notifications/events/heartbeat", sign{Cursor: cursor}) },
	})
	if why := life.Err(ctx); why != nil && begun {
		_ = r.notify("notifications/events/terminated", map[string]any{"error": events.Ended(why)})
	}
	if begun && ctx.Err() != nil {
		return struct{}{}, nil
	}
	return struct{}{}, err
}

// sayEvents adds the events capability where today's clients look for it. The SDK announces it only where the
// extension defines it.
func sayEvents(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		switch r := res.(type) {
		case *mcp.InitializeResult:
			return initialized{r}, err
		case *mcp.DiscoverResult:
			return discovered{r}, err
		}
		return res, err
	}
}

type (
	initialized struct{ *mcp.InitializeResult }
	discovered  struct{ *mcp.DiscoverResult }
)

// MarshalJSON implements json.Marshaler.
func (r initialized) MarshalJSON() ([]byte, error) {
	return withEvents(json.Marshal(r.InitializeResult))
}

// MarshalJSON implements json.Marshaler.
func (r discovered) MarshalJSON() ([]byte, error) { return withEvents(json.Marshal(r.DiscoverResult)) }

// withEvents adds the events capability to a result.
func withEvents(result []byte, err error) ([]byte, error) {
	from, to := jsonx.Place(result, "capabilities")
	if err != nil || to-from < 2 {
		return result, err
	}
	said := `"events":{"listChanged":false}`
	if to-from > 2 {
		said += ","
	}
	return append(append(append([]byte{}, result[:from+1]...), said...), result[from+1:]...), nil
}
