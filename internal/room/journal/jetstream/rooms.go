package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// Machines makes this machine known to the others on the cluster. It uses Name, ID, Version, Rooms and Log of opts.
func (c *Cluster) Machines(ctx context.Context, opts MachineOptions) (*Machines, error) {
	opts.Prefix, opts.Replicas, opts.Skew, opts.Trouble = c.cfg.Prefix, c.cfg.Replicas, c.Skew, c.Trouble
	opts.Erasing = c.Lingering
	return NewMachines(ctx, c.nc, opts)
}

// Warnings asks the servers for their settings, for a second at most, and returns the dangers for mail.
func (c *Cluster) Warnings(ctx context.Context) []string {
	return Warnings(c.inspect(ctx), c.nc.ConnectedServerVersion(), len(c.cfg.URLs), c.cfg.Replicas)
}

// OnRooms calls changed whenever a room may have come or gone.
func (c *Cluster) OnRooms(changed func()) error {
	for _, what := range []string{"CREATED", "DELETED", "UPDATED"} {
		_, err := c.nc.Subscribe("$JS.EVENT.ADVISORY.STREAM."+what+".*", func(m *nats.Msg) {
			if strings.Contains(m.Subject, "."+c.cfg.Prefix+"_room_") ||
				strings.Contains(m.Subject, "."+c.cfg.Prefix+shardWord) {
				changed()
			}
		})
		if err != nil {
			return fmt.Errorf("watch for new rooms: %w", err)
		}
	}
	if _, err := c.nc.Subscribe(c.homeSubject("*"), func(*nats.Msg) { changed() }); err != nil {
		return fmt.Errorf("watch for new rooms: %w", err)
	}
	return nil
}

// OnAppend calls f, once and soon, when a machine appends to a room. stop cancels that.
func (c *Cluster) OnAppend(room string, f func()) (stop func(), err error) {
	once := sync.OnceFunc(f)
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe()
		}
	}
	for _, subject := range []string{c.subject(room), c.cfg.Prefix + ".shard.*." + escape(room) + ".*.log"} {
		sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
			_ = m.Sub.Unsubscribe()
			once()
		})
		if err != nil {
			stop()
			return nil, fmt.Errorf("watch for mail in room %s: %w", room, err)
		}
		_ = sub.AutoUnsubscribe(1)
		subs = append(subs, sub)
	}
	return stop, nil
}

// Listed is a room on the cluster.
type Listed struct {
	Last   mail.Seq
	Moving mail.Machine // that machine is moving it here; "": it is here
	Moved  mail.Machine // it is moving to a file on that machine
	// Dangers are changes to the stream's settings that may lose mail, or stop the room.
	Dangers []string
	// Headless says that no server leads its stream. The other fields are then the last known ones, and zero if there
	// are none.
	Headless bool
}

// Here reports whether the room exists and all machines may use it.
func (l Listed) Here() bool { return (l.Last > 0 || l.Headless) && l.Moving == "" && l.Moved == "" }

// List returns the rooms on the cluster, except those in which nothing ever happened. For those without a leader it
// returns the last known state.
func (c *Cluster) List(ctx context.Context) (map[string]Listed, error) {
	rooms, groups := make(map[string]Listed), make(map[string]group)
	streams, headless, err := c.streams(ctx)
	if err != nil {
		return nil, err
	}
	now, connected := time.Now(), c.nc.ConnectedServerName()
	shards := make(map[string]*jetstream.StreamInfo)
	for _, info := range streams {
		name := info.Config.Name
		room := info.Config.Metadata[roomKey]
		switch {
		case strings.HasPrefix(name, c.cfg.Prefix+shardWord):
			shards[name] = info
			continue
		case room == "" || !c.isRoom(name):
			continue
		}
		groups[room] = groupOf(info.Cluster, connected, now)
		if groups[room].leader == "" {
			headless = append(headless, name)
		}
		rooms[room] = c.listing(info)
	}
	var missing []string
	for _, stream := range headless {
		if room := c.roomOf(stream); room != "" {
			missing = append(missing, room)
		}
	}
	silent, err := c.listShards(ctx, shards, headless, rooms, groups)
	if err != nil {
		return nil, err
	}
	missing = append(missing, silent...)
	c.mu.Lock()
	for _, room := range missing {
		l := c.listed[room]
		l.Headless, rooms[room] = true, l
	}
	c.listed = rooms
	c.mu.Unlock()
	c.health.listed(groups, missing)
	return maps.Clone(rooms), nil
}

// listing returns a room's entry from its stream.
func (c *Cluster) listing(info *jetstream.StreamInfo) Listed {
	l := Listed{Last: mail.Seq(info.State.LastSeq), Moving: mail.Machine(info.Config.Metadata[movingKey]),
		Moved: mail.Machine(info.Config.Metadata[movedKey])}
	if l.Moving == "" && l.Moved == "" {
		l.Dangers = c.dangers(&info.Config)
	}
	return l
}

// streams returns all streams, and the names of those for which no server answers. The servers wait for these for
// four seconds. The client library does not return their names, and asks for them again and again.
func (c *Cluster) streams(ctx context.Context) (all []*jetstream.StreamInfo, silent []string, err error) {
	for offset, total := 0, 1; offset < total; {
		msg, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.LIST", fmt.Appendf(nil, `{"offset":%d}`, offset))
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Error   *jetstream.APIError     `json:"error"`
			Total   int                     `json:"total"`
			Streams []*jetstream.StreamInfo `json:"streams"`
			Missing []string                `json:"missing"`
		}
		switch err := json.Unmarshal(msg.Data, &page); {
		case err != nil:
			return nil, nil, err
		case page.Error != nil:
			return nil, nil, page.Error
		}
		known := make(map[string]bool)
		for _, info := range page.Streams {
			known[info.Config.Name] = true
		}
		for _, name := range page.Missing {
			known[name] = true
		}
		if len(known) == 0 {
			break
		}
		all, silent = append(all, page.Streams...), append(silent, page.Missing...)
		offset, total = offset+len(known), page.Total
	}
	return all, silent, nil
}

