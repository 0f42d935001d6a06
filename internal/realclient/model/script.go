package model

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// step is one answer of the model.
type step struct {
	delay time.Duration
	holds []string
	verb  string // say, tool, sh or fail
	arg   string // text to say, tool name, command, or status
	input json.RawMessage
}

// directives are the verbs that a script may use.
var directives = []string{"say", "tool", "sh", "sleep", "hold", "fail"}

// parseScript returns the steps in a text.
func parseScript(text string) []step {
	var steps []step
	var next step
	for {
		_, rest, found := strings.Cut(text, "[[")
		if !found {
			return steps
		}
		verb, arg, rest := directive(rest)
		text = rest
		switch verb {
		case "":
			continue
		case "sleep":
			seconds, _ := strconv.ParseFloat(arg, 64)
			next.delay += time.Duration(seconds * float64(time.Second))
			continue
		case "hold":
			next.holds = append(next.holds, arg)
			continue
		case "tool":
			name, input, _ := strings.Cut(arg, " ")
			next.arg, next.input = name, json.RawMessage(input)
		default:
			next.arg = arg
		}
		next.verb = verb
		steps = append(steps, next)
		next = step{}
	}
}

// directive parses one directive after its brackets, and returns the rest of the text. It parses a tool's input as
// JSON, so that the input may itself contain directives, for a subagent.
func directive(text string) (verb, arg, rest string) {
	end := strings.IndexAny(text, " ]")
	if end < 0 || !slices.Contains(directives, text[:end]) {
		return "", "", text
	}
	verb = text[:end]
	behind := strings.TrimLeft(text[end:], " ")
	if name, input, ok := strings.Cut(behind, " "); ok && verb == "tool" && strings.HasPrefix(input, "{") {
		var value json.RawMessage
		if err := json.NewDecoder(strings.NewReader(input)).Decode(&value); err == nil {
			_, rest, _ = strings.Cut(input[len(value):], "]]")
			return verb, name + " " + string(value), rest
		}
	}
	arg, rest, ok := strings.Cut(behind, "]]")
	if !ok {
		return "", "", text
	}
	return verb, strings.TrimSpace(arg), rest
}

// next returns the model's next step, and the text of its script, or "" without a script.
func (r *Request) next(broken map[string]bool) (step, string) {
	done := 0
	for _, p := range slices.Backward(r.Parts) {
		switch p.Role {
		case Assistant:
			done++
		case User:
			steps := parseScript(p.Text)
			switch {
			case len(steps) == 0:
				continue
			case broken[p.Text] || done >= len(steps):
				return step{verb: "say", arg: "ok"}, ""
			}
			return steps[done], p.Text
		}
	}
	return r.noticed(), ""
}

// noticed returns the model's next step when no one has given it a script and the post office has told it of mail: it
// reads the mail, and follows the script there.
func (r *Request) noticed() step {
	done, results := 0, ""
	for _, p := range slices.Backward(r.Parts) {
		switch {
		case p.Role == Assistant:
			done++
		case p.Role == Result:
			results = p.Text + results
		case p.Role == User && strings.Contains(p.Text, "Notice from the post office"):
			steps := append([]step{{verb: "tool", arg: "read_messages"}}, parseScript(results)...)
			if done < len(steps) {
				return steps[done]
			}
			return step{verb: "say", arg: "ok"}
		}
	}
	return step{verb: "say", arg: "ok"}
}

// call is a model's use of a tool.
type call struct {
	space string // the namespace of the tool, where the protocol has them
	name  string
	input json.RawMessage
}

// calls returns the tool call of a step, or nil if it has none.
func (r *Request) calls(s step) *call {
	switch s.verb {
	case "tool":
		tool := r.tool(s.arg)
		return &call{tool.space, tool.Name, r.complete(tool, s.input)}
	case "sh":
		for _, name := range []string{"Bash", "exec_command", "shell_command", "run_shell_command", "bash", "shell",
			"run_commands", "execute_command", "local_shell"} {
			if tool := r.tool(name); tool.Schema != nil {
				return &call{tool.space, tool.Name, r.complete(tool, tool.command(s.arg))}
			}
		}
		return &call{"", "Bash", mustJSON(map[string]string{"command": s.arg})}
	}
	return nil
}

// tool finds a tool by its name or the end of it. A tool that is not offered is called by the given name, as a model
// may do.
func (r *Request) tool(name string) Tool {
	for _, fits := range []func(Tool) bool{
		func(t Tool) bool { return t.Name == name },
		func(t Tool) bool { return strings.HasSuffix(t.Name, name) },
	} {
		if i := slices.IndexFunc(r.Tools, fits); i >= 0 {
			return r.Tools[i]
		}
	}
	return Tool{Name: name}
}

// command returns the input that makes a shell tool run a command.
func (t Tool) command(line string) json.RawMessage {
	for _, name := range []string{"cmd", "command", "commands"} {
		switch kind, _ := t.property(name)["type"].(string); {
		case t.property(name) == nil:
			continue
		case kind == "array" && name == "command":
			return mustJSON(map[string]any{name: []string{"bash", "-lc", line}})
		case kind == "array":
			return mustJSON(map[string]any{name: []string{line}})
		default:
			return mustJSON(map[string]any{name: line})
		}
	}
	return mustJSON(map[string]any{"command": line})
}

func (t Tool) property(name string) map[string]any {
	properties, _ := t.Schema["properties"].(map[string]any)
	p, _ := properties[name].(map[string]any)
	return p
}

// quoted matches a script's quotation from the conversation.
var quoted = regexp.MustCompile(`\{\{(.+?)\}\}`)

// complete replaces quotations in an input, and adds the input that the tool requires.
func (r *Request) complete(t Tool, raw json.RawMessage) json.RawMessage {
	input := map[string]any{}
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &input) // the client's error reports a wrong script
	}
	input, _ = r.quote(input).(map[string]any)
	required, _ := t.Schema["required"].([]any)
	for _, name := range required {
		name, _ := name.(string)
		if _, ok := input[name]; ok {
			continue
		}
		switch t.property(name)["type"] {
		case "boolean":
			input[name] = false
		case "number", "integer":
			input[name] = 1
		case "array":
			input[name] = []any{}
		default:
			input[name] = "scripted"
		}
	}
	return mustJSON(input)
}

// quote replaces patterns in all strings of a value.
func (r *Request) quote(v any) any {
	switch v := v.(type) {
	case string:
		return quoted.ReplaceAllStringFunc(v, func(s string) string {
			pattern, err := regexp.Compile(s[2 : len(s)-2])
			if err != nil {
				return s
			}
			found := pattern.FindAllStringSubmatch(r.Text(), -1)
			if len(found) == 0 {
				return s
			}
			last := found[len(found)-1]
			return last[len(last)-1]
		})
	case []any:
		for i := range v {
			v[i] = r.quote(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = r.quote(v[k])
		}
	}
	return v
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: this package made the value
	}
	return b
}
