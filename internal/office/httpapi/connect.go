package httpapi

import (
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

func bridges(c *call) (any, error) {
	list, err := c.room.Bridges(c.r.Context())
	return wire.Bridges{Bridges: list}, err
}

func addBridge(c *call) (any, error) {
	b, err := body[mail.Bridge](c)
	if err != nil {
		return nil, err
	}
	return c.room.AddBridge(c.r.Context(), b)
}

func removeBridge(c *call) (any, error) {
	return nil, c.room.RemoveBridge(c.r.Context(), c.r.PathValue("bridge"))
}

func syncBridge(c *call) (any, error) {
	return c.room.SyncBridge(c.r.Context(), c.r.PathValue("bridge"))
}

func workspaces(c *call) (any, error) {
	list, err := c.room.Workspaces(c.r.Context())
	return wire.Workspaces{Workspaces: list}, err
}

func addWorkspace(c *call) (any, error) {
	w, err := body[mail.Workspace](c)
	if err != nil {
		return nil, err
	}
	return c.room.AddWorkspace(c.r.Context(), w)
}

func removeWorkspace(c *call) (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	return nil, c.room.RemoveWorkspace(c.r.Context(), name)
}
