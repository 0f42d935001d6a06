package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// Erase implements journal.Compacter: it removes the events from the stream, and then from the copy. What the copy has
// no more is looked for in the stream too, also what only repeats the message and was dropped here. The error says
// which servers could not be asked: they have the text until they are back. How long the servers' logs keep it says
// docs/journal.md.
func (j *Journal) Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := j.usable(); err != nil {
		return 0, err
	}
	if err := j.eraseStream(ctx, id, match); err != nil {
		return 0, fmt.Errorf("erase from the servers: %w", err)
	}
	return j.local.Erase(ctx, id, match)
}

func (j *Journal) eraseStream(ctx context.Context, id mail.ID, match func(mail.Event) bool) error {
	asked := time.Now()
	if err := j.cluster.Trouble(); err != nil {
		return err
	}
	var l *lane
	var places []hole
	err := j.recount(ctx, func(now *lane) (err error) {
		l = now
		places, err = j.matching(ctx, l, id, match)
		return err
	})
	if err != nil {
		return err
	}
	if len(places) > 0 { // noted before, in case this process dies, and again when the last server has done its part
		if err := j.cluster.lingering.add(j.room, id, time.Now()); err != nil {
			return err
		}
	}
	for _, x := range places {
		if l.shared {
			if err := j.cluster.record(ctx, l, x); err != nil {
				return err
			}
		}
		if err := l.SecureDeleteMsg(ctx, x.Seq); err != nil && !gone(ctx, l, x.Seq) {
			return err
		}
	}
	if err := j.everywhere(ctx, l, asked); err != nil || len(places) == 0 {
		return err
	}
	return j.cluster.lingering.add(j.room, id, time.Now())
}

// recount calls f with where the room is, and again as long as another machine erases something meanwhile, which was
// not counted: the places that f saw are not those of the messages then.
func (j *Journal) recount(ctx context.Context, f func(*lane) error) error {
	for until := time.Now().Add(patience); ; {
		l, err := j.cluster.lane(ctx, j.room, false)
		if err != nil {
			return err
		}
		known := len(l.holes)
		if err := errors.Join(f(l), l.look(ctx, j.cluster.nc)); err != nil || len(l.holes) == known {
			return err
		}
		if time.Now().After(until) {
			return errors.New("other machines erase something all the time")
		}
		if !pause.For(ctx, pauseOfAttempts) {
			return ctx.Err()
		}
	}
}

// gone reports whether a message is not there any more: another machine erases it at the same moment.
func gone(ctx context.Context, stream jetstream.Stream, seq uint64) bool {
	_, err := stream.GetMsg(ctx, seq)
	return errors.Is(err, jetstream.ErrMsgNotFound)
}

// matching returns the places of the stream that are to be erased.
func (j *Journal) matching(ctx context.Context, l *lane, id mail.ID,
	match func(mail.Event) bool) (places []hole, err error) {
	var erased *mail.Message
	var others []stored
	keys := j.Proven().Keys
	err = j.read(ctx, l, 0, l.end, func(a arrival) error {
		e, ok := jsonl.Decode(a.seq, a.text)
		switch {
		case !ok && strings.Contains(string(a.text), string(id)), ok && match(e):
			x := holeOf(&a, keys)
			if e.Message != nil {
				x.About = e.Message.ID
			}
			if places = append(places, x); x.About == id {
				erased = e.Message
			}
		case e.Message != nil:
			a.text = nil
			others = append(others, stored{e, a})
		}
		return nil
	})
	if err != nil || erased == nil {
		return places, err
	}
	copies, err := j.copies(ctx, erased, others)
	return append(places, copies...), err
}

// stored is an event and its sequence number in the stream.
type stored struct {
	mail.Event
	arrival arrival
}

// copies returns the places of what is as an erased message was, and is not in the files any more.
func (j *Journal) copies(ctx context.Context, erased *mail.Message, others []stored) (places []hole, err error) {
	for _, e := range others {
		m := e.Message
		if m.From != erased.From || m.Body != erased.Body && (m.Key == "" || m.Key != erased.Key) {
			continue
		}
		if here, err := j.holdsEvent(ctx, e.Seq); err != nil {
			return nil, err
		} else if !here {
			x := holeOf(&e.arrival, j.Proven().Keys)
			x.About = m.ID
			places = append(places, x)
		}
	}
	return places, nil
}

// holdsEvent reports whether the copy or its archive has the event at a place.
func (j *Journal) holdsEvent(ctx context.Context, seq mail.Seq) (bool, error) {
	hot, err := j.local.Read(ctx, seq)
	if err != nil || len(hot) > 0 {
		return true, err
	}
	cold, err := j.local.ArchivedAt(ctx, seq)
	return len(cold) > 0, err
}

// everywhere waits until every replica of the stream has done what it was asked since a moment. The error names those
// that have not. One that has died is called current for as long as nothing new is asked of it, so each must have been
// heard of since. A stream that others write to is hardly ever on all of them at one instant, so each has its own.
func (j *Journal) everywhere(ctx context.Context, stream jetstream.Stream, asked time.Time) error {
	done := make(map[string]bool)
	for deadline := time.Now().Add(patience); ; {
		now := time.Now()
		info, err := stream.Info(ctx)
		if err != nil {
			return err
		}
		var behind []string
		if info.Cluster != nil {
			for _, r := range info.Cluster.Replicas {
				if !r.Offline && r.Current && r.Lag == 0 && !now.Add(-r.Active).Before(asked) {
					done[r.Name] = true
				}
				if !done[r.Name] {
					behind = append(behind, r.Name)
				}
			}
		}
		if len(behind) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &mail.Error{Code: mail.Unavailable,
				Msg: fmt.Sprintf("the text is erased from the servers that answer; "+
					"pending: %s, where it stays until they are back", strings.Join(behind, ", "))}
		}
		if !pause.For(ctx, pauseOfAttempts) {
			return ctx.Err()
		}
	}
}
