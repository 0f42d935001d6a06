package httpapi

import (
	"context"

	"pennypost/internal/wire"
)

// Notify tells the person of mail when no page is in sight.
type Notify interface {
	// Channels returns the state of each channel.
	Channels() []wire.NotifyChannel
	// Test sends a note through a channel, or through all if name is "".
	Test(ctx context.Context, name string) ([]wire.NotifyTested, error)
	// Pair makes a code that pairs a chat with a channel.
	Pair(ctx context.Context, name string) (wire.NotifyPairing, error)
	// Unpair ends the pairing of a channel with its chat.
	Unpair(ctx context.Context, name string) error
}

func notifyChannels(c *call, _ wire.None) (wire.NotifyChannels, error) {
	out := wire.NotifyChannels{Channels: []wire.NotifyChannel{}}
	if n := c.api.opts.Notify; n != nil {
		out.Channels = n.Channels()
	}
	return out, nil
}

func notifyTest(c *call, ask wire.NotifyTest) (wire.NotifyTests, error) {
	if c.api.opts.Notify == nil {
		return wire.NotifyTests{Tests: []wire.NotifyTested{}}, nil
	}
	tests, err := c.api.opts.Notify.Test(c.r.Context(), ask.Channel)
	return wire.NotifyTests{Tests: tests}, err
}
