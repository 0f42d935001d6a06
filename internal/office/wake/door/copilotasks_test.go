package door

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// Dialogs are read from lines as Copilot CLI 1.0.102 wrote them, shortened.
func TestCopilotAsking(t *testing.T) {
	const (
		before   = `{"type":"hook.start","data":{"hookInvocationId":"h1","hookType":"permissionRequest"}}`
		behind   = `{"type":"hook.end","data":{"hookInvocationId":"h1","hookType":"permissionRequest"}}`
		asked    = `{"type":"permission.requested","data":{"requestId":"r1","permissionRequest":{"kind":"shell"}}}`
		approved = `{"type":"permission.completed","data":{"requestId":"r1","result":{"kind":"approved"}}}`
		denied   = `{"type":"permission.completed","data":{"requestId":"r1","result":` +
			`{"kind":"denied-interactively-by-user"}}}`
		nobody = `{"type":"permission.completed","data":{"requestId":"r1","decisionSource":"unattended_fallback",` +
			`"result":{"kind":"denied-no-approval-rule-and-could-not-request-from-user"}}}`
		other    = `{"type":"permission.completed","data":{"requestId":"r2","result":{"kind":"approved"}}}`
		asks     = `{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"ask_user"}}`
		answered = `{"type":"tool.execution_complete","data":{"toolCallId":"c1","result":{"content":"x"}}}`
		runs     = `{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"bash"}}`
		ran      = `{"type":"tool.execution_complete","data":{"toolCallId":"c2","result":{"content":"x"}}}`
	)
	for name, tt := range map[string]struct {
		lines  []string
		stands bool
		how    mail.DialogOutcome
	}{
		"nothing asked":         {[]string{runs, ran}, false, ""},
		"a hook waits":          {[]string{runs, before}, true, ""},
		"it stands":             {[]string{runs, before, behind, asked}, true, ""},
		"allowed":               {[]string{runs, asked, approved}, false, mail.DialogAllowed},
		"refused":               {[]string{runs, asked, denied}, false, mail.DialogDenied},
		"nobody there":          {[]string{runs, asked, nobody}, false, mail.DialogDenied},
		"Esc":                   {[]string{runs, asked, copilotAbort, copilotClosed}, false, mail.DialogEnded},
		"another was answered":  {[]string{runs, asked, other}, true, mail.DialogAllowed},
		"a question":            {[]string{asks, runs, ran}, true, ""},
		"a question, answered":  {[]string{asks, answered}, false, mail.DialogAnswered},
		"a question, and Esc":   {[]string{asks, copilotAbort}, false, mail.DialogEnded},
		"while the hook waits":  {[]string{before, copilotAbort}, false, mail.DialogEnded},
		"a line is being begun": {[]string{asked, approved[:30]}, true, ""},
	} {
		d := asking([]byte(strings.Join(tt.lines, "\n")))
		if d.Open != tt.stands || d.How != tt.how || d.Nobody != (name == "nobody there") {
			t.Errorf("%s: %+v; want %t, %q", name, d, tt.stands, tt.how)
		}
	}
}
