package openalice

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// Inbox is the person's single inbox across all rooms. The zero value is ready to use; it is safe for concurrent
// use.
type Inbox struct {
	mu sync.Mutex
	// Rooms without entries, and their sequence numbers at that time: an unchanged room is not opened again.
	without map[mail.RoomName]mail.Seq
	pushes  map[mail.RoomName]*pushes
}

// InRoom is a room of the inbox, as the user sees it.
type InRoom struct {
	Name mail.RoomName
	mail.Service
}

// Rooms returns the rooms of a post office that have workspaces, a bridge of this dialect, or entries among the
// user's newest mail. If some rooms cannot be opened, it returns the others with the error.
func (b *Inbox) Rooms(ctx context.Context, office mail.Office) (rooms []InRoom, err error) {
	all, err := office.Rooms(ctx)
	if err != nil {
		return nil, err
	}
	var closed []error
	for i := range all {
		name := all[i].Name
		if b.hasNone(&all[i]) {
			continue
		}
		svc, err := office.Room(ctx, name, mail.User)
		found := false
		if err == nil {
			found, err = hasEntries(ctx, svc)
		}
		switch {
		case err != nil:
			closed = append(closed, err)
		case found:
			rooms = append(rooms, InRoom{name, svc})
		default:
			b.noteNone(&all[i])
		}
	}
	return rooms, errors.Join(closed...)
}

// hasNone reports whether a room is known to have no entries.
func (b *Inbox) hasNone(st *mail.RoomStatus) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, known := b.without[st.Name]
	return known && st.Seq > 0 && at == st.Seq
}

func (b *Inbox) noteNone(st *mail.RoomStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.without == nil {
		b.without = make(map[mail.RoomName]mail.Seq)
	}
	b.without[st.Name] = st.Seq
}

// newestMail is how much of the user's mail is searched for entries in a room without workspaces, whose last one may
// have been removed.
const newestMail = 100

func hasEntries(ctx context.Context, svc mail.Service) (bool, error) {
	list, err := svc.Workspaces(ctx)
	if err != nil || len(list) > 0 {
		return len(list) > 0, err
	}
	if _, bridged := malformed(ctx, svc); bridged {
		return true, nil
	}
	page, err := svc.Inbox(ctx, mail.InboxQuery{All: true, Newest: true, Limit: newestMail})
	return slices.ContainsFunc(page.Messages, func(it mail.Item) bool {
		_, ok := labelOf(&it.Message, nil)
		return ok
	}), err
}

// Limits of a page. The original has the first.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// query selects a page of entries.
type query struct {
	limit     int       // 0 means 100; at most 1000
	before    string    // only entries after the one with this id, or sent before this time in milliseconds
	until     mail.Time // only entries sent before this time
	workspace string    // only entries of this workspace
}

// row is an entry of the inbox as lists show it.
type row struct {
	mail.Item
	room     mail.RoomName
	label    string    // of the workspace, when the entry was written
	preview  string    // one line
	readAt   mail.Time // when the user read it, or 0
	canReply bool      // an answer would reach an agent on the roster
}

// rows is a part of the inbox, newest first.
type rows struct {
	rows []row
	more bool
}

// spot is an entry's position in the inbox, the only data kept for entries outside the page.
type spot struct {
	room      int
	id        mail.ID
	sent      mail.Time
	seq       mail.Seq
	workspace mail.Name
	label     string
}

// newestFirst orders by sent time, so that an entry bridged in late has its proper position.
func newestFirst(a, b spot) int {
	return cmp.Or(cmp.Compare(b.sent, a.sent), cmp.Compare(a.room, b.room), cmp.Compare(b.seq, a.seq))
}

