package codexdialogs

import (
	"encoding/json"
	"strings"
	"testing"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/appserver"
)

// asked reads a request as the server sends it.
func asked(method, params string, changes ...change) *request {
	return readRequest(&appserver.Message{ID: jsonx.Value("7"), Method: method, Params: jsonx.Value(params)},
		map[string][]change{"call_1": changes})
}

// Requests as Codex 0.169.0 was seen to send them.
const (
	commandMethod = "item/commandExecution/requestApproval"
	patchMethod   = "item/fileChange/requestApproval"
	askMethod     = "item/tool/requestUserInput"
	formMethod    = "mcpServer/elicitation/request"

	command = `{"kind":"command","threadId":"t","turnId":"u","itemId":"call_1","startedAtMs":1,"environmentId":"local",
		"reason":"I need it","command":"/bin/bash -lc 'touch a'","cwd":"/srv","proposedExecpolicyAmendment":["touch"],
		"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}},"cancel"]}`
	question = `{"threadId":"t","turnId":"u","itemId":"call_1","isBlocking":true,"questions":[{"id":"db","header":"DB",
		"question":"Which?","isOther":true,"isSecret":false,"options":[{"label":"SQLite","description":"small"}]}]}`
	tool = `{"threadId":"t","serverName":"probe","mode":"form","message":"Allow?",
		"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"note","tool_params":{"a":1},
		"persist":["session","always"]},"requestedSchema":{"type":"object","properties":{}}}`
)

// Requests are shown whole, and each answer is one that Codex was seen to accept.
func TestRequests(t *testing.T) {
	allow, deny := mail.DialogAnswer{Verdict: mail.SayAllow}, mail.DialogAnswer{Verdict: mail.SayDeny}
	rule := func(n int) mail.DialogAnswer { return mail.DialogAnswer{Verdict: mail.SayAllow, Rule: n} }
	says := func(a mail.QuestionAnswer) mail.DialogAnswer {
		return mail.DialogAnswer{Verdict: mail.SayAnswer, Answers: []mail.QuestionAnswer{a}}
	}
	added := change{Path: "/srv/a", Diff: "x\ny"}
	added.Kind.Type = "add"
	for name, tt := range map[string]struct {
		r       *request
		text    string
		answers map[string]mail.DialogAnswer // by the reply
		refused []mail.DialogAnswer
	}{
		"command": {asked(commandMethod, command), "touch a", map[string]mail.DialogAnswer{
			`{"decision":"accept"}`:  allow,
			`{"decision":"decline"}`: deny,
			`{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}}`: rule(2),
		}, []mail.DialogAnswer{rule(1), rule(3), rule(4), {Verdict: mail.SayDeny, Words: "no"},
			{Verdict: mail.SayAnswer}}},
		"command with the network": {asked(commandMethod, strings.Replace(command, `"kind"`,
			`"networkApprovalContext":{"host":"a","protocol":"https"},"kind"`, 1)), "", map[string]mail.DialogAnswer{
			`{"decision":"decline"}`: deny}, []mail.DialogAnswer{allow, rule(1)}},
		"input of a terminal": {asked(commandMethod, strings.Replace(command, `"command",`, `"writeStdin",`, 1)), "",
			map[string]mail.DialogAnswer{`{"decision":"decline"}`: deny}, []mail.DialogAnswer{allow}},
		"patch": {asked(patchMethod, `{"threadId":"t","itemId":"call_1","reason":null,"grantRoot":null}`, added),
			"*** Add File: /srv/a\n+x\n+y\n", map[string]mail.DialogAnswer{
				`{"decision":"accept"}`: allow, `{"decision":"decline"}`: deny,
				`{"decision":"acceptForSession"}`: rule(1)}, []mail.DialogAnswer{rule(2)}},
		"patch of unknown files": {asked(patchMethod, `{"threadId":"t","itemId":"call_1"}`), "",
			map[string]mail.DialogAnswer{`{"decision":"decline"}`: deny}, []mail.DialogAnswer{allow, rule(1)}},
		"patch that grants a root": {asked(patchMethod, `{"threadId":"t","itemId":"call_1","grantRoot":"/"}`, added),
			"*** Add File: /srv/a\n+x\n+y\n", map[string]mail.DialogAnswer{`{"decision":"decline"}`: deny},
			[]mail.DialogAnswer{allow}},
		"question": {asked(askMethod, question), "", map[string]mail.DialogAnswer{
			`{"answers":{"db":{"answers":["SQLite"]}}}`: says(mail.QuestionAnswer{Labels: []string{"SQLite"}}),
			`{"answers":{"db":{"answers":["None of the above","user_note: DuckDB"]}}}`: says(
				mail.QuestionAnswer{Words: "DuckDB"}),
		}, []mail.DialogAnswer{allow, deny, {Verdict: mail.SayAnswer},
			says(mail.QuestionAnswer{Labels: []string{"Oracle"}}), says(mail.QuestionAnswer{})}},
		"tool of a server": {asked(formMethod, tool), "{\n  \"a\": 1\n}", map[string]mail.DialogAnswer{
			`{"action":"accept","content":{},"_meta":null}`:                  allow,
			`{"action":"decline","content":null,"_meta":null}`:               deny,
			`{"action":"accept","content":{},"_meta":{"persist":"session"}}`: rule(1),
			`{"action":"accept","content":{},"_meta":{"persist":"always"}}`:  rule(2),
		}, []mail.DialogAnswer{rule(3)}},
		"form": {asked(formMethod, `{"threadId":"t","serverName":"probe","mode":"form","message":"Who?","_meta":null,
			"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`),
			"",
			map[string]mail.DialogAnswer{`{"action":"decline","content":null,"_meta":null}`: deny},
			[]mail.DialogAnswer{allow}},
		"permissions": {asked("item/permissions/requestApproval", `{"threadId":"t","itemId":"call_1"}`), "", nil,
			[]mail.DialogAnswer{allow, deny}},
	} {
		if tt.r == nil {
			t.Errorf("%s is not read", name)
			continue
		}
		if tt.text != "" && tt.r.Text != tt.text {
			t.Errorf("%s shows %q, want %q", name, tt.r.Text, tt.text)
		}
		for want, a := range tt.answers {
			got, _ := json.Marshal(tt.r.answer(&a))
			if string(got) != want {
				t.Errorf("%s: %+v is replied as %s, want %s", name, a, got, want)
			}
		}
		for _, a := range tt.refused {
			if got := tt.r.answer(&a); got != nil {
				t.Errorf("%s: %+v is replied as %+v", name, a, got)
			}
		}
	}
}

