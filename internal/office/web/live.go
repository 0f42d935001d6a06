package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

const (
	tick        = 15 * time.Second       // between signs of life: a browser that hears none for long asks by itself
	gather      = 150 * time.Millisecond // what happens within is told at once
	sendTimeout = 10 * time.Second       // for a browser to take a piece
	maxStreams  = 64                     // each holds a connection; pages in the background have none
)

// change is what an open page is told of: that something happened, and nothing of what.
type change struct {
	Seq       mail.Seq `json:"seq"`
	Unread    int      `json:"unread"`
	Elsewhere int      `json:"elsewhere"` // unread in other rooms
	Stuck     int      `json:"stuck"`     // things that do not move
	// the journal is not the one that the browser has seen: it has not come so far
	Reset   bool     `json:"reset,omitempty"`
	Mail    bool     `json:"mail,omitempty"`    // a message was sent
	Agents  bool     `json:"agents,omitempty"`  // the roster changed
	Arrived *arrival `json:"arrived,omitempty"` // the last message to the user among what happened
}

// arrival is what a notification shows.
type arrival struct {
	ID      mail.ID `json:"id"`
	From    string  `json:"from"`
	Subject string  `json:"subject"`
}

// events streams changes as Server-Sent Events whose ids are places in the journal. A browser that comes back says the
// last one.
func (s *Site) events(v *view) error {
	defer s.streams.Add(-1)
	if s.streams.Add(1) > maxStreams {
		return mail.Errorf(mail.Limited, "%d pages follow this post office already; this one asks for itself",
			maxStreams)
	}
	after, reset, err := v.after()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(v.ctx())
	defer cancel()
	defer context.AfterFunc(s.opts.Closing, cancel)()
	w, err := v.svc.Watch(ctx, after)
	if err != nil {
		return err
	}
	defer w.Close()
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no")
	if err := v.piece("retry: 1000\n\n"); err != nil {
		return nil
	}
	if reset {
		c := &change{Seq: v.At, Reset: true}
		if v.count(ctx, c) != nil || v.tell(c) != nil {
			return nil
		}
	}
	for {
		c, err := v.happened(ctx, w)
		if !s.sessions.goesOn(v.session) {
			return nil // it was logged out elsewhere, or left alone: the page is told when it asks again
		}
		if err == nil {
			err = v.tell(c)
		}
		if err != nil {
			return nil // the browser left, or the post office does: it asks again
		}
	}
}

// tell sends a change; nil is a sign of life.
func (v *view) tell(c *change) error {
	if c == nil {
		return v.piece("event: pp-tick\ndata: {}\n\n")
	}
	data, err := jsonx.Marshal(c)
	if err != nil {
		return err
	}
	return v.piece(fmt.Sprintf("id: %d\nevent: pp-change\ndata: %s\n\n", c.Seq, data))
}

// after is the place behind which the browser wants to know what happened. One that the journal has not reached comes
// from a room that was made anew under the name of another.
func (v *view) after() (after mail.Seq, reset bool, err error) {
	text := v.r.Header.Get("Last-Event-ID")
	if text == "" {
		text = v.r.URL.Query().Get("after")
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if text != "" && err != nil {
		return 0, false, mail.Errorf(mail.Invalid, "%q is no place in a journal", text)
	}
	return min(mail.Seq(n), v.At), mail.Seq(n) > v.At, nil
}

// piece sends text at once.
func (v *view) piece(text string) error {
	rc := http.NewResponseController(v.w)
	_ = rc.SetWriteDeadline(time.Now().Add(sendTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	if _, err := v.w.Write([]byte(text)); err != nil {
		return err
	}
	if err := rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// happened waits for something to happen and returns it with what follows closely. After a silence it returns nil.
func (v *view) happened(ctx context.Context, w mail.Watch) (*change, error) {
	silence, cancel := context.WithTimeout(ctx, tick)
	defer cancel()
	events, err := w.Next(silence)
	if err != nil {
		if ctx.Err() == nil && silence.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	c := new(change)
	c.add(events)
	more, cancel := context.WithTimeout(ctx, gather)
	defer cancel()
	for {
		events, err := w.Next(more)
		if err != nil {
			break
		}
		c.add(events)
	}
	return c, v.count(ctx, c)
}

// add notes what happened.
func (c *change) add(events []mail.Event) {
	for i := range events {
		e := &events[i]
		c.Seq = e.Seq
		c.Agents = c.Agents || e.Agent != nil
		if m := e.Message; m != nil {
			c.Mail = true
			if m.From != mail.ToUser && toUser(m) {
				c.Arrived = &arrival{ID: m.ID, From: from(*m), Subject: subject(m)}
			}
		}
	}
}

// count says how much is unread and stuck now.
func (v *view) count(ctx context.Context, c *change) error {
	rooms, err := v.site.opts.Office.Rooms(ctx)
	if err != nil {
		return err
	}
	v.Rooms, v.At, v.Now = rooms, c.Seq, time.Now()
	c.Unread, c.Elsewhere, c.Stuck = v.Unread(), v.UnreadElsewhere(), v.Stuck()
	return nil
}

// changes says how the room stands. It is for browsers to which no stream comes through.
func changes(v *view) error {
	after, reset, err := v.after()
	if err != nil {
		return err
	}
	c := change{Seq: v.At, Unread: v.Unread(), Elsewhere: v.UnreadElsewhere(), Stuck: v.Stuck(), Reset: reset}
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
	v.w.Header().Set("Content-Type", "application/json")
	return send(v.w, v.r, http.StatusOK, data)
}

// arrived returns the newest unread message to the user behind a place, if there is one.
func (v *view) arrived(after mail.Seq) (*arrival, error) {
	page, err := v.svc.Inbox(v.ctx(), mail.InboxQuery{After: after, Newest: true, Limit: 1})
	if err != nil || len(page.Messages) == 0 {
		return nil, err
	}
	m := &page.Messages[0].Message
	return &arrival{ID: m.ID, From: from(*m), Subject: subject(m)}, nil
}
