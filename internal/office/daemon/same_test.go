package daemon

import (
	"fmt"
	"sync"
	"testing"

	"pennypost/internal/mail"
)

// TestP12_SameTextByFourRequests posts each of 40 texts in four concurrent requests, like a client that takes its
// calls for lost: there are 40 messages, in a journal on disk as in memory.
func TestP12_SameTextByFourRequests(t *testing.T) {
	const texts, each = 40, 4
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "lab", "ann")
	r.register(t, "lab", "bob")
	ann := r.room(t, "lab", "ann")
	for i := range texts {
		var posting sync.WaitGroup
		for range each {
			posting.Go(func() {
				if _, err := ann.Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"},
					Body: fmt.Sprint("text ", i)}); err != nil {
					t.Error(err)
				}
			})
		}
		posting.Wait()
	}
	page, err := r.room(t, "lab", "bob").Inbox(t.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil || page.Unread != texts {
		t.Errorf("bob has %d messages of %d texts, %v", page.Unread, texts, err)
	}
}
