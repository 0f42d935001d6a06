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
	Name  string // on the command line, in URLs and in bridges
	About string // one line of help

	// Endpoints are where its MCP tools are served over HTTP. The first is what "pennypost mcp --dialect" serves.
	Endpoints []Endpoint
	// Identify finds out as whom "pennypost mcp --dialect" and the verbs act when the command does not say it, by the
	// protocol's own means. svc is the room as the user sees it. No name means: as usual. Of several the first is
	// meant; a server may speak for the others too, because whoever started it said so. Nil: it has no such means.
	Identify func(ctx context.Context, svc mail.Service, getenv func(string) string) ([]mail.Name, error)

	// SharedNames says that a name is a mailbox and no session: several processes may act under one at a time.
	SharedNames bool

	// NamesItself reports, of the client and the tags that the roster has of an agent, whether it is one of the
	// protocol's whose sessions say themselves who they are, so that any process may speak as it while no other runs
	// it. Such a session is not dead because its MCP connection has ended. Nil: none is.
	NamesItself func(client string, tags []string) bool

	// Titles are roles whose bare word addresses the one who has it in the sender's own team, such as "team-lead".
	Titles []string

	// IDs, AgentLife and Trims are what the protocol asks of mail that is sent without it into a room that keeps its
	// files, or to an agent of it, as mail.Protocol has them.
	IDs       mail.IDForm
	AgentLife time.Duration
	Trims     bool

	// Files opens the foreign mailbox in a directory. Nil: the protocol keeps no files.
	Files func(FilesOptions) (Files, error)
	// Where says, in half a line of help, which directory a bridge wants.
	Where string
	// Vanishes says that the directory is removed when its owner is done with it: that is the end of the mailbox, and
	// no fault.
	Vanishes bool
	// InProject says that its people expect its files in the directory in which they work: its verbs and its stdio
	// server add the bridge to the project's directory if the room has none of this dialect.
	InProject bool

	Verbs []Verb // "pennypost NAME WORDS…"
	// Top are first words of verbs that are commands without the dialect's name before them too: "pennypost WORDS…".
	Top    []string
	Routes []Route // over HTTP
}

// Protocols returns what a room knows of dialects.
func Protocols(all []Dialect) []mail.Protocol {
	out := make([]mail.Protocol, len(all))
	for i, d := range all {
		out[i] = mail.Protocol{Name: d.Name, IDs: d.IDs, AgentLife: d.AgentLife, Trims: d.Trims,
			NamesItself: d.NamesItself, Titles: d.Titles}
	}
	return out
}

// Endpoint is a place where MCP tools are served.
type Endpoint struct {
	// Path is the HTTP path. If it holds {agent}, only the agent of that name is let in.
	Path string
	// Known returns why an agent is not let in; NotFound is answered with status 404. Nil: whoever has a credential
	// may come.
	Known func(ctx context.Context, svc mail.Service, agent mail.Name) error
	// Beside says that an agent whom Known lets in has the tools beside Pennypost's own, too, where it starts a server
	// of those.
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
	Waits       bool // it waits for something to happen
	// Letters says that it answers with mail and has no way to give a part of a body (fence.Letters): an answer of one
	// letter may be as long as the room's letters are.
	Letters bool
	// Run answers with a value that is encoded as JSON (fence.JSON) and is the text of the answer, or with Prose. It
	// has to keep to fence.Budget, or with Letters to fence.MaxLetter. An error is told to the model by its public
	// message. With makes one of a function that is given its arguments.
	Run func(ctx context.Context, c *Call) (any, error)
	// Given, if not nil, is told what Run returned as soon as the client was given it, and not at all if that failed:
	// here a protocol whose readers need not mark their mail marks what they were shown. Until then the same server
	// runs the tool for nobody else.
	Given func(ctx context.Context, c *Call, answer any) error
}

// Prose is an answer that is no JSON: a model gets it as it is, so package fence has rendered it.
type Prose string

// With returns the Run of a tool that is given its arguments. A member that they do not have, or have twice, is an
// error.
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

// Call is one use of a tool, a prompt or a route. Who calls has been proven.
type Call struct {
	Service mail.Service // the room as the caller sees it
	Caller  mail.Name
	Also    map[mail.Name]mail.Service // the room as others see it for whom the caller was let speak too
	Room    mail.RoomName
	// Office has all rooms. It is there for a route that was asked for no room in particular; Room is the default one
	// then.
	Office mail.Office
	// Machine is this machine's name, and Ask has the post office of another answer a request, where rooms are on
	// several machines.
	Machine mail.Machine
	Ask     func(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error)
	Tool    string // which is used
	Args    []byte // of a tool: a JSON object; With reads it
	// Key is made for the call, which may come twice and is to be carried out once. "": it comes once.
	Key string
	// Waiting tells the client of a tool that waits, if it wants to know, that it still does, until stop is called.
	Waiting func(ctx context.Context) (stop func())
	Now     time.Time
	Log     *slog.Logger
}

