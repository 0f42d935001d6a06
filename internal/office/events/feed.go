package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"pennypost/internal/mail"
)

// Limits of a poll.
const (
	defaultEvents = 50
	maxEvents     = 100
	// maxLooked is how many journal events a poll examines. If there are more, the caller polls again immediately.
	maxLooked = 10000
	// settleFor is how long a poll waits for an event that the room's status implies: retention may have taken the
	// last.
	settleFor = time.Second
	// NextPoll is when a caller that has everything may poll again.
	NextPoll = 5 * time.Second
)

// Feed is the events of a room that one caller may know.
type Feed struct {
	Service mail.Service // the room as the caller sees it
	Room    mail.RoomName
	Agent   mail.Name
}

// Occurrence is one event.
type Occurrence struct {
	ID     string  `json:"eventId"` // the same for every delivery
	Name   string  `json:"name"`
	At     string  `json:"timestamp"` // RFC 3339
	Data   any     `json:"data"`
	Cursor *string `json:"cursor,omitempty"` // after it; omitted in a poll's answer

	seq mail.Seq
}

// Query is a caller's poll, or the start of a stream or subscription.
type Query struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Cursor    *string         `json:"cursor"` // nil: from now on
	MaxAge    *int64          `json:"maxAgeMs"`
	Max       *int            `json:"maxEvents"`
}

// Polled is the answer to a poll.
type Polled struct {
	Events    []Occurrence `json:"events"`
	Cursor    string       `json:"cursor"`
	Truncated bool         `json:"truncated"` // some events after the cursor are lost
	More      bool         `json:"hasMore"`
	NextPoll  int64        `json:"nextPollMs"`
}

// cursor formats a sequence number.
func cursor(s mail.Seq) string { return strconv.FormatUint(uint64(s), 10) }

// follower is a position in a room from which events of one type are wanted.
type follower struct {
	*Feed
	name  string
	find  finder
	after mail.Seq
	since mail.Time // earlier events are not wanted
}

// follow checks a query, and returns its start and the room's last sequence number.
func (f *Feed) follow(ctx context.Context, q *Query) (fw *follower, end mail.Seq, err error) {
	t, err := typeOf(q.Name)
	if err != nil {
		return nil, 0, err
	}
	fw = &follower{Feed: f, name: q.Name}
	if fw.find, err = t.parse(q.Arguments); err != nil {
		return nil, 0, err
	}
	st, err := f.Service.Status(ctx)
	if err != nil {
		return nil, 0, err
	}
	fw.after = st.Seq
	if q.Cursor != nil {
		n, err := strconv.ParseUint(*q.Cursor, 10, 64)
		if err != nil || mail.Seq(n) > st.Seq || cursor(mail.Seq(n)) != *q.Cursor {
			return nil, 0, &Error{Code: InvalidParams,
				Message: "the cursor is not from this server and room; use null to begin now"}
		}
		fw.after = mail.Seq(n)
	}
	if q.MaxAge != nil {
		if *q.MaxAge < 0 {
			return nil, 0, &Error{Code: InvalidParams, Message: "maxAgeMs is below 0"}
		}
		fw.since = mail.TimeOf(time.Now().Add(-time.Duration(min(*q.MaxAge, 1<<40)) * time.Millisecond))
	}
	return fw, st.Seq, nil
}

