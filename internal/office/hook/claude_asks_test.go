package hook

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// asksAt is Claude Code's input when it asks about a tool call.
func asksAt(tool, given string) string {
	return `{"session_id":"s1","cwd":"/srv/shop","hook_event_name":"PermissionRequest","tool_name":"` + tool +
		`","tool_input":` + given + `,"permission_suggestions":[` +
		`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push:*"}],"behavior":"allow",` +
		`"destination":"session"},{"type":"newThing","destination":"session"},` +
		`{"type":"setMode","mode":"acceptEdits","destination":"session"},` +
		`{"type":"addDirectories","directories":["/srv"],"destination":"localSettings"}]}`
}

// TestClaudeAsks: the whole request is shown, and each offer names the rule that it writes.
func TestClaudeAsks(t *testing.T) {
	for _, tt := range []struct {
		tool, given string
		form        mail.AskForm
		text, path  string
		says        string
	}{
		{"Bash", `{"command":"git push","description":"I push."}`, mail.FormCommand, "git push", "", "I push."},
		{"Bash", `{"command":"git push","sandbox":false}`, mail.FormJSON, "{\n  \"command\": \"git push\",\n  " +
			"\"sandbox\": false\n}", "", ""},
		{"Write", `{"file_path":"/a","content":""}`, mail.FormContent, "", "/a", ""},
		{"Edit", `{"file_path":"/a","old_string":"x\ny","new_string":"z"}`, mail.FormPatch, "-x\n-y\n+z\n", "/a", ""},
		{"Edit", `{"file_path":"/a","old_string":"x","new_string":"z","replace_all":true}`, mail.FormJSON, "", "/a", ""},
		{"WebFetch", `{"url":"https://x"}`, mail.FormURL, "https://x", "", ""},
		{"mcp__s__t", strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100), mail.FormJSON, strings.Repeat(`[`, 100) +
			strings.Repeat(`]`, 100), "", ""},
	} {
		a := heard(t, "claude", asksAt(tt.tool, tt.given)).Asks
		if a == nil || a.Kind != mail.AsksPermission || a.Form != tt.form || a.Path != tt.path || a.Says != tt.says ||
			tt.text != "" && a.Text != tt.text || a.Cut || !a.Beside {
			t.Errorf("%s %s asks %+v", tt.tool, tt.given, a)
			continue
		}
		var offers []string
		for _, o := range a.Offers {
			offers = append(offers, strings.TrimSpace(string(o.Verdict)+" "+o.Writes))
		}
		if got, want := strings.Join(offers, "; "), "allow; allow Bash(git push:*), until this session ends; "+
			"allow mode acceptEdits, until this session ends; allow the directory /srv, always in this project: "+
			".claude/settings.local.json; deny"; got != want {
			t.Errorf("it offers %s", got)
		}
	}
	if a := heard(t, "claude", asksAt("Bash", `{"command":"`+strings.Repeat("x", mail.MaxAsk)+`"}`)).Asks; !a.Cut {
		t.Error("what is too long is not said to be cut")
	}
	if a := heard(t, "claude", asksAt("ExitPlanMode", `{"plan":"# A","planFilePath":"/p"}`)).Asks; a.Plan != "# A" ||
		a.Kind != mail.AsksPlan || a.Cut || len(a.Offers) != 2 {
		t.Errorf("a plan is %+v", a)
	}
	sub := strings.Replace(asksAt("Bash", `{"command":"ls"}`), `"cwd"`, `"agent_id":"a1","agent_type":"bob","cwd"`, 1)
	if e := heard(t, "claude", sub); e.Asks.Beside || e.Asks.Worker != "a1" || e.Kind != "bob" {
		t.Errorf("a subagent asks %+v", e.Asks)
	}
}

const whichDB = `{"questions":[{"question":"Which?","header":"DB","multiSelect":false,"options":[{"label":"A",` +
	`"description":"x"},{"label":"B","description":"y"}]},{"question":"Parts?","header":"P","multiSelect":true,` +
	`"options":[{"label":"C","description":"x"},{"label":"D","description":"y"}]}]}`

