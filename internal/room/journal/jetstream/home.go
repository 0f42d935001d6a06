package jetstream

import (
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

	"pennypost/internal/mail"
)

// home says in which shard a room is. It is recorded when the room is made, and changes when the room is moved.
type home struct {
	Shard string `json:"shard,omitempty"` // the name of the stream; "": the room is in none
	// Generation tells the room's messages from those that it had in a shard before it was moved or removed.
	Generation int          `json:"generation"`
	Next       *nextHome    `json:"next,omitempty"`  // where it is being copied to
	Moved      mail.Machine `json:"moved,omitempty"` // it goes to a file of that machine

	revision uint64 // of the record; 0: there is none
}

// nextHome is where a room is being copied to by a machine, and will be.
type nextHome struct {
	Shard      string       `json:"shard"`
	Generation int          `json:"generation"`
	By         mail.Machine `json:"by"`
}

// next is the home that a room will have.
func (h home) next() home {
	return home{Shard: h.Next.Shard, Generation: h.Next.Generation, revision: h.revision}
}

// movingBy returns who is making a room in a shard that is nowhere else; "": it is there, or nobody is.
func (h home) movingBy() mail.Machine {
	if h.Shard == "" && h.Next != nil {
		return h.Next.By
	}
	return ""
}

// reserve records where a room is about to be copied to by this machine. It is a generation that nobody knows.
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

// homes returns the stream in which it is recorded where rooms are, and makes it if create is set.
func (c *Cluster) homes(ctx context.Context, create bool) (jetstream.Stream, error) {
	name := c.cfg.Prefix + "_rooms"
	s, err := c.handle(ctx, name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) || !create {
		return s, err
	}
	s, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{c.homeSubject("*")}, Replicas: c.cfg.Replicas,
		Description: "where the rooms of Pennypost are", Storage: jetstream.FileStorage, MaxMsgsPerSubject: 1,
		Duplicates: duplicates, DenyPurge: true})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another machine, at the same moment
		return c.handle(ctx, name)
	}
	return s, err
}

func (c *Cluster) homeSubject(room string) string { return c.cfg.Prefix + ".rooms." + room }

// handle returns a stream, which is looked for once.
func (c *Cluster) handle(ctx context.Context, name string) (jetstream.Stream, error) {
	c.mu.Lock()
	s := c.handles[name]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := c.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles[name] = s
	return s, nil
}

// unhandle forgets a stream that was deleted, perhaps.
func (c *Cluster) unhandle(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handles, name)
}

// home returns where a room is recorded to be. The leader is asked: it alone has heard of each change.
func (c *Cluster) home(ctx context.Context, room string) (h home, err error) {
	s, err := c.homes(ctx, false)
	var m *jetstream.RawStreamMsg
	if err == nil {
		m, err = s.GetLastMsgForSubject(ctx, c.homeSubject(escape(room)))
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		c.unhandle(c.cfg.Prefix + "_rooms")
		return h, nil
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return h, nil
	case err != nil:
		return h, fmt.Errorf("look where room %s is: %w", room, err)
	}
	if err := json.Unmarshal(m.Data, &h); err != nil {
		return h, fmt.Errorf("room %s is recorded at %.100q: %w", room, m.Data, err)
	}
	h.revision = m.Sequence
	return h, nil
}

// errElsewhere means that a room's record was changed by somebody else.
var errElsewhere = errors.New("another machine has changed where the room is")

// settleHome records where a room is, if its record is the one that h was read from.
func (c *Cluster) settleHome(ctx context.Context, room string, h home) (home, error) {
	if _, err := c.homes(ctx, true); err != nil {
		return h, fmt.Errorf("make the list of rooms: %w", err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return h, err
	}
	m := &nats.Msg{Subject: c.homeSubject(escape(room)), Data: text,
		Header: nats.Header{nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(h.revision, 10)}}}
	seq, err := c.store(ctx, []*nats.Msg{m})
	if of, refused := errors.AsType[*failure](err); refused && (of.Code == codeWrongLast || of.Code == codeInFlight) {
		return h, errElsewhere
	}
	h.revision = uint64(seq)
	return h, err
}

// shardWord begins the names of shards, after the prefix.
const shardWord = "_shard_"

// shards returns the names of the shards, and makes the first if create is set and there is none.
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

// makeShard makes a shard beside others. It is never called as one was that is gone: whoever has not heard of that
// would write there what is not behind the rest of its room.
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
	_, err = c.js.CreateStream(ctx, c.shardConfig(name))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		err = nil
	}
	return name, err
}

// AddShards makes shards until there are n. New rooms go to all of them; those that are in one stay there.
func (c *Cluster) AddShards(ctx context.Context, n int) error {
	names, err := c.shards(ctx, false)
	for err == nil && len(names) < n {
		var name string
		name, err = c.makeShard(ctx, names)
		names = append(names, name)
	}
	if err != nil {
		return c.unreachable("make another shard", err)
	}
	return nil
}

// shardConfig is how a shard is to be.
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

// lane returns where the messages of a room are, and finds a home for it if create is set and it has none.
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

// laneOf is the lane of a room whose stream was looked at.
func (c *Cluster) laneOf(room string, s jetstream.Stream, info *jetstream.StreamInfo) *lane {
	return &lane{Stream: s, info: info, room: room, subject: c.subject(room), end: mail.Seq(info.State.LastSeq)}
}

// laneAt returns the lane of a room in a shard.
func (c *Cluster) laneAt(ctx context.Context, room string, h home) (*lane, error) {
	s, err := c.handle(ctx, h.Shard)
	if err != nil {
		return nil, c.shardGone(room, err)
	}
	l := &lane{Stream: s, room: room, shared: true, base: c.shardBase(room, h)}
	l.subject = l.base + ".log"
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

// shardGone says what to do, if an error is that the shard of a room is gone.
func (c *Cluster) shardGone(room string, err error) error {
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return &mail.Error{Code: mail.Unavailable, Err: errShardGone, Msg: fmt.Sprintf("the stream of room %s is gone "+
		"from the NATS servers. To have it again from the machines' copies, type: pennypost rooms restore %s", room,
		room)}
}

var errShardGone = errors.New("the shard is gone")

// findHome records a shard for a room that has none. Of two machines that do so at once, one does.
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
