package superportia

import (
	"context"
	"slices"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// mailbox returns everything that was ever delivered to an identity, newest first, from the room's archive too: the
// document's mailbox is a log from which nothing goes. It is read whole, because the answer counts it.
func mailbox(ctx context.Context, svc mail.Service, owner mail.Name, now mail.Time) ([]letter, error) {
	items, err := dialect.History(ctx, svc, mail.HistoryQuery{Agent: owner, Archive: true}, 0)
	var letters []letter
	for _, it := range slices.Backward(items) {
		if l, ok := letterOf(it, owner, now); ok {
			letters = append(letters, l)
		}
	}
	return letters, err
}

// selection is what of a mailbox is asked for.
type selection struct {
	unreadOnly, withArchived bool
	limit                    int
}

// choose returns what s selects, and how much of the whole mailbox is unread and how much there is, without archived
// mail unless that was asked for. Archived mail is never unread.
func (s selection) choose(letters []letter) (chosen []letter, unread, total int) {
	for _, l := range letters {
		if l.Archived && !s.withArchived {
			continue
		}
		total++
		isUnread := !l.Read && !l.Archived
		if isUnread {
			unread++
		}
		if (isUnread || !s.unreadOnly) && len(chosen) < s.limit {
			chosen = append(chosen, l)
		}
	}
	return chosen, unread, total
}

// list answers with what s selects, as much as one answer holds, and tells which of it is fresh.
func (s selection) list(letters []letter) (out listing, fresh []mail.ID, err error) {
	chosen, unread, total := s.choose(letters)
	entries := make([]entry, len(chosen))
	for i, l := range chosen {
		entries[i] = l.entry
	}
	out, k, err := fence.FitJSON(len(entries), func(k int) listing {
		return listing{Unread: unread, Total: total, Messages: entries[:k]}
	})
	for _, l := range chosen[:k] {
		if l.fresh {
			fresh = append(fresh, l.ID)
		}
	}
	return out, fresh, err
}