// A message that is no request to a person, or that has an unexpected form, is not shown here.
func TestRequestsOfOtherForm(t *testing.T) {
	for _, tt := range [][2]string{
		{"item/tool/call", command}, {"account/chatgptAuthTokens/refresh", `{}`}, {"attestation/generate", `{}`},
		{"execCommandApproval", command}, {commandMethod, `[]`}, {commandMethod, `{"command":7}`},
		{commandMethod, `{"command":"ls"}`}, {askMethod, `{"itemId":"call_1","questions":[]}`},
		{askMethod, `{"itemId":"call_1","questions":[7]}`}, {formMethod, `{"mode":7}`}, {patchMethod, `{}`},
		{commandMethod, ``},
	} {
		if r := asked(tt[0], tt[1]); r != nil {
			t.Errorf("%s of %s is read as %+v", tt[0], tt[1], r)
		}
	}
	twice := strings.Replace(question, `"questions":[`, `"questions":[{"id":"db","question":"And?"},`, 1)
	if r := asked(askMethod, twice); r == nil || len(r.Offers) > 0 {
		t.Errorf("two questions of one id can be answered: %+v", r)
	}
	if a, b := asked(commandMethod, command), asked(commandMethod, strings.Replace(command, "touch a", "touch b",
		1)); a.Sum == b.Sum {
		t.Error("two commands have one sum")
	}
}

