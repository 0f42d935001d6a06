package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func teamsItems() []item {
	return []item{
		{id: "CC-01", says: "~/.claude/teams/TEAM/inboxes/AGENT.json", holds: ccLayout},
		{id: "CC-02", says: "an inbox is an array of all mail to its agent", holds: ccArray},
		{id: "CC-03", says: "from, text, timestamp, read; summary?, color?; no to, no id", holds: ccKeys},
		{id: "CC-04", says: "the timestamp is ISO 8601 in UTC with milliseconds", holds: ccTimes},
		{id: "CC-05", says: "plain messages have a summary, protocol messages none", holds: ccSummary},
		{id: "CC-06", says: "idle_notification at the end of every turn", holds: ccIdle},
		{id: "CC-07", says: "shutdown_request, with an id of time and recipient", holds: ccShutdown},
		{id: "CC-08", says: "shutdown_response with the same id", holds: ccResponse},
		{id: "CC-09", says: "task_assignment, sent automatically", holds: ccTask},
		{id: "CC-10", says: "plan_approval_request and its response", holds: ccPlan},
		{id: "CC-11", says: "a protocol message is JSON in a string of JSON", holds: ccDouble},
		{id: "CC-12", says: "how to tell what a message is", holds: ccClassify},
		{id: "CC-13", says: "read is false, and true once it was processed", holds: ccRead},
		{id: "CC-14", says: "sending is atomic, under a lock", holds: ccAtomic, also: ccWhole},
		{id: "CC-15", says: "the recipient sees it at its next turn, or immediately", holds: ccAtOnce, also: ccLead},
		{id: "CC-16", says: "color is the sender's; the lead has none", holds: ccColor},
		{id: "CC-17", says: "messages stay until TeamDelete, which takes everything", holds: ccDelete,
			differs: "The room keeps its own copy of the mail, because a post office loses none. `team delete " +
				"--erase` removes that too."},
		{id: "CC-18", says: "a shutdown has two phases, and may be refused", holds: ccTwoPhases},
		{id: "CC-19", says: "the file identifies the recipient", holds: ccRecipient},
	}
}

// ccEntry is an entry of an inbox.
type ccEntry struct {
	From      string `json:"from"`
	Text      string `json:"text"`
	Summary   string `json:"summary"`
	Timestamp string `json:"timestamp"`
	Color     string `json:"color"`
	Read      bool   `json:"read"`
}

// ccTeam is a team of Pennypost's own, parser, with the members reader and writer. HOME is the project.
type ccTeam struct{ *office }

const ccDir = ".claude/teams/parser/"

func newTeam(t *testing.T, o *office, members ...string) ccTeam {
	t.Helper()
	tm := ccTeam{o.project(t)}
	tm.env = append(tm.env, "HOME="+tm.dir)
	members = append([]string{"reader", "writer"}, members...)
	tm.must(t, "team", "create", "parser", "--member", strings.Join(members, ","), "--description", "Write the parser")
	return tm
}

// verb runs a verb of the team.
func (tm ccTeam) verb(t *testing.T, verb string, more ...string) string {
	t.Helper()
	return tm.must(t, append([]string{"team", verb, "parser"}, more...)...)
}

// refuses runs a verb that has to fail.
func (tm ccTeam) refuses(t *testing.T, verb string, more ...string) {
	t.Helper()
	if r := tm.run(append([]string{"team", verb, "parser"}, more...)...); r.code == 0 {
		t.Errorf("team %s %q is done: %s", verb, more, r.stdout)
	}
}

func ccInbox(member string) string { return ccDir + "inboxes/" + member + ".json" }

// inbox reads a member's inbox.
func (tm ccTeam) inbox(t *testing.T, member string) []ccEntry {
	t.Helper()
	return decode[[]ccEntry](t, tm.read(t, ccInbox(member)))
}

// frame is the last protocol message in a member's inbox.
func (tm ccTeam) frame(t *testing.T, member string) (ccEntry, map[string]any) {
	t.Helper()
	all := tm.inbox(t, member)
	last := all[len(all)-1]
	return last, decode[map[string]any](t, last.Text)
}

// shutdown asks a member to end and returns the request's id.
func (tm ccTeam) shutdown(t *testing.T, member string) string {
	t.Helper()
	tm.verb(t, "shutdown", "request", member, "--reason", "The work is done")
	_, f := tm.frame(t, member)
	return fmt.Sprint(f["requestId"])
}

