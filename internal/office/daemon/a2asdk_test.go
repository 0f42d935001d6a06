package daemon

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestA2ASDK runs the protocol's own SDK for JavaScript, at $A2A_SDK, as a guest. See ./test.
func TestA2ASDK(t *testing.T) {
	sdk := os.Getenv("A2A_SDK")
	node, err := exec.LookPath("node")
	if sdk == "" || err != nil {
		t.Skip("@a2a-js/sdk is not there: ./test installs it, where there are npm and node 20")
	}
	r, _ := guestsOf(t)
	cmd := exec.CommandContext(t.Context(), node, "testdata/a2a.mjs", sdk, r.place.HTTP+"/a2a/shop",
		r.guestToken(t, "acme"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	type line struct {
		What, ID, Name, Kind, State, Result, Error string
		Skills, Told                               []string
		All                                        int
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Errorf("the client says %q", lines.Text())
			continue
		}
		switch l.What {
		case "card":
			if l.Name != "builder-1" || !slices.Equal(l.Skills, []string{"role:builder"}) {
				t.Errorf("cards: %+v", l)
			}
		case "event":
			switch {
			case l.Kind == "task":
				r.a2aReply(t, "builder-1", l.ID, mail.Draft{Type: "question", Body: "Which colour?"})
			case l.State == "TASK_STATE_WORKING":
				r.a2aReply(t, "builder-1", l.ID, mail.Draft{Type: "task-done", Body: "It is red"})
			}
			continue
		case "done":
			if l.Result != "It is red" {
				t.Errorf("the result is %q", l.Result)
			}
			l.State += " " + strings.Join(l.Told, ",")
		case "push":
			if l.ID != "mine" || l.All != 1 {
				t.Errorf("pushes: %+v", l)
			}
		case "list":
			if l.All != 2 {
				t.Errorf("a list has %d tasks, want 2", l.All)
			}
		}
		said = append(said, strings.TrimSpace(l.What+" "+l.State+l.Error))
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	want := []string{"card", "sent TASK_STATE_SUBMITTED", "done TASK_STATE_COMPLETED TASK_STATE_SUBMITTED," +
		"TASK_STATE_INPUT_REQUIRED,TASK_STATE_WORKING,artifact,TASK_STATE_COMPLETED", "push",
		"canceled TASK_STATE_CANCELED", "list", "wrong JsonRpcTaskNotFoundError", "wrong JsonRpcTaskNotFoundError"}
	if !slices.Equal(said, want) {
		t.Errorf("the client says\n%q\nwant\n%q", said, want)
	}
}
