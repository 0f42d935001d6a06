package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

const (
	// mostFilters is how many open rooms of a shard a consumer is filtered to. With more it gets all rooms.
	mostFilters = 50
	// tapSize is how many messages wait for a room, until it has to read them again by itself.
	tapSize = 1024
	// countEvery is how often the rooms of a shard are counted, in case its consumer is silent though there is more.
	countEvery = 15 * time.Second
)

// feed delivers what is new in a shard to the rooms that are open: one consumer serves all of them. What was there
// before, each room reads by itself. A room that is slow or in trouble does not hold up the others: what it does not
// take in time it reads again.
type feed struct {
	c     *Cluster
	shard string
	wants pause.Nudge // the rooms have changed

	mu     sync.Mutex
	taps   []*tap
	covers map[string]bool // what the consumer delivers, by base; nil: nothing yet
	all    bool            // it delivers all rooms
	turned chan struct{}   // closed when covers or all changes
}

// tap is where a feed delivers a room to.
type tap struct {
	feed *feed
	base string
	last func() mail.Seq // how far the room is
	in   chan message
	once sync.Once
	done chan struct{} // closed when nothing more is delivered
	err  error         // why not; set before done
}

type message struct {
	*nats.Msg
	meta *nats.MsgMetadata
}

// join has what is new in a room delivered from now on. What the leader says afterwards of its end was there before,
// or is delivered.
func (c *Cluster) join(ctx context.Context, l *lane, last func() mail.Seq) (*tap, error) {
	c.mu.Lock()
	shard := l.info.Config.Name
	f := c.feeds[shard]
	if f == nil {
		f = &feed{c: c, shard: shard, wants: pause.NewNudge(), turned: make(chan struct{})}
		c.feeds[shard] = f
		c.running.Go(f.run)
	}
	c.mu.Unlock()
	t := &tap{feed: f, base: l.base, last: last, in: make(chan message, tapSize), done: make(chan struct{})}
	f.mu.Lock()
	f.taps = append(f.taps, t)
	f.mu.Unlock()
	f.wants.Give()
	for {
		f.mu.Lock()
		covered, turned := f.all || f.covers[t.base], f.turned
		f.mu.Unlock()
		if covered {
			return t, nil
		}
		select {
		case <-turned:
		case <-t.done:
			return nil, t.err
		case <-ctx.Done():
			t.leave()
			return nil, ctx.Err()
		}
	}
}

// leave ends a tap.
func (t *tap) leave() {
	t.end(errLeft)
	f := t.feed
	f.mu.Lock()
	f.taps = slices.DeleteFunc(f.taps, func(o *tap) bool { return o == t })
	f.mu.Unlock()
	f.wants.Give()
}

var errLeft = errors.New("the room is not followed any more")

func (t *tap) end(err error) {
	t.once.Do(func() { t.err = err; close(t.done) })
}

// hand passes on what is delivered to a room, behind what was counted, until ctx or the tap ends.
func (t *tap) hand(ctx context.Context, k *counter, arrived chan<- arrival) {
	for {
		var a arrival
		select {
		case m := <-t.in:
			if m.Subject == k.lane.subject && m.meta.Sequence.Stream <= k.last.Seq {
				continue // it was there before
			}
			a = k.arrival(m.Msg, m.meta)
			a.pending = uint64(len(t.in))
		case <-t.done:
			a.err = t.err
		case <-ctx.Done():
			return
		}
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

// run delivers until the cluster is closed.
func (f *feed) run() {
	for f.c.ctx.Err() == nil {
		if _, changed, err := f.c.connection(); err != nil || len(f.bases()) == 0 {
			select {
			case <-f.c.ctx.Done():
			case <-changed:
			case <-f.wants:
			}
			continue
		}
		err := f.deliver()
		f.turn(nil, false)
		f.mu.Lock()
		taps := slices.Clone(f.taps)
		f.mu.Unlock()
		for _, t := range taps {
			t.end(err)
		}
		f.c.log.Debug("a shard is followed anew", "shard", f.shard, "err", err)
		pause.For(f.c.ctx, pauseShort)
	}
}

// bases returns the rooms that are open.
func (f *feed) bases() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	bases := make(map[string]bool)
	for _, t := range f.taps {
		select {
		case <-t.done:
		default:
			bases[t.base] = true
		}
	}
	return bases
}

// turn notes what the consumer delivers from now on.
func (f *feed) turn(covers map[string]bool, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.covers, f.all = covers, all
	close(f.turned)
	f.turned = make(chan struct{})
}

// filters returns what a consumer has to deliver for some rooms. For many that is everything, by name: of a consumer
// whose filters were taken away, nats-server 2.15.2 thinks at heartbeats only, and not when a message comes.
func (f *feed) filters(bases map[string]bool) (subjects []string) {
	if len(bases) > mostFilters {
		return []string{f.c.shardSubject(f.shard) + ">"}
	}
	for base := range bases {
		subjects = append(subjects, base+".>")
	}
	return subjects
}

// deliver has one consumer deliver what is new, until something is wrong or nobody needs it.
func (f *feed) deliver() error {
	_, changed, err := f.c.connection()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(f.c.ctx, 2*patience)
	defer cancel()
	s, err := f.c.handle(ctx, f.shard)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		f.c.unhandle(f.shard)
	}
	if err != nil {
		return err
	}
	bases := f.bases()
	if len(bases) == 0 {
		return errLeft
	}
	b, err := (&lane{Stream: s}).subscribe(ctx, f.c.nc, info.State.LastSeq+1, f.filters(bases)...)
	if err != nil {
		return fmt.Errorf("follow the shard: %w", err)
	}
	defer f.c.running.Go(b.drop)
	f.turn(bases, len(bases) > mostFilters)
	failed := make(chan error, 1)
	f.c.running.Go(func() { failed <- f.pass(b) })
	defer b.end()
	count := time.NewTicker(countEvery)
	defer count.Stop()
	for {
		select {
		case err := <-failed:
			return err
		case <-changed:
			return errors.New("the connection was lost")
		case <-f.c.ctx.Done():
			return f.c.ctx.Err()
		case <-count.C:
			if err := f.count(); err != nil {
				return err
			}
		case <-f.wants:
			if err := f.change(b, s); err != nil {
				return err
			}
		}
	}
}

