package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// hitsLooked is how many hits are read, for each requested conversation, before the best of them are known. A common
// word has as many hits as the room has messages.
const hitsLooked = 10

// hits are those of one conversation.
type hits struct {
	best   mail.Item
	rank   int
	newest mail.Seq
}

// byConversation returns the conversations with a message that f accepts, those with the newest such message first,
// each as its best one. It reads hits from the newest on, whatever page is requested, until it has enough
// conversations: older hits count for none of them.
func (v *view) byConversation(ctx context.Context, f *fold.Filter, n int,
	search func(context.Context, *fold.Filter, int) ([]mail.Item, error)) (mail.Page, error) {
	var page []*hits // after the requested position
	known := make(map[mail.ID]*hits)
	step, most := *f, min(hitsLooked*n, mail.MaxLimit)
	step.Text, step.Reach = nil, fold.Reach{Newest: true}
	for {
		items, err := search(ctx, &step, most)
		if err != nil {
			return mail.Page{}, err
		}
		more := len(items) > most
		slices.SortFunc(items, func(a, b mail.Item) int { return bySeq(b, a) })
		items = slices.CompactFunc(items, func(a, b mail.Item) bool { return a.Seq == b.Seq })
		for i := range items {
			it := &items[i]
			c := known[it.ThreadRoot()]
			if c == nil {
				c = &hits{rank: -1, newest: it.Seq}
				known[it.ThreadRoot()] = c
				if (f.Before == 0 || c.newest < f.Before) && c.newest > f.After {
					page = append(page, c)
				}
			}
			c.add(it, f.Words.Rank(it.Subject, it.Body))
		}
		if !more || len(page) > n || items[len(items)-1].Seq <= f.After {
			return conversationsPage(page, n), nil
		}
		step.Before = items[len(items)-1].Seq
	}
}

// add adds a hit, which is older than those before.
func (c *hits) add(it *mail.Item, rank int) {
	found := c.best.Hits
	if rank > c.rank {
		c.best, c.rank = *it, rank
	}
	c.best.Hits = found + 1
}

// conversationsPage shows the first n of some conversations, the newest last.
func conversationsPage(all []*hits, n int) mail.Page {
	page := mail.Page{Messages: []mail.Item{}}
	if page.More = len(all) > n; page.More {
		all = all[:n]
		page.Next = all[n-1].newest
	}
	for _, c := range slices.Backward(all) {
		page.Messages = append(page.Messages, c.best)
	}
	return page
}
