package tui

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// talk is the conversation that is open.
type talk struct {
	room    mail.RoomName
	root    mail.ID
	subject string
	hit     mail.ID     // what was searched for; "": nothing was
	items   []mail.Item // the oldest first
	earlier bool        // there are more than these
	loaded  bool
	top     int // the first line on the screen

	// set are the lines of the items in a width, and starts where each item begins.
	set    []line
	starts []int
	width  int
}

func (t *talk) key() string { return talkKey(t.room, t.root) }

// question returns what waits for the person's answer, the oldest first, or nil.
func (t *talk) question() *mail.Item {
	for i := range t.items {
		if triage.AsksUser(&t.items[i]) {
			return &t.items[i]
		}
	}
	return nil
}

// suggestion returns the newest answer to the question of somebody who was not asked, or nil.
func (t *talk) suggestion() *mail.Item {
	q := t.question()
	for i := range slices.Backward(t.items) {
		if it := &t.items[i]; q != nil && it.Suggests && it.ReplyTo == q.ID {
			return it
		}
	}
	return nil
}

// target returns what an answer is to: the question, or else what somebody else wrote last, or the last message.
func (t *talk) target() *mail.Item {
	if q := t.question(); q != nil || len(t.items) == 0 {
		return q
	}
	for i := range slices.Backward(t.items) {
		if it := &t.items[i]; it.From != mail.ToUser && it.From.Signer() != mail.System {
			return it
		}
	}
	return &t.items[len(t.items)-1]
}

// choices are the answers that a question offers.
func choices(it *mail.Item) []mail.Option {
	if it == nil || !triage.AsksUser(it) {
		return nil
	}
	return it.Choices()
}

// talkLoaded is a conversation as the post office has it.
type talkLoaded struct {
	key  string
	page mail.Page
	err  error
}

// maxTalk is how many messages of a conversation are shown, the newest.
const maxTalk = 200

func loadTalk(room mail.RoomName, root mail.ID) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		page, err := history(ctx, p, room, root)
		return talkLoaded{talkKey(room, root), page, err}
	})
}

func history(ctx context.Context, p mail.Office, room mail.RoomName, root mail.ID) (mail.Page, error) {
	svc, err := p.Room(ctx, room, mail.User)
	if err != nil {
		return mail.Page{}, err
	}
	return svc.History(ctx, mail.HistoryQuery{Thread: root, Archive: true, Limit: maxTalk})
}

func (msg talkLoaded) change(m *model) []effect {
	t := m.talk
	if t == nil {
		m.takeTalk(msg)
		return nil
	}
	if t.key() != msg.key {
		return nil
	}
	if msg.err != nil {
		return m.unseen(msg.err)
	}
	first := !t.loaded
	t.items, t.earlier, t.loaded, t.set = msg.page.Messages, msg.page.More, true, nil
	if !first {
		return nil
	}
	t.top = m.opening()
	return m.markOpened()
}

// opening returns the line at which a conversation opens: at what was searched for, else where the question begins,
// else what is not read, else what came last. What fits on the screen is shown from its beginning.
func (m *model) opening() int {
	t := m.talk
	lines, starts := m.talkLines()
	if len(lines) <= m.talkRows() || len(starts) == 0 {
		return 0
	}
	at := len(starts) - 1
	if i := slices.IndexFunc(t.items, func(it mail.Item) bool { return !it.Read && it.State != "" }); i >= 0 {
		at = i
	}
	if asks, _ := m.asked(); asks >= 0 && t.hit == "" {
		return asks
	}
	if i := slices.IndexFunc(t.items, func(it mail.Item) bool { return it.ID == t.hit }); i >= 0 {
		at = i
	}
	return min(starts[at], max(0, len(lines)-m.talkRows()))
}

