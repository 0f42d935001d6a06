package hook

import (
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// Client is how one program speaks with its hooks. Its functions are pure, except look.
type Client struct {
	Name string
	// Editor says that the program runs many sessions, in many processes of one name.
	Editor bool
	// Many says that one of its processes may run several sessions, which its hooks tell apart.
	Many bool
	// reloads says that it runs hooks that were set up while it ran. The tools it has only if they were there before.
	reloads bool
	// waits says that a hook may wait beside an idle session, which its end wakes: Call.Wait.
	waits bool
	// read turns what the program says into an Event.
	read func(typed string, in input) Event
	// look adds to an event what the program writes into the transcript of the session only; nil: nothing.
	look func(e *Event)
	// recall reads the transcript of the conversation; nil: there is none, or it does not tell.
	recall recall
	// answer says something in the program's words.
	answer func(e *Event, s speech) Answer
	// decide answers the dialog that an event has opened; nil: the program takes no answers from its hooks.
	decide func(e *Event, in input, a *mail.DialogAnswer) string
}

// Answer is what a hook's process leaves behind.
type Answer struct {
	Out, Err string
	Exit     int
	// Shell is a line for the file that the client runs before each command of the session's shell; "": none.
	Shell string
}

// speech is what is to be said to the model.
type speech struct {
	kind  speechKind
	text  string
	agent mail.Name // to whom; "": nobody knows
}

type speechKind int

const (
	silence speechKind = iota
	tell               // text is for the model to know
	goOn               // the turn goes on, with text
	forbid             // the tool must not run, because of text
	drop               // the prompt must not begin a turn, because of text
	inform             // text is for the person alone
)

// Clients returns the clients whose hooks are understood.
func Clients() []Client {
	return []Client{claude(), vscode(), codex(), gemini(), agy(), qwen(), cursor(), copilot(), opencode(), pi()}
}

// FindClient returns the client of a name.
func FindClient(name string) (Client, bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// object writes one JSON object. The texts in it were made harmless before and are UTF-8.
func object(v any) string {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// specific is how Claude Code, and those that follow it, have what concerns one event.
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

// verdict is a decision at the top of an answer.
type verdict struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

func (v verdict) String() string { return object(v) }

// isRing reports whether a prompt is what a door of ours says: see package wake.
func isRing(in input) bool { return fence.IsRing(in.text("prompt")) }

// notBefore reports whether a version is first or a later one. Of one that is not known it is not.
func notBefore(version string, first ...int) bool {
	v := make([]int, 3)
	n, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	return n == len(v) && err == nil && slices.Compare(v, first) >= 0
}

// ourPrompt reports whether a prompt is what we said to keep a turn going, which some clients hand to their hooks
// again as if somebody had typed it. No new turn begins with it.
func ourPrompt(in input) bool { return strings.HasPrefix(in.text("prompt"), greeting) }
