package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/bench/drive"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// run is one layout with a number of rooms.
type run struct {
	shards, rooms, open     int // shards is 0 where each room is a stream
	lasting, rest, patience time.Duration
	memory                  float64

	cluster *natstest.Cluster
	conn    *nats.Conn
	js      jetstream.JetStream
	sent    atomic.Int64 // for message ids
}

type step struct {
	name string
	do   func(context.Context) error
}

func (r *run) steps() []step {
	return []step{
		{"create", r.create},
		{"rest", r.atRest},
		{"publish, 1 sender, 1 room", func(ctx context.Context) error { return r.publish(ctx, 1, 1) }},
		{"publish, 1 sender, 64 rooms", func(ctx context.Context) error { return r.publish(ctx, 1, 64) }},
		{"publish, 64 senders, 1 room", func(ctx context.Context) error { return r.publish(ctx, 64, 1) }},
		{"publish, 64 senders, 64 rooms", func(ctx context.Context) error { return r.publish(ctx, 64, 64) }},
		{"publish, 64 senders, all rooms", func(ctx context.Context) error { return r.publish(ctx, 64, r.rooms) }},
		{"open a room of 1,000", r.fetch},
		{"follow", func(ctx context.Context) error { return r.follow(ctx, min(r.open, r.rooms), r.subjectOf) }},
		{"follow shards", func(ctx context.Context) error { return r.follow(ctx, r.shards, r.shardSubject) }},
		{"restart", r.restart},
	}
}

// step does one step and aborts it when it takes too much time or memory.
func (r *run) step(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.patience, fmt.Errorf("interrupted after %v", r.patience))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { r.guard(ctx, stop) })
	err := s.do(ctx)
	if broken := context.Cause(ctx); broken != nil && err != nil {
		err = fmt.Errorf("%w: %w", broken, err)
	}
	stop(nil)
	watching.Wait()
	return err
}

// guard stops a step when the servers use too much memory.
func (r *run) guard(ctx context.Context, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		if u, err := r.used(); err == nil && u.Memory > r.memory {
			stop(fmt.Errorf("the servers have %.0f MB", u.Memory))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (r *run) connect() (err error) {
	if r.conn, err = nats.Connect(strings.Join(r.cluster.URLs(), ","), nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond)); err != nil {
		return err
	}
	r.js, err = jetstream.New(r.conn, jetstream.WithDefaultTimeout(time.Minute))
	return err
}

// streamOf and subjectOf locate a room.
func (r *run) streamOf(room int) string {
	if r.shards == 0 {
		return fmt.Sprint("pp_r", room)
	}
	return fmt.Sprint("pp_s", room%r.shards)
}

func (r *run) subjectOf(room int) string {
	if r.shards == 0 {
		return fmt.Sprint("pp.r", room)
	}
	return fmt.Sprintf("pp.s%d.r%d", room%r.shards, room)
}

func (r *run) shardSubject(shard int) string { return fmt.Sprintf("pp.s%d.*", shard) }

// config is a stream configuration with the journal's settings.
func config(name, subject string) jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Replicas: 3, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardNew, Duplicates: 5 * time.Minute, AllowAtomicPublish: true}
}

// makers is the number of streams created at the same time.
const makers = 8

// create makes the rooms: their streams, and a first event in each.
func (r *run) create(ctx context.Context) error {
	began := time.Now()
	for shard := range r.shards {
		if _, err := r.js.CreateStream(ctx, config(r.streamOf(shard), r.shardSubject(shard))); err != nil {
			return err
		}
	}
	var made atomic.Int64
	err := drive.Each(ctx, makers, r.rooms, func(ctx context.Context, room int) error {
		if r.shards == 0 {
			if _, err := r.js.CreateStream(ctx, config(r.streamOf(room), r.subjectOf(room))); err != nil {
				return err
			}
		}
		if err := r.send(ctx, room); err != nil {
			return err
		}
		if n := made.Add(1); n%500 == 0 {
			u, _ := r.used()
			r.say("%d rooms after %.1f s: %s", n, time.Since(began).Seconds(), u)
		}
		return nil
	})
	took := time.Since(began)
	r.say("create: %d rooms in %.1f s, %.1f ms each", made.Load(), took.Seconds(),
		took.Seconds()*1e3/float64(max(1, made.Load())))
	return errors.Join(err, r.usage())
}

