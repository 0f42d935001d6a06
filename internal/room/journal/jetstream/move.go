package jetstream

import (
	"bytes"
	"cmp"
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
	// archivedHeader marks a message that was in the archive when the room was moved: it goes into the other
	// machines' archives, and is never hot again.
	archivedHeader = "Pennypost-Archived"
	// mostMoved and mostMovedBytes limit how much is moved in one batch.
	mostMoved      = 500
	mostMovedBytes = 4 << 20
	// movePatience is the servers' time limit for one step of a move.
	movePatience = 10 * time.Second
	// fenceHeader marks the message that ends a room on the servers; it names the machine to whose file the room
	// goes.
	fenceHeader = "Pennypost-Moved"
)

// moved is an event of a room that is moved. Without text, only its sequence number is known.
type moved struct {
	seq      mail.Seq
	text     []byte
	archived bool
}

// Values of fenceHeader that name no machine.
const (
	removed = "-" // the room was removed
	onwards = "=" // it continues elsewhere on the servers
)

// fence ends a room at a subject. Messages that a server still appends after the first fence count nowhere: their
// sender sees the fence first, and gets an error, or sends them again to the room's new home.
func (c *Cluster) fence(ctx context.Context, subject, to string) error {
	fence := &nats.Msg{Subject: subject, Header: nats.Header{fenceHeader: {to}}}
	c.sign([]*nats.Msg{fence}, [][]byte{nil}, 0, 0)
	_, err := c.js.PublishMsg(ctx, fence, jetstream.WithRetryAttempts(int(movePatience/pauseShort)),
		jetstream.WithRetryWait(pauseShort))
	return err
}

// Bring copies a room from its files, up to the last event, to a shard where no machine uses it yet, and checks what
// an earlier attempt has copied. It returns the last sequence number; Arrive finishes the copy when no one appends any
// more. If the servers have a room of that name, or another machine brings one, the error has code Conflict.
func (c *Cluster) Bring(ctx context.Context, room string, from *jsonl.Journal) (mail.Seq, error) {
	l, err := c.berth(ctx, room)
	if err != nil {
		return 0, err
	}
	to := from.Last()
	same, err := c.compare(ctx, l, from)
	if err != nil {
		return 0, fmt.Errorf("compare room %s with its copy on the servers: %w", room, err)
	}
	if !same { // the files have changed since; perhaps they were repaired
		if l, err = c.reberth(ctx, room); err != nil {
			return 0, err
		}
	}
	return to, c.copyTo(ctx, l, from, to)
}

// berth returns the lane to which this machine is moving a room, and finds one if there is none.
func (c *Cluster) berth(ctx context.Context, room string) (*lane, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := c.home(ctx, room)
	if err == nil && h.Next == nil {
		if err = c.vacant(ctx, room, &h); err == nil {
			h, err = c.reserve(ctx, room, "", h)
		}
	}
	if err != nil {
		return nil, c.unreachable("move the room", err)
	}
	if by := h.Next.By; by != c.cfg.Machine {
		return nil, mail.Errorf(mail.Conflict, "room %s is being moved to the NATS servers by the machine %s", room,
			by)
	}
	l, err := c.laneAt(ctx, room, h.next())
	if err != nil {
		return nil, c.unreachable("move the room", err)
	}
	return l, nil
}

// reberth is berth that abandons the earlier copy.
func (c *Cluster) reberth(ctx context.Context, room string) (*lane, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := c.home(ctx, room)
	if err == nil {
		shard := "" // any, unless a shard was chosen before
		if h.Next != nil {
			shard = h.Next.Shard
		}
		h, err = c.reserve(ctx, room, shard, h)
	}
	if err != nil {
		return nil, c.unreachable("move the room", err)
	}
	return c.laneAt(ctx, room, h.next())
}