// A command that Codex runs in a shell is shown as the shell gets it, and every other command line unchanged.
func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		`/bin/bash -lc 'touch a'`:              "touch a",
		`/bin/zsh -lc ls`:                      "ls",
		`bash -c "it's a \"test\" \\ \$HOME"`:  `it's a "test" \ $HOME`,
		`bash -lc 'a'"'"'b'`:                   "a'b",
		`bash -lc 'ls'; rm -rf x`:              `bash -lc 'ls'; rm -rf x`,
		`bash -lc "$(rm x)"`:                   `bash -lc "$(rm x)"`,
		`bash -lc 'ls' x`:                      `bash -lc 'ls' x`,
		`bash -lc 'ls`:                         `bash -lc 'ls`,
		`python -c 'print(1)'`:                 `python -c 'print(1)'`,
		"bash -lc 'rm x\n# ls'":                "rm x\n# ls",
		`bash  -lc 'ls'`:                       `bash  -lc 'ls'`,
		``:                                     ``,
		`A=1 bash -lc 'ls'`:                    `A=1 bash -lc 'ls'`,
		`/bin/bash -lc "a` + "`" + `b` + "`\"": `/bin/bash -lc "a` + "`" + `b` + "`\"",
	} {
		if got := script(line); got != want {
			t.Errorf("script(%q) = %q, want %q", line, got, want)
		}
	}
}

// A request of any length fits the limits of a room and the desk. One that is not shown exactly cannot be allowed.
func TestRequestsAreBounded(t *testing.T) {
	long, huge := strings.Repeat("é", mail.MaxName), strings.Repeat("é", mail.MaxAsk)
	for name, r := range map[string]*request{
		"long name":        asked(formMethod, strings.Replace(tool, "probe", long, 1)),
		"name with lines":  asked(formMethod, strings.Replace(tool, "probe", `a\r\nb\u0000`, 1)),
		"name not in text": asked(formMethod, strings.Replace(tool, "probe", "a\xff", 1)),
		"long question":    asked(askMethod, strings.Replace(question, "Which?", huge, 1)),
		"long option":      asked(askMethod, strings.Replace(question, "small", huge, 1)),
		"long rule":        asked(commandMethod, strings.Replace(command, `["touch"]}`, `["`+huge+`"]}`, 1)),
		"long directory":   asked(commandMethod, strings.Replace(command, "/srv", huge, 1)),
		"command not text": asked(commandMethod, strings.Replace(command, "touch a", "touch \xff", 1)),
	} {
		if r == nil {
			t.Errorf("%s: nothing is asked", name)
			continue
		}
		c := mail.DialogChange{Dialog: r.Dialog, Agent: "ann", Session: "t"}
		c.ID = "d-1"
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		held, err := json.Marshal(r.Ask)
		if len(held) > 2*mail.MaxAsk || err != nil || !r.Cut {
			t.Errorf("%s: %d bytes are held, cut %t: %v", name, len(held), r.Cut, err)
		}
		if r.answer(&mail.DialogAnswer{Verdict: mail.SayAllow}) != nil {
			t.Errorf("%s: it is allowed unseen", name)
		}
	}
	if r := asked(commandMethod, strings.Replace(command, "call_1", huge, 1)); r != nil {
		t.Errorf("an item of %d bytes is known", len(r.Use))
	}
}

// A path with line breaks does not add lines to a patch.
func TestPatchShowsPaths(t *testing.T) {
	c := change{Path: "a\n+++ b", Diff: "@@ -1 +1 @@\n-x\n+y\n"}
	c.Kind.Type, c.Kind.Move = "update", "c\rd"
	want := "*** Update File: \"a\\n+++ b\"\n*** Move to: \"c\\rd\"\n@@ -1 +1 @@\n-x\n+y\n"
	if got := patch([]change{c}); got != want {
		t.Errorf("the patch is %q, want %q", got, want)
	}
}

// Parsing a request never panics, and only offered answers are sent.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{command, question, tool, `{"itemId":"call_1"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, params string) {
		for _, method := range []string{commandMethod, patchMethod, askMethod, formMethod,
			"item/permissions/requestApproval"} {
			if !json.Valid([]byte(params)) {
				return
			}
			r := asked(method, params)
			if r == nil {
				continue
			}
			for _, a := range []mail.DialogAnswer{{Verdict: mail.SayAllow}, {Verdict: mail.SayDeny},
				{Verdict: mail.SayAllow, Rule: 1}, {Verdict: mail.SayAllow, Rule: 2},
				{Verdict: mail.SayAnswer, Answers: make([]mail.QuestionAnswer, len(r.Questions))}} {
				if got := r.answer(&a); got != nil && r.Fits(&a) != nil {
					t.Errorf("%+v of %s is replied as %+v", a, params, got)
				}
			}
			if len(r.Text) > mail.MaxAsk {
				t.Errorf("%d bytes are held", len(r.Text))
			}
		}
	})
}
