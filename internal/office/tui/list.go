package tui

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/markdown"
)

// row is a row of a list: a conversation, or a client's dialog.
type row struct {
	mail.Conversation
	card *mail.Card // the dialog; nil: the row is mail
}

// rowsOf makes rows of conversations.
func rowsOf(list []mail.Conversation) []row {
	rows := make([]row, len(list))
	for i := range list {
		rows[i].Conversation = list[i]
	}
	return rows
}

// list is a list of conversations, after the dialogs.
type list struct {
	pane[row]
	next  string // the cursor of the next page; "": none
	asked bool   // the next page is loading
}

func newList() list {
	return list{pane: pane[row]{key: keyOf, texts: func(c *row) []string {
		return []string{c.Subject, c.Preview, string(c.From), string(c.Room)}
	}}}
}

// keyOf identifies the conversation or dialog of a row.
func keyOf(c *row) string {
	switch {
	case c.card != nil:
		return dialogKey(c.card.ID)
	case c.Folded > 0:
		return "status"
	}
	return talkKey(c.Room, c.ThreadRoot())
}

func talkKey(room mail.RoomName, root mail.ID) string { return string(room) + "/" + string(root) }

// page replaces the first page and keeps the later rows.
func (l *list) page(rows []row, next string, screen int) {
	if tail := l.after(rows, next); len(tail) > 0 {
		rows = append(rows, tail...)
	} else {
		l.next = next
	}
	l.refresh(rows, screen)
}

// after returns the known rows that come after a new first page.
func (l *list) after(page []row, next string) []row {
	if next == "" || len(page) == 0 || len(l.all) <= len(page) {
		return nil
	}
	newer, last := l.keys(page), page[len(page)-1].Spot()
	return slices.DeleteFunc(slices.Clone(l.all), func(c row) bool {
		return newer[keyOf(&c)] || c.Spot().Compare(last) <= 0
	})
}

// page is how many conversations one call asks for.
const page = 100

// deskLoaded is the result of loadDesk, with the clients' dialogs.
type deskLoaded struct {
	filter filter
	desk   mail.Desk
	cards  []mail.Card
	err    error
}

// loadDesk loads both lists, as far as they have been scrolled.
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
		var asked mail.Cards
		if err == nil {
			asked, err = p.Dialogs(ctx, mail.DialogQuery{Rooms: q.Rooms})
		}
		return deskLoaded{f, d, asked.Cards, err}
	})
}

func (msg deskLoaded) change(m *model) []effect {
	if m.desk.end() || msg.filter.status != m.filter.status || msg.filter.from != m.filter.from {
		m.desk.running = true
		m.desk.again = false
		return []effect{m.loadDesk()}
	}
	if m.stale = msg.err != nil; m.stale {
		if m.notice == "" {
			m.unseen(msg.err)
		}
		return nil
	}
	d := msg.desk
	m.waiting, m.unread, m.shut, m.trouble, m.degraded = d.Waiting, d.Unread, d.Away, d.Trouble, d.Degraded
	asks, waits := rowsOf(d.Needs), dialogRows(msg.cards)
	for i := range asks {
		if m.hidden(asks[i]) {
			m.waiting--
		}
	}
	m.waiting += len(waits)
	known := m.lists[needs].keys(m.lists[needs].all)
	m.lists[needs].page(append(waits, slices.DeleteFunc(asks, m.hidden)...), "", m.listRows())
	if slices.ContainsFunc(waits, func(r row) bool { return !known[keyOf(&r)] }) {
		m.lists[needs].upwards(m.listRows())
		if m.talk != nil && m.tab == needs {
			m.notice = cleanLine(triage.DialogTitle(waits[0].card)) + " · esc shows it"
		}
	}
	if m.filter.search == "" {
		m.lists[updates].page(slices.DeleteFunc(rowsOf(d.Updates), m.hidden), d.Next, m.listRows())
	}
	return append(m.openFirst(), m.more()...)
}

// hidden reports whether pending mail settles a row.
func (m *model) hidden(c row) bool {
	return slices.ContainsFunc(m.pending, func(p *pending) bool { return p.hides && p.key == keyOf(&c) })
}

// moreLoaded is another page of the updates.
type moreLoaded struct {
	after string
	desk  mail.Desk
	err   error
}

// more loads the next page of updates when scrolling comes close to it.
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
		m.unseen(msg.err)
	case msg.after == l.next:
		known := l.keys(l.all)
		for _, c := range rowsOf(msg.desk.Updates) {
			if !known[keyOf(&c)] && !m.hidden(c) {
				l.all = append(l.all, c)
			}
		}
		l.filter(l.words)
		l.next = msg.desk.Next
	}
	return nil
}

// shown returns the list on the screen; nil on the tabs of the fleet.
func (m *model) shown() *list {
	if m.tab >= agents {
		return nil
	}
	return &m.lists[m.tab]
}

// found is the result of a search.
type found struct {
	words   string
	rows    []mail.Conversation
	notRead int // closed rooms not searched
	partly  string
	err     error
}

// search searches a room, or all, including archived mail. The post office opens only the most recently used closed
// rooms. Each conversation yields its best match, newest first.
func search(room mail.RoomName, words string) effect {
	q := mail.FleetMailQuery{HistoryQuery: mail.HistoryQuery{Search: words, Conversations: true, Archive: true,
		Limit: page}}
	if room != "" {
		q.Rooms = []mail.RoomName{room}
	}
	return call(func(ctx context.Context, p mail.Office) message {
		all, err := p.FleetMail(ctx, q)
		var rows []mail.Conversation
		partly := ""
		for _, r := range all.Rooms {
			partly = cmp.Or(partly, r.Partly)
			for _, it := range r.Messages {
				c := mail.Conversation{Room: r.Room, Item: it, Messages: 1,
					Preview: markdown.Preview(it.Body, maxPreview)}
				if !it.Read && it.State != "" {
					c.Unread = 1
				}
				rows = append(rows, c)
			}
		}
		slices.SortFunc(rows, func(a, b mail.Conversation) int { return a.Spot().Compare(b.Spot()) })
		return found{words, rows, len(all.NotRead) + len(all.Away), partly, err}
	})
}

// maxPreview limits a preview, in characters.
const maxPreview = 160

func (msg found) change(m *model) []effect {
	if msg.words != m.filter.search {
		return nil // a newer search has begun
	}
	if msg.err != nil {
		return m.wrong(msg.err)
	}
	l := &m.lists[updates]
	*l = newList()
	l.page(rowsOf(msg.rows), "", m.listRows())
	if msg.notRead > 0 {
		return m.say("Not searched: " + wording.Plural(msg.notRead, "room") + " · w and / search one of them")
	}
	return m.say(msg.partly)
}

// ago formats the time since t in few columns.
func ago(now time.Time, t mail.Time) string {
	switch d := now.Sub(t.Std()); {
	case t == 0:
		return ""
	case d < wording.Old:
		return wording.Span(d)
	}
	return t.Std().Local().Format(time.DateOnly)
}
