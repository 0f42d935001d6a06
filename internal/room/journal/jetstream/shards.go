package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// roster is the recorded homes of all rooms in shards, at some moment.
type roster struct {
	mu    sync.Mutex
	last  uint64          // sequence number in the stream of records
	homes map[string]home // by room; must not be changed
}

// allHomes returns the homes of all rooms that are, or were, in shards. It reads them again if something was recorded
// since.
func (c *Cluster) allHomes(ctx context.Context) (map[string]home, error) {
	s, err := c.homes(ctx, false)
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = s.Info(ctx)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		c.unhandle(c.cfg.Prefix + "_rooms")
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the rooms: %w", err)
	}
	c.roster.mu.Lock()
	defer c.roster.mu.Unlock()
	if c.roster.homes != nil && c.roster.last == info.State.LastSeq {
		return c.roster.homes, nil
	}
	homes := make(map[string]home)
	prefix := c.homeSubject("")
	err = c.each(ctx, s, c.homeSubject("*"), func(m *nats.Msg, seq uint64) error {
		var h home
		if err := json.Unmarshal(m.Data, &h); err != nil {
			return fmt.Errorf("a room has the invalid record %.100q: %w", m.Data, err)
		}
		h.revision = seq
		homes[unescape(strings.TrimPrefix(m.Subject, prefix))] = h
		return nil
	})
	if err == nil && uint64(len(homes)) < info.State.Msgs {
		err = errors.New("the answer came from a server that is behind")
	}
	if err != nil {
		return nil, fmt.Errorf("list the rooms: %w", err)
	}
	c.roster.last, c.roster.homes = info.State.LastSeq, homes
	return homes, nil
}

// each calls f for all messages of a subject on a server.
func (c *Cluster) each(ctx context.Context, s jetstream.Stream, subject string,
	f func(m *nats.Msg, seq uint64) error) error {
	b, err := (&lane{Stream: s}).subscribe(ctx, c.nc, 1, subject)
	if err != nil {
		return err
	}
	defer b.drop()
	defer context.AfterFunc(ctx, b.end)()
	for more := !b.empty(); more; {
		m, meta, err := b.next()
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		if err := f(m, meta.Sequence.Stream); err != nil {
			return err
		}
		more = meta.NumPending > 0
	}
	return nil
}

// listShards adds the rooms in shards to the list. It returns those whose shard has no leader.
func (c *Cluster) listShards(ctx context.Context, shards map[string]*jetstream.StreamInfo, headless []string,
	rooms map[string]Listed, groups map[string]group) (silent []string, err error) {
	homes, err := c.allHomes(ctx)
	if err != nil || len(homes) == 0 {
		return nil, err
	}
	now, connected := time.Now(), c.nc.ConnectedServerName()
	counts := make(map[string]map[string]uint64)
	for name, info := range shards {
		if groupOf(info.Cluster, connected, now).leader == "" {
			headless = append(headless, name)
			continue
		}
		if counts[name], err = c.count(ctx, name); err != nil {
			return nil, err
		}
	}
	for room, h := range homes {
		info := shards[h.Shard]
		switch {
		case h.Shard == "":
			if by := h.movingBy(); by != "" && rooms[room].Last == 0 {
				rooms[room] = Listed{Moving: by}
			}
		case slices.Contains(headless, h.Shard):
			silent = append(silent, room)
		case info != nil:
			if own := rooms[room]; own.Last > 0 {
				c.leaveStream(room)
			}
			groups[room] = groupOf(info.Cluster, connected, now)
			base := c.shardBase(room, h)
			l := Listed{Last: mail.Seq(counts[h.Shard][base+".log"] + counts[h.Shard][base+".holes"]),
				Moved: h.Moved}
			if l.Moved == "" {
				l.Dangers = c.dangers(&info.Config)
			}
			rooms[room] = l
		}
	}
	c.sweep(homes, counts)
	c.spread(shards)
	return silent, nil
}

