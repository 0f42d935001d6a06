package hooktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pennypost/internal/mail"
)

// Client imitates how one client runs hooks.
type Client struct {
	Name string // its name in the post office
	As   string // the client name with which its hooks are installed

	events  map[mail.Moment]string
	base    func(h *Harness, event string) map[string]any
	apply   func(m mail.Moment, event string, r Result) (Effect, error)
	cap     int  // how many times in a row hooks may keep a turn going
	prompts bool // text that keeps a turn going is passed to the prompt's hook too
	camel   bool // member names are in camel case
	rewakes bool // it runs background hooks that wake an idle session
	maxText int
}

func (c *Client) event(m mail.Moment) string { return c.events[m] }

// Clients returns all clients.
func Clients() []Client {
	return []Client{Claude(), VSCode(), Codex(), Gemini(), Qwen(), Cursor(), Copilot(), OpenCode(), Pi()}
}

func (c *Client) tool(name, command string) map[string]any {
	args := map[string]any{"command": command, "description": "…"}
	if c.camel {
		return map[string]any{"toolName": name, "toolArgs": args}
	}
	if c.Name == "gemini" {
		return map[string]any{"tool_name": name, "tool_input": args,
			"tool_response": map[string]any{"llmContent": "done", "returnDisplay": "done"}}
	}
	return map[string]any{"tool_name": name, "tool_input": args, "tool_use_id": "toolu_1",
		"tool_response": map[string]any{"stdout": "done"}}
}

func (c *Client) stop(times int) map[string]any {
	if c.Name == "cursor" {
		return map[string]any{"status": "completed", "loop_count": times}
	}
	if c.Name == "gemini" {
		return map[string]any{"prompt": "…", "prompt_response": "done", "stop_hook_active": times > 0}
	}
	return map[string]any{"stop_hook_active": times > 0}
}

func claudeEvents() map[mail.Moment]string {
	return map[mail.Moment]string{
		mail.SessionStart: "SessionStart", mail.TurnStart: "UserPromptSubmit", mail.BeforeTool: "PreToolUse",
		mail.AfterTool: "PostToolUse", mail.TurnEnd: "Stop", mail.SessionEnd: "SessionEnd",
	}
}

// Claude is Claude Code 2.1.329.
func Claude() Client {
	return Client{
		Name: "claude", As: "claude", cap: 8, maxText: 10_000, rewakes: true, events: claudeEvents(),
		base: func(h *Harness, event string) map[string]any {
			return map[string]any{
				"session_id": h.Session, "transcript_path": "/tmp/t.jsonl", "cwd": h.Dir, "hook_event_name": event,
				"permission_mode": "default", "prompt_id": "p1", "effort": map[string]any{"level": "high"},
				"not_yet_invented": []int{1},
			}
		},
		apply: applyClaude,
	}
}

