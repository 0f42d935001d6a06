package client

import (
	"context"
	"net/http"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Bridges implements mail.Connector.
func (c *Client) Bridges(ctx context.Context) ([]mail.BridgeStatus, error) {
	list, err := get[wire.Bridges](ctx, &c.caller, nil, c.path("bridges")...)
	return list.Bridges, err
}

// AddBridge implements mail.Connector.
func (c *Client) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	return post[mail.BridgeStatus](ctx, &c.caller, request{path: c.path("bridges"), repeat: true}, b)
}

// RemoveBridge implements mail.Connector.
func (c *Client) RemoveBridge(ctx context.Context, id string) error {
	if id == "" {
		return mail.Errorf(mail.Invalid, "the id of the bridge is empty")
	}
	return c.do(ctx, request{method: http.MethodDelete, path: c.path("bridges", id)}, nil)
}

// SyncBridge implements mail.Connector.
func (c *Client) SyncBridge(ctx context.Context, id string) (mail.BridgeStatus, error) {
	if id == "" {
		return mail.BridgeStatus{}, mail.Errorf(mail.Invalid, "the id of the bridge is empty")
	}
	return post[mail.BridgeStatus](ctx, &c.caller, request{path: c.path("bridges", id, "sync"), repeat: true}, nil)
}

// Workspaces implements mail.Connector.
func (c *Client) Workspaces(ctx context.Context) ([]mail.Workspace, error) {
	list, err := get[wire.Workspaces](ctx, &c.caller, nil, c.path("workspaces")...)
	return list.Workspaces, err
}

// AddWorkspace implements mail.Connector.
func (c *Client) AddWorkspace(ctx context.Context, w mail.Workspace) (mail.Workspace, error) {
	return post[mail.Workspace](ctx, &c.caller, request{path: c.path("workspaces"), repeat: true}, w)
}

// RemoveWorkspace implements mail.Connector.
func (c *Client) RemoveWorkspace(ctx context.Context, id mail.Name) error {
	if id == "" {
		return noName()
	}
	return c.do(ctx, request{method: http.MethodDelete, path: c.path("workspaces", string(id))}, nil)
}
