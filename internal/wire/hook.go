package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// WaitEvent is the name under which Claude Code runs the waiting hook (asyncRewake, code.claude.com/docs/en/hooks):
// it runs in the background after a turn, and by ending with status 2 it wakes the session, which is shown its
// standard error.
const WaitEvent = "wait"

// DialogOverEvent is the name under which the process of a hook that waits during a client's dialog reports that the
// client has ended it: the person has answered there.
const DialogOverEvent = "dialog-over"

// MayAsk reports whether an event may be a client's question to its person. Most of their hooks may wait for the
// answer (an elicitation's does not): the post office sends a sign of life each second, and delays a client by less
// than a second if it does not wait.
func MayAsk(event string) bool {
	switch strings.ToLower(event) {
	case "permissionrequest", "elicitation", "permission.asked", "question.asked":
		return true
	}
	return false
}

// Confirmed reports whether an event comes from an extension of ours inside a client, which can say whether the
// client accepted an answer: after the answer it sends a second JSON value on standard input, an AnswerTaken. Without
// one, the client's own dialog was answered first.
func Confirmed(event string) bool { return event == "permission.asked" || event == "question.asked" }

// AnswerTaken is an extension's report about the answer that it received.
type AnswerTaken struct {
	Taken bool `json:"taken"`
}

// MaxHookInput is the most bytes that a client may pass to a hook. Results of tools are included.
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

// hookVariables are the variables of a hook's environment that matter to the post office.
func hookVariables() []string {
	return []string{
		"PENNYPOST_AGENT", "PENNYPOST_ROOM", "CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR",
		"CLAUDE_ENV_FILE", "CLAUDE_CODE_SESSION_ATTENDED", "AI_AGENT", "COPILOT_CLI_BINARY_VERSION",
		"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "TMUX", "TMUX_PANE",
		"HOME", // which commands may abbreviate to ~
	}
}

// Hook is a hook of an agent's client as its process passes it on: the client's input, and the context. The post
// office asks the system which process it is.
type Hook struct {
	Client, Event string   // as in the client's configuration
	Input         []byte   // the JSON object from the client
	Environ       []string // "NAME=value", only the variables that matter
	Dir           string   // working directory
	As, Room      string   // the flags of the command line; empty: not given
	// Program names the program that runs the hook, and Topmost its topmost ancestor of the same name, as package
	// process does. The hook's process finds them: in a container the same program has another name outside.
	Program, Topmost string
}

// Getenv returns a variable of the hook's process, "" if unset.
func (h *Hook) Getenv(name string) string {
	for _, v := range h.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// field is a field of a hook with its own header.
type field struct {
	name  string
	value *string
}

func (h *Hook) fields() []field {
	return []field{{hookDir, &h.Dir}, {hookAs, &h.As}, {hookRoom, &h.Room}, {hookProgram, &h.Program},
		{hookTopmost, &h.Topmost}}
}

// Header returns the parts of h that are not in path and body.
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

// SetHeader reads the fields that Header wrote.
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
			return mail.Errorf(mail.Invalid, "the header %s contains an unexpected variable", hookVariable)
		}
		h.Environ = append(h.Environ, v)
	}
	return nil
}

// HookAnswer is the output for a hook's process.
type HookAnswer struct {
	Out   string `json:"out,omitempty"`   // on standard output, followed by a newline
	Err   string `json:"err,omitempty"`   // on standard error, followed by a newline
	Exit  int    `json:"exit,omitzero"`   // its exit status
	Shell string `json:"shell,omitempty"` // appended to the file of CLAUDE_ENV_FILE
	// Ticket is returned when the client has accepted the output, so that the mail in it is marked; empty: there is
	// nothing to mark.
	Ticket string `json:"ticket,omitempty"`
	Why    string `json:"why,omitempty"` // why the hook is silent, for debugging
	Wait   bool   `json:"wait,omitzero"` // of a waiting hook: no ring yet, ask again
}

// Silence is the output that a client expects from a hook with nothing to say: Codex expects an object when a turn
// ends, Cursor always expects one, and Antigravity CLI is documented to expect one.
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