// Keys of a stream's metadata that say that the room is being moved.
const (
	movingKey = "pennypost-moving" // to the stream; the machine
	movedKey  = "pennypost-moved"  // to a file; the machine
)

// Gone records what happened to a room that was on the cluster.
type Gone struct {
	To mail.Machine `json:"to,omitempty"` // the machine that has it in a file now; "": it was removed
	By mail.Machine `json:"by"`
	At mail.Time    `json:"at"`
}

func (c *Cluster) goneTable() string { return c.cfg.Prefix + "-gone" }

// goneBucket returns the table of the rooms that were on the cluster.
func (c *Cluster) goneBucket(ctx context.Context, create bool) (jetstream.KeyValue, error) {
	return bucket(ctx, c.js, create, jetstream.KeyValueConfig{Bucket: c.goneTable(),
		Replicas: c.cfg.Replicas, Description: "rooms of Pennypost that were removed, or moved to a file"})
}

// bucket returns a table on the servers, and creates it if there is none and create is set.
func bucket(ctx context.Context, js jetstream.JetStream, create bool,
	cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) && create {
		kv, err = js.CreateKeyValue(ctx, cfg)
	}
	return kv, err
}

// Gone returns what happened to a room that is no longer on the cluster; false if it never was there. It asks the
// leader. KeyValue.Get would ask any server, and one that was suspended may not have heard of the last change.
func (c *Cluster) Gone(ctx context.Context, room string) (Gone, bool, error) {
	var g Gone
	table := c.goneTable()
	ask := fmt.Appendf(nil, `{"last_by_subj":"$KV.%s.%s"}`, table, escape(room))
	msg, err := again(ctx, func(ctx context.Context) (*nats.Msg, error) {
		return c.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET.KV_"+table, ask)
	})
	if err != nil {
		return g, false, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Data []byte `json:"data"` // empty in the message of Revive
		} `json:"message"`
	}
	switch err := json.Unmarshal(msg.Data, &answer); {
	case err != nil:
		return g, false, err
	case answer.Error == nil && len(answer.Message.Data) > 0:
		return g, true, json.Unmarshal(answer.Message.Data, &g)
	case answer.Error == nil, answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound,
		answer.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return g, false, nil
	}
	return g, false, answer.Error
}

// Forget records what happens to a room, and deletes its stream. Other machines create it again only after Revive.
func (c *Cluster) Forget(ctx context.Context, room string, g Gone) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	kv, err := c.goneBucket(ctx, true)
	if err == nil {
		_, err = kv.Put(ctx, escape(room), text)
	}
	if err != nil {
		return fmt.Errorf("record that room %s is removed: %w", room, err)
	}
	return c.Delete(ctx, room)
}

// Revive removes the record of what happened to a room, so that the room may be created again.
func (c *Cluster) Revive(ctx context.Context, room string) error {
	kv, err := c.goneBucket(ctx, false)
	if err == nil {
		err = kv.Purge(ctx, escape(room))
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	return err
}

// here returns why this machine must not use a room's stream: it is being moved.
func (c *Cluster) here(info *jetstream.StreamInfo) error {
	meta := info.Config.Metadata
	return c.isHere(meta[roomKey], mail.Machine(meta[movingKey]), mail.Machine(meta[movedKey]))
}

// isHere returns why this machine must not use a room, given who is moving it here or has moved it to a file.
func (c *Cluster) isHere(room string, moving, moved mail.Machine) error {
	if moving != "" && moving != c.cfg.Machine {
		return mail.Errorf(mail.Unavailable,
			"room %s is being moved to the NATS servers by the machine %s, and will be there soon", room, moving)
	}
	if moved != "" && moved != c.cfg.Machine {
		return MovedTo(room, moved)
	}
	return nil
}

// MovedTo returns the error of using a room here that went to a file of another machine.
func MovedTo(room string, to mail.Machine) error {
	return mail.Errorf(mail.Unavailable, "room %s was moved to a file on the machine %s and can only be used "+
		"there. To move it back, type there: pennypost rooms move %s --to jetstream", room, to, room)
}

// mayMake returns why a room has no stream and must not get one: it was removed, or is elsewhere.
func (c *Cluster) mayMake(ctx context.Context, room string) error {
	g, gone, err := c.Gone(ctx, room)
	switch {
	case err != nil:
		return fmt.Errorf("find out what happened to room %s: %w", room, err)
	case gone && g.To != "":
		return MovedTo(room, g.To)
	case gone:
		return mail.Errorf(mail.NotFound, "room %s was removed by the user on the machine %s", room, g.By)
	}
	return nil
}

// change changes the settings of a room's stream.
func (c *Cluster) change(ctx context.Context, room string, change func(*jetstream.StreamConfig)) error {
	s, err := c.js.Stream(ctx, c.streamName(room))
	if err != nil {
		return err
	}
	cfg := s.CachedInfo().Config
	cfg.Subjects = slices.Clone(cfg.Subjects)
	change(&cfg)
	_, err = c.js.UpdateStream(ctx, cfg)
	return err
}
