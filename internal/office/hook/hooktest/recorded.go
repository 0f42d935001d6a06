package hooktest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// recordings are the hook inputs of real clients in a session of one turn, each event and each tool once, with
// placeholders for values that differ between sessions. internal/realclient writes the file (TestRecord).
//
//go:embed recorded.jsonl
var recordings string

// Recorded is the input of one hook of a real client.
type Recorded struct {
	Client  string          `json:"client"`
	Event   string          `json:"event"`
	Environ []string        `json:"environ"`
	Input   json.RawMessage `json:"input"`
}

// Tape is the recording of a client. Moments without a hook are nil.
type Tape struct {
	Client Client
	At     map[mail.Moment]*Recorded // except tools
	Tools  []Tool
}

// Tool is a recorded tool call.
type Tool struct {
	Name   string
	Before *Recorded
	After  *Recorded // nil: no hook reported its end
}

// Shell reports whether the tool runs the scene's command. Other tools get its file.
func (t *Tool) Shell() bool { return strings.Contains(string(t.Before.Input), "$COMMAND") }

// Scene has the values of the placeholders.
type Scene struct {
	Session, Dir, Home string
	Prompt             string
	Command, File      string // the tool's
	Use                string // the id of the tool call
}

// Tapes returns the recordings of all clients.
func Tapes() (tapes []Tape, err error) {
	for _, c := range Clients() {
		tape := Tape{Client: c, At: map[mail.Moment]*Recorded{}}
		for line := range strings.Lines(recordings) {
			r := &Recorded{}
			if err := json.Unmarshal([]byte(line), r); err != nil {
				return nil, fmt.Errorf("recorded.jsonl: %w", err)
			}
			if r.Client != c.Name {
				continue
			}
			if err := tape.add(r); err != nil {
				return nil, err
			}
		}
		if len(tape.At) > 0 {
			tapes = append(tapes, tape)
		}
	}
	return tapes, nil
}

func (t *Tape) add(r *Recorded) error {
	var in struct {
		Tool      string `json:"tool_name"`
		CamelTool string `json:"toolName"`
	}
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return fmt.Errorf("recorded.jsonl: %s %s: %w", r.Client, r.Event, err)
	}
	switch m := t.Client.moment(r.Event); m {
	case "":
	case mail.BeforeTool:
		t.Tools = append(t.Tools, Tool{Name: in.Tool + in.CamelTool, Before: r})
	case mail.AfterTool: // of the tool before it
		if n := len(t.Tools); n > 0 && in.Tool+in.CamelTool == t.Tools[n-1].Name {
			t.Tools[n-1].After = r
		}
	default:
		t.At[m] = r
	}
	return nil
}

// moment returns the moment of a client's event; "": one that tests do not use.
func (c *Client) moment(event string) mail.Moment {
	for _, m := range slices.Sorted(maps.Keys(c.events)) {
		if c.events[m] == event {
			return m
		}
	}
	return ""
}

// Play runs a hook with a recorded input, in a scene, and returns the effect of the output on the client. An error
// names the violated rule of the client.
func (t *Tape) Play(r *Recorded, s *Scene, run func(*wire.Hook) Result) (Effect, error) {
	pairs := []string{"$PROMPT", s.Prompt, "$COMMAND", s.Command, "$FILE", s.File, "$DIR", s.Dir, "$SLUG", "project",
		"$HOME", s.Home, "$LAB", s.Home, "$SESSION", s.Session, "$USE", s.Use}
	plain := strings.NewReplacer(pairs...)
	for i := 1; i < len(pairs); i += 2 {
		quoted, err := json.Marshal(pairs[i])
		if err != nil {
			return Effect{}, err
		}
		pairs[i] = string(quoted[1 : len(quoted)-1])
	}
	h := &wire.Hook{Client: r.Client, Event: r.Event, Dir: s.Dir,
		Input: []byte(strings.NewReplacer(pairs...).Replace(string(r.Input)))}
	for _, v := range r.Environ {
		h.Environ = append(h.Environ, plain.Replace(v))
	}
	m := t.Client.moment(r.Event)
	return t.Client.apply(m, r.Event, run(h))
}

// End ends the turn, and reports whether hooks keep it going. If so, the client continues by itself.
func (t *Tape) End(s *Scene, run func(*wire.Hook) Result) (goesOn bool, err error) {
	e, err := t.Play(t.At[mail.TurnEnd], s, run)
	if err != nil || e.GoOn == "" || !t.Client.prompts {
		return e.GoOn != "", err
	}
	prompt := *s
	prompt.Prompt = e.GoOn
	_, err = t.Play(t.At[mail.TurnStart], &prompt, run)
	return true, err
}