// decode reads the arguments of a tool.
func (c *Call) decode(into any) error {
	if len(c.Args) == 0 {
		return nil
	}
	if err := jsonx.UnmarshalStrict(c.Args, into); err != nil {
		return mail.Errorf(mail.Invalid, "the arguments of %s do not fit: %s", c.Tool, jsonx.Explain(err))
	}
	return nil
}

// Present records that texts are on their way to the caller. They are shown whether that can be recorded or not.
func (c *Call) Present(ctx context.Context, door string, ids []mail.ID) {
	if len(ids) == 0 {
		return
	}
	if _, err := c.Service.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkPresented, Door: door}); err != nil {
		c.Log.Warn("presented mail not recorded", "agent", c.Caller, "err", err)
	}
}

// LongestBody returns what finds out, when it is asked first, how many bytes of a body an answer may hold that is one
// letter: as many as the room takes. 0: it must not be longer than other answers.
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

// As returns the call as somebody makes it for whom the caller may speak. ok is false if it may not.
func (c *Call) As(name mail.Name) (call *Call, ok bool) {
	if name == c.Caller {
		return c, true
	}
	svc, ok := c.Also[name]
	another := *c
	another.Service, another.Caller = svc, name
	return &another, ok
}

// Route is a door over HTTP that the protocol fixes.
type Route struct {
	Pattern string // as http.ServeMux takes it, with the method
	DevOnly bool   // exists only in a post office that was started for development
	// Handle answers. Only the user is let in: by the operator's token, or over the Unix socket.
	Handle func(w http.ResponseWriter, r *http.Request, c *Call)
}

// Files is a foreign mailbox on disk, open. One goroutine at a time uses it.
type Files interface {
	// Read returns what others have changed in the files since the last Read; the first time everything that stands
	// there. Nothing is lost if what it returned is not taken because the process dies: another process's first Read
	// returns it again. Messages that the room knows may be among it: they are recognised by their ids. What cannot be
	// understood is left where it stands and counted.
	Read(ctx context.Context) (News, error)
	// Write brings changes of the room into the files, in order, and returns when they are durable there. What the
	// files say already, because it came from there or was written before a crash, is not written again; what the
	// format has no place for is skipped. News that it comes upon by looking is kept for the next Read. It returns how
	// many of the changes are dealt with, all of them if err is nil. All of them and an error means that a part of the
	// files is in trouble and what is for it waits in State: the next Read goes on with it, and says how it fares.
	Write(ctx context.Context, changes []Change) (int, error)
	// Rejected names what News.Rejected counted at the last Read, with the lines on which it stands now, at most
	// mail.MaxBadLines of it. It changes nothing.
	Rejected() ([]mail.BadLine, error)
	// Watch lists the files and directories in which changes of others show. They need not exist.
	Watch() []string
	// Close closes the files.
	Close() error
}

// Owing is implemented by Files that keep in State what a part of the files cannot take yet.
type Owing interface {
	// Owes returns the place of the first event that Write dealt with so; 0 if there is none.
	Owes() mail.Seq
}

// FilesOptions is what a dialect needs to open its files.
type FilesOptions struct {
	// Dir is the directory that the bridge was given. It exists, unless the protocol's Vanishes says that it may not.
	Dir confined.Dir
	// State is a directory of our own for what the format has no place for. It exists, and is removed with the bridge.
	State string
	// Service is the room as the user sees it. Calls that change the room are seen by this very bridge like any other.
	Service mail.Service
	Bridge  mail.Bridge
	Others  []mail.Bridge // the room's other bridges
	Now     func() time.Time
	Log     *slog.Logger
	Getenv  func(string) string
	// Working, if not nil, is to be called every second or so while a call of Files goes on: one that says nothing for
	// longer is taken to hang.
	Working func()
	// Retention is the room's: what a format that is trimmed keeps.
	RetainAge   time.Duration
	RetainCount int
}

// Change is an event of the room that may have to go into the files.
type Change struct {
	mail.Event
	// Item is the message that a message or receipt event is about, as it stands now: its deliveries are in it. Nil if
	// it is gone.
	Item *mail.Item
}

// News is what others have put into the files.
type News struct {
	// Items are messages with their own ids and times, as Import takes them. Those whose id the room knows are
	// skipped.
	Items []mail.Item
	// Receipts are marks by readers, on messages of Items or of the room. Marks that change nothing are skipped.
	Receipts []mail.Receipt
	// Agents is what the files say of agents.
	Agents []mail.Presence
	// Merged are agents of the files that turned out to be others, who are on the roster: what they had is theirs.
	Merged []Merger
	// Retired are agents who left.
	Retired []mail.Name
	// Erased are messages that were deleted for good.
	Erased []mail.ID
	// Rejected is how many pieces of the files cannot be understood, all together, and Notice what the person should
	// know of that.
	Rejected int
	Notice   string
	// Trouble is what keeps a part of the files, and only that, from being written, "" if nothing does.
	Trouble string
}

// Merger says that an agent is another one.
type Merger struct{ From, Into mail.Name }

// Empty reports whether n says nothing for the room.
func (n *News) Empty() bool {
	return len(n.Items)+len(n.Receipts)+len(n.Agents)+len(n.Merged)+len(n.Retired)+len(n.Erased) == 0
}
