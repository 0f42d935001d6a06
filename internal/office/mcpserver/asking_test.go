package mcpserver

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestAskingIsListed: agents see that another waits for its person, and since when, but not the question.
func TestAskingIsListed(t *testing.T) {
	room := openRoom(t)
	bea := room.As("bea")
	_, err := bea.Register(t.Context(), mail.Presence{Name: "bea", Session: "s1", State: mail.Working})
	if err == nil {
		err = bea.Dialog(t.Context(), mail.DialogChange{Agent: "bea", Session: "s1", Dialog: mail.Dialog{ID: "d-one",
			Kind: mail.AsksPermission, Tool: "mcp__secret__tool", Sum: strings.Repeat("ab", 32)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	ann := connectNative(t, room, "ann")
	for args, want := range map[string]int{`{}`: 1, `{"state":"asking"}`: 1, `{"state":"working"}`: 0} {
		text, _ := use(t, ann, "list_agents", args)
		if strings.Contains(text, "secret") {
			t.Errorf("list_agents%s tells what is asked: %s", args, text)
		}
		var r roster
		if msg := call(t, ann, "list_agents", args, &r); msg != "" {
			t.Fatalf("list_agents%s: %s", args, msg)
		}
		asking := 0
		for _, a := range r.Agents {
			if a.Name == "bea" && a.State == mail.Asking && a.Asking != 0 {
				asking++
			}
		}
		if asking != want {
			t.Errorf("list_agents%s lists %d who ask and since when, want %d: %s", args, asking, want, text)
		}
	}
}
