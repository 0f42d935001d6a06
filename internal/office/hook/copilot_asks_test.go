package hook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

const (
	copilotRequest = `,"toolName":"bash","toolInput":{"command":"touch a"},"permissionSuggestions":[]`
	copilotUse     = `,"toolName":"bash","toolArgs":{"command":"touch a","description":"Harmless"}`
	copilotWrites  = `,"toolName":"edit","toolInput":{"file_path":"/srv/a","diff":"+x\n"}`
	copilotPrompts = `,"notification_type":"permission_prompt","message":"Run command: touch a"`
	copilotForm    = `{"message":"Which?","requestedSchema":{"properties":{"db":{"enum":["A","B"],"title":"DB",` +
		`"type":"string"}},"required":["db"],"type":"object"}}`
	copilotFormBeside = `{"message":"Which?","requestedSchema":{"type":"object","properties":{"db":{"type":"string",` +
		`"title":"DB","enum":["A","B"]}}}}`
)

// TestCopilotAsks: the hooks before and during a dialog and our extension all report the same dialog, and the tool
// call ends it.
func TestCopilotAsks(t *testing.T) {
	use, _ := says(t, "copilot", "preToolUse", copilotUse)
	before, _ := says(t, "copilot", "permissionRequest", copilotRequest)
	if before.Asks == nil || !before.Asks.Later || before.Asks.Beside || before.Asks.Text != "touch a" {
		t.Fatalf("the hook before a dialog: %+v", before.Asks)
	}
	with, _ := says(t, "copilot", "notification", copilotPrompts)
	with.noted(&with, use.Tool, "", use.Input)
	if with.Asks == nil || with.Asks.Cut || len(with.Asks.Offers) > 0 {
		t.Fatalf("the notification: %+v", with.Asks)
	}
	want := mail.Ask{Form: mail.FormCommand, Text: "touch a", Says: "Harmless", Dir: "/srv/shop"}
	if diff := cmp.Diff(want, with.Asks.Ask); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	beside, _ := says(t, "copilot", "permission.asked",
		`,"dialog":{"id":"r1","tool":"bash","given":{"command":"touch a"},"says":"Harmless"}`)
	if beside.Asks == nil || !beside.Asks.Beside || beside.Asks.Says != "Harmless" || len(beside.Asks.Offers) != 2 {
		t.Fatalf("the extension: %+v", beside.Asks)
	}
	below, _ := says(t, "copilot", "permissionRequest", copilotRequest+`,"agentId":"a1"`)
	if below.Asks.Worker != "" || below.Kind == "" || below.Moment != mail.BeforeTool {
		t.Errorf("of a subagent: %+v", below.Asks)
	}
	after, _ := says(t, "copilot", "postToolUse", copilotUse)
	for _, e := range []Event{before, with, beside, below} {
		if e.Asks.Sum != with.Asks.Sum {
			t.Errorf("%s has another sum", e.Name)
		}
		if how, over := after.Settles(&Held{Asked: *e.Asks}); !over || how != mail.DialogAllowed {
			t.Errorf("the use does not end that of %s: %t, %s", e.Name, over, how)
		}
	}
	over, _ := says(t, "copilot", "permission.replied",
		`,"reply":"denied","dialog":{"id":"r1","tool":"bash","given":{"command":"touch a"}}`)
	if how, ends := over.Settles(&Held{Asked: *beside.Asks}); !ends || how != mail.DialogDenied {
		t.Errorf("its end: %t, %s", ends, how)
	}
}

// TestCopilotSays: a notification that does not match the last reported tool call is shown by its own text, and as
// cut.
func TestCopilotSays(t *testing.T) {
	writes, _ := says(t, "copilot", "permissionRequest", copilotWrites)
	if a := writes.Asks; a.Form != mail.FormPatch || a.Text != "+x\n" || a.Path != "/srv/a" {
		t.Errorf("a file that is to be written: %+v", a)
	}
	e, _ := says(t, "copilot", "notification", copilotPrompts)
	e.noted(&e, writes.Tool, "", writes.Input)
	if a := e.Asks; !a.Cut || a.Tool != "Run command" {
		t.Errorf("of another use: %+v", a)
	}
	e, _ = says(t, "copilot", "notification", copilotPrompts)
	e.noted(&e, "", "", nil)
	if a := e.Asks; !a.Cut {
		t.Errorf("of a use that nobody told of: %+v", a)
	}
	e, _ = says(t, "copilot", "permissionRequest", `,"toolName":"pennypost/send_message","toolInput":{}`)
	if e.Asks != nil {
		t.Errorf("a tool of ours: %+v", e.Asks)
	}
}