// send publishes one event and waits until it is acknowledged.
func (r *run) send(ctx context.Context, room int) error {
	m := nats.NewMsg(r.subjectOf(room))
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprint("m", r.sent.Add(1)))
	m.Data = []byte(drive.Body)
	_, err := r.js.PublishMsg(ctx, m)
	return err
}

// atRest watches the idle servers.
func (r *run) atRest(ctx context.Context) error {
	before, err := r.used()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.rest):
	}
	after, err := r.used()
	r.say("rest: %.2f of a core for three servers; %s", (after.CPU-before.CPU).Seconds()/r.rest.Seconds(), after)
	return err
}

// publish runs senders, each sending after the acknowledgement of its last, to rooms in turn.
func (r *run) publish(ctx context.Context, senders, rooms int) error {
	rooms = min(rooms, r.rooms)
	took := make([][]time.Duration, senders)
	before, _ := r.used()
	began := time.Now()
	err := drive.Each(ctx, senders, senders, func(ctx context.Context, s int) error {
		for i := s; time.Since(began) < r.lasting; i += senders {
			start := time.Now()
			if err := r.send(ctx, i%rooms); err != nil {
				return err
			}
			took[s] = append(took[s], time.Since(start))
		}
		return nil
	})
	all := slices.Concat(took...)
	if len(all) == 0 {
		return errors.Join(err, errors.New("nothing was acknowledged"))
	}
	lasted := time.Since(began)
	after, _ := r.used()
	slices.Sort(all)
	r.say("publish: %d senders, %d rooms: p50 %.2f ms, p99 %.2f, longest %.1f; %.0f a second; %.0f µs of the "+
		"servers' processor time each", senders, rooms, ms(all[len(all)/2]), ms(all[len(all)*99/100]),
		ms(all[len(all)-1]), float64(len(all))/lasted.Seconds(),
		(after.CPU-before.CPU).Seconds()*1e6/float64(len(all)))
	return err
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// inRoom is the number of events in the room to open, and between the number of other rooms' events per event of it.
const inRoom, between = 1000, 9

// fetch makes a room whose events were written among those of others, and reads all of it a hundred times, as a post
// office that opens the room does.
func (r *run) fetch(ctx context.Context) error {
	room := r.rooms
	if r.shards == 0 {
		if _, err := r.js.CreateStream(ctx, config(r.streamOf(room), r.subjectOf(room))); err != nil {
			return err
		}
	}
	if err := drive.Each(ctx, 64, inRoom*(between+1), func(ctx context.Context, i int) error {
		if i%(between+1) == 0 {
			return r.send(ctx, room)
		}
		return r.send(ctx, (room+i*max(1, r.shards))%r.rooms)
	}); err != nil {
		return err
	}
	var n int
	var took []time.Duration
	for range 100 {
		start := time.Now()
		var err error
		if n, err = r.fetchOnce(ctx, room); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	r.say("open: a room of %d: p50 %.1f ms, p95 %.1f, longest of a hundred %.1f", n, ms(took[50]), ms(took[95]),
		ms(took[99]))
	return nil
}

// fetchOnce reads all of a room with an ordered consumer and returns the number of events.
func (r *run) fetchOnce(ctx context.Context, room int) (n int, err error) {
	c, err := r.js.OrderedConsumer(ctx, r.streamOf(room), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{r.subjectOf(room)}})
	if err != nil {
		return 0, err
	}
	messages, err := c.Messages()
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return n, err
		}
		n++
		if meta, err := m.Metadata(); err != nil || meta.NumPending == 0 {
			return n, err
		}
	}
}

// say prints one line of the results.
func (r *run) say(format string, args ...any) {
	layout := "a stream each"
	if r.shards > 0 {
		layout = fmt.Sprintf("%d shards", r.shards)
	}
	fmt.Printf("%s, %d rooms: %s\n", layout, r.rooms, fmt.Sprintf(format, args...))
}
