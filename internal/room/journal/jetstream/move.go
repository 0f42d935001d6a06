package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
)

const (
	// archivedHeader is of a message that was in the archive when the room was moved: it goes into the archives of
	// others, and is never hot again.
	archivedHeader = "Pennypost-Archived"
	// mostMoved and mostMovedBytes bound what is moved at once.
	mostMoved      = 500
	mostMovedBytes = 4 << 20
	// movePatience is how long the servers have for one step of a move.
	movePatience = 10 * time.Second
	// fenceHeader is of the message that ends a room on the servers; it names the machine to whose file the room goes.
	fenceHeader = "Pennypost-Moved"
)

// moved is what stands at a place of a room that is moved. Without text there is nothing.
type moved struct {
	seq      mail.Seq
	text     []byte
	archived bool
}

// Bring copies a room from its files to a stream of its own that nobody else uses yet, up to the last place, and
// compares what an attempt before has copied. It returns the last place; Arrive, with nobody appending meanwhile,
// finishes the move. A stream of that name that another machine made is an error of code Conflict.
func (c *Cluster) Bring(ctx context.Context, room string, from *jsonl.Journal) (mail.Seq, error) {
	s, err := c.berth(ctx, room)
	if err != nil {
		return 0, err
	}
	to := from.Last()
	same, err := c.compare(ctx, s, room, from)
	if err != nil {
		return 0, fmt.Errorf("compare room %s with its stream: %w", room, err)
	}
	if !same { // the files have changed since: they were repaired, perhaps
		if err := c.Delete(ctx, room); err != nil {
			return 0, err
		}
		if s, err = c.berth(ctx, room); err != nil {
			return 0, err
		}
	}
	return to, c.copyTo(ctx, s, room, from, to)
}

// berth returns the stream of a room that is being moved here by this machine, and makes it.
func (c *Cluster) berth(ctx context.Context, room string) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	s, err := c.js.Stream(ctx, c.streamName(room))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		cfg := c.config(room)
		cfg.Metadata[movingKey] = string(c.cfg.Machine)
		cfg.Subjects = []string{c.berthSubject(room)}
		s, err = c.js.CreateStream(ctx, cfg)
	}
	if err != nil {
		return nil, c.unreachable("move the room", err)
	}
	info := s.CachedInfo()
	switch by := info.Config.Metadata[movingKey]; {
	case by == string(c.cfg.Machine):
		return s, nil
	case by == "" && info.State.LastSeq == 0: // somebody looked there, and left nothing
		if err := c.Delete(ctx, room); err != nil {
			return nil, c.unreachable("move the room", err)
		}
		return c.berth(ctx, room)
	case by != "":
		return nil, mail.Errorf(mail.Conflict, "a room %s is being moved to the NATS servers by the machine %s", room,
			by)
	}
	return nil, mail.Errorf(mail.Conflict,
		"there is a room %s on the NATS servers already, and it is another one. This "+
			"one stays where it is", room)
}

// berthSubject is what the stream of a room listens to while it is made: other machines may have the room open, and
// would append in between.
func (c *Cluster) berthSubject(room string) string { return c.cfg.Prefix + ".moving." + escape(room) }

func (c *Cluster) unreachable(what string, err error) error {
	if mail.CodeOf(err) != mail.Internal {
		return err
	}
	return &mail.Error{Code: mail.Unavailable, Err: err, Msg: fmt.Sprintf("%s, so it is not known whether it was "+
		"possible to %s. Nothing is lost; type the same again in a moment", c.away(err), what)}
}

