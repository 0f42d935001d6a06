package mcpserver

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// instructions tell a model when to look. Clients cut them at 2 KB.
//
//go:embed instructions.md
var instructions string

// Mailbox is the agent that a server serves, and its room.
type Mailbox struct {
	Service mail.Service // the room as the agent sees it
	Room    mail.RoomName
	Agent   mail.Name
	Also    map[mail.Name]mail.Service // of a dialect: the room as seen by others for whom Agent may speak
	Version string                     // of Pennypost
	Log     *slog.Logger
	Channel *Channel // rings the agent; nil: it is not rung through MCP

	// Of returns the caller of a request, from its _meta, where one client runs several agents. Nil: all requests
	// are Agent's. Service, Room and Agent are unset on a server that belongs to no one agent.
	Of func(ctx context.Context, meta map[string]any) (Caller, error)

	// Callbacks are addresses to which events are posted. Nil: none.
	Callbacks Callbacks

	// Forward carries calls to the room's process. Nil: all run here.
	Forward Forward
}

// Caller is an agent, and the room as that agent sees it.
type Caller struct {
	Service mail.Service
	Room    mail.RoomName
	Agent   mail.Name
}

// implementation is the name and version that a server of the mailbox announces.
func (b Mailbox) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "pennypost", Title: "Pennypost", Version: b.Version}
}

// introduce puts the connection's agent and room before instructions. An agent has no other way to learn them
// before its first message.
func (b Mailbox) introduce(instructions string) string {
	if b.Agent == "" {
		return instructions
	}
	return fence.Text(fmt.Sprintf("This connection speaks for %s in the room %s.", mail.AgentAddress(b.Agent),
		b.Room)) +
		"\n\n" + instructions
}

// ByToolUse returns a Mailbox.Of for Claude Code, which names the tool use of a call in _meta and in its hooks
// (seen in 2.1.330); the hooks tell the post office whether a teammate that shares the process made that use. A
// call without a tool use is own's; of returns the room as the maker of a use sees it.
func ByToolUse(own Caller, of func(context.Context, string) (mail.Service, error)) func(context.Context,
	map[string]any) (Caller, error) {
	return func(ctx context.Context, meta map[string]any) (Caller, error) {
		use, _ := meta["claudecode/toolUseId"].(string)
		if use == "" {
			return own, nil
		}
		svc, err := of(ctx, use)
		if err != nil {
			return Caller{}, err
		}
		a, err := svc.Register(ctx, mail.Presence{Update: true})
		if mail.CodeOf(err) == mail.NotFound {
			a, err = svc.Register(ctx, mail.Presence{})
		}
		return Caller{svc, own.Room, a.Name}, err
	}
}

// logged returns the mailbox with a logger.
func (b Mailbox) logged() Mailbox {
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	return b
}

// of returns the mailbox of the agent that made a request.
func (b Mailbox) of(ctx context.Context, meta map[string]any) (Mailbox, error) {
	if b.Of == nil {
		return b, nil
	}
	c, err := b.Of(ctx, meta)
	b.Service, b.Room, b.Agent = c.Service, c.Room, c.Agent
	return b, err
}

// Native is the MCP server of one agent: six tools, four prompts, and its mailbox as a resource. It may serve
// several sessions; its owner closes it when they have ended.
type Native struct {
	Server *Server
	box    Mailbox

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup // subscriptions

	mu   sync.Mutex
	subs map[string]*subscription // by URI
}

// NewNative returns the server of a mailbox.
func NewNative(box Mailbox) *Native {
	box = box.logged()
	ctx, stop := context.WithCancel(context.Background())
	n := &Native{box: box, ctx: ctx, stop: stop, subs: make(map[string]*subscription)}
	opts := &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}}
	opts.Capabilities.AddExtension(eventsExtension, nil)
	if box.Service != nil { // without one, subscriptions would have nothing to follow
		opts.SubscribeHandler, opts.UnsubscribeHandler = n.subscribe, n.unsubscribe
	}
	n.Server = serving(box, box.implementation(),
		dialect.Endpoint{Instructions: instructions, Tools: tools(), Prompts: prompts()}, opts)
	n.addResources()
	box.offerEvents(n.Server)
	return n
}

// Close ends the subscriptions and waits for them.
func (n *Native) Close() {
	n.stop()
	n.work.Wait()
}
