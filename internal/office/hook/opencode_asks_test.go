package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// says parses an event as our plugin sends it.
func says(t *testing.T, client, event, more string) (Event, input) {
	t.Helper()
	in, err := read([]byte(`{"hook_event_name":"` + event + `","session_id":"s1","cwd":"/srv/shop"` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := FindClient(client)
	return c.read(event, in), in
}

const bashOpencode = `,"tool_use_id":"call_2","dialog":{"id":"per_1","permission":"bash","patterns":["touch a"],` +
	`"metadata":{"command":"touch a\u202e"},"always":["touch *","echo *"],"tool":{"callID":"call_2"},` +
	`"input":{"command":"touch b","description":"Harmless","workdir":"/etc"}}`

// TestOpencodeAsks: a dialog shows opencode's own text, whole, and a request that opencode does not describe cannot be
// allowed.
func TestOpencodeAsks(t *testing.T) {
	allow := []mail.Offer{once, refuse}
	for name, tt := range map[string]struct {
		event, in string
		want      mail.Ask
	}{
		"command": {"permission.asked", bashOpencode, mail.Ask{Form: mail.FormCommand, Text: "touch a\u202e",
			Says: "Harmless", Dir: "/etc", Offers: []mail.Offer{once, {Verdict: mail.SayAllow, Rule: 1, Session: true,
				Writes: "bash: touch *, echo *, in all sessions of this opencode until it ends"}, refuse}}},
		"patch": {"permission.asked", `,"dialog":{"id":"per_2","permission":"edit","patterns":["a"],"always":[],` +
			`"metadata":{"filepath":"/srv/shop/a","diff":"-x\n+y\n"},"input":{"filePath":"/srv/shop/b"}}`,
			mail.Ask{Form: mail.FormPatch, Text: "-x\n+y\n", Path: "/srv/shop/a", Dir: "/srv/shop", Offers: allow}},
		"address": {"permission.asked", `,"dialog":{"id":"per_3","permission":"webfetch","patterns":["http://a"],` +
			`"metadata":{"url":"http://a","format":"text"}}`,
			mail.Ask{Form: mail.FormURL, Text: "http://a", Dir: "/srv/shop", Offers: allow}},
		"a server's tool": {"permission.asked", `,"dialog":{"id":"per_4","permission":"s_note","patterns":["*"],` +
			`"metadata":{},"input":{"text":"x"}}`,
			mail.Ask{Form: mail.FormJSON, Dir: "/srv/shop", Offers: allow, Text: "{\n  \"permission\": \"s_note\",\n" +
				"  \"patterns\": [\n    \"*\"\n  ],\n  \"input\": {\n    \"text\": \"x\"\n  }\n}"}},
		"of which nothing is known": {"permission.asked", `,"dialog":{"id":"per_4","permission":"s_note",` +
			`"metadata":{}}`, mail.Ask{Form: mail.FormJSON, Dir: "/srv/shop", Offers: allow, Cut: true,
			Text: "{\n  \"permission\": \"s_note\"\n}"}},
		"question": {"question.asked", `,"dialog":{"id":"que_1","questions":[{"question":"Which?","header":"DB",` +
			`"multiple":true,"custom":false,"options":[{"label":"A","description":"a"}]}]}`,
			mail.Ask{Dir: "/srv/shop", Offers: []mail.Offer{answer, {Verdict: mail.SayDeny}},
				Questions: []mail.AskedQuestion{{Header: "DB", Text: "Which?", Several: true,
					Options: []mail.Choice{{Label: "A", Note: "a"}}}}}},
	} {
		e, _ := says(t, "opencode", tt.event, tt.in)
		if e.Asks == nil {
			t.Errorf("%s: no dialog", name)
			continue
		}
		if diff := cmp.Diff(tt.want, e.Asks.Ask); diff != "" || !e.Asks.Beside || !e.Asks.Told {
			t.Errorf("%s: beside %t, told %t (-want +got):\n%s", name, e.Asks.Beside, e.Asks.Told, diff)
		}
	}
	long := strings.Repeat("x", mail.MaxAsk)
	e, _ := says(t, "opencode", "permission.asked", strings.ReplaceAll(bashOpencode, "touch a", long))
	if !e.Asks.Cut || len(e.Asks.Text) > mail.MaxAsk {
		t.Error("what is too long is not cut")
	}
	for _, in := range []string{"", `,"dialog":7`, `,"dialog":null`} {
		if e, _ := says(t, "opencode", "permission.asked", in); e.Asks != nil && e.Asks.Tool != "" {
			t.Errorf("%s opens %+v", in, e.Asks)
		}
	}
}

// TestOpencodeSettles: the same request ends its dialog and no other, with the outcome of the reply.
func TestOpencodeSettles(t *testing.T) {
	asked, _ := says(t, "opencode", "permission.asked", bashOpencode)
	h := &Held{Asked: *asked.Asks}
	for reply, want := range map[string]mail.DialogOutcome{"once": mail.DialogAllowed, "always": mail.DialogAllowed,
		"reject": mail.DialogDenied, "": mail.DialogEnded} {
		e, _ := says(t, "opencode", "permission.replied", bashOpencode+`,"reply":"`+reply+`"`)
		if how, over := e.Settles(h); !over || how != want {
			t.Errorf("%q ends it %t, %s; want %s", reply, over, how, want)
		}
		e, _ = says(t, "opencode", "permission.replied",
			strings.Replace(bashOpencode, "per_1", "per_2", 1)+`,"reply":"`+reply+`"`)
		if _, over := e.Settles(h); over {
			t.Error("the reply to another request of the same tool ends it")
		}
	}
	h.Opened = h.Opened.AddDate(1, 0, 0)
	for more, want := range map[string]bool{`"tool.execute.after","tool_use_id":"call_2"`: true,
		`"tool.execute.after","tool_use_id":"call_3"`: false, `"tool.execute.before","tool_use_id":"call_3"`: false,
		`"session.idle"`: true, `"dispose"`: true, `"experimental.text.complete"`: false} {
		in, _ := read([]byte(`{"session_id":"s1","hook_event_name":` + more + `}`))
		e := readOpencode("", in)
		if _, over := e.Settles(h); over != want {
			t.Errorf("%s ends it %t, want %t", more, over, want)
		}
	}
}

// TestOpencodeDecides: the plugin posts the form that opencode 1.18.33 was seen to accept.
func TestOpencodeDecides(t *testing.T) {
	question := `,"dialog":{"id":"que_1","questions":[{"question":"Which?"},{"question":"What?"}]}`
	for _, tt := range []struct {
		event, in string
		a         mail.DialogAnswer
		want      string
	}{
		{"permission.asked", bashOpencode, mail.DialogAnswer{Verdict: mail.SayAllow}, `{"reply":{"reply":"once"}}`},
		{"permission.asked", bashOpencode, mail.DialogAnswer{Verdict: mail.SayAllow, Rule: 1},
			`{"reply":{"reply":"always"}}`},
		{"permission.asked", bashOpencode, mail.DialogAnswer{Verdict: mail.SayDeny, Words: `not "here"`},
			`{"reply":{"reply":"reject","message":"not \"here\""}}`},
		{"permission.asked", bashOpencode, mail.DialogAnswer{Verdict: mail.SayDeny},
			`{"reply":{"reply":"reject","message":"The user has refused this."}}`},
		{"question.asked", question, mail.DialogAnswer{Verdict: mail.SayAnswer, Answers: []mail.QuestionAnswer{
			{Labels: []string{"A", "B"}, Words: "and"}, {Words: "own"}}},
			`{"reply":{"answers":[["A","B","and"],["own"]]}}`},
		{"question.asked", question, mail.DialogAnswer{Verdict: mail.SayDeny}, `{"reject":{}}`},
	} {
		e, in := says(t, "opencode", tt.event, tt.in)
		if got := decideOpencode(&e, in, &tt.a); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.a, got, tt.want)
		}
	}
}
