package jetstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// surveyed is how many sequence numbers each part of a Survey covers.
const surveyed = 1024

// A Survey summarises a machine's copy of a room so that another machine can compare it with its own.
type Survey struct {
	Last    mail.Seq  `json:"last"`             // the last known sequence number
	Events  int       `json:"events"`           // including those in the archive
	Missing int       `json:"missing,omitzero"` // events that are known to have been in it and are not
	At      mail.Time `json:"at,omitzero"`      // of the last event
	Parts   []Part    `json:"parts,omitempty"`  // 1,024 sequence numbers each
}

// A Part of a Survey.
type Part struct {
	Events int    `json:"n"`
	Sum    uint64 `json:"sum"` // of their numbers and texts, independent of the order
}

// Survey reads the copy, including its archive.
func (j *Journal) Survey(ctx context.Context) (*Survey, error) {
	s := &Survey{Last: j.local.Last(), Missing: j.local.Condition().Missing}
	s.Parts = make([]Part, s.Last/surveyed+1)
	seen := make([]bool, s.Last+1) // a crash may leave an event in both the archive and the journal
	err := j.local.Lines(ctx, true, func(l jsonl.Line) error {
		if l.Text == nil || l.First > s.Last || seen[l.First] {
			return nil
		}
		seen[l.First] = true
		s.add(l.First, l.Text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if end, err := j.local.Read(ctx, s.Last); err == nil && len(end) > 0 {
		s.At = end[0].At
	}
	return s, nil
}

func (s *Survey) add(at mail.Seq, text []byte) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text[:len(text):len(text)], uint64(at)))
	p := &s.Parts[at/surveyed]
	p.Events++
	p.Sum ^= binary.BigEndian.Uint64(sum[:])
	s.Events++
}

// Fuller compares two surveys, the fuller first: one that misses fewer known events, then one that reaches further.
// The number of events says less: a copy drops those that a checkpoint replaces when it reaches it.
func Fuller(a, b *Survey) int {
	return cmp.Or(cmp.Compare(a.Missing, b.Missing), cmp.Compare(b.Last, a.Last), cmp.Compare(b.Events, a.Events))
}

// Against compares a survey with that of a fuller copy: how many events it lacks at least, how many it has in
// addition, and whether some part has the same number of events, but different ones.
func (s *Survey) Against(full *Survey) (lacks, besides int, differs bool) {
	for i := range max(len(s.Parts), len(full.Parts)) {
		var mine, theirs Part
		if i < len(s.Parts) {
			mine = s.Parts[i]
		}
		if i < len(full.Parts) {
			theirs = full.Parts[i]
		}
		lacks += max(theirs.Events-mine.Events, 0)
		besides += max(mine.Events-theirs.Events, 0)
		differs = differs || mine.Events == theirs.Events && mine.Sum != theirs.Sum
	}
	return lacks, besides, differs
}

// Damage describes the damage of a room on the servers, given a survey of a copy; "" if it is whole.
func (c *Cluster) Damage(ctx context.Context, room string, known *Survey) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, err := c.home(ctx, room)
	var wrong []string
	if err == nil && h.Next != nil {
		wrong = append(wrong, "it is being created on the servers by the machine "+string(h.Next.By))
		if h.Shard == "" {
			h = h.next()
		}
	}
	var l *lane
	if err == nil && h.Shard != "" {
		l, err = c.laneAt(ctx, room, h)
	} else if err == nil {
		l, err = c.ownLane(ctx, room, false)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, errShardGone) {
		return "its stream no longer exists on the servers", nil
	}
	if err != nil {
		return "", c.unreachable("check the room's stream", err)
	}
	wrong = append(c.dangers(&l.info.Config), wrong...)
	n := int(l.info.State.Msgs)
	if l.shared {
		n = int(l.end) - len(l.holes)
	}
	if l.end < known.Last {
		wrong = append(wrong, fmt.Sprintf("it ends at %d, but a copy at %d", l.end, known.Last))
	} else if n < known.Events {
		wrong = append(wrong, fmt.Sprintf("it has %d events, but a copy %d", n, known.Events))
	}
	return strings.Join(wrong, "; "), nil
}

