package claudeteams

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
)

// newTeamHQ returns a fixture with a Pennypost team, "parser", whose members are reader and writer.
func newTeamHQ(t *testing.T) *hq {
	h := &hq{dialecttest.New(t, Dialect()), t}
	h.Env["HOME"] = h.Dir
	h.verb("team", "create", "parser", "--member", "reader, writer", "--description", "Write <it>")
	h.Dir = filepath.Join(h.Dir, ".claude", "teams", "parser")
	h.Advance(time.Minute)
	return h
}

// verb runs a verb that must succeed.
func (h *hq) verb(words ...string) string {
	h.t.Helper()
	out, errs, err := h.Verb(words...)
	if err != nil || errs != "" {
		h.t.Fatalf("%v: %v %s", words, err, errs)
	}
	return out
}

// refused runs a verb that must fail with this code and text and leave the files unchanged.
func (h *hq) refused(code mail.Code, text string, words ...string) {
	h.t.Helper()
	before := h.files()
	_, _, err := h.Verb(words...)
	if mail.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), text) {
		h.t.Errorf("%v: %v (%s), want %s … %q", words, err, mail.CodeOf(err), code, text)
	}
	wantDiff(h.t, before, h.files())
}

func (h *hq) files() map[string]string {
	out := make(map[string]string)
	_ = filepath.WalkDir(filepath.Dir(filepath.Dir(h.Dir)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(path)
			out[path] = string(text)
		}
		return nil
	})
	return out
}

// entries returns the entries of an inbox.
func (h *hq) entries(name string) []entry {
	h.t.Helper()
	b := inboxAt(h.inbox(name), "parser", name)
	if _, err := b.load(); err != nil {
		h.t.Fatal(err)
	}
	var out []entry
	for _, l := range b.letters {
		if l.why != "" {
			h.t.Errorf("%s: %s", name, l.why)
		}
		out = append(out, l.entry)
	}
	return out
}

// last returns the last frame of an inbox.
func (h *hq) last(name string) (entry, frame) {
	h.t.Helper()
	all := h.entries(name)
	if len(all) == 0 {
		h.t.Fatalf("%s has no mail", name)
	}
	e := all[len(all)-1]
	f, ok := classify(e.Text)
	if !ok || !f.known() || e.Summary != "" {
		h.t.Errorf("%+v is no frame", e)
	}
	return e, f
}

var requestPattern = regexp.MustCompile(`\w+-\d+@\w+`)

