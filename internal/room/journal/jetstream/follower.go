package jetstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

const (
	heartbeat  = time.Second // how often the servers say that there is nothing new
	forgotten  = time.Minute // after which the servers drop a follower that they no longer hear
	pauseShort = 50 * time.Millisecond
	pauseLong  = time.Second // the longest pause between two attempts to follow
)

// follow keeps the copy up to date with the stream until the journal is closed. Found is where the room was a moment
// ago; nil: not known. First gets the error of each failed attempt, while it has room.
func (j *Journal) follow(found *lane, first chan<- error) {
	pause := pauseShort
	var waits time.Time // since when the room is to continue elsewhere
	for j.ctx.Err() == nil {
		at := j.local.Last()
		_, changed, _ := j.cluster.connection() // even if it changes while the attempt ends
		err := j.followOnce(found)
		found = nil
		j.mu.Lock()
		j.trouble = err
		j.mu.Unlock()
		j.setCurrent(errors.Is(err, errMoved))
		if errors.Is(err, errMoved) {
			return
		}
		if errors.Is(err, errDiffers) || isNewer(err) {
			j.diverge(err)
			return
		}
		if waits = j.waits(err, waits); !waits.IsZero() && time.Since(waits) > takeOverAfter {
			waits = time.Now()
			err = cmp.Or(j.takeOver(j.ctx), err)
		}
		if j.ctx.Err() != nil {
			return
		}
		select {
		case first <- err:
		default:
		}
		if pause = min(2*pause, pauseLong); j.local.Last() > at || errors.Is(err, errOnwards) {
			pause = pauseShort
		}
		j.log.Debug("stream not followed", "err", err, "next", pause)
		select {
		case <-j.ctx.Done():
		case <-changed:
		case <-time.After(pause):
		}
	}
}

// waits returns since when the room is to continue elsewhere, if err says that it still is.
func (j *Journal) waits(err error, since time.Time) time.Time {
	if !errors.Is(err, errOnwards) {
		return time.Time{}
	}
	if since.IsZero() {
		since = time.Now()
	}
	return since
}

func (j *Journal) setCurrent(is bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.current != is {
		j.current = is
		j.wakeLocked()
	}
}

func (j *Journal) setChecked(connection uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.checked = connection
}

// followOnce follows the stream until something fails. L is where the room is; nil: not known.
func (j *Journal) followOnce(l *lane) error {
	connection, changed, err := j.cluster.connection()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(j.ctx, 2*patience)
	defer cancel()
	if l == nil {
		if l, err = j.find(ctx, j.local.Last() == 0); err != nil {
			return fmt.Errorf("look for the stream: %w", err)
		}
	}
	if l.shared {
		return j.followShared(ctx, l, connection, changed)
	}
	if err := j.compare(ctx, l, l.end); err != nil {
		return err
	}
	return j.replay(ctx, l, j.local.Last(), 0, connection, changed)
}

// followShared follows a room in a shard: it reads the existing messages itself, and gets new ones together with the
// other rooms.
func (j *Journal) followShared(ctx context.Context, l *lane, connection uint64, changed <-chan struct{}) error {
	t, err := j.cluster.join(ctx, l, j.end)
	if err != nil {
		return err
	}
	defer t.leave()
	if err := t.look(ctx, l); err != nil {
		return err
	}
	if err := j.proveAndCompare(ctx, l); err != nil {
		return err
	}
	if err := j.locate(l); err != nil {
		return fmt.Errorf("find the end of the copy in the shard: %w", err)
	}
	if err := j.readUp(ctx, l, connection, changed); err != nil {
		return err
	}
	if err := l.look(ctx, j.cluster.nc); err != nil { // for erasures meanwhile
		return err
	}
	arrived := make(chan arrival, 1)
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	k := &counter{l, j.point(l, j.local.Last())}
	j.running.Go(func() { t.hand(ctx, k, arrived) })
	return j.receive(l, arrived, connection, changed, j.local.Last(), 0)
}

// find looks for the room on the servers, and directs new events there.
func (j *Journal) find(ctx context.Context, create bool) (*lane, error) {
	l, err := j.cluster.lane(ctx, j.room, create)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if l.subject == j.left {
		return nil, errOnwards
	}
	if l.subject != j.subject {
		j.checked = 0 // the copy has not been compared with the new lane
	}
	j.subject, j.shared = l.subject, l.shared
	j.points.of(l.subject)
	return l, nil
}

