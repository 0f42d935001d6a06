package dialog

import (
	"cmp"
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// Update changes an open dialog, and returns it; false: it is not open. The room is not told: do not change the agent
// or the session. An answer to the earlier question is refused.
func (d *Desk) Update(id mail.ID, change func(*hook.Held)) (hook.Held, bool) {
	d.mu.Lock()
	e := d.open[id]
	if e == nil {
		d.mu.Unlock()
		return hook.Held{}, false
	}
	h := e.Held
	change(&h)
	if h.ID = id; h.Sum != e.Sum {
		h.Known = cmp.Or(e.Known, e.Sum)
	}
	n := size(&h)
	if d.bytes-e.size+n > maxBytes {
		strip(&h)
		n = size(&h)
	}
	d.bytes += n - e.size
	e.Held, e.size = h, n
	d.mu.Unlock()
	if err := d.keep(id); err != nil {
		d.log.Warn("question of a dialog not saved", "file", d.path(id), "err", err)
	}
	return h, true
}

// Doubt tells the room that a dialog may have been answered at its client, which would not report that.
func (d *Desk) Doubt(ctx context.Context, svc hook.Service, h *hook.Held) error {
	c := change(h)
	c.Doubt = true
	if err := svc.Dialog(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	d.Update(h.ID, func(h *hook.Held) { h.Doubt = true })
	return nil
}
