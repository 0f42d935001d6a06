package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// conversation is the exchange of messages in a turn.
type conversation struct {
	turn   *Turn
	conn   *sdk.Connection
	asking context.Context    // the context of open questions
	let    context.CancelFunc // cancels asking
	calls  sync.WaitGroup     // goroutines that talk, or ask

	mu      sync.Mutex
	over    bool // no more questions are asked
	waiting int  // the number of open questions
	session string
}

func newConversation(ctx context.Context, t *Turn, p *program) *conversation {
	c := &conversation{turn: t}
	c.asking, c.let = context.WithCancel(ctx)
	c.conn = sdk.NewConnection(c.handle, p.in, p.out)
	c.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(p.out.ready) // after the logger is set, because the library's readers use it
	return c
}

// talk runs the turn from the first message to its end.
func (c *conversation) talk(ctx context.Context) error {
	loaded, err := c.open(ctx)
	if err != nil {
		return err
	}
	done, err := sdk.SendRequest[sdk.PromptResponse](c.conn, ctx, sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
		SessionId: sdk.SessionId(c.sessionID()), Prompt: []sdk.ContentBlock{sdk.TextBlock(c.turn.Prompt(loaded))}})
	switch {
	case err != nil:
		return err
	case done.StopReason == sdk.StopReasonRefusal:
		return errors.New("has refused the prompt")
	case done.StopReason == sdk.StopReasonCancelled:
		return errors.New("has stopped its turn early")
	}
	return nil
}

// open opens a session, and reports whether it is the one to load.
func (c *conversation) open(ctx context.Context) (loaded bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openTime,
		fmt.Errorf("opened no session within %s", openTime))
	defer cancel()
	is, err := sdk.SendRequest[sdk.InitializeResponse](c.conn, ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "pennypost", Version: "1"}})
	switch {
	case err != nil:
		return false, late(ctx, err)
	case is.ProtocolVersion != sdk.ProtocolVersionNumber:
		return false, fmt.Errorf("speaks ACP version %d, but Pennypost speaks version %d", is.ProtocolVersion,
			sdk.ProtocolVersionNumber)
	}
	if c.turn.Load != "" && is.AgentCapabilities.LoadSession {
		_, err := sdk.SendRequest[sdk.LoadSessionResponse](c.conn, ctx, sdk.AgentMethodSessionLoad,
			sdk.LoadSessionRequest{SessionId: sdk.SessionId(c.turn.Load), Cwd: c.turn.Dir, McpServers: c.servers()})
		if err == nil {
			return true, c.enter(c.turn.Load)
		}
		c.turn.log().Info("ACP session not resumed", "program", c.turn.Argv[0], "err", err)
	}
	s, err := sdk.SendRequest[sdk.NewSessionResponse](c.conn, ctx, sdk.AgentMethodSessionNew,
		sdk.NewSessionRequest{Cwd: c.turn.Dir, McpServers: c.servers()})
	if err != nil {
		return false, late(ctx, err)
	}
	return false, c.enter(string(s.SessionId))
}

// late returns why ctx has ended, if it has, instead of the resulting error.
func late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

func (c *conversation) servers() []sdk.McpServer {
	out := []sdk.McpServer{}
	for _, s := range c.turn.Servers {
		one := &sdk.McpServerStdio{Name: s.Name, Command: s.Program, Args: s.Args, Env: []sdk.EnvVariable{}}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			one.Env = append(one.Env, sdk.EnvVariable{Name: name, Value: s.Env[name]})
		}
		out = append(out, sdk.McpServer{Stdio: one})
	}
	return out
}

// enter records the session.
func (c *conversation) enter(id string) error {
	if id == "" || len(id) > maxSession {
		return fmt.Errorf("opened a session with an id of %d bytes; the id must have 1 to %d", len(id), maxSession)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errStopped
	}
	c.session = id
	return nil
}

func (c *conversation) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// cancel cancels the turn, and waits up to cancelTime for it to end. The program may not read its input. As the
// protocol requires, it is notified before its questions end as cancelled: with these alone it would end its turn by
// itself.
func (c *conversation) cancel(over <-chan error) {
	moment, end := context.WithTimeout(context.Background(), cancelTime)
	defer end()
	if id := c.sessionID(); id != "" {
		told := make(chan struct{})
		c.calls.Go(func() {
			defer close(told)
			_ = c.conn.SendNotification(context.Background(), sdk.AgentMethodSessionCancel,
				sdk.CancelNotification{SessionId: sdk.SessionId(id)})
		})
		select {
		case <-told:
		case <-moment.Done():
		}
	}
	c.close()
	if c.sessionID() == "" {
		return // and there will be none
	}
	select {
	case <-over:
	case <-moment.Done():
	}
}