// markOpened marks what has been opened read.
func (m *model) markOpened() []effect {
	t := m.talk
	var ids []mail.ID
	for i := range t.items {
		if it := &t.items[i]; !it.Read && it.State != "" && it.State != mail.Archived {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []effect{mark([]batch{{t.room, ids}}, mail.MarkRead, 0, "", nil)}
}

// open opens the conversation of the row under the cursor.
func (m *model) open() []effect {
	l := m.shown()
	if l == nil {
		return m.openEntry()
	}
	c := l.current()
	switch {
	case c == nil:
		return nil
	case c.card != nil:
		return m.openDialog(c.card)
	case c.Folded > 0:
		m.filter.status = true
		m.lists[updates] = newList()
		return m.reload()
	}
	m.talk = &talk{room: c.Room, root: c.ThreadRoot(), subject: headline(&c.Message, c.Preview)}
	if m.tab == updates && m.filter.search != "" {
		m.talk.hit = c.ID
	}
	m.notice = ""
	return []effect{loadTalk(c.Room, c.ThreadRoot())}
}

// onward goes on from the conversation that is open, if one is, after its question has been answered.
func (m *model) onward(out []effect) []effect {
	if m.talk == nil {
		return out
	}
	return append(out, m.openNext()...)
}

// openNext opens the next question when one has been answered, or goes back to the list.
func (m *model) openNext() []effect {
	m.talk = nil
	l := &m.lists[needs]
	if m.tab == needs && len(l.rows) > 0 {
		notice := m.notice
		out := m.open()
		if m.dialog != nil {
			m.dialog.hold = cameItself
		}
		m.notice = notice
		return out
	}
	return nil
}

// headline is the subject of a message, or how its text begins.
func headline(m *mail.Message, preview string) string {
	if m.Subject != "" {
		return cleanLine(m.Subject)
	}
	if preview != "" {
		return cleanLine(preview)
	}
	return string(m.Type)
}

// done says what became of a mark.
type done struct {
	notice string
	undo   *undo
	err    error
	seen   bool // nobody asked for it: what was opened was marked read
}

// undo takes back what was done.
type undo struct {
	batches []batch
	mark    mail.Mark
}

// mark marks messages.
func mark(batches []batch, as mail.Mark, until mail.Time, notice string, back *undo) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		for _, b := range batches {
			svc, err := p.Room(ctx, b.room, mail.User)
			if err != nil {
				return done{err: err, seen: notice == ""}
			}
			for ids := range slices.Chunk(b.ids, mail.MaxLimit) {
				if _, err := svc.Mark(ctx, mail.Marking{IDs: ids, Mark: as, Until: until}); err != nil {
					return done{err: err, seen: notice == ""}
				}
			}
		}
		return done{notice: notice, undo: back}
	})
}

func (msg done) change(m *model) []effect {
	switch {
	case msg.err != nil && msg.seen:
		m.unseen(msg.err)
	case msg.err != nil:
		m.wrong(msg.err)
	case msg.notice != "":
		m.notice = msg.notice
	}
	if msg.undo != nil {
		m.last = msg.undo
	}
	return m.reload()
}

// say tells the person something.
func (m *model) say(text string) []effect {
	m.notice = text
	return nil
}

// wrong tells the person what went wrong.
func (m *model) wrong(err error) []effect { return m.say(cleanLine(err.Error())) }

// unseen tells the person why what is shown may be old. While the post office is away, the line above the list does.
func (m *model) unseen(err error) []effect {
	if m.lost != nil {
		return nil
	}
	m.failedLook = cleanLine(err.Error())
	return m.say(m.failedLook)
}

// talkRows is how many lines of a conversation are on the screen.
func (m *model) talkRows() int { return max(1, m.bodyRows()-m.belowTalk()) }

// scroll moves the text of a conversation.
func (m *model) scroll(n int) {
	at, lines := m.asked()
	m.talk.top = min(max(0, m.talk.top+n), max(0, lines-m.talkRows(), at))
}

// when says when a message was sent.
func when(now time.Time, t mail.Time) string {
	at := t.Std().In(now.Location())
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}
