package mailroom

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
)

// Status implements mail.Keeper.
func (v *view) Status(ctx context.Context) (mail.RoomStatus, error) { return v.Room.Status(), nil }

// Status returns figures about the room.
func (r *Room) Status() mail.RoomStatus {
	st := mail.RoomStatus{Name: r.name, Open: true, Trouble: r.opts.Trouble(), MaxBody: r.opts.MaxBody}
	if disk, ok := r.journal.(journal.Verifier); ok {
		c := disk.Condition()
		st.Bytes, st.Rejected, st.Missing = c.Bytes, c.Rejected, c.Missing
		if c.Broken != nil {
			st.Trouble = c.Broken.Error()
		}
	}
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	st.Seq, st.Last, st.Messages = r.state.Seq, r.state.Last, len(r.state.Records)
	st.Agents, st.Asking = len(r.state.Listed), len(r.state.AtDialogs())
	user := r.state.Members[mail.User]
	st.Unread, st.Needs = r.state.CountUnread(user, now), r.state.CountNeeds(now)
	st.Due = r.state.Due(now)
	st.Inbox, st.Archived = len(user.All), len(user.Rest)
	st.Machines, st.Keeper = slices.Clone(r.state.Machines), r.state.Upkeep
	for _, id := range slices.Sorted(maps.Keys(r.state.Erasing)) {
		if pending := r.state.Pending(id); len(pending) > 0 {
			st.Erasing = append(st.Erasing, mail.Erasing{Message: id, Machines: pending})
		}
	}
	return st
}

// Run looks after the room until ctx ends: retention immediately, hourly, and when there is half as much again as
// allowed; lapsed sessions every minute; and events of its files are told to the person.
func (r *Room) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { r.tellNews(ctx) })
	running.Go(func() { r.watchClaims(ctx) })
	running.Go(func() { r.sendScheduled(ctx) })
	if r.opts.Machine != "" {
		running.Go(func() { r.seekUpkeep(ctx) })
	}
	kept := r.Keeps()
	r.hourly(ctx)
	hourly, minutely := time.NewTicker(time.Hour), time.NewTimer(toNextMinute())
	defer hourly.Stop()
	defer minutely.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hourly.C:
			r.hourly(ctx)
		case <-r.crowded:
			r.runRetention(ctx)
		case <-r.died:
			r.endDead(ctx)
		case <-r.due:
			if keeps := r.Keeps(); keeps != kept {
				if kept = keeps; keeps {
					r.hourly(ctx)
				}
			}
			_ = r.finishErasures(ctx) // which logs errors
			if err := r.compactToMark(ctx); err != nil {
				r.opts.Log.Error("not compacted", "room", r.name, "err", err)
			}
		case <-minutely.C:
			minutely.Reset(toNextMinute())
			if err := r.endLapsed(ctx); err != nil {
				r.opts.Log.Warn("lapsed sessions not ended", "room", r.name, "err", err)
			}
		}
	}
}

// toNextMinute is the time until all rooms look for lapsed sessions: at the same moment, so that an idle process
// wakes up once for a thousand of them.
func toNextMinute() time.Duration {
	now := time.Now()
	return now.Truncate(time.Minute).Add(time.Minute).Sub(now)
}

// hourly does the hourly work, and at the start.
func (r *Room) hourly(ctx context.Context) {
	r.runRetention(ctx)
	if r.Keeps() {
		r.askAround(ctx)
	}
}

// tellNews puts news of the room's files into the person's mailbox, until ctx ends.
func (r *Room) tellNews(ctx context.Context) {
	disk, ok := r.journal.(journal.Verifier)
	if !ok {
		return
	}
	for {
		news, err := disk.News(ctx)
		if err != nil {
			return
		}
		for _, n := range news {
			if r.opts.Machine != "" {
				n.Subject += " on " + string(r.opts.Machine)
			}
			r.tellUser(ctx, n.Subject, n.Body)
		}
	}
}

