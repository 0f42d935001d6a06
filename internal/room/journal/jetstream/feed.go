package jetstream

import (
	"cmp"
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
	// mostFilters is the largest number of open rooms of a shard for which a consumer is filtered. With more it gets
	// all rooms, as it does in a shard with few other rooms: each change of the filters costs the servers as much as
	// several messages.
	mostFilters = 50
	fewOthers   = 16
	// tapSize is how many messages may wait for a room before the room must read them again itself.
	tapSize = 1024
	// countEvery is how often the rooms of a shard are counted, in case its consumer is silent although there is
	// more.
	countEvery = 15 * time.Second
)

// feed delivers the new messages of a shard to its open rooms: one consumer serves all of them. Each room reads the
// earlier ones itself. A room that is slow or in trouble does not hold up the others: it reads again what it did not
// take in time.
type feed struct {
	c     *Cluster
	shard string
	wants pause.Nudge // the rooms have changed
	doubt pause.Nudge // the leader has less than was delivered

	mu     sync.Mutex
	taps   []*tap
	rooms  int             // how many the shard has
	inbox  *inbox          // of the consumer; nil: there is none
	covers map[string]bool // the rooms that the consumer delivers, by base
	all    bool            // it delivers all rooms
	passed uint64          // what the shard has up to this sequence number is not delivered any more
	turned chan struct{}   // closed when covers or all changes
}

// tap is the end of a feed at which a room receives its messages.
type tap struct {
	feed *feed
	lane *lane
	last func() point // where the copy ends
	from uint64       // all of the room that the shard has after this sequence number is delivered
	in   chan message
	once sync.Once
	done chan struct{} // closed when nothing more will be delivered
	err  error         // the reason; set before done
}

type message struct {
	*nats.Msg
	meta *nats.MsgMetadata
}

// join starts the delivery of a room's new messages, those after from. The leader may not have applied all of the
// others yet when another server already delivers (TestLeaderLags).
func (c *Cluster) join(ctx context.Context, l *lane, last func() point) (*tap, error) {
	c.mu.Lock()
	shard := l.info.Config.Name
	f := c.feeds[shard]
	if f == nil {
		f = &feed{c: c, shard: shard, wants: pause.NewNudge(), doubt: pause.NewNudge(), turned: make(chan struct{})}
		c.feeds[shard] = f
		c.running.Go(f.run)
	}
	c.mu.Unlock()
	t := &tap{feed: f, lane: l, last: last, in: make(chan message, tapSize), done: make(chan struct{})}
	f.mu.Lock()
	f.taps = append(f.taps, t)
	f.mu.Unlock()
	f.wants.Give()
	for {
		f.mu.Lock()
		covered, turned := f.all || f.covers[t.lane.base], f.turned
		t.from = f.passed
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

// look asks the leader where the room ends, once the leader has applied all that is not delivered. If it never does,
// the servers have lost that, and the shard is followed again.
func (t *tap) look(ctx context.Context, l *lane) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := l.look(ctx, t.feed.c.nc)
		if err == nil && l.info.State.LastSeq >= t.from {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		if !pause.For(ctx, pauseShort) {
			t.feed.doubt.Give()
			return fmt.Errorf("the shard ends at %d, but was delivered up to %d", l.info.State.LastSeq, t.from)
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

var errLeft = errors.New("room no longer followed")

func (t *tap) end(err error) {
	t.once.Do(func() { t.err = err; close(t.done) })
}

// hand passes on the messages delivered to a room after those already counted, until ctx or the tap ends.
func (t *tap) hand(ctx context.Context, k *counter, arrived chan<- arrival) {
	counted := k.last.At
	for {
		var a arrival
		select {
		case m := <-t.in:
			old := m.Subject == k.lane.subject && m.meta.Sequence.Stream <= k.last.At
			if old && m.meta.Sequence.Stream <= counted {
				continue // it existed before
			}
			if a = k.arrival(m.Msg, m.meta); old {
				a.err = errLost
			}
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
		f.turn(nil, nil, false, 0)
		f.mu.Lock()
		taps := slices.Clone(f.taps)
		f.mu.Unlock()
		for _, t := range taps {
			t.end(err)
		}
		f.c.log.Debug("shard followed again", "shard", f.shard, "err", err)
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
			bases[t.lane.base] = true
		}
	}
	return bases
}

// turn notes what a consumer delivers from now on, after a sequence number; a nil inbox: there is none any more.
func (f *feed) turn(b *inbox, covers map[string]bool, all bool, after uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inbox == b {
		after = max(after, f.passed)
	}
	f.inbox, f.covers, f.all, f.passed = b, covers, all, after
	close(f.turned)
	f.turned = make(chan struct{})
}

// allFor reports whether the consumer should deliver all rooms if some are open.
func (f *feed) allFor(open int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return open > mostFilters || f.rooms <= 2*open+fewOthers
}

// filters returns the subjects that a consumer must deliver for some rooms. Those of all rooms it names, too: a
// consumer whose filters were removed is served by nats-server 2.15.2 at heartbeats only, not when a message arrives.
func (f *feed) filters(bases map[string]bool) (all bool, subjects []string) {
	if f.allFor(len(bases)) {
		return true, []string{f.c.shardSubject(f.shard) + ">"}
	}
	for base := range bases {
		subjects = append(subjects, base+".>")
	}
	return false, subjects
}

// deliver runs one consumer that delivers new messages, until something fails or no room needs it.
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
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(f.c.shardSubject(f.shard)+">"))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		f.c.unhandle(f.shard)
	}
	if err != nil {
		return err
	}
	f.counted(info.State.Subjects)
	bases := f.bases()
	if len(bases) == 0 {
		return errLeft
	}
	all, filters := f.filters(bases)
	b, err := (&lane{Stream: s}).subscribe(ctx, f.c.nc, info.State.LastSeq+1, filters...)
	if err != nil {
		return fmt.Errorf("follow the shard: %w", err)
	}
	defer f.c.running.Go(b.drop)
	f.turn(b, bases, all, info.State.LastSeq)
	failed := make(chan error, 1)
	f.c.running.Go(func() { failed <- f.pass(b) })
	defer b.end()
	return f.keep(b, s, failed, changed)
}

// keep looks after a consumer until it fails, or no room needs it.
func (f *feed) keep(b *inbox, s jetstream.Stream, failed <-chan error, changed <-chan struct{}) error {
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
			if err := cmp.Or(f.count(), f.change(b, s)); err != nil {
				return err
			}
		case <-f.wants:
			if err := f.change(b, s); err != nil {
				return err
			}
		case <-f.doubt:
			return errors.New("the leader of the shard has less of it than was delivered")
		}
	}
}

