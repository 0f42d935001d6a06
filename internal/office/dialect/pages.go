package dialect

import (
	"context"
	"slices"

	"pennypost/internal/mail"
)

// all collects the pages of a list after a sequence number.
func all(after mail.Seq, page func(after mail.Seq) (mail.Page, error)) ([]mail.Item, error) {
	var items []mail.Item
	for {
		p, err := page(after)
		if err != nil {
			return nil, err
		}
		items = append(items, p.Messages...)
		if !p.More {
			return items, nil
		}
		after = p.Next
	}
}

// Inbox returns a whole inbox, oldest first.
func Inbox(ctx context.Context, svc mail.Service, q mail.InboxQuery) ([]mail.Item, error) {
	q.Limit = mail.MaxLimit
	return all(q.After, func(after mail.Seq) (mail.Page, error) {
		q.After = after
		return svc.Inbox(ctx, q)
	})
}

// History returns the newest limit messages of a history, oldest first; all if limit is 0. A search that did not
// cover all of them is an error, because no dialect's format could say so.
func History(ctx context.Context, svc mail.Service, q mail.HistoryQuery, limit int) ([]mail.Item, error) {
	var items []mail.Item
	for {
		q.Limit = mail.MaxLimit
		if limit > 0 {
			q.Limit = min(limit-len(items), mail.MaxLimit)
		}
		page, err := svc.History(ctx, q)
		if err != nil {
			return nil, err
		}
		if page.Partly != "" {
			return nil, mail.Errorf(mail.Unavailable, "%s", page.Partly)
		}
		items = append(page.Messages, items...)
		if !page.More || limit > 0 && len(items) >= limit {
			return items, nil
		}
		q.Before = page.Next
	}
}

// Since returns the messages of a history after a sequence number, oldest first; 0 is the beginning.
func Since(ctx context.Context, svc mail.Service, q mail.HistoryQuery, after mail.Seq) ([]mail.Item, error) {
	if after == 0 { // with 0, pages come from the end
		return History(ctx, svc, q, 0)
	}
	q.Limit = mail.MaxLimit
	return all(after, func(after mail.Seq) (mail.Page, error) {
		q.After = after
		return svc.History(ctx, q)
	})
}

// OnRoster returns the agent called name.
func OnRoster(roster []mail.Agent, name mail.Name) (a mail.Agent, ok bool) {
	i := slices.IndexFunc(roster, func(a mail.Agent) bool { return a.Name == name })
	if i < 0 {
		return a, false
	}
	return roster[i], true
}
