package agenties

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
)

// fixture is a room with a team.
type fixture struct{ *dialecttest.Fixture }

func newFixture(t *testing.T) *fixture {
	b := &fixture{dialecttest.New(t, Dialect())}
	b.Register("orchestrator")
	for _, n := range []mail.Name{"ag_x1", "ag_x2"} {
		b.Register(n)
	}
	return b
}

// ask calls a tool and decodes its answer.
func ask[T any](b *fixture, agent mail.Name, tool, args string) T {
	b.T.Helper()
	text, err := b.Call(agent, tool, args)
	if err != nil {
		b.T.Fatalf("%s %s %s: %v", agent, tool, args, err)
	}
	var out T
	if err := jsonx.UnmarshalStrict([]byte(text), &out); err != nil {
		b.T.Fatalf("%s answers %s: %v", tool, text, err)
	}
	return out
}

func (b *fixture) send(from mail.Name, typ mail.Type, to, more string) sent {
	b.T.Helper()
	if more == "" {
		more = `"body":"b"`
	}
	return ask[sent](b, from, "send_message", fmt.Sprintf(`{"type":%q,"to":%q,%s}`, typ, to, more))
}

// bodies reads a mailbox through the tool.
func (b *fixture) bodies(agent mail.Name, args string) []string {
	b.T.Helper()
	out := []string{}
	for _, m := range ask[found](b, agent, "read_messages", args).Messages {
		out = append(out, m.Body)
	}
	return out
}

// wantBodies checks bodies.
func (b *fixture) wantBodies(agent mail.Name, args string, want ...string) {
	b.T.Helper()
	if got := b.bodies(agent, args); !slices.Equal(got, want) {
		b.T.Errorf("%s reads %s: %q, want %q", agent, args, got, want)
	}
}

// states returns the state of each message's first recipient.
func (b *fixture) states(ids []mail.ID) string {
	b.T.Helper()
	var all []string
	for _, id := range ids {
		it, err := b.As(mail.User).Message(b.T.Context(), id)
		if err != nil {
			b.T.Fatal(err)
		}
		all = append(all, string(it.Deliveries[0].State))
	}
	return strings.Join(all, " ")
}

// refused calls a tool that must refuse.
func (b *fixture) refused(agent mail.Name, tool, args, why string) {
	b.T.Helper()
	out, err := b.Call(agent, tool, args)
	if err == nil || !strings.Contains(err.Error(), why) || mail.CodeOf(err) == mail.Internal {
		b.T.Errorf("%s %s %s = %s, %v; want it refused because of %q", agent, tool, args, out, err, why)
	}
}

// TestSchemas compares the tools with the document, which is not part of this repository.
func TestSchemas(t *testing.T) {
	documents, _ := filepath.Glob(filepath.Join("..", "..", "..", "..", "..", "shared", "seeds", "000_*.txt"))
	if len(documents) == 0 {
		t.Skip("the document is not here")
	}
	text, err := os.ReadFile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]string{"read_messages": "AG-26", "send_message": "AG-27", "mark_read": "AG-29"}
	want := make(map[string]map[string]string) // tool: parameter, with "?" if optional: type
	types := map[string]string{"string": "string", "boolean": "boolean", "number": "integer", "string[]": "array",
		"MessageType": "string", "Record<string, unknown>": "object"}
	for _, call := range regexp.MustCompile(`(?s)(\w+)\(\{(.*?)\}\)`).FindAllStringSubmatch(string(text), -1) {
		want[call[1]] = make(map[string]string)
		for _, p := range regexp.MustCompile(`(?m)^\s*(\w+\??):\s*([^;]+);`).FindAllStringSubmatch(call[2], -1) {
			want[call[1]][p[1]] = types[p[2]]
		}
	}
	// mark_read needs one of its two, which a schema that clients accept cannot express.
	want["mark_read"]["messageIds?"] = want["mark_read"]["messageIds"]
	delete(want["mark_read"], "messageIds")
	for _, e := range Dialect().Endpoints {
		if len(e.Tools) != len(want) {
			t.Errorf("%s has %d tools, the document %d", e.Path, len(e.Tools), len(want))
		}
		for _, tool := range e.Tools {
			t.Run(numbers[tool.Name]+" "+tool.Name, func(t *testing.T) {
				schema := struct {
					Type       string   `json:"type"`
					Additional bool     `json:"additionalProperties"`
					Required   []string `json:"required"`
					Properties map[string]struct {
						Type string `json:"type"`
					} `json:"properties"`
				}{Additional: true}
				if err := jsonx.Unmarshal([]byte(tool.Input), &schema); err != nil {
					t.Fatal(err)
				}
				got := make(map[string]string)
				for name, p := range schema.Properties {
					if !slices.Contains(schema.Required, name) {
						name += "?"
					}
					got[name] = p.Type
				}
				if diff := cmp.Diff(want[tool.Name], got); diff != "" || schema.Additional || schema.Type != "object" {
					t.Errorf("the schema differs from the document (-document +schema), or lets others in (%v):\n%s",
						schema.Additional, diff)
				}
			})
		}
	}
}

