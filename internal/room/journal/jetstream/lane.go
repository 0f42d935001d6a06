package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// lane is where the messages of one room are: a subject of a shard, which is a stream that rooms share, or a stream
// of the room's own, as each room had before there were shards.
//
// In a stream of its own, a message has the same sequence number in the room as in the stream. In a shard, the n-th
// message of the subject has number n in the room. Later readers would not count an erased message, so its hole is
// recorded first, on a second subject of the room. Nothing else leaves the stream, so there are as many sequence
// numbers as messages and holes together.
type lane struct {
	jetstream.Stream
	info    *jetstream.StreamInfo
	room    string
	base    string // prefix of the subjects of a room in a shard
	subject string
	shared  bool // it is in a shard
	// end is the last sequence number when the leader was last asked, or more: a message that is about to be erased
	// counts twice.
	end     mail.Seq
	holes   holes  // of a shard: at least those recorded by then
	doubled uint64 // how many of the records repeat a known hole
}

// hole is where a message was in a shard that is erased, or about to be.
type hole struct {
	At    uint64   `json:"seq"`             // of the message in the stream
	Seq   mail.Seq `json:"place"`           // of the message in the room
	About mail.ID  `json:"about,omitempty"` // of the message that was there, if it was mail
	// Machine sent it, with a number on a way: sent again, it must still be recognised.
	Machine mail.Machine `json:"machine,omitempty"`
	Way     int          `json:"way,omitzero"`
	Number  uint64       `json:"number,omitzero"`
}

// holes are sorted by sequence number, without duplicates.
type holes []hole

func (h *holes) add(x hole) {
	if i, known := h.find(x.At); !known {
		*h = slices.Insert(*h, i, x)
	}
}

// find returns how many holes precede a sequence number, and whether it is a hole itself.
func (h holes) find(at uint64) (before int, known bool) {
	return slices.BinarySearchFunc(h, at, func(x hole, at uint64) int { return cmp.Compare(x.At, at) })
}

// between counts the holes after one sequence number and before another.
func (h holes) between(after, before uint64) mail.Seq {
	from, known := h.find(after)
	if known {
		from++
	}
	to, _ := h.find(before)
	return mail.Seq(max(to-from, 0))
}

// after counts the holes after a sequence number of the stream.
func (h holes) after(at uint64) mail.Seq {
	from, known := h.find(at)
	if known {
		from++
	}
	return mail.Seq(len(h) - from)
}

// about reports whether an event is a message that was erased.
func (h holes) about(text []byte) bool {
	e, ok := jsonl.Decode(1, text)
	return ok && e.Message != nil &&
		slices.ContainsFunc(h, func(x hole) bool { return x.About == e.Message.ID && x.About != "" })
}

// numbered returns the holes after one sequence number and before another whose messages had numbers.
func (h holes) numbered(after, before uint64) (some []hole) {
	from, _ := h.find(after)
	for ; from < len(h) && h[from].At < before; from++ {
		if h[from].Number > 0 {
			some = append(some, h[from])
		}
	}
	return some
}

// idIn returns the id of a message as the room knows it.
func (l *lane) idIn(id string) string { return strings.TrimPrefix(id, idsOf(l.subject, l.shared)) }

// point is where a message is in the stream and in the room.
type point struct {
	At  uint64   `json:"seq"`
	Seq mail.Seq `json:"place"`
}

// counter gives the messages of a lane their sequence numbers in the room, in order.
type counter struct {
	lane *lane
	last point // the message that was counted last
}

func (k *counter) count(at uint64) mail.Seq {
	if !k.lane.shared {
		return mail.Seq(at)
	}
	k.last = point{at, k.last.Seq + k.lane.holes.between(k.last.At, at) + 1}
	return k.last.Seq
}

// holesSubject is where the holes of a room are recorded.
func (l *lane) holesSubject() string { return l.base + ".holes" }

// subjects are the subjects that a follower of the room needs; nil: all of the stream.
func (l *lane) subjects() []string {
	if !l.shared {
		return nil
	}
	return []string{l.subject, l.holesSubject()}
}

// look asks the leader where the room ends, and reads the holes if there are new ones.
func (l *lane) look(ctx context.Context, nc *nats.Conn) error {
	if !l.shared {
		info, err := l.Info(ctx)
		if err == nil {
			l.info, l.end = info, mail.Seq(info.State.LastSeq)
		}
		return err
	}
	info, err := l.Info(ctx, jetstream.WithSubjectFilter(l.base+".>"))
	if err != nil {
		return err
	}
	recorded := info.State.Subjects[l.holesSubject()]
	if uint64(len(l.holes))+l.doubled < recorded {
		if err := l.readHoles(ctx, nc, recorded); err != nil {
			return err
		}
		l.doubled = max(recorded, uint64(len(l.holes))) - uint64(len(l.holes))
	}
	l.info, l.end = info, mail.Seq(info.State.Subjects[l.subject]+recorded-l.doubled)
	return nil
}

// readHoles reads as many holes as are recorded.
func (l *lane) readHoles(ctx context.Context, nc *nats.Conn, recorded uint64) error {
	b, err := l.subscribe(ctx, nc, 1, l.holesSubject())
	if err != nil {
		return fmt.Errorf("read the erasures: %w", err)
	}
	defer b.drop()
	defer context.AfterFunc(ctx, b.end)()
	for range recorded {
		m, _, err := b.next()
		if err != nil {
			return fmt.Errorf("read the erasures: %w", errors.Join(err, ctx.Err()))
		}
		if _, err := l.noteHole(m.Data); err != nil {
			return err
		}
	}
	return nil
}

