package acceptance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func agentiesItems() []item {
	return append([]item{
		{id: "AG-01", says: "each message is appended to mailbox.jsonl immediately", holds: agAppended},
		{id: "AG-02", says: "that file is the source of truth and is not deleted", holds: agSourceOfTruth},
		{id: "AG-03", says: "the record's fields; optional ones are absent, not null", holds: agFields,
			also: agAgentID},
		{id: "AG-04", says: "ids are msg_ and a nanoid", holds: agIDs},
		{id: "AG-05", says: "createdAt is ISO 8601 in UTC", holds: agTimes},
		{id: "AG-06", says: "the body is Markdown, metadata any object, kept verbatim", holds: agVerbatim},
		{id: "AG-07", says: "nine types and no other", holds: agTypes},
		{id: "AG-08", says: "each type has permitted directions", holds: agDirections},
		{id: "AG-09", says: "a review-result has a verdict", holds: agVerdict},
		{id: "AG-10", says: "a task-done says what was done (guidance)", holds: agGuidance},
		{id: "AG-11", says: "status wakes no one and shows in the Agents panel", holds: agStatus},
		{id: "AG-12", says: "cancel: an agent checks at the start of each tool call", holds: agCancel,
			differs: "The hook before each tool checks automatically and stops the tool. Scripts use `pennypost " +
				"wait --type cancel --timeout 0`, which exits with 0 or 4, not 10."},
		{id: "AG-13", says: "answer: the waiting agent continues", holds: agAnswer},
		{id: "AG-14", says: "agent:ID is one running instance", holds: agDirect},
		{id: "AG-15", says: "orchestrator is the project's, woken if dormant", holds: agOrchestrator},
		{id: "AG-16", says: "role:R is one member with that role, in turn", holds: agRole,
			differs: "The roster decides who has a role. The application's member list, with its effort off, is not " +
				"part of the mailbox: to exclude a member, do not give it the role."},
		{id: "AG-17", says: "broadcast is all running agents", holds: agBroadcast},
		{id: "AG-18", says: "user is the person, for the orchestrator only", holds: agUser,
			differs: "There is no Chat tab: it appears in the person's inbox (page, terminal, phone)."},
		{id: "AG-19", says: "from is orchestrator, agent:ID or user", holds: agFrom},
	}, agentiesMore()...)
}

// agConfig makes a command wake the orchestrator of every room; the command leaves a mark.
const agConfig = `[room.wake.orchestrator]
exec = ["sh", "-c", "echo $PENNYPOST_AGENT >>rung-$PENNYPOST_ROOM"]
timeout = "20s"
`

// agency is an Agenties project: a bridged mailbox with an orchestrator.
type agency struct {
	*office
	orchestrator *client
}

const agFile = ".agenties/mailbox.jsonl"

