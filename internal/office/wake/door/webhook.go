package door

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/webhook"
	"pennypost/internal/office/wake"
)

// Webhook is a door over HTTP: each ring is a signed POST. The ring succeeded if the answer has a 2xx status; 410
// turns the door off.
type Webhook struct{ to *webhook.Receiver }

var _ wake.Waker = (*Webhook)(nil)

// NewWebhook returns a door to an address. secret is the signing key itself, not its base64. A zero limit means 30 s.
func NewWebhook(address string, secret []byte, limit time.Duration) *Webhook {
	return &Webhook{webhook.New(address, secret, child.Timeout(limit))}
}

// Door implements wake.Waker.
func (w *Webhook) Door() string { return "webhook" }

// Ring implements wake.Waker.
func (w *Webhook) Ring(ctx context.Context, r wake.Ring) error {
	_, err := w.to.Post(ctx, r.ID, "pennypost.wake", &r)
	if errors.Is(err, webhook.ErrGone) {
		return fmt.Errorf("%w: %w", err, wake.ErrOff)
	}
	return err
}
