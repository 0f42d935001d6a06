package web

import (
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

const deepest = 4 // how far replies are indented; those below are folded up

// threadPage is a conversation as the tree that its replies make.
type threadPage struct {
	*view
	ID      mail.ID // of the message that began it
	Subject string
	Roots   []branch
	Count   int
	Earlier bool // it is longer than what is shown
	Issues  []string
	People  []mail.Name
	Docs    []threadDoc
	Unread  int // of those messages that are to the user
	Box     box
}

// threadDoc is a document that a message of the thread names.
type threadDoc struct {
	Path, Href string
}

// branch is a message and what was answered to it.
type branch struct {
	post
	Answers string // whom it answers, if that does not stand right above it
	Below   []branch
	Deeper  bool // what is below is indented
	Folded  int  // how many are below, if they are folded up
	Last    mail.Item
}

// threadPath is the path of the conversation to which the message belongs that the address names, and that message's
// id.
func threadPath(id mail.ID) string { return "/t/" + url.PathEscape(string(id)) }

func thread(v *view) error {
	v.Place = "history"
	items, more, err := v.thread(mail.ID(v.r.PathValue("id")))
	if err != nil {
		return err
	}
	p := &threadPage{view: v, ID: items[0].ThreadRoot(), Count: len(items), Earlier: more}
	p.Subject = subject(&items[0].Message)
	p.Title = p.Subject
	p.head(items)
	if p.Box, err = p.writeTo(items); err != nil {
		return err
	}
	if !v.partial("writing") {
		receipts, err := v.receipts(items)
		if err != nil {
			return err
		}
		p.Roots = p.tree(items, receipts)
	}
	return v.render("thread", p, "thread", "writing")
}

// thread returns the messages of the thread to which one belongs, in order, and whether it has earlier ones than it
// returns.
func (v *view) thread(id mail.ID) ([]mail.Item, bool, error) {
	page, err := v.svc.History(v.ctx(), mail.HistoryQuery{Thread: id, Archive: true, Deliveries: true,
		Limit: mail.MaxLimit})
	if err != nil {
		return nil, false, err
	}
	items := v.shown(page.Messages)
	if len(items) == 0 {
		return nil, false, mail.Errorf(mail.NotFound, "there is no message %s in room %s; it may have been erased", id,
			v.Room)
	}
	return items, page.More, nil
}

// head notes what the whole conversation is about, and who takes part.
func (p *threadPage) head(items []mail.Item) {
	add := func(list []string, one string) []string {
		if one == "" || slices.Contains(list, one) {
			return list
		}
		return append(list, one)
	}
	docs := make(map[string]bool)
	for i := range items {
		it := &items[i]
		p.Issues = add(p.Issues, it.Issue)
		names := []mail.Name{it.From.Signer()}
		for _, d := range it.Deliveries {
			names = append(names, d.Agent)
		}
		for _, n := range names {
			if n != "" && !slices.Contains(p.People, n) {
				p.People = append(p.People, n)
			}
		}
		for _, d := range it.Docs {
			if !docs[d.Path] {
				docs[d.Path] = true
				p.Docs = append(p.Docs, threadDoc{d.Path, p.LetterHref(it.ID)})
			}
		}
		if unreadByUser(it) {
			p.Unread++
		}
	}
}

// IssueHref is everything about an issue.
func (p *threadPage) IssueHref(issue string) string {
	return p.Base + "/history" + filters{"issue": issue}.address(nil)
}

// HistoryHref is the thread in the history.
func (p *threadPage) HistoryHref() string {
	return p.Base + "/history" + filters{"thread": string(p.ID), "archive": "1"}.address(nil)
}

// ExportHref is the address from which the thread is had as a file.
func (p *threadPage) ExportHref(format string) string {
	return p.Base + "/history/export" + filters{"thread": string(p.ID),
		"archive": "1"}.address(map[string]string{"format": format})
}

// Here is the address of the page, for its refreshing.
func (p *threadPage) Here() string { return p.Base + threadPath(p.ID) }

// tree arranges messages below what they answer. A message that answers one that is not there, or not there before it,
// stands by itself.
func (p *threadPage) tree(items []mail.Item, receipts map[mail.ID][]mail.Event) []branch {
	below := make(map[mail.ID][]int)
	seen := make(map[mail.ID]bool)
	var roots []int
	for i := range items {
		if to := items[i].ReplyTo; seen[to] {
			below[to] = append(below[to], i)
		} else {
			roots = append(roots, i)
		}
		seen[items[i].ID] = true
	}
	var grow func(list []int, depth int) []branch
	grow = func(list []int, depth int) []branch {
		var out []branch
		for n, i := range list {
			it := items[i]
			b := branch{post: post{view: p.view, Item: it, Depth: depth, Reply: p.Here() + "?reply=" +
				url.QueryEscape(string(it.ID))}}
			b.Notes = p.deliveryNotes(&it, receipts[it.ID], step)
			if n > 0 && depth > 0 {
				b.Answers = from(items[indexOf(items, it.ReplyTo)].Message)
			}
			replies := below[it.ID]
			next := depth + 1
			if depth > 0 && len(replies) == 1 && n == len(list)-1 {
				next = depth // a talk of two goes straight down
			}
			b.Below, b.Deeper = grow(replies, next), next > depth
			if next > depth && next > deepest {
				b.fold()
			}
			out = append(out, b)
		}
		return out
	}
	return grow(roots, 0)
}

func indexOf(items []mail.Item, id mail.ID) int {
	return slices.IndexFunc(items, func(it mail.Item) bool { return it.ID == id })
}

// fold counts what is below b, and finds the last of it.
func (b *branch) fold() {
	var walk func(list []branch)
	walk = func(list []branch) {
		for i := range list {
			b.Folded++
			if list[i].Seq > b.Last.Seq {
				b.Last = list[i].Item
			}
			walk(list[i].Below)
		}
	}
	walk(b.Below)
}

// writeTo is the box below the conversation: an answer to the message that the address names, else to the last that
// somebody else wrote.
func (p *threadPage) writeTo(items []mail.Item) (box, error) {
	b := box{view: p.view, Plain: p.Here(), Next: threadPath(p.ID)}
	i := len(items) - 1
	if id := mail.ID(p.r.URL.Query().Get("reply")); id != "" {
		if i = indexOf(items, id); i < 0 {
			return b, mail.Errorf(mail.NotFound, "there is no message %s in this conversation", id)
		}
		b.Answers = from(items[i].Message) + ": " + subject(&items[i].Message)
	} else if j := lastOfOthers(items); j >= 0 {
		i = j
	}
	it := &items[i]
	b.ReplyTo = it.ID
	b.Kind = string(replyType(&it.Message))
	for _, a := range answerable(&it.Message) {
		b.Also = append(b.Also, string(a))
	}
	if b.To = string(mail.ToOrchestrator); len(b.Also) > 0 {
		b.To, b.Also = b.Also[0], b.Also[1:]
	}
	b.Label = "Reply to " + who(b.To)
	return b, nil
}

func lastOfOthers(items []mail.Item) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].From != mail.ToUser && items[i].From != mail.FromSystem {
			return i
		}
	}
	return -1
}

// unreadByUser reports whether a message waits for the user to read it.
func unreadByUser(it *mail.Item) bool {
	return slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
		return d.Agent == mail.User &&
			slices.Contains([]mail.DeliveryState{mail.Queued, mail.Notified, mail.Presented}, d.State)
	})
}

// threadRead marks what waits in a thread for the user as read.
func threadRead(v *view) error {
	id, ok := strings.CutSuffix(v.r.PathValue("id"), "/read")
	if !ok {
		return nowhere(v)
	}
	items, _, err := v.thread(mail.ID(id))
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
		if _, err := v.svc.Mark(v.ctx(), mail.Marking{IDs: ids, Mark: mail.MarkRead}); err != nil {
			return err
		}
	}
	if v.scripted() {
		v.r.SetPathValue("id", id)
		return thread(v)
	}
	return v.redirect(threadPath(mail.ID(id)))
}
