package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/natsfiles"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// Erase implements journal.Compacter: it removes the events from the stream, and then from the copy. It also searches
// the stream for events that the copy no longer has, such as repetitions of the message that were dropped here. The
// error names the servers that could not be reached: they have the text until they are back. docs/journal.md says how
// long the servers' logs keep it. A machine that may not write to the room erases its copy only.
func (j *Journal) Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := j.usable(); mail.CodeOf(err) == mail.Denied { // it may only read the room
		return j.local.Erase(ctx, id, match)
	} else if err != nil {
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
	var found []erased
	err := j.recount(ctx, func(now *lane) (err error) {
		l = now
		found, err = j.matching(ctx, l, id, match)
		return err
	})
	if err != nil {
		return err
	}
	if len(found) > 0 { // noted before, in case this process dies, and again when the last server has erased it
		if err := j.cluster.lingering.add(j.lingers(id, found), time.Now()); err != nil {
			return err
		}
	}
	for _, x := range found {
		if l.shared {
			if err := j.cluster.record(ctx, l, x.hole); err != nil {
				return err
			}
		}
		if err := l.SecureDeleteMsg(ctx, x.At); err != nil && !gone(ctx, l, x.At) {
			return err
		}
	}
	if err := j.everywhere(ctx, l, asked); err != nil {
		return err
	}
	return j.cluster.lingering.deleted(j.room, id, time.Now())
}

// erased is a message of the stream that is erased.
type erased struct {
	hole
	id   string // on the servers
	long bool   // a server may compress it in its log
}

func (j *Journal) erasedOf(a *arrival, about mail.ID) erased {
	x := erased{holeOf(a, j.Proven().Keys), a.idThere, a.size >= natsfiles.Compressed}
	x.About = about
	return x
}

// lingers returns the note that the servers may have what is being erased.
func (j *Journal) lingers(id mail.ID, found []erased) left {
	e := left{Room: j.room, Message: id, Pending: true}
	for _, x := range found {
		if x.id != "" {
			e.IDs = append(e.IDs, x.id)
		}
		e.Hidden = e.Hidden || x.id == "" || x.long
	}
	return e
}

// recount calls f with the lane of the room, and again while other machines erase messages meanwhile that were not
// counted: the sequence numbers that f saw are then no longer those of the messages.
func (j *Journal) recount(ctx context.Context, f func(*lane) error) error {
	for until := time.Now().Add(movePatience); ; {
		l, err := j.cluster.lane(ctx, j.room, false)
		if err != nil {
			return err
		}
		known := len(l.holes)
		if err = f(l); err == nil {
			err = l.checkCount(ctx, j.cluster.nc, known)
		}
		if !errors.Is(err, errMiscounted) {
			return err
		}
		if time.Now().After(until) {
			return errors.New("other machines keep erasing")
		}
		if !pause.For(ctx, pauseOfAttempts) {
			return ctx.Err()
		}
	}
}

// gone reports whether a message no longer exists: another machine has erased it at the same time.
func gone(ctx context.Context, stream jetstream.Stream, seq uint64) bool {
	_, err := stream.GetMsg(ctx, seq)
	return errors.Is(err, jetstream.ErrMsgNotFound)
}

// matching returns the messages of the stream to erase.
func (j *Journal) matching(ctx context.Context, l *lane, id mail.ID,
	match func(mail.Event) bool) (found []erased, err error) {
	var about *mail.Message
	var others []stored
	err = j.read(ctx, l, 0, l.end, func(a arrival) error {
		e, ok := jsonl.Decode(a.seq, a.text)
		switch {
		case !ok && strings.Contains(string(a.text), string(id)), ok && match(e):
			var of mail.ID
			if e.Message != nil {
				of = e.Message.ID
			}
			if found = append(found, j.erasedOf(&a, of)); of == id {
				about = e.Message
			}
		case e.Message != nil:
			a.text = nil
			others = append(others, stored{e, a})
		}
		return nil
	})
	if err != nil || about == nil {
		return found, err
	}
	copies, err := j.copies(ctx, about, others)
	return append(found, copies...), err
}

// stored is an event and its sequence number in the stream.
type stored struct {
	mail.Event
	arrival arrival
}

// copies returns the messages of the stream that equal an erased one and are no longer in the files.
func (j *Journal) copies(ctx context.Context, of *mail.Message, others []stored) (found []erased, err error) {
	for _, e := range others {
		m := e.Message
		if m.From != of.From || m.Body != of.Body && (m.Key == "" || m.Key != of.Key) {
			continue
		}
		if here, err := j.holdsEvent(ctx, e.Seq); err != nil {
			return nil, err
		} else if !here {
			found = append(found, j.erasedOf(&e.arrival, m.ID))
		}
	}
	return found, nil
}

// holdsEvent reports whether the copy or its archive has the event of a sequence number.
func (j *Journal) holdsEvent(ctx context.Context, seq mail.Seq) (bool, error) {
	hot, err := j.local.Read(ctx, seq)
	if err != nil || len(hot) > 0 {
		return true, err
	}
	cold, err := j.local.ArchivedAt(ctx, seq)
	return len(cold) > 0, err
}

// everywhere waits until every replica of the stream has carried out the requests made since a moment. The error
// names those that have not. A dead replica counts as current until something new is asked of it, so each must have
// been heard since. While others write to a stream, its replicas are hardly ever all current at one instant, so each
// is checked off separately.
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
				Msg: fmt.Sprintf("the text is erased from the servers that answer; pending: %s, which keep it "+
					"until they return", strings.Join(behind, ", "))}
		}
		if !pause.For(ctx, pauseOfAttempts) {
			return ctx.Err()
		}
	}
}
