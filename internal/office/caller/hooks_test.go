package caller

import (
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// Marks that no client confirms are dropped after a time, and their number is limited.
func TestHookTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Hooks{}
		if h.keep(nil) != "" {
			t.Error("a ticket for nothing")
		}
		for range maxTickets {
			h.keep(&hook.Marks{})
		}
		if id := h.keep(&hook.Marks{}); id != "" || len(h.tickets) != maxTickets {
			t.Errorf("%d tickets wait, and another is %q", len(h.tickets), id)
		}
		time.Sleep(ticketTime + time.Millisecond)
		if id := h.keep(&hook.Marks{}); id == "" || len(h.tickets) != 1 {
			t.Errorf("after their time %d tickets wait, and another is %q", len(h.tickets), id)
		}
		if err := h.Taken(t.Context(), "other"); mail.CodeOf(err) != mail.NotFound {
			t.Errorf("a ticket that is not known: %v", err)
		}
	})
}
