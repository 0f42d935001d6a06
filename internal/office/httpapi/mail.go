package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

func send(c *call) (any, error) {
	d, err := body[mail.Draft](c)
	if err != nil {
		return nil, err
	}
	if err := c.key(&d); err != nil {
		return nil, err
	}
	sent, err := c.room.Send(c.r.Context(), d)
	if err != nil {
		return nil, err
	}
	if sent.Duplicate {
		c.status = http.StatusOK
	}
	c.w.Header().Set("Location", wire.Base+"/rooms/"+url.PathEscape(string(sent.Room))+"/messages/"+
		url.PathEscape(string(sent.ID)))
	return sent, nil
}

// key takes the idempotency key from the header. The draft of the standard (draft-ietf-httpapi-idempotency-key-header)
// has it in quotes, most clients write it without: both are the same key.
func (c *call) key(d *mail.Draft) error {
	given := c.r.Header.Values(wire.KeyHeader)
	if len(given) == 0 {
		return nil
	}
	key := given[0]
	if n := len(key); n >= 2 && key[0] == '"' && key[n-1] == '"' {
		key = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(key[1 : n-1])
	}
	if len(given) > 1 || key == "" || d.Key != "" && d.Key != key {
		return mail.Errorf(mail.Invalid, "give one idempotency key, in the header %s or as the member key",
			wire.KeyHeader)
	}
	d.Key = key
	return nil
}

func history(c *call) (any, error) {
	q := c.query
	return c.room.History(c.r.Context(), mail.HistoryQuery{
		Types:      get[[]mail.Type](q, "type"),
		From:       get[string](q, "from"),
		To:         get[string](q, "to"),
		Agent:      get[mail.Name](q, "agent"),
		Thread:     get[mail.ID](q, "thread"),
		Issue:      get[string](q, "issue"),
		Since:      get[mail.Time](q, "since"),
		Until:      get[mail.Time](q, "until"),
		Search:     get[string](q, "search"),
		States:     get[[]mail.DeliveryState](q, "state"),
		Deliveries: get[bool](q, "deliveries"),
		Archive:    get[bool](q, "archive"),
		After:      get[mail.Seq](q, "after"),
		Before:     get[mail.Seq](q, "before"),
		Limit:      get[int](q, "limit"),
	})
}

func inbox(c *call) (any, error) {
	q := c.query
	return c.room.Inbox(c.r.Context(), mail.InboxQuery{
		Agent:  get[mail.Name](q, "agent"),
		Place:  get[mail.Place](q, "place"),
		All:    get[bool](q, "all"),
		Newest: get[bool](q, "newest"),
		After:  get[mail.Seq](q, "after"),
		Before: get[mail.Seq](q, "before"),
		From:   get[string](q, "from"),
		Types:  get[[]mail.Type](q, "type"),
		Limit:  get[int](q, "limit"),
		Bytes:  get[int](q, "bytes"),
	})
}

func message(c *call) (any, error) {
	id, err := c.id()
	if err != nil {
		return nil, err
	}
	return c.room.Message(c.r.Context(), id)
}

func erase(c *call) (any, error) {
	id, err := c.id()
	if err != nil {
		return nil, err
	}
	return nil, c.room.Erase(c.r.Context(), id)
}

func mark(c *call) (any, error) {
	m, err := body[mail.Marking](c)
	if err != nil {
		return nil, err
	}
	switch m.Mark {
	case mail.MarkNotified, mail.MarkPresented:
		if m.Door == "" {
			return nil, mail.Errorf(mail.Invalid,
				"the mark %s needs door: through what the text was handed over or the recipient told", m.Mark)
		}
	default:
		if _, err := mail.ParseMark(string(m.Mark)); err != nil {
			return nil, err
		}
	}
	return c.room.Mark(c.r.Context(), m)
}