func (r *Room) runRetention(ctx context.Context) {
	_ = r.finishErasures(ctx) // which logs errors
	if !r.Keeps() {
		return
	}
	t, err := r.trim(ctx, false)
	switch {
	case err != nil:
		r.opts.Log.Error("retention", "room", r.name, "err", err)
	case t.Age+t.Read+t.Oldest > 0:
		r.opts.Log.Info("trimmed to the archive", "room", r.name, "age", t.Age, "read", t.Read, "oldest", t.Oldest,
			"unread", t.Unread, "kept", t.Kept)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowd = r.opts.Retention.Crowd(len(r.state.Records))
	select {
	case <-r.crowded: // of the crowd that was just dispersed
	default:
	}
}

// endLapsed journals the end of sessions that fell silent, so that their role mail finds another holder. A client
// with only hooks is silent while it waits for a person, or for a tool: its session lives as long as its process. So
// does an agent whose connection has ended.
func (r *Room) endLapsed(ctx context.Context) error {
	now := r.now()
	var events []mail.Event
	if r.opts.Machine != "" {
		_, err := r.commit(ctx, r.lapsedSomewhere()...)
		return err
	}
	r.mu.RLock()
	for _, m := range r.state.Listed {
		if m.Session == "" && !m.Parted() || policy.SessionHeard(m.State, m.SessionAt, now) {
			continue
		}
		c := &mail.AgentChange{Name: m.Name, Session: m.Session, By: mail.System, Silent: m.Heard}
		alive := m.Process != "" && r.opts.Alive(m.Process)
		switch {
		case m.Parted() && (alive || !m.State.Live() || now.Sub(m.SessionAt) < policy.SessionLapse):
			continue
		case m.State != mail.Gone && alive:
			c.Process, c.Join = m.Process, m.Joined
		case policy.SessionLive(m.State, m.Session, m.SessionAt, now):
			continue
		default:
			c.End = true
		}
		events = append(events, mail.Event{At: now, Agent: c})
	}
	r.mu.RUnlock()
	_, err := r.commit(ctx, events...)
	return err
}

// deaths returns the events that record the end of agents' programs.
func (r *Room) deaths() []mail.Event {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.on(r.state, r.now()).Deaths(r.state.Listed...)
}

// endDead journals the events of deaths.
func (r *Room) endDead(ctx context.Context) {
	if _, err := r.commit(ctx, r.deaths()...); err != nil {
		r.opts.Log.Warn("ended programs of agents not recorded", "room", r.name, "err", err)
	}
}

// LookForDead makes Run journal which agents' programs have ended, if any have. It does not block.
func (r *Room) LookForDead() {
	if len(r.deaths()) > 0 {
		r.died.Give()
	}
}

// Archive implements mail.Keeper.
func (v *view) Archive(ctx context.Context) (mail.Trimmed, error) {
	if err := v.NeedUser("run retention"); err != nil {
		return mail.Trimmed{}, err
	}
	return v.trim(ctx, true)
}

// garbageLimit is how many superseded roster events a journal may hold before it is rewritten for them alone. At one
// heartbeat a minute ten agents take half a day to make that many.
const garbageLimit = 10_000

// trim trims the messages that retention selects. force rewrites the journal even if none has to go.
func (r *Room) trim(ctx context.Context, force bool) (mail.Trimmed, error) {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	compacter, ok := r.journal.(journal.Compacter)
	if !ok {
		return mail.Trimmed{}, nil
	}
	now, written := r.now(), r.opts.Written()
	ids, out := r.opts.Retention.Trim(r.retainable(now, written), now)
	for step := range slices.Chunk(ids, fold.TrimStep) {
		started := time.Now()
		if err := r.letGo(ctx, step, now, written, force); err != nil {
			return mail.Trimmed{}, err
		}
		pause.For(ctx, min(time.Since(started), longestPause)) // half of the time is for others
	}
	r.mu.RLock()
	worth := len(r.state.Leaving) > 0 || r.state.Garbage+r.state.Stale > garbageLimit || force && r.state.Seq > 0
	old := r.state.Respend(now, 0)
	r.mu.RUnlock()
	if !worth {
		return out, nil
	}
	if _, err := r.commit(ctx, old...); err != nil {
		return out, err
	}
	mark, err := r.writeCheckpoint(ctx)
	if err != nil {
		return out, err
	}
	return out, r.compact(ctx, compacter, mark, written)
}

// compact makes the journal forget the events that the checkpoint at mark releases. The caller holds keeping.
func (r *Room) compact(ctx context.Context, compacter journal.Compacter, mark, written mail.Seq) error {
	if err := compacter.Compact(ctx, func(e mail.Event) journal.Fate {
		return r.fate(&e, mark, written)
	}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Archived(mark)
	return nil
}

// longestPause prevents a wait as long as a hung disk took.
const longestPause = 100 * time.Millisecond

// letGo takes messages out of the mailboxes. Its steps are in the journal, and found again by anyone who opens the
// room before the others have gone.
//
// Unless the person has requested it, only the machine that looks after the room may.
func (r *Room) letGo(ctx context.Context, ids []mail.ID, now mail.Time, written mail.Seq, asked bool) error {
	r.mu.RLock()
	ids = slices.DeleteFunc(ids, func(id mail.ID) bool { // those that have changed since they were chosen
		rec := r.state.Records[id]
		return rec == nil || r.sight(r.state).ToRetain(rec, now, written).Unsettled
	})
	events := append(r.state.SettledGoing(ids, now), r.state.Spend(ids, now)...)
	r.mu.RUnlock()
	if len(ids) > 0 {
		step := &mail.Checkpoint{Trimmed: ids}
		if !asked {
			step.Upkeep = r.opts.Machine
		}
		events = append(events, mail.Event{At: now, Checkpoint: step})
	}
	_, err := r.commit(ctx, events...)
	return err
}

// checkpointTries is how often a checkpoint is rewritten because another post office on the same journal wrote
// something in between.
const checkpointTries = 20

// writeCheckpoint journals the state, and returns the checkpoint's sequence number. A checkpoint counts only if it is
// the very next event after the state that it describes. That is why this is the only code that holds a lock over an
// append: in this process nothing can come between.
func (r *Room) writeCheckpoint(ctx context.Context) (mail.Seq, error) {
	r.gate.Lock()
	defer r.gate.Unlock()
	ctx, cancel := context.WithTimeout(ctx, appliedWithin) // all others wait
	defer cancel()
	behind, many := r.journal.(journal.AfterAppender)
	many = many && r.opts.Machine != ""
	for range checkpointTries {
		if err := r.await(ctx, r.journal.Last()); err != nil {
			return 0, err
		}
		now := r.now()
		r.mu.RLock()
		c := r.state.Checkpoint()
		r.mu.RUnlock()
		e := mail.Event{At: now, Checkpoint: c}
		if !many {
			seq, err := r.append(ctx, e)
			if err != nil || seq == c.After+1 {
				return seq, err
			}
			continue
		}
		seq, ok, err := behind.AppendAfter(ctx, c.After, e)
		switch {
		case err != nil:
			return 0, r.unavailable(err)
		case ok:
			return seq, r.await(ctx, seq)
		}
		if err := r.await(ctx, c.After+1); err != nil { // the events in between
			return 0, err
		}
	}
	return 0, mail.Errorf(mail.Unavailable, "the room is too busy to trim now; nothing was changed")
}

// retainable lists the hot messages for retention.
func (r *Room) retainable(now mail.Time, written mail.Seq) (out []policy.Held) {
	r.mu.RLock()
	out = make([]policy.Held, 0, len(r.state.Order))
	r.mu.RUnlock()
	for last := mail.Seq(0); ; {
		r.mu.RLock()
		some := r.state.Order.After(last)
		some = some[:min(fold.TrimStep, len(some))]
		for _, rec := range some {
			out = append(out, r.sight(r.state).ToRetain(rec, now, written))
			last = rec.Seq
		}
		r.mu.RUnlock()
		if len(some) == 0 {
			return out
		}
	}
}

// fate decides what compaction does with an event before the checkpoint at mark. An event after written stays if
// bridges have to see it.
func (r *Room) fate(e *mail.Event, mark, written mail.Seq) journal.Fate {
	if e.Seq >= mark {
		return journal.Keep
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case e.Machine != nil: // events of keys go along when the room is moved, and its events are judged by them
		return fateOfMachine(e.Machine)
	case r.state.IsVoid(e.Seq):
		return journal.Drop
	case e.Message != nil:
		return keepIf(r.state.HotAt(e.Message.ID, mark) != nil)
	case e.Receipt != nil:
		return keepIf(r.state.Counts(e.Receipt, mark))
	case e.Settled != nil:
		return keepIf(r.state.HotAt(e.Settled.Message, mark) != nil)
	case e.Agent != nil:
		if heartbeat(e.Agent) {
			return journal.Drop
		}
		return keepIf(e.Seq > written)
	case e.Erased != nil:
		_, pending := r.state.Erasing[e.Erased.Message]
		return keepIf(pending || r.state.Erased[e.Erased.Message] > mark || e.Seq > written)
	case e.Checkpoint != nil:
		return dropUnless(r.state.Spent.KeptIn(e, r.state.KeyOf))
	case e.Schedule != nil:
		return dropUnless(r.state.KeepsSchedule(e.Schedule))
	case e.Bridge != nil, e.Workspace != nil, e.Grant != nil, e.Dialog != nil, e.Claim != nil:
		// the checkpoint has their result
		return journal.Archive
	}
	return journal.Keep // an event of a newer version
}

// heartbeat reports whether a change of the roster says only that an agent lives.
func heartbeat(c *mail.AgentChange) bool {
	return c.Roles == nil && c.Tags == nil && c.State == "" && c.Task == nil && c.Parent == nil && c.Client == "" &&
		!c.TakeOver && !c.End && c.Turn == "" && !c.Summed && c.Inbox == nil && c.Renamed == "" && !c.Retired &&
		c.TokenSum == ""
}

func keepIf(keep bool) journal.Fate {
	if keep {
		return journal.Keep
	}
	return journal.Archive
}

func fateOfMachine(c *mail.MachineChange) journal.Fate {
	switch {
	case c.Admits: // keeps out an older Pennypost
		return journal.Keep
	case c.OfKeys():
		return journal.Archive
	}
	return journal.Drop
}

func dropUnless(keep bool) journal.Fate {
	if keep {
		return journal.Keep
	}
	return journal.Drop
}

// Verify implements mail.Keeper.
func (v *view) Verify(ctx context.Context) (mail.Verification, error) {
	disk, ok := v.journal.(journal.Verifier)
	if !ok {
		return mail.Verification{Problems: []mail.Problem{}}, nil
	}
	found, err := disk.Verify(ctx)
	v.nameMissing(found.Problems)
	return found, err
}

// nameMissing adds to each range of missing lines the messages in it that the room, which read them before they were
// lost, still knows.
func (r *Room) nameMissing(problems []mail.Problem) {
	const most = 5
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := range problems {
		p := &problems[i]
		if p.First == 0 {
			continue
		}
		lost := r.state.Order.After(p.First - 1).Before(p.Last + 1)
		for _, rec := range lost[:min(most, len(lost))] {
			p.Text += fmt.Sprintf("; %s from %s to %s", rec.Msg.ID, rec.Msg.From, rec.Msg.To)
		}
		if len(lost) > most {
			p.Text += fmt.Sprintf("; and %d more messages", len(lost)-most)
		}
	}
}

// Repair implements mail.Keeper. The owner of the room must open it again if lines were put back: they belong before
// events that the room has read.
func (v *view) Repair(ctx context.Context) (mail.Verification, error) {
	if err := v.NeedUser("repair the room's files"); err != nil {
		return mail.Verification{}, err
	}
	disk, ok := v.journal.(journal.Verifier)
	if !ok {
		return mail.Verification{Problems: []mail.Problem{}}, nil
	}
	v.keeping.Lock()
	defer v.keeping.Unlock()
	found, err := disk.Repair(ctx)
	if err != nil {
		return found, v.unavailable(err)
	}
	if found.Repaired > 0 { // where the index has been already
		v.index.Clear()
		v.index.Close()
	}
	return found, nil
}
