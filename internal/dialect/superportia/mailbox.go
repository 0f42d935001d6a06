package superportia

import (
	"context"
	"slices"

	"pennypost/internal/mail"
)

// mailbox returns everything that was ever delivered to an identity, newest first, from the room's archive too: the document's mailbox
// is a log from which nothing goes. It is read whole, because the answer counts it.
func mailbox(ctx context.Context, svc mail.Service, owner mail.Name, now mail.Time) ([]letter, error) {
	var letters []letter
	for before := mail.Seq(0); ; {
		page, err := svc.History(ctx, mail.HistoryQuery{Agent: owner, Archive: true, Before: before, Limit: mail.MaxLimit})
		if err != nil {
			return nil, err
		}
		for _, it := range slices.Backward(page.Messages) {
			if l, ok := letterOf(it, owner, now); ok {
				letters = append(letters, l)
			}
		}
		if !page.More {
			return letters, nil
		}
		before = page.Next
	}
}

// selection is what of a mailbox is asked for.
type selection struct {
	unreadOnly, withArchived bool
	limit                    int
}

// list answers with what s selects, and tells which of it is fresh. The counts are of the whole mailbox, without archived mail
// unless that was asked for. Archived mail is never unread.
func (s selection) list(letters []letter) (out listing, fresh []mail.ID) {
	out.Messages = []entry{}
	for _, l := range letters {
		if l.Archived && !s.withArchived {
			continue
		}
		out.Total++
		unread := !l.Read && !l.Archived
		if unread {
			out.Unread++
		}
		if s.unreadOnly && !unread || len(out.Messages) == s.limit {
			continue
		}
		out.Messages = append(out.Messages, l.entry)
		if l.fresh {
			fresh = append(fresh, l.ID)
		}
	}
	return out, fresh
}
