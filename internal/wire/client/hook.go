package client

import (
	"context"
	"net/http"

	"pennypost/internal/wire"
)

// Hook hands a hook of an agent's client over and returns what its process is to leave behind. The hook that waits is
// answered when it is rung, or after less than a minute.
func (o *Office) Hook(ctx context.Context, h *wire.Hook) (wire.HookAnswer, error) {
	var a wire.HookAnswer
	err := o.user().do(ctx, request{
		method: http.MethodPost, path: []string{"hooks", h.Client, h.Event}, header: h.Header(), body: h.Input,
		kind: wire.JSON,
	}, &a)
	return a, err
}

// HookTaken confirms that the client has taken what a hook said.
func (o *Office) HookTaken(ctx context.Context, ticket string) error {
	return tell(ctx, o, &wire.HookTakenCall, ticket)
}

// Place returns in which room a session is, and as whom.
func (o *Office) Place(ctx context.Context, p *wire.Place) (wire.Placed, error) {
	return wire.Do(ctx, o.user(), &wire.PlaceCall, *p)
}
