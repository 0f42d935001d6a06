package hook

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/mail"
)

// TestExtensionEvents: events of opencode and pi, as the clients were seen to send them, are parsed as expected.
func TestExtensionEvents(t *testing.T) {
	for _, tt := range []struct {
		client, input string
		want          Event
		proves        bool
	}{
		{"opencode", `"SessionStart"`, Event{Moment: mail.SessionStart, Carries: true}, false},
		{"opencode", `"chat.message", "prompt": "hello"`, Event{Moment: mail.TurnStart, Carries: true}, false},
		{"opencode", `"chat.message", "prompt": "hello", "busy": true`, Event{Moment: mail.AfterTool, Carries: true},
			false},
		{"opencode", `"chat.message", "prompt": "Pennypost: 1 message"`, Event{Moment: mail.AfterTool, Carries: true},
			false},
		{"opencode", `"tool.execute.before", "tool_name": "bash"`, Event{Moment: mail.BeforeTool, Carries: true},
			true},
		{"opencode", `"tool.execute.before", "tool_name": "bash", "agent_id": "ses_2"`,
			Event{Moment: mail.BeforeTool, Carries: true, Sub: true}, false},
		{"opencode", `"tool.execute.before", "tool_name": "pennypost_mark_messages"`,
			Event{Moment: mail.BeforeTool, Carries: true, Own: true}, true},
		{"opencode", `"tool.execute.after", "tool_name": "bash"`, Event{Moment: mail.AfterTool, Carries: true}, false},
		{"opencode", `"experimental.text.complete"`, Event{Moment: mail.AfterTool, Carries: true}, false},
		{"opencode", `"session.idle"`, Event{Moment: mail.TurnEnd, Carries: true}, true},
		{"opencode", `"session.idle", "error": "MessageAbortedError"`,
			Event{Moment: mail.TurnEnd, Carries: true, Over: true}, false},
		{"opencode", `"session.idle", "error": "MessageAbortedError", "conversation": "<mail-a1 origin=\"user\" ` +
			`from=\"user\" id=\"msg_a\">\nhello\n</mail-a1>"`,
			Event{Moment: mail.TurnEnd, Carries: true, Over: true, Held: map[mail.ID]bool{"msg_a": true}}, false},
		{"opencode", `"session.deleted"`, Event{Moment: mail.SessionEnd}, false},
		{"opencode", `"dispose"`, Event{Moment: mail.SessionEnd}, false},
		{"opencode", `"not.yet.invented"`, Event{}, false},
		{"pi", `"SessionStart"`, Event{Moment: mail.SessionStart, Carries: true}, false},
		{"pi", `"before_agent_start", "prompt": "hello"`, Event{Moment: mail.TurnStart, Carries: true}, false},
		{"pi", `"before_agent_start", "prompt": "Pennypost: 1 message"`, Event{Moment: mail.AfterTool, Carries: true},
			false},
		{"pi", `"tool_call", "tool_name": "bash"`, Event{Moment: mail.BeforeTool, Carries: true}, true},
		{"pi", `"tool_call", "tool_name": "bash", "tool_input": {"command": "pennypost mark x"}`,
			Event{Moment: mail.BeforeTool, Carries: true, Own: true}, true},
		{"pi", `"tool_result", "tool_name": "bash"`, Event{Moment: mail.AfterTool, Carries: true}, false},
		{"pi", `"tool_result", "tool_name": "bash", "aborted": true`, Event{Moment: mail.AfterTool}, false},
		{"pi", `"agent_end"`, Event{Moment: mail.TurnEnd, Carries: true}, true},
		{"pi", `"agent_end", "error": "aborted"`, Event{Moment: mail.TurnEnd, Carries: true, Over: true}, false},
		{"pi", `"session_shutdown", "reason": "quit"`, Event{Moment: mail.SessionEnd}, false},
		{"pi", `"session_shutdown", "reason": "new"`, Event{Moment: mail.SessionEnd, Frozen: true}, false},
	} {
		text := `{"session_id": "s1", "cwd": "/srv/shop", "hook_event_name": ` + tt.input + "}"
		in, err := read([]byte(text))
		if err != nil || !json.Valid([]byte(text)) {
			t.Fatalf("%s: %v", text, err)
		}
		c, _ := FindClient(tt.client)
		got := c.read("", in)
		tt.want.Client, tt.want.Name = tt.client, in.text("hook_event_name")
		tt.want.Session, tt.want.Tool = Session{ID: "s1", Dir: "/srv/shop"}, in.text("tool_name")
		tt.want.Worker, tt.want.Input = in.text("agent_id"), in.given()
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Event{})); diff != "" || got.proves() != tt.proves {
			t.Errorf("%s %s: proves %t, want %t (-want +got):\n%s", tt.client, tt.input, got.proves(), tt.proves, diff)
		}
	}
}
