package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
	"pennypost/internal/mcpserver"
)

const mcpHelp = `Serve MCP on standard input and output: an agent's mailbox as tools, for any client that starts MCP servers.

The agent is --as, else $PENNYPOST_AGENT, else a name made from the client and the directory, such as
claude-parser, so that the next session finds the mail of this one. While another live session holds the
name this one is called NAME-2, unless --take-over is given; that session then loses its connection.`

const mcpExamples = `claude mcp add --scope user pennypost -- pennypost mcp
codex mcp add pennypost -- pennypost mcp
{"mcpServers":{"pennypost":{"command":"pennypost","args":["mcp","--as","builder"]}}}`

// heartbeat is how often a session says that it lives. The post office takes one for ended after several of them are missing.
const heartbeat = 30 * time.Second

// farewell is how long a session that ends tries to say so.
const farewell = 2 * time.Second

func newMCP(a *app) *cobra.Command {
	var takeOver bool
	cmd := &cobra.Command{
		Use: "mcp", Short: "serve MCP on standard input and output", Long: mcpHelp, Example: mcpExamples, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), takeOver) },
	}
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "become the holder of a name that another session holds")
	return cmd
}

func (a *app) mcp(ctx context.Context, takeOver bool) error {
	client := a.clientName()
	if a.as == "" && a.env.Getenv("PENNYPOST_AGENT") == "" {
		a.as = a.agentName(client)
	}
	room, err := a.roomName()
	if err != nil {
		return err
	}
	who, err := a.who()
	if err != nil {
		return err
	}
	office, err := a.post()
	if err != nil {
		return err
	}
	quiet, err := a.quietOffice()
	if err != nil {
		return err
	}
	defer quiet.Close()
	ctx, stop := interruptible(ctx)
	defer stop()
	s := &session{office: office, quiet: quiet, room: room, name: who, client: client, id: "mcp-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:8]}
	if who != mail.User {
		if err := s.claim(ctx, takeOver); err != nil {
			return err
		}
		defer s.end()
	}
	if s.name != who {
		fmt.Fprintf(a.env.Stderr, "pennypost: a live session is %s in room %s; this one is %s\n", who, room, s.name)
	}
	return a.serveMCP(ctx, s)
}

// serveMCP serves until standard input ends, a signal comes, or another session took the name over.
func (a *app) serveMCP(ctx context.Context, s *session) error {
	svc, err := s.office.Room(ctx, s.room, s.name)
	if err != nil {
		return err
	}
	beats, err := s.quiet.Room(ctx, s.room, s.name)
	if err != nil {
		return err
	}
	native := mcpserver.NewNative(mcpserver.Mailbox{
		Service: svc, Room: s.room, Agent: s.name, Version: version(),
		// Standard output belongs to the protocol.
		Log: slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	defer native.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		if err := s.beat(ctx, beats); err != nil {
			cancel(err)
		}
	}()
	err = mcpserver.ServeStdio(ctx, native.Server, a.env.Stdin, a.env.Stdout)
	lost := context.Cause(ctx)
	cancel(nil)
	<-beating
	switch {
	case mail.CodeOf(lost) == mail.Conflict:
		return lost
	case errors.Is(err, context.Canceled), errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// session is one running MCP client and the name it holds.
type session struct {
	office mail.Office
	quiet  mail.Office // the same, but not started: a heartbeat shall not raise a post office that a person has stopped
	room   mail.RoomName
	name   mail.Name
	client string
	id     string
}

// claim takes the name, or the one that is free in its place.
func (s *session) claim(ctx context.Context, takeOver bool) error {
	svc, err := s.office.Room(ctx, s.room, s.name)
	if err != nil {
		return err
	}
	ag, err := svc.Register(ctx, mail.Presence{Session: s.id, TakeOver: takeOver, Client: s.client})
	if err != nil {
		return err
	}
	s.name = ag.Name
	return nil
}

// beat says that the session lives, until ctx ends. It returns an error when the name is another's now. That the post
// office cannot be reached for a while is no reason to end: it may be restarting.
func (s *session) beat(ctx context.Context, svc mail.Service) error {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for s.name != mail.User {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		ag, err := svc.Register(ctx, mail.Presence{Session: s.id})
		if err != nil || ag.Name == s.name {
			continue
		}
		lost, err := holds(ctx, svc, s.name)
		if err != nil {
			continue
		}
		was := s.name
		s.name = ag.Name // which is what is given back at the end
		if lost {
			return hinted(mail.Errorf(mail.Conflict, "another session took over the agent %s; this one ends", was), "pennypost mcp --as "+string(was)+" --take-over takes it back")
		}
	}
	return nil
}

// holds reports whether an agent of this name is on the roster. Whoever was renamed is there under the new name only; whoever
// lost the name to another session sees that one under it.
func holds(ctx context.Context, svc mail.Service, name mail.Name) (bool, error) {
	list, err := svc.Agents(ctx)
	return slices.ContainsFunc(list, func(ag mail.Agent) bool { return ag.Name == name }), err
}

// end gives the name back.
func (s *session) end() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	svc, err := s.quiet.Room(ctx, s.room, s.name)
	if err == nil {
		// If it cannot be said, the post office notices the silence.
		_, _ = svc.Register(ctx, mail.Presence{Session: s.id, End: true})
	}
}

// clients are the programs whose servers we know to tell apart: by a variable that they set, or by the name of their process.
func clients() []struct{ name, prefix string } {
	return []struct{ name, prefix string }{
		{"claude", "CLAUDE"}, {"codex", "CODEX_"}, {"gemini", "GEMINI_"}, {"cursor", "CURSOR_"}, {"copilot", "COPILOT_"}, {"opencode", "OPENCODE"},
	}
}

// clientName returns the program that started this one, "" if it is not known.
func (a *app) clientName() string {
	// The parent first: a variable may be inherited from a client further up.
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm")
	for _, c := range clients() {
		if strings.HasPrefix(string(comm), c.name) {
			return c.name
		}
	}
	for _, c := range clients() {
		for _, v := range a.env.Environ {
			if strings.HasPrefix(v, c.prefix) {
				return c.name
			}
		}
	}
	return ""
}

// agentName makes a name that the next session in this directory has again.
func (a *app) agentName(client string) string {
	if client == "" {
		client = "agent"
	}
	dir := filepath.Base(a.env.Dir)
	name := client + "-" + strings.TrimLeft(dir, ".")
	if _, err := mail.ParseName(name); err != nil || dir == "/" || dir == "." {
		return client
	}
	return name
}
