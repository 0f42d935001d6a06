package hook

import (
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Event is what a client says at a moment of a session.
type Event struct {
	Client  string
	Name    string      // of the event, as the client spells it
	Moment  mail.Moment // "": nobody needs to know
	Session Session
	Tool    string // that is, or was, to be used
	ToolUse string // the id of its use, which an MCP server may be told too
	Worker  string // the subagent to which it happened, as the client calls it; "": to none
	// of agent that the session or the subagent is; of a teammate in one process with its lead: its name
	Kind string

	Input jsonx.Value // what the tool is given
	Asks  *Asked      // the dialog that opens; nil: none does
	// Given says that the client has ended the hook that waited beside a dialog: its person has answered that.
	Given      bool
	Outcome    mail.DialogOutcome // of the dialog that is Given, if the client says; "": it does not
	LeftWorker bool               // the subagent has come to its end
	Untold     bool               // the client asks its person, and does not say what
	// sumBy hashes the tool and what it is given, where the client does not write that alike each time; nil: it does.
	sumBy func(tool string, given jsonx.Value) string
	// noted is given the last use of a tool that the client has told of, and says what it asks then; nil: it does not
	// ask, or has said all.
	noted func(e *Event, tool, use string, given jsonx.Value)

	// which messages the client still has in the conversation; nil: it does not say, and its transcript may tell
	Held map[mail.ID]bool

	Carries   bool // text that answers the event reaches the model
	Sub       bool // it happened to a subagent
	Own       bool // the tool is one of Pennypost's
	Served    bool // the program that runs the hook serves several windows: Call.Window
	Ring      bool // the prompt is what a door of ours says
	Frozen    bool // the session ends, and can be resumed
	Over      bool // the turn has ended, whatever a hook says; of a turn's start: the one before has
	Within    bool // the prompt goes into the turn that runs
	Begins    bool // of a session's start: the client's program may have just begun
	Compacted bool // the session goes on with a summary of what it was
}

// proves reports whether the model has answered before e, so that what was told earlier was in a request: it wants to
// use a tool, or its turn has come to its end.
func (e *Event) proves() bool {
	return !e.Sub && (e.Moment == mail.BeforeTool || e.Moment == mail.TurnEnd && !e.Over)
}

// Session is what a client says of a session. Its socket and token are keys to it: they are for doors of this machine,
// and go into no journal and no log.
type Session struct {
	ID      string
	Dir     string // the project's, as an absolute path
	Version string // of the client
	Process string // the running program, as package process names it
	Window  string // the one in which the person sits, where several of them share Process; "": it is not known
	Socket  string // where the session takes messages
	Token   Secret // and what it wants to see first
	Mode    string // of its permissions
	Script  string // the file in which the client keeps its transcript
	Tmux    string // under which server of tmux it runs
	Pane    string // and where there
	Home    string // the client's own directory, where sessions tell it
}

// access is what doors want to know.
func (s *Session) access() *mail.Access {
	return &mail.Access{Dir: s.Dir, Version: s.Version, Mode: s.Mode, Socket: s.Socket, Token: string(s.Token),
		Tmux: s.Tmux, Pane: s.Pane, Home: s.Home, Transcript: s.Script,
		Window: s.Window}
}

// Secret is text that does not print.
type Secret string

// String does not tell.
func (Secret) String() string { return "(secret)" }

// GoString does not tell.
func (Secret) GoString() string { return "(secret)" }

// input is the JSON object that a client hands to its hook, as far as we read it.
type input map[string]jsonx.Value

// members are the names of what is read, in all the spellings that clients have: Claude's hooks are run by others too.
func members() []string {
	return []string{
		"hook_event_name", "hookEventName", "session_id", "sessionId", "conversation_id", "cwd", "workspace_roots",
		"agent_id", "agentId", "parent_agent_id", "parentAgentId", "agent_type", "tool_use_id",
		"tool_name", "toolName", "tool_input", "toolInput", "toolArgs", "command",
		"source", "reason", "prompt", "timestamp", "notification_type", "notificationType",
		"status", "is_interrupt", "recoverable", "busy", "error", "aborted", "cursor_version", "permission_mode",
		"permissionMode", "transcript_path",
		"tool_response", "prompt_response", "conversation", "permission_suggestions", "mcp_server", "mcp_server_name",
		"message", "mode", "requested_schema", "details", "dialog", "reply",
		"conversationId", "workspacePaths", "invocationNum",
	}
}

// text returns the first of the members that is a string and not empty.
func (in input) text(names ...string) string {
	for _, name := range names {
		var s string
		if jsonx.UnmarshalLenient(in[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// isFalse reports whether a member is there and false.
func (in input) isFalse(name string) bool { return string(in[name]) == "false" }

// isTrue reports whether a member is true.
func (in input) isTrue(name string) bool { return string(in[name]) == "true" }

// moments are what the events of a client are, by their names in lower case. Nobody needs to know of other events.
type moments map[string]moment

// moment is what an event is, unless it says more of itself.
type moment struct {
	is   mail.Moment
	with effect
}

// effect is what there is to know of a moment, or-ed together.
type effect int

const (
	carries effect = 1 << iota // Event.Carries
	over                       // Event.Over
	again                      // a prompt that we said to keep a turn going comes to it again, and begins no turn
)

// event returns what all clients have in common. typed is the event's name as it stands in the client's configuration;
// what the client itself says counts more. frozen are the reasons of a session's end by which a person put it aside.
func (in input) event(client, typed string, all moments, frozen ...string) Event {
	e := Event{Client: client, Name: typed}
	if name := in.text("hook_event_name", "hookEventName"); name != "" {
		e.Name = name
	}
	m := all[e.kind()]
	e.Moment, e.Carries, e.Over = m.is, m.with&carries != 0, m.with&over != 0
	if m.with&again != 0 && ourPrompt(in) {
		e.Moment = mail.AfterTool
	}
	e.Frozen = e.Moment == mail.SessionEnd && slices.Contains(frozen, in.text("reason"))
	e.Session.ID = in.text("session_id", "sessionId", "conversation_id", "conversationId")
	e.Session.Dir = in.text("cwd")
	for _, name := range []string{"workspace_roots", "workspacePaths"} {
		var roots []string
		if jsonx.UnmarshalLenient(in[name], &roots) == nil && len(roots) > 0 {
			e.Session.Dir = roots[0]
		}
	}
	e.Session.Version = in.text("cursor_version")
	e.Session.Script = in.text("transcript_path")
	e.Session.Mode = in.text("permission_mode", "permissionMode")
	e.Worker, e.Kind = in.text("agent_id", "agentId"), in.text("agent_type")
	e.Sub, e.ToolUse = e.Worker != "", in.text("tool_use_id")
	e.Tool = in.text("tool_name", "toolName")
	e.Input = in.given()
	e.Own = ownTool(e.Tool, in.command())
	e.Given = typed == wire.DialogOverEvent
	return e
}

// given returns what a tool is, or was, given. Some clients wrap the object in a string.
func (in input) given() jsonx.Value {
	for _, name := range []string{"tool_input", "toolInput", "toolArgs"} {
		raw := in[name]
		var quoted string
		if jsonx.UnmarshalLenient(raw, &quoted) == nil {
			raw = jsonx.Value(quoted)
		}
		if len(raw) > 0 {
			return raw
		}
	}
	return nil
}

// kind is the event's name without the case of its letters, which clients change.
func (e *Event) kind() string { return strings.ToLower(e.Name) }

// command returns the command line that a tool is to run.
func (in input) command() string {
	if s := in.text("command"); s != "" {
		return s
	}
	var args struct {
		Command string `json:"command"`
	}
	_ = jsonx.UnmarshalLenient(in.given(), &args)
	return args.Command
}

// ownTool reports whether a tool is Pennypost's own: an MCP tool of a server of that name, however the client spells
// it, or a single command. Nobody is kept from these: it is how an agent reads the order to stop, and says that it
// has.
func ownTool(name, command string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "pennypost") || strings.HasPrefix(name, "mcp") && strings.Contains(name, "pennypost") {
		return true
	}
	word, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	word = strings.TrimSuffix(word[strings.LastIndexAny(word, `/\`)+1:], ".exe")
	return word == "pennypost" && !strings.ContainsAny(command, "\n\r;&|<>`$(){}")
}
