package httpapi

import (
	"context"
	"io"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// GitHub turns GitHub's events into mail.
type GitHub interface {
	// Take takes a delivery of a webhook. One that GitHub has not signed is Unknown.
	Take(ctx context.Context, room mail.RoomName, d wire.GitHubDelivery) error
}

func githubRoute(o *Options) route {
	rt := at(&wire.GitHubRoute)
	rt.headers, rt.in = []string{wire.GitHubEvent, wire.GitHubSignature}, mail.Metadata{}
	rt.handle = func(c *call) (any, error) {
		if err := c.contentType(wire.JSON); err != nil {
			return nil, err
		}
		body, err := c.reader(o.MaxRequest)
		if err != nil {
			return nil, err
		}
		d := wire.GitHubDelivery{Event: c.r.Header.Get(wire.GitHubEvent),
			Signature: c.r.Header.Get(wire.GitHubSignature)}
		if d.Body, err = io.ReadAll(body); err != nil {
			return nil, c.unread(err, o.MaxRequest)
		}
		return nil, o.GitHub.Take(c.r.Context(), c.roomName, d)
	}
	return without(o.GitHub == nil, mail.Errorf(mail.Unavailable, "this post office accepts no GitHub "+
		"webhooks"), rt)[0]
}
