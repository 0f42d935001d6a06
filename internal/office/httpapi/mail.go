package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Outbox is the mail that is kept on this machine.
type Outbox interface {
	// List returns the kept mail for which which is true.
	List(which func(*mail.Kept) bool) mail.Outbox
	// Withdraw takes a letter out.
	Withdraw(key string) error
}

func sendRoute() route {
	rt := of(&wire.SendCall, (*call).key)
	rt.headers, rt.also = []string{wire.KeyHeader}, []int{http.StatusOK, http.StatusAccepted}
	send := rt.handle
	rt.handle = func(c *call) (any, error) {
		answer, err := send(c)
		if err != nil {
			return nil, err
		}
		sent := answer.(mail.Sent)
		if sent.Kept != nil {
			c.status = http.StatusAccepted
			return sent, nil
		}
		if sent.Duplicate {
			c.status = http.StatusOK
		}
		c.w.Header().Set("Location", wire.Base+"/rooms/"+url.PathEscape(string(sent.Room))+"/messages/"+
			url.PathEscape(string(sent.ID)))
		return sent, nil
	}
	return rt
}

// key takes the idempotency key from the header. The draft of the standard
// (draft-ietf-httpapi-idempotency-key-header) puts it in quotes, most clients omit them: both are the same key.
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

// checkMark refuses marks that readers do not set, unless a door is named.
func checkMark(_ *call, m *mail.Marking) error {
	switch m.Mark {
	case mail.MarkNotified, mail.MarkTold, mail.MarkPresented:
		if m.Door == "" {
			return mail.Errorf(mail.Invalid,
				"the mark %s needs door: the way in which the text was handed over or announced", m.Mark)
		}
		return nil
	}
	_, err := mail.ParseMark(string(m.Mark))
	return err
}

// rescheduled takes the id of the rescheduled message from the path.
func rescheduled(c *call, r *mail.Rescheduling) error { return variable(c, &r.ID, mail.ParseID) }
