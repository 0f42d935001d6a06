package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// WaitEvent is the name under which Claude Code runs the hook that waits (asyncRewake, code.claude.com/docs/en/hooks):
// it runs in the background from the end of a turn on, and by ending with status 2 it wakes the session, which is
// shown what stands on standard error.
const WaitEvent = "wait"

// DialogOverEvent is the name under which the process of a hook that waits beside a client's dialog says that the
// client has ended it: the person has answered there.
const DialogOverEvent = "dialog-over"

// MayAsk reports whether an event may be that a client asks its person. The hook of most of them may wait for the
// answer (an elicitation's does not): the post office shows with a sign of life each second that it is there, and
// keeps a client for less than a second where it does not wait.
func MayAsk(event string) bool {
	switch strings.ToLower(event) {
	case "permissionrequest", "elicitation", "permission.asked", "question.asked":
		return true
	}
	return false
}

// Confirmed reports whether an event is told by an extension of ours inside a client, which can say whether the client
// took an answer: after the answer comes a second JSON value on standard input, an AnswerTaken. Without one, the
// client's own dialog was answered first.
func Confirmed(event string) bool { return event == "permission.asked" || event == "question.asked" }

// AnswerTaken is what an extension says of the answer that it was handed.
type AnswerTaken struct {
	Taken bool `json:"taken"`
}

// MaxHookInput is how much, in bytes, a client may say to a hook. The results of tools are in it.
const MaxHookInput = 16 << 20

// Header names of a hook's call.
const (
	hookVariable = "Pennypost-Hook-Variable" // "NAME=value", percent-encoded; once for each
	hookDir      = "Pennypost-Hook-Dir"
	hookAs       = "Pennypost-Hook-As"
	hookRoom     = "Pennypost-Hook-Room"
	hookProgram  = "Pennypost-Hook-Program"
	hookTopmost  = "Pennypost-Hook-Topmost"
)

// hookVariables are what of a hook's environment matters to the post office.
func hookVariables() []string {
	return []string{
		"PENNYPOST_AGENT", "PENNYPOST_ROOM", "CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR",
		"CLAUDE_ENV_FILE", "CLAUDE_CODE_SESSION_ATTENDED", "AI_AGENT", "COPILOT_CLI_BINARY_VERSION",
		"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "TMUX", "TMUX_PANE",
		"HOME", // which a command may call ~
	}
}

// Hook is a hook of an agent's client as its process hands it over: what the client said, and where. Who the process
// is, the post office asks the system.
type Hook struct {
	Client, Event string   // as they stand in the client's configuration
	Input         []byte   // the JSON object that the client said
	Environ       []string // "NAME=value", of the variables that matter
	Dir           string   // working directory
	As, Room      string   // the flags of the command line; empty: not given
	// Program names the program that runs the hook, and Topmost the one above all of its name, as package process
	// does. They are found by the hook's process: in a container the same program has another name outside.
	Program, Topmost string
}

// Getenv returns a variable of the hook's process, "" without one.
func (h *Hook) Getenv(name string) string {
	for _, v := range h.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// field is one of a hook's that has a header of its own.
type field struct {
	name  string
	value *string
}

func (h *Hook) fields() []field {
	return []field{{hookDir, &h.Dir}, {hookAs, &h.As}, {hookRoom, &h.Room}, {hookProgram, &h.Program},
		{hookTopmost, &h.Topmost}}
}

// Header returns what of h does not go into path and body.
func (h *Hook) Header() http.Header {
	out := make(http.Header)
	for _, f := range h.fields() {
		if *f.value != "" {
			out.Set(f.name, url.QueryEscape(*f.value))
		}
	}
	for _, v := range h.Environ {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(hookVariables(), name) {
			out.Add(hookVariable, url.QueryEscape(v))
		}
	}
	return out
}

// SetHeader reads what Header wrote.
func (h *Hook) SetHeader(from http.Header) error {
	for _, f := range h.fields() {
		var err error
		if *f.value, err = url.QueryUnescape(from.Get(f.name)); err != nil {
			return mail.Errorf(mail.Invalid, "the header %s is not percent-encoded", f.name)
		}
	}
	for _, v := range from.Values(hookVariable) {
		v, err := url.QueryUnescape(v)
		if name, _, _ := strings.Cut(v, "="); err != nil || !slices.Contains(hookVariables(), name) {
			return mail.Errorf(mail.Invalid, "the header %s does not hold a variable that matters here", hookVariable)
		}
		h.Environ = append(h.Environ, v)
	}
	return nil
}

// HookAnswer is what a hook's process is to leave behind.
type HookAnswer struct {
	Out   string `json:"out,omitempty"`   // on standard output, and then a newline
	Err   string `json:"err,omitempty"`   // on standard error, and then a newline
	Exit  int    `json:"exit,omitzero"`   // its exit status
	Shell string `json:"shell,omitempty"` // appended to the file of CLAUDE_ENV_FILE
	// Ticket is handed back when the client has taken the output, so that what was told is marked; empty: nothing is
	// to be marked.
	Ticket string `json:"ticket,omitempty"`
	Why    string `json:"why,omitempty"` // why the hook is silent, for people who look for a fault
	Wait   bool   `json:"wait,omitzero"` // of a hook that waits: nobody has rung yet, ask again
}

// Silence is the output that a client expects from a hook that has nothing to say: Codex expects an object when a turn
// ends, Cursor always expects one, and Antigravity CLI is documented to be given one.
func Silence(client, event string) string {
	event = strings.ToLower(event)
	switch {
	case client == "cursor" && event == "beforesubmitprompt":
		return `{"continue":true}`
	case client == "cursor", client == "agy", client == "codex" && event == "stop":
		return "{}"
	}
	return ""
}
