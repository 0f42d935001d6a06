package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// home says in which shard a room is. It is recorded when the room is created, and changes when the room is moved.
type home struct {
	Shard string `json:"shard,omitempty"` // the stream's name; "": the room is in none
	// Generation distinguishes the room's messages from those that it had in a shard before it was moved or removed.
	Generation int          `json:"generation"`
	Next       *nextHome    `json:"next,omitempty"`  // where it is being copied to
	Moved      mail.Machine `json:"moved,omitempty"` // it is moving to a file of that machine

	revision uint64 // of the record; 0: there is none
}

// nextHome is the future home of a room, to which a machine is copying it.
type nextHome struct {
	Shard      string       `json:"shard"`
	Generation int          `json:"generation"`
	By         mail.Machine `json:"by"`
}

// next returns the home that a room will have.
func (h home) next() home {
	return home{Shard: h.Next.Shard, Generation: h.Next.Generation, revision: h.revision}
}

// movingBy returns the machine that is creating a room in a shard when the room is nowhere else; "": it is there, or
// no machine is creating it.
func (h home) movingBy() mail.Machine {
	if h.Shard == "" && h.Next != nil {
		return h.Next.By
	}
	return ""
}

// reserve records where this machine is about to copy a room to. It uses a new generation.
func (c *Cluster) reserve(ctx context.Context, room, shard string, h home) (home, error) {
	if shard == "" {
		var err error
		if shard, err = c.pick(ctx, room); err != nil {
			return h, err
		}
	}
	last := h.Generation
	if h.Next != nil {
		last = max(last, h.Next.Generation)
	}
	h.Next = &nextHome{Shard: shard, Generation: last + 1, By: c.cfg.Machine}
	return c.settleHome(ctx, room, h)
}

// pick chooses a shard for a room.
func (c *Cluster) pick(ctx context.Context, room string) (string, error) {
	shards, err := c.shards(ctx, true)
	if err != nil {
		return "", fmt.Errorf("find a shard for room %s: %w", room, err)
	}
	sum := fnv.New32a()
	sum.Write([]byte(room))
	return shards[sum.Sum32()%uint32(len(shards))], nil
}

// homes returns the stream that records where rooms are, and creates it if create is set.
func (c *Cluster) homes(ctx context.Context, create bool) (jetstream.Stream, error) {
	name := c.cfg.Prefix + "_rooms"
	s, err := c.handle(ctx, name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) || !create {
		return s, err
	}
	return c.create(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{c.homeSubject("*")}, Replicas: c.cfg.Replicas,
		Description: "where the rooms of Pennypost are", Storage: jetstream.FileStorage, MaxMsgsPerSubject: 1,
		Duplicates: duplicates, DenyPurge: true})
}

// create creates a stream that others may be creating, or have created.
func (c *Cluster) create(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := again(ctx, func(ctx context.Context) (jetstream.Stream, error) { return c.js.CreateStream(ctx, cfg) })
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // with other settings
		return c.handle(ctx, cfg.Name)
	}
	return s, err
}

// again asks the servers, and retries when no answer comes: no server answers for a new stream that has no leader
// yet, and when several clients create a stream at the same time, only one gets an answer.
func again[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	for wait := firstAttempt / 2; ; wait *= 2 {
		attempt, cancel := context.WithTimeout(ctx, wait)
		is, err := ask(attempt)
		silent := attempt.Err() != nil
		cancel()
		if err == nil || !silent || ctx.Err() != nil {
			return is, err
		}
	}
}

func (c *Cluster) homeSubject(room string) string { return c.cfg.Prefix + ".rooms." + room }

// handle returns a stream, which is looked up once.
func (c *Cluster) handle(ctx context.Context, name string) (jetstream.Stream, error) {
	c.mu.Lock()
	s := c.handles[name]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := again(ctx, func(ctx context.Context) (jetstream.Stream, error) { return c.js.Stream(ctx, name) })
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles[name] = s
	return s, nil
}

// unhandle forgets a stream that may have been deleted.
func (c *Cluster) unhandle(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handles, name)
}

// home returns a room's recorded home. It asks the leader, the only server that has heard of each change.
func (c *Cluster) home(ctx context.Context, room string) (h home, err error) {
	s, err := c.homes(ctx, false)
	var m *jetstream.RawStreamMsg
	if err == nil {
		m, err = again(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return s.GetLastMsgForSubject(ctx, c.homeSubject(escape(room)))
		})
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		c.unhandle(c.cfg.Prefix + "_rooms")
		return h, nil
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return h, nil
	case err != nil:
		return h, fmt.Errorf("find room %s: %w", room, err)
	}
	if err := json.Unmarshal(m.Data, &h); err != nil {
		return h, fmt.Errorf("room %s has the invalid record %.100q: %w", room, m.Data, err)
	}
	h.revision = m.Sequence
	return h, nil
}