// spreadEvery is the least time between two changes of a shard's leader.
const spreadEvery = 30 * time.Second

// spread makes different servers lead the shards: after faults one may lead all of them. Each machine would make the
// same choice, so it does not matter which of them does it.
func (c *Cluster) spread(shards map[string]*jetstream.StreamInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(shards) < 2 || time.Since(c.spreadAt) < spreadEvery {
		return
	}
	for i, name := range slices.Sorted(maps.Keys(shards)) {
		ci := shards[name].Cluster
		if ci == nil || ci.Leader == "" {
			return
		}
		peers := []string{ci.Leader}
		for _, r := range ci.Replicas {
			if r.Offline || !r.Current || r.Lag >= behindFrom {
				return // try later
			}
			peers = append(peers, r.Name)
		}
		slices.Sort(peers)
		if want := peers[i%len(peers)]; want != ci.Leader {
			c.spreadAt = time.Now()
			c.running.Go(func() { c.stepDown(name, want) })
			return
		}
	}
}

// stepDown makes the leader of a stream step down for another server.
func (c *Cluster) stepDown(stream, to string) {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	text := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, to)
	if _, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, text); err != nil {
		c.log.Debug("the leader of a shard does not step down", "shard", stream, "to", to, "err", err)
	}
}

// leaveStream deletes a room's own stream some time after the room was moved to a shard.
func (c *Cluster) leaveStream(room string) {
	if !c.sweeping.CompareAndSwap(false, true) {
		return
	}
	c.running.Go(func() {
		defer c.sweeping.Store(false)
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		defer cancel()
		s, err := c.js.Stream(ctx, c.streamName(room))
		if err == nil && time.Since(s.CachedInfo().State.LastTime) > leftAlone {
			err = c.deleteStream(ctx, room)
		}
		if err != nil {
			c.log.Debug("old stream of a moved room not deleted", "room", room, "err", err)
		}
	})
}

// count returns the number of messages of each subject in a shard.
func (c *Cluster) count(ctx context.Context, shard string) (map[string]uint64, error) {
	s, err := c.handle(ctx, shard)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(c.shardSubject(shard)+">"))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// shardBase returns the prefix of a room's subjects in its shard.
func (c *Cluster) shardBase(room string, h home) string {
	return c.shardSubject(h.Shard) + escape(room) + "." + strconv.Itoa(h.Generation)
}

// sweep deletes, in the background, the remains of rooms in shards that they have left: one at a time. All machines
// may do so at the same time.
func (c *Cluster) sweep(homes map[string]home, counts map[string]map[string]uint64) {
	for shard, subjects := range counts {
		for subject, n := range subjects {
			words := strings.Split(strings.TrimPrefix(subject, c.shardSubject(shard)), ".")
			if len(words) != 3 || n == 1 && words[2] == "log" || c.isSwept(subject) { // the fence stays
				continue
			}
			generation, err := strconv.Atoi(words[1])
			h, known := homes[unescape(words[0])]
			if err == nil && known && (generation < h.Generation || generation == h.Generation && h.Shard == "") {
				c.sweepOne(shard, subject)
				return
			}
		}
	}
}

func (c *Cluster) isSwept(subject string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.swept[subject]
}