// compare reports whether a stream has, as far as it goes, what the files have. Messages that were erased from the
// files since they were copied are erased from the stream.
func (c *Cluster) compare(ctx context.Context, s jetstream.Stream, room string, from *jsonl.Journal) (bool, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return false, err
	}
	end := mail.Seq(info.State.LastSeq)
	if end == 0 {
		return true, nil
	}
	if end > from.Last() {
		return false, nil
	}
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return false, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return false, err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for at, err := range places(ctx, from, 0, end) {
		if err != nil {
			return false, err
		}
		m, err := messages.Next()
		if err != nil {
			return false, err
		}
		meta, err := m.Metadata()
		if err != nil || mail.Seq(meta.Sequence.Stream) != at.seq {
			return false, err
		}
		switch {
		case bytes.Equal(m.Data(), at.text):
		case at.text != nil:
			return false, nil
		case isMessage(m.Data()):
			if err := s.SecureDeleteMsg(ctx, uint64(at.seq)); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// isMessage reports whether an event has the text of somebody.
func isMessage(text []byte) bool {
	var e struct {
		Message json.RawMessage `json:"message"`
	}
	return json.Unmarshal(text, &e) == nil && e.Message != nil
}

// places yields what stands at each place behind after up to end: hot and archived events, in order, and what is no
// more.
func places(ctx context.Context, j *jsonl.Journal, after, end mail.Seq) iter.Seq2[moved, error] {
	return func(yield func(moved, error) bool) {
		if after >= end {
			return
		}
		cold, stop := iter.Pull2(j.Archived(ctx, after, false))
		defer stop()
		cursor := j.Follow(after)
		defer cursor.Close()
		var hot []mail.Event
		old, err, more := cold()
		for seq := after + 1; seq <= end; seq++ {
			for more && err == nil && old.Seq < seq {
				old, err, more = cold()
			}
			if err == nil {
				hot, err = from(ctx, cursor, hot, seq)
			}
			at := moved{seq: seq}
			switch {
			case err != nil:
			case more && old.Seq == seq: // before the hot ones: a cursor may still have it in memory
				at.archived = true
				at.text, err = textOf(old)
			case hot[0].Seq == seq:
				at.text, err = textOf(hot[0])
			}
			if !yield(at, err) || err != nil {
				return
			}
		}
	}
}

// from returns events of a cursor, of which hot are the last that it gave, from a place on.
func from(ctx context.Context, cursor journal.Cursor, hot []mail.Event, seq mail.Seq) (_ []mail.Event, err error) {
	for err == nil && (len(hot) == 0 || hot[0].Seq < seq) {
		if len(hot) == 0 {
			hot, err = cursor.Next(ctx)
		} else {
			hot = hot[1:]
		}
	}
	return hot, err
}

// textOf returns an event as it stands in a stream; nil for a place at which nothing is said.
func textOf(e mail.Event) ([]byte, error) {
	if e == (mail.Event{Seq: e.Seq, At: e.At}) {
		return nil, nil
	}
	return jsonl.Encode(e)
}

// copyTo appends the places behind the stream's last one, up to a place.
func (c *Cluster) copyTo(ctx context.Context, s jetstream.Stream, room string, from *jsonl.Journal,
	to mail.Seq) error {
	info, err := s.Info(ctx)
	if err != nil {
		return c.unreachable("move the room", err)
	}
	end := mail.Seq(info.State.LastSeq)
	var batch []moved
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := c.shift(ctx, room, batch)
		batch, size = batch[:0], 0
		return err
	}
	for at, err := range places(ctx, from, end, to) {
		if err != nil {
			return err
		}
		batch = append(batch, at)
		if size += len(at.text); len(batch) == mostMoved || size > mostMovedBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// shift appends a batch of places, all or none, directly behind the place before the first.
func (c *Cluster) shift(ctx context.Context, room string, batch []moved) error {
	msgs := make([]*nats.Msg, len(batch))
	for i, at := range batch {
		msgs[i] = &nats.Msg{Subject: c.berthSubject(room), Data: at.text, Header: nats.Header{}}
		if at.text == nil {
			msgs[i].Header.Set(headerGone, "1")
		}
		if at.archived {
			msgs[i].Header.Set(archivedHeader, "1")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	msgs[0].Header.Set(nats.ExpectedLastSeqHdr, strconv.FormatUint(uint64(batch[0].seq-1), 10))
	if _, err := c.store(ctx, msgs); err != nil {
		return c.unreachable("move the room", err)
	}
	return nil
}

// Arrive copies the rest of a room that Bring has copied, to which nobody appends meanwhile. What was erased since
// Bring began goes from the stream as well. Settle then opens it to all machines.
func (c *Cluster) Arrive(ctx context.Context, room string, from *jsonl.Journal, brought mail.Seq) error {
	s, err := c.berth(ctx, room)
	if err != nil {
		return err
	}
	if err := c.copyTo(ctx, s, room, from, from.Last()); err != nil {
		return err
	}
	for at, err := range places(ctx, from, brought, from.Last()) {
		if err != nil {
			return err
		}
		if !bytes.Contains(at.text, []byte(`"erased":`)) {
			continue
		}
		if same, err := c.compare(ctx, s, room, from); err != nil || !same {
			return errors.Join(err, errors.New("the room changed while it was moved; type the same again"))
		}
		break
	}
	return nil
}

// Settle opens a room that was moved here, as far as a place, to all machines. It may be asked again.
func (c *Cluster) Settle(ctx context.Context, room string, known mail.Seq) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	s, err := c.js.Stream(ctx, c.streamName(room))
	if err == nil && mail.Seq(s.CachedInfo().State.LastSeq) < known {
		return mail.Errorf(mail.Conflict, "the stream of room %s is not whole. To make it so, type: pennypost rooms "+
			"restore %s", room, room)
	}
	if err == nil {
		err = c.Revive(ctx, room)
	}
	if err == nil {
		err = c.change(ctx, room, func(cfg *jetstream.StreamConfig) {
			delete(cfg.Metadata, movingKey)
			cfg.Subjects = []string{c.subject(room)}
		})
	}
	if err != nil {
		return c.unreachable("open the room to all machines", err)
	}
	return nil
}

// CloseOff ends a room on the servers, so that it can be moved to a file of this machine: it takes the stream's
// subject away and appends a fence. What a server still appends behind the first fence, because it has not heard of
// the other subject, counts nowhere: its sender meets the fence before it, and is told where the room goes. It may be
// asked again.
func (c *Cluster) CloseOff(ctx context.Context, room string) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	subject := c.cfg.Prefix + ".moved." + escape(room)
	err := c.change(ctx, room, func(cfg *jetstream.StreamConfig) {
		cfg.Metadata[movedKey] = string(c.cfg.Machine)
		cfg.Subjects = []string{subject}
	})
	if err == nil {
		fence := &nats.Msg{Subject: subject, Header: nats.Header{fenceHeader: {string(c.cfg.Machine)}}}
		_, err = c.js.PublishMsg(ctx, fence, jetstream.WithRetryAttempts(int(movePatience/pauseShort)),
			jetstream.WithRetryWait(pauseShort))
	}
	if err != nil {
		return c.unreachable("close off the room", err)
	}
	return nil
}

// Leave deletes the stream of a room that is in a file of this machine now.
func (c *Cluster) Leave(ctx context.Context, room string) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	s, err := c.js.Stream(ctx, c.streamName(room))
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err == nil && s.CachedInfo().Config.Metadata[movedKey] != string(c.cfg.Machine):
		return nil // it is none of ours
	case err == nil:
		err = c.Forget(ctx, room, Gone{To: c.cfg.Machine, By: c.cfg.Machine, At: mail.TimeOf(time.Now())})
	}
	if err != nil {
		return c.unreachable("delete the stream", err)
	}
	return nil
}