func TestSend(t *testing.T) {
	b := newFixture(t)
	t.Run("AG-07 nine types, and no other", func(t *testing.T) {
		for _, typ := range mail.Types() {
			more := `"body":"b","metadata":{"verdict":"approved"}`
			ask[sent](b, mail.User, "send_message", fmt.Sprintf(`{"type":%q,"to":"agent:ag_x1",%s}`, typ, more))
		}
		before := len(b.History())
		b.refused("ag_x1", "send_message", `{"type":"foo","to":"orchestrator","body":"b"}`, "not a message type")
		b.refused("ag_x1", "send_message", `{"type":"","to":"orchestrator","body":"b"}`, "type is missing")
		if n := len(b.History()); n != before {
			t.Errorf("%d messages were stored by refused calls", n-before)
		}
	})
	t.Run("AG-09 a review-result needs a verdict", func(t *testing.T) {
		for _, verdict := range []string{"approved", "changes-requested", "blocked"} {
			b.send("ag_x1", mail.ReviewResult, "orchestrator", `"body":"comments","metadata":{"verdict":"`+verdict+
				`"}`)
		}
		b.refused("ag_x1", "send_message",
			`{"type":"review-result","to":"orchestrator","body":"b","metadata":{"verdict":"fine"}}`, "verdict")
		b.refused("ag_x1", "send_message", `{"type":"review-result","to":"orchestrator","body":"b"}`, "verdict")
	})
	t.Run("AG-27 one routing address", func(t *testing.T) {
		before := len(b.History())
		for _, to := range []string{"agent:ag_x1,agent:ag_x2", "agent:ag_x2, broadcast", "agent:ag_x2,ag_x1",
			"role:builder,orchestrator", "ag_x1,ag_x2"} {
			b.refused("ag_x1", "send_message", `{"type":"custom","to":"`+to+`","body":"b"}`, "not one routing address")
		}
		if n := len(b.History()); n != before {
			t.Errorf("%d messages were sent", n-before)
		}
		b.Register("a,b")
		if to := b.send("ag_x1", mail.Custom, "agent:a,b", "").Recipients; len(to) != 1 || to[0].AgentID != "a,b" {
			t.Errorf("to an agent with a comma in its name: %+v", to)
		}
	})
	t.Run("AG-27 what a program cut is mended as in the file", func(t *testing.T) {
		id := b.send("ag_x1", mail.Custom, "agent:ag_x2",
			`"body":"half \ud83d, whole \ud83d\ude00, \\ud83d, nul \u0000",`+
				`"subject":"two\nlines`+strings.Repeat("é", 700)+
				`","metadata":{"k":"half \ude00"},"issueId":"i\ud83d"`).ID
		it, err := b.As(mail.User).Message(t.Context(), id)
		if err != nil || it.Body != "half \uFFFD, whole \U0001F600, \\ud83d, nul \uFFFD" || it.Issue != "i\uFFFD" ||
			len(it.Subject) > mail.MaxSubject || !strings.HasPrefix(it.Subject, "two linesé") ||
			!strings.HasSuffix(it.Subject, "é…") || it.Metadata.Text("k") != "half \uFFFD" {
			t.Errorf("%+v, %v", it, err)
		}
	})
	t.Run("AG-27 advice that its tools can follow", func(t *testing.T) {
		for _, args := range []string{`"body":"` + strings.Repeat("x", mail.MaxBody+1) + `"`,
			`"body":"b","metadata":{"k":"` + strings.Repeat("x", mail.MaxMetadata) + `"}`} {
			_, err := b.Call("ag_x1", "send_message", `{"type":"custom","to":"agent:ag_x2",`+args+`}`)
			if err == nil || !strings.Contains(err.Error(), "othing was sent") ||
				strings.Contains(err.Error(), "docs") {
				t.Errorf("%v", err)
			}
		}
	})
	t.Run("AG-19 AG-27 from and id are not the sender's to choose", func(t *testing.T) {
		b.refused("ag_x1", "send_message", `{"type":"custom","to":"agent:ag_x2","body":"b","from":"user"}`, `"from"`)
		b.refused("ag_x1", "send_message", `{"type":"custom","to":"agent:ag_x2","body":"b","id":"msg_mine"}`, `"id"`)
		id := b.send("ag_x1", mail.Custom, "agent:ag_x2", "").ID
		it, err := b.As(mail.User).Message(t.Context(), id)
		if err != nil || it.From != "agent:ag_x1" {
			t.Errorf("from %s, %v", it.From, err)
		}
		it, err = b.As(mail.User).Message(t.Context(), b.send("orchestrator", mail.Custom, "agent:ag_x2", "").ID)
		if m := fromItem(&it.Message, false, nil); err != nil || m.From != "orchestrator" {
			t.Errorf("from %s, %v", m.From, err)
		}
	})
	t.Run("AG-18 the user", func(t *testing.T) {
		b.refused("ag_x1", "send_message", `{"type":"question","to":"user","body":"b"}`,
			"Sub-agents route to orchestrator when they need human input")
		b.Register("boss", "orchestrator")
		for _, name := range []mail.Name{"orchestrator", "boss"} {
			id := b.send(name, mail.Question, "user", "").ID
			if !slices.ContainsFunc(b.Inbox(mail.User), func(it mail.Item) bool { return it.ID == id }) {
				t.Errorf("the question of %s is not in the user's mailbox", name)
			}
		}
	})
	t.Run("addresses that are none of the five", func(t *testing.T) {
		for to, why := range map[string]string{"ag_x1": `write \"agent:ag_x1\"`, "": "empty",
			"project:x": "not a routing address", "agent:nobody": "nobody"} {
			b.refused(mail.User, "send_message", fmt.Sprintf(`{"type":"custom","to":%q,"body":"b"}`, to),
				strings.ReplaceAll(why, `\`, ""))
		}
	})
	t.Run("AG-04 ids", func(t *testing.T) {
		form := regexp.MustCompile(`^msg_[A-Za-z0-9_-]{21}$`)
		seen := make(map[mail.ID]bool)
		for range 2000 {
			id := b.Send(mail.User, mail.Draft{To: mail.Recipients{"ag_x1"}, Body: "b"})
			if !form.MatchString(string(id)) || seen[id] {
				t.Fatalf("id %q", id)
			}
			seen[id] = true
		}
	})
	t.Run("AG-10 what a task-done says is not checked", func(t *testing.T) {
		b.send("ag_x1", mail.TaskDone, "orchestrator", `"body":"done"`)
	})
}

func TestRouting(t *testing.T) {
	t.Run("AG-14 one agent", func(t *testing.T) {
		b := newFixture(t)
		b.send("orchestrator", mail.TaskAssigned, "agent:ag_x1", `"body":"yours"`)
		b.wantBodies("ag_x1", "", "yours")
		b.wantBodies("ag_x2", "")
		b.wantBodies("orchestrator", "")
	})
	t.Run("AG-16 round robin", func(t *testing.T) {
		b := newFixture(t)
		builders := []mail.Name{"b1", "b2", "b3"}
		for _, n := range builders {
			b.Register(n, "builder")
		}
		var turns []mail.Name
		for range 9 {
			turns = append(turns, b.send("orchestrator", mail.TaskAssigned, "role:builder", "").Recipients[0].AgentID)
		}
		if want := slices.Repeat(builders, 3); !slices.Equal(turns, want) {
			t.Errorf("turns %v, want %v", turns, want)
		}
		for _, n := range builders {
			if got := len(b.bodies(n, "")); got != 3 {
				t.Errorf("%s got %d", n, got)
			}
		}
	})
	t.Run("AG-16 a role that nobody has", func(t *testing.T) { // A12
		b := newFixture(t)
		if r := b.send("orchestrator", mail.TaskAssigned, "role:scout", `"body":"wait"`).Recipients; len(r) != 1 ||
			r[0].State != mail.Held {
			t.Errorf("%+v, want it held", r)
		}
		b.Register("s1", "scout")
		b.wantBodies("s1", "", "wait")
	})
	t.Run("AG-17 broadcast", func(t *testing.T) { // A13
		b := newFixture(t)
		b.Register("away")
		if _, err := b.As(mail.User).Register(t.Context(),
			mail.Presence{Name: "away", State: mail.Frozen}); err != nil {
			t.Fatal(err)
		}
		b.send("ag_x1", mail.Status, "broadcast", `"body":"Running tests..."`)
		b.Register("late")
		b.wantBodies("ag_x2", "", "Running tests...")
		for _, n := range []mail.Name{"ag_x1", "orchestrator", "late", "away"} {
			b.wantBodies(n, "")
		}
		b.wantBodies("orchestrator", `{"to":"broadcast"}`, "Running tests...")
		ask[marked](b, "orchestrator", "mark_read", `{"all":true}`)
		b.wantBodies("orchestrator", `{"to":"broadcast"}`, "Running tests...")
		b.wantBodies("orchestrator", `{"to":"broadcast","since":"2026-05-10T14:00:00.999Z"}`)
		if _, err := b.As("ag_x1").Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Body: "of another dialect",
			Audience: mail.AudiencePresent}); err != nil {
			t.Fatal(err)
		}
		b.wantBodies("orchestrator", "", "of another dialect")
		if a, _, err := mail.OneAgent(t.Context(), b.As(mail.User), mail.Orchestrator); err != nil || a.Unread != 1 {
			t.Errorf("the roster has %+v, %v; it sees 1", a, err)
		}
		b.Advance(6 * 24 * time.Hour) // the document has no expiry
		b.wantBodies("ag_x2", "", "Running tests...")
	})
}

func TestRead(t *testing.T) {
	t.Run("AG-26 fifty of sixty, oldest first", func(t *testing.T) { // A10, A11
		b := newFixture(t)
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprint(i))
			b.send("orchestrator", mail.Custom, "agent:ag_x1", fmt.Sprintf(`"body":"%d"`, i))
			b.Advance(time.Second)
		}
		for range 2 { // reading marks nothing
			got := ask[found](b, "ag_x1", "read_messages", "{}")
			if len(got.Messages) != 50 || !got.HasMore || got.Messages[0].Body != "0" ||
				got.Messages[49].Body != "49" {
				t.Errorf("%d messages, more = %v", len(got.Messages), got.HasMore)
			}
		}
		b.wantBodies("ag_x1", `{"limit":100}`, want...)
		b.wantBodies("ag_x1", `{"limit":2}`, want[:2]...)
		if got := ask[found](b, "ag_x1", "read_messages", `{"limit":60}`); got.HasMore {
			t.Error("there is more than everything")
		}
		b.refused("ag_x1", "read_messages", `{"limit":0}`, "limit")
		b.refused("ag_x1", "read_messages", `{"limit":-3}`, "limit")
		b.refused("ag_x1", "read_messages", `{"from":"x"}`, `"from"`)
	})
	t.Run("AG-26 unreadOnly", func(t *testing.T) {
		b := newFixture(t)
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"one"`)
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"two"`)
		first := ask[found](b, "ag_x1", "read_messages", "").Messages[0]
		ask[marked](b, "ag_x1", "mark_read", `{"messageIds":["`+first.ID+`"]}`)
		b.wantBodies("ag_x1", "", "two")
		b.wantBodies("ag_x1", `{"unreadOnly":true}`, "two")
		b.wantBodies("ag_x1", `{"unreadOnly":false}`, "one", "two")
		all := ask[found](b, "ag_x1", "read_messages", `{"unreadOnly":false}`).Messages
		if !all[0].Read || all[1].Read {
			t.Errorf("read = %v, %v", all[0].Read, all[1].Read)
		}
	})
	t.Run("AG-26 the mail of others", func(t *testing.T) { // A2, A9
		b := newFixture(t)
		b.Register("b1", "builder")
		b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"direct"`)
		b.send("orchestrator", mail.Custom, "role:builder", `"body":"role"`)
		b.send("orchestrator", mail.Custom, "broadcast", `"body":"all"`)
		b.send("ag_x1", mail.Custom, "orchestrator", `"body":"up"`)
		b.wantBodies("ag_x1", "", "direct", "all")
		b.wantBodies("ag_x1", `{"to":"ag_x1"}`, "direct", "all")
		b.wantBodies("ag_x1", `{"to":"agent:ag_x1"}`, "direct")
		b.wantBodies("ag_x2", `{"to":"ag_x1"}`, "direct")
		b.wantBodies("ag_x2", `{"to":"agent:ag_x1"}`, "direct")
		b.wantBodies("ag_x2", `{"to":"role:builder"}`, "role")
		b.wantBodies("ag_x2", `{"to":"orchestrator"}`, "up")
		b.wantBodies("ag_x2", `{"to":"broadcast"}`, "all")
		b.wantBodies("ag_x2", `{"to":"user"}`)
		for _, who := range []mail.Name{"ag_x1", "b1", "orchestrator"} { // this changed no one's mail
			for _, it := range b.Inbox(who) {
				if it.Body != "all" && who != "ag_x1" && it.State != mail.Queued {
					t.Errorf("%q is %s with %s", it.Body, it.State, who)
				}
			}
		}
		b.refused("ag_x2", "read_messages", `{"to":"agent:nobody"}`, `no agent called "nobody"`)
		ask[marked](b, "ag_x2", "mark_read", `{"all":true}`)
		b.wantBodies("ag_x2", `{"to":"broadcast"}`)
		b.wantBodies("ag_x1", `{"to":"broadcast"}`, "all")
	})
	t.Run("AG-28 AG-23 since", func(t *testing.T) {
		b := newFixture(t)
		b.Advance(123 * time.Millisecond)
		for _, body := range []string{"at", "later"} {
			b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":"`+body+`"`)
			b.Advance(time.Millisecond)
		}
		for since, want := range map[string][]string{
			"2026-05-10T14:00:00.122Z":      {"at", "later"},
			"2026-05-10T14:00:00.123Z":      {"later"},
			"2026-05-10T16:00:00.123+02:00": {"later"},
			"2026-05-10T14:00:00.1239999Z":  {"later"},
			"2026-05-10T14:00:00.124Z":      {},
			"2026-05-10T14:00:00Z":          {"at", "later"},
		} {
			b.wantBodies("ag_x1", `{"since":"`+since+`"}`, want...)
		}
		b.refused("ag_x1", "read_messages", `{"since":"yesterday"}`, "not a time")
	})
	t.Run("AG-03 a message as the document shows it", func(t *testing.T) {
		b := newFixture(t)
		id := b.send("orchestrator", mail.TaskAssigned, "agent:ag_x1",
			`"subject":"S","body":"B","metadata":{"n":{"a":[1,2.0]}},"issueId":"issue_1"`).ID
		got, err := b.Call("ag_x1", "read_messages", "")
		want := `{"messages":[{"id":"` + string(id) +
			`","type":"task-assigned","from":"orchestrator","to":"agent:ag_x1","subject":"S","body":"B","metadata":{"n":{"a":[1,2.0]}},"issueId":"issue_1","agentId":"ag_x1","read":false,"createdAt":"2026-05-10T14:00:00Z"}],"hasMore":false}`
		if err != nil || got != want {
			t.Errorf("%s, %v\nwant\n%s", got, err, want)
		}
	})
	t.Run("AG-26 a long one is whole when it is alone", func(t *testing.T) { // P12, P7
		b := newFixture(t)
		diff := strings.Repeat("+ a line of \"code\" < 80\n", mail.MaxBody/20)[:mail.MaxBody]
		quoted := string(jsonx.AppendQuote(nil, diff))
		var ids []mail.ID
		for _, body := range []string{`"first"`, quoted, `"third"`} {
			ids = append(ids, b.send("orchestrator", mail.Custom, "agent:ag_x1", `"body":`+body).ID)
			b.Advance(time.Second)
		}
		got := ask[found](b, "ag_x1", "read_messages", `{}`)
		const end = "[Cut: %d of 65536 bytes. The whole: limit 1, since 2026-05-10T14:00:00.999Z]"
		cut := got.Messages[1].Body
		shown := strings.Index(cut, "\n\n[Cut: ")
		if len(got.Messages) != 3 || got.HasMore || got.Note == "" || shown < 5000 ||
			!strings.HasSuffix(cut, fmt.Sprintf(end, shown)) {
			t.Fatalf("%d messages, %q, the long one ends %q", len(got.Messages), got.Note, cut[max(0, len(cut)-120):])
		}
		if states := b.states(ids); states != "presented queued presented" {
			t.Errorf("after it was cut: %s", states)
		}
		b.wantBodies("ag_x1", `{"limit":1,"since":"2026-05-10T14:00:00.999Z"}`, diff)
		if states := b.states(ids); states != "presented presented presented" {
			t.Errorf("after it was whole: %s", states)
		}
		ask[marked](b, "ag_x1", "mark_read", fmt.Sprintf(`{"messageIds":[%q,%q]}`, ids[0], ids[2]))
		b.wantBodies("ag_x1", `{}`, diff) // it is the only one now
		// a message with the same time as another cannot be asked for alone
		b.send("orchestrator", mail.Custom, "agent:ag_x2", `"body":"first"`)
		b.send("orchestrator", mail.Custom, "agent:ag_x2", `"body":`+quoted)
		two := b.bodies("ag_x2", `{}`)
		if !strings.HasSuffix(two[1], " --as ag_x2]") {
			t.Errorf("it ends %q", two[1][len(two[1])-120:])
		}
	})
	t.Run("AG-26 fifty of a page each", func(t *testing.T) {
		b := newFixture(t)
		for i := range 50 {
			b.send("orchestrator", mail.Custom, "agent:ag_x1",
				fmt.Sprintf(`"subject":"report %d","body":"%d %s"`, i, i, strings.Repeat("x", 1200)))
			b.Advance(time.Second)
		}
		got := ask[found](b, "ag_x1", "read_messages", `{}`)
		if len(got.Messages) != 50 || got.HasMore || got.Messages[49].Subject != "report 49" ||
			!strings.Contains(got.Messages[49].Body, "[Cut: ") {
			t.Errorf("%d messages, more: %v", len(got.Messages), got.HasMore)
		}
		for _, m := range ask[found](b, "ag_x1", "read_messages", `{"limit":10}`).Messages {
			if len(m.Body) < 1200 || strings.Contains(m.Body, "[Cut") {
				t.Errorf("of ten, one is %q", m.Body)
			}
		}
	})
	t.Run("presented is recorded, for one's own mail", func(t *testing.T) {
		b := newFixture(t)
		id := b.send("orchestrator", mail.TaskAssigned, "agent:ag_x1", "").ID
		b.bodies("ag_x2", `{"to":"agent:ag_x1"}`)
		state := func() mail.DeliveryState {
			it, err := b.As(mail.User).Message(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return it.Deliveries[0].State
		}
		if s := state(); s != mail.Queued {
			t.Errorf("somebody else looked, and it is %s", s)
		}
		b.bodies("ag_x1", "")
		if s := state(); s != mail.Presented {
			t.Errorf("it was handed over, and is %s", s)
		}
	})
}

func TestMarkRead(t *testing.T) {
	b := newFixture(t)
	var ids []mail.ID
	for range 4 {
		ids = append(ids, b.send("orchestrator", mail.Custom, "agent:ag_x1", "").ID)
	}
	theirs := b.send("orchestrator", mail.Custom, "agent:ag_x2", "").ID
	mark := func(args string) marked { return ask[marked](b, "ag_x1", "mark_read", args) }
	none := []mail.ID{}
	for _, c := range []struct {
		name, args string
		want       marked
	}{
		{"AG-29 some", fmt.Sprintf(`{"messageIds":[%q,%q]}`, ids[0], ids[0]), marked{1, none, none, none, 0}},
		{"AG-29 again, with strangers", fmt.Sprintf(`{"messageIds":[%q,%q,"msg_no",%q]}`, ids[0], ids[1], theirs),
			marked{1, ids[:1], []mail.ID{"msg_no"}, []mail.ID{theirs}, 0}},
		{"AG-29 only strangers", fmt.Sprintf(`{"messageIds":["msg_no",%q,"msg_no"]}`, theirs),
			marked{0, none, []mail.ID{"msg_no"}, []mail.ID{theirs}, 0}},
		{"AG-29 an unknown one", `{"messageIds":["msg_no"]}`, marked{0, none, []mail.ID{"msg_no"}, none, 0}},
		{"AG-29 all", `{"all":true}`, marked{2, none, none, none, 0}},
		{"AG-29 all again", `{"all":true}`, marked{0, none, none, none, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, mark(c.args)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	b.wantBodies("ag_x1", "")
	b.wantBodies("ag_x2", "", "b")
	t.Run("AG-29 both or neither", func(t *testing.T) {
		for _, args := range []string{"", "{}", `{"all":false}`, `{"messageIds":[]}`,
			`{"messageIds":["a"],"all":true}`} {
			b.refused("ag_x1", "mark_read", args, "either messageIds or all")
		}
	})
}

func TestInstructions(t *testing.T) {
	t.Run("AG-30 agents are told to read at the start of a turn and on every wake", func(t *testing.T) {
		for _, e := range Dialect().Endpoints {
			if !strings.Contains(e.Instructions,
				"start of every turn, and whenever you are woken, call read_messages") {
				t.Errorf("%s says %q", e.Path, e.Instructions)
			}
		}
	})
	if d := Dialect(); d.Endpoints[0].Path != "/dialect/agenties/mcp/{agent}" ||
		d.Endpoints[1].Path != "/dialect/agenties/mcp" {
		t.Errorf("endpoints at %s and %s", d.Endpoints[0].Path, d.Endpoints[1].Path)
	}
}
