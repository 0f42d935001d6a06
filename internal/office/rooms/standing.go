package rooms

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// The pauses between attempts to make a room send the configured mail while it refuses some: the recipient may
// appear, or the servers may come back.
const (
	firstStandPause = time.Second
	lastStandPause  = time.Minute
)

// stand makes the room send the mail that the configuration says, and drop earlier mail of it, until it does or ctx
// ends.
func (e *Entry) stand(ctx context.Context, standing []mail.Standing, file string, log *slog.Logger) {
	for wait := firstStandPause; !e.standOnce(ctx, standing, file, log); wait = min(2*wait, lastStandPause) {
		if !pause.For(ctx, wait) {
			return
		}
	}
}

// standOnce is one attempt of stand. It reports whether the work is done.
func (e *Entry) standOnce(ctx context.Context, standing []mail.Standing, file string, log *slog.Logger) bool {
	e.standing.Lock()
	defer e.standing.Unlock()
	refused, err := e.Room.Stand(ctx, standing)
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		log.Warn("scheduled mail of the configuration not set up yet", "err", err)
		return false
	}
	var unsent []string
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		said := fmt.Sprintf("%s: [[rooms.%s.scheduled]] %q cannot be sent: "+
			"%s", file, e.Room.Name(), name, refused[name])
		if unsent = append(unsent, said); !slices.Contains(e.unsent, said) {
			log.Error("scheduled mail of the configuration not sent", "entry", name, "file", file,
				"err", refused[name])
		}
	}
	e.unsentMu.Lock()
	e.unsent = unsent
	e.unsentMu.Unlock()
	return len(unsent) == 0
}

// notStanding returns the parts of the configuration that are not obeyed, and why.
func (e *Entry) notStanding() []string {
	e.unsentMu.Lock()
	defer e.unsentMu.Unlock()
	return e.unsent
}

// Begin opens the rooms for which the configuration has recurring mail. Such mail makes a room that was never used;
// a removed room stays removed.
func (o *Set) Begin(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(o.Config.Rooms)) {
		r := o.Config.For(name)
		if len(r.Scheduled) == 0 {
			continue
		}
		log := o.Log.With("room", name)
		if err := o.CheckRemoved(name, mail.System, true); err != nil {
			log.Warn("scheduled mail of the configuration not sent", "err", err)
			continue
		}
		_ = o.With(ctx, name, func(e *Entry) error { // it logs errors
			e.standOnce(ctx, r.Standing(), o.Config.Home.File(), log)
			return nil
		})
	}
}