func ccLayout(t *testing.T, o *office) {
	tm := newTeam(t, o)
	for _, dir := range []string{ccDir, ccDir + "inboxes", ".claude/tasks/parser"} {
		if info, err := os.Stat(tm.path(dir)); err != nil || !info.IsDir() {
			t.Errorf("%s is not made with the team: %v", dir, err)
		}
	}
	tm.verb(t, "send", "reader", "hello")
	tm.verb(t, "send", "team-lead", "hello", "--agent", "writer")
	entries, err := os.ReadDir(tm.path(ccDir + "inboxes"))
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	if diff := cmp.Diff([]string{"reader.json", "team-lead.json"}, files); diff != "" || err != nil {
		t.Errorf("inboxes (-want +got), %v:\n%s", err, diff)
	}
	config := decode[map[string]any](t, tm.read(t, ccDir+"config.json"))
	if config["name"] != "parser" || config["leadAgentId"] != "team-lead@parser" ||
		len(config["members"].([]any)) != 3 {
		t.Errorf("the team's config is %v", config)
	}
}

func ccArray(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "from the lead")
	tm.verb(t, "send", "reader", "from a peer", "--agent", "writer")
	tm.must(t, "send", "--to", "reader", "--body", "from the room") // it arrives there through the bridge
	eventually(t, "it is in the inbox", func() bool { return len(tm.inbox(t, "reader")) == 3 })
	var from []string
	for _, e := range tm.inbox(t, "reader") {
		from = append(from, e.From+": "+e.Text)
	}
	if diff := cmp.Diff([]string{"team-lead: from the lead", "writer: from a peer", "user: from the room"},
		from); diff != "" {
		t.Errorf("the inbox (-want +got):\n%s", diff)
	}
}

func ccKeys(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "by the lead", "--summary", "Greeting")
	tm.verb(t, "send", "reader", "by a member", "--summary", "Greeting", "--agent", "writer")
	tm.shutdown(t, "reader")
	want := []string{"from text summary timestamp read", "from text summary timestamp color read",
		"from text timestamp read"}
	for i, raw := range decode[[]json.RawMessage](t, tm.read(t, ccInbox("reader"))) {
		var keys []string
		for _, m := range regexp.MustCompile(`(?m)^ +"(\w+)": `).FindAllStringSubmatch(string(raw), -1) {
			keys = append(keys, m[1])
		}
		if got := strings.Join(keys, " "); got != want[i] {
			t.Errorf("entry %d has the keys %q, want %q", i, got, want[i])
		}
	}
	if text := tm.read(t, ccInbox("reader")); !strings.HasPrefix(text, "[\n  {\n    \"from\"") ||
		!strings.HasSuffix(text, "\n]") {
		t.Errorf("it is not laid out as JSON.stringify(…, null, 2) does:\n%s", text)
	}
}

func ccTimes(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "one")
	tm.verb(t, "turn-end", "--agent", "writer")
	for _, e := range append(tm.inbox(t, "reader"), tm.inbox(t, "team-lead")...) {
		at, err := time.Parse("2006-01-02T15:04:05.000Z", e.Timestamp)
		if !matches(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, e.Timestamp) || err != nil ||
			time.Since(at).Abs() > time.Minute {
			t.Errorf("a timestamp is %q", e.Timestamp)
		}
	}
}

func ccSummary(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "Please look at it.\nMore of it.")
	tm.verb(t, "send", "reader", "with one", "--summary", "Draft")
	tm.verb(t, "task", "--subject", "Review", "--owner", "reader")
	tm.shutdown(t, "reader")
	var summaries []string
	for _, e := range tm.inbox(t, "reader") {
		summaries = append(summaries, e.Summary)
	}
	if !slices.Equal(summaries, []string{"Please look at it.", "Draft", "", ""}) {
		t.Errorf("the summaries are %q", summaries)
	}
}

