package mailroom

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
	"pennypost/internal/room/fold"
)

// limit checks a requested number of messages.
func limit(n int) (int, error) {
	switch {
	case n < 0 || n > mail.MaxLimit:
		return 0, mail.Errorf(mail.Invalid, "limit %d is out of range; use 1 to %d", n, mail.MaxLimit)
	case n == 0:
		return mail.DefaultLimit, nil
	}
	return n, nil
}

// Inbox implements mail.Reader.
func (v *view) Inbox(ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	started := time.Now()
	n, err := limit(q.Limit)
	if err != nil {
		return mail.Page{}, err
	}
	if _, err := mail.ParsePlace(string(q.Place)); err != nil {
		return mail.Page{}, err
	}
	v.touch(ctx)
	page := mail.Page{Messages: []mail.Item{}, Trouble: v.opts.Trouble()}
	v.read(func(s *fold.State, now mail.Time) {
		var m *fold.Member
		var from mail.Address
		if m, err = v.on(s, now).Mailbox(q.Agent); err == nil {
			err = s.Reached(q.After, q.Before)
		}
		if err == nil && q.From != "" {
			from, err = v.address(s, q.From)
		}
		if err == nil {
			v.sight(s).Fill(&page, m, q, from, n, now)
		}
	})
	if err == nil {
		page.Messages, err = v.complete(ctx, page.Messages)
	}
	v.opts.Observe.Inbox(time.Since(started))
	return page, err
}

// History implements mail.Reader.
func (v *view) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	trouble := v.opts.Trouble()
	page, err := v.history(ctx, q)
	page.Trouble = trouble
	return page, err
}

func (v *view) history(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	n, err := checkHistory(q)
	if err != nil {
		return mail.Page{}, err
	}
	v.touch(ctx)
	f, err := v.filter(ctx, q)
	if err != nil {
		return mail.Page{}, err
	}
	v.read(func(s *fold.State, _ mail.Time) { err = s.Reached(q.After, q.Before) })
	if err != nil {
		return mail.Page{}, err
	}
	search, w := v.scan, wordSearch{view: v, until: time.Now().Add(v.opts.SearchPatience)}
	if !f.Words.Empty() && !q.Open { // there are few open questions
		search = w.search
	}
	var page mail.Page
	if q.Conversations {
		page, err = v.byConversation(ctx, f, n, search)
	} else {
		page, err = v.byMessage(ctx, f, n, search)
	}
	page.Partly = w.partly
	return page, err
}

// byMessage returns the messages that f accepts.
func (v *view) byMessage(ctx context.Context, f *fold.Filter, n int,
	search func(context.Context, *fold.Filter, int) ([]mail.Item, error)) (mail.Page, error) {
	items, err := search(ctx, f, n)
	if err != nil {
		return mail.Page{}, err
	}
	order := bySeq
	if f.Q.BySent {
		order = fold.BySentTime
	}
	return pageOf(items, n, !f.Newest, order), nil
}

// checkHistory refuses a query whose parts do not go together, and returns how many messages it requests.
func checkHistory(q mail.HistoryQuery) (n int, err error) {
	for _, s := range q.States {
		if _, err := mail.ParseDeliveryState(string(s)); err != nil {
			return 0, err
		}
	}
	switch {
	case q.BySent && (q.Archive || q.Search != ""):
		return 0, mail.Errorf(mail.Invalid, "by_sent excludes archive and search: omit it to get messages in order "+
			"of arrival")
	case q.BySent && q.Conversations:
		return 0, mail.Errorf(mail.Invalid, "conversations excludes by_sent: omit by_sent to get conversations in "+
			"order of the newest match")
	}
	return limit(q.Limit)
}

// scan returns the messages that f accepts: the newest n and one more or, after a cursor, the first; and others, in
// no order.
func (v *view) scan(ctx context.Context, f *fold.Filter, n int) ([]mail.Item, error) {
	items, err := v.searchHot(ctx, f, n)
	if err == nil && f.Archive() {
		var cold []mail.Item
		cold, err = v.searchArchive(ctx, f, n) // after the hot ones, or a leaving one would be in neither
		items = append(items, cold...)
	}
	return items, err
}

// searchBatch is how many messages are read at a time if only their text tells whether they match.
const searchBatch = 512