// agMessage is the document's MailboxMessage.
type agMessage struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	From      string         `json:"from"`
	To        string         `json:"to"`
	Subject   string         `json:"subject,omitempty"`
	Body      string         `json:"body"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	IssueID   string         `json:"issueId,omitempty"`
	AgentID   string         `json:"agentId,omitempty"`
	Read      bool           `json:"read"`
	CreatedAt string         `json:"createdAt"`
}

// agSent is the answer of send_message.
type agSent struct {
	ID         string
	Recipients []struct{ AgentID, State, Wake string }
}

func newAgency(t *testing.T, o *office) *agency {
	t.Helper()
	return openAgency(t, o.project(t))
}

// ownAgency is an agency with a post office of its own, because the test kills it.
func ownAgency(t *testing.T) *agency {
	t.Helper()
	return openAgency(t, newOffice(t))
}

func openAgency(t *testing.T, o *office) *agency {
	t.Helper()
	a := &agency{office: o}
	a.must(t, "bridge", "add", "agenties", a.dir)
	a.orchestrator = a.join(t, "orchestrator")
	return a
}

// join registers an agent and connects it, as the application's client would.
func (a *agency) join(t *testing.T, id string, roles ...string) *client {
	t.Helper()
	register := []string{"agents", "register", id}
	for _, r := range roles {
		register = append(register, "--role", r)
	}
	a.must(t, register...)
	return a.overHTTP(t, "/dialect/agenties/mcp/"+id, a.token(t, id))
}

// post sends a message as an agent.
func post(t *testing.T, c *client, kind, to, body string) agSent {
	t.Helper()
	return decode[agSent](t, c.must(t, "send_message", args{"type": kind, "to": to, "body": body}))
}

// inbox reads an agent's mail.
func inbox(t *testing.T, c *client, how args) []agMessage {
	t.Helper()
	return decode[struct{ Messages []agMessage }](t, c.must(t, "read_messages", how)).Messages
}

// bodies returns the bodies of messages.
func bodies(messages []agMessage) (all []string) {
	for _, m := range messages {
		all = append(all, m.Body)
	}
	return all
}

// log returns the mailbox file.
func (a *agency) log(t *testing.T) []agMessage {
	t.Helper()
	return lines[agMessage](t, a.read(t, agFile))
}

// bulk sends many messages as the person, who has no limit.
func (o *office) bulk(t *testing.T, n int, to, body string) {
	t.Helper()
	for i := range n {
		got := o.operator(t, http.MethodPost, "/api/v1/rooms/"+o.room()+"/messages",
			fmt.Sprintf(`{"to":[%q],"type":"custom","body":%q}`, to, fmt.Sprint(body, i)))
		if got.status/100 != 2 {
			t.Fatalf("message %d is not sent: %d %s", i, got.status, got.body)
		}
	}
}

func agAppended(t *testing.T, _ *office) {
	a := ownAgency(t)
	x1 := a.join(t, "ag_x1")
	first := post(t, x1, "task-done", "orchestrator", "the first")
	if log := a.log(t); len(log) != 1 || log[0].ID != first.ID {
		t.Errorf("when the sender is answered, the file has %+v and not %s", log, first.ID)
	}
	second := post(t, x1, "task-done", "orchestrator", "the second")
	a.kill()
	if log := a.log(t); len(log) != 2 || log[1].ID != second.ID {
		t.Errorf("after kill -9 the file has %+v and not %s", log, second.ID)
	}
}

func agSourceOfTruth(t *testing.T, _ *office) {
	a := ownAgency(t)
	a.join(t, "ag_x1")
	a.bulk(t, 1, "ag_x1", "message ")
	before, err := os.Stat(a.path(agFile))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(a.read(t, agFile), "\n")
	a.bulk(t, 300, "ag_x1", "more ")
	after, err := os.Stat(a.path(agFile))
	if err != nil {
		t.Fatal(err)
	}
	if now, _, _ := strings.Cut(a.read(t, agFile), "\n"); !os.SameFile(before, after) || now != first {
		t.Errorf("300 sends have replaced the file or changed its first line, %s to %s", first, now)
	}
	a.stop(t)
	a.write(t, agFile, agLine("msg_001", "task-done", "agent:ag_x1", "orchestrator", "by hand", time.Now()))
	a.serve(t)
	orchestrator := a.overHTTP(t, "/dialect/agenties/mcp", a.token(t, "orchestrator"))
	eventually(t, "a file that was written by hand is read", func() bool {
		return slices.Contains(bodies(inbox(t, orchestrator, nil)), "by hand")
	})
}

// agLine is a line of the file as the application writes it.
func agLine(id, kind, from, to, body string, at time.Time) string {
	return fmt.Sprintf(`{"id":%q,"type":%q,"from":%q,"to":%q,"body":%q,"read":false,"createdAt":%q}`+"\n", id, kind,
		from, to, body, at.UTC().Format(time.RFC3339Nano))
}

func agFields(t *testing.T, o *office) {
	a := newAgency(t, o)
	a.join(t, "ag_x1")
	post(t, a.orchestrator, "custom", "agent:ag_x1", "minimal")
	a.orchestrator.must(t, "send_message", args{"type": "task-assigned", "to": "agent:ag_x1", "body": "maximal",
		"subject": "Parser", "metadata": args{"a": 1}, "issueId": "issue_1"})
	a.add(t, agFile, `{"id":"msg_7","type":"custom","from":"user","to":"agent:ag_x1","body":"theirs",`+
		`"agentId":"ag_x9","read":false,"createdAt":"`+time.Now().UTC().Format(time.RFC3339)+`"}`)
	must := []string{"body", "createdAt", "from", "id", "read", "to", "type"}
	may := []string{"issueId", "metadata", "subject"}
	for i, line := range lines[map[string]any](t, a.read(t, agFile))[:2] {
		for _, key := range must {
			if _, ok := line[key]; !ok {
				t.Errorf("line %d has no %s: %v", i, key, line)
			}
		}
		for _, key := range may {
			if _, ok := line[key]; ok != (i == 1) {
				t.Errorf("line %d has %s: %t", i, key, ok)
			}
		}
		for key, value := range line {
			if value == nil || !slices.Contains(append(append(must, may...), "agentId"), key) {
				t.Errorf("line %d has the member %s: %v", i, key, value)
			}
		}
	}
	x1 := a.overHTTP(t, "/dialect/agenties/mcp", a.token(t, "ag_x1"))
	eventually(t, "agentId of a foreign line is shown", func() bool {
		return slices.ContainsFunc(inbox(t, x1, nil), func(m agMessage) bool { return m.AgentID == "ag_x9" })
	})
}

// agAgentID: a message to or from a spawned agent names that agent.
func agAgentID(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	post(t, a.orchestrator, "task-assigned", "agent:ag_x1", "Write it.")
	post(t, x1, "task-done", "orchestrator", "done")
	for _, m := range a.log(t) {
		if m.AgentID != "ag_x1" {
			t.Errorf("%s is about the agent %q", m.Type, m.AgentID)
		}
	}
}

func agIDs(t *testing.T, o *office) {
	a := newAgency(t, o)
	a.join(t, "ag_x1")
	a.bulk(t, 200, "ag_x1", "message ")
	seen := make(map[string]bool)
	for _, m := range a.log(t) {
		if seen[m.ID] || !matches(`^msg_[A-Za-z0-9_-]{21}$`, m.ID) {
			t.Errorf("%q is no new nanoid", m.ID)
		}
		seen[m.ID] = true
	}
	if len(seen) != 200 {
		t.Errorf("200 messages have %d ids", len(seen))
	}
}

func agTimes(t *testing.T, o *office) {
	a := newAgency(t, o)
	a.join(t, "ag_x1")
	began := time.Now().Add(-time.Second)
	a.bulk(t, 20, "ag_x1", "message ")
	last := began
	for _, m := range a.log(t) {
		at, err := time.Parse(time.RFC3339, m.CreatedAt)
		if err != nil || !strings.HasSuffix(m.CreatedAt, "Z") || at.Before(last) || at.After(time.Now()) {
			t.Errorf("createdAt is %q after %s", m.CreatedAt, last)
		}
		last = at
	}
}

func agVerbatim(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	body := "# Diff\n\n```go\nif a < b && c > d { \"x\" }\n```\n\n- ü 小克 \U0001f600\n"
	metadata := args{"z": args{"deep": []any{1.5, "two", nil, true, args{"<": "&>"}}}, "a": ""}
	a.orchestrator.must(t, "send_message", args{"type": "review-request", "to": "agent:ag_x1", "body": body,
		"metadata": metadata})
	for where, m := range map[string]agMessage{"the file": a.log(t)[0], "read_messages": inbox(t, x1, nil)[0]} {
		if m.Body != body || fmt.Sprint(m.Metadata) != fmt.Sprint(metadata) {
			t.Errorf("%s has %q with %v", where, m.Body, m.Metadata)
		}
	}
}

