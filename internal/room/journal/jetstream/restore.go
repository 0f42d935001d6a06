package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// surveyed is how many places a part of a Survey has.
const surveyed = 1024

// A Survey says what a machine's copy of a room holds, in a form that another machine can compare with its own.
type Survey struct {
	Last   mail.Seq  `json:"last"`            // the last place that the copy knows of
	Events int       `json:"events"`          // with those in the archive
	At     mail.Time `json:"at,omitzero"`     // of the last event
	Parts  []Part    `json:"parts,omitempty"` // of 1,024 places each
}

// A Part of a Survey.
type Part struct {
	Events int    `json:"n"`
	Sum    uint64 `json:"sum"` // of their places and texts, in any order
}

// Survey reads the copy, with its archive.
func (j *Journal) Survey(ctx context.Context) (*Survey, error) {
	s := &Survey{Last: j.local.Last()}
	s.Parts = make([]Part, s.Last/surveyed+1)
	seen := make([]bool, s.Last+1) // a crash may leave an event in the archive and in the journal
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

// Against compares a survey with that of a fuller copy: how many events it lacks at least, how many it has besides,
// and whether there are as many in some part, but others.
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

// Damage says what is wrong with the stream of a room of which a copy is known; "" if it is whole.
func (c *Cluster) Damage(ctx context.Context, room string, known *Survey) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := c.js.Stream(ctx, c.streamName(room))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return "there is no stream of it on the servers any more", nil
	}
	if err != nil {
		return "", c.unreachable("look at the room's stream", err)
	}
	info := s.CachedInfo()
	wrong := c.dangers(&info.Config)
	if by := info.Config.Metadata[movingKey]; by != "" {
		wrong = append(wrong, "it is being made on the servers by the machine "+by)
	}
	if last := mail.Seq(info.State.LastSeq); last < known.Last {
		wrong = append(wrong, fmt.Sprintf("it ends at %d, and a copy at %d", last, known.Last))
	} else if n := int(info.State.Msgs); n < known.Events {
		wrong = append(wrong, fmt.Sprintf("it has %d events, and a copy %d", n, known.Events))
	}
	return strings.Join(wrong, "; "), nil
}

// Restore makes the stream of a room anew from a copy to which nobody appends, whatever there is of it, and opens it
// to all machines. Others read and send again when it is done; cut off, it is to be asked again. Away reports whether
// a machine is not there, whose own attempt then does not count. If the stream has come further than the copy,
// nothing is changed, and the error is of code Conflict.
func (c *Cluster) Restore(ctx context.Context, room string, from *jsonl.Journal,
	away func(mail.Machine) bool) error {
	if err := c.takeOut(ctx, room, from.Last(), away); err != nil {
		return err
	}
	if err := c.Delete(ctx, room); err != nil {
		return c.unreachable("restore the room", err)
	}
	s, err := c.berth(ctx, room)
	if err == nil {
		err = c.copyTo(ctx, s, room, from, from.Last())
	}
	if err != nil {
		return err
	}
	return c.Settle(ctx, room, from.Last())
}

// takeOut has nobody append to the stream of a room any more, if there is one.
func (c *Cluster) takeOut(ctx context.Context, room string, known mail.Seq, away func(mail.Machine) bool) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	s, err := c.js.Stream(ctx, c.streamName(room))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return c.unreachable("restore the room", err)
	}
	by := mail.Machine(s.CachedInfo().Config.Metadata[movingKey])
	if by != "" && by != c.cfg.Machine && !away(by) {
		return mail.Errorf(mail.Conflict, "room %s is being made on the NATS servers by the machine %s", room, by)
	}
	err = c.change(ctx, room, func(cfg *jetstream.StreamConfig) {
		cfg.Metadata[movingKey] = string(c.cfg.Machine)
		cfg.Subjects = []string{c.berthSubject(room)}
	})
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = s.Info(ctx)
	}
	if err != nil {
		return c.unreachable("restore the room", err)
	}
	last := mail.Seq(info.State.LastSeq)
	if last <= known {
		return nil
	}
	if err := c.Settle(ctx, room, known); err != nil {
		return err
	}
	return mail.Errorf(mail.Conflict, "the stream of room %s has come to %d since its copies were compared, and this "+
		"one to %d. Nothing was changed; type the same again", room, last, known)
}
