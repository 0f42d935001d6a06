package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

const (
	// nearlyCopied is the most events that a room may have gained during the copy when its old lane is ended.
	nearlyCopied = 50
	// takeOverAfter is how long a room waits to continue elsewhere before another machine finishes the move.
	takeOverAfter = 10 * time.Second
	// leftAlone is how long a stream that a room has left is kept, for machines that have not reached its end.
	leftAlone = time.Minute
)

// MoveTo moves the room to a shard, 0 for any, while it is in use: it copies the room, ends it in its old lane,
// copies the events sent meanwhile, and records the new home. Events that others send meanwhile wait, and go there.
// Called again, it continues. If this machine dies in between, another one finishes. A room that is already there is
// not moved.
func (j *Journal) MoveTo(ctx context.Context, number int) (moved bool, err error) {
	shard := ""
	if number != 0 {
		if shard, err = j.cluster.shardNumbered(ctx, number); err != nil {
			return false, err
		}
	}
	if there, err := j.leaves(ctx, shard); err != nil || there {
		return false, err
	}
	brought, err := j.cluster.Bring(ctx, j.room, j.local)
	for err == nil && j.Last() > brought+nearlyCopied {
		brought, err = j.cluster.bringMore(ctx, j.room, j.local)
	}
	if err == nil {
		err = j.goOn(ctx)
	}
	if err == nil {
		err = j.cluster.Arrive(ctx, j.room, j.local, brought)
	}
	if err == nil {
		err = j.cluster.Settle(ctx, j.room, j.Last())
	}
	return err == nil, err
}

// leaves records to which shard the room is about to go, "" for any, unless it is there, or already on the way.
func (j *Journal) leaves(ctx context.Context, shard string) (there bool, err error) {
	h, err := j.cluster.home(ctx, j.room)
	if err != nil {
		return false, j.cluster.unreachable("move the room", err)
	}
	j.mu.Lock()
	subject := j.subject
	j.mu.Unlock()
	switch {
	case h.Next != nil && h.Next.By != j.cluster.cfg.Machine:
		return false, mail.Errorf(mail.Conflict, "room %s is being moved by the machine %s", j.room, h.Next.By)
	case h.Next != nil && shard != "" && shard != h.Next.Shard:
		return false, mail.Errorf(mail.Conflict, "room %s is being moved to another shard. To complete the move: "+
			"pennypost rooms move %s --to jetstream", j.room, j.room)
	case subject == "", h.Next == nil && h.Shard != "" && (shard == "" || shard == h.Shard):
		return true, nil
	case h.Shard != "" && subject != j.cluster.shardBase(j.room, h)+".log":
		return false, mail.Errorf(mail.Conflict, "room %s has just been moved, and this machine does not follow it "+
			"yet. Type the same again in a moment", j.room)
	case h.Next == nil:
		if _, err := j.cluster.reserve(ctx, j.room, shard, h); err != nil {
			return false, j.cluster.unreachable("move the room", err)
		}
	}
	return false, nil
}

// bringMore copies the events sent since Bring.
func (c *Cluster) bringMore(ctx context.Context, room string, from *jsonl.Journal) (mail.Seq, error) {
	l, err := c.berth(ctx, room)
	if err != nil {
		return 0, err
	}
	to := from.Last()
	return to, c.copyTo(ctx, l, from, to)
}

// goOn ends the room in its lane, and waits until the copy has all of it.
func (j *Journal) goOn(ctx context.Context) error {
	j.mu.Lock()
	subject := j.subject
	j.mu.Unlock()
	if err := j.cluster.fence(ctx, subject, onwards); err != nil {
		return j.cluster.unreachable("move the room", err)
	}
	for !j.hasLeft(subject) {
		if !pause.For(ctx, pauseShort/10) {
			return fmt.Errorf("wait for the end of the room where it was: %w", ctx.Err())
		}
	}
	return nil
}

// hasLeft reports whether the copy has all of the room at a subject.
func (j *Journal) hasLeft(subject string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.left != "" && j.left == subject
}

// takeOver finishes a move that another machine began and did not finish in time.
func (j *Journal) takeOver(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	h, err := j.cluster.home(ctx, j.room)
	if err != nil || h.Next == nil {
		return err
	}
	if _, err := j.cluster.reserve(ctx, j.room, h.Next.Shard, h); err != nil {
		return err
	}
	j.log.Warn("this machine completes the move of the room", "began", h.Next.By)
	err = j.cluster.Arrive(ctx, j.room, j.local, j.Last())
	return errors.Join(err, j.cluster.Settle(ctx, j.room, j.Last()))
}
