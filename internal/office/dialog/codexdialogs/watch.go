package codexdialogs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/appserver"
	"pennypost/internal/office/dialog"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/sessions"
)

// Timing of connections. Codex never waits for any of it.
const (
	lookPause  = 500 * time.Millisecond // between looks for sessions
	againPause = 2 * time.Second        // before a server is retried, and between looks without one
	openTime   = 2 * time.Second        // for establishing a connection
	sweepTime  = time.Second            // until the session of a dialog must be known
	roomTime   = 5 * time.Second        // for a room to record a dialog
)

// Watch handles the dialogs of Codex sessions on this machine.
type Watch struct {
	Desk *dialog.Desk
	// Sessions returns the live sessions of Codex.
	Sessions func() []sessions.Session
	// Agent returns a room as seen by one of its agents.
	Agent func(mail.RoomName, mail.Name) hook.Service
	Log   *slog.Logger
}

// room returns the room of a dialog as seen by its agent. Its calls have a deadline.
func (w *Watch) room(h *hook.Held) hook.Service { return hurried{w.Agent(h.Room, h.Agent)} }

// hurried is a room that must record a dialog within roomTime.
type hurried struct{ hook.Service }

// Dialog tells the room about a dialog.
func (h hurried) Dialog(ctx context.Context, c mail.DialogChange) error {
	ctx, cancel := context.WithTimeout(ctx, roomTime)
	defer cancel()
	return h.Service.Dialog(ctx, c)
}

// finish ends a dialog.
func (w *Watch) finish(ctx context.Context, h hook.Held, how mail.DialogOutcome) {
	if err := w.Desk.Settle(ctx, w.room(&h), &h, how); err != nil {
		w.Log.Warn("dialog not ended", "room", h.Room, "agent", h.Agent, "err", err)
	}
}

// stay is a home with a connection to its server.
type stay struct {
	leave context.CancelFunc
	left  chan struct{}
}

// Run keeps a connection to the server of each home with a live session, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	homes := make(map[string]*stay)
	for ctx.Err() == nil {
		live := make(map[string]bool)
		all := w.Sessions()
		w.sweep(ctx, all, &running)
		for _, s := range all {
			if live[s.Home] = true; s.Home == "" || homes[s.Home] != nil {
				continue
			}
			here, leave := context.WithCancel(ctx)
			at := &stay{leave, make(chan struct{})}
			homes[s.Home] = at
			running.Go(func() {
				defer close(at.left)
				defer leave()
				w.stay(here, s.Home)
			})
		}
		for home, at := range homes {
			if live[home] {
				continue
			}
			at.leave()
			select {
			case <-at.left: // so that there are never two connections
				delete(homes, home)
			default:
			}
		}
		long := lookPause
		if len(homes) == 0 {
			long = againPause
		}
		pause.For(ctx, long)
	}
}

// sweep ends the dialogs of ended sessions. The server keeps threads whose window was closed, so no process exit
// reveals that.
func (w *Watch) sweep(ctx context.Context, live []sessions.Session, beside *sync.WaitGroup) {
	for _, h := range w.Desk.All() {
		is := func(s sessions.Session) bool { return s.ID == h.Session }
		if h.Client != "codex" || time.Since(h.Opened) < sweepTime || slices.ContainsFunc(live, is) {
			continue
		}
		beside.Go(func() { w.finish(ctx, h, mail.DialogEnded) })
	}
}

// stay keeps a connection to the server of a home.
func (w *Watch) stay(ctx context.Context, home string) {
	for ctx.Err() == nil {
		if err := w.listen(ctx, home); err != nil && ctx.Err() == nil {
			w.Log.Debug("Codex server does not report dialogs", "home", home, "err", err)
		}
		pause.For(ctx, againPause)
	}
}

// listen serves a connection until it breaks.
func (w *Watch) listen(ctx context.Context, home string) error {
	ctx, cancel := context.WithCancel(ctx)
	opening := time.AfterFunc(openTime, cancel)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	conn, err := appserver.Dial(ctx, home, unheard()...)
	if err != nil {
		return err
	}
	defer conn.Close()
	if !opening.Stop() {
		return ctx.Err()
	}
	said, broken := make(chan appserver.Message), make(chan error, 1)
	beside.Go(func() {
		for {
			m, err := conn.Receive()
			if err != nil {
				broken <- err
				return
			}
			select {
			case said <- m:
			case <-ctx.Done():
				return
			}
		}
	})
	c := newConnection(ctx, w, home, conn, &beside)
	c.begin()
	tick := time.NewTicker(tendPause)
	defer tick.Stop()
	for c.broken == nil {
		select {
		case m := <-said:
			c.hear(&m)
		case a := <-c.answers:
			c.reply(a)
		case <-tick.C:
			c.tend()
		case <-c.soon.C:
			c.tend()
		case err := <-broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c.broken
}

// unheard are notifications that a thread's listeners get by the hundred, and that do not concern its dialogs.
func unheard() []string {
	return []string{"item/agentMessage/delta", "item/commandExecution/outputDelta", "item/fileChange/outputDelta",
		"item/mcpToolCall/progress", "item/plan/delta", "item/reasoning/summaryPartAdded",
		"item/reasoning/summaryTextDelta", "item/reasoning/textDelta", "command/exec/outputDelta",
		"process/outputDelta", "rawResponseItem/completed", "rawResponse/completed", "hook/started", "hook/completed",
		"turn/diff/updated", "thread/tokenUsage/updated", "account/rateLimits/updated",
		"thread/realtime/outputAudio/delta"}
}
