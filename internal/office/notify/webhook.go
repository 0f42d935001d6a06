package notify

import (
	"context"

	"pennypost/internal/base/webhook"
)

// Webhook sends a POST, signed like that of a ring; its data is the Note.
type Webhook struct{ To *webhook.Receiver }

var _ Channel = (*Webhook)(nil)

func (w *Webhook) Send(ctx context.Context, n *Note) (string, error) {
	return w.To.Post(ctx, n.ID, "pennypost.notify", n)
}