// Restore creates a room on the servers again from a copy to which no one appends, whatever is left of the room
// there, and opens it to all machines. Others can read and send again when it is done; after an interruption, call it
// again. Away reports whether a machine is away, whose own attempt is then ignored. If the servers are further than
// the copy, nothing is changed, and the error has code Conflict.
func (c *Cluster) Restore(ctx context.Context, room string, from *jsonl.Journal,
	away func(mail.Machine) bool) error {
	l, err := c.takeOut(ctx, room, from.Last(), away)
	if err == nil {
		err = c.copyTo(ctx, l, from, from.Last())
	}
	if err != nil {
		return c.unreachable("restore the room", err)
	}
	if err := c.Settle(ctx, room, from.Last()); err != nil {
		return err
	}
	return c.deleteStream(ctx, room)
}

// takeOut stops all appends to a room that is on the servers, and returns the lane to which it must be copied.
func (c *Cluster) takeOut(ctx context.Context, room string, known mail.Seq,
	away func(mail.Machine) bool) (*lane, error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := c.home(ctx, room)
	if err != nil {
		return nil, err
	}
	begun := h.Next != nil
	if begun && h.Next.By != c.cfg.Machine && !away(h.Next.By) {
		return nil, mail.Errorf(mail.Conflict, "room %s is being created on the NATS servers by the machine %s", room,
			h.Next.By)
	}
	before, to := h, h.Shard
	if h.Shard == "" {
		err = c.takeOutStream(ctx, room, known, away)
	} else if err = c.mendShard(ctx, h.Shard); errors.Is(err, jetstream.ErrStreamNotFound) {
		// It is not created again: a machine that has not heard of the loss would write there first.
		before.Shard, to, err = "", "", nil
	} else if err == nil && !begun {
		err = c.mayTakeOut(ctx, room, h, known)
	}
	if err != nil {
		return nil, err
	}
	// Machines that still append before the fence have those events in their copies, and put them back themselves.
	if h, err = c.reserve(ctx, room, to, h); err == nil && before.Shard != "" {
		err = c.fence(ctx, c.shardBase(room, before)+".log", onwards)
	}
	if err != nil {
		return nil, err
	}
	return c.laneAt(ctx, room, h.next())
}

// mayTakeOut returns an error if a room is further in its shard than a copy.
func (c *Cluster) mayTakeOut(ctx context.Context, room string, h home, known mail.Seq) error {
	l, err := c.laneAt(ctx, room, h)
	if err == nil && l.end > known {
		err = further(room, l.end, known)
	}
	return err
}

// mendShard corrects the settings of a shard, if they were changed.
func (c *Cluster) mendShard(ctx context.Context, name string) error {
	s, err := c.js.Stream(ctx, name)
	if err != nil || len(c.dangers(&s.CachedInfo().Config)) == 0 {
		return err
	}
	_, err = c.js.UpdateStream(ctx, c.shardConfig(name))
	c.unhandle(name)
	return err
}

// Lost returns the rooms whose shard is gone, in order.
func (c *Cluster) Lost(ctx context.Context) (rooms []string, err error) {
	homes, err := c.allHomes(ctx)
	if err != nil {
		return nil, err
	}
	there, err := c.shards(ctx, false)
	for room, h := range homes {
		if h.Shard != "" && !slices.Contains(there, h.Shard) {
			rooms = append(rooms, room)
		}
	}
	slices.Sort(rooms)
	return rooms, err
}

func further(room string, last, known mail.Seq) error {
	return mail.Errorf(mail.Conflict, "the stream of room %s is at %d since its copies were compared, and this one "+
		"at %d. Nothing was changed; type the same again", room, last, known)
}

// takeOutStream stops all appends to the room's own stream, if there is one.
func (c *Cluster) takeOutStream(ctx context.Context, room string, known mail.Seq,
	away func(mail.Machine) bool) error {
	s, err := c.js.Stream(ctx, c.streamName(room))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	by := mail.Machine(s.CachedInfo().Config.Metadata[movingKey])
	if by != "" && by != c.cfg.Machine && !away(by) {
		return mail.Errorf(mail.Conflict, "room %s is being created on the NATS servers by the machine %s", room, by)
	}
	err = c.change(ctx, room, func(cfg *jetstream.StreamConfig) {
		cfg.Metadata[movingKey] = string(c.cfg.Machine)
		cfg.Subjects = []string{c.cfg.Prefix + ".moving." + escape(room)}
	})
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = s.Info(ctx)
	}
	if err != nil {
		return err
	}
	last := mail.Seq(info.State.LastSeq)
	if last <= known {
		return nil
	}
	err = c.change(ctx, room, func(cfg *jetstream.StreamConfig) {
		delete(cfg.Metadata, movingKey)
		cfg.Subjects = []string{c.subject(room)}
	})
	return cmp.Or(err, further(room, last, known))
}
