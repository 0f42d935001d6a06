package client

import (
	"context"
	"io"
	"net/http"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/wire"
)

// Hook passes a hook of an agent's client on and returns the output for its process. A waiting hook is answered when
// it is rung, or after less than a minute.
func (o *Office) Hook(ctx context.Context, h *wire.Hook) (wire.HookAnswer, error) {
	var a wire.HookAnswer
	err := o.user().do(ctx, hookRequest(h), &a)
	return a, err
}

func hookRequest(h *wire.Hook) request {
	return request{method: http.MethodPost, path: []string{"hooks", h.Client, h.Event}, header: h.Header(),
		body: h.Input, kind: wire.JSON}
}

// HookAsking is Hook for a hook with which a client asks its person: the answer may take long. sign is called for
// each piece of it; the first ones are white space.
func (o *Office) HookAsking(ctx context.Context, h *wire.Hook, sign func()) (a wire.HookAnswer, err error) {
	c := o.user()
	resp, err := c.open(ctx, hookRequest(h))
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	sign()
	body, err := io.ReadAll(signs{resp.Body, sign})
	if err != nil {
		return a, c.broken(ctx, err)
	}
	if err := jsonx.Unmarshal(body, &a); err != nil {
		return a, notUnderstood(err)
	}
	return a, nil
}

// signs is a body that reports each piece as a sign of life.
type signs struct {
	io.Reader
	sign func()
}

func (s signs) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 {
		s.sign()
	}
	return n, err
}

// HookTaken confirms that the client has accepted a hook's output.
func (o *Office) HookTaken(ctx context.Context, ticket string) error {
	return tell(ctx, o, &wire.HookTakenCall, ticket)
}

// Place returns the room and the agent of a session.
func (o *Office) Place(ctx context.Context, p *wire.Place) (wire.Placed, error) {
	return wire.Do(ctx, o.user(), &wire.PlaceCall, *p)
}