// errMiscounted means that messages got wrong sequence numbers. The room is then counted again.
var errMiscounted = errors.New("messages of the room were counted wrong")

// checkCount asks the leader again, and returns errMiscounted if messages were erased while a reader counted who knew
// that many holes: it may have missed a message that was no hole when it began. A hole is recorded before its message
// is deleted, so the leader knows it now.
func (l *lane) checkCount(ctx context.Context, nc *nats.Conn, known int) error {
	if !l.shared { // nothing is counted
		return nil
	}
	if err := l.look(ctx, nc); err != nil {
		return err
	}
	if len(l.holes) != known {
		return errMiscounted
	}
	return nil
}

// noteHole adds a recorded hole.
func (l *lane) noteHole(text []byte) (*hole, error) {
	var x hole
	err := json.Unmarshal(text, &x)
	if err == nil && (x.At == 0 || x.Seq == 0 || x.Way < 0 || x.Way >= ways) {
		err = errors.New("it names no sequence number")
	}
	if err != nil {
		return nil, fmt.Errorf("room %s has the invalid record of an erasure %.100q: %w", l.room, text, err)
	}
	l.holes.add(x)
	return &x, nil
}

// record records, for all readers of the room, that a message is about to be erased. Recording it twice counts once.
func (c *Cluster) record(ctx context.Context, l *lane, x hole) error {
	if _, known := l.holes.find(x.At); known {
		return nil
	}
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: l.holesSubject(), Data: text,
		Header: nats.Header{headerID: {fmt.Sprintf("%s.%d", l.holesSubject(), x.At)}}}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := c.store(ctx, []*nats.Msg{m})
		if of, said := errors.AsType[*failure](err); said && of.Code == codeInProcess && pause.For(ctx, pauseShort) {
			continue // another machine records it
		}
		if err != nil {
			return fmt.Errorf("record an erasure: %w", err)
		}
		l.holes.add(x)
		return nil
	}
}

// lastSeq returns the sequence number of a room's last message in a shard, 0 if there is none.
func (l *lane) lastSeq(ctx context.Context) (uint64, error) {
	m, err := l.GetLastMsgForSubject(ctx, l.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// read calls f for the messages after a sequence number, up to another. It begins at an earlier message whose position
// is known.
func (l *lane) read(ctx context.Context, nc *nats.Conn, from point, after, end mail.Seq,
	f func(arrival) error) error {
	if after >= end {
		return nil
	}
	if l.few(from, end) {
		return l.readFew(ctx, from, after, end, f)
	}
	delivered, err := l.follow(ctx, nc, from)
	if err != nil {
		return err
	}
	defer delivered.drop()
	defer context.AfterFunc(ctx, delivered.end)()
	late := time.AfterFunc(time.Hour, delivered.end)
	defer late.Stop()
	for empty := delivered.empty(); ; {
		if empty { // according to the delivering server, which may lag behind the leader
			if more, err := l.more(ctx, delivered.counter.last, after, end); err != nil || !more {
				return err
			}
			late.Reset(patience)
		}
		a := delivered.take()
		if a.err != nil {
			return errors.Join(a.err, ctx.Err())
		}
		late.Reset(time.Hour)
		if empty = a.pending == 0; a.hole != nil {
			continue
		}
		if a.seq > after && a.seq <= end {
			if err := f(a); err != nil {
				return err
			}
		}
		if a.seq >= end {
			return nil
		}
		after = max(after, a.seq)
	}
}

// mostGot is how many messages are requested one by one. For more, a consumer is cheaper: it costs about as much as 30
// messages, because the servers have to agree on it and on its end.
const mostGot = 24

// few reports whether get should read the messages after a point up to a sequence number.
func (l *lane) few(from point, end mail.Seq) bool { return l.shared && end < from.Seq+mostGot }

// readFew is read for few messages of a shard.
func (l *lane) readFew(ctx context.Context, from point, after, end mail.Seq, f func(arrival) error) error {
	some, err := l.get(ctx, from, end)
	for i := 0; err == nil && i < len(some); i++ {
		if some[i].seq > after {
			err = f(some[i])
		}
	}
	return err
}

// get returns the messages of a shard after a point, up to a sequence number.
func (l *lane) get(ctx context.Context, from point, end mail.Seq) (some []arrival, err error) {
	k := counter{l, from}
	for k.last.Seq < end {
		m, err := l.GetMsg(ctx, k.last.At+1, jetstream.WithGetMsgSubject(l.subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return some, nil // the last ones are erased
		}
		if err != nil {
			return nil, err
		}
		meta := nats.MsgMetadata{Sequence: nats.SequencePair{Stream: m.Sequence}}
		a := k.arrival(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, &meta)
		if a.seq <= end {
			some = append(some, a)
		}
	}
	return some, nil
}

// more reports whether the stream has something after a sequence number, up to another. In a shard it searches after
// the last counted message.
func (l *lane) more(ctx context.Context, last point, after, end mail.Seq) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	from, subject := uint64(after)+1, ">"
	if l.shared {
		from, subject = last.At+1, l.subject
	}
	next, err := l.GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	k := counter{l, last}
	return k.count(next.Sequence) <= end, nil
}
