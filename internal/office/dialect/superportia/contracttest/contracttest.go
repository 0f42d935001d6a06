// Package contracttest tests every server of the superportia dialect against one contract: in process, over stdio,
// over HTTP.
//
// The cases are in contract.json. Each runs in a room of its own with the identities in identities.json. A step is
// one tool call by an identity and its result: "want", the whole answer, or "error", words that the error contains.
// In answers a string that begins with "@" stands for an unpredictable value:
//
//	@id:x   a message id of the dialect's form: the first x names it, later ones are the same
//	@time   a time in whole seconds of UTC
//
// In arguments "@id:x" is the id with that name; "@bytes:4097" is a text of that many bytes.
package contracttest

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
)

// Session is one connection to the endpoint as one identity.
type Session interface {
	// Tools returns the names of the tools.
	Tools() ([]string, error)
	// Call calls a tool with a JSON object and returns its answer, which is JSON. If the tool refuses, the error has
	// the text that the model gets.
	Call(tool string, args []byte) ([]byte, error)
}

// Connect opens a session as an identity. The maker of Connect closes it at the end of the test.
type Connect func(t *testing.T, identity string) Session

// Office makes a room, loads identities (a file for "identities load") into it, and returns a Connect for it.
type Office func(t *testing.T, identities []byte) Connect

//go:embed contract.json
var contractFile []byte

//go:embed identities.json
var identitiesFile []byte

type testCase struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

type step struct {
	As    string         `json:"as"`
	Call  string         `json:"call"`
	Times int            `json:"times"` // 0: once
	Args  map[string]any `json:"args"`
	Want  map[string]any `json:"want"`
	Count map[string]int `json:"count"` // only these members: a number, or the length of a list
	Error []string       `json:"error"`
}

// Run runs the contract.
func Run(t *testing.T, open Office) {
	var cases []testCase
	if err := jsonx.UnmarshalStrict(contractFile, &cases); err != nil {
		t.Fatal(err)
	}
	t.Run("SP-01 the tools", func(t *testing.T) {
		got, err := open(t, identitiesFile)(t, "Mac CLI 小克").Tools()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"agent_heartbeat", "archive_message", "check_agent_mailbox", "mark_message",
			"send_agent_message"}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			p := player{connect: open(t, identitiesFile), sessions: make(map[string]Session),
				ids: make(map[string]string)}
			for i, s := range c.Steps {
				for range max(1, s.Times) {
					if err := p.play(t, s); err != nil {
						t.Fatalf("step %d: %s as %s: %v", i+1, s.Call, s.As, err)
					}
				}
			}
		})
	}
}

// player runs the steps of one case.
type player struct {
	connect  Connect
	sessions map[string]Session
	ids      map[string]string // message ids by their names in the case
}

func (p *player) play(t *testing.T, s step) error {
	if p.sessions[s.As] == nil {
		p.sessions[s.As] = p.connect(t, s.As)
	}
	args, err := jsonx.Marshal(p.fill(s.Args))
	if err != nil {
		return err
	}
	answer, err := p.sessions[s.As].Call(s.Call, args)
	if len(s.Error) > 0 {
		return refused(s.Error, answer, err)
	}
	if err != nil {
		return err
	}
	var got map[string]any
	if err := jsonx.Unmarshal(answer, &got); err != nil {
		return fmt.Errorf("the answer %s: %w", answer, err)
	}
	for member, want := range s.Count {
		if n := size(got[member]); n != want {
			return fmt.Errorf("%s = %d, want %d", member, n, want)
		}
	}
	if s.Want == nil {
		return nil
	}
	if diff := cmp.Diff(p.bind(s.Want, got), any(got)); diff != "" {
		return fmt.Errorf("the answer (-want +got):\n%s", diff)
	}
	return nil
}

// refused checks that a call failed with all the expected words.
func refused(words []string, answer []byte, err error) error {
	if err == nil {
		return fmt.Errorf("it was answered with %s; an error with %q is wanted", answer, words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return fmt.Errorf("the error is %q; %q is wanted in it", err, w)
		}
	}
	return nil
}

func size(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case []any:
		return len(v)
	}
	return -1
}

// fill replaces placeholders in arguments.
func (p *player) fill(args map[string]any) map[string]any {
	out := maps.Clone(args)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range out {
		text, _ := v.(string)
		if id, ok := p.ids[text]; ok {
			out[k] = id
		}
		if n, ok := strings.CutPrefix(text, "@bytes:"); ok {
			count, _ := strconv.Atoi(n)
			out[k] = strings.Repeat("克", count/3) + strings.Repeat("x", count%3)
		}
	}
	return out
}

var (
	idForm   = regexp.MustCompile(`^msg-[0-9a-f]{12}$`)
	timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
)

// bind returns want with each placeholder replaced by got's value, if that is acceptable.
func (p *player) bind(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		members, _ := got.(map[string]any)
		out := make(map[string]any, len(want))
		for k, v := range want {
			out[k] = p.bind(v, members[k])
		}
		return out
	case []any:
		list, _ := got.([]any)
		out := make([]any, len(want))
		for i, v := range want {
			var g any
			if i < len(list) {
				g = list[i]
			}
			out[i] = p.bind(v, g)
		}
		return out
	case string:
		return p.bindText(want, got)
	}
	return want
}

func (p *player) bindText(want string, got any) any {
	text, _ := got.(string)
	switch {
	case want == "@time" && timeForm.MatchString(text):
		return text
	case !strings.HasPrefix(want, "@id:"):
		return want
	case p.ids[want] == "" && idForm.MatchString(text):
		p.ids[want] = text
	}
	if id := p.ids[want]; id != "" {
		return id
	}
	return want
}