func ccIdle(t *testing.T, o *office) {
	tm := newTeam(t, o)
	for reason, more := range map[string][]string{"available": nil, "interrupted": {"--interrupted"}} {
		tm.verb(t, "turn-end", append([]string{"--agent", "reader"}, more...)...)
		e, f := tm.frame(t, "team-lead")
		want := map[string]any{"type": "idle_notification", "from": "reader", "timestamp": e.Timestamp,
			"idleReason": reason}
		if diff := cmp.Diff(want, f); diff != "" || e.From != "reader" || e.Summary != "" {
			t.Errorf("%+v (-want +got):\n%s", e, diff)
		}
	}
}

func ccShutdown(t *testing.T, o *office) {
	tm := newTeam(t, o)
	id := tm.shutdown(t, "reader")
	e, f := tm.frame(t, "reader")
	at, err := time.Parse(time.RFC3339, e.Timestamp)
	want := map[string]any{"type": "shutdown_request", "requestId": fmt.Sprintf("shutdown-%d@reader", at.UnixMilli()),
		"from": "team-lead", "reason": "The work is done", "timestamp": e.Timestamp}
	if diff := cmp.Diff(want, f); diff != "" || err != nil || id != want["requestId"] {
		t.Errorf("the request (-want +got), %v:\n%s", err, diff)
	}
	tm.refuses(t, "shutdown", "request", "team-lead")
	tm.refuses(t, "shutdown", "request", "writer", "--agent", "reader")
}

func ccResponse(t *testing.T, o *office) {
	tm := newTeam(t, o)
	id := tm.shutdown(t, "reader")
	tm.refuses(t, "shutdown", "approve", "shutdown-1@reader")
	tm.refuses(t, "shutdown", "approve", id, "--agent", "writer")
	tm.verb(t, "shutdown", "reject", id, "--reason", "still at work")
	e, f := tm.frame(t, "team-lead")
	want := map[string]any{"type": "shutdown_response", "requestId": id, "approved": false, "content": "still at work"}
	if diff := cmp.Diff(want, f); diff != "" || e.From != "reader" {
		t.Errorf("the response is from %s (-want +got):\n%s", e.From, diff)
	}
	tm.refuses(t, "shutdown", "approve", id)
	time.Sleep(2 * time.Millisecond) // the id depends on the time
	id = tm.shutdown(t, "reader")
	tm.verb(t, "shutdown", "approve", id)
	if _, f := tm.frame(t, "team-lead"); f["approved"] != true || f["requestId"] != id || f["content"] != nil {
		t.Errorf("the response is %v", f)
	}
}

func ccTask(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "task", "--subject", "Review", "--description", "Review store.go", "--owner", "reader")
	e, f := tm.frame(t, "reader")
	want := map[string]any{"type": "task_assignment", "taskId": "1", "subject": "Review",
		"description": "Review store.go", "assignedBy": "team-lead", "timestamp": e.Timestamp}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("the assignment (-want +got):\n%s", diff)
	}
	tm.verb(t, "task", "--subject", "Mine", "--owner", "writer", "--agent", "writer")
	if e, f := tm.frame(t, "writer"); e.From != "writer" || f["assignedBy"] != "writer" || f["taskId"] != "2" {
		t.Errorf("a task of one's own is %v", f)
	}
	tm.verb(t, "task", "--id", "1", "--owner", "writer")
	if _, f := tm.frame(t, "writer"); f["taskId"] != "1" || f["subject"] != "Review" {
		t.Errorf("a task that is given on is %v", f)
	}
	if task := decode[map[string]any](t, tm.read(t, ".claude/tasks/parser/1.json")); task["owner"] != "writer" {
		t.Errorf("its file is %v", task)
	}
}

func ccPlan(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "add", "planner", "--plan-mode")
	tm.refuses(t, "plan", "request", "# Plan", "--agent", "reader")
	answer := map[string]string{"reject": "smaller steps", "approve": ""}
	for _, verb := range []string{"reject", "approve"} {
		tm.verb(t, "plan", "request", "# Plan for "+verb, "--agent", "planner")
		e, f := tm.frame(t, "team-lead")
		id := fmt.Sprint(f["requestId"])
		if f["type"] != "plan_approval_request" || f["from"] != "planner" || f["plan"] != "# Plan for "+verb ||
			e.From != "planner" {
			t.Errorf("the request is %v", f)
		}
		tm.verb(t, "plan", verb, id, "--feedback", answer[verb])
		e, f = tm.frame(t, "planner")
		if f["type"] != "plan_approval_response" || f["requestId"] != id || f["approved"] != (verb == "approve") ||
			e.From != "team-lead" || verb == "reject" && f["feedback"] != "smaller steps" {
			t.Errorf("the answer is %v", f)
		}
		time.Sleep(2 * time.Millisecond) // the id depends on the time
	}
}