// TestCopilotForm: hooks and the extension report the same question, and the answer is a filled-in form.
func TestCopilotForm(t *testing.T) {
	e, _ := says(t, "copilot", "notification", `,"notification_type":"elicitation_dialog"`)
	e.noted(&e, "ask_user", "", jsonx.Value(copilotForm))
	beside, in := says(t, "copilot", "question.asked", `,"dialog":{"id":"r1","tool":"ask_user","given":`+
		copilotFormBeside+`}`)
	want := []mail.AskedQuestion{{Header: "DB", Text: "Which?", Options: []mail.Choice{{Label: "A"}, {Label: "B"}}}}
	for _, a := range []*Asked{e.Asks, beside.Asks} {
		if diff := cmp.Diff(want, a.Questions); diff != "" || a.Sum != e.Asks.Sum || a.Cut {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	got := decideCopilot(&beside, in, &mail.DialogAnswer{Verdict: mail.SayAnswer,
		Answers: []mail.QuestionAnswer{{Labels: []string{"B"}}}})
	if got != `{"action":"accept","content":{"db":"B"}}` {
		t.Errorf("the answer is %s", got)
	}
	all := formCopilotAsks{Message: "Fill in"}
	if err := jsonx.UnmarshalLenient([]byte(`{"properties":{"a":{"type":"array","items":{"enum":["x","y","z"]}},`+
		`"b":{"type":"boolean"},"n":{"type":"integer"},"o":{"type":"string","oneOf":[{"const":"1","title":"One"}]},`+
		`"t":{"type":"string","description":"as you like"}}}`), &all.Schema); err != nil {
		t.Fatal(err)
	}
	if q := all.questions(); len(q) != 5 || !q[0].Several || !q[4].Free || q[4].Text != "t\nas you like" {
		t.Errorf("the questions are %+v", q)
	}
	content := all.content(&mail.DialogAnswer{Answers: []mail.QuestionAnswer{{Labels: []string{"x", "z"}},
		{Labels: []string{"No"}}, {Words: "7"}, {Labels: []string{"One"}}, {Words: "words"}}})
	wantAll := map[string]any{"a": []string{"x", "z"}, "b": false, "n": 7.0, "o": "1", "t": "words"}
	if diff := cmp.Diff(wantAll, content); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if content := all.content(&mail.DialogAnswer{Answers: []mail.QuestionAnswer{{Labels: []string{"x"}},
		{Labels: []string{"No"}}, {Words: "7.5"}, {Labels: []string{"One"}}, {Words: "words"}}}); content != nil {
		t.Errorf("what is no whole number is taken for one: %+v", content)
	}
}

// TestCopilotDecides: the output of hooks and extension is in the form that Copilot CLI 1.0.102 was seen to accept.
func TestCopilotDecides(t *testing.T) {
	before, in := says(t, "copilot", "permissionRequest", copilotRequest)
	beside, _ := says(t, "copilot", "permission.asked",
		`,"dialog":{"id":"r1","tool":"bash","given":{"command":"touch a"}}`)
	allow, deny := mail.DialogAnswer{Verdict: mail.SayAllow}, mail.DialogAnswer{Verdict: mail.SayDeny, Words: "no"}
	for _, tt := range []struct {
		e    Event
		a    mail.DialogAnswer
		want string
	}{
		{before, allow, `{"behavior":"allow"}`}, {before, deny, `{"behavior":"deny","message":"no"}`},
		{beside, allow, `{"kind":"approve-once"}`}, {beside, deny, `{"kind":"reject","feedback":"no"}`},
	} {
		if got := decideCopilot(&tt.e, in, &tt.a); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.e.Name, got, tt.want)
		}
	}
}
