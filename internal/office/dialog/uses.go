package dialog

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// Limits of the tool calls that are remembered: clients ask about the last one, immediately.
const (
	maxUses    = 256
	maxUseSize = 64 << 10 // bytes; a larger input is not kept
)

// use is a tool call that a client has reported, and may ask about next.
type use struct {
	client, session, worker, tool, id string
	input                             []byte
}

// uses are the last tool calls, the oldest first.
type uses []use

// Note records that a session is about to use a tool, or has used it.
func (d *Desk) Note(e *hook.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := use{e.Client, e.Session.ID, e.Worker, e.Tool, e.ToolUse, nil}
	d.uses = slices.DeleteFunc(d.uses, func(o use) bool {
		return o.client == u.client && o.session == u.session && o.worker == u.worker && o.tool == u.tool &&
			o.id == u.id
	})
	if e.Moment != mail.BeforeTool {
		return
	}
	if len(e.Input) <= maxUseSize {
		u.input = slices.Clone(e.Input)
	}
	d.uses = append(d.uses, u)
	d.uses = slices.Delete(d.uses, 0, max(0, len(d.uses)-maxUses))
}

// Noted returns the last tool call recorded for e's session or, if e names a tool, of that tool.
func (d *Desk) Noted(e *hook.Event) (tool, id string, input []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range slices.Backward(d.uses) {
		if u.client == e.Client && u.session == e.Session.ID && u.worker == e.Worker &&
			(e.Tool == "" || u.tool == e.Tool) {
			return u.tool, u.id, u.input
		}
	}
	return "", "", nil
}