// receive places delivered messages until the connection changes. End is the end of the stream when it began: until
// the copy has reached it, it is not known whether this machine may append.
func (j *Journal) receive(l *lane, arrived <-chan arrival, connection uint64, changed <-chan struct{},
	end, until mail.Seq) error {
	silence := newSilence()
	defer silence.timer.Stop()
	if l.shared && until == 0 { // the feed of all rooms checks for missing messages
		silence.timer.Stop()
		silence.off = true
	}
	for until == 0 || j.local.Last() < until {
		if j.local.Last() >= end {
			j.setChecked(connection)
			j.setCurrent(true)
		}
		some, failed := j.await(l, arrived, changed, silence)
		if l.shared && until == 0 {
			failed = cmp.Or(j.counted(some), failed)
		}
		if failed = j.takeIn(some, failed); failed != nil {
			return failed
		}
		ended, err := j.endsAfter(some, l, end)
		if err != nil || ended && until > 0 {
			return err
		}
		if ended {
			end = j.local.Last()
		}
	}
	return nil
}

// endsAfter reports whether the stream has nothing more up to end after the last of some arrivals.
func (j *Journal) endsAfter(some []arrival, l *lane, end mail.Seq) (bool, error) {
	if len(some) == 0 || some[len(some)-1].pending > 0 || j.local.Last() >= end {
		return false, nil
	}
	return j.skip(l, end)
}

// takeIn places arrivals that were counted right, and returns what failed after them.
func (j *Journal) takeIn(some []arrival, failed error) error {
	if len(some) == 0 || failed == errMiscounted {
		return failed
	}
	return cmp.Or(j.received(some), failed)
}