// common has the output members that Claude Code, and clients that copy it, read.
type common struct {
	Continue *bool  `json:"continue"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		Event    string `json:"hookEventName"`
		Context  string `json:"additionalContext"`
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		May      string `json:"permissionDecision"`
		Why      string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

func applyClaude(m mail.Moment, event string, r Result) (Effect, error) {
	if r.Exit == 2 {
		if m == mail.TurnEnd {
			return Effect{GoOn: r.Err}, nil
		}
		return Effect{}, errors.New("blocked")
	}
	var out common
	if err := decode(r, &out, false); err != nil {
		return Effect{}, err
	}
	if out.Specific.Event != "" && out.Specific.Event != event {
		return Effect{}, fmt.Errorf("output for %s", out.Specific.Event)
	}
	switch {
	case m == mail.BeforeTool && out.Specific.May == "deny":
		return Effect{Deny: out.Specific.Why}, nil
	case m == mail.TurnEnd && out.Decision == "block":
		return Effect{GoOn: out.Reason}, nil
	case m == mail.TurnEnd && out.Specific.Context != "":
		return Effect{GoOn: out.Specific.Context}, nil
	case m == mail.SessionEnd:
		return Effect{}, nil
	}
	return Effect{Context: out.Specific.Context}, nil
}

// VSCode is VS Code's agent mode with Claude Code's hook files.
func VSCode() Client {
	events := claudeEvents()
	delete(events, mail.SessionEnd)
	return Client{
		Name: "vscode", As: "claude", cap: 8, maxText: 10_000, events: events,
		base: func(h *Harness, event string) map[string]any {
			return map[string]any{"timestamp": "2026-02-09T10:30:00.000Z", "cwd": h.Dir, "sessionId": h.Session,
				"hookEventName": event, "transcript_path": "/tmp/t.json"}
		},
		apply: func(m mail.Moment, event string, r Result) (Effect, error) {
			var out common
			if r.Exit == 2 {
				return Effect{}, errors.New("blocked")
			}
			if err := decode(r, &out, false); err != nil {
				return Effect{}, err
			}
			if out.Continue != nil && !*out.Continue {
				return Effect{}, errors.New("stopped")
			}
			switch {
			case m == mail.BeforeTool && out.Specific.May == "deny":
				return Effect{Deny: out.Specific.Context}, nil // the reason is for the person
			case m == mail.TurnEnd && out.Specific.Decision == "block":
				return Effect{GoOn: out.Specific.Reason}, nil
			case m == mail.SessionStart, m == mail.AfterTool:
				return Effect{Context: out.Specific.Context}, nil
			}
			return Effect{}, nil
		},
	}
}

// Codex is the Codex CLI 0.169.0.
func Codex() Client {
	return Client{
		Name: "codex", As: "codex", cap: 8, maxText: 10_000, events: claudeEvents(),
		base: func(h *Harness, event string) map[string]any {
			return map[string]any{
				"session_id": h.Session, "turn_id": "t1", "cwd": h.Dir, "hook_event_name": event,
				"transcript_path": cmp.Or(h.Home, "/home/ann/.codex") + "/sessions/2026/11/22/rollout-" + h.Session +
					".jsonl",
				"model": "gpt", "permission_mode": "bypassPermissions",
			}
		},
		apply: applyCodex,
	}
}

// codexOutput has the members that Codex accepts in the output of every event.
type codexOutput struct {
	Continue *bool  `json:"continue"`
	Stop     string `json:"stopReason"`
	Suppress bool   `json:"suppressOutput"`
	System   string `json:"systemMessage"`
}

func applyCodex(m mail.Moment, event string, r Result) (Effect, error) {
	if r.Exit != 0 {
		return Effect{}, fmt.Errorf("exit status %d", r.Exit)
	}
	if m == mail.TurnEnd {
		var out struct {
			codexOutput
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		}
		if strings.TrimSpace(r.Out) == "" {
			return Effect{}, errors.New("no JSON at the end of a turn")
		}
		if err := decode(r, &out, true); err != nil {
			return Effect{}, err
		}
		if out.Decision == "block" && strings.TrimSpace(out.Reason) == "" {
			return Effect{}, errors.New("a block without a reason")
		}
		return Effect{GoOn: out.Reason}, nil
	}
	var out struct {
		codexOutput
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Specific struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
			May     string `json:"permissionDecision"`
			Why     string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if err := decode(r, &out, true); err != nil {
		return Effect{}, err
	}
	switch {
	case out.Specific.Event != "" && out.Specific.Event != event:
		return Effect{}, fmt.Errorf("output for %s", out.Specific.Event)
	case m != mail.BeforeTool && out.Specific.May != "":
		return Effect{}, errors.New("a permission where none is asked for")
	case out.Specific.May == "deny":
		return Effect{Deny: out.Specific.Why}, nil
	case m == mail.TurnStart && out.Decision == "block":
		return Effect{Dropped: out.Reason}, nil
	case m == mail.SessionEnd:
		return Effect{}, nil
	}
	return Effect{Context: out.Specific.Context}, nil
}

// Gemini is the Gemini CLI 0.61.0. It escapes only the brackets of hook output.
func Gemini() Client {
	return Client{
		Name: "gemini", As: "gemini", cap: 8, prompts: true, maxText: 10_000,
		events: map[mail.Moment]string{
			mail.SessionStart: "SessionStart", mail.TurnStart: "BeforeAgent", mail.BeforeTool: "BeforeTool",
			mail.AfterTool: "AfterTool", mail.TurnEnd: "AfterAgent", mail.SessionEnd: "SessionEnd",
		},
		base: func(h *Harness, event string) map[string]any {
			return map[string]any{"session_id": h.Session, "transcript_path": "/tmp/t.json", "cwd": h.Dir,
				"hook_event_name": event, "timestamp": "2026-02-09T10:30:00Z"}
		},
		apply: func(m mail.Moment, _ string, r Result) (Effect, error) {
			var out common
			if r.Exit != 0 {
				return Effect{}, fmt.Errorf("exit status %d", r.Exit)
			}
			if err := decode(r, &out, false); err != nil {
				return Effect{}, err
			}
			denied := out.Decision == "deny" || out.Decision == "block"
			switch {
			case m == mail.BeforeTool && denied:
				return Effect{Deny: out.Reason}, nil
			case m == mail.TurnEnd && denied:
				return Effect{GoOn: out.Reason}, nil
			case denied:
				return Effect{}, errors.New("the prompt or the tool's result was thrown away")
			case m == mail.SessionStart, m == mail.TurnStart, m == mail.AfterTool:
				return Effect{Context: strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(out.Specific.Context)},
					nil
			}
			return Effect{}, nil
		},
	}
}

func escaped(text string) string { return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text) }

// Qwen is Qwen Code 0.15.10. It drops the output of SessionStart, and escapes the brackets of other hook output.
func Qwen() Client {
	return Client{
		Name: "qwen", As: "qwen", cap: 100, prompts: true, maxText: 10_000, events: claudeEvents(),
		base: func(h *Harness, event string) map[string]any {
			return map[string]any{"session_id": h.Session, "transcript_path": "/tmp/t.jsonl", "cwd": h.Dir,
				"hook_event_name": event, "timestamp": "2026-11-22T13:00:00.000Z", "permission_mode": "yolo"}
		},
		apply: func(m mail.Moment, event string, r Result) (Effect, error) {
			e, err := applyClaude(m, event, r)
			if e.Context = escaped(e.Context); m == mail.SessionStart {
				e = Effect{}
			}
			return e, err
		},
	}
}

// Cursor is Cursor 2.x.
func Cursor() Client {
	return Client{
		Name: "cursor", As: "cursor", cap: 5, prompts: true, maxText: 10_000,
		events: map[mail.Moment]string{
			mail.SessionStart: "sessionStart", mail.TurnStart: "beforeSubmitPrompt", mail.BeforeTool: "preToolUse",
			mail.AfterTool: "postToolUse", mail.TurnEnd: "stop", mail.SessionEnd: "sessionEnd",
		},
		base: func(h *Harness, event string) map[string]any {
			return map[string]any{
				"conversation_id": h.Session, "generation_id": "g1", "hook_event_name": event,
				"workspace_roots": []string{h.Dir, "/elsewhere"},
				"model":           "m", "cursor_version": "2.0.77", "user_email": "user@example.com",
				"transcript_path": nil,
			}
		},
		apply: func(m mail.Moment, _ string, r Result) (Effect, error) {
			var out struct {
				Context  string `json:"additional_context"`
				May      string `json:"permission"`
				Agent    string `json:"agent_message"`
				FollowUp string `json:"followup_message"`
				Continue *bool  `json:"continue"`
			}
			if r.Exit != 0 {
				return Effect{}, fmt.Errorf("exit status %d", r.Exit)
			}
			if err := decode(r, &out, false); err != nil {
				return Effect{}, err
			}
			switch m {
			case mail.BeforeTool:
				if out.May == "deny" {
					return Effect{Deny: out.Agent}, nil
				}
			case mail.TurnEnd:
				return Effect{GoOn: out.FollowUp}, nil
			case mail.SessionStart, mail.AfterTool:
				return Effect{Context: out.Context}, nil
			case mail.TurnStart:
				if out.Continue != nil && !*out.Continue {
					return Effect{}, errors.New("the prompt was thrown away")
				}
			}
			return Effect{}, nil
		},
	}
}

// Environ returns the variables that a client sets for its hooks and that matter here.
func Environ(as string) []string {
	if as == "copilot" {
		return []string{"COPILOT_CLI_BINARY_VERSION=1.0.102"}
	}
	return nil
}

// CopilotSub returns the extra members for a tool of a Copilot subagent (seen in 1.0.102): an id of its own, and that
// of the session.
func CopilotSub(session string) map[string]any {
	const own = "afe50d06-82be-42c8-a9ed-33357844735d"
	return map[string]any{"sessionId": own, "agentId": own, "agentType": "general-purpose", "parentAgentId": session}
}

// Copilot is the GitHub Copilot CLI 1.0.102, with the events' own spelling.
func Copilot() Client {
	return Client{
		Name: "copilot", As: "copilot", cap: 8, prompts: true, camel: true, maxText: 10_000,
		events: map[mail.Moment]string{
			mail.SessionStart: "sessionStart", mail.TurnStart: "userPromptSubmitted", mail.BeforeTool: "preToolUse",
			mail.AfterTool: "postToolUse", mail.TurnEnd: "agentStop", mail.SessionEnd: "sessionEnd",
		},
		base: func(h *Harness, _ string) map[string]any {
			return map[string]any{"sessionId": h.Session, "timestamp": 1770633000000, "cwd": h.Dir}
		},
		apply: func(m mail.Moment, _ string, r Result) (Effect, error) {
			if m == mail.BeforeTool && r.Exit != 0 {
				return Effect{}, errors.New("the tool was forbidden, because the hook failed")
			}
			var out struct {
				Context  string `json:"additionalContext"`
				May      string `json:"permissionDecision"`
				Why      string `json:"permissionDecisionReason"`
				Decision string `json:"decision"`
				Reason   string `json:"reason"`
			}
			if err := decode(r, &out, false); err != nil {
				return Effect{}, err
			}
			switch m {
			case mail.BeforeTool:
				if out.May == "deny" {
					return Effect{Deny: out.Why}, nil
				}
			case mail.TurnEnd:
				if out.Decision == "block" {
					return Effect{GoOn: out.Reason}, nil
				}
			case mail.SessionStart, mail.TurnStart, mail.AfterTool:
				return Effect{Context: out.Context}, nil
			}
			return Effect{}, nil
		},
	}
}

// OpenCode is opencode 1.18.33 with Pennypost's plugin, which keeps a turn going with prompts, without a limit.
func OpenCode() Client {
	return Client{
		Name: "opencode", As: "opencode", cap: unlimited, prompts: true, rewakes: true, maxText: 10_000,
		events: map[mail.Moment]string{
			mail.SessionStart: "SessionStart", mail.TurnStart: "chat.message", mail.BeforeTool: "tool.execute.before",
			mail.AfterTool: "tool.execute.after", mail.TurnEnd: "session.idle", mail.SessionEnd: "dispose",
		},
		base: extensionBase, apply: applyExtension,
	}
}

// Pi is pi 0.73.1 with Pennypost's extension.
func Pi() Client {
	return Client{
		Name: "pi", As: "pi", cap: unlimited, prompts: true, rewakes: true, maxText: 10_000,
		events: map[mail.Moment]string{
			mail.SessionStart: "SessionStart", mail.TurnStart: "before_agent_start", mail.BeforeTool: "tool_call",
			mail.AfterTool: "tool_result", mail.TurnEnd: "agent_end", mail.SessionEnd: "session_shutdown",
		},
		base: extensionBase, apply: applyExtension,
	}
}

// unlimited is the cap of a client that does not count continuations.
const unlimited = 1000

func extensionBase(h *Harness, event string) map[string]any {
	return map[string]any{"hook_event_name": event, "session_id": h.Session, "cwd": h.Dir}
}

// applyExtension acts on output as Pennypost's extensions do.
func applyExtension(_ mail.Moment, _ string, r Result) (Effect, error) {
	if r.Exit != 0 {
		return Effect{}, fmt.Errorf("exit status %d", r.Exit)
	}
	var out struct {
		Agent  string `json:"agent"`
		Tell   string `json:"tell"`
		GoOn   string `json:"goOn"`
		Forbid string `json:"forbid"`
	}
	if err := decode(r, &out, true); err != nil {
		return Effect{}, err
	}
	return Effect{Context: out.Tell, GoOn: out.GoOn, Deny: out.Forbid}, nil
}

// decode reads a hook's output, which is empty or one JSON object. With strict, unknown members are errors.
func decode(r Result, into any, strict bool) error {
	if strings.TrimSpace(r.Out) == "" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(r.Out)))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the output is refused: %w", err)
	}
	if d.More() {
		return errors.New("something stands behind the output")
	}
	return nil
}
