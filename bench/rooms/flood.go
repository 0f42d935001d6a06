package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jsonl"
)

// inBatch is how many events each call of a flood appends.
const inBatch = 100

// shardOf returns the shard of a room.
func (b *bench) shardOf(ctx context.Context, room int) (string, error) {
	s, err := b.js.Stream(ctx, "pennypost_rooms")
	if err != nil {
		return "", err
	}
	m, err := s.GetLastMsgForSubject(ctx, "pennypost.rooms."+name(room))
	if err != nil {
		return "", err
	}
	var home struct{ Shard string }
	err = json.Unmarshal(m.Data, &home)
	return home.Shard, err
}

// flood makes eight senders on one machine append to a room as fast as they can, and one on the other machine send
// to another room: of the same shard, of another one, and where each room has its own stream.
func (b *bench) flood(ctx context.Context) error {
	if !b.flooded {
		return nil
	}
	of, err := b.shardOf(ctx, 0)
	if err != nil {
		return err
	}
	same, other := 0, 0
	for room := 1; room < len(b.desk.rooms) && (same == 0 || other == 0); room++ {
		shard, err := b.shardOf(ctx, room)
		if err != nil {
			return err
		}
		if shard == of {
			same = room
		} else {
			other = room
		}
	}
	var own [2]*jetstream.Journal
	for i, name := range []string{"own-desk", "own-laptop"} {
		m, err := b.machine(ctx, mail.Machine(name), "own", true)
		if err != nil {
			return err
		}
		b.own = append(b.own, m)
		if own[i], err = m.enter(ctx, i); err != nil {
			return err
		}
	}
	lone := func(name string, j *jetstream.Journal) *way {
		return &way{name: name, senders: 1, send: func(ctx context.Context, _ int) error {
			_, err := j.Append(ctx, event())
			return err
		}}
	}
	inShard, inStream, plain := new(flood), new(flood), new(flood)
	inShard.call = func(ctx context.Context, _ int) error {
		_, err := b.desk.rooms[0].Append(ctx, events(inBatch)...)
		return err
	}
	inStream.call = func(ctx context.Context, _ int) error {
		_, err := own[0].Append(ctx, events(inBatch)...)
		return err
	}
	plain.call = b.plainBatch
	quiet, shared, elsewhere := lone("1, no flood", b.laptop.rooms[same]), lone("1, flood in its shard",
		b.laptop.rooms[same]), lone("1, flood in another shard", b.laptop.rooms[other])
	apart := lone("1, flood in another stream, each room has its own", own[1])
	unpaced := lone("1, as before, and nothing limits the flood", own[1])
	for range b.rounds { // in turn
		if err := b.turns(ctx, 1, quiet); err != nil {
			return err
		}
		for _, u := range []struct {
			flood *flood
			ways  []*way
		}{{inShard, []*way{shared, elsewhere}}, {inStream, []*way{apart}}, {plain, []*way{unpaced}}} {
			if err := u.flood.under(func() error { return b.turns(ctx, 1, u.ways...) }); err != nil {
				return err
			}
		}
	}
	b.told(quiet, shared, elsewhere, apart, unpaced)
	b.say("floods: %.0f a second in a shard, %.0f in a stream, %.0f without a limit", inShard.rate(), inStream.rate(),
		plain.rate())
	return nil
}

// flood is eight senders that append as fast as they can.
type flood struct {
	call func(ctx context.Context, sender int) error // appends inBatch events

	n     atomic.Int64
	spent time.Duration
}

func (f *flood) rate() float64 { return float64(f.n.Load()) / f.spent.Seconds() }

// under does something while the flood lasts.
func (f *flood) under(do func() error) error {
	flooding, end := context.WithCancel(context.Background())
	defer end()
	began := time.Now()
	var running sync.WaitGroup
	running.Go(func() {
		err := drive.Each(flooding, 8, 8, func(ctx context.Context, sender int) error {
			for flooding.Err() == nil {
				if err := f.call(ctx, sender); err != nil {
					return err
				}
				f.n.Add(inBatch)
			}
			return nil
		})
		if err != nil && flooding.Err() == nil {
			fmt.Println("the flood has ended:", err)
		}
	})
	err := do()
	end()
	running.Wait()
	f.spent += time.Since(began)
	return err
}

// plainBatch publishes a batch to a plain stream.
func (b *bench) plainBatch(ctx context.Context, sender int) error {
	text, err := jsonl.Encode(event())
	if err != nil {
		return err
	}
	id, subject := rand.Text(), "plain."+strconv.Itoa(sender)
	b.publishing.Lock() // messages of two batches do not interleave
	inbox := nats.NewInbox()
	answer, err := b.third.Conn().SubscribeSync(inbox)
	for i := 1; i <= inBatch && err == nil; i++ {
		m := &nats.Msg{Subject: subject, Data: text, Header: nats.Header{"Nats-Batch-Id": {id},
			"Nats-Batch-Sequence": {strconv.Itoa(i)}}}
		if i == inBatch {
			m.Reply = inbox
			m.Header.Set("Nats-Batch-Commit", "1")
		}
		err = b.third.Conn().PublishMsg(m)
	}
	b.publishing.Unlock()
	if err != nil {
		return err
	}
	defer answer.Unsubscribe()
	m, err := answer.NextMsgWithContext(ctx)
	if err == nil && bytes.Contains(m.Data, []byte(`"error"`)) {
		err = fmt.Errorf("the servers answer %s", m.Data)
	}
	return err
}
