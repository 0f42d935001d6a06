package hook

import (
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// Client is how one program talks to its hooks. Its functions are pure, except look.
type Client struct {
	Name string
	// Editor says that the program runs many sessions, in several processes of the same name.
	Editor bool
	// Many says that one of its processes may run several sessions, which its hooks distinguish.
	Many bool
	// reloads says that a running session picks up newly installed hooks, but not newly installed tools.
	reloads bool
	// waits says that a hook may wait beside an idle session and wakes it by exiting: Call.Wait.
	waits bool
	// read turns a hook's input into an Event.
	read func(typed string, in input) Event
	// look adds facts to an event that the program only writes into the session's transcript; nil: there are none.
	look func(e *Event)
	// recall reads the transcript of the conversation; nil: there is none, or it does not hold hook output.
	recall recall
	// answer puts speech into the program's format.
	answer func(e *Event, s speech) Answer
	// decide answers the dialog that an event opened; nil: the program accepts no answers from its hooks.
	decide func(e *Event, in input, a *mail.DialogAnswer) string
}

// Answer is the output of a hook's process.
type Answer struct {
	Out, Err string
	Exit     int
	// Shell is a line for the file that the client runs before each command in the session's shell; "": none.
	Shell string
}

// speech is an utterance for the model or the person.
type speech struct {
	kind  speechKind
	text  string
	agent mail.Name // its recipient; "": not known
}

type speechKind int

const (
	silence speechKind = iota
	tell               // text informs the model
	goOn               // the turn continues with text
	forbid             // the tool must not run; text says why
	drop               // the prompt must not begin a turn; text says why
	inform             // text is for the person only
)

// Clients returns the clients whose hooks we understand.
func Clients() []Client {
	return []Client{claude(), vscode(), codex(), gemini(), agy(), qwen(), cursor(), copilot(), opencode(), pi()}
}

// FindClient returns the client with a name.
func FindClient(name string) (Client, bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// object encodes a JSON object. Its texts are already fenced and valid UTF-8.
func object(v any) string {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// specific is the event-specific output of Claude Code and of clients that copy it.
type specific struct {
	Event    string `json:"hookEventName"`
	Context  string `json:"additionalContext,omitempty"`
	Decision string `json:"decision,omitempty"`
	Reason   string `json:"reason,omitempty"`
	May      string `json:"permissionDecision,omitempty"`
	Why      string `json:"permissionDecisionReason,omitempty"`
}

func (s specific) String() string {
	return object(struct {
		Output specific `json:"hookSpecificOutput"`
	}{s})
}

// verdict is a decision at the top level of an answer.
type verdict struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

func (v verdict) String() string { return object(v) }

// isRing reports whether a prompt came from one of our doors: see package wake.
func isRing(in input) bool { return fence.IsRing(in.text("prompt")) }

// notBefore reports whether a version is first or later. It is false for an unknown version.
func notBefore(version string, first ...int) bool {
	v := make([]int, 3)
	n, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	return n == len(v) && err == nil && slices.Compare(v, first) >= 0
}

// ourPrompt reports whether a prompt is our own text that kept a turn going. Some clients hand it to their hooks
// again as if it had been typed. It begins no new turn.
func ourPrompt(in input) bool { return strings.HasPrefix(in.text("prompt"), greeting) }