// searchHot returns the hot messages that f accepts, as its reader sees them: the newest n and one more or, after a
// cursor, the first.
func (v *view) searchHot(ctx context.Context, f *fold.Filter, n int) (items []mail.Item, err error) {
	from := f.After
	if f.Newest {
		from = f.Before
	}
	for more := true; more && len(items) <= n; {
		most := n + 1 - len(items)
		if !f.Words.Empty() {
			most = max(most, searchBatch)
		}
		var some []mail.Item
		v.read(func(s *fold.State, now mail.Time) {
			some, from, more = v.sight(s).Search(f, from, most, now)
		})
		if some, err = v.complete(ctx, some); err != nil {
			return nil, err
		}
		items = append(items, f.Found(some)...)
	}
	return items[:min(len(items), n+1)], nil
}

// pageOf makes a page of the newest n messages or, after a cursor, of the first n. Hot ones may be older than
// archived ones, and messages archived meanwhile are among both.
func pageOf(items []mail.Item, n int, onwards bool, order func(a, b mail.Item) int) mail.Page {
	slices.SortStableFunc(items, order)
	items = slices.CompactFunc(items, func(a, b mail.Item) bool { return a.Seq == b.Seq })
	page := mail.Page{Messages: []mail.Item{}}
	switch page.More = len(items) > n; {
	case page.More && onwards:
		items = items[:n]
		page.Next = items[n-1].Seq
	case page.More:
		items = items[len(items)-n:]
		page.Next = items[0].Seq
	}
	page.Messages = append(page.Messages, items...)
	return page
}

// rootOf returns the message that began the thread of a message. An unknown message may have been erased, and still
// have replies.
func (v *view) rootOf(ctx context.Context, id mail.ID) (mail.ID, error) {
	var root mail.ID
	v.read(func(s *fold.State, _ mail.Time) {
		if r := s.Records[id]; r != nil {
			root = r.Msg.ThreadRoot()
		}
	})
	if root != "" {
		return root, nil
	}
	it, err := v.archived(ctx, id)
	if mail.CodeOf(err) == mail.NotFound {
		return id, nil
	}
	return it.ThreadRoot(), err
}

func (v *view) filter(ctx context.Context, q mail.HistoryQuery) (*fold.Filter, error) {
	f := &fold.Filter{Q: q, Words: find.Parse(q.Search), Reach: fold.Reach{After: q.After, Before: q.Before,
		Newest: q.After == 0 || q.Conversations}}
	if q.BySent {
		f.Span = fold.Span{Since: q.Since, Until: q.Until, After: q.After, Before: q.Before}
		f.Reach = fold.Reach{Newest: true}
		f.Q.Since, f.Q.Until = 0, 0
	}
	var err error
	if q.Thread != "" {
		if f.Root, err = v.rootOf(ctx, q.Thread); err != nil {
			return nil, err
		}
	}
	v.read(func(s *fold.State, now mail.Time) {
		var from, to mail.Address
		if q.From != "" {
			if from, err = v.address(s, q.From); err != nil {
				return
			}
		}
		if q.To != "" {
			if to, err = v.address(s, q.To); err != nil {
				return
			}
		}
		f.Resolve(s, from, to)
		if f.Reader = v.on(s, now).Me(); q.Agent != "" {
			f.Agent, err = v.on(s, now).Mailbox(q.Agent)
			f.Reader = f.Agent
		}
	})
	return f, err
}

// address resolves an address of a query. A name that no one bears any more is taken as it is.
func (v *view) address(s *fold.State, typed string) (mail.Address, error) {
	t := norm.NFC.String(strings.TrimSpace(typed))
	if t == string(mail.FromSystem) {
		return mail.FromSystem, nil
	}
	if mail.Address(t).Kind() == mail.FromFar {
		return mail.Address(t), nil
	}
	found, err := v.on(s, v.now()).ResolveOne(t)
	if err == nil && found.Room == "" {
		return found.Local, nil
	}
	name := mail.Name(strings.TrimPrefix(t, "agent:"))
	if s.Members[name] != nil {
		return mail.AgentAddress(name), nil
	}
	if found.Room != "" {
		return mail.FarAddress(mail.AgentAddress(mail.Name(strings.TrimPrefix(found.Rest, "agent:"))), found.Room), nil
	}
	return "", err
}

// Message implements mail.Reader.
func (v *view) Message(ctx context.Context, id mail.ID) (mail.Item, error) {
	v.touch(ctx)
	var hot *mail.Item
	v.read(func(s *fold.State, now mail.Time) {
		if r := s.Records[id]; r != nil {
			hot = new(v.sight(s).Item(r, v.on(s, now).Me(), now))
			hot.Deliveries = v.sight(s).Deliveries(r, now)
		}
	})
	if it, err := v.completeOne(ctx, hot); it != nil {
		return *it, v.quote(ctx, it.Suggestions)
	} else if err != nil {
		return mail.Item{}, err
	}
	return v.archived(ctx, id)
}
