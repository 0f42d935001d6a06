package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/process"
	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/mcpserver"
	"pennypost/internal/wire/client"
)

const mcpHelp = `Serve MCP on standard input and output: an agent's mailbox as tools, for any client that starts MCP
servers.

The agent is --as, else $PENNYPOST_AGENT, else the one in .pennypost.toml at the top of the project,
else a name made of the client and the directory, such as claude-parser, so that the next session
finds the mail of this one. While another live session holds the name, this one is called NAME-2.
With --take-over it takes the name, and the other session loses its connection. The client's hooks
and this server are one session.

With --channel the server is a channel of Claude Code, which is a preview, and wakes an idle session
that has mail. Start the client with: claude --dangerously-load-development-channels
server:pennypost

With --dialect the tools are those of an earlier system, with their names and shapes. A token in
$PENNYPOST_TOKEN, from "pennypost agents token NAME" of the person, decides who the agent is, no
matter which program runs the server: so one program can run several agents. With --remote the
mailbox is in another post office, which issued the token. The address must begin with https://,
to protect the token on its way. http:// is allowed for this machine; for another one it
needs --insecure.`

const mcpExamples = `claude mcp add --scope user pennypost -- pennypost mcp
pennypost mcp --dialect agenties --as ag_x1
PENNYPOST_TOKEN=pp.… pennypost mcp --dialect agenties --as ag_x2
PENNYPOST_TOKEN=pp.… pennypost mcp --dialect superportia --remote http://127.0.0.1:8765
codex mcp add pennypost -- pennypost mcp
{"mcpServers":{"pennypost":{"command":"pennypost","args":["mcp","--as","builder"]}}}`

// heartbeat is how often a session sends a sign of life. The post office considers it ended after several are missing.
const heartbeat = 30 * time.Second

// farewell is how long a session that ends tries to report that.
const farewell = 2 * time.Second

// mcpFlags are the flags of mcp.
type mcpFlags struct {
	takeOver, channel bool
	dialect           string
}

func newMCP(a *app) *cobra.Command {
	var f mcpFlags
	return cli.WithFlags(&cobra.Command{
		Use: "mcp", Short: "serve MCP on standard input and output", Long: mcpHelp, Example: mcpExamples,
		Args: cli.NoArgs,
		RunE: cli.RunWith(a.mcp, &f),
	},
		cli.Flag{Into: &f.takeOver, Name: "take-over",
			About: "take over a name that another session holds"},
		cli.Flag{Into: &f.channel, Name: "channel",
			About: "wake the session by channel notifications; start Claude Code with this server as a channel"},
		cli.Flag{Into: &f.dialect, Name: "dialect", About: "serve the tools of `DIALECT`: " + dialectNames()})
}

