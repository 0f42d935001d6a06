package door

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/office/acp"
	"pennypost/internal/office/wake/sessions"
)

// Turns are the ACP turns running on this machine, and each agent's latest ACP session. It is safe for concurrent use.
type Turns struct {
	// Ask asks the person a question of an agent in a turn; see acp.Turn. Nil: no answer.
	Ask func(ctx context.Context, who Asker, q *acp.Question) (option string)
	// Lives reports whether an agent has a session now, according to its room. Nil: not known.
	Lives func(ctx context.Context, room mail.RoomName, agent mail.Name) bool

	log  *slog.Logger
	file string // the file that stores last

	mu      sync.Mutex
	running map[sessions.Seat]*runningTurn
	barred  map[sessions.Seat]int // how many sessions of the agent are beginning now
	last    []lastTurn            // the newest at the end
}

// Asker is an agent in a turn.
type Asker struct {
	Room    mail.RoomName
	Agent   mail.Name
	Client  string // the name of its program
	Process string // the running program, as package process names it; "": not known
	Dir     string
}

// lastTurn has the facts needed to resume a session.
type lastTurn struct {
	Room    mail.RoomName `json:"room"`
	Agent   mail.Name     `json:"agent"`
	Argv    []string      `json:"argv"`
	Dir     string        `json:"dir"`
	Session string        `json:"session"`
}

// maxLast is how many agents' sessions are remembered.
const maxLast = 1000

// runningTurn is a turn in progress.
type runningTurn struct {
	of      *Turns
	at      sessions.Seat
	cancel  context.CancelCauseFunc
	ended   chan struct{}
	process string // guarded by Turns.mu
}

// errOther is the cause when a turn is cancelled because its agent has a new session.
var errOther = errors.New("its turn was cancelled because another session of the agent began")

// yieldTime is how long a new session waits for its agent's turn to end.
const yieldTime = 2 * time.Second

// NewTurns returns the turns, with the earlier ones stored in the file at path.
func NewTurns(path string, log *slog.Logger) *Turns {
	t := &Turns{log: log, file: path, running: make(map[sessions.Seat]*runningTurn),
		barred: make(map[sessions.Seat]int)}
	if err := kept.Load(path, &t.last); err != nil {
		log.Warn("saved ACP sessions unreadable, starting again", "file", path, "err", err)
		t.last = nil
	}
	return t
}

// begin records the beginning of a turn. Its context ends when the turn is cancelled.
func (t *Turns) begin(ctx context.Context, room mail.RoomName, agent mail.Name) (context.Context, *runningTurn,
	error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &runningTurn{of: t, at: sessions.SeatOf(room, agent), cancel: cancel, ended: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.running[r.at] != nil:
		cancel(nil)
		return nil, nil, errors.New("was not run: the agent is already in such a turn")
	case t.barred[r.at] > 0:
		cancel(nil)
		return nil, nil, errors.New("was not run: a session of the agent is starting")
	}
	t.running[r.at] = r
	return ctx, r, nil
}

// Bar keeps turns of an agent from beginning until free is called: its session is beginning, and its room does not
// know that yet. Yield cancels a turn that is already running.
func (t *Turns) Bar(room mail.RoomName, agent mail.Name) (free func()) {
	at := sessions.SeatOf(room, agent)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.barred[at]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.barred[at]--; t.barred[at] == 0 {
			delete(t.barred, at)
		}
	}
}

func (r *runningTurn) end() {
	r.of.mu.Lock()
	delete(r.of.running, r.at)
	r.of.mu.Unlock()
	r.cancel(nil)
	close(r.ended)
}

func (r *runningTurn) started(program string) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.process = program
}

func (r *runningTurn) program() string {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.process
}

// Run reports whether an agent is in a turn.
func (t *Turns) Run(room mail.RoomName, agent mail.Name) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[sessions.SeatOf(room, agent)] != nil
}

// Has reports whether one of programs runs an agent's turn.
func (t *Turns) Has(room mail.RoomName, agent mail.Name, programs []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.running[sessions.SeatOf(room, agent)]
	return r != nil && r.process != "" && slices.Contains(programs, r.process)
}

// Yield cancels the turn of an agent whose other session is beginning, and waits up to yieldTime for it to end.
func (t *Turns) Yield(ctx context.Context, room mail.RoomName, agent mail.Name) {
	t.mu.Lock()
	r := t.running[sessions.SeatOf(room, agent)]
	t.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel(errOther)
	ctx, cancel := context.WithTimeout(ctx, yieldTime)
	defer cancel()
	select {
	case <-r.ended:
	case <-ctx.Done():
	}
}

// lastOf returns the last turn of an agent; the zero value if none is known.
func (t *Turns) lastOf(room mail.RoomName, agent mail.Name) lastTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range slices.Backward(t.last) {
		if sessions.SeatOf(l.Room, l.Agent) == sessions.SeatOf(room, agent) {
			return l
		}
	}
	return lastTurn{}
}

// keep stores the session of an agent's turn. If it is lost, the agent loses the session's context.
func (t *Turns) keep(l lastTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = slices.DeleteFunc(t.last, func(o lastTurn) bool {
		return sessions.SeatOf(o.Room, o.Agent) == sessions.SeatOf(l.Room, l.Agent)
	})
	t.last = append(t.last, l)
	t.last = slices.Delete(t.last, 0, max(0, len(t.last)-maxLast))
	if err := kept.Save(t.file, t.last); err != nil {
		t.log.Warn("ACP session not saved", "file", t.file, "err", err)
	}
}

// because returns why a turn was cancelled, if it was, and otherwise err.
func because(ctx context.Context, err error) error {
	if why := context.Cause(ctx); err != nil && errors.Is(why, errOther) {
		return why
	}
	return err
}
