package hook

import (
	"encoding/json"
	"testing"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// heard parses an event as a client's hook input. The last of the tool calls reported before is known.
func heard(t *testing.T, client, text string, last ...*Event) *Event {
	t.Helper()
	in, err := read([]byte(text))
	if err != nil || !json.Valid([]byte(text)) {
		t.Fatalf("%s: %v", text, err)
	}
	c, _ := FindClient(client)
	e := c.read("", in)
	if e.noted != nil && len(last) > 0 {
		e.noted(&e, last[0].Tool, last[0].ToolUse, last[0].Input)
	} else if e.noted != nil {
		e.noted(&e, "", "", nil)
	}
	return &e
}

// Requests of Codex, Gemini CLI and Qwen Code are shown whole, as the clients were seen to send them.
func TestAsksOfOthers(t *testing.T) {
	const in = `{"session_id":"s1","cwd":"/srv/shop",`
	shell := `{"command":"touch a","description":"why"}`
	for name, tt := range map[string]struct {
		client, before, says string
		want                 mail.Ask
		kind                 mail.DialogKind
	}{
		"codex, command": {client: "codex", says: in + `"hook_event_name":"PermissionRequest","tool_name":"Bash",
			"tool_input":` + shell + `}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormCommand, Text: "touch a", Says: "why"}},
		"codex, patch": {client: "codex", says: in + `"hook_event_name":"PermissionRequest","tool_name":"apply_patch",
			"tool_input":{"command":"*** Begin Patch\n*** End Patch\n"}}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormPatch, Text: "*** Begin Patch\n*** End Patch\n"}},
		"codex, question": {client: "codex", says: in + `"hook_event_name":"PreToolUse","tool_use_id":"call_1",
			"tool_name":"request_user_input","tool_input":{"questions":[{"id":"db","header":"DB","question":"Which?",
			"options":[{"label":"SQLite","description":"small"}]}]}}`, kind: mail.AsksQuestion,
			want: mail.Ask{Questions: []mail.AskedQuestion{{Header: "DB", Text: "Which?", Free: true,
				Options: []mail.Choice{{Label: "SQLite", Note: "small"}}}}}},
		"qwen, command": {client: "qwen", says: in + `"hook_event_name":"PermissionRequest",
			"tool_name":"run_shell_command","tool_input":` + shell + `}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormCommand, Text: "touch a", Says: "why"}},
		"qwen, question": {client: "qwen", says: in + `"hook_event_name":"PermissionRequest",
			"tool_name":"ask_user_question","tool_input":{"questions":[{"question":"Which?"}]}}`,
			kind: mail.AsksQuestion, want: mail.Ask{Questions: []mail.AskedQuestion{{Text: "Which?", Free: true}}}},
		"gemini, command": {client: "gemini", before: in + `"hook_event_name":"BeforeTool",
			"tool_name":"run_shell_command","tool_input":` + shell + `}`, says: in + `
			"hook_event_name":"Notification","notification_type":"ToolPermission",
			"details":{"type":"exec","command":"touch a"}}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormCommand, Text: "touch a", Says: "why"}},
		"gemini, command of which no use was told": {client: "gemini", says: in + `
			"hook_event_name":"Notification","notification_type":"ToolPermission",
			"details":{"type":"exec","command":"touch a"}}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormCommand, Text: "touch a"}},
		"gemini, another use than the last": {client: "gemini", before: in + `"hook_event_name":"BeforeTool",
			"tool_name":"run_shell_command","tool_input":{"command":"ls"}}`, says: in + `
			"hook_event_name":"Notification","notification_type":"ToolPermission",
			"details":{"type":"mcp","serverName":"probe","toolName":"note"}}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormJSON, Cut: true,
				Text: Indented(jsonx.Value(`{"type":"mcp","serverName":"probe","toolName":"note"}`))}},
		"gemini, tool of a server": {client: "gemini", before: in + `"hook_event_name":"BeforeTool",
			"tool_name":"mcp_probe_note","tool_input":{"text":"x"}}`, says: in + `
			"hook_event_name":"Notification","notification_type":"ToolPermission",
			"details":{"type":"mcp","serverName":"probe","toolName":"note"}}`, kind: mail.AsksPermission,
			want: mail.Ask{Form: mail.FormJSON, Text: Indented(jsonx.Value(`{"text":"x"}`))}},
		"gemini, question": {client: "gemini", before: in + `"hook_event_name":"BeforeTool","tool_name":"ask_user",
			"tool_input":{"questions":[{"header":"DB","question":"Which?","type":"choice",
			"options":[{"label":"SQLite","description":"small"}]}]}}`, says: in + `
			"hook_event_name":"Notification","notification_type":"ToolPermission",
			"details":{"type":"ask_user","title":"Ask"}}`, kind: mail.AsksQuestion,
			want: mail.Ask{Questions: []mail.AskedQuestion{{Header: "DB", Text: "Which?", Free: true,
				Options: []mail.Choice{{Label: "SQLite", Note: "small"}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var last []*Event
			if tt.before != "" {
				last = []*Event{heard(t, tt.client, tt.before)}
			}
			e := heard(t, tt.client, tt.says, last...)
			if e.Asks == nil {
				t.Fatal("it opens no dialog")
			}
			got := e.Asks.Ask
			if tt.want.Dir = "/srv/shop"; tt.client == "gemini" != e.Asks.Unseen {
				t.Errorf("unseen is %t", e.Asks.Unseen)
			}
			got.Offers = nil
			is, _ := json.Marshal(got)
			want, _ := json.Marshal(tt.want)
			if string(is) != string(want) || e.Asks.Kind != tt.kind {
				t.Errorf("%s asks\n%s, want %s\n%s", e.Asks.Kind, is, tt.kind, want)
			}
			if h := (Held{Asked: *e.Asks, Opened: time.Now()}); len(last) > 0 && got.Form != mail.FormJSON {
				over := heard(t, tt.client, tt.before)
				over.Moment = mail.AfterTool
				if how, ends := over.Settles(&h); !ends || how != Used(tt.kind) {
					t.Errorf("the end of the tool's use settles it: %t, %s", ends, how)
				}
			}
		})
	}
}

// Qwen Code's notification that its dialog is shown ends the turn, but not the dialog.
func TestQwenNotifiesOfDialog(t *testing.T) {
	e := heard(t, "qwen", `{"session_id":"s1","hook_event_name":"PermissionRequest","tool_name":"run_shell_command",
		"tool_input":{"command":"ls"}}`)
	h := Held{Asked: *e.Asks, Opened: time.Now()}
	n := heard(t, "qwen", `{"session_id":"s1","hook_event_name":"Notification",
		"notification_type":"permission_prompt"}`)
	if n.Moment != mail.TurnEnd || !n.Over || !n.Untold {
		t.Errorf("the notification is %+v", n)
	}
	if how, over := n.Settles(&h); over {
		t.Errorf("it ends the dialog: %s", how)
	}
	for _, event := range []string{`"PreToolUse"`, `"PostToolUse"`} {
		e := heard(t, "qwen", `{"session_id":"s1","hook_event_name":`+event+`,"tool_name":"run_shell_command",
			"tool_use_id":"7","tool_input":{"command":"ls"}}`)
		if how, over := e.Settles(&h); !over || how != mail.DialogAllowed {
			t.Errorf("%s ends the dialog: %t, %s", event, over, how)
		}
	}
}

// Codex and Qwen Code are told whether the tool may run, and nothing else.
func TestDecides(t *testing.T) {
	for _, client := range []string{"codex", "qwen"} {
		c, _ := FindClient(client)
		for _, tt := range []struct {
			answer mail.DialogAnswer
			want   string
		}{
			{mail.DialogAnswer{Verdict: mail.SayAllow}, `{"behavior":"allow"}`},
			{mail.DialogAnswer{Verdict: mail.SayDeny, Words: "no"}, `{"behavior":"deny","message":"no"}`},
			{mail.DialogAnswer{Verdict: mail.SayDeny}, `{"behavior":"deny","message":"The user has refused this."}`},
		} {
			want := `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":` + tt.want + `}}`
			if got := c.decide(nil, nil, &tt.answer); got != want {
				t.Errorf("%s answers %s, want %s", client, got, want)
			}
		}
	}
}