// Poll returns the events after a query's cursor, and does not wait for more.
func (f *Feed) Poll(ctx context.Context, q *Query) (*Polled, error) {
	most := defaultEvents
	if q.Max != nil {
		if most = *q.Max; most < 1 {
			return nil, &Error{Code: InvalidParams, Message: "maxEvents is below 1"}
		}
		most = min(most, maxEvents)
	}
	fw, end, err := f.follow(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &Polled{Events: []Occurrence{}, NextPoll: NextPoll.Milliseconds()}
	looked := 0
	err = fw.replay(ctx, end, func(found []Occurrence, n int, gap bool) bool {
		out.Truncated = out.Truncated || gap
		looked += n
		out.Events = append(out.Events, found...)
		return len(out.Events) < most && looked < maxLooked
	})
	if err != nil {
		return nil, err
	}
	if len(out.Events) > most {
		out.Events = out.Events[:most]
		fw.after = out.Events[most-1].seq
	}
	for i := range out.Events {
		out.Events[i].Cursor = nil
	}
	out.Cursor, out.More = cursor(fw.after), fw.after < end
	if out.More {
		out.NextPoll = 0
	}
	return out, nil
}

// replay calls each, up to end, with occurrences and the number of events examined; gap means that the room has lost
// some events. It ends early if each returns false.
func (fw *follower) replay(ctx context.Context, end mail.Seq,
	each func(found []Occurrence, n int, gap bool) bool) error {
	if fw.after >= end {
		return nil
	}
	w, err := fw.Service.Watch(ctx, fw.after)
	if err != nil {
		return err
	}
	defer w.Close()
	for fw.after < end {
		found, n, gap, silent, err := fw.nextWithin(ctx, settleFor, w, end)
		if silent { // the rest is lost
			each(nil, 0, true)
			fw.after = end
			return nil
		}
		if err != nil {
			return err
		}
		if !each(found, n, gap) {
			return nil
		}
	}
	return nil
}

// nextWithin is next with a time limit: silent means that nothing arrived in that time.
func (fw *follower) nextWithin(ctx context.Context, while time.Duration, w mail.Watch, end mail.Seq) (
	found []Occurrence, n int, gap, silent bool, err error) {
	waiting, stop := context.WithTimeout(ctx, while)
	defer stop()
	found, n, gap, err = fw.next(waiting, w, end)
	return found, n, gap, waiting.Err() != nil && ctx.Err() == nil && err != nil, err
}

// next waits for events and returns the occurrences in them. It ignores events after end; 0: no end.
func (fw *follower) next(ctx context.Context, w mail.Watch, end mail.Seq) (found []Occurrence, n int, gap bool,
	err error) {
	all, err := w.Next(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	for i := range all {
		e := &all[i]
		if end > 0 && e.Seq > end {
			gap = gap || fw.after < end
			fw.after = end
			break
		}
		gap = gap || e.Seq != fw.after+1
		fw.after = e.Seq
		n++
		if e.At < fw.since {
			gap = true
			continue
		}
		data, err := fw.find(ctx, fw.Feed, e)
		if err != nil {
			return nil, n, gap, err
		}
		if data != nil {
			found = append(found, fw.occurrence(e, data))
		}
	}
	return found, n, gap, nil
}

func (fw *follower) occurrence(e *mail.Event, data any) Occurrence {
	sum := sha256.Sum256([]byte(fw.Room))
	at := cursor(e.Seq)
	return Occurrence{ID: fmt.Sprintf("%s-%s-%s", fw.name, hex.EncodeToString(sum[:6]), at), Name: fw.name,
		At: e.At.Std().UTC().Format("2006-01-02T15:04:05.000Z"), Data: data, Cursor: &at, seq: e.Seq}
}

// Signs are the messages of a stream.
type Signs struct {
	Active func(cursor string, truncated bool) error
	Event  func(Occurrence) error
	Beat   func(cursor string) error // nothing happened for a while
}

// beatEvery is the maximum silence of a stream.
const beatEvery = 25 * time.Second

// Stream sends the events after a query's cursor until ctx ends or something fails.
func (f *Feed) Stream(ctx context.Context, q *Query, say Signs) error {
	fw, end, err := f.follow(ctx, q)
	if err != nil {
		return err
	}
	w, err := f.Service.Watch(ctx, fw.after)
	if err != nil {
		return err
	}
	defer w.Close()
	from := cursor(fw.after)
	found, truncated, err := fw.catchUp(ctx, w, end)
	if err == nil {
		err = say.Active(from, truncated)
	}
	for err == nil {
		for i := 0; i < len(found) && err == nil; i++ {
			err = say.Event(found[i])
		}
		if err != nil {
			break
		}
		var silent bool
		if found, _, _, silent, err = fw.nextWithin(ctx, beatEvery, w, 0); silent {
			err = say.Beat(cursor(fw.after))
		}
	}
	return err
}

// catchUp returns the occurrences up to end, and whether the room has lost some: a stream reports that first.
func (fw *follower) catchUp(ctx context.Context, w mail.Watch, end mail.Seq) (all []Occurrence, truncated bool,
	err error) {
	for fw.after < end {
		found, _, gap, silent, err := fw.nextWithin(ctx, settleFor, w, 0)
		switch {
		case silent: // the rest is lost
			return all, true, nil
		case err != nil:
			return nil, false, err
		}
		truncated = truncated || gap
		if all = append(all, found...); len(all) > maxLooked {
			all, truncated = all[len(all)-maxLooked:], true
		}
	}
	return all, truncated, nil
}

// message returns a message in its present state, or nil if it is gone.
func (f *Feed) message(ctx context.Context, id mail.ID) (*mail.Item, error) {
	it, err := f.Service.Message(ctx, id)
	switch {
	case mail.CodeOf(err) == mail.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &it, nil
}

// isTo reports whether a message was delivered to the caller.
func (f *Feed) isTo(it *mail.Item) bool {
	for i := range it.Deliveries {
		if it.Deliveries[i].Agent == f.Agent {
			return true
		}
	}
	return false
}

func (f *Feed) address() mail.Address {
	if f.Agent == mail.User {
		return mail.ToUser
	}
	return mail.AgentAddress(f.Agent)
}
