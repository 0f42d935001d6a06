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

// Webhook is a door on the far side of HTTP: each ring is a signed POST. It was rung if the answer is of status 2xx;
// 410 turns it off.
type Webhook struct{ to *webhook.Receiver }

var _ wake.Waker = (*Webhook)(nil)

// NewWebhook returns a door at an address. secret is the signing key itself, not its base64. A zero limit is 30 s.
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
