package wake

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// Codex is the queue of a thread of Codex: "codex queue --thread ID --message TEXT". An idle, open thread begins a
// turn with it; a working thread does so at the end of its turn; and what is queued while nobody has the thread open
// waits until it is resumed.
//
// It was rung if the command ended with status 0, which means queued and never seen. A turn that the user broke off
// stops the queue, and Codex does not report that.
//
// The text comes as if the user had typed it, and runs with the thread's own approvals: it says that it is not the
// user's, and orders nothing.
//
// Taken from Codex 0.149, with which the command came, to 0.169; before 0.158 a thread that nobody has open is an
// error. A queue takes 100 items, a text 1,048,576 characters.
type Codex struct {
	Sessions *Sessions
	Binary   string // default codex
	// NAME=value: CODEX_HOME, if it is not the default one, and nothing of the agent that may have started the post
	// office
	Env     []string
	Timeout time.Duration // then it is killed; default 30 s
}

var _ Waker = (*Codex)(nil)

// threadID is the form of Codex's ids. A thread's name would do too, but another may get the same one.
var threadID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
})

// Door implements Waker.
func (c *Codex) Door() string { return "codex-queue" }

// Ring implements Waker.
func (c *Codex) Ring(ctx context.Context, r Ring) error {
	s, err := c.Sessions.find(&r, "codex")
	if err != nil {
		return err
	}
	if !threadID().MatchString(s.ID) {
		return fmt.Errorf("the session says that its id is %q, which is none of a thread", plain(s.ID))
	}
	first := version{0, 149, 0}
	if v, ok := parseVersion(s.Version); ok && v.less(first) {
		return fmt.Errorf("the session is Codex %s, which has no queue; it came with %s", v, first)
	}
	limit := timeout(c.Timeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out bounded
	cmd := exec.CommandContext(ctx, c.binary(), "queue", "--thread", s.ID, "--message", pointer(&r))
	cmd.Dir, cmd.Env = s.Dir, c.Env
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = drainTime
	ownGroup(cmd)
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("codex is not found; put it in the PATH of the post office")
	}
	if err = explain(ctx, err, limit, out.text()); err != nil {
		return fmt.Errorf("codex queue, which needs Codex %s: %w", first, err)
	}
	return nil
}

func (c *Codex) binary() string {
	if c.Binary == "" {
		return "codex"
	}
	return c.Binary
}
