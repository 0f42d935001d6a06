package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/events"
	"pennypost/internal/office/mcpserver"
)

// openEvents makes the sender of events to addresses, if the configuration has it. A relay has none: the rooms are
// elsewhere.
func (d *daemon) openEvents() (err error) {
	c := d.opts.Config
	if !c.Events.Webhooks || d.office.Far != nil {
		return nil
	}
	d.hooks, err = events.Open(events.Options{File: c.Home.Events(), Private: c.Events.Private, Enter: d.standAsOwner,
		Log: d.log})
	return err
}

// tellHooks sends events to addresses until the post office closes.
func (d *daemon) tellHooks() {
	if d.hooks != nil {
		d.hooks.Run(d.closing)
	}
}

// standAsOwner returns the room as the owner of a subscription sees it, and makes ctx end with the owner's token.
func (d *daemon) standAsOwner(ctx context.Context, o events.Owner) (mail.Service, error) {
	c := mail.Caller{Name: o.Agent, Room: o.Room}
	if o.Agent == mail.User {
		if o.Token != hex.EncodeToString(d.gate.Key()) {
			return nil, mail.Errorf(mail.Unknown, "the operator's token has changed")
		}
		return entrance{d}.callerRoom(c), nil
	}
	holder, err := d.office.HolderOf(ctx, o.Room, o.Token)
	if err == nil && holder != o.Agent {
		err = mail.Errorf(mail.Denied, "the token belongs to another agent now")
	}
	if err == nil {
		err = d.office.StandAs(ctx, o.Room, o.Agent)
	}
	if err != nil {
		return nil, err
	}
	return entrance{d}.callerRoom(c), nil
}

// callbacks are those of the sender of a request.
type callbacks struct{ hooks *events.Hooks }

// callbacks returns the server of events/subscribe, or nil if there is none.
func (d *daemon) callbacks() mcpserver.Callbacks {
	if d.hooks == nil {
		return nil
	}
	return callbacks{d.hooks}
}

// Subscribe implements mcpserver.Callbacks.
func (c callbacks) Subscribe(ctx context.Context, ask *events.Subscribe) (*events.Subscribed, error) {
	o, err := ownerOf(ctx)
	if err != nil {
		return nil, err
	}
	return c.hooks.Subscribe(ctx, o, ask)
}

// Unsubscribe implements mcpserver.Callbacks.
func (c callbacks) Unsubscribe(ctx context.Context, ask *events.Subscribe) error {
	o, err := ownerOf(ctx)
	if err != nil {
		return err
	}
	return c.hooks.Unsubscribe(o, ask)
}

// tokenKey is the key under which the context of a request has the hash of its token, as rooms keep it.
type tokenKey struct{}

// withToken returns the context of a request with the hash of its token, if it has one.
func withToken(ctx context.Context, r *http.Request) context.Context {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" {
		return ctx
	}
	sum := sha256.Sum256([]byte(token))
	return context.WithValue(ctx, tokenKey{}, hex.EncodeToString(sum[:]))
}

// ownerOf returns the owner of the subscriptions of a request's sender. A process without a token has rights only
// while it runs, and no one could tell when it ends.
func ownerOf(ctx context.Context) (events.Owner, error) {
	c, _ := ctx.Value(callerKey{}).(mail.Caller)
	token, _ := ctx.Value(tokenKey{}).(string)
	if token == "" {
		return events.Owner{}, mail.Errorf(mail.Denied, "a subscription needs a token, because it ends with the "+
			"token. To make one: pennypost agents token NAME")
	}
	return events.Owner{Room: c.Room, Agent: c.Name, Token: token}, nil
}