func (a *app) mcp(ctx context.Context, f mcpFlags) error {
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	a.Beside = true
	d, err := findDialect(f.dialect)
	if err != nil {
		return err
	}
	if f.channel && d != nil {
		return cli.Usage("--channel works with Pennypost's own tools only, not with --dialect")
	}
	s := &session{client: a.ClientName(), id: "mcp-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:8]}
	s.access = access(a.Env.Getenv)
	s.stays = d != nil && d.NamesItself != nil // its sessions begin and end with their own calls
	c, _ := hook.FindClient(s.client)
	s.process = process.Program(c.Editor)
	a.ShowToken()
	if s.client == "codex" {
		a.LeaveServer()
		if d == nil && !a.ByToken() && cmp.Or(a.As, a.Env.Getenv("PENNYPOST_AGENT")) != string(mail.User) {
			return a.serveThreads(ctx, s, f)
		}
	}
	return a.orHow(a.serveOne(ctx, s, d, f), d)
}

// orHow adds a hint to an error that keeps a dialect's server from being an agent: how a program that runs several
// agents can be each of them.
func (a *app) orHow(err error, d *dialect.Dialect) error {
	if d == nil || a.As == "" || a.ByToken() || mail.CodeOf(err) != mail.Denied {
		return err
	}
	as := wording.Shell(a.As)
	return cli.Hinted(err, fmt.Sprintf("a program that runs several agents needs a token for each: run in your "+
		"terminal pennypost agents token %s, then: %s=TOKEN pennypost mcp --dialect %s --as %s", as,
		cli.TokenVariable, d.Name, as))
}

// serveOne serves one session under one name.
func (a *app) serveOne(ctx context.Context, s *session, d *dialect.Dialect, f mcpFlags) error {
	if err := a.connect(ctx, s, d); err != nil {
		return err
	}
	defer s.quiet.Close()
	who := s.name
	claims := who != mail.User && (d == nil || !d.SharedNames)
	if claims {
		p := mail.Presence{Join: true, TakeOver: f.takeOver, Access: s.access}
		if err := s.claim(ctx, p); err != nil {
			return err
		}
		defer s.end()
	}
	if s.name != who {
		fmt.Fprintf(a.Env.Stderr, "pennypost: a live session is already %s in room %s; this one is %s\n", who,
			s.room, s.name)
	}
	var channel *mcpserver.Channel
	if f.channel {
		channel = mcpserver.NewChannel(a.Stdout.To)
	}
	return a.serveMCP(ctx, s, d, who, channel, claims)
}

// connect finds the post office, and the session's agent. The token of a remote post office names the agent itself.
func (a *app) connect(ctx context.Context, s *session, d *dialect.Dialect) error {
	var err error
	if s.room, err = a.RoomName(); err != nil {
		return err
	}
	if s.office, err = a.Post(); err != nil {
		return err
	}
	if a.ByToken() {
		if s.name, err = a.Who(); err != nil {
			return err
		}
		if s.quiet = s.office; a.Remote == "" {
			s.quiet, err = a.QuietOffice()
		}
		return err
	}
	if d != nil {
		a.bridgeProject(ctx, d)
		if s.also, err = a.identify(ctx, d); err != nil {
			return err
		}
	}
	if s.room, s.name, err = a.Begin(s.client, ""); err != nil {
		return err
	}
	s.quiet, err = a.QuietOffice()
	return err
}

// beside adds to Pennypost's own tools those of protocols that know the agent, as OpenAlice's Inbox knows the agent of
// a workspace: an agent there has one server for both.
func (a *app) beside(ctx context.Context, s *session, who mail.Name, server *mcpserver.Server) {
	for _, d := range daemon.Dialects() {
		for _, e := range d.Endpoints {
			if !e.Beside {
				continue
			}
			svc, err := s.office.Room(ctx, s.room, who)
			if err == nil && e.Known(ctx, svc, who) == nil {
				server.Beside(mcpserver.Mailbox{Service: svc, Room: s.room, Agent: who, Log: a.mcpLog()}, e)
			}
		}
	}
}

// serveMCP serves until standard input ends, a signal comes, or another session takes over the name. who is the name
// that the session asked for; s.name differs from it if a live session has that.
func (a *app) serveMCP(ctx context.Context, s *session, d *dialect.Dialect, who mail.Name,
	channel *mcpserver.Channel, claimed bool) error {
	beats, err := s.quiet.Room(ctx, s.room, s.name)
	if err != nil {
		return err
	}
	client := "" // set if the client's calls carry their tool use
	if claimed && s.client == "claude" {
		client = s.client
	}
	box, err := s.mailbox(ctx, client)
	if err != nil {
		return err
	}
	box.Version, box.Channel, box.Log = cli.Version(), channel, a.mcpLog()
	if d == nil {
		calls := s.office.Calls(s.room, s.name, client)
		defer calls.Close()
		box.Forward = forward(calls)
	}
	server, closeServer, err := newServer(ctx, d, box)
	if err != nil {
		return err
	}
	defer closeServer()
	if d == nil {
		a.beside(ctx, s, who, server)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	out := a.Stdout.To
	if channel != nil {
		out = channel
		beside.Go(func() { s.ring(ctx, box.Agent, channel) })
	}
	if claimed {
		beside.Go(func() {
			if err := s.beat(ctx, beats); err != nil {
				cancel(err)
			}
		})
	}
	err = a.serveStdio(ctx, server, out)
	lost := context.Cause(ctx)
	cancel(nil)
	beside.Wait()
	if mail.CodeOf(lost) == mail.Conflict {
		return lost
	}
	return err
}

// mailbox returns the mailbox of the session's agent, for a server. client is "claude" if its calls carry their tool
// use. The heartbeat may change the session's name later; the post office maps the old name.
func (s *session) mailbox(ctx context.Context, client string) (mcpserver.Mailbox, error) {
	name := s.name
	svc, err := s.office.Room(ctx, s.room, name)
	if err != nil {
		return mcpserver.Mailbox{}, err
	}
	box := mcpserver.Mailbox{Service: svc, Room: s.room, Agent: name, Also: make(map[mail.Name]mail.Service)}
	for _, other := range s.also {
		if box.Also[other], err = s.office.Room(ctx, s.room, other); err != nil {
			return mcpserver.Mailbox{}, err
		}
	}
	if client == "claude" {
		box.Of = mcpserver.ByToolUse(mcpserver.Caller{Service: svc, Room: s.room, Agent: name},
			func(ctx context.Context, use string) (mail.Service, error) {
				return s.office.RoomFor(ctx, s.room, name, use)
			})
	}
	return box, nil
}

// forward returns a function that makes the post office answer calls itself.
func forward(calls *client.Calls) func(ctx context.Context, waits bool, key string, call []byte,
	answered func([]byte, error)) {
	return func(ctx context.Context, waits bool, key string, call []byte, answered func([]byte, error)) {
		if waits {
			calls.Wait(ctx, key, call, answered)
		} else {
			calls.Call(ctx, key, call, answered)
		}
	}
}

// mcpLog is the log of a server, whose standard output is used by the protocol.
func (a *app) mcpLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// newServer returns the server of a mailbox: the native one, or a dialect's.
func newServer(ctx context.Context, d *dialect.Dialect, box mcpserver.Mailbox) (*mcpserver.Server, func(), error) {
	if d == nil {
		native := mcpserver.NewNative(box)
		return native.Server, native.Close, nil
	}
	e := d.Endpoints[0]
	if e.Known != nil {
		if err := e.Known(ctx, box.Service, box.Agent); err != nil {
			return nil, nil, err
		}
	}
	return mcpserver.NewDialect(box, d.Name, e), func() {}, nil
}

// session is a running MCP client and the name that it has.
type session struct {
	office *client.Office
	// the same, but not started: a heartbeat must not start a post office that a person has stopped
	quiet   *client.Office
	room    mail.RoomName
	name    mail.Name
	also    []mail.Name // other names for which it speaks
	client  string
	process string // the program that it belongs to, whose hooks are of the same session
	id      string
	access  *mail.Access // how to reach the client's session; nil: not known
	stays   bool         // the agent may outlive this connection
}

// access returns the facts about its session that Claude Code gives its servers (seen with 2.1.330).
func access(getenv func(string) string) *mail.Access {
	a := &mail.Access{Session: getenv("CLAUDE_CODE_SESSION_ID"), Dir: getenv("CLAUDE_PROJECT_DIR"),
		Socket: getenv("CLAUDE_CODE_MESSAGING_SOCKET"), Token: getenv("CLAUDE_CODE_MESSAGING_TOKEN")}
	if a.Session == "" || a.Socket == "" {
		return nil
	}
	return a
}

// claim registers the session under its name, or under a free one derived from it.
func (s *session) claim(ctx context.Context, p mail.Presence) error {
	svc, err := s.office.Room(ctx, s.room, s.name)
	if err != nil {
		return err
	}
	p.Session, p.Process, p.Client, p.Serves = s.id, s.process, s.client, true
	ag, err := svc.Register(ctx, p)
	if err == nil {
		s.name = ag.Name
	}
	return err
}

// beat sends signs of life until ctx ends. It returns an error when another session has the name. A post office that
// is away for a while is no reason to end: it may be restarting.
func (s *session) beat(ctx context.Context, svc mail.Service) error {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		ag, err := svc.Register(ctx, mail.Presence{Session: s.id, Process: s.process, Join: true, Serves: true})
		if mail.CodeOf(err) == mail.Conflict { // another session is the orchestrator now
			return err
		}
		if err != nil || ag.Name == s.name {
			continue
		}
		lost, err := holds(ctx, svc, s.name)
		if err != nil {
			continue
		}
		was := s.name
		s.name = ag.Name // the name to give back at the end
		if lost {
			return cli.Hinted(mail.Errorf(mail.Conflict, "another session took over the agent %s; this one ends", was),
				"pennypost mcp --as "+string(was)+" --take-over")
		}
	}
}

// holds reports whether an agent of this name is on the roster. After a rename only the new name is there; if another
// session took the name over, that session is there under it.
func holds(ctx context.Context, svc mail.Service, name mail.Name) (bool, error) {
	_, ok, err := mail.OneAgent(ctx, svc, name)
	return ok, err
}

// ring passes rings to the model, as soon as the client accepts them.
func (s *session) ring(ctx context.Context, name mail.Name, c *mcpserver.Channel) {
	select {
	case <-c.Ready():
		// If writing fails, the client is gone, and the server ends.
		_ = cli.FollowRings(ctx, s.quiet, s.room, name, mail.Listener{Door: mail.ChannelDoor}, c.Notify, func(error) {
		})
	case <-ctx.Done():
	}
}

// end gives the name back.
func (s *session) end() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	// If this fails, the post office notices the silence.
	_, _ = s.quiet.RoomFrom(s.room, s.name, client.Whence{Session: s.id}).Register(ctx,
		mail.Presence{Session: s.id, End: true, Join: s.stays})
}