// TestClaudeDecides: an answer has the format that Claude Code was seen to accept.
func TestClaudeDecides(t *testing.T) {
	const head = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":`
	for _, tt := range []struct {
		tool, given string
		a           mail.DialogAnswer
		want        string
	}{
		{"Bash", `{"command":"ls"}`, mail.DialogAnswer{Verdict: mail.SayAllow}, `{"behavior":"allow"}}}`},
		{"Bash", `{"command":"ls"}`, mail.DialogAnswer{Verdict: mail.SayDeny, Words: "no <x>"},
			`{"behavior":"deny","message":"no <x>"}}}`},
		{"Bash", `{"command":"ls"}`, mail.DialogAnswer{Verdict: mail.SayDeny},
			`{"behavior":"deny","message":"The user has refused this."}}}`},
		{"Bash", `{"command":"ls"}`, mail.DialogAnswer{Verdict: mail.SayAllow, Rule: 3},
			`{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"acceptEdits",` +
				`"destination":"session"}]}}}`},
		{"ExitPlanMode", `{"plan":"# A"}`, mail.DialogAnswer{Verdict: mail.SayAllow},
			`{"behavior":"allow","updatedInput":{}}}}`},
		{"AskUserQuestion", whichDB, mail.DialogAnswer{Verdict: mail.SayAnswer, Answers: []mail.QuestionAnswer{
			{Words: "neither"}, {Labels: []string{"C", "D"}, Words: "soon"}}},
			`{"behavior":"allow","updatedInput":{"questions":` + whichDB[len(`{"questions":`):len(whichDB)-1] +
				`,"answers":{"Parts?":"C, D","Which?":"neither"},"annotations":{"Parts?":{"notes":"soon"}}}}}}`},
	} {
		e := heard(t, "claude", asksAt(tt.tool, tt.given))
		in, err := read([]byte(asksAt(tt.tool, tt.given)))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Asks.Fits(&tt.a); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
		}
		got := decideClaude(e, in, &tt.a)
		if got != head+tt.want || strings.Contains(got, "interrupt") {
			t.Errorf("%s:\n%s, want\n%s", tt.tool, got, head+tt.want)
		}
	}
}

// TestSettles: which events show that a dialog is over.
func TestSettles(t *testing.T) {
	pre := func(event, more string) string {
		return `{"session_id":"s1","cwd":"/srv/shop","hook_event_name":"` + event + `"` + more + `}`
	}
	const ls, make = `,"tool_name":"Bash","tool_input":{"command":"ls"}`, `,"tool_name":"Bash",` +
		`"tool_input":{"command":"make"}`
	own := Held{Asked: *heard(t, "claude", asksAt("Bash", `{"command":"ls"}`)).Asks, Opened: time.Now().Add(-time.Minute)}
	below := own
	below.Worker = "a1"
	for _, tt := range []struct {
		says string
		d    *Held
		want mail.DialogOutcome // "": it is not over
	}{
		{pre("PostToolUse", ls), &own, mail.DialogAllowed},
		{pre("PostToolUse", make), &own, ""},
		{pre("PreToolUse", make), &own, ""}, // read-only tools run in parallel
		{pre("PreToolUse", ls), &own, ""},
		{pre("UserPromptSubmit", `,"prompt":"x"`), &own, mail.DialogEnded},
		{pre("Stop", ""), &own, mail.DialogEnded},
		{pre("SessionEnd", `,"reason":"other"`), &own, mail.DialogEnded},
		{pre("SessionStart", `,"source":"resume"`), &own, mail.DialogEnded},
		{pre("SessionStart", `,"source":"compact"`), &own, ""},
		{pre("Notification", `,"notification_type":"permission_prompt"`), &own, ""},
		{pre("PostToolUse", ls+`,"agent_id":"a1"`), &own, ""},
		{pre("PostToolUse", ls+`,"agent_id":"a1"`), &below, mail.DialogAllowed},
		{pre("PreToolUse", make+`,"agent_id":"a1"`), &below, mail.DialogEnded},
		{pre("SubagentStop", `,"agent_id":"a1"`), &below, mail.DialogEnded},
		{pre("SubagentStop", `,"agent_id":"a2"`), &below, ""},
		{pre("Stop", ""), &below, ""},
		{pre("UserPromptSubmit", `,"prompt":"x"`), &below, ""},
		{pre("SessionEnd", `,"reason":"other"`), &below, mail.DialogEnded},
	} {
		how, over := heard(t, "claude", tt.says).Settles(tt.d)
		if !over {
			how = ""
		}
		if how != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.says, tt.d.Worker, how, tt.want)
		}
	}
	prompt := heard(t, "codex", pre("UserPromptSubmit", `,"prompt":"x"`))
	if _, over := prompt.Settles(&below); !over {
		t.Error("the dialog of a subagent outlives the next prompt of Codex")
	}
}