// agWays is the document's table of who may send a type to whom.
var agWays = map[string][]string{
	"task-assigned": {"orchestrator agent:ag_x2", "orchestrator role:reviewer"},
	"task-done":     {"agent orchestrator"},
	"review-request": {"agent role:reviewer", "agent agent:ag_x2", "orchestrator role:reviewer",
		"orchestrator agent:ag_x2"},
	"review-result": {"agent orchestrator"},
	"question":      {"agent orchestrator", "orchestrator user"},
	"answer":        {"orchestrator agent:ag_x2"},
	"cancel":        {"orchestrator agent:ag_x2"},
	"status":        {"agent broadcast"},
	"custom": {"agent orchestrator", "agent agent:ag_x2", "agent role:reviewer", "agent broadcast",
		"orchestrator agent:ag_x2", "orchestrator role:reviewer", "orchestrator broadcast", "orchestrator user"},
}

func agTypes(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	a.join(t, "ag_x2", "reviewer")
	if len(agWays) != 9 {
		t.Fatal("the document has nine types")
	}
	for kind, ways := range agWays {
		from, to, _ := strings.Cut(ways[0], " ")
		who := map[string]*client{"agent": x1, "orchestrator": a.orchestrator}[from]
		who.must(t, "send_message", args{"type": kind, "to": to, "body": kind, "metadata": args{"verdict": "blocked"}})
	}
	for _, kind := range []string{"foo", "", "Status", "task_done"} {
		x1.refused(t, "send_message", args{"type": kind, "to": "orchestrator", "body": "x"})
	}
	if log := a.log(t); len(log) != 9 {
		t.Errorf("after nine types, and four that are none, the file has %d lines", len(log))
	}
}

