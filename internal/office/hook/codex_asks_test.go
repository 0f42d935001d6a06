package hook

import (
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// An event that says that a dialog of Codex is over does no harm, although no hook of Codex sends one.
func TestCodexDialogOver(t *testing.T) {
	in, err := read([]byte(`{"session_id":"s1","hook_event_name":"PermissionRequest","tool_name":"Bash",
		"tool_input":{"command":"ls"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := FindClient("codex")
	for _, typed := range []string{"", wire.DialogOverEvent} {
		e := c.read(typed, in)
		e.noted(&e, e.Tool, "call_1", e.Input)
		if over := typed != ""; over != (e.Asks == nil) {
			t.Errorf("%q opens %+v", typed, e.Asks)
		} else if !over && (e.Asks.Kind != mail.AsksPermission || e.Asks.Use != "call_1") {
			t.Errorf("%q opens %+v", typed, e.Asks)
		}
	}
}