// change has the consumer deliver the rooms that are open now.
func (f *feed) change(b *inbox, s jetstream.Stream) error {
	bases := f.bases()
	f.mu.Lock()
	all, missing := f.all, false
	for base := range bases {
		missing = missing || !f.covers[base]
	}
	f.mu.Unlock()
	switch {
	case len(bases) == 0:
		return errLeft
	case all && len(bases) > mostFilters/2, !missing:
		return nil // a room that is closed goes with the next change
	}
	ctx, cancel := context.WithTimeout(f.c.ctx, patience)
	defer cancel()
	cfg := b.consumer.CachedInfo().Config
	cfg.Name, cfg.FilterSubject, cfg.FilterSubjects = b.consumer.CachedInfo().Name, "", f.filters(bases)
	if _, err := s.UpdatePushConsumer(ctx, cfg); err != nil {
		return fmt.Errorf("follow other rooms: %w", err)
	}
	f.turn(bases, len(bases) > mostFilters)
	return nil
}

// pass gives each message to those who follow its room.
func (f *feed) pass(b *inbox) error {
	for {
		m, meta, err := b.next()
		if err != nil {
			return err
		}
		base := m.Subject[:strings.LastIndexByte(m.Subject, '.')]
		f.mu.Lock()
		for _, t := range f.taps {
			if t.base != base {
				continue
			}
			select {
			case <-t.done:
			case t.in <- message{m, meta}:
			default:
				t.end(errOverrun)
			}
		}
		f.mu.Unlock()
	}
}

var errOverrun = errors.New("the room did not take what was delivered in time")

// reach is how far a room is.
type reach struct{ shard, copied mail.Seq }

// count looks whether rooms are as far as their copies. A server that cannot catch up with the others says all the
// time that there is nothing new: the error is of that. Of what somebody has deleted no server says anything: that
// room is followed anew, and finds it out.
func (f *feed) count() error {
	before := f.reaches()
	if len(before) == 0 || !pause.For(f.c.ctx, heartbeat) {
		return nil
	}
	for t, now := range f.reaches() {
		was, known := before[t]
		switch {
		case !known:
		case now.copied < was.shard && len(t.in) == 0:
			return fmt.Errorf("not all of %s was delivered", t.base)
		case now.shard < was.copied:
			t.end(errShrunk)
		}
	}
	return nil
}

// reaches returns how far the rooms are whose copies are not as far as the shard; none if that cannot be found out.
func (f *feed) reaches() map[*tap]reach {
	ctx, cancel := context.WithTimeout(f.c.ctx, patience)
	defer cancel()
	counts, err := f.c.count(ctx, f.shard)
	if err != nil {
		return nil // if the connection is lost, that is noticed elsewhere
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(map[*tap]reach)
	for _, t := range f.taps {
		r := reach{mail.Seq(counts[t.base+".log"] + counts[t.base+".holes"]), t.last()}
		if r.shard != r.copied {
			all[t] = r
		}
	}
	return all
}

var errShrunk = errors.New("the shard has less of the room than the copy")