func agDirections(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	a.join(t, "ag_x2", "reviewer")
	for kind, ways := range agWays {
		for from, who := range map[string]*client{"agent": x1, "orchestrator": a.orchestrator} {
			for _, to := range []string{"agent:ag_x2", "orchestrator", "role:reviewer", "broadcast", "user"} {
				if from == to {
					continue
				}
				text, refused := who.call(t, "send_message", args{"type": kind, "to": to,
					"body": kind + from + to, "metadata": args{"verdict": "approved"}})
				if may := slices.Contains(ways, from+" "+to); refused == may {
					t.Errorf("%s from %s to %s: may it be sent? %t; the answer is %s", kind, from, to, may, text)
				}
			}
		}
	}
}

func agVerdict(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1", "reviewer")
	for _, verdict := range []string{"approved", "changes-requested", "blocked"} {
		x1.must(t, "send_message", args{"type": "review-result", "to": "orchestrator", "body": "Comments: " + verdict,
			"metadata": args{"verdict": verdict}})
	}
	for _, metadata := range []args{nil, {}, {"verdict": "fine"}, {"verdict": 1}} {
		x1.refused(t, "send_message", args{"type": "review-result", "to": "orchestrator", "body": "x",
			"metadata": metadata})
	}
	if got := inbox(t, a.orchestrator, nil); len(got) != 3 || got[2].Metadata["verdict"] != "blocked" ||
		got[2].Body != "Comments: blocked" {
		t.Errorf("the orchestrator reads %+v", got)
	}
}

func agGuidance(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	report := "Wrote the parser.\n\nFiles: store.go\n\nTests: 12 passed"
	for _, body := range []string{report, "done"} {
		post(t, x1, "task-done", "orchestrator", body)
	}
	if got := bodies(inbox(t, a.orchestrator, nil)); !slices.Equal(got, []string{report, "done"}) {
		t.Errorf("the orchestrator reads %q", got)
	}
}

func agStatus(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	a.join(t, "ag_x2")
	for _, r := range post(t, x1, "status", "broadcast", "Running tests...").Recipients {
		if r.Wake != "none" {
			t.Errorf("a status wakes %s by %s", r.AgentID, r.Wake)
		}
	}
	if a.rung() {
		t.Error("a status has woken the orchestrator")
	}
	if panel := a.must(t, "agents", "--json"); !strings.Contains(panel, "Running tests...") {
		t.Errorf("the roster does not show the status: %s", panel)
	}
}

// rings counts the wakes of the room's orchestrator.
func (a *agency) rings() int {
	text, _ := os.ReadFile(filepath.Join(a.home, "rung-"+a.room())) // missing before the first wake
	return strings.Count(string(text), "\n")
}

func (a *agency) rung() bool { return a.rings() > 0 }

func agCancel(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	post(t, a.orchestrator, "custom", "agent:ag_x1", "other mail")
	check := func() result {
		return a.run("wait", "--as", "ag_x1", "--type", "cancel", "--timeout", "0")
	}
	if r := check(); r.code != 4 {
		t.Errorf("without a cancel the check ends with %+v", r)
	}
	client := a.session(t, "s-cancel", "PENNYPOST_AGENT=ag_x1")
	client.hook(t, "SessionStart", args{"source": "startup"})
	beforeTool := func() string {
		return client.hook(t, "PreToolUse", args{"tool_name": "Bash", "tool_use_id": "t1",
			"tool_input": args{"command": "ls"}})
	}
	if out := beforeTool(); strings.Contains(out, "deny") {
		t.Errorf("without a cancel the tool is stopped: %s", out)
	}
	post(t, a.orchestrator, "cancel", "agent:ag_x1", "Stop it.")
	if r := check(); r.code != 0 || !strings.Contains(r.stdout, "Stop it.") {
		t.Errorf("with a cancel the check ends with %+v", r)
	}
	if out := beforeTool(); !strings.Contains(out, `"deny"`) || !strings.Contains(out, "Stop it.") {
		t.Errorf("the hook before a tool does not stop it: %s", out)
	}
	if got := bodies(inbox(t, x1, nil)); !slices.Contains(got, "other mail") {
		t.Errorf("the check has taken other mail: %q are left", got)
	}
}

func agAnswer(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	post(t, x1, "question", "orchestrator", "Tabs?")
	ended := make(chan result, 1)
	go func() { ended <- a.run("wait", "--as", "ag_x1", "--type", "answer", "--timeout", "30s") }()
	time.Sleep(200 * time.Millisecond) // a wait that begins after the answer proves less, and does no harm
	select {
	case r := <-ended:
		t.Fatalf("the wait ends before there is an answer: %+v", r)
	default:
	}
	post(t, a.orchestrator, "answer", "agent:ag_x1", "Tabs.")
	began := time.Now()
	if r := <-ended; r.code != 0 || !strings.Contains(r.stdout, "Tabs.") || time.Since(began) > 5*time.Second {
		t.Errorf("%s after the answer the wait ends with %+v", time.Since(began), r)
	}
}

