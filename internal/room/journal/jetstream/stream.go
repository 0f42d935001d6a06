package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// duplicates is how long the servers remember the id of a message, so that it is stored once however often it is
// sent: longer than any sender tries.
const duplicates = 10 * time.Minute

// roomKey is the key in a stream's metadata for the name of its room.
const roomKey = "pennypost-room"

// streamName returns the name of a room's stream. Servers name directories after streams, and stream names must not
// contain the separators of subjects.
func (c *Cluster) streamName(room string) string { return c.cfg.Prefix + "_room_" + escape(room) }

func (c *Cluster) subject(room string) string { return c.cfg.Prefix + ".room." + escape(room) }

// escape leaves lower case letters, digits and - as they are, and writes every other byte as _ and two hexadecimal
// digits: upper case letters too, because some file systems ignore case.
func escape(room string) string {
	var b strings.Builder
	for _, c := range []byte(room) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func (c *Cluster) isRoom(stream string) bool { return strings.HasPrefix(stream, c.streamName("")) }

// roomOf returns the room of a stream; "": it is no room's.
func (c *Cluster) roomOf(stream string) string {
	if !c.isRoom(stream) {
		return ""
	}
	return unescape(strings.TrimPrefix(stream, c.streamName("")))
}

// unescape undoes escape.
func unescape(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '_' && i+2 < len(word) {
			if c, err := strconv.ParseUint(word[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

// config returns the configuration of a room's stream.
func (c *Cluster) config(room string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: c.streamName(room), Subjects: []string{c.subject(room)}, Metadata: map[string]string{roomKey: room},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, Replicas: c.cfg.Replicas,
		Duplicates: duplicates, AllowAtomicPublish: true, DenyPurge: true,
	}
}

// stream returns the stream of a room as its leader has it, and creates it if create is set and there is none.
func (c *Cluster) stream(ctx context.Context, room string, create bool) (jetstream.Stream, *jetstream.StreamInfo,
	error) {
	look, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := time.Now()
	s, err := c.js.Stream(look, c.streamName(room))
	if errors.Is(err, jetstream.ErrStreamNotFound) && create {
		if err := c.mayMake(ctx, room); err != nil {
			return nil, nil, err
		}
		before = time.Now()
		s, err = c.make(ctx, room)
	}
	if err != nil {
		return nil, nil, err
	}
	info := s.CachedInfo()
	c.clock.compare(info.TimeStamp, before, time.Now())
	if err := c.here(info); err != nil {
		return nil, nil, err
	}
	return s, info, c.takesBatches(&info.Config)
}

// takesBatches returns an error if a stream does not take atomic batches.
func (c *Cluster) takesBatches(cfg *jetstream.StreamConfig) error {
	if cfg.AllowAtomicPublish {
		return nil
	}
	return mail.Errorf(mail.Unavailable, "the NATS server is too old, or the stream %s was changed: it does not "+
		"support atomic batches. Pennypost needs nats-server 2.12 or newer", cfg.Name)
}

// make creates the stream of a room that never had one. It refuses to replace a deleted stream while another machine
// has a copy: events appended to the new stream would precede everything in the copies.
func (c *Cluster) make(ctx context.Context, room string) (jetstream.Stream, error) {
	if err := c.uncopied(ctx, room); err != nil {
		if s, err := c.js.Stream(ctx, c.streamName(room)); !errors.Is(err, jetstream.ErrStreamNotFound) {
			return s, err
		}
		return nil, err
	}
	s, err := c.js.CreateStream(ctx, c.config(room))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		s, err = c.js.Stream(ctx, c.streamName(room))
	}
	return s, err
}

// uncopied returns an error if another machine has a copy of a room that is not on the servers.
func (c *Cluster) uncopied(ctx context.Context, room string) error {
	if c.cfg.Copied == nil {
		return nil
	}
	by := c.cfg.Copied(ctx, room)
	if by == "" {
		return nil
	}
	return mail.Errorf(mail.Unavailable, "the stream of room %s is gone from the NATS servers, but the machine %s "+
		"has a copy of the room: nothing was done. To restore it: pennypost rooms restore %s", room, by, room)
}

// deleteStream removes the stream of a room. It is not an error if there is none.
func (c *Cluster) deleteStream(ctx context.Context, room string) error {
	_, err := c.js.Stream(ctx, c.streamName(room)) // our own servers refuse deletion, so do not ask them needlessly
	if err == nil {
		err = c.js.DeleteStream(ctx, c.streamName(room))
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}
