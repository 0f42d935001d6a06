package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/asset"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

const (
	// tick is the interval of heartbeats. After 5 s without one a browser polls, so that a person soon learns that
	// the post office hangs. All streams together write 32 lines a second at most: pages in the background and those
	// beyond maxStreams have no stream.
	tick       = 2 * time.Second
	gather     = 150 * time.Millisecond // changes within this time are sent together
	maxStreams = 64                     // each holds a connection
)

// change tells an open page that something changed, without its content.
type change struct {
	Seq    mail.Seq `json:"seq"`
	Needs  int      `json:"needs"`  // conversations that need the user, in all rooms
	Unread int      `json:"unread"` // messages to the user, in all rooms
	Stuck  int      `json:"stuck"`  // stuck groups
	// Version is that of the pages, for a browser that polls.
	Version string `json:"version,omitempty"`
	Desk    bool   `json:"desk,omitempty"` // another room changed
	// the browser knows a sequence number that the journal has not reached, so it saw another journal
	Reset   bool     `json:"reset,omitempty"`
	Mail    bool     `json:"mail,omitempty"`    // a message was sent
	Agents  bool     `json:"agents,omitempty"`  // the roster changed
	Arrived *arrival `json:"arrived,omitempty"` // the latest new message to the user, or new dialog

	asked mail.RoomName // another room in which more needs the user than before
}

// follower is an open page that follows changes.
type follower struct {
	*page.View
	needs map[mail.RoomName]int // the last counts of other rooms
	asked map[mail.ID]bool      // the dialogs it knows
}

// arrival is the content of a notification.
type arrival struct {
	ID      mail.ID       `json:"id"`
	Href    string        `json:"href,omitempty"` // for a dialog
	Room    mail.RoomName `json:"room"`
	From    string        `json:"from"`
	Subject string        `json:"subject"`
}

// events streams changes as Server-Sent Events. Their ids are sequence numbers, and a browser that reconnects sends
// the last one.
func (s *Site) events(in *page.View) error {
	v := &follower{View: in}
	defer s.streams.Add(-1)
	if s.streams.Add(1) > maxStreams {
		return mail.Errorf(mail.Limited, "%d pages already follow this post office; this one polls instead",
			maxStreams)
	}
	after, reset, err := v.after()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(v.Ctx())
	defer cancel()
	defer context.AfterFunc(s.opts.Closing, cancel)()
	news, stop, err := v.follow(ctx, after)
	if err != nil {
		return err
	}
	defer stop()
	defer s.sessions.Watch(v.LoggedIn)()
	v.At = after
	v.asks(new(change))
	v.W.Header().Set("Content-Type", "text/event-stream")
	v.W.Header().Set("X-Accel-Buffering", "no")
	if err := v.Piece("retry: 1000\n\n"); err != nil {
		return nil
	}
	if reset {
		c := &change{Seq: v.At, Reset: true}
		if v.count(ctx, c) != nil || v.tell(c) != nil {
			return nil
		}
	}
	for {
		c, err := v.happened(ctx, news)
		if life.Err(ctx) != nil {
			return nil // the session ended: the page learns that when it reconnects
		}
		if err == nil {
			err = v.tell(c)
		}
		if err != nil {
			return nil // the browser left, or the post office is closing: the page reconnects
		}
	}
}

// tell sends a change; nil sends a heartbeat.
func (v *follower) tell(c *change) error {
	if c == nil {
		return v.Piece("event: pp-tick\ndata: {}\n\n")
	}
	data, err := jsonx.Marshal(c)
	if err != nil {
		return err
	}
	return v.Piece(fmt.Sprintf("id: %d\nevent: pp-change\ndata: %s\n\n", c.Seq, data))
}

