package tui

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// talk is the open conversation.
type talk struct {
	room    mail.RoomName
	root    mail.ID
	subject string
	hit     mail.ID     // the message found by a search; "": none
	items   []mail.Item // oldest first
	earlier bool        // there are earlier messages
	loaded  bool
	top     int // the first line on the screen

	// set are the lines of the items, laid out for width, and starts is where each item begins.
	set    []line
	starts []int
	width  int
}

func (t *talk) key() string { return talkKey(t.room, t.root) }

// question returns the oldest question to the person that is open, or nil.
func (t *talk) question() *mail.Item {
	for i := range t.items {
		if triage.AsksUser(&t.items[i]) {
			return &t.items[i]
		}
	}
	return nil
}

// suggestion returns the newest suggested answer to the question, or nil.
func (t *talk) suggestion() *mail.Item {
	q := t.question()
	for i := range slices.Backward(t.items) {
		if it := &t.items[i]; q != nil && it.Suggests && it.ReplyTo == q.ID {
			return it
		}
	}
	return nil
}

// target returns the message that an answer replies to: the question, else the last message from someone else, else
// the last one.
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

// choices are the options of a question.
func choices(it *mail.Item) []mail.Option {
	if it == nil || !triage.AsksUser(it) {
		return nil
	}
	return it.Choices()
}

// talkLoaded is the result of loadTalk.
type talkLoaded struct {
	key  string
	page mail.Page
	err  error
}

// maxTalk limits the messages shown to the newest.
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

// opening returns the line at which a conversation opens: at the search match, else at the question, else at the
// first unread message, else at the last message. It is 0 if everything fits.
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

// markOpened marks the messages of the open conversation read.
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

// open opens the row under the cursor.
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

// onward leaves the open conversation, if there is one, after its question was answered.
func (m *model) onward(out []effect) []effect {
	if m.talk == nil {
		return out
	}
	return append(out, m.openNext()...)
}

// openNext opens the next question, or returns to the list.
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

// headline is the subject of a message, or the beginning of its text.
func headline(m *mail.Message, preview string) string {
	if m.Subject != "" {
		return cleanLine(m.Subject)
	}
	if preview != "" {
		return cleanLine(preview)
	}
	return string(m.Type)
}

// done is the result of a mark.
type done struct {
	notice string
	undo   *undo
	err    error
	seen   bool // a mark made by opening mail, not on request
}

// undo reverts a mark.
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

// say shows a notice.
func (m *model) say(text string) []effect {
	m.notice = text
	return nil
}

// wrong shows an error.
func (m *model) wrong(err error) []effect { return m.say(cleanLine(err.Error())) }

// unseen shows why the screen may be outdated, unless the line above the list says that the post office is away.
func (m *model) unseen(err error) []effect {
	if m.lost != nil {
		return nil
	}
	m.failedLook = cleanLine(err.Error())
	return m.say(m.failedLook)
}

// talkRows is how many lines of the conversation fit on the screen.
func (m *model) talkRows() int { return max(1, m.bodyRows()-m.belowTalk()) }

// scroll scrolls the conversation.
func (m *model) scroll(n int) {
	at, lines := m.asked()
	m.talk.top = min(max(0, m.talk.top+n), max(0, lines-m.talkRows(), at))
}

// when formats the time of a message.
func when(now time.Time, t mail.Time) string {
	at := t.Std().In(now.Location())
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}