func ccDouble(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "team-lead", `plain, with "quotes"`, "--agent", "reader")
	tm.verb(t, "turn-end", "--agent", "reader")
	text := tm.read(t, ccInbox("team-lead"))
	if !strings.Contains(text, `"text": "{\"type\":\"idle_notification\",\"from\":\"reader\"`) {
		t.Errorf("the payload is no string:\n%s", text)
	}
	for i, e := range tm.inbox(t, "team-lead") {
		if json.Valid([]byte(e.Text)) != (i == 1) {
			t.Errorf("the text of entry %d is %q", i, e.Text)
		}
	}
}

// put writes a stranger's entries into an inbox.
func (tm ccTeam) put(t *testing.T, member string, texts ...string) {
	t.Helper()
	var all []args
	for i, text := range texts {
		all = append(all, args{"from": "writer", "text": text, "read": false,
			"timestamp": time.Now().Add(time.Duration(i) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	file, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	tm.write(t, ccInbox(member), string(file))
}

func ccClassify(t *testing.T, o *office) {
	tm := newTeam(t, o)
	// In the room a frame has a subject that names its kind; a plain message without a summary has none.
	subjects := map[string]string{
		"{hello": "", `{"a":1}`: "", `{"type":"nope"}`: "nope", "[1]": "", "hello": "",
		`{"type":"shutdown_response","requestId":"x","approved":true}`:                                                 "shutdown approved",
		`{"type":"idle_notification","from":"writer","timestamp":"2026-05-10T14:00:00.000Z","idleReason":"available"}`: "idle: available",
	}
	var texts []string
	for text := range subjects {
		texts = append(texts, text)
	}
	tm.put(t, "reader", texts...)
	type message struct{ Subject, Body string }
	var mail []message
	eventually(t, "the entries are mail", func() bool {
		mail = ask[struct{ Messages []message }](t, tm.office, "history", "--to", "reader").Messages
		return len(mail) == len(texts)
	})
	for i, text := range texts {
		if mail[i].Subject != subjects[text] || subjects[text] == "" && mail[i].Body != text {
			t.Errorf("%s is the mail %+v, want the subject %q", text, mail[i], subjects[text])
		}
	}
}

func ccRead(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "one")
	tm.verb(t, "send", "reader", "two")
	reads := func() (all []bool) {
		for _, e := range tm.inbox(t, "reader") {
			all = append(all, e.Read)
		}
		return all
	}
	tm.must(t, "inbox", "--as", "reader") // looking is not processing
	if got := reads(); !slices.Equal(got, []bool{false, false}) {
		t.Errorf("before they were processed, read is %v", got)
	}
	first := ask[struct{ Messages []struct{ ID string } }](t, tm.office, "inbox", "--as", "reader").Messages[0].ID
	tm.must(t, "mark", "--as", "reader", "--read", first)
	if got := reads(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("after the first was processed, read is %v", got)
	}
}

func ccAtomic(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "the first")
	const writers, foreign, each = 40, 10, 10
	var all, done sync.WaitGroup
	var ended atomic.Bool
	done.Go(func() { // a reader sees a whole array at every moment
		for !ended.Load() {
			if text, err := os.ReadFile(tm.path(ccInbox("reader"))); err != nil || !json.Valid(text) {
				t.Errorf("a reader sees %q, %v", text, err)
				return
			}
		}
	})
	for w := range writers {
		all.Go(func() {
			for i := range each {
				body := fmt.Sprintf(`{"to":["reader"],"type":"custom","body":"room %d %d"}`, w, i)
				if a := tm.operator(t, http.MethodPost, "/api/v1/rooms/"+tm.room()+"/messages",
					body); a.status/100 != 2 {
					t.Errorf("a send is answered with %d %s", a.status, a.body)
				}
			}
		})
	}
	for w := range foreign {
		all.Go(func() {
			for i := range each {
				if err := tm.asTheirs("reader", fmt.Sprintf("file %d %d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := make(map[string]int)
	eventually(t, "the inbox has every message", func() bool {
		clear(seen)
		for _, e := range tm.inbox(t, "reader") {
			seen[e.Text]++
		}
		return len(seen) >= (writers+foreign)*each+1
	})
	ended.Store(true)
	done.Wait()
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q is there %d times", text, n)
		}
	}
}

// asTheirs appends an entry as Claude Code does: the lock is a directory, and the file is read, written to a
// temporary one, and renamed.
func (tm ccTeam) asTheirs(member, text string) error {
	path := tm.path(ccInbox(member))
	lock := path + ".lock"
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := os.Mkdir(lock, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || time.Now().After(deadline) {
			return err
		}
	}
	defer os.Remove(lock)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(old, &entries); err != nil {
		return err
	}
	one := fmt.Sprintf(`{"from":"writer","text":%q,"timestamp":%q,"read":false}`, text,
		time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	file, err := json.MarshalIndent(append(entries, json.RawMessage(one)), "", "  ")
	if err != nil {
		return err
	}
	fresh := fmt.Sprintf("%s.tmp.%d", path, time.Now().UnixNano())
	if err := os.WriteFile(fresh, file, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// ccWhole: a reader that looks at an inbox during its creation sees none, or a whole one.
func ccWhole(t *testing.T, o *office) {
	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprint("m", i))
	}
	tm := newTeam(t, o, members...)
	var looks sync.WaitGroup
	var empty atomic.Int64
	var ended atomic.Bool
	looks.Go(func() {
		for !ended.Load() {
			files, err := filepath.Glob(tm.path(ccInbox("m*")))
			if err != nil {
				return
			}
			for _, f := range files {
				if text, err := os.ReadFile(f); err == nil && !json.Valid(text) {
					empty.Add(1)
				}
			}
		}
	})
	for _, m := range members {
		tm.bulk(t, 1, m, "hello ")
	}
	ended.Store(true)
	looks.Wait()
	if n := empty.Load(); n > 0 {
		t.Errorf("a reader saw inboxes that were not whole, %d times", n)
	}
}

func ccAtOnce(t *testing.T, o *office) {
	tm := newTeam(t, o)
	ended := make(chan result, 1)
	go func() { ended <- tm.run("wait", "--as", "team-lead", "--timeout", "30s") }()
	time.Sleep(200 * time.Millisecond) // a wait that begins later proves less, and does no harm
	select {
	case r := <-ended:
		t.Fatalf("the lead is told before there is anything: %+v", r)
	default:
	}
	tm.verb(t, "send", "team-lead", "done", "--agent", "writer")
	began := time.Now()
	if r := <-ended; !strings.Contains(r.stdout, "done") || time.Since(began) > 5*time.Second {
		t.Errorf("the lead that waits is told after %s: %+v", time.Since(began), r)
	}
	client := tm.session(t, "s-reader", "PENNYPOST_AGENT=reader")
	client.hook(t, "SessionStart", args{"source": "startup"})
	client.hook(t, "UserPromptSubmit", args{"prompt": "go on"})
	tm.must(t, "send", "--to", "reader", "--type", "question", "--body", "In the middle of a turn?")
	if said := client.hook(t, "Stop", args{"stop_hook_active": false}); !strings.Contains(said,
		"In the middle of a turn?") {
		t.Errorf("at the end of its turn a member that was busy is told %s", said)
	}
}

// ccLead: team-lead is an address, and leads to the present lead.
func ccLead(t *testing.T, o *office) {
	tm := ccTeam{o.project(t)}
	tm.env = append(tm.env, "HOME="+tm.dir)
	const lead = "7b1e4c57-9d11-4b8f-8b1b-2c3d6b1d2c11"
	now := time.Now().UnixMilli()
	tm.write(t, ccDir+"config.json", fmt.Sprintf(`{"name":"parser","description":"","createdAt":%d,`+
		`"leadAgentId":"team-lead@parser","leadSessionId":%q,"members":[{"agentId":"team-lead@parser","name":"team-lead",`+
		`"agentType":"team-lead","model":"","joinedAt":%d,"tmuxPaneId":"","cwd":%q,"subscriptions":[]}]}`, now, lead,
		now, tm.dir))
	tm.write(t, ccInbox("team-lead"), "[]")
	tm.must(t, "bridge", "add", "claudeteams", tm.path(ccDir))
	tm.must(t, "send", "--to", "team-lead", "--body", "sent before the lead was known")
	client := tm.session(t, lead)
	said := client.hook(t, "SessionStart", args{"source": "startup"})
	tm.must(t, "send", "--to", "team-lead", "--type", "question", "--body", "sent after that")
	said += client.hook(t, "UserPromptSubmit", args{"prompt": "go on"})
	for _, want := range []string{"sent before the lead was known", "sent after that"} {
		if !strings.Contains(said, want) && !strings.Contains(tm.read(t, ccInbox("team-lead")), want) {
			t.Errorf("the lead never sees what was %s: %s", want, said)
		}
	}
	if dead := tm.must(t, "history", "--state", "dead"); strings.Contains(dead, "sent ") {
		t.Errorf("mail to the lead is dead: %s", dead)
	}
}

func ccColor(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "by the lead")
	tm.verb(t, "send", "reader", "by a member", "--agent", "writer")
	config := decode[struct {
		Members []struct{ Name, Color string }
	}](t, tm.read(t, ccDir+"config.json"))
	colors := make(map[string]string)
	for _, m := range config.Members {
		colors[m.Name] = m.Color
	}
	if colors["reader"] != "blue" || colors["writer"] != "green" || colors["team-lead"] != "" {
		t.Errorf("the config gives the colors %v", colors)
	}
	if box := tm.inbox(t, "reader"); box[0].Color != "" || box[1].Color != colors["writer"] {
		t.Errorf("the messages have the colors %q and %q", box[0].Color, box[1].Color)
	}
}

func ccDelete(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "it stays")
	tm.must(t, "mark", "--as", "reader", "--all", "--read")
	tm.must(t, "mark", "--as", "reader", "--all", "--archived")
	if box := tm.inbox(t, "reader"); len(box) != 1 || box[0].Text != "it stays" {
		t.Errorf("after it was read and archived, the inbox has %+v", box)
	}
	if help := tm.must(t, "team", "--help"); strings.Contains(help, "edit") {
		t.Errorf("there is a verb to edit messages:\n%s", help)
	}
	tm.refuses(t, "delete")
	tm.verb(t, "delete", "--force")
	for _, dir := range []string{ccDir, ".claude/tasks/parser"} {
		if _, err := os.Stat(tm.path(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

func ccTwoPhases(t *testing.T, o *office) {
	tm := newTeam(t, o)
	members := func() string { return tm.read(t, ccDir+"config.json") }
	id := tm.shutdown(t, "reader")
	if !strings.Contains(members(), `"reader"`) {
		t.Error("a request alone has removed the worker")
	}
	tm.verb(t, "shutdown", "reject", id, "--reason", "still at work")
	if !strings.Contains(members(), `"reader"`) {
		t.Error("a worker that has refused is removed")
	}
	time.Sleep(2 * time.Millisecond) // the id depends on the time
	tm.verb(t, "shutdown", "approve", tm.shutdown(t, "reader"))
	if strings.Contains(members(), `"reader"`) || tm.read(t, ccInbox("reader")) == "" {
		t.Error("a worker that has approved is there, or its inbox is not")
	}
	if show := tm.verb(t, "show"); !strings.Contains(show, "shutdown of reader: approved") {
		t.Errorf("the handshake is shown as\n%s", show)
	}
}

func ccRecipient(t *testing.T, o *office) {
	tm := newTeam(t, o)
	tm.verb(t, "send", "reader", "for the reader", "--agent", "writer")
	tm.verb(t, "send", "team-lead", "for the lead", "--agent", "writer")
	if text := tm.read(t, ccInbox("reader")); strings.Contains(text, `"to"`) {
		t.Errorf("an entry says whom it is for:\n%s", text)
	}
	to := make(map[string][]string)
	eventually(t, "both are in the export", func() bool {
		for _, m := range lines[struct {
			To   []string
			Body string
		}](t, tm.must(t, "export")) {
			to[m.Body] = m.To
		}
		return len(to) == 2
	})
	want := map[string][]string{"for the reader": {"agent:reader"}, "for the lead": {"agent:team-lead"}}
	if diff := cmp.Diff(want, to); diff != "" {
		t.Errorf("the export (-want +got):\n%s", diff)
	}
}
