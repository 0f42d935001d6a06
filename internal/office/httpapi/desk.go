package httpapi

import (
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// deskEvents streams the changes of the desk. They have no ids: a client that reconnects is told immediately to look
// again.
func deskEvents(c *call) (any, error) {
	ctx, cancel := c.api.streaming(c.r)
	defer cancel()
	w, err := c.api.opts.Office.WatchDesk(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return nil, follow(ctx, c, w.Next, addDeskChange)
}

func addDeskChange(s *stream, change *mail.DeskChange) error {
	data, err := jsonx.Marshal(change)
	if err != nil {
		return err
	}
	s.buf = append(s.buf, "event: desk\ndata: "...)
	return s.add(data, '\n', '\n')
}