// counted returns errMiscounted if a new message would not be placed after the copy's end. The room is then counted
// again.
func (j *Journal) counted(some []arrival) error {
	last := j.local.Last()
	if !slices.ContainsFunc(some, func(a arrival) bool { return a.hole == nil && a.seq <= last }) {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.points.cut(0)
	return errMiscounted
}

// await returns the next arrivals, or why none come; without either, the caller must call it again.
func (j *Journal) await(l *lane, arrived <-chan arrival, changed <-chan struct{}, s *silence) ([]arrival, error) {
	select {
	case a := <-arrived:
		s.broken()
		return together(a, arrived)
	case <-s.timer.C:
		return nil, j.heard(l, s)
	case <-changed:
		return nil, errors.New("the connection was lost")
	case <-j.overdue:
		if time.Since(s.since) > firstAttempt {
			return nil, errors.New("an acknowledged event was not delivered")
		}
		return nil, nil
	case <-j.ctx.Done():
		return nil, j.ctx.Err()
	}
}

// together returns an arrival and those that are already waiting, up to the first error.
func together(a arrival, arrived <-chan arrival) (some []arrival, err error) {
	for a.err == nil {
		if some = append(some, a); len(arrived) == 0 || len(some) == mostAtOnce {
			return some, nil
		}
		a = <-arrived
	}
	return some, a.err
}

const (
	lookAfter  = 2 * time.Second // how long a silence lasts before the servers are asked for more
	lookSeldom = time.Minute     // the longest pause between two such questions
)

// silence is a period in which nothing was delivered.
type silence struct {
	timer   *time.Timer
	next    time.Duration // until the next question
	missing mail.Seq      // the end of the stream when last asked, if it is not delivered yet
	since   time.Time     // when it began
	off     bool          // nothing is asked
}

func newSilence() *silence {
	return &silence{timer: time.NewTimer(lookAfter), next: lookAfter, since: time.Now()}
}

func (s *silence) broken() {
	s.next, s.missing, s.since = lookAfter, 0, time.Now()
	if !s.off {
		s.timer.Reset(s.next)
	}
}

// heard returns an error if the stream has more than was delivered, and the rest does not come. A server that cannot
// catch up with the others (nats-server 2.15.2 may fail to until it is restarted) keeps reporting that there is
// nothing new, and another one must be asked.
func (j *Journal) heard(l *lane, s *silence) error {
	if last := j.local.Last(); s.missing > last {
		return fmt.Errorf("the stream is at %d, but the last delivered event was %d", s.missing, last)
	}
	ctx, cancel := context.WithTimeout(j.ctx, patience)
	defer cancel()
	now := *l // the original belongs to the follower
	err := now.look(ctx, j.cluster.nc)
	if s.missing = 0; err == nil && now.end > j.local.Last() {
		s.missing = now.end
		s.timer.Reset(heartbeat) // it may be on its way
		return nil
	}
	s.next = min(2*s.next, lookSeldom)
	s.timer.Reset(s.next)
	return nil
}

// received places messages, and tells the flights that wait for them. It places neither a fence nor anything after
// it, and returns errMoved; nor events that a newer Pennypost wrote for newer versions only, and isNewer is then true
// of the error.
func (j *Journal) received(some []arrival) error {
	j.judge(some)
	some, newer := j.beforeNewer(some)
	if len(some) == 0 {
		return newer
	}
	var fence string
	if i := slices.IndexFunc(some, func(a arrival) bool { return a.fence != "" }); i >= 0 {
		some, fence = some[:i], some[i].fence
	}
	placed, err := j.placedOf(some)
	if err != nil {
		return err
	}
	if err := j.noteCold(some); err != nil {
		return err
	}
	if err := j.place(placed); err != nil {
		return &unplacedError{err}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trouble = nil
	j.noteLocked(some)
	if fence == "" {
		return newer
	}
	return j.endLocked(fence)
}

// placedOf returns what is written to the copy for messages of the stream.
func (j *Journal) placedOf(some []arrival) (placed []jsonl.Placed, err error) {
	for _, a := range some {
		if a.hole != nil {
			if err := j.agrees(a.hole); err != nil {
				return nil, err
			}
			continue
		}
		p := jsonl.Placed{Seq: a.seq}
		if len(a.text) > 0 { // a message without text is an event that was lost before the room was moved here
			p.Text = a.text
		}
		placed = append(placed, p)
	}
	return placed, nil
}

// noteLocked tells the flights that wait for messages that these were placed, and remembers where they are.
func (j *Journal) noteLocked(some []arrival) {
	for _, a := range some {
		if f := j.pending[a.id]; f != nil && a.refused != "" {
			f.refuse(j.errRefused(a.refused))
		} else if f != nil {
			f.here = true
			f.see(a.seq)
		}
		if j.shared && a.hole == nil {
			j.points.note(point{a.at, a.seq})
		}
	}
	if err := cmp.Or(j.points.save(false), j.rings.save(false)); err != nil {
		j.log.Warn("position of the room in its shard not saved", "err", err)
	}
}

// endLocked notes that the room has ended where it was. Its fence says where it goes.
func (j *Journal) endLocked(fence string) error {
	switch fence {
	case onwards:
		j.left = j.subject
		for _, f := range j.pending {
			if !f.here { // it is not before the fence
				f.moved.Give()
			}
		}
		return errOnwards
	case removed:
		j.moved = mail.Errorf(mail.NotFound, "room %s was removed by the user on another machine", j.room)
	case string(j.cluster.cfg.Machine):
		j.moved = mail.Errorf(mail.Unavailable, "the move of room %s to a file on this machine was interrupted, "+
			"and the room takes no mail until it is complete. Type: pennypost rooms move %s --to file", j.room, j.room)
	default:
		j.moved = MovedTo(j.room, mail.Machine(fence))
	}
	close(j.ended)
	return errMoved
}

// agrees returns errDiffers if an erased message was gone before it was delivered, so that the messages after it were
// counted without it.
func (j *Journal) agrees(x *hole) error {
	here, err := j.local.Read(j.ctx, x.Seq)
	if err != nil || len(here) == 0 {
		return err
	}
	if text, err := jsonl.Encode(here[0]); err == nil && !bytes.Contains(text, []byte(x.About)) {
		return errDiffers
	}
	return nil
}

// unplacedError means that the disk of this machine does not take delivered events.
type unplacedError struct{ error }

func (e *unplacedError) Unwrap() error { return e.error }

// errOnwards means that the room continues elsewhere on the servers.
var errOnwards = errors.New("the room is being moved on the servers")

var errMoved = errors.New("the room was moved from the servers")

// beforeNewer returns the arrivals before the first that this version must not place, and the reason if there is one.
func (j *Journal) beforeNewer(some []arrival) ([]arrival, error) {
	for i, a := range some {
		if err := j.newer(a); err != nil {
			return some[:i], err
		}
	}
	return some, nil
}

// newer returns why this version must leave the room alone, if an event says so.
func (j *Journal) newer(a arrival) error {
	return jsonl.Newer(a.text, "room "+j.room+" on the NATS servers")
}

// isNewer reports whether newer returned an error.
func isNewer(err error) bool { return mail.CodeOf(err) == mail.Conflict }

// Moved waits until the copy is complete, for a room that goes to a file, because its stream has ended. It reports
// whether that happened in time.
func (j *Journal) Moved(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	select {
	case <-j.ended:
		return true
	case <-ctx.Done():
		return false
	}
}