// errElsewhere means that another machine has changed a room's record.
var errElsewhere = errors.New("another machine has moved the room")

// settleHome records a room's home, if its record is still the one from which h was read.
func (c *Cluster) settleHome(ctx context.Context, room string, h home) (home, error) {
	if _, err := c.homes(ctx, true); err != nil {
		return h, fmt.Errorf("create the list of rooms: %w", err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return h, err
	}
	m := &nats.Msg{Subject: c.homeSubject(escape(room)), Data: text,
		Header: nats.Header{nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(h.revision, 10)}}}
	seq, err := c.storeInNew(ctx, m)
	if of, refused := errors.AsType[*failure](err); refused && (of.Code == codeWrongLast || of.Code == codeInFlight) {
		return h, errElsewhere
	}
	h.revision = uint64(seq)
	return h, err
}

// storeInNew stores a message in a stream that may be new: no server takes it until the stream has a leader, and all
// servers know that.
func (c *Cluster) storeInNew(ctx context.Context, m *nats.Msg) (mail.Seq, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	for {
		seq, err := c.store(ctx, []*nats.Msg{m})
		if !errors.Is(err, nats.ErrNoResponders) || !pause.For(ctx, pauseShort) {
			return seq, err
		}
	}
}

// shardWord begins the names of shards, after the prefix.
const shardWord = "_shard_"

// shards returns the names of the shards, and creates the first if create is set and there is none.
func (c *Cluster) shards(ctx context.Context, create bool) ([]string, error) {
	var names []string
	list := c.js.StreamNames(ctx, jetstream.WithStreamListSubject(c.cfg.Prefix+".shard.>"))
	for name := range list.Name() {
		if strings.HasPrefix(name, c.cfg.Prefix+shardWord) {
			names = append(names, name)
		}
	}
	if err := list.Err(); err != nil || len(names) > 0 || !create {
		slices.Sort(names)
		return names, err
	}
	first, err := c.makeShard(ctx, names)
	return []string{first}, err
}

// makeShard creates a shard in addition to others. It never reuses the name of a lost shard: a machine that has not
// heard of the loss would write messages there that do not continue their room.
func (c *Cluster) makeShard(ctx context.Context, others []string) (string, error) {
	homes, err := c.allHomes(ctx)
	if err != nil {
		return "", err
	}
	for _, h := range homes {
		others = append(others, h.Shard)
	}
	last := 0
	for _, name := range others {
		n, _ := strconv.Atoi(strings.TrimPrefix(name, c.cfg.Prefix+shardWord))
		last = max(last, n)
	}
	name := c.cfg.Prefix + shardWord + strconv.Itoa(last+1)
	_, err = c.create(ctx, c.shardConfig(name))
	return name, err
}

// AddShards creates shards until there are n. New rooms are spread over all of them; rooms that have a shard stay in
// it.
func (c *Cluster) AddShards(ctx context.Context, n int) error {
	names, err := c.shards(ctx, false)
	for err == nil && len(names) < n {
		var name string
		name, err = c.makeShard(ctx, names)
		names = append(names, name)
	}
	if err != nil {
		return c.unreachable("create another shard", err)
	}
	return nil
}

// Shard is a stream that rooms share.
type Shard struct {
	Number   int
	Rooms    int
	Messages uint64 // including those of rooms that were moved or removed
	Bytes    uint64
	Leader   string // the server that leads it; "": there is none, and only Rooms is known
}

// Shards returns the shards, in order.
func (c *Cluster) Shards(ctx context.Context) ([]Shard, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	all := make(map[string]*Shard)
	streams, headless, err := c.streams(ctx)
	var homes map[string]home
	if err == nil {
		homes, err = c.allHomes(ctx)
	}
	if err != nil {
		return nil, c.unreachable("list the shards", err)
	}
	now, connected := time.Now(), c.nc.ConnectedServerName()
	for _, info := range streams {
		all[info.Config.Name] = &Shard{Messages: info.State.Msgs, Bytes: info.State.Bytes,
			Leader: groupOf(info.Cluster, connected, now).leader}
	}
	for _, name := range headless {
		all[name] = new(Shard)
	}
	var shards []Shard
	for name, s := range all {
		number, is := strings.CutPrefix(name, c.cfg.Prefix+shardWord)
		if s.Number, err = strconv.Atoi(number); !is || err != nil {
			continue
		}
		for _, h := range homes {
			if h.Shard == name {
				s.Rooms++
			}
		}
		shards = append(shards, *s)
	}
	slices.SortFunc(shards, func(a, b Shard) int { return cmp.Compare(a.Number, b.Number) })
	return shards, nil
}

