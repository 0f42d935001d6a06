package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// Input and answers of Antigravity CLI, as seen in 1.2.7. It takes one JSON object from each hook, and rejects unknown
// members.
func TestAgy(t *testing.T) {
	b := newFixture(t)
	entered := 0
	fire := func(event, more, workspace string) (told string, goesOn bool) {
		t.Helper()
		in := fmt.Sprintf(`{"conversationId":"c1","transcriptPath":"/nowhere","workspacePaths":[%s]%s}`, workspace,
			more)
		p := pipe("agy", event, strings.NewReader(in), func(_ context.Context, e *hook.Event) (*hook.Mailbox, error) {
			if entered++; e.Session.Dir != "/srv/shop" || e.Session.ID != "c1" {
				t.Errorf("%s is of session %q in %q", event, e.Session.ID, e.Session.Dir)
			}
			return &hook.Mailbox{Room: "lab", Agent: "ann", As: func(n mail.Name) (hook.Service, error) {
				return b.as(n), nil
			}}, nil
		})
		var out bytes.Buffer
		p.Stdout = &out
		if exit := p.Run(b.Context()); exit != 0 {
			t.Errorf("%s: exit %d", event, exit)
		}
		var says struct {
			Steps []struct {
				Message string `json:"ephemeralMessage"`
			} `json:"injectSteps"`
			Decision, Reason string
		}
		d := json.NewDecoder(&out)
		d.DisallowUnknownFields()
		if err := d.Decode(&says); err != nil || d.More() || event == "Stop" && len(says.Steps) > 0 ||
			event != "Stop" && says.Decision != "" {
			t.Fatalf("%s is answered with what the client refuses: %v %+v", event, err, says)
		}
		for _, s := range says.Steps {
			told += s.Message
		}
		return told + says.Reason, says.Decision == "continue"
	}
	const here = `"/srv/shop"`
	says := func(what, told, want string) {
		t.Helper()
		if (want == "") != (told == "") || strings.Count(told, want) < 1 {
			t.Errorf("%s: the model is told %q, want %q", what, told, want)
		}
	}
	told, _ := fire("PreInvocation", `,"invocationNum":0,"initialNumSteps":1`, "")
	if says("agy -p", told, ""); entered > 0 {
		t.Error("a hook without a project has entered a room")
	}
	fire("Stop", `,"executionNum":0,"error":""`, here) // ann exists now
	b.send("ann", "one")
	told, _ = fire("PreInvocation", `,"invocationNum":0,"initialNumSteps":1`, here)
	says("a turn's beginning", told, "one")
	b.send("ann", "status", typed(mail.Status))
	b.send("ann", "two")
	told, _ = fire("PreInvocation", `,"invocationNum":1,"initialNumSteps":4`, here)
	if says("between two requests", told, "two"); strings.Contains(told, "status") || strings.Contains(told, ">one") {
		t.Errorf("between two requests it is told %q", told)
	}
	b.wantAgent("ann", mail.Working)
	b.send("ann", "three")
	const ends = `,"terminationReason":"NO_TOOL_CALL","error":"","fullyIdle":true,"executionNum":`
	told, goesOn := fire("Stop", ends+"0", here)
	if says("a turn's end", told, "three"); !goesOn {
		t.Error("the turn does not go on")
	}
	told, goesOn = fire("Stop", ends+"1", here)
	if says("the end", told, ""); goesOn {
		t.Error("the turn goes on for nothing")
	}
	b.wantAgent("ann", mail.Idle)
	b.send("ann", "four")
	fire("PreInvocation", `,"invocationNum":0`, here)
	b.send("ann", "five")
	if told, goesOn = fire("Stop", `,"executionNum":0,"error":"quota"`, here); goesOn {
		t.Errorf("a turn that failed goes on with %q", told)
	}
	b.wantAgent("ann", mail.Idle)
}