// vacant returns an error if there is a room on the servers. If a machine only looked for it, vacant removes its
// record and updates h.
func (c *Cluster) vacant(ctx context.Context, room string, h *home) error {
	l, err := c.lane(ctx, room, false)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return err
	case l.end > 0:
		return mail.Errorf(mail.Conflict, "the NATS servers already have another room %s. This one was "+
			"not moved", room)
	}
	if err := c.Delete(ctx, room); err != nil {
		return err
	}
	*h, err = c.home(ctx, room)
	return err
}

func (c *Cluster) unreachable(what string, err error) error {
	if mail.CodeOf(err) != mail.Internal {
		return err
	}
	return &mail.Error{Code: mail.Unavailable, Err: err, Msg: fmt.Sprintf("%s, so the attempt to %s may or may not "+
		"have worked. Nothing is lost; type the same again in a moment", c.away(err), what)}
}

// compare reports whether the servers' copy agrees with the files, as far as it goes. Messages that were erased from
// the files since they were copied are erased there too.
func (c *Cluster) compare(ctx context.Context, l *lane, from *jsonl.Journal) (bool, error) {
	if l.end == 0 {
		return true, nil
	}
	if l.end > from.Last() {
		return false, nil
	}
	next, stop := iter.Pull2(contents(ctx, from, 0, l.end))
	defer stop()
	same := true
	err := l.read(ctx, c.nc, point{}, 0, l.end, func(a arrival) error {
		at, err, more := next()
		for more && err == nil && at.seq < a.seq {
			at, err, more = next()
		}
		switch {
		case err != nil || !more:
			return cmp.Or(err, errDiffers)
		case bytes.Equal(a.text, at.text):
		case at.text != nil:
			same = false
			return errDiffers
		case isMessage(a.text):
			x := holeOf(&a, nil)
			return errors.Join(c.record(ctx, l, x), l.SecureDeleteMsg(ctx, a.at))
		}
		return nil
	})
	if !same {
		err = nil
	}
	return same, err
}

// isMessage reports whether an event has a message's text.
func isMessage(text []byte) bool {
	var e struct {
		Message json.RawMessage `json:"message"`
	}
	return json.Unmarshal(text, &e) == nil && e.Message != nil
}