// after returns the sequence number that the browser has seen. If the journal has not reached it, the room was
// recreated under the same name, and reset is true.
func (v *follower) after() (after mail.Seq, reset bool, err error) {
	text := v.R.Header.Get("Last-Event-ID")
	if text == "" {
		text = v.R.URL.Query().Get("after")
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if text != "" && err != nil {
		return 0, false, mail.Errorf(mail.Invalid, "%q is not a sequence number", text)
	}
	return min(mail.Seq(n), v.At), mail.Seq(n) > v.At, nil
}

// news is a batch of events of this room, or of changes at the desk.
type news struct {
	events []mail.Event
	desk   []mail.DeskChange
	err    error // the stream ended
}

// follow watches this room, after a sequence number, and the desk. The caller must call stop.
func (v *follower) follow(ctx context.Context, after mail.Seq) (heard <-chan news, stop func(), err error) {
	room, err := v.Svc.Watch(ctx, after)
	if err != nil {
		return nil, nil, err
	}
	desk, err := v.Site.Office.WatchDesk(ctx)
	if err != nil {
		room.Close()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	all := make(chan news)
	var running sync.WaitGroup
	listen := func(next func() news) {
		running.Go(func() {
			for {
				n := next()
				select {
				case all <- n:
				case <-ctx.Done():
					return
				}
				if n.err != nil {
					return
				}
			}
		})
	}
	listen(func() (n news) { n.events, n.err = room.Next(ctx); return n })
	listen(func() (n news) { n.desk, n.err = desk.Next(ctx); return n })
	return all, func() {
		cancel()
		running.Wait()
		room.Close()
		desk.Close()
	}, nil
}

// happened waits for changes and returns them with those that follow within gather, or nil after a silent tick.
func (v *follower) happened(ctx context.Context, heard <-chan news) (*change, error) {
	c := &change{Seq: v.At}
	wait := time.After(tick)
	for first := true; ; {
		select {
		case n := <-heard:
			if n.err != nil {
				return nil, n.err
			}
			if v.add(c, n) && first {
				first, wait = false, time.After(gather)
			}
		case <-wait:
			if first {
				return nil, nil
			}
			if err := v.elsewhere(ctx, c); err != nil {
				return nil, err
			}
			return c, v.count(ctx, c)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// add records news, and reports whether to tell the page. Events already cover changes in this room.
func (v *follower) add(c *change, n news) bool {
	c.add(v.Room, n.events)
	told := len(n.events) > 0
	for _, d := range n.desk {
		if d.Room == v.Room {
			continue
		}
		c.Desk, told = c.Desk || d.Room != "", told || d.Room != ""
		if was, known := v.needs[d.Room]; known && d.Needs > was {
			c.asked = d.Room
		}
		if v.needs == nil {
			v.needs = make(map[mail.RoomName]int)
		}
		v.needs[d.Room] = d.Needs
	}
	return told
}

// elsewhere finds the newest message in the other room where more needs the user than before.
func (v *follower) elsewhere(ctx context.Context, c *change) error {
	if c.asked == "" || c.Arrived != nil {
		return nil
	}
	desk, err := v.Site.Office.Desk(ctx, mail.DeskQuery{Rooms: []mail.RoomName{c.asked}, Part: mail.NeedsYou})
	if err != nil || len(desk.Needs) == 0 {
		return err
	}
	newest := slices.MaxFunc(desk.Needs, func(a, b mail.Conversation) int {
		return page.SpotOf(&a.Item).Compare(page.SpotOf(&b.Item))
	})
	c.Arrived = &arrival{ID: newest.ID, Room: c.asked, From: words.Sender(newest.Message),
		Subject: cmp.Or(newest.Subject, newest.Preview)}
	return nil
}

// add records events.
func (c *change) add(room mail.RoomName, events []mail.Event) {
	for i := range events {
		e := &events[i]
		c.Seq = e.Seq
		c.Agents = c.Agents || e.Agent != nil
		if m := e.Message; m != nil {
			c.Mail = true
			if m.From != mail.ToUser && triage.ToUser(m) {
				c.Arrived = &arrival{ID: m.ID, Room: room, From: words.Sender(*m), Subject: words.Subject(m)}
			}
		}
	}
}

// count loads the current counts.
func (v *follower) count(ctx context.Context, c *change) error {
	rooms, err := v.Site.Office.Rooms(ctx)
	if err != nil {
		return err
	}
	v.Rooms, v.At, v.Now = rooms, c.Seq, time.Now()
	v.CardsAgain()
	c.Needs, c.Unread, c.Stuck = v.Needs(), v.Unread(), v.Stuck()
	v.asks(c)
	return nil
}

// asks records the newest dialog opened since the last call.
func (v *follower) asks(c *change) {
	asked := make(map[mail.ID]bool)
	for _, card := range v.Cards() {
		asked[card.ID] = true
		if v.asked != nil && !v.asked[card.ID] {
			c.Arrived = &arrival{ID: card.ID, Href: words.CardHref(&card), Room: card.Room, From: string(card.Agent),
				Subject: words.DialogNews(&card)}
		}
	}
	v.asked = asked
}

// changes returns the room's state as JSON, for browsers that cannot use the stream.
func changes(in *page.View) error {
	v := &follower{View: in}
	after, reset, err := v.after()
	if err != nil {
		return err
	}
	c := change{Seq: v.At, Needs: v.Needs(), Unread: v.Unread(), Stuck: v.Stuck(), Desk: true, Reset: reset,
		Version: v.Renewal()}
	if after < v.At {
		c.Mail, c.Agents = true, true
		if c.Arrived, err = v.arrived(after); err != nil {
			return err
		}
	}
	data, err := jsonx.Marshal(c)
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "application/json")
	return asset.Send(v.W, v.R, http.StatusOK, data)
}

// arrived returns the newest unread message to the user after a sequence number, or nil.
func (v *follower) arrived(after mail.Seq) (*arrival, error) {
	got, err := v.Svc.Inbox(v.Ctx(), mail.InboxQuery{After: after, Newest: true, Limit: 1})
	if err != nil || len(got.Messages) == 0 {
		return nil, err
	}
	m := &got.Messages[0].Message
	return &arrival{ID: m.ID, Room: v.Room, From: words.Sender(*m), Subject: words.Subject(m)}, nil
}