// sweepOne deletes the messages of a subject except the fence, unless it is busy with another. The fence stays for
// machines that still write there, and that stop when they reach it.
func (c *Cluster) sweepOne(shard, subject string) {
	if !c.sweeping.CompareAndSwap(false, true) {
		return
	}
	c.running.Go(func() {
		defer c.sweeping.Store(false)
		ctx, cancel := context.WithTimeout(c.ctx, time.Hour)
		defer cancel()
		s, err := c.handle(ctx, shard)
		if err != nil {
			return
		}
		err = c.sweepSubject(ctx, s, subject)
		if err != nil && ctx.Err() == nil {
			c.log.Debug("old events of a moved room not deleted", "subject", subject, "err", err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.swept[subject] = true
	})
}

// deletedAtOnce is how many messages that a room has left are deleted concurrently. More would slow the other rooms
// of the shard.
const deletedAtOnce = 16

// sweepSubject deletes the messages of a subject except its first fence. They are not overwritten, which would take a
// shard seconds per hundred messages.
func (c *Cluster) sweepSubject(ctx context.Context, s jetstream.Stream, subject string) error {
	var fence uint64
	var left []uint64
	err := c.each(ctx, s, subject, func(m *nats.Msg, seq uint64) error {
		if fence == 0 && len(m.Header[fenceHeader]) > 0 {
			fence = seq
		} else {
			left = append(left, seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(left, deletedAtOnce) {
		failed := make([]error, len(some))
		var deleting sync.WaitGroup
		for i, seq := range some {
			deleting.Go(func() {
				if err := s.DeleteMsg(ctx, seq); err != nil && !gone(ctx, s, seq) {
					failed[i] = err
				}
			})
		}
		deleting.Wait()
		if err := errors.Join(failed...); err != nil {
			return err
		}
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err == nil && info.State.Subjects[subject] != min(fence, 1) {
		err = errors.New("not all of it was delivered")
	}
	return err
}

// Delete removes a room and its content from the cluster. It is not an error if there is none.
func (c *Cluster) Delete(ctx context.Context, room string) error {
	h, err := c.home(ctx, room)
	if err == nil && (h.Shard != "" || h.Next != nil) {
		err = c.vacate(ctx, room, h)
	}
	if err != nil {
		return err
	}
	return c.deleteStream(ctx, room)
}

// vacate ends a room in a shard that it has left.
func (c *Cluster) vacate(ctx context.Context, room string, h home) error {
	if h.Shard != "" {
		if err := c.fence(ctx, c.shardBase(room, h)+".log", removed); err != nil {
			return err
		}
	}
	gone := home{Generation: h.Generation, revision: h.revision}
	if h.Next != nil {
		gone.Generation = max(h.Generation, h.Next.Generation)
	}
	_, err := c.settleHome(ctx, room, gone)
	return err
}

// dangers returns the settings of a stream that may lose mail, show old state, or stop its rooms. Someone must have
// changed them after the stream was created.
func (c *Cluster) dangers(is *jetstream.StreamConfig) (out []string) {
	to := c.config(is.Metadata[roomKey])
	if strings.HasPrefix(is.Name, c.cfg.Prefix+shardWord) {
		to = c.shardConfig(is.Name)
	}
	check := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, fmt.Sprintf("the stream %s ", is.Name)+fmt.Sprintf(format, args...))
		}
	}
	check(is.Replicas < to.Replicas, "is on %d servers instead of %d", is.Replicas, to.Replicas)
	check(is.Storage != to.Storage, "is in memory instead of on disk")
	check(is.Retention != to.Retention, "drops received messages (retention %v)", is.Retention)
	check(is.MaxAge > 0, "drops messages older than %v (max_age)", is.MaxAge)
	check(is.MaxMsgs > 0 || is.MaxBytes > 0 || is.MaxMsgsPerSubject > 0, "is limited in size: %d messages, %d bytes",
		is.MaxMsgs, is.MaxBytes)
	check(is.Discard != to.Discard, "drops old messages when it is full (discard)")
	check(is.Duplicates < to.Duplicates, "deduplicates for %v only (duplicate_window) instead of %v",
		is.Duplicates, to.Duplicates)
	check(is.AllowDirect, "is read from any server, even one that is behind (allow_direct)")
	check(is.AllowRollup || !is.DenyPurge,
		"can be emptied by every client that may write to it (allow_rollup_hdrs, deny_purge)")
	check(is.PersistMode != to.PersistMode, "acknowledges before it writes to disk (persist_mode)")
	check(is.Mirror != nil || len(is.Sources) > 0, "takes messages from other streams (mirror, sources)")
	check(!slices.Equal(is.Subjects, to.Subjects), "listens to %q instead of %q alone", is.Subjects, to.Subjects)
	return out
}