// change makes the consumer deliver the rooms that are open now.
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
	case all && f.allFor(2*len(bases)), !all && !missing:
		return nil // a closed room is dropped with the next change
	}
	ctx, cancel := context.WithTimeout(f.c.ctx, patience)
	defer cancel()
	cfg := b.consumer.CachedInfo().Config
	all, filters := f.filters(bases)
	cfg.Name, cfg.FilterSubject, cfg.FilterSubjects = b.consumer.CachedInfo().Name, "", filters
	now, err := s.UpdatePushConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("follow other rooms: %w", err)
	}
	f.turn(b, bases, all, now.CachedInfo().Delivered.Stream)
	return nil
}

// pass gives each message to the taps of its room.
func (f *feed) pass(b *inbox) error {
	for {
		m, meta, err := b.next()
		if err != nil {
			return err
		}
		base := m.Subject[:strings.LastIndexByte(m.Subject, '.')]
		f.mu.Lock()
		if f.inbox != b { // another consumer delivers, perhaps from an earlier message on
			f.mu.Unlock()
			return errLeft
		}
		f.passed = meta.Sequence.Stream
		for _, t := range f.taps {
			if t.lane.base != base {
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

var errOverrun = errors.New("the room did not accept the delivered events in time")

// reach is how many messages the shard, and the copy, have of a room.
type reach struct{ shard, copied mail.Seq }

// count checks whether the copies have reached the shard's end. A server that cannot catch up with the others keeps
// reporting that there is nothing new: then it returns an error. No server reports that someone deleted messages:
// such a room is followed again, and finds out.
func (f *feed) count() error {
	before := f.reaches()
	if len(before) == 0 || !pause.For(f.c.ctx, heartbeat) {
		return nil
	}
	for t, now := range f.reaches() {
		was, known := before[t]
		switch {
		case !known:
		case now.copied < min(was.shard, now.shard) && len(t.in) == 0 && t.lags():
			return fmt.Errorf("not all of %s was delivered", t.lane.base)
		case now.shard < was.copied:
			t.end(errShrunk)
		}
	}
	return nil
}

// lags reports whether the shard has a message that the copy lacks. The number of messages does not tell, since one
// that is about to be erased counts twice.
func (t *tap) lags() bool {
	ctx, cancel := context.WithTimeout(t.feed.c.ctx, patience)
	defer cancel()
	_, err := t.lane.GetMsg(ctx, t.last().At+1, jetstream.WithGetMsgSubject(t.lane.subject))
	return err == nil // a lost connection is noticed elsewhere
}

// reaches returns the reach of the rooms whose copies differ from the shard; none if that cannot be found out.
func (f *feed) reaches() map[*tap]reach {
	ctx, cancel := context.WithTimeout(f.c.ctx, patience)
	defer cancel()
	counts, err := f.c.count(ctx, f.shard)
	if err != nil {
		return nil // a lost connection is noticed elsewhere
	}
	f.counted(counts)
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(map[*tap]reach)
	for _, t := range f.taps {
		r := reach{mail.Seq(counts[t.lane.base+".log"] + counts[t.lane.base+".holes"]), t.last().Seq}
		if r.shard != r.copied {
			all[t] = r
		}
	}
	return all
}

// counted notes how many rooms the shard has.
func (f *feed) counted(subjects map[string]uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rooms = 0
	for subject := range subjects {
		if strings.HasSuffix(subject, ".log") {
			f.rooms++
		}
	}
}

var errShrunk = errors.New("the shard has less of the room than the copy")
