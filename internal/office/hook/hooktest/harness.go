package hooktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"unicode/utf16"

	"pennypost/internal/mail"
)

// Result is the outcome of a hook's process.
type Result struct {
	Out, Err string
	Exit     int
}

// Runner runs a hook: pennypost hook CLIENT EVENT.
type Runner func(client, event, stdin string) Result

// Harness is one running client.
type Harness struct {
	Client  Client
	Run     Runner
	Session string
	Dir     string
	Home    string // the client's own directory; "": one that does not exist
	// Reads is called with each new text in the model's context; nil: no call.
	Reads func(text string)
	// Background runs the hooks that the client does not wait for; nil: they are not installed.
	Background Runner
	// Cap is how many times in a row hooks may keep a turn going; 0: the client's own limit.
	Cap int

	Context []string // hook output shown to the model, in this session and those that it resumed
	Faults  []string // violations of the client's rules by hooks
	Forced  int      // turns that were ended although a hook would have kept them going

	background background
}

// Effect is the effect of a hook on a client.
type Effect struct {
	Context string // the model sees it
	Deny    string // the tool does not run, and the model sees why
	Dropped string // the prompt begins no turn, and the person sees why
	GoOn    string // the turn continues with this text
}

// Start begins or resumes the session.
func (h *Harness) Start(source string) { h.fire(mail.SessionStart, map[string]any{"source": source}) }

// Prompt begins a turn, unless a hook drops the prompt.
func (h *Harness) Prompt(text string) (began bool) {
	return h.fire(mail.TurnStart, map[string]any{"prompt": text}).Dropped == ""
}

// Tool runs a tool, unless a hook denies it.
func (h *Harness) Tool(name, command string) (ran bool) {
	if !h.Before(name, command, nil) {
		return false
	}
	h.After(name, command)
	return true
}

// Before asks whether a tool may run. more are additional members of the input.
func (h *Harness) Before(name, command string, more map[string]any) bool {
	in := h.Client.tool(name, command)
	maps.Copy(in, more)
	return h.fire(mail.BeforeTool, in).Deny == ""
}

// After reports that a tool has run.
func (h *Harness) After(name, command string) { h.fire(mail.AfterTool, h.Client.tool(name, command)) }

// End ends the turn, and returns how many times hooks kept it going.
func (h *Harness) End() (times int) {
	limit := h.Cap
	if limit == 0 {
		limit = h.Client.cap
	}
	for {
		e := h.fire(mail.TurnEnd, h.Client.stop(times))
		if e.GoOn == "" {
			return times
		}
		if times == limit {
			h.Forced++
			return times
		}
		times++
		if h.Client.prompts {
			h.Prompt(e.GoOn)
		}
	}
}

// Exit ends the session.
func (h *Harness) Exit(reason string) {
	if h.Client.event(mail.SessionEnd) != "" {
		h.fire(mail.SessionEnd, map[string]any{"reason": reason})
	}
}

// Fire runs the hook of an event that not every client has.
func (h *Harness) Fire(event string, more map[string]any) Result {
	return h.Run(h.Client.As, event, h.input(event, more))
}

func (h *Harness) fire(m mail.Moment, more map[string]any) Effect {
	event := h.Client.event(m)
	input := h.input(event, more)
	h.leave(m, input)
	r := h.Run(h.Client.As, event, input)
	e, err := h.Client.apply(m, event, r)
	if err != nil {
		h.Faults = append(h.Faults, fmt.Sprintf("%s %s: %v\n%+v", h.Client.Name, event, err, r))
	}
	for _, text := range []string{e.Context, e.Deny, e.GoOn} {
		if text == "" {
			continue
		}
		if n := len(utf16.Encode([]rune(text))); n > h.Client.maxText {
			h.Faults = append(h.Faults, fmt.Sprintf("%s %s: %d characters, and the client takes %d", h.Client.Name,
				event, n, h.Client.maxText))
		}
		h.know(text)
	}
	return e
}

// know shows a text to the model.
func (h *Harness) know(text string) {
	h.Context = append(h.Context, text)
	if h.Reads != nil {
		h.Reads(text)
	}
}

// input is the hook's input.
func (h *Harness) input(event string, more map[string]any) string {
	in := h.Client.base(h, event)
	maps.Copy(in, more)
	b, err := json.Marshal(in)
	if err != nil {
		panic(err) // a test has added a value that JSON cannot encode
	}
	return string(b)
}

// fenced matches the beginning of a fence, whose brackets Gemini CLI escapes.
var fenced = regexp.MustCompile(`(?:<|&lt;)mail-\w+ [^>]*?\bid="([^"]*)"([^>]*?)(?:>|&gt;)`)

// Shown returns the ids of the messages in a text: whole ones, and those only pointed to.
func Shown(text string) (whole, pointed []mail.ID) {
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if regexp.MustCompile(`\bbody="not shown`).MatchString(m[2]) {
			pointed = append(pointed, mail.ID(m[1]))
		} else {
			whole = append(whole, mail.ID(m[1]))
		}
	}
	return whole, pointed
}
