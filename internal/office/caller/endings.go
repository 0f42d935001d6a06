package caller

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
	"pennypost/internal/office/wake/sessions"
)

// How often we look for interrupted turns, which reads a small file per working session, and every how many of these
// looks for killed sessions, which checks each session's process.
const (
	brokenOffPause = time.Second
	killedLooks    = 3
	// restAfterLook is how many times the duration of a look for ended programs passes before the next one.
	restAfterLook = 50
)

// FollowSessions tells the rooms, until ctx ends, about ends that no hook reports: interrupted turns, and sessions
// whose program was killed.
func (o *Rooms) FollowSessions(ctx context.Context) {
	var rested time.Time
	for look := 0; pause.For(ctx, brokenOffPause); look++ {
		now := time.Now()
		for _, s := range slices.Concat(o.Set.Reach.Claude.BrokenOff(now), o.Set.Reach.Copilot.BrokenOff(now)) {
			if o.ended(ctx, s, mail.TurnEnd) {
				o.Set.Reach.Sessions.Rested(s)
			}
		}
		if look%killedLooks != 0 {
			continue
		}
		for _, s := range o.Set.Reach.Sessions.Killed() {
			o.end(ctx, s)
		}
		if time.Now().After(rested) {
			rested = time.Now().Add(restAfterLook * o.lookForDead())
		}
	}
}

// lookForDead makes the rooms record which programs of agents have ended, including those that no hook reports, such
// as MCP servers. It returns how long that took.
func (o *Rooms) lookForDead() time.Duration {
	began := time.Now()
	var open []*rooms.Entry
	o.Set.Each(func(e *rooms.Entry) { open = append(open, e) })
	for _, e := range open {
		e.Room.LookForDead()
	}
	return time.Since(began)
}

// ended tells a session's room that the session or its turn has ended, and reports whether the room recorded it.
func (o *Rooms) ended(ctx context.Context, s sessions.Session, m mail.Moment) bool {
	t := mail.Turn{Moment: m, Session: s.ID, Client: s.Client, Process: s.Process, Over: true, Quiet: true,
		Held: func() map[mail.ID]bool { return hook.Holds(s.Client, s.Transcript, m == mail.SessionEnd) }}
	o.guard().Ended(s.Room, s.Agent, "") // no hook reports the end of an interrupted or killed call
	_, err := o.Own(ctx, s.Room, s.Agent).Turn(ctx, t)
	if err != nil {
		o.Set.Log.Warn("end of a session or turn not recorded", "agent", s.Agent, "moment", m, "err", err)
	}
	return err == nil
}
