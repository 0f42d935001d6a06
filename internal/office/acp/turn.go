// Package acp makes an agent that speaks the Agent Client Protocol (version 1) run one turn: it starts the agent's
// program, gives it one prompt, passes its questions on, and ends it. Start at Turn.Run.
package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"pennypost/internal/base/child"
	"pennypost/internal/base/process"
)

// Timing of a turn.
const (
	// openTime is how long a program may take to start, identify itself, and open a session: the slowest known, which
	// loads its own client, took 9 s on a busy machine.
	openTime = 90 * time.Second
	// cancelTime is how long a cancelled turn may take to end by itself.
	cancelTime = time.Second
	// endTime is how long a program may take to exit after its input is closed, so that it can save its session and
	// its MCP servers can exit: Gemini CLI with hooks took more than 3 s. After a cancelled turn it has less.
	endTime      = 10 * time.Second
	endCancelled = 2 * time.Second
)

// maxSession is the maximum length of a session id, in bytes.
const maxSession = 1024

// Turn is one turn of an agent. All fields must be set, except Load, Ask, Started and Log.
type Turn struct {
	Argv    []string // the program, run without a shell
	Env     []string // NAME=value: the complete environment
	Dir     string   // the working directory: an absolute path
	Servers []Server // MCP servers, which the agent starts for the session
	Load    string   // the session to resume, if the program can; "": a new one
	// Prompt returns the prompt; loaded says that the session was resumed.
	Prompt  func(loaded bool) string
	Timeout time.Duration // for the whole turn
	// Ask gets an answer to a question, and returns the chosen option; "": there is none. It returns when ctx ends.
	// Nil: no question is answered.
	Ask func(ctx context.Context, q *Question) (option string)
	// Started is called with the running program, as package process names it.
	Started func(program string)
	Log     *slog.Logger // default: discard
}

// Server is an MCP server on standard input and output.
type Server struct {
	Name, Program string
	Args          []string
	Env           map[string]string
}

// errStopped is the error of a program that is stopped after its turn was cancelled.
var errStopped = errors.New("the turn was cancelled")

// Run runs the turn, and returns the id of its session once there is one. An error describes the failure for people.
// If ctx ends, the turn is cancelled. When Run returns, the program and its process group have ended.
func (t *Turn) Run(ctx context.Context) (session string, err error) {
	limited, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	p, err := t.start()
	if err != nil {
		return "", child.Explain(ctx, err, t.Timeout, "")
	}
	turn, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	talked := make(chan error, 1)
	c := newConversation(turn, t, p)
	c.calls.Go(func() { talked <- c.talk(turn) })
	patience := endTime
	select {
	case err = <-talked:
	case <-limited.Done():
		c.cancel(talked)
		err, patience = errStopped, endCancelled
	}
	state := p.end(patience)
	end()
	c.close()
	c.calls.Wait()
	<-c.conn.Done() // from now on nothing reads the output
	t.log().Debug("ACP turn ended", "program", t.Argv[0], "session", c.sessionID(), "updates", p.out.updates,
		"err", err, "status", state)
	return c.sessionID(), t.explain(ctx, limited, err, p, state)
}

func (t *Turn) log() *slog.Logger {
	if t.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Log
}

// explain describes the failure: unreadable output takes precedence over a missing answer.
func (t *Turn) explain(ctx, limited context.Context, err error, p *program, state string) error {
	refused, answered := errors.AsType[*sdk.RequestError](err)
	switch {
	case err == nil:
		return nil
	case p.out.err != nil:
		return child.WithOutput(p.out.err, p.stderr.Text())
	case ctx.Err() != nil:
		return errStopped
	case limited.Err() != nil:
		return child.WithOutput(fmt.Errorf("was stopped because its turn took longer than %s", t.Timeout),
			p.stderr.Text())
	case answered && refused.Code == authRequired:
		return errors.New("needs a login: start it in a terminal and log in there")
	case answered && p.left:
		return child.WithOutput(fmt.Errorf("ended in the middle of its turn: %s", state), p.stderr.Text())
	case answered:
		return errors.New(child.Plain(err.Error()))
	}
	return child.WithOutput(err, p.stderr.Text())
}

// authRequired is the error code with which an agent demands a login.
const authRequired = -32000

// program is a running agent program.
type program struct {
	cmd    *exec.Cmd
	kill   context.CancelFunc // kills its process group too
	in     io.WriteCloser
	out    *lines
	stderr child.Tail // read it after the program has ended
	left   bool       // it has closed its output by itself
}

// start starts the agent's program.
func (t *Turn) start() (*program, error) {
	ctx, kill := context.WithCancel(context.Background())
	p := &program{kill: kill}
	p.cmd = exec.CommandContext(ctx, t.Argv[0], t.Argv[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = t.Dir, t.Env, &p.stderr, child.DrainTime
	child.OwnGroup(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		if out, err = p.cmd.StdoutPipe(); err == nil {
			p.in, p.out = in, newLines(out)
			err = p.cmd.Start()
		}
	}
	if err != nil {
		kill()
		return nil, err
	}
	if tree := process.Tree(p.cmd.Process.Pid); t.Started != nil && len(tree) > 0 {
		t.Started(tree[0].Key)
	}
	return p, nil
}

// end ends the program, and returns its exit state. With its input closed, the program has some time to exit by
// itself.
func (p *program) end(patience time.Duration) string {
	select {
	case <-p.out.ended:
		p.left = true
	default:
	}
	_ = p.in.Close()
	timer := time.NewTimer(patience)
	select {
	case <-p.out.ended:
	case <-timer.C:
	}
	timer.Stop()
	p.kill()         // its process group ends with it, and so do its children
	_ = p.cmd.Wait() // the error says that it was killed
	return p.cmd.ProcessState.String()
}
