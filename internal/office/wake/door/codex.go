package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/fence"
	"pennypost/internal/office/appserver"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// Codex is the queue of a Codex thread. An idle, open thread begins a turn with a queued message; a working thread
// does so at the end of its turn. After its user interrupted a turn, the queue is paused until the next prompt.
//
// Sessions that share an app-server (Codex's default) are rung through it: it queues the message and starts a paused
// queue. The ring succeeded if the message has left the queue, or waits for the end of a running turn. Other sessions,
// each a process of its own, are rung by "codex queue --thread ID --message TEXT"; the ring succeeded if that exits
// with status 0. If such a session's last turn was interrupted, or a message of an earlier ring is still queued, its
// queue is paused and cannot be started from here: then our messages are removed, and the ring has failed.
//
// The text appears as if the user had typed it, and runs with the thread's own approvals: it says that it is not the
// user's, and gives no orders. A hook drops it if the mail was read in the meantime.
//
// Seen with Codex 0.169.0. The command came with 0.149; before 0.158 a thread that is not open anywhere is an error.
type Codex struct {
	Sessions *sessions.List
	Binary   string // default codex
	// NAME=value: without the variables of an agent that may have started the post office
	Env     []string
	Timeout time.Duration // then the command is killed; default 30 s
}

var _ wake.Waker = (*Codex)(nil)

// threadID matches Codex's ids. A thread's name would work too, but another thread may get the same one.
var threadID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
})

// firstCodex is the first version that has a queue.
func firstCodex() version { return version{0, 149, 0} }

// Door implements wake.Waker.
func (c *Codex) Door() string { return "codex-queue" }

// Ring implements wake.Waker.
func (c *Codex) Ring(ctx context.Context, r wake.Ring) error {
	s, err := sessionFor(c.Sessions, &r, "codex")
	if err != nil {
		return err
	}
	if !threadID().MatchString(s.ID) {
		return fmt.Errorf("the session reported an invalid thread id %q", child.Plain(s.ID))
	}
	if v, ok := parseVersion(s.Version); ok && v.less(firstCodex()) {
		return fmt.Errorf("the session is Codex %s, which has no queue; %s is the first with one", v, firstCodex())
	}
	ctx, cancel := context.WithTimeout(ctx, child.Timeout(c.Timeout))
	defer cancel()
	if shared, err := appserver.Dial(ctx, s.Home); err == nil {
		defer shared.Close()
		if q := (threadQueue{shared, s.ID}); q.loaded() {
			return q.ring(ctx, &r)
		}
	}
	return c.queue(ctx, &s, &r)
}

// queue rings a session that is a process of its own.
func (c *Codex) queue(ctx context.Context, s *sessions.Session, r *wake.Ring) error {
	asking, stop := context.WithTimeout(ctx, child.Timeout(c.Timeout)/3) // a slow answer must not cost the ring
	defer stop()
	if own, err := appserver.Start(c.command(asking, s, "app-server")); err == nil {
		withdrawn, err := threadQueue{own, s.ID}.withdraw()
		_ = own.Close() // it has answered
		if err == nil && withdrawn {
			return errStandsStill()
		}
	}
	if s.Broken {
		return errStandsStill()
	}
	var out child.Tail
	cmd := c.command(ctx, s, "queue", "--thread", s.ID, "--message", r.Pointer())
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("codex not found; put it in the PATH of the post office")
	}
	if err = child.Explain(ctx, err, child.Timeout(c.Timeout), out.Text()); err != nil {
		return fmt.Errorf("codex queue, which needs Codex %s: %w", firstCodex(), err)
	}
	return nil
}

func errStandsStill() error {
	return errors.New("the session's queue has paused since its user interrupted a turn, and continues with the " +
		"next prompt there; no ring is left in it")
}

// command returns a Codex command for the home of a session.
func (c *Codex) command(ctx context.Context, s *sessions.Session, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.binary(), args...)
	cmd.Dir, cmd.Env = s.Dir, c.Env
	if s.Home != "" {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "CODEX_HOME="+s.Home)
	}
	cmd.WaitDelay = child.DrainTime
	child.OwnGroup(cmd)
	return cmd
}

func (c *Codex) binary() string { return cmp.Or(c.Binary, "codex") }

// reaches reports whether a session can be reached: through its shared app-server, or by running codex, which cannot
// start a paused queue. It does not check that the app-server answers.
func (c *Codex) reaches(s *sessions.Session) bool {
	if _, err := appserver.Socket(s.Home); err == nil {
		return true
	}
	_, err := exec.LookPath(c.binary())
	return err == nil && !s.Broken
}

func (c *Codex) leads(s *sessions.Session) bool {
	return s.Client == "codex" && !s.Over && !s.Gone() && c.reaches(s)
}

// threadQueue is the queue of a thread.
type threadQueue struct {
	*appserver.Conn
	thread string
}

// status returns the thread's status in this app-server: notLoaded, idle, active, …
func (q threadQueue) status() (string, error) {
	var out struct {
		Thread struct {
			Status struct {
				Type string `json:"type"`
			} `json:"status"`
		} `json:"thread"`
	}
	err := q.Call("thread/read", map[string]any{"threadId": q.thread}, &out)
	return out.Thread.Status.Type, err
}

func (q threadQueue) loaded() bool {
	status, err := q.status()
	return err == nil && status != "notLoaded"
}

// ours returns the ids of our queued messages.
func (q threadQueue) ours() (ids []string, err error) {
	var out struct {
		Data []struct {
			ID    string     `json:"id"`
			Input []textItem `json:"input"`
		} `json:"data"`
	}
	err = q.Call("thread/queue/list", map[string]any{"threadId": q.thread, "limit": 100}, &out)
	for _, it := range out.Data {
		if len(it.Input) > 0 && fence.IsRing(it.Input[0].Text) {
			ids = append(ids, it.ID)
		}
	}
	return ids, err
}

type textItem struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// withdraw removes our queued messages, and reports whether there were any.
func (q threadQueue) withdraw() (bool, error) {
	ids, err := q.ours()
	for _, id := range ids {
		if err == nil {
			err = q.Call("thread/queue/delete", map[string]any{"threadId": q.thread, "queuedSubmissionId": id}, nil)
		}
	}
	return len(ids) > 0, err
}

// ring replaces our queued messages by a ring, and makes an idle thread begin with it.
func (q threadQueue) ring(ctx context.Context, r *wake.Ring) error {
	if _, err := q.withdraw(); err != nil {
		return err
	}
	var added struct {
		Queued struct {
			ID string `json:"id"`
		} `json:"queuedSubmission"`
	}
	if err := q.Call("thread/queue/add", map[string]any{"threadId": q.thread, "clientUserMessageId": r.ID,
		"input": []textItem{{"text", r.Pointer()}}}, &added); err != nil {
		return err
	}
	// If the queue is not paused, the message has already left it.
	refused := q.Call("thread/queue/start",
		map[string]any{"threadId": q.thread, "queuedSubmissionId": added.Queued.ID},
		nil)
	if refused == nil {
		return nil
	}
	left, err := q.ours()
	if err != nil || len(left) == 0 {
		return err
	}
	if status, err := q.status(); err != nil || status == "active" {
		return err // it begins when the turn ends
	}
	if _, err := q.withdraw(); err != nil {
		return err
	}
	return fmt.Errorf("the session's queue is paused, and Codex does not resume it: %w", refused)
}
