package dialect

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Dialect is a foreign protocol.
type Dialect struct {
	Name  string // in commands, URLs and bridges
	About string // one line of help

	// Endpoints serve its MCP tools over HTTP. "pennypost mcp --dialect" serves the first.
	Endpoints []Endpoint
	// Identify returns, by the protocol's own means, the agents for which "pennypost mcp --dialect" and the verbs
	// act if the command names none. svc is the room as the user sees it. No names mean the usual way. Of several
	// the first is the default; a server may speak for the others too, because the process that started it named
	// them. Nil: the protocol has no such means.
	Identify func(ctx context.Context, svc mail.Service, getenv func(string) string) ([]mail.Name, error)

	// SharedNames means that a name is a mailbox, not a session: several processes may use one at the same time.
	SharedNames bool

	// NamesItself reports, from an agent's client and tags on the roster, whether it belongs to this protocol and
	// its sessions name themselves, so that any process may speak as it while no other runs it. Such a session is
	// not dead when its MCP connection ends. Nil: none does.
	NamesItself func(client string, tags []string) bool

	// Titles are roles whose bare word addresses the holder in the sender's own team, such as "team-lead".
	Titles []string

	// IDs, AgentLife and Trims are the protocol's requirements, as in mail.Protocol, for mail sent without it into a
	// room that keeps its files, or to one of its agents.
	IDs       mail.IDForm
	AgentLife time.Duration
	Trims     bool

	// Files opens the foreign mailbox in a directory. Nil: the protocol keeps no files.
	Files func(FilesOptions) (Files, error)
	// Where describes a bridge's directory, in half a line of help.
	Where string
	// Vanishes means that the owner removes the directory at the end: that ends the mailbox and is no error.
	Vanishes bool
	// InProject means that users expect the files in their working directory: the verbs and the stdio server add a
	// bridge to the project's directory if the room has none of this dialect.
	InProject bool

	Verbs []Verb // "pennypost NAME WORDS…"
	// Top are first words of verbs that are also commands without the dialect's name: "pennypost WORDS…".
	Top    []string
	Routes []Route // over HTTP
}

// Protocols returns the dialects in the form that rooms use.
func Protocols(all []Dialect) []mail.Protocol {
	out := make([]mail.Protocol, len(all))
	for i, d := range all {
		out[i] = mail.Protocol{Name: d.Name, IDs: d.IDs, AgentLife: d.AgentLife, Trims: d.Trims,
			NamesItself: d.NamesItself, Titles: d.Titles}
	}
	return out
}

// Endpoint serves MCP tools.
type Endpoint struct {
	// Path is the HTTP path. If it contains {agent}, it admits only that agent.
	Path string
	// Known returns an error if an agent is not admitted; NotFound becomes status 404. Nil: any credential is
	// enough.
	Known func(ctx context.Context, svc mail.Service, agent mail.Name) error
	// Beside means that an admitted agent also has the tools in its own server of Pennypost's tools.
	Beside       bool
	Instructions string
	Tools        []Tool
	Prompts      []Prompt
}

// Tool is an MCP tool.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       string // JSON Schema of the arguments
	ReadOnly    bool   // it changes nothing
	Idempotent  bool
	Destructive bool
	Waits       bool // it waits for an event
	// Letters means that it returns mail and cannot return part of a body (fence.Letters): an answer with one letter
	// may be as long as the room's letters.
	Letters bool
	// Run returns a value, whose JSON (fence.JSON) is the text of the answer, or Prose. The answer must fit
	// fence.Budget, or with Letters fence.MaxLetter. The model gets an error's public message. With makes Run from a
	// function with typed arguments.
	Run func(ctx context.Context, c *Call) (any, error)
	// Given, if not nil, gets Run's answer as soon as the client has it, and is not called if that failed: a
	// protocol whose readers need not mark their mail marks the shown messages here. Until it returns, the server
	// runs the tool for no one else.
	Given func(ctx context.Context, c *Call, answer any) error
}

// Prose is an answer that is not JSON: the model gets it unchanged, so package fence has rendered it.
type Prose string

// With returns a Run that decodes the tool's arguments for run. Unknown and repeated members are errors.
func With[Args, Answer any](run func(ctx context.Context, c *Call, args Args) (Answer, error)) func(context.Context,
	*Call) (any, error) {
	return func(ctx context.Context, c *Call) (any, error) {
		var args Args
		if err := c.decode(&args); err != nil {
			return nil, err
		}
		return run(ctx, c, args)
	}
}

// Prompt is an MCP prompt.
type Prompt struct {
	Name        string
	Description string
	Arguments   []Argument
	Run         func(ctx context.Context, c *Call, args map[string]string) (string, error)
}

// Argument is an argument of a prompt.
type Argument struct {
	Name, Description string
	Required          bool
}

// Call is one use of a tool, a prompt or a route. The caller is proven.
type Call struct {
	Service mail.Service // the room as the caller sees it
	Caller  mail.Name
	Also    map[mail.Name]mail.Service // the room as seen by others that the caller may speak for
	Room    mail.RoomName
	// Office has all rooms. It is set for a route whose request names no room; Room is then the default one.
	Office mail.Office
	// Machine is this machine's name, and Ask sends a request to another machine's post office, if rooms span
	// several machines.
	Machine mail.Machine
	Ask     func(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error)
	Tool    string // the tool in use
	Args    []byte // the tool's arguments, a JSON object; With decodes it
	// Key is the idempotency key of a call that may be repeated; "" if it is not.
	Key string
	// Waiting sends progress of a waiting tool to a client that asked for it, until stop is called.
	Waiting func(ctx context.Context) (stop func())
	Now     time.Time
	Log     *slog.Logger
}