func TestOwnTeam(t *testing.T) {
	h := newTeamHQ(t)
	t.Run("CC-01 layout", func(t *testing.T) {
		for _, dir := range []string{h.Dir, filepath.Join(h.Dir, "inboxes"),
			filepath.Join(h.Dir, "../../tasks/parser")} {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s: %v", dir, err)
			}
		}
		h.verb("team", "send", "parser", "reader", "hello", "--summary", "Greeting")
		wantDiff(t, []string{filepath.Join(h.Dir, "config.json"), h.inbox("reader")},
			slices.Sorted(maps.Keys(h.files())))
	})
	t.Run("config", func(t *testing.T) {
		cwd, _ := json.Marshal(filepath.Dir(filepath.Dir(filepath.Dir(h.Dir))))
		member := func(name, color string) string {
			return `,
    {
      "agentId": "` + name + `@parser",
      "name": "` + name + `",
      "agentType": "general-purpose",
      "model": "",
      "prompt": "",
      "color": "` + color + `",
      "planModeRequired": false,
      "joinedAt": 1778421600000,
      "tmuxPaneId": "in-process",
      "cwd": ` + string(cwd) + `,
      "subscriptions": [],
      "backendType": "in-process"
    }`
		}
		wantDiff(t, `{
  "name": "parser",
  "description": "Write <it>",
  "createdAt": 1778421600000,
  "leadAgentId": "team-lead@parser",
  "leadSessionId": "pennypost",
  "members": [
    {
      "agentId": "team-lead@parser",
      "name": "team-lead",
      "agentType": "team-lead",
      "model": "",
      "joinedAt": 1778421600000,
      "tmuxPaneId": "",
      "cwd": `+string(cwd)+`,
      "subscriptions": []
    }`+member("reader", "blue")+member("writer", "green")+`
  ]
}`, h.read(filepath.Join(h.Dir, "config.json")))
	})
	t.Run("CC-03 CC-13 CC-16 a message of the lead has no color and is not read", func(t *testing.T) {
		wantDiff(t, `[
  {
    "from": "team-lead",
    "text": "hello",
    "summary": "Greeting",
    "timestamp": "2026-05-10T14:01:00.000Z",
    "read": false
  }
]`, h.read(h.inbox("reader")))
	})
	t.Run("CC-16 a member's has its color", func(t *testing.T) {
		h.verb("team", "send", "parser", "reader", "psst", "--as", "writer")
		h.Sync()
		if e := h.entries("reader")[1]; e.Color != "green" || e.From != "writer" || e.Summary != "psst" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("CC-14 what members send through the room stands in the inbox at once", func(t *testing.T) {
		h.Send("writer", mail.Draft{To: mail.Recipients{"reader"}, Subject: "Draft", Body: "Please read"})
		if e := h.entries("reader")[2]; e.From != "writer" || e.Text != "Please read" || e.Summary != "Draft" ||
			e.Color != "green" || e.Read {
			t.Errorf("%+v", e)
		}
	})
	t.Run("CC-13 read is marked", func(t *testing.T) {
		wantDiff(t, []string{"hello", "psst", "Please read"}, h.bodies("reader"))
		if _, err := h.As("reader").Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
			t.Fatal(err)
		}
		for _, e := range h.entries("reader") {
			if !e.Read {
				t.Errorf("%q is not read", e.Text)
			}
		}
		id := h.item("psst").ID
		if _, err := h.As("reader").Mark(t.Context(),
			mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkUnread}); err != nil {
			t.Fatal(err)
		}
		if all := h.entries("reader"); !all[0].Read || all[1].Read || !all[2].Read {
			t.Errorf("%+v", all)
		}
		h.Sync()
		wantDiff(t, []string{"psst"}, h.bodies("reader"))
	})
	t.Run("X8 flags are found by what the entry says", func(t *testing.T) {
		id := h.Send("writer", mail.Draft{To: mail.Recipients{"reader"}, Body: "mark me"})
		text := h.read(h.inbox("reader"))
		stranger := entry{From: "writer", Text: "by a stranger, in front", Timestamp: at(90)}
		h.write(h.inbox("reader"), "[\n  "+string(stranger.neat())+","+text[1:])
		if _, err := h.As("reader").Mark(t.Context(),
			mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead}); err != nil {
			t.Fatal(err)
		}
		for _, e := range h.entries("reader") {
			if want := e.Text != "by a stranger, in front" && e.Text != "psst"; e.Read != want {
				t.Errorf("%q: read %v, want %v", e.Text, e.Read, want)
			}
		}
	})
	t.Run("CC-15 the lead is told while it waits", func(t *testing.T) {
		got := make(chan mail.Item, 1)
		go func() {
			it, _ := h.As("team-lead").Wait(t.Context(), mail.WaitQuery{})
			got <- it
		}()
		h.verb("team", "send", "parser", "team-lead", "done", "--as", "writer")
		if it := <-got; it.Body != "done" {
			t.Errorf("it got %+v", it)
		}
	})
	t.Run("CC-04 CC-05 times, and which have a summary", func(t *testing.T) {
		h.verb("team", "turn-end", "parser", "--agent", "writer")
		iso := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
		for _, e := range slices.Concat(h.entries("reader"), h.entries("team-lead")) {
			_, frame := classify(e.Text)
			if !iso.MatchString(e.Timestamp) || (e.Summary == "") != (frame || e.From == "writer" &&
				e.Timestamp == at(90)) {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("CC-17 no editing", func(t *testing.T) {
		for _, v := range Dialect().Verbs {
			if strings.Contains(v.Path, "edit") {
				t.Errorf("there is a verb %s", v.Path)
			}
		}
	})
	t.Run("CC-19 an export says to whom", func(t *testing.T) {
		for it, err := range h.As(mail.User).Export(t.Context()) {
			if err != nil || len(it.To) != 1 || it.To[0] == "" {
				t.Errorf("%+v, %v", it, err)
			}
		}
	})
}

func TestTurnEnd(t *testing.T) {
	h := newTeamHQ(t)
	h.verb("team", "turn-end", "parser", "--agent", "reader")
	h.verb("team", "turn-end", "parser", "--interrupted", "--summary", "[to writer] please rerun", "--as", "writer")
	t.Run("CC-06 idle_notification", func(t *testing.T) {
		wantDiff(t, `[
  {
    "from": "reader",
    "text": "{\"type\":\"idle_notification\",\"from\":\"reader\",\"timestamp\":\"2026-05-10T14:01:00.000Z\",\"idleReason\":\"available\"}",
    "timestamp": "2026-05-10T14:01:00.000Z",
    "color": "blue",
    "read": false
  },
  {
    "from": "writer",
    "text": "{\"type\":\"idle_notification\",\"from\":\"writer\",\"timestamp\":\"2026-05-10T14:01:00.000Z\",\"idleReason\":\"interrupted\",\"summary\":\"[to writer] please rerun\"}",
    "timestamp": "2026-05-10T14:01:00.000Z",
    "color": "green",
    "read": false
  }
]`, h.read(h.inbox("team-lead")))
	})
	t.Run("in the room it is a status", func(t *testing.T) {
		h.Sync()
		if it := h.item("idle: available"); it.Type != mail.Status || it.From != "agent:reader" {
			t.Errorf("%+v", it)
		}
	})
	t.Run("X11 idle notices that follow each other are one line", func(t *testing.T) {
		for range 3 {
			h.Advance(time.Second)
			h.verb("team", "turn-end", "parser", "--agent", "writer")
		}
		h.verb("team", "send", "parser", "team-lead", "hi", "--as", "writer")
		out := h.verb("team", "show", "parser", "team-lead")
		if n := strings.Count(out, "\n"); n != 3 || !strings.Contains(out, "idle: available (4 times)") {
			t.Errorf("it shows %s", out)
		}
		if out = h.verb("team", "show", "parser"); !strings.Contains(out,
			"team-lead  lead  6 unread, 1 of them plain") {
			t.Errorf("it shows %s", out)
		}
	})
	h.refused(mail.Invalid, "cannot notify itself", "team", "turn-end", "parser", "--agent", "team-lead")
	h.refused(mail.Invalid, "--agent", "team", "turn-end", "parser")
	h.refused(mail.Denied, "cannot act as", "team", "turn-end", "parser", "--agent", "reader", "--as", "writer")
}

func TestTasks(t *testing.T) {
	h := newTeamHQ(t)
	t.Run("CC-09 task_assignment", func(t *testing.T) {
		if out := h.verb("team", "task", "parser", "--subject", "Review", "--description", "Review store.go",
			"--owner", "reader"); out != "Task 1 is reader's.\n" {
			t.Errorf("it says %s", out)
		}
		wantDiff(t, `[
  {
    "from": "team-lead",
    "text": "{\"type\":\"task_assignment\",\"taskId\":\"1\",\"subject\":\"Review\",\"description\":\"Review store.go\",\"assignedBy\":\"team-lead\",\"timestamp\":\"2026-05-10T14:01:00.000Z\"}",
    "timestamp": "2026-05-10T14:01:00.000Z",
    "read": false
  }
]`, h.read(h.inbox("reader")))
		if it := h.item("Review store.go"); it.Type != mail.TaskAssigned || it.Issue != "parser#1" {
			t.Errorf("%+v", it)
		}
	})
	t.Run("CC-09 to oneself", func(t *testing.T) {
		h.verb("team", "task", "parser", "--subject", "Mine", "--owner", "writer", "--as", "writer")
		if e, f := h.last("writer"); e.From != "writer" || f.payload.string("assignedBy") != "writer" ||
			f.payload.string("taskId") != "2" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("given to another", func(t *testing.T) {
		h.verb("team", "task", "parser", "--id", "1", "--owner", "writer")
		if _, f := h.last("writer"); f.payload.string("subject") != "Review" {
			t.Errorf("%+v", f)
		}
		wantDiff(t, `{
  "id": "1",
  "subject": "Review",
  "description": "Review store.go",
  "owner": "writer",
  "status": "pending",
  "blocks": [],
  "blockedBy": []
}`, h.read(filepath.Join(h.Dir, "../../tasks/parser/1.json")))
	})
	h.refused(mail.NotFound, "not a member", "team", "task", "parser", "--subject", "x", "--owner", "nobody")
	h.refused(mail.Invalid, "not a valid task id", "team", "task", "parser", "--subject", "x", "--id", "../x")
	h.refused(mail.Invalid, "needs --subject", "team", "task", "parser", "--id", "7")
}

func TestShutdown(t *testing.T) {
	h := newTeamHQ(t)
	id := requestPattern.FindString(h.verb("team", "shutdown", "parser", "request", "reader", "--reason",
		"Thank you!"))
	t.Run("CC-07 shutdown_request", func(t *testing.T) {
		e, f := h.last("reader")
		if want := fmt.Sprintf("shutdown-%d@reader", e.sent); id != want || f.request() != want || f.at() != e.sent {
			t.Errorf("the request is %s at %v, want %s", f.request(), f.at(), want)
		}
		wantDiff(t, `{"type":"shutdown_request","requestId":"`+id+
			`","from":"team-lead","reason":"Thank you!","timestamp":"2026-05-10T14:01:00.000Z"}`, e.Text)
	})
	t.Run("CC-08 unknown request refused", func(t *testing.T) {
		h.refused(mail.NotFound, "open are "+id, "team", "shutdown", "parser", "approve", "shutdown-1@reader")
	})
	t.Run("CC-18 rejection keeps the worker", func(t *testing.T) {
		h.verb("team", "shutdown", "parser", "reject", id, "--reason", "still working", "--as", "reader")
		e, _ := h.last("team-lead")
		// X2
		wantDiff(t, `{"type":"shutdown_response","requestId":"`+id+`","approved":false,"content":"still working"}`,
			e.Text)
		if !strings.Contains(h.read(filepath.Join(h.Dir, "config.json")), `"reader"`) {
			t.Error("reader has gone")
		}
	})
	t.Run("a request is answered once", func(t *testing.T) {
		h.refused(mail.Conflict, "was rejected already; none is open", "team", "shutdown", "parser", "approve", id)
	})
	h.refused(mail.Denied, "cannot be shut down", "team", "shutdown", "parser", "request", "team-lead")
	h.refused(mail.Denied, "only team-lead", "team", "shutdown", "parser", "request", "reader", "--as", "writer")
	h.refused(mail.NotFound, "not a member", "team", "shutdown", "parser", "request", "nobody")
	h.refused(mail.Invalid, "use request, approve or reject", "team", "shutdown", "parser", "maybe", "x")
	h.Advance(time.Second)
	id = requestPattern.FindString(h.verb("team", "shutdown", "parser", "request", "reader"))
	t.Run("requests of one millisecond", func(t *testing.T) {
		h.refused(mail.Conflict, "exists already", "team", "shutdown", "parser", "request", "reader")
	})
	t.Run("only who was asked answers", func(t *testing.T) {
		h.refused(mail.Denied, "cannot answer it", "team", "shutdown", "parser", "approve", id, "--as", "writer")
		h.Register("stranger")
		h.refused(mail.Denied, "cannot act as", "team", "shutdown", "parser", "approve", id, "--as", "stranger")
	})
	t.Run("CC-18 X5 approval removes the worker and keeps its inbox", func(t *testing.T) {
		h.verb("team", "shutdown", "parser", "approve", id, "--as", "reader")
		e, _ := h.last("team-lead")
		wantDiff(t, `{"type":"shutdown_response","requestId":"`+id+`","approved":true}`, e.Text) // X1
		if strings.Contains(h.read(filepath.Join(h.Dir, "config.json")), `"reader"`) || !there(h.inbox("reader")) {
			t.Error("reader is there, or its inbox is not")
		}
		h.Sync()
		for _, a := range h.agents() {
			if strings.HasPrefix(a, "reader") && !strings.HasPrefix(a, "reader gone") {
				t.Errorf("the roster says %s", a)
			}
		}
	})
	t.Run("X10 a request from before the present instance joined is superseded", func(t *testing.T) {
		h.verb("team", "add", "parser", "reader")
		h.Advance(time.Second)
		old := requestPattern.FindString(h.verb("team", "shutdown", "parser", "request", "reader"))
		h.Advance(time.Second)
		// reader crashed and was started again
		cut := editConfig(locker{t.Context(), lockTries}, confined.At(h.Dir), func(c *config) error {
			c.remove("reader")
			c.add(newMember{name: "reader"}, mail.TimeOf(h.Now()))
			return nil
		})
		if cut != nil {
			t.Fatal(cut)
		}
		h.refused(mail.Conflict, "is older than reader", "team", "shutdown", "parser", "approve", old, "--as",
			"reader")
		if out := h.verb("team", "show", "parser"); !strings.Contains(out, "shutdown of reader: superseded  "+old) {
			t.Errorf("it shows %s", out)
		}
	})
}

// TestNativeShutdown: in a Claude Code team, answers have its format, and only Claude Code removes members.
func TestNativeShutdown(t *testing.T) {
	h := newHQ(t, "session-0a1b2c3d")
	h.put("team-lead", entry{From: "tester", Text: "t", Timestamp: at(0), native: true,
		MsgID: "00000000-0000-4000-8000-000000000011"})
	h.Advance(time.Minute)
	team := h.Dir
	id := requestPattern.FindString(h.verb("team", "shutdown", team, "request", "reviewer", "--reason", "done"))
	if e, _ := h.last("reviewer"); !e.native || !isUUID(mail.ID(e.MsgID)) {
		t.Errorf("%+v", e)
	}
	t.Run("X1 X2 shutdown_rejected", func(t *testing.T) {
		h.verb("team", "shutdown", team, "reject", id, "--reason", "busy", "--as", "reviewer")
		e, _ := h.last("team-lead")
		wantDiff(t, `{"type":"shutdown_rejected","requestId":"`+id+
			`","from":"reviewer","reason":"busy","timestamp":"2026-05-10T14:01:00.000Z"}`, e.Text)
	})
	t.Run("X1 shutdown_approved", func(t *testing.T) {
		h.Advance(time.Second)
		id = requestPattern.FindString(h.verb("team", "shutdown", team, "request", "reviewer"))
		h.verb("team", "shutdown", team, "approve", id, "--as", "reviewer")
		e, _ := h.last("team-lead")
		wantDiff(t, `{"type":"shutdown_approved","requestId":"`+id+
			`","from":"reviewer","timestamp":"2026-05-10T14:01:01.000Z","paneId":"in-process","backendType":"in-process"}`, e.Text)
		if !strings.Contains(h.read(filepath.Join(h.Dir, "config.json")), `"reviewer"`) {
			t.Error("reviewer was taken out")
		}
	})
	h.refused(mail.Denied, "run by Claude Code", "team", "add", team, "another")
	h.refused(mail.Denied, "run by Claude Code", "team", "task", team, "--subject", "x")
	h.refused(mail.Conflict, "run by Claude Code", "team", "delete", team)
}

func TestPlans(t *testing.T) {
	h := newTeamHQ(t)
	h.verb("team", "add", "parser", "planner", "--plan-mode", "--model", "opus", "--type", "planner", "--prompt",
		"Plan it")
	id := requestPattern.FindString(h.verb("team", "plan", "parser", "request", "# Plan\n1. x", "--as", "planner"))
	t.Run("CC-10 plan_approval_request", func(t *testing.T) {
		e, _ := h.last("team-lead")
		wantDiff(t, `{"type":"plan_approval_request","requestId":"`+id+`","from":"planner","plan":"# Plan\n1. x"}`,
			e.Text)
		if e.Color != "yellow" || id == "" {
			t.Errorf("%+v", e)
		}
		h.Sync()
		if it := h.item("# Plan\n1. x"); it.Type != mail.ReviewRequest {
			t.Errorf("%+v", it)
		}
	})
	h.refused(mail.Denied, "planModeRequired", "team", "plan", "parser", "request", "p", "--as", "reader")
	h.refused(mail.Invalid, "empty", "team", "plan", "parser", "request", " ", "--as", "planner")
	h.refused(mail.Denied, "only team-lead", "team", "plan", "parser", "approve", id, "--as", "planner")
	t.Run("CC-10 X3 plan_approval_response", func(t *testing.T) {
		h.verb("team", "plan", "parser", "reject", id, "--feedback", "smaller")
		e, _ := h.last("planner")
		wantDiff(t, `{"type":"plan_approval_response","requestId":"`+id+
			`","approved":false,"feedback":"smaller","timestamp":"2026-05-10T14:01:00.000Z"}`, e.Text)
		if it := h.item("smaller"); it.Type != mail.ReviewResult ||
			it.Metadata.Text("verdict") != "changes-requested" || it.ReplyTo != h.item("# Plan\n1. x").ID {
			t.Errorf("%+v", it)
		}
		h.refused(mail.Conflict, "rejected already", "team", "plan", "parser", "approve", id)
	})
	t.Run("from a file", func(t *testing.T) {
		h.Advance(time.Second)
		h.write(filepath.Join(h.Dir, "plan.md"), "from a file")
		h.verb("team", "plan", "parser", "request", "-", "--file", filepath.Join(h.Dir, "plan.md"), "--as", "planner")
		if _, f := h.last("team-lead"); f.payload.string("plan") != "from a file" {
			t.Errorf("%+v", f)
		}
	})
}

// TestMembersAreAgents: an agent that joins a Pennypost team keeps its roles and tags in the room, and keeps them
// when it leaves.
func TestMembersAreAgents(t *testing.T) {
	h := newTeamHQ(t)
	if _, err := h.As("codex").Register(t.Context(), mail.Presence{Client: "codex", Session: "s1",
		Roles: []string{"builder"}, Tags: []string{"project:inscription"}}); err != nil {
		t.Fatal(err)
	}
	h.verb("team", "add", "parser", "codex")
	wantDiff(t, "codex idle [builder] [project:inscription project:parser] codex", h.agents()[0])
	id := requestPattern.FindString(h.verb("team", "shutdown", "parser", "request", "codex"))
	h.verb("team", "shutdown", "parser", "approve", id)
	wantDiff(t, "codex idle [builder] [project:inscription] codex", h.agents()[0])
}

func TestNativePlan(t *testing.T) {
	h := newHQ(t, "session-0a1b2c3d")
	if err := editConfig(locker{t.Context(), lockTries}, confined.At(h.Dir), func(c *config) error {
		c.add(newMember{name: "planner", planMode: true}, mail.TimeOf(h.Now()))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	id := requestPattern.FindString(h.verb("team", "plan", h.Dir, "request", "# Plan", "--as", "planner"))
	e, _ := h.last("team-lead")
	// X3
	wantDiff(t,
		`{"type":"plan_approval_request","from":"planner","timestamp":"2026-05-10T14:00:00.000Z","planContent":"# Plan","requestId":"`+id+`"}`, e.Text)
}

// TestSigned: a frame that a member with a process of its own accepts only with the lead's signature is not written.
func TestSigned(t *testing.T) {
	h := newHQ(t, "session-0a1b2c3d")
	for _, name := range []string{"planner", "apart"} {
		if err := editConfig(locker{t.Context(), lockTries}, confined.At(h.Dir), func(c *config) error {
			c.add(newMember{name: name, planMode: true}, mail.TimeOf(h.Now()))
			if m := &c.members[len(c.members)-1]; name == "apart" {
				m.object = m.object.set("backendType", quote("tmux"))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	id := requestPattern.FindString(h.verb("team", "plan", h.Dir, "request", "# Plan", "--as", "apart"))
	for _, words := range [][]string{{"plan", h.Dir, "approve", id}, {"plan", h.Dir, "reject", id},
		{"shutdown", h.Dir, "request", "apart"}} {
		h.refused(mail.Denied, "only with the lead's signature (lead_sig)", append([]string{"team"}, words...)...)
	}
	if there(h.inbox("apart")) {
		t.Errorf("written all the same: %s", h.read(h.inbox("apart")))
	}
	h.verb("team", "shutdown", h.Dir, "request", "planner")
}

func TestRefusals(t *testing.T) {
	h := newTeamHQ(t)
	h.refused(mail.Invalid, "text is empty", "team", "send", "parser", "reader", " ")
	h.refused(mail.Invalid, "summary is empty", "team", "send", "parser", "reader", "x", "--summary", "")
	h.refused(mail.NotFound, `"nobody" is not a member of team parser; its members are team-lead, reader, writer`,
		"team", "send", "parser", "nobody", "x")
	h.refused(mail.NotFound, "not a member", "team", "send", "parser", "reader", "x", "--agent", "nobody")
	h.refused(mail.Invalid, "write to itself", "team", "send", "parser", "reader", "x", "--as", "reader")
	h.refused(mail.TooLarge, "at most", "team", "send", "parser", "reader", strings.Repeat("x", mail.MaxBody+1))
	h.refused(mail.NotFound, "There are parser.", "team", "send", "parsr", "reader", "x")
	h.refused(mail.Conflict, "already", "team", "create", "Parser")
	h.refused(mail.Invalid, "not a team name", "team", "create", "../up")
	h.refused(mail.Denied, "only the user and team-lead", "team", "add", "parser", "x", "--as", "reader")
	t.Run("X9 names that share a file", func(t *testing.T) {
		h.verb("team", "add", "parser", "a.b")
		h.refused(mail.Conflict, `the same inbox as "a.b"`, "team", "add", "parser", "a-b")
		h.refused(mail.Conflict, `the same inbox as "reader"`, "team", "add", "parser", "READER")
		h.verb("team", "add", "parser", "小克")
		h.refused(mail.Conflict, `the same inbox as "小克"`, "team", "add", "parser", "小西")
		h.refused(mail.Conflict, `the same inbox`, "team", "create", "other", "--member", "x,X")
		h.verb("team", "send", "parser", "小克", "hello")
		if !strings.Contains(h.read(h.inbox("--")), "hello") {
			t.Error("not in the file of its sanitised name")
		}
	})
	t.Run("colours in order", func(t *testing.T) {
		h.verb("team", "create", "many", "--member", "a,b,c,d,e,f,g,h,i")
		c, err := readConfig(confined.At(filepath.Join(filepath.Dir(h.Dir), "many")), configFile)
		var got []string
		for _, m := range c.members {
			got = append(got, m.color)
		}
		wantDiff(t, []string{"", "blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red", "blue"}, got)
		if err != nil {
			t.Error(err)
		}
	})
}

func TestDelete(t *testing.T) {
	h := newTeamHQ(t)
	h.verb("team", "send", "parser", "reader", "remember me")
	h.verb("team", "task", "parser", "--subject", "x")
	h.Send("user", mail.Draft{To: mail.Recipients{"writer"}, Body: "natively"})
	h.refused(mail.Conflict, "still has reader, writer", "team", "delete", "parser") // X6
	t.Run("CC-17 delete removes everything on disk", func(t *testing.T) {
		h.verb("team", "delete", "parser", "--force")
		wantDiff(t, map[string]string{}, h.files())
		for _, dir := range []string{h.Dir, filepath.Join(h.Dir, "../../tasks/parser")} {
			if there(dir) {
				t.Errorf("%s is there", dir)
			}
		}
		for _, b := range must(h.As(mail.User).Bridges(t.Context())) {
			t.Errorf("bridge %+v is there", b)
		}
	})
	t.Run("the room keeps its mail", func(t *testing.T) {
		h.item("remember me")
		for _, a := range h.agents() {
			if !strings.Contains(a, " gone ") {
				t.Errorf("the roster says %s", a)
			}
		}
	})
	t.Run("unless it is told otherwise", func(t *testing.T) {
		h.verb("team", "create", "parser")
		h.verb("team", "delete", "parser", "--erase")
		var left []string
		for _, it := range h.History() {
			left = append(left, it.Body)
		}
		wantDiff(t, []string{"natively"}, left)
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestImport(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixtures(t))); err != nil {
		t.Fatal(err)
	}
	// Below a release's number are all versions of each file, not a team.
	if err := os.RemoveAll(filepath.Join(dir, "2.1.330")); err != nil {
		t.Fatal(err)
	}
	h := newHQ(t, "alpha")
	var out []took
	run := func() {
		t.Helper()
		text, _, err := h.Verb("team", "import", dir, "--json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run()
	byTeam := make(map[string]took)
	messages := 0
	for _, o := range out {
		byTeam[o.Team] = o
		messages += o.Messages
		if o.Added != o.Messages || o.Skipped != 0 {
			t.Errorf("%+v", o)
		}
	}
	for team, want := range map[string]took{
		"humble-chasing-goose": {"humble-chasing-goose", filepath.Join(dir, "humble-chasing-goose"), 6, 3, 6, 0, 0},
		"session-0a1b2c3d": {"session-0a1b2c3d", filepath.Join(dir, "synthetic", "session-0a1b2c3d", "inboxes"), 19, 4,
			19, 0, 4},
	} {
		if diff := cmp.Diff(want, byTeam[team]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", team, diff)
		}
	}
	if n := len(h.History()); n != messages {
		t.Errorf("the room has %d messages, want %d", n, messages)
	}
	t.Run("again", func(t *testing.T) {
		run()
		for _, o := range out {
			if o.Added != 0 || o.Skipped != o.Messages {
				t.Errorf("%+v", o)
			}
		}
	})
	t.Run("leads of several teams are several agents", func(t *testing.T) {
		leads := 0
		for _, a := range h.agents() {
			if strings.HasPrefix(a, "team-lead") {
				leads++
				if !strings.Contains(a, " gone [team-lead] ") {
					t.Errorf("the roster says %s", a)
				}
			}
		}
		if leads != len(byTeam) {
			t.Errorf("%d leads of %d teams", leads, len(byTeam))
		}
	})
	t.Run("one by one", func(t *testing.T) {
		h := &hq{dialecttest.New(t, Dialect()), t}
		for _, sub := range []string{"humble-chasing-goose", "moonlit-chasing-meerkat", "synthetic/session-0a1b2c3d",
			"synthetic"} {
			if _, _, err := h.Verb("team", "import", filepath.Join(dir, sub)); err != nil {
				t.Error(err)
			}
		}
		if n := len(h.History()); n != 6+byTeam["moonlit-chasing-meerkat"].Messages+19 {
			t.Errorf("the room has %d messages", n)
		}
	})
	h.refused(mail.NotFound, "no team in", "team", "import", t.TempDir())
	h.refused(mail.NotFound, "no directory", "team", "import", filepath.Join(dir, "nowhere"))
}

// TestBridgeFixture: an import of a captured team gives the same result as a bridge to it.
func TestBridgeFixture(t *testing.T) {
	src := filepath.Join(fixtures(t), "synthetic", "session-0a1b2c3d")
	h := &hq{dialecttest.New(t, Dialect()), t}
	h.Dir = filepath.Join(h.Dir, "teams", "session-0a1b2c3d")
	if err := os.CopyFS(h.Dir, os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	before := h.files()
	st := h.Bridge("")
	if st.Failing != "" || st.Imported != 19 || st.Rejected != 4 {
		t.Errorf("the bridge says %+v", st)
	}
	wantDiff(t, before, h.files())
	ids := make(map[mail.ID]bool)
	for _, it := range h.History() {
		ids[it.ID] = true
	}
	other := &hq{dialecttest.New(t, Dialect()), t}
	if _, _, err := other.Verb("team", "import", h.Dir); err != nil {
		t.Fatal(err)
	}
	for _, it := range other.History() {
		if !ids[it.ID] {
			t.Errorf("%s is another message by import", it.ID)
		}
	}
}
