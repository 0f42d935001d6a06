package client

import (
	"context"
	"net/http"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/wire"
)

// Place returns in which room a session is, and as whom.
func (o *Office) Place(ctx context.Context, p *wire.Place) (wire.Placed, error) {
	var out wire.Placed
	body, err := jsonx.Marshal(p)
	if err != nil {
		return out, err
	}
	err = o.user().do(ctx, request{method: http.MethodPost, path: []string{"place"}, body: body, kind: wire.JSON,
		repeat: true}, &out)
	return out, err
}