// decode decodes the arguments of a tool.
func (c *Call) decode(into any) error {
	if len(c.Args) == 0 {
		return nil
	}
	if err := jsonx.UnmarshalStrict(c.Args, into); err != nil {
		return mail.Errorf(mail.Invalid, "invalid arguments of %s: %s", c.Tool, jsonx.Explain(err))
	}
	return nil
}

// Present records that texts are on their way to the caller. They are shown even if recording fails.
func (c *Call) Present(ctx context.Context, door string, ids []mail.ID) {
	if len(ids) == 0 {
		return
	}
	if _, err := c.Service.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkPresented, Door: door}); err != nil {
		c.Log.Warn("presented mail not recorded", "agent", c.Caller, "err", err)
	}
}

// LongestBody returns a function that looks up, on first use, how many bytes of body an answer of one letter may
// hold: the room's limit. 0: no more than other answers.
func (c *Call) LongestBody(ctx context.Context) func() int {
	return sync.OnceValue(func() int {
		a, _, err := mail.OneAgent(ctx, c.Service, c.Caller)
		if err != nil || cuts(a.Client) {
			return 0
		}
		st, err := c.Service.Status(ctx)
		if err != nil {
			return 0
		}
		return st.MaxBody
	})
}

// As returns the call for another agent that the caller may speak for. ok is false if it may not.
func (c *Call) As(name mail.Name) (call *Call, ok bool) {
	if name == c.Caller {
		return c, true
	}
	svc, ok := c.Also[name]
	another := *c
	another.Service, another.Caller = svc, name
	return &another, ok
}

// Route is an HTTP endpoint that the protocol prescribes.
type Route struct {
	Pattern string // in the form of http.ServeMux, with the method
	DevOnly bool   // exists only in a post office started for development
	// Handle answers. Only the user is admitted: by the operator's token or over the Unix socket.
	Handle func(w http.ResponseWriter, r *http.Request, c *Call)
}

// Files is an open foreign mailbox on disk. Only one goroutine at a time uses it.
type Files interface {
	// Read returns others' changes to the files since the last Read; the first time, all content. Nothing is lost if
	// the process dies before the room has the news: another process's first Read returns it again. News may contain
	// messages that the room has: their ids identify them. Malformed pieces stay in the files and are counted.
	Read(ctx context.Context) (News, error)
	// Write writes changes of the room into the files, in order, and returns when they are durable. It does not
	// repeat changes that the files have, because they came from there or were written before a crash, and skips
	// those that the format cannot express. It keeps news that it finds for the next Read. It returns the number of
	// changes handled: all of them if err is nil. All of them with an error mean that a part of the files cannot be
	// written and its changes wait in State: the next Read continues with them and reports the result.
	Write(ctx context.Context, changes []Change) (int, error)
	// Rejected lists the pieces counted in News.Rejected at the last Read, with their present lines, at most
	// mail.MaxBadLines of them. It changes nothing.
	Rejected() ([]mail.BadLine, error)
	// Watch lists the files and directories where others' changes appear. They need not exist.
	Watch() []string
	Close() error
}

// Owing is implemented by Files that keep in State changes that a part of the files cannot take yet.
type Owing interface {
	// Owes returns the sequence number of the first such event, or 0 if there is none.
	Owes() mail.Seq
}

// FilesOptions are the parameters for opening a dialect's files.
type FilesOptions struct {
	// Dir is the bridge's directory. It exists, except perhaps with Dialect.Vanishes.
	Dir confined.Dir
	// State is a directory of our own for data that the format cannot hold. It exists, and is removed with the
	// bridge.
	State string
	// Service is the room as the user sees it. The bridge sees changes made through it like any others.
	Service mail.Service
	Bridge  mail.Bridge
	Others  []mail.Bridge // the room's other bridges
	Now     func() time.Time
	Log     *slog.Logger
	Getenv  func(string) string
	// Working, if not nil, must be called about every second during a call of Files: a call that is silent for
	// longer is taken to hang.
	Working func()
	// RetainAge and RetainCount are the room's retention, for a format that is trimmed.
	RetainAge   time.Duration
	RetainCount int
}

// Change is an event of the room that may belong in the files.
type Change struct {
	mail.Event
	// Item is the message of a message or receipt event in its present state, with its deliveries. Nil if it is
	// gone.
	Item *mail.Item
}

// News are others' changes to the files.
type News struct {
	// Items are messages with their own ids and times, as for Import. Ids that the room has are skipped.
	Items []mail.Item
	// Receipts are readers' marks on messages of Items or of the room. Marks that change nothing are skipped.
	Receipts []mail.Receipt
	// Agents are presences from the files.
	Agents []mail.Presence
	// Merged are agents of the files that turned out to be other agents on the roster, to whom everything of theirs
	// moves.
	Merged []Merger
	// Retired are agents that left.
	Retired []mail.Name
	// Erased are messages that were deleted for good.
	Erased []mail.ID
	// Rejected is the total number of malformed pieces in the files, and Notice is a notice to the person about
	// them.
	Rejected int
	Notice   string
	// Trouble says why a part of the files, and only that, cannot be written; "" if all can.
	Trouble string
}

// Merger merges one agent into another.
type Merger struct{ From, Into mail.Name }

// Empty reports whether n has nothing for the room.
func (n *News) Empty() bool {
	return len(n.Items)+len(n.Receipts)+len(n.Agents)+len(n.Merged)+len(n.Retired)+len(n.Erased) == 0
}
