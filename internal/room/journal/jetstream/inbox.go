package jetstream

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// inbox is where the servers deliver the messages of a stream.
type inbox struct {
	nc       *nats.Conn
	stream   jetstream.Stream
	messages *nats.Subscription
	consumer jetstream.PushConsumer
	counter  counter
	got      uint64 // messages received
}

// subscribe makes the servers deliver the messages of some subjects from a sequence number on; no subjects: all. The
// servers push: the first pull request may arrive before they know where the consumer is, and is then lost. Of 1,200
// on three servers, 58 were, and each loss was noticed two heartbeats later.
func (l *lane) subscribe(ctx context.Context, nc *nats.Conn, from uint64, subjects ...string) (b *inbox, err error) {
	b = &inbox{nc: nc, stream: l.Stream}
	if b.messages, err = nc.SubscribeSync(nats.NewInbox()); err != nil {
		return nil, err
	}
	b.consumer, err = l.CreatePushConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, FilterSubjects: subjects,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgotten,
		DeliverSubject: b.messages.Subject, IdleHeartbeat: heartbeat, FlowControl: true,
	})
	if err != nil {
		return nil, errors.Join(err, b.messages.Unsubscribe())
	}
	return b, nil
}

// follow makes the servers deliver the messages of the room after a point, and the holes if it is in a shard.
func (l *lane) follow(ctx context.Context, nc *nats.Conn, after point) (*inbox, error) {
	b, err := l.subscribe(ctx, nc, after.At+1, l.subjects()...)
	if err == nil {
		b.counter = counter{l, after}
	}
	return b, err
}

// empty reports whether there was nothing to deliver at the start.
func (b *inbox) empty() bool {
	info := b.consumer.CachedInfo()
	return info.NumPending == 0 && info.Delivered.Consumer == 0
}

// arrival is a message of the stream, or the reason why no more come.
type arrival struct {
	seq      mail.Seq
	at       uint64 // its sequence number in the stream
	text     []byte // nil: there is no event
	id       string
	idThere  string   // the id on the servers, which is longer
	size     int      // of the message there, in bytes
	hole     *hole    // it is not an event, but says that one is erased
	given    mail.Seq // its sequence number, if its sender knew
	after    mail.Seq // the last sequence number of its sender's copy
	archived bool     // it was in the archive when the room was moved to the servers
	fence    string   // the room ends here, and goes to a file of that machine
	proof    proof    // of its sender
	skipped  []hole   // the messages erased directly before it
	refused  string   // why it does not count; then there is no event
	pending  uint64   // how many messages followed it
	err      error
}

// mostAtOnce is the most messages placed in one write.
const mostAtOnce = 500

// fetch passes messages on until something fails or ctx ends.
func (b *inbox) fetch(ctx context.Context, arrived chan<- arrival) {
	defer context.AfterFunc(ctx, b.end)()
	for {
		for _, a := range b.takeMany(ctx) {
			select {
			case arrived <- a:
			case <-ctx.Done():
				return
			}
			if a.err != nil {
				return
			}
		}
	}
}

// takeMany returns the next messages, the last of which may be an error. It counts those of a shard together, so that
// no message gets the sequence number of one that is erased meanwhile.
func (b *inbox) takeMany(ctx context.Context) (some []arrival) {
	l := b.counter.lane
	known := len(l.holes)
	for {
		a := b.take()
		some = append(some, a)
		switch {
		case a.err != nil || !l.shared:
			return some
		case a.pending == 0 || len(some) == mostAtOnce:
			if err := l.checkCount(ctx, b.nc, known); err != nil {
				return []arrival{{err: err}}
			}
			return some
		}
	}
}

var errLost = errors.New("messages were lost in transit")

// take returns the next message, or an error if not even a heartbeat comes.
func (b *inbox) take() arrival {
	m, meta, err := b.next()
	if err != nil {
		return arrival{err: err}
	}
	return b.counter.arrival(m, meta)
}

// arrival counts a message.
func (k *counter) arrival(m *nats.Msg, meta *nats.MsgMetadata) arrival {
	l := k.lane
	a := arrival{at: meta.Sequence.Stream, pending: meta.NumPending,
		id:      l.idIn(m.Header.Get(headerID)),
		idThere: m.Header.Get(headerID), size: m.Size(),
		archived: m.Header.Get(archivedHeader) != "", fence: m.Header.Get(fenceHeader)}
	if l.shared && m.Subject == l.holesSubject() {
		a.hole, a.err = l.noteHole(m.Data)
		return a
	}
	before := k.last.At
	a.seq = k.count(a.at)
	a.given, a.after = seqIn(m.Header, seqHeader), seqIn(m.Header, afterHeader)
	if m.Header.Get(headerGone) == "" {
		a.text = unpack(m)
	}
	if l.shared {
		a.proof, a.skipped = proofOf(m, a.text, l.base), l.holes.numbered(before, a.at)
	}
	return a
}

// seqIn returns the sequence number in a header, 0 if there is none.
func seqIn(h nats.Header, name string) mail.Seq {
	seq, _ := strconv.ParseUint(h.Get(name), 10, 64)
	return mail.Seq(seq)
}

// miscounted reports whether the sender of a message knew of more events before it than there are.
func (a *arrival) miscounted() bool { return a.after >= a.seq || a.given > a.seq }

// next returns the next message, whose number must follow the last one's.
func (b *inbox) next() (*nats.Msg, *nats.MsgMetadata, error) {
	for {
		m, err := b.messages.NextMsg(2 * heartbeat)
		if err != nil {
			return nil, nil, err
		}
		if m.Header.Get("Status") == "100" {
			if err := b.control(m); err != nil {
				return nil, nil, err
			}
			continue
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, nil, err
		}
		if b.got++; meta.Sequence.Consumer != b.got {
			return nil, nil, errLost
		}
		return m, meta, nil
	}
}

// control handles the servers' control messages: how many messages they have sent, and flow control requests, without
// whose answer they send no more.
func (b *inbox) control(m *nats.Msg) error {
	if last, err := strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64); err == nil && last != b.got {
		return errLost // of a stream that was rolled back, the servers report fewer deliveries
	}
	if ask := cmp.Or(m.Reply, m.Header.Get("Nats-Consumer-Stalled")); ask != "" {
		return b.nc.Publish(ask, nil)
	}
	return nil
}

// end stops the delivery, and ends any wait for it.
func (b *inbox) end() { _ = b.messages.Unsubscribe() }

// drop tells the servers that a consumer is no longer needed. They also find out by themselves.
func (b *inbox) drop() {
	b.end()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = b.stream.DeleteConsumer(ctx, b.consumer.CachedInfo().Name)
}
