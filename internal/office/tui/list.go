package tui

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/markdown"
)

// list is a list of conversations.
type list struct {
	pane[mail.Conversation]
	next  string // where the post office goes on; "": there is no more
	asked bool   // for more
}

func newList() list {
	return list{pane: pane[mail.Conversation]{key: keyOf, texts: func(c *mail.Conversation) []string {
		return []string{c.Subject, c.Preview, string(c.From), string(c.Room)}
	}}}
}

// keyOf names the conversation of a row.
func keyOf(c *mail.Conversation) string {
	if c.Folded > 0 {
		return "status"
	}
	return talkKey(c.Room, c.ThreadRoot())
}

func talkKey(room mail.RoomName, root mail.ID) string { return string(room) + "/" + string(root) }

// page takes a first page as it is now, followed by what was there.
func (l *list) page(rows []mail.Conversation, next string, screen int) {
	if tail := l.behind(rows, next); len(tail) > 0 {
		rows = append(rows, tail...)
	} else {
		l.next = next
	}
	l.refresh(rows, screen)
}

// behind returns those of the rows that were there which stand behind a new first page.
func (l *list) behind(page []mail.Conversation, next string) []mail.Conversation {
	if next == "" || len(page) == 0 || len(l.all) <= len(page) {
		return nil
	}
	newer, last := l.keys(page), page[len(page)-1].Spot()
	return slices.DeleteFunc(slices.Clone(l.all), func(c mail.Conversation) bool {
		return newer[keyOf(&c)] || c.Spot().Compare(last) <= 0
	})
}

// page is how many conversations are asked for at once.
const page = 100

// deskLoaded is the desk as the post office has it; rooms are there for a search.
type deskLoaded struct {
	filter filter
	desk   mail.Desk
	err    error
}

// loadDesk looks at both lists, as far as they have been scrolled.
func (m *model) loadDesk() effect {
	f := m.filter
	q := mail.DeskQuery{Rooms: m.rooms(), Limit: min(max(page, len(m.lists[updates].all)), mail.MaxLimit)}
	return call(func(ctx context.Context, p mail.Office) message {
		d, err := p.Desk(ctx, q)
		if err == nil && (f.status || f.from != "") {
			q.Part, q.Status, q.From = mail.Updates, f.status, string(f.from)
			var some mail.Desk
			some, err = p.Desk(ctx, q)
			d.Updates, d.Next = some.Updates, some.Next
		}
		return deskLoaded{f, d, err}
	})
}

func (msg deskLoaded) change(m *model) []effect {
	if m.desk.end() || msg.filter.status != m.filter.status || msg.filter.from != m.filter.from {
		m.desk.running = true
		m.desk.again = false
		return []effect{m.loadDesk()}
	}
	if m.stale = msg.err != nil; m.stale {
		if m.notice == "" && m.lost == nil {
			m.wrong(msg.err)
		}
		return nil
	}
	d := msg.desk
	m.waiting, m.unread, m.shut, m.trouble = d.Waiting, d.Unread, d.Away, d.Trouble
	for i := range d.Needs {
		if m.hidden(d.Needs[i]) {
			m.waiting--
		}
	}
	m.lists[needs].page(slices.DeleteFunc(d.Needs, m.hidden), "", m.listRows())
	if m.filter.search == "" {
		m.lists[updates].page(slices.DeleteFunc(d.Updates, m.hidden), d.Next, m.listRows())
	}
	return m.more()
}

// hidden reports whether a row is as good as gone.
func (m *model) hidden(c mail.Conversation) bool {
	return slices.ContainsFunc(m.pending, func(p *pending) bool { return p.hides && p.key == keyOf(&c) })
}

// moreLoaded is a later page of the updates.
type moreLoaded struct {
	after string
	desk  mail.Desk
	err   error
}

// more asks for a page of updates that will soon be scrolled to.
func (m *model) more() []effect {
	l := &m.lists[updates]
	if m.tab != updates || l.next == "" || l.asked || l.top+3*m.listRows() < len(l.rows) {
		return nil
	}
	l.asked = true
	q := mail.DeskQuery{Rooms: m.rooms(), Part: mail.Updates, After: l.next, Limit: 5 * page, Status: m.filter.status,
		From: string(m.filter.from)}
	return []effect{call(func(ctx context.Context, p mail.Office) message {
		d, err := p.Desk(ctx, q)
		return moreLoaded{q.After, d, err}
	})}
}

func (msg moreLoaded) change(m *model) []effect {
	l := &m.lists[updates]
	l.asked = false
	switch {
	case msg.err != nil:
		m.wrong(msg.err)
	case msg.after == l.next:
		known := l.keys(l.all)
		for _, c := range msg.desk.Updates {
			if !known[keyOf(&c)] && !m.hidden(c) {
				l.all = append(l.all, c)
			}
		}
		l.filter(l.words)
		l.next = msg.desk.Next
	}
	return nil
}

// shown returns the list that is on the screen; nil on the tab of agents.
func (m *model) shown() *list {
	if m.tab == agents {
		return nil
	}
	return &m.lists[m.tab]
}

// found answers a search.
type found struct {
	words string
	rows  []mail.Conversation
	err   error
}

// search looks for words in all rooms, archived mail included. The best hit of each conversation comes, the newest
// first.
func search(rooms []mail.RoomName, words string) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		if rooms == nil {
			list, err := p.Rooms(ctx)
			if err != nil {
				return found{words, nil, err}
			}
			for _, r := range list {
				rooms = append(rooms, r.Name)
			}
		}
		var rows []mail.Conversation
		for _, room := range rooms {
			hits, err := searchRoom(ctx, p, room, words)
			if err != nil {
				return found{words, nil, err}
			}
			rows = append(rows, hits...)
		}
		slices.SortFunc(rows, func(a, b mail.Conversation) int { return a.Spot().Compare(b.Spot()) })
		return found{words, rows, nil}
	})
}

func searchRoom(ctx context.Context, p mail.Office, room mail.RoomName, words string) ([]mail.Conversation, error) {
	svc, err := p.Room(ctx, room, mail.User)
	if err != nil {
		return nil, err
	}
	hits, err := svc.History(ctx, mail.HistoryQuery{Search: words, Conversations: true, Archive: true, Limit: page})
	if err != nil {
		return nil, err
	}
	rows := make([]mail.Conversation, 0, len(hits.Messages))
	for _, it := range hits.Messages {
		c := mail.Conversation{Room: room, Item: it, Preview: markdown.Preview(it.Body, maxPreview), Messages: 1}
		if !it.Read && it.State != "" {
			c.Unread = 1
		}
		rows = append(rows, c)
	}
	return rows, nil
}

// maxPreview is how much of a text is a preview, in characters.
const maxPreview = 160

func (msg found) change(m *model) []effect {
	if msg.words != m.filter.search {
		return nil // another search has begun
	}
	if msg.err != nil {
		return m.wrong(msg.err)
	}
	l := &m.lists[updates]
	*l = newList()
	l.page(msg.rows, "", m.listRows())
	return m.say("")
}

// ago says how long t is past, in few columns.
func ago(now time.Time, t mail.Time) string {
	switch d := now.Sub(t.Std()); {
	case t == 0:
		return ""
	case d < wording.Old:
		return wording.Span(d)
	}
	return t.Std().Local().Format(time.DateOnly)
}
