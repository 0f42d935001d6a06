package web

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

const (
	deepest  = 4      // how far replies are indented; those below are folded up
	mostTold = 50_000 // events to look through for a thread's receipts: reading them takes less than a second
)

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

// threadPath is the path of the conversation to which the message belongs that the address names, and that message's id.
func threadPath(id mail.ID) string { return "/t/" + url.PathEscape(string(id)) }

func thread(v *view) error {
	v.Place = "history"
	if v.svc == nil {
		return nowhere(v)
	}
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
		told, err := v.told(items)
		if err != nil {
			return err
		}
		p.Roots = p.tree(items, told)
	}
	return v.render("thread", p, "thread", "writing")
}

// thread returns the messages of the thread to which one belongs, in order, and whether it has earlier ones than it returns.
func (v *view) thread(id mail.ID) ([]mail.Item, bool, error) {
	page, err := v.svc.History(v.ctx(), mail.HistoryQuery{Thread: id, Archive: true, Deliveries: true, Limit: mail.MaxLimit})
	if err != nil {
		return nil, false, err
	}
	items := v.shown(page.Messages)
	if len(items) == 0 {
		return nil, false, mail.Errorf(mail.NotFound, "there is no message %s in room %s; it may have been erased", id, v.Room)
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
				p.Docs = append(p.Docs, threadDoc{d.Path, p.docHref(it, d)})
			}
		}
		if unreadByUser(it) {
			p.Unread++
		}
	}
}

// docHref is where a document is seen: at the message that names it.
func (p *threadPage) docHref(it *mail.Item, _ mail.Doc) string {
	return post{view: p.view, Item: *it}.ThreadHref()
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
	return p.Base + "/history/export" + filters{"thread": string(p.ID), "archive": "1"}.address(map[string]string{"format": format})
}

// Here is the address of the page, for its refreshing.
func (p *threadPage) Here() string { return p.Base + threadPath(p.ID) }

// tree arranges messages below what they answer. A message that answers one that is not there, or not there before it, stands by itself.
func (p *threadPage) tree(items []mail.Item, told map[mail.ID][]mail.Event) []branch {
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
			b := branch{post: post{view: p.view, Item: it, Depth: depth, Reply: p.Here() + "?reply=" + url.QueryEscape(string(it.ID))}}
			b.Fates = p.fates(it, told[it.ID])
			if n > 0 && depth > 0 {
				b.Answers = who(items[indexOf(items, it.ReplyTo)].From)
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

// told returns the receipts of a thread's messages, from the journal: the messages themselves only tell how they stand now.
func (v *view) told(items []mail.Item) (map[mail.ID][]mail.Event, error) {
	out := make(map[mail.ID][]mail.Event)
	for i := range items {
		out[items[i].ID] = nil
	}
	first := items[0].Seq
	if v.At-first > mostTold {
		return out, nil
	}
	w, err := v.svc.Watch(v.ctx(), first)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for at := first; at < v.At; {
		// The journal may have lost its last place to compaction: then nothing more comes.
		ctx, cancel := context.WithTimeout(v.ctx(), 200*time.Millisecond)
		events, err := w.Next(ctx)
		cancel()
		if err != nil {
			return out, v.ctx().Err()
		}
		for _, e := range events {
			at = e.Seq
			if e.Receipt == nil {
				continue
			}
			if _, ok := out[e.Receipt.Message]; ok {
				out[e.Receipt.Message] = append(out[e.Receipt.Message], e)
			}
		}
	}
	return out, nil
}

// fates says for each recipient of a message what happened to it, one after the other.
func (p *threadPage) fates(it mail.Item, told []mail.Event) []fate {
	var out []fate
	for _, d := range it.Deliveries {
		f := fate{State: d.State, Who: recipient(d)}
		var steps []string
		for _, e := range told {
			if e.Receipt.Reader.Signer() == d.Agent {
				steps = append(steps, p.step(e, it.Sent))
			}
		}
		if steps = slices.Compact(steps); len(steps) == 0 || d.State != mail.Read && d.State != mail.Archived && d.State != mail.Presented {
			steps = append(steps, became(p.Now, d)) // what waits, and what never came
		}
		if n := len(steps); n > 1 && d.State == mail.Notified {
			steps = steps[:n-1]
		}
		f.Text = strings.Join(steps, ", ")
		out = append(out, f)
	}
	return out
}

// step is a receipt in words. On the day of the message itself, the time is enough.
func (p *threadPage) step(e mail.Event, sent mail.Time) string {
	at := moment(p.Now, e.At)
	if date(p.Now, e.At) == date(p.Now, sent) {
		at = clock(e.At)
	}
	text := string(e.Receipt.Mark) + " " + at
	if e.Receipt.Door != "" {
		text += " through " + e.Receipt.Door
	}
	return text
}

// writeTo is the box below the conversation: an answer to the message that the address names, else to the last that somebody else wrote.
func (p *threadPage) writeTo(items []mail.Item) (box, error) {
	b := box{view: p.view, Plain: p.Here(), Next: threadPath(p.ID)}
	i := len(items) - 1
	if id := mail.ID(p.r.URL.Query().Get("reply")); id != "" {
		if i = indexOf(items, id); i < 0 {
			return b, mail.Errorf(mail.NotFound, "there is no message %s in this conversation", id)
		}
		b.Answers = who(items[i].From) + ": " + subject(&items[i].Message)
	} else if j := lastOfOthers(items); j >= 0 {
		i = j
	}
	it := &items[i]
	b.ReplyTo = it.ID
	if it.Type == mail.Question && toUser(&it.Message) {
		b.Kind = string(mail.Answer)
	}
	b.To = string(it.From)
	if it.From == mail.ToUser || it.From == mail.FromSystem {
		b.To = ""
		for _, a := range it.To {
			if a == mail.ToUser {
				continue
			}
			if b.To == "" {
				b.To = string(a)
			} else {
				b.Also = append(b.Also, string(a))
			}
		}
	}
	if b.To == "" {
		b.To = string(mail.ToOrchestrator)
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
		return d.Agent == mail.User && slices.Contains([]mail.DeliveryState{mail.Queued, mail.Notified, mail.Presented}, d.State)
	})
}

// threadRead marks what waits in a thread for the user as read.
func threadRead(v *view) error {
	id, ok := strings.CutSuffix(v.r.PathValue("id"), "/read")
	if !ok || v.svc == nil {
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