func agDirect(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1, x2 := a.join(t, "ag_x1"), a.join(t, "ag_x2")
	post(t, a.orchestrator, "custom", "agent:ag_x1", "for one")
	if one, two := bodies(inbox(t, x1, nil)), bodies(inbox(t, x2, nil)); !slices.Equal(one, []string{"for one"}) ||
		len(two) > 0 {
		t.Errorf("the recipient reads %q, another agent %q", one, two)
	}
	if said := a.orchestrator.refused(t, "send_message", args{"type": "custom", "to": "agent:ag_x3",
		"body": "x"}); !strings.Contains(said, "ag_x") {
		t.Errorf("mail to nobody is refused without the nearest names: %s", said)
	}
}

func agOrchestrator(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	a.must(t, "agents", "update", "orchestrator", "--state", "working")
	if got := post(t, x1, "task-done", "orchestrator", "one"); got.Recipients[0].Wake == "exec" || a.rung() {
		t.Errorf("an orchestrator in its turn is woken: %+v", got)
	}
	a.must(t, "agents", "update", "orchestrator", "--state", "idle")
	eventually(t, "an orchestrator that has stopped is woken for what came meanwhile", a.rung)
	if got := bodies(inbox(t, a.orchestrator, nil)); !slices.Equal(got, []string{"one"}) {
		t.Errorf("the orchestrator reads %q", got)
	}
}

func agRole(t *testing.T, o *office) {
	a := newAgency(t, o)
	builders := map[string]*client{}
	for _, id := range []string{"ag_b1", "ag_b2", "ag_b3"} {
		builders[id] = a.join(t, id, "builder")
	}
	a.join(t, "ag_off", "scout")
	var order []string
	for i := range 9 {
		sent := post(t, a.orchestrator, "task-assigned", "role:builder", fmt.Sprint("task ", i))
		if len(sent.Recipients) != 1 {
			t.Fatalf("mail to a role goes to %+v", sent.Recipients)
		}
		order = append(order, sent.Recipients[0].AgentID)
	}
	for i := range order {
		if order[i] != order[i%3] || i > 0 && order[i] == order[i-1] {
			t.Errorf("nine tasks go to %q, not to each in turn", order)
			break
		}
	}
	for id, c := range builders {
		if got := inbox(t, c, nil); len(got) != 3 {
			t.Errorf("%s has %d tasks", id, len(got))
		}
	}
}

func agBroadcast(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1, x2 := a.join(t, "ag_x1"), a.join(t, "ag_x2")
	post(t, a.orchestrator, "custom", "broadcast", "to all")
	x3 := a.join(t, "ag_x3")
	for id, c := range map[string]*client{"ag_x1": x1, "ag_x2": x2, "ag_x3": x3} {
		if got := inbox(t, c, nil); (len(got) == 1) != (id != "ag_x3") {
			t.Errorf("%s reads %+v", id, got)
		}
	}
}

func agUser(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	if said := x1.refused(t, "send_message", args{"type": "question", "to": "user",
		"body": "Tabs?"}); !strings.Contains(
		said, "orchestrator") {
		t.Errorf("the refusal does not say to whom to write: %s", said)
	}
	post(t, a.orchestrator, "question", "user", "Tabs or spaces?")
	if got := a.must(t, "inbox"); !strings.Contains(got, "Tabs or spaces?") {
		t.Errorf("the person's inbox has %s", got)
	}
	if chat := a.page(t).get(t, "/@"+a.room()+"/"); !strings.Contains(chat, "Tabs or spaces?") {
		t.Error("the person's page does not show it")
	}
}

func agFrom(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	x1.refused(t, "send_message", args{"type": "task-done", "to": "orchestrator", "body": "x", "from": "user"})
	post(t, x1, "task-done", "orchestrator", "mine")
	post(t, a.orchestrator, "custom", "agent:ag_x1", "the orchestrator's")
	a.bulk(t, 1, "ag_x1", "the person's ")
	var from []string
	for _, m := range a.log(t) {
		from = append(from, m.From)
	}
	if !slices.Equal(from, []string{"agent:ag_x1", "orchestrator", "user"}) {
		t.Errorf("the file says they are from %q", from)
	}
}
