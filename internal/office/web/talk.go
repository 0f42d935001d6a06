package web

import (
	"cmp"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

const (
	talkPosts = 50              // what a conversation shows at first, and what "earlier" adds
	talkMost  = 300             // what it shows at most: each change in the room makes it anew
	talkCrowd = 6               // recipients that are named one by one
	talkPause = 5 * time.Minute // after which a sender that goes on is named again
)

// talk is a conversation that goes on: the newest message is at the bottom, and it grows at both ends.
type talk struct {
	*view
	Path    string // of the page
	Mixed   bool   // it is an agent's, to many addresses
	Days    []group[said]
	Count   int
	Here    string // where it is got again, from the message on with which it begins
	Earlier string // where it is got with more of what came before; "": this is all
	History string // where the rest is, if it is too much for this page
}

// said is a message of a conversation in its place.
type said struct {
	post
	Mixed    bool  // those around it are to others
	GoesOn   bool  // the message above is of the same sender, and of the same time
	Answered *post // what it answers, if that stands further up
}

// talkOf returns the messages that ask accepts in order of sending, whenever they arrived: the newest, or those from the
// place on that the address names.
func talkOf(v *view, ask mail.HistoryQuery, path string) (*talk, error) {
	from, err := talkFrom(v, ask)
	if err != nil {
		return nil, err
	}
	if ask.Limit = talkPosts; from != (spot{}) || v.r.URL.Query().Has("from") {
		ask.Limit = talkMost
	}
	ask.Deliveries, ask.BySent = true, true
	page, err := v.svc.History(v.ctx(), ask)
	if err != nil {
		return nil, err
	}
	items := v.shown(page.Messages)
	if i := slices.IndexFunc(items, func(it mail.Item) bool { return !spotOf(&it).before(from) }); i > 0 {
		items, page.More = items[i:], true
	}
	t := &talk{view: v, Path: path, Mixed: ask.Agent != "", Count: len(items), Here: path}
	there := make(map[mail.ID]int, len(items))
	for i := range items {
		t.add(items, i, there)
		there[items[i].ID] = i
	}
	if len(items) == 0 {
		return t, nil
	}
	first := spotOf(&items[0]).String()
	t.Here = query(path, "from", first)
	switch {
	case !page.More: // what comes in late may stand above the first
		t.Here = query(path, "from", "")
	case len(items) < talkMost:
		t.Earlier = query(path, "before", first)
	default:
		t.History = historyHref(v, ask)
	}
	return t, nil
}

// talkFrom returns where the conversation is to begin; the zero spot: wherever the newest messages do.
func talkFrom(v *view, ask mail.HistoryQuery) (spot, error) {
	q := v.r.URL.Query()
	before, err := parseSpot(q.Get("before"))
	if err != nil || before == (spot{}) {
		from, err2 := parseSpot(q.Get("from"))
		return from, cmp.Or(err, err2)
	}
	ask.BySent, ask.Until, ask.Before, ask.Limit = true, before.sent, before.seq, talkPosts
	page, err := v.svc.History(v.ctx(), ask)
	if err != nil || len(page.Messages) == 0 {
		return before, err
	}
	return spotOf(&page.Messages[0]), nil
}

// historyHref is the address of the history with what ask asks for.
func historyHref(v *view, ask mail.HistoryQuery) string {
	return address(v.Base+"/history", "agent", string(ask.Agent), "to", ask.To)
}

// add puts items[i] below the others. there says where those stand.
func (t *talk) add(items []mail.Item, i int, there map[mail.ID]int) {
	it := items[i]
	name := words.Date(t.Now, it.Sent)
	s := said{post: post{view: t.view, Item: it, Reply: query(t.Path, "reply", string(it.ID)),
		ManyReaders: len(it.Deliveries) > talkCrowd}, Mixed: t.Mixed}
	if i > 0 {
		above := &items[i-1]
		s.GoesOn = words.Date(t.Now, above.Sent) == name && above.From == it.From && above.Via == it.Via && slices.Equal(above.To, it.To) &&
			it.Sent.Std().Sub(above.Sent.Std()) < talkPause
	}
	if j, ok := there[it.ReplyTo]; ok && j != i-1 {
		s.Answered = &post{view: t.view, Item: items[j]}
	}
	t.Days = grouped(t.Days, name, s)
}

// writingTo is the box below a conversation, which may be an answer to the message that the address names: then it goes
// to that one's sender too.
func writingTo(v *view, to mail.Address, path, next string) (box, error) {
	b := box{view: v, To: string(to), Label: "Write to " + words.Who(to), Next: next}
	id := v.r.URL.Query().Get("reply")
	b.Plain = path
	if id == "" {
		return b, nil
	}
	it, err := v.svc.Message(v.ctx(), mail.ID(id))
	if err != nil {
		return b, err
	}
	b.ReplyTo, b.Answers = it.ID, words.Sender(it.Message)+": "+words.Subject(&it.Message)
	b.Kind = string(it.AnswerType(mail.User))
	if it.From != to && it.From != mail.ToUser && it.From != mail.FromSystem {
		also, err := v.reachable([]mail.Address{it.From})
		if err != nil {
			return b, err
		}
		for _, a := range also {
			b.Also = append(b.Also, string(a))
		}
	}
	return b, nil
}
