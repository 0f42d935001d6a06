package room

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

const (
	talkPosts = 50              // messages shown at first, and added by "earlier"
	talkMost  = 300             // messages shown at most: each change in the room renders them again
	talkCrowd = 6               // recipients named one by one
	talkPause = 5 * time.Minute // a sender is named again after a pause this long
)

// talk is a live conversation: the newest message is at the bottom, and it grows at both ends.
type talk struct {
	*page.View
	Path    string // of the page
	Mixed   bool   // an agent's conversation, to many addresses
	Days    []page.Group[said]
	Count   int
	Here    string // the address that refreshes it, from its first message on
	Earlier string // the address with earlier messages; "": none are left
	History string // the address of the rest, if this page cannot show it
}

// said is a message in a conversation.
type said struct {
	page.Post
	Mixed    bool       // its neighbours have other recipients
	GoesOn   bool       // the message above has the same sender, and is recent
	Answered *page.Post // the message it answers, if that is further up
}

// talkOf returns the messages that match ask in the order sent: the newest, or those from the spot in the address on.
func talkOf(v *page.View, ask mail.HistoryQuery, path string) (*talk, error) {
	from, err := talkFrom(v, ask)
	if err != nil {
		return nil, err
	}
	if ask.Limit = talkPosts; from != (page.Spot{}) || v.R.URL.Query().Has("from") {
		ask.Limit = talkMost
	}
	ask.Deliveries, ask.BySent = true, true
	got, err := v.Svc.History(v.Ctx(), ask)
	if err != nil {
		return nil, err
	}
	items := v.Undeleted(got.Messages)
	if i := slices.IndexFunc(items, func(it mail.Item) bool { return !page.SpotOf(&it).Before(from) }); i > 0 {
		items, got.More = items[i:], true
	}
	t := &talk{View: v, Path: path, Mixed: ask.Agent != "", Count: len(items), Here: path}
	there := make(map[mail.ID]int, len(items))
	for i := range items {
		t.add(items, i, there)
		there[items[i].ID] = i
	}
	if len(items) == 0 {
		return t, nil
	}
	first := page.SpotOf(&items[0]).String()
	t.Here = page.Query(path, "from", first)
	switch {
	case !got.More: // a late arrival may sort above the first
		t.Here = page.Query(path, "from", "")
	case len(items) < talkMost:
		t.Earlier = page.Query(path, "before", first)
	default:
		t.History = historyHref(v, ask)
	}
	return t, nil
}

// talkFrom returns the spot where the conversation begins; the zero spot: show the newest messages.
func talkFrom(v *page.View, ask mail.HistoryQuery) (page.Spot, error) {
	q := v.R.URL.Query()
	before, err := page.ParseSpot(q.Get("before"))
	if err != nil || before == (page.Spot{}) {
		from, err2 := page.ParseSpot(q.Get("from"))
		return from, cmp.Or(err, err2)
	}
	ask.BySent, ask.Until, ask.Before, ask.Limit = true, before.Sent, before.Seq, talkPosts
	got, err := v.Svc.History(v.Ctx(), ask)
	if err != nil || len(got.Messages) == 0 {
		return before, err
	}
	return page.SpotOf(&got.Messages[0]), nil
}

// historyHref is the address of the history that ask selects.
func historyHref(v *page.View, ask mail.HistoryQuery) string {
	return page.Address(v.Base+"/history", "agent", string(ask.Agent), "to", ask.To)
}

// add appends items[i]. there holds the indexes of the messages above.
func (t *talk) add(items []mail.Item, i int, there map[mail.ID]int) {
	it := items[i]
	name := words.Date(t.Now, it.Sent)
	s := said{Post: page.Post{View: t.View, Item: it, Reply: page.Query(t.Path, "reply", string(it.ID)),
		ManyReaders: len(it.Deliveries) > talkCrowd}, Mixed: t.Mixed}
	if i > 0 {
		above := &items[i-1]
		s.GoesOn = words.Date(t.Now, above.Sent) == name && above.From == it.From && above.Via == it.Via &&
			slices.Equal(above.To, it.To) && it.Sent.Std().Sub(above.Sent.Std()) < talkPause
	}
	if j, ok := there[it.ReplyTo]; ok && j != i-1 {
		s.Answered = &page.Post{View: t.View, Item: items[j]}
	}
	t.Days = page.Grouped(t.Days, name, s)
}

// writingTo returns the box below a conversation. If the address names a message, the box answers it and also writes
// to its sender.
func writingTo(v *page.View, to mail.Address, path string) (page.Box, error) {
	b := page.Box{View: v, To: string(to), Label: "Write to " + words.Who(to), Plain: path,
		Next: strings.TrimPrefix(path, v.Base)}
	id := v.R.URL.Query().Get("reply")
	if id == "" {
		return b, nil
	}
	it, err := v.Svc.Message(v.Ctx(), mail.ID(id))
	if err != nil {
		return b, err
	}
	b.ReplyTo, b.Answers = it.ID, words.Sender(it.Message)+": "+words.Subject(&it.Message)
	b.Kind = string(it.AnswerType(mail.User))
	if it.From != to && it.From != mail.ToUser && it.From != mail.FromSystem {
		also, err := v.Reachable([]mail.Address{it.From})
		if err != nil {
			return b, err
		}
		b.Also = page.Texts(also)
	}
	return b, nil
}