// list returns a page of the entries of some rooms. An entry that bridges brought into several of them appears once.
// If before is neither an entry of the list nor a time, the page is empty.
func (b *Inbox) list(ctx context.Context, rooms []InRoom, q query) (rows, error) {
	var all []spot
	for i := range rooms {
		some, err := b.spots(ctx, rooms, i, &q)
		if err != nil {
			return rows{}, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, newestFirst)
	seen := make(map[mail.ID]bool, len(all))
	all = slices.DeleteFunc(all, func(s spot) bool {
		twice := seen[s.id]
		seen[s.id] = true
		return twice
	})
	all = q.behind(all)
	var page rows
	limit := cmp.Or(min(q.limit, maxLimit), defaultLimit)
	l := looking{rooms: rooms, roster: make(map[spot]bool)}
	for _, s := range all {
		if page.more = len(page.rows) == limit; page.more {
			break
		}
		e, err := l.entry(ctx, s)
		if mail.CodeOf(err) == mail.NotFound {
			b.pushesIn(rooms[s.room].Name).forget(s.id) // it was deleted
			continue
		} else if err != nil {
			return rows{}, err
		}
		page.rows = append(page.rows, e)
	}
	return page, nil
}

// behind returns the spots after q.before.
func (q *query) behind(all []spot) []spot {
	if q.before == "" {
		return all
	}
	i := slices.IndexFunc(all, func(s spot) bool { return string(s.id) == q.before })
	if i >= 0 {
		return all[i+1:]
	}
	until := number(q.before)
	if until < 1 {
		return nil
	}
	return slices.DeleteFunc(all, func(s spot) bool { return float64(s.sent) >= until })
}

// number parses a parameter as the original does, which treats an invalid number as absent.
func number(s string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil && !math.IsInf(n, 0) || math.IsNaN(n) {
		return 0
	}
	return n
}

// spots returns the entries of a room that match q, unordered.
func (b *Inbox) spots(ctx context.Context, rooms []InRoom, room int, q *query) ([]spot, error) {
	svc := rooms[room]
	labels, err := labels(ctx, svc)
	if err != nil {
		return nil, err
	}
	pushes, err := b.pushesIn(svc.Name).all(ctx, svc)
	if err != nil {
		return nil, err
	}
	var out []spot
	for _, p := range pushes {
		label, ok := p.label, true
		if label == "" {
			label, ok = labels[p.workspace]
		}
		if ok && (q.workspace == "" || q.workspace == string(p.workspace)) && (q.until == 0 || p.sent < q.until) {
			p.room, p.label = room, label
			out = append(out, p)
		}
	}
	return out, nil
}

// looking is one lookup of entries.
type looking struct {
	rooms  []InRoom
	roster map[spot]bool // by room and workspace: whether the workspace's agent is there
}

// entry collects the data that lists show of an entry.
func (l *looking) entry(ctx context.Context, s spot) (row, error) {
	svc := l.rooms[s.room]
	it, err := svc.Message(ctx, s.id)
	if err != nil {
		return row{}, err
	}
	e := row{Item: it, room: svc.Name, label: s.label, preview: preview(&it.Message)}
	e.readAt, _ = readAt(&it)
	key := spot{room: s.room, workspace: s.workspace}
	there, known := l.roster[key]
	if !known {
		if there, err = answers(ctx, svc, it.From); err != nil {
			return row{}, err
		}
		l.roster[key] = there
	}
	e.canReply = there
	return e, nil
}

// answers reports whether mail to an address would reach an agent. A workspace that was removed, or is known only
// from a file, is on no roster.
func answers(ctx context.Context, svc mail.Service, to mail.Address) (bool, error) {
	if to == mail.ToOrchestrator { // mail is held for it
		return true, nil
	}
	_, ok, err := mail.OneAgent(ctx, svc, to.Signer())
	return ok, err
}

// maxPreview is in characters, more than a row shows.
const maxPreview = 200

// preview returns the first non-empty line of an entry's comments without its leading Markdown characters, or else
// the documents' names.
func preview(m *mail.Message) string {
	text := m.Body
	if labelIn(m.Metadata) == "" && m.Subject != "" { // sent with other tools: the subject is its first line
		text = m.Subject
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#>*- \t")); line != "" {
			return wording.ClipRunes(line, maxPreview)
		}
	}
	return wording.ClipRunes(m.DocNames(), maxPreview)
}

// find returns the rooms that have an entry with an id, and the entry from the first of them. It finds no other
// mail.
func find(ctx context.Context, rooms []InRoom, id string) (in []InRoom, first mail.Item, err error) {
	for _, room := range rooms {
		it, err := oneEntry(ctx, room, id)
		if mail.CodeOf(err) == mail.NotFound {
			continue
		} else if err != nil {
			return nil, first, err
		}
		if in = append(in, room); len(in) == 1 {
			first = it
		}
	}
	if len(in) == 0 {
		return nil, first, mail.Errorf(mail.NotFound, "no entry %q in the inbox", id)
	}
	return in, first, nil
}

// oneEntry returns the entry with an id in one room.
func oneEntry(ctx context.Context, svc mail.Service, id string) (mail.Item, error) {
	it, err := svc.Message(ctx, mail.ID(id))
	if err != nil {
		return it, err
	}
	labels, err := labels(ctx, svc)
	if err != nil {
		return it, err
	}
	if _, ok := labelOf(&it.Message, labels); !ok {
		return it, mail.Errorf(mail.NotFound, "no entry %q in the inbox", id)
	}
	return it, nil
}
