package room

import (
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

const deepest = 4 // replies below this depth are not indented further

// threadPage is a conversation as a tree of replies.
type threadPage struct {
	*page.View
	ID      mail.ID // of the first message
	Subject string
	Roots   []branch
	Count   int
	Earlier bool // earlier messages are not shown
	Issues  []string
	People  []mail.Name
	Docs    []threadDoc
	Unread  int // among the messages to the user
	Box     *page.Box
}

// threadDoc is a document named in the thread.
type threadDoc struct {
	Path, Href string
}

// branch is a message and its replies.
type branch struct {
	page.Post
	Answers string   // the sender of the message it answers
	Apart   bool     // that message is not right above
	Below   []branch // replies, indented
}

func thread(v *page.View) error {
	v.Place = "history"
	items, more, err := threadOf(v, mail.ID(v.R.PathValue("id")))
	if err != nil {
		return err
	}
	p := &threadPage{View: v, ID: items[0].ThreadRoot(), Count: len(items), Earlier: more}
	p.Subject = words.Subject(&items[max(0, indexOf(items, p.ID))].Message)
	p.Title = p.Subject
	p.head(items)
	if p.Box, err = p.writeTo(items); err != nil {
		return err
	}
	if !v.Partial("writing") {
		receipts, err := v.Receipts(items)
		if err != nil {
			return err
		}
		p.Roots = p.tree(items, receipts)
	}
	return v.Render("thread", p, "thread", "writing")
}

// threadOf returns the messages in the thread of a message, in the order sent, and whether there are earlier ones.
func threadOf(v *page.View, id mail.ID) ([]mail.Item, bool, error) {
	got, err := v.Svc.History(v.Ctx(), mail.HistoryQuery{Thread: id, Archive: true, Deliveries: true,
		Limit: mail.MaxLimit})
	if err != nil {
		return nil, false, err
	}
	items := v.Undeleted(got.Messages)
	if len(items) == 0 {
		return nil, false, mail.Errorf(mail.NotFound, "there is no message %s in room %s; it may have been erased", id,
			v.Room)
	}
	slices.SortStableFunc(items, func(a, b mail.Item) int { return cmp.Compare(a.Sent, b.Sent) })
	return items, got.More, nil
}

// head collects the conversation's issues, participants and documents.
func (p *threadPage) head(items []mail.Item) {
	for i := range items {
		it := &items[i]
		p.Issues = withNew(p.Issues, it.Issue)
		p.People = withNew(p.People, it.From.Signer())
		for _, d := range it.Deliveries {
			p.People = withNew(p.People, d.Agent)
		}
		for _, d := range it.Docs {
			if !slices.ContainsFunc(p.Docs, func(known threadDoc) bool { return known.Path == d.Path }) {
				p.Docs = append(p.Docs, threadDoc{d.Path, p.LetterHref(it.ID)})
			}
		}
		if unreadByUser(it) {
			p.Unread++
		}
	}
}

// withNew appends a name to a list that lacks it.
func withNew[T ~string](list []T, one T) []T {
	if one == "" || slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// IssueHref is the history of an issue.
func (p *threadPage) IssueHref(issue string) string {
	return page.Filters{"issue": issue}.Href(p.Base + "/history")
}

// filters select this thread.
func (p *threadPage) filters() page.Filters {
	return page.Filters{"thread": string(p.ID), "archive": "1"}
}

// HistoryHref is the address of the thread in the history.
func (p *threadPage) HistoryHref() string { return p.filters().Href(p.Base + "/history") }

// ExportHref is the address that exports the thread as a file.
func (p *threadPage) ExportHref(format string) string {
	return p.filters().Href(p.Base+"/history/export", "format", format)
}

// Here is the address of the page, used to refresh it.
func (p *threadPage) Here() string { return p.Base + page.ThreadPath(p.ID) }

// tree arranges replies below the messages they answer. A reply to a message that is absent becomes a root, as does
// the first message of a cycle.
func (p *threadPage) tree(items []mail.Item, receipts map[mail.ID][]mail.Event) []branch {
	parents := parentsOf(items)
	below := make(map[int][]int)
	for i := range items {
		below[parents[i]] = append(below[parents[i]], i)
	}
	last := -1 // the message above
	var grow func(list []int, depth int) []branch
	grow = func(list []int, depth int) []branch {
		var out []branch
		for _, i := range list {
			it := items[i]
			b := branch{Post: page.Post{View: p.View, Item: it, Reply: page.Query(p.Here(), "reply", string(it.ID))}}
			b.Notes = p.DeliveryNotes(&it, receipts[it.ID])
			if j := parents[i]; j >= 0 {
				b.Answers, b.Apart = words.Sender(items[j].Message), j != last
			}
			last = i
			if depth < deepest {
				b.Below = grow(below[i], depth+1)
				out = append(out, b)
			} else {
				out = append(append(out, b), grow(below[i], depth)...)
			}
		}
		return out
	}
	return grow(below[-1], 0)
}

// parentsOf returns the index of the message that each one answers; -1: none. Ids from other systems can form cycles,
// so the first message of a cycle has no parent.
func parentsOf(items []mail.Item) []int {
	at := make(map[mail.ID]int, len(items))
	parents := make([]int, len(items))
	for i := range items {
		at[items[i].ID], parents[i] = i, -1
	}
	for i := range items {
		j, ok := at[items[i].ReplyTo]
		if !ok {
			continue
		}
		up := j
		for up >= 0 && up != i {
			up = parents[up]
		}
		if up < 0 {
			parents[i] = j
		}
	}
	return parents
}

func indexOf(items []mail.Item, id mail.ID) int {
	return slices.IndexFunc(items, func(it mail.Item) bool { return it.ID == id })
}

// writeTo returns the box below the conversation: it answers the message named in the address, else the last message
// from another sender who can be answered. nil: no one can.
func (p *threadPage) writeTo(items []mail.Item) (*page.Box, error) {
	b := &page.Box{View: p.View, Plain: p.Here(), Next: page.ThreadPath(p.ID)}
	if id := mail.ID(p.R.URL.Query().Get("reply")); id != "" {
		i := indexOf(items, id)
		if i < 0 {
			return nil, mail.Errorf(mail.NotFound, "there is no message %s in this conversation", id)
		}
		b.Answers = words.Sender(items[i].Message) + ": " + words.Subject(&items[i].Message)
		return b.Answering(&items[i])
	}
	for i := range slices.Backward(items) {
		if items[i].From == mail.ToUser || items[i].From == mail.FromSystem {
			continue
		}
		if b, err := b.Answering(&items[i]); b != nil || err != nil {
			return b, err
		}
	}
	return b.Answering(&items[len(items)-1])
}

// unreadByUser reports whether the user has not read a message addressed to them.
func unreadByUser(it *mail.Item) bool {
	return slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
		return d.Agent == mail.User &&
			slices.Contains([]mail.DeliveryState{mail.Queued, mail.Notified, mail.Presented}, d.State)
	})
}

// threadRead marks the user's mail in a thread as read.
func threadRead(v *page.View) error {
	id, ok := strings.CutSuffix(v.R.PathValue("id"), "/read")
	if !ok {
		return page.Nowhere(v)
	}
	items, _, err := threadOf(v, mail.ID(id))
	if err != nil {
		return err
	}
	var ids []mail.ID
	for i := range items {
		if unreadByUser(&items[i]) {
			ids = append(ids, items[i].ID)
		}
	}
	if len(ids) > 0 {
		if _, err := v.Svc.Mark(v.Ctx(), mail.Marking{IDs: ids, Mark: mail.MarkRead}); err != nil {
			return err
		}
	}
	if v.Scripted() {
		v.R.SetPathValue("id", id)
		return thread(v)
	}
	return v.Redirect(page.ThreadPath(mail.ID(id)))
}