// shardNumbered returns the name of a shard. If there is none of that number, the error has code NotFound.
func (c *Cluster) shardNumbered(ctx context.Context, number int) (string, error) {
	names, err := c.shards(ctx, false)
	if err != nil {
		return "", c.unreachable("find the shard", err)
	}
	if name := c.cfg.Prefix + shardWord + strconv.Itoa(number); slices.Contains(names, name) {
		return name, nil
	}
	return "", mail.Errorf(mail.NotFound, "there is no shard %d. To see the shards: pennypost rooms shards", number)
}

// shardConfig returns the configuration of a shard.
func (c *Cluster) shardConfig(name string) jetstream.StreamConfig {
	cfg := c.config("")
	cfg.Name, cfg.Metadata = name, nil
	cfg.Subjects = []string{c.shardSubject(name) + ">"}
	return cfg
}

// shardSubject begins the subjects of a shard.
func (c *Cluster) shardSubject(name string) string {
	return c.cfg.Prefix + ".shard." + strings.TrimPrefix(name, c.cfg.Prefix+shardWord) + "."
}

// lane returns where the messages of a room are. If create is set and the room has no home, it finds one.
func (c *Cluster) lane(ctx context.Context, room string, create bool) (*lane, error) {
	look, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, err := c.home(look, room)
	if err != nil {
		return nil, err
	}
	if h.Shard == "" {
		l, err := c.ownLane(ctx, room, create && c.cfg.OwnStreams)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return l, err
		}
		if by := h.movingBy(); by != "" {
			return nil, errors.Join(c.isHere(room, by, ""), err)
		}
		if !create || c.cfg.OwnStreams {
			return nil, err
		}
		if h, err = c.findHome(look, room, h); err != nil {
			return nil, err
		}
		// the shard has nothing of the room yet, or the follower will see it
		if s, err := c.handle(look, h.Shard); err == nil {
			l := c.sharedLane(s, room, h)
			l.info = s.CachedInfo()
			return l, c.takesBatches(&l.info.Config)
		}
	}
	if err := c.isHere(room, "", h.Moved); err != nil {
		return nil, err
	}
	return c.laneAt(look, room, h)
}

// ownLane returns the lane of a room in a stream of its own.
func (c *Cluster) ownLane(ctx context.Context, room string, create bool) (*lane, error) {
	s, info, err := c.stream(ctx, room, create)
	if err != nil {
		return nil, err
	}
	return c.laneOf(room, s, info), nil
}

// laneOf returns the lane of a room from its stream and the stream's info.
func (c *Cluster) laneOf(room string, s jetstream.Stream, info *jetstream.StreamInfo) *lane {
	return &lane{Stream: s, info: info, room: room, subject: c.subject(room), end: mail.Seq(info.State.LastSeq)}
}

// laneAt returns the lane of a room in a shard.
func (c *Cluster) laneAt(ctx context.Context, room string, h home) (*lane, error) {
	s, err := c.handle(ctx, h.Shard)
	if err != nil {
		return nil, c.shardGone(room, err)
	}
	l := c.sharedLane(s, room, h)
	before := time.Now()
	if err := l.look(ctx, c.nc); err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			c.unhandle(h.Shard)
		}
		return nil, c.shardGone(room, err)
	}
	c.clock.compare(l.info.TimeStamp, before, time.Now())
	return l, c.takesBatches(&l.info.Config)
}

func (c *Cluster) sharedLane(s jetstream.Stream, room string, h home) *lane {
	base := c.shardBase(room, h)
	return &lane{Stream: s, room: room, shared: true, base: base, subject: base + ".log"}
}

// shardGone tells what to do, if an error means that the shard of a room is gone.
func (c *Cluster) shardGone(room string, err error) error {
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return &mail.Error{Code: mail.Unavailable, Err: errShardGone, Msg: fmt.Sprintf("the stream of room %s is gone "+
		"from the NATS servers. To restore it from the machines' copies: pennypost rooms restore %s", room,
		room)}
}

var errShardGone = errors.New("the shard is gone")

// findHome records a shard for a room that has none. If two machines do so at the same time, one succeeds.
func (c *Cluster) findHome(ctx context.Context, room string, h home) (home, error) {
	if err := c.mayMake(ctx, room); err != nil {
		return h, err
	}
	if err := c.uncopied(ctx, room); err != nil {
		return h, err
	}
	shard, err := c.pick(ctx, room)
	if err != nil {
		return h, err
	}
	to, err := c.settleHome(ctx, room, home{Shard: shard, Generation: h.Generation + 1, revision: h.revision})
	if errors.Is(err, errElsewhere) {
		if to, err = c.home(ctx, room); err == nil && to.Shard == "" {
			err = errElsewhere
		}
	}
	return to, err
}