// contents yields the events from after+1 to end, hot and archived, and the sequence numbers without an event.
func contents(ctx context.Context, j *jsonl.Journal, after, end mail.Seq) iter.Seq2[moved, error] {
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

// from returns events of a cursor from a sequence number on; hot is the rest of the events that it last returned.
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

// textOf returns an event as it is stored in a stream; nil if there is none.
func textOf(e mail.Event) ([]byte, error) {
	if e == (mail.Event{Seq: e.Seq, At: e.At}) {
		return nil, nil
	}
	return jsonl.Encode(e)
}

// copyTo appends the events after the last one already there, up to a sequence number.
func (c *Cluster) copyTo(ctx context.Context, l *lane, from *jsonl.Journal, to mail.Seq) error {
	last, err := l.lastSeq(ctx)
	if err == nil {
		err = l.look(ctx, c.nc)
	}
	if err != nil {
		return c.unreachable("move the room", err)
	}
	var batch []moved
	size := 0
	flush := func() (err error) {
		if len(batch) > 0 {
			last, err = c.shift(ctx, l, last, batch)
			batch, size = batch[:0], 0
		}
		return err
	}
	for at, err := range contents(ctx, from, l.end, to) {
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

// shift appends a batch of events, all or none, directly after a message of the room, and returns the sequence number
// of its last one.
func (c *Cluster) shift(ctx context.Context, l *lane, last uint64, batch []moved) (uint64, error) {
	msgs := make([]*nats.Msg, len(batch))
	for i, at := range batch {
		seq := strconv.FormatUint(uint64(at.seq), 10)
		msgs[i] = &nats.Msg{Subject: l.subject, Data: at.text, Header: nats.Header{seqHeader: {seq},
			headerID: {copyID(l.base, seq)}}}
		if at.text == nil {
			msgs[i].Header.Set(headerGone, "1")
		}
		if at.archived {
			msgs[i].Header.Set(archivedHeader, "1")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	msgs[0].Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(last, 10))
	c.signCopies(msgs)
	to, err := c.store(ctx, msgs)
	if err != nil {
		return 0, c.unreachable("move the room", err)
	}
	return uint64(to), nil
}

// Arrive copies the rest of a room that Bring has copied, when no one appends any more. It also erases from the
// servers the messages erased since Bring began. Settle then opens the room to all machines.
func (c *Cluster) Arrive(ctx context.Context, room string, from *jsonl.Journal, brought mail.Seq) error {
	l, err := c.berth(ctx, room)
	if err != nil {
		return err
	}
	if err := c.copyTo(ctx, l, from, from.Last()); err != nil {
		return err
	}
	for at, err := range contents(ctx, from, brought, from.Last()) {
		if err != nil {
			return err
		}
		if !bytes.Contains(at.text, []byte(`"erased":`)) {
			continue
		}
		if err := l.look(ctx, c.nc); err != nil {
			return c.unreachable("move the room", err)
		}
		if same, err := c.compare(ctx, l, from); err != nil || !same {
			return errors.Join(err, errors.New("the room changed during the move; type the same again"))
		}
		break
	}
	return nil
}

// Settle opens a room that was copied to the servers, up to a sequence number, to all machines. It may be called
// again.
func (c *Cluster) Settle(ctx context.Context, room string, known mail.Seq) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := c.home(ctx, room)
	if err == nil && h.Next != nil {
		h = h.next()
	}
	var l *lane
	if err == nil && h.Shard != "" {
		l, err = c.laneAt(ctx, room, h)
	} else if err == nil {
		l, err = c.lane(ctx, room, false)
	}
	if err == nil && l.end < known {
		return mail.Errorf(mail.Conflict, "the stream of room %s is incomplete. To restore it: pennypost rooms "+
			"restore %s", room, room)
	}
	if err == nil {
		err = c.Revive(ctx, room)
	}
	if err == nil && h.Shard != "" {
		_, err = c.settleHome(ctx, room, h)
	}
	if err != nil {
		return c.unreachable("open the room to all machines", err)
	}
	return nil
}

// CloseOff ends a room on the servers with a fence, so that it can be moved to a file of this machine. It may be
// called again.
func (c *Cluster) CloseOff(ctx context.Context, room string) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := c.home(ctx, room)
	switch {
	case err == nil && h.Shard != "":
		subject := c.shardBase(room, h) + ".log"
		h.Moved, h.Next = c.cfg.Machine, nil
		if _, err = c.settleHome(ctx, room, h); err == nil {
			err = c.fence(ctx, subject, string(c.cfg.Machine))
		}
	case err == nil:
		subject := c.cfg.Prefix + ".moved." + escape(room)
		err = c.change(ctx, room, func(cfg *jetstream.StreamConfig) {
			cfg.Metadata[movedKey] = string(c.cfg.Machine)
			cfg.Subjects = []string{subject}
		})
		if err == nil {
			err = c.fence(ctx, subject, string(c.cfg.Machine))
		}
	}
	if err != nil {
		return c.unreachable("close off the room", err)
	}
	return nil
}

// Leave deletes from the servers a room that is now in a file of this machine.
func (c *Cluster) Leave(ctx context.Context, room string) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := c.home(ctx, room)
	by := h.Moved
	if err == nil && h.Shard == "" {
		var s jetstream.Stream
		if s, err = c.js.Stream(ctx, c.streamName(room)); err == nil {
			by = mail.Machine(s.CachedInfo().Config.Metadata[movedKey])
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err == nil && by != c.cfg.Machine:
		return nil // another machine's room
	case err == nil:
		err = c.Forget(ctx, room, Gone{To: c.cfg.Machine, By: c.cfg.Machine, At: mail.TimeOf(time.Now())})
	}
	if err != nil {
		return c.unreachable("delete the room there", err)
	}
	return nil
}
