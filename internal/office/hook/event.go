package hook

import (
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Event is a client's report of a moment of a session.
type Event struct {
	Client  string
	Name    string      // the event's name, as the client spells it
	Moment  mail.Moment // "": the room is not told
	Session Session
	Tool    string // the tool that is about to be used, or was
	ToolUse string // the id of the tool call, which an MCP server may be told too
	Worker  string // the subagent that the event is about, as the client names it; "": the session itself
	// Kind is the type of agent of the session or subagent; for a teammate in its lead's process, the teammate's
	// name.
	Kind string

	Input jsonx.Value // the tool's input
	Asks  *Asked      // the dialog that opens; nil: none does
	// Given says that the client ended the hook that waited beside a dialog because its person had answered.
	Given      bool
	Outcome    mail.DialogOutcome // how the dialog that is Given ended; "": the client does not say
	LeftWorker bool               // the subagent has ended
	Untold     bool               // the client asks its person about something that it does not name
	// sumBy hashes a tool and its input for a client that writes them differently each time; nil: sumOf does.
	sumBy func(tool string, given jsonx.Value) string
	// noted is given the last tool call that the client reported, and completes the dialog with it; nil: there is no
	// dialog, or it is complete.
	noted func(e *Event, tool, use string, given jsonx.Value)

	// Held are the messages that the client still has in the conversation; nil: its transcript may tell.
	Held map[mail.ID]bool

	Carries   bool // text in the answer reaches the model
	Sub       bool // the event is about a subagent
	Own       bool // the tool is one of Pennypost's
	Served    bool // the program that runs the hook serves several windows: Call.Window
	Ring      bool // the prompt came from one of our doors
	Frozen    bool // the session ends, and can be resumed
	Over      bool // the turn has ended, whatever a hook says; at a turn's start: the turn before has
	Within    bool // the prompt joins the running turn
	Begins    bool // at a session's start: the client's program may have just started
	Compacted bool // the session continues with a summary of its past
}

// proves reports whether the model has answered before e, so that text told earlier was in a request: it is about to
// use a tool, or its turn has ended.
func (e *Event) proves() bool {
	return !e.Sub && (e.Moment == mail.BeforeTool || e.Moment == mail.TurnEnd && !e.Over)
}

// Session has the facts that a client gives about a session. Its socket and token are credentials: they are for doors
// of this machine, and must not enter a journal or log.
type Session struct {
	ID      string
	Dir     string // the project's directory, as an absolute path
	Version string // the client's version
	Process string // the running program, as package process names it
	Window  string // the window of the person, if several windows share Process; "": not known
	Socket  string // the socket on which the session takes messages
	Token   Secret // the token that it expects first
	Mode    string // the permission mode
	Script  string // the client's transcript file
	Tmux    string // the tmux server that it runs in
	Pane    string // the pane there
	Home    string // the client's own directory, if known
}

// access returns the facts that doors need.
func (s *Session) access() *mail.Access {
	return &mail.Access{Dir: s.Dir, Version: s.Version, Mode: s.Mode, Socket: s.Socket, Token: string(s.Token),
		Tmux: s.Tmux, Pane: s.Pane, Home: s.Home, Transcript: s.Script,
		Window: s.Window}
}

// Secret is text that does not print itself.
type Secret string

// String hides the secret.
func (Secret) String() string { return "(secret)" }

// GoString hides the secret.
func (Secret) GoString() string { return "(secret)" }

// input is the JSON object that a client passes to its hook, limited to the members that we read.
type input map[string]jsonx.Value

// members are the names that we read, in the spellings of all clients: Claude's hooks are run by others too.
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

// text returns the first of the members that is a non-empty string.
func (in input) text(names ...string) string {
	for _, name := range names {
		var s string
		if jsonx.UnmarshalLenient(in[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// isFalse reports whether a member is present and false.
func (in input) isFalse(name string) bool { return string(in[name]) == "false" }

// isTrue reports whether a member is true.
func (in input) isTrue(name string) bool { return string(in[name]) == "true" }

// moments maps the events of a client, by lower-case name, to moments. Other events are ignored.
type moments map[string]moment

// moment is the meaning of an event, unless its input says more.
type moment struct {
	is   mail.Moment
	with effect
}

// effect is a set of flags of a moment.
type effect int

const (
	carries effect = 1 << iota // Event.Carries
	over                       // Event.Over
	again                      // our own prompt that kept a turn going is reported again, and begins no turn
)

// event returns the fields that all clients share. typed is the event's name in the client's configuration; the name
// in the input takes precedence. frozen are the reasons for which a person ended the session to resume it later.
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

// given returns the input of a tool. Some clients wrap the object in a string.
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

// kind is the event's name in lower case; clients vary the case.
func (e *Event) kind() string { return strings.ToLower(e.Name) }

// command returns the command line that a tool runs.
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
// it, or a single command. These are never denied: with them an agent reads the order to stop, and confirms it.
func ownTool(name, command string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "pennypost") || strings.HasPrefix(name, "mcp") && strings.Contains(name, "pennypost") {
		return true
	}
	word, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	word = strings.TrimSuffix(word[strings.LastIndexAny(word, `/\`)+1:], ".exe")
	return word == "pennypost" && !strings.ContainsAny(command, "\n\r;&|<>`$(){}")
}
