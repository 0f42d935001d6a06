package acceptance

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
)

func agentiesMore() []item {
	return []item{
		{id: "AG-20", says: "the broker is filled from the file at start", holds: agFilled},
		{id: "AG-21", says: "broker and disk get a message together", holds: agTogether},
		{id: "AG-22", says: "delivery does not depend on the disk", holds: agNoDisk},
		{id: "AG-23", says: "agents see new mail with `since`", holds: agNew},
		{id: "AG-24", says: "task-done, review-result, question wake the orchestrator", holds: agWakes,
			also: agWakesOnNews},
		{id: "AG-25", says: "7 days or 5,000 messages, trimmed at start", holds: agRetention},
		{id: "AG-26", says: "read_messages{to?, since?, unreadOnly?, limit?}", holds: agReadTool,
			also: agReadWhole},
		{id: "AG-27", says: "send_message{type, to, subject?, body, metadata?, issueId?}", holds: agSendTool},
		{id: "AG-28", says: "since is exclusive", holds: agSince},
		{id: "AG-29", says: "mark_read{messageIds} or {all}", holds: agMark},
		{id: "AG-30", says: "mail is read on every wake and at every start of a turn", holds: agTurnStart},
		{id: "AG-31", says: "/history: a timeline with type filters", holds: agHistory},
		{id: "AG-32", says: "/export json", holds: agExport},
	}
}

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

func agFilled(t *testing.T, _ *office) {
	a := ownAgency(t)
	a.join(t, "ag_x1")
	a.stop(t)
	for i := range 20 {
		a.add(t, agFile, strings.TrimSpace(agLine(fmt.Sprint("msg_hand", i), "task-assigned", "orchestrator",
			"agent:ag_x1", fmt.Sprint("by hand ", i), time.Now())))
	}
	a.serve(t)
	x1 := a.overHTTP(t, "/dialect/agenties/mcp", a.token(t, "ag_x1"))
	eventually(t, "20 lines that were written while nothing ran are mail", func() bool {
		return len(inbox(t, x1, nil)) == 20
	})
}

func agTogether(t *testing.T, _ *office) {
	a := ownAgency(t)
	x1 := a.join(t, "ag_x1")
	ended := make(chan result, 1)
	go func() { ended <- a.run("wait", "--as", "orchestrator", "--timeout", "30s", "--json") }()
	time.Sleep(100 * time.Millisecond)
	sent := post(t, x1, "task-done", "orchestrator", "both")
	if r := <-ended; !strings.Contains(r.stdout, sent.ID) {
		t.Errorf("a subscriber sees %+v", r)
	}
	a.kill()
	if log := a.log(t); len(log) != 1 || log[0].ID != sent.ID {
		t.Errorf("what a subscriber has seen is not in the file after kill -9: %+v", log)
	}
	a.serve(t)
	orchestrator := a.overHTTP(t, "/dialect/agenties/mcp", a.token(t, "orchestrator"))
	if got := inbox(t, orchestrator, nil); len(got) != 1 || got[0].ID != sent.ID {
		t.Errorf("after a restart the orchestrator reads %+v", got)
	}
}

func agNoDisk(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	if err := os.Rename(a.dir, a.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range 10 {
		post(t, a.orchestrator, "custom", "agent:ag_x1", fmt.Sprint("message ", i))
		if got := inbox(t, x1, nil); len(got) != i+1 {
			t.Fatalf("without the files the agent reads %d of %d messages", len(got), i+1)
		}
	}
	t.Logf("10 messages, sent and read without files: %s", time.Since(began))
	if err := os.Rename(a.dir+"-away", a.dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the files catch up", func() bool { return len(a.log(t)) == 10 })
}

func agNew(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	post(t, a.orchestrator, "custom", "agent:ag_x1", "old")
	last := inbox(t, x1, nil)[0].CreatedAt
	if got := inbox(t, x1, args{"since": last}); len(got) > 0 {
		t.Errorf("nothing is new, and %+v is shown", got)
	}
	time.Sleep(2 * time.Millisecond)
	post(t, a.orchestrator, "custom", "agent:ag_x1", "new")
	if got := bodies(inbox(t, x1, args{"since": last})); !slices.Equal(got, []string{"new"}) {
		t.Errorf("since %s there is %q", last, got)
	}
	if got := inbox(t, x1, nil); len(got) != 2 || got[0].Read {
		t.Errorf("reading has marked what it showed: %+v", got)
	}
}

func agWakes(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	wakes := map[string]bool{"task-done": true, "review-result": true, "question": true}
	for kind := range agWays {
		text, refused := x1.call(t, "send_message", args{"type": kind, "to": "orchestrator", "body": kind,
			"metadata": args{"verdict": "approved"}})
		if refused { // the document's table does not allow it
			continue
		}
		if wake := decode[agSent](t, text).Recipients[0].Wake; (wake == "exec") != wakes[kind] {
			t.Errorf("%s to a dormant orchestrator: the wake is %q", kind, wake)
		}
	}
	a.must(t, "send", "--to", "orchestrator", "--type", "status", "--body", "progress")
	eventually(t, "the orchestrator is woken without any act of the person", a.rung)
}

// agWakesOnNews: an agent that read its mail without marking it, and ended, is rung for new mail and not for the mail
// it saw.
func agWakesOnNews(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	a.must(t, "agents", "update", "orchestrator", "--state", "gone")
	for i := range 3 {
		post(t, x1, "task-done", "orchestrator", fmt.Sprint("report ", i))
		began := time.Now()
		eventually(t, fmt.Sprint("report ", i, " wakes it"), func() bool { return a.rings() == i+1 })
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("report %d wakes it after %s", i, took)
		}
		turn := a.overStdio(t, nil, "--dialect", "agenties", "--as", "orchestrator")
		if got := inbox(t, turn, nil); len(got) != i+1 {
			t.Errorf("in its turn it reads %q", bodies(got))
		}
		turn.session.Close()
		time.Sleep(500 * time.Millisecond)
		if n := a.rings(); n != i+1 {
			t.Errorf("for %d reports it was rung %d times: also for mail that it has seen", i+1, n)
		}
	}
}

func agRetention(t *testing.T, _ *office) {
	a := ownAgency(t)
	a.stop(t)
	// Survivors are known by id: aged goes because of its age, read because it was read, old because of its position.
	var file strings.Builder
	now := time.Now()
	add := func(name string, n int, age time.Duration, read bool) {
		for i := range n {
			line := agLine(fmt.Sprintf("msg_%s%d", name, i), "custom", "orchestrator", "agent:ag_x1", name,
				now.Add(-age+time.Duration(i)*time.Millisecond))
			if read {
				line = strings.Replace(line, `"read":false`, `"read":true`, 1)
			}
			file.WriteString(line)
		}
	}
	const day = 24 * time.Hour
	add("aged", 300, 7*day+time.Hour, false)
	add("old", 500, 6*day, false)
	add("read", 200, 3*day, true)
	add("fresh", 200, 20*time.Hour, true)
	add("new", 4800, 10*time.Hour, false)
	a.write(t, agFile, file.String())
	a.serve(t)
	eventually(t, "the file is trimmed", func() bool {
		return strings.Count(a.read(t, agFile), "\n") <= 5000
	})
	left := make(map[string]int)
	for _, m := range a.log(t) {
		left[strings.TrimRight(m.ID, "0123456789")]++
	}
	if diff := cmp.Diff(map[string]int{"msg_fresh": 200, "msg_new": 4800}, left); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	archived := 0
	files, err := filepath.Glob(a.path(".agenties/mailbox-archive/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		archived += strings.Count(string(text), "\n")
	}
	if archived != 1000 {
		t.Errorf("1,000 lines were trimmed, and %d are in the archive", archived)
	}
}

func agReadTool(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	names, required := properties(t, x1.tools(t)["read_messages"])
	slices.Sort(names)
	if !slices.Equal(names, []string{"limit", "since", "to", "unreadOnly"}) || len(required) > 0 {
		t.Errorf("read_messages takes %q and requires %q", names, required)
	}
	a.bulk(t, 60, "ag_x1", "message ")
	if got := inbox(t, x1, nil); len(got) != 50 || got[0].Body != "message 0" || got[49].Body != "message 49" {
		t.Errorf("of 60 unread messages, %d are shown", len(got))
	}
	x1.must(t, "mark_read", args{"messageIds": []string{inbox(t, x1, nil)[0].ID}})
	if got := inbox(t, x1, args{"limit": 1}); len(got) != 1 || got[0].Body != "message 1" {
		t.Errorf("the first unread one is %+v", got)
	}
	if got := inbox(t, x1, args{"limit": 100, "unreadOnly": false}); len(got) != 60 {
		t.Errorf("with what was read there are %d", len(got))
	}
	post(t, a.orchestrator, "custom", "broadcast", "to all")
	if got := bodies(inbox(t, x1, args{"to": "broadcast"})); !slices.Equal(got, []string{"to all"}) {
		t.Errorf("to: broadcast shows %q", got)
	}
}

// agReadWhole: an answer has as many letters as requested, and a single letter is whole.
func agReadWhole(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1, x2 := a.join(t, "ag_x1"), a.join(t, "ag_x2")
	a.bulk(t, 60, "ag_x1", strings.Repeat("A long report. ", 130))
	if got := inbox(t, x1, nil); len(got) != 50 || got[49].Body == "" {
		t.Errorf("of 60 letters of 2 KB, %d are shown", len(got))
	}
	diff := strings.Repeat("+ a line of the diff\n", 32<<10/21)
	post(t, a.orchestrator, "review-request", "agent:ag_x2", diff)
	if got := inbox(t, x2, nil); len(got) != 1 || strings.TrimSpace(got[0].Body) != strings.TrimSpace(diff) {
		t.Errorf("of a diff of %d bytes, %d are shown", len(diff), len(got[0].Body))
	}
}

func agSendTool(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.overStdio(t, nil, "--dialect", "agenties", "--as", "ag_x1")
	tools := x1.tools(t)
	names, required := properties(t, tools["send_message"])
	slices.Sort(names)
	slices.Sort(required)
	if !slices.Equal(names, []string{"body", "issueId", "metadata", "subject", "to", "type"}) ||
		!slices.Equal(required, []string{"body", "to", "type"}) {
		t.Errorf("send_message takes %q and requires %q", names, required)
	}
	if len(tools) != 3 || tools["read_messages"] == nil || tools["mark_read"] == nil {
		t.Errorf("there are %d tools", len(tools))
	}
	x1.must(t, "send_message", args{"type": "task-done", "to": "orchestrator", "subject": "Parser", "body": "done",
		"metadata": args{"n": 1}, "issueId": "issue_1"})
	got := inbox(t, a.orchestrator, nil)
	if len(got) != 1 || got[0].Subject != "Parser" || got[0].IssueID != "issue_1" || got[0].From != "agent:ag_x1" {
		t.Errorf("what is sent over stdio is read over HTTP as %+v", got)
	}
}

func agSince(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i, by := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		a.add(t, agFile, strings.TrimSpace(agLine(fmt.Sprint("msg_s", i), "custom", "orchestrator", "agent:ag_x1",
			by.String(), at.Add(by))))
	}
	eventually(t, "the lines are mail", func() bool { return len(inbox(t, x1, nil)) == 3 })
	for _, since := range []string{
		at.UTC().Format(time.RFC3339), at.UTC().Format("2006-01-02T15:04:05.000Z"),
		at.In(time.FixedZone("", 8*3600)).Format(time.RFC3339),
	} {
		if got := bodies(inbox(t, x1, args{"since": since})); !slices.Equal(got, []string{"1ms"}) {
			t.Errorf("since %s there is %q, want what came a millisecond later", since, got)
		}
	}
}

func agMark(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1, x2 := a.join(t, "ag_x1"), a.join(t, "ag_x2")
	for i := range 3 {
		post(t, a.orchestrator, "custom", "agent:ag_x1", fmt.Sprint("message ", i))
	}
	post(t, a.orchestrator, "custom", "agent:ag_x2", "another's")
	ids := []string{inbox(t, x1, nil)[1].ID}
	x1.must(t, "mark_read", args{"messageIds": ids})
	if got := bodies(inbox(t, x1, nil)); !slices.Equal(got, []string{"message 0", "message 2"}) {
		t.Errorf("after one was marked, %q are unread", got)
	}
	for _, bad := range []args{{}, {"messageIds": ids, "all": true}} {
		x1.refused(t, "mark_read", bad)
	}
	said := x1.must(t, "mark_read", args{"messageIds": []string{ids[0], inbox(t, x2, nil)[0].ID, "msg_nothing"}})
	for _, want := range []string{`"marked":0`, `"alreadyRead":["` + ids[0], `"notFound":["msg_nothing"]`,
		`"notYours":["`} {
		if !strings.Contains(said, want) {
			t.Errorf("marking what is read, nobody's and another's answers %s, not %s", said, want)
		}
	}
	x1.must(t, "mark_read", args{"all": true})
	if one, two := inbox(t, x1, nil), inbox(t, x2, nil); len(one) > 0 || len(two) != 1 {
		t.Errorf("after all were marked, %+v are unread; of the other agent %+v", one, two)
	}
}

func agTurnStart(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	if said := x1.session.InitializeResult().Instructions; !strings.Contains(said, "read_messages") {
		t.Errorf("an agent is not told to read its mail: %s", said)
	}
	client := a.session(t, "s-turn", "PENNYPOST_AGENT=ag_x1")
	client.hook(t, "SessionStart", args{"source": "startup"})
	post(t, a.orchestrator, "task-assigned", "agent:ag_x1", "Write the parser.")
	if said := client.hook(t, "UserPromptSubmit", args{"prompt": "go on"}); !strings.Contains(said,
		"Write the parser.") {
		t.Errorf("at the start of a turn the agent is told %s", said)
	}
}

func agHistory(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	post(t, x1, "question", "orchestrator", "Tabs?")
	post(t, a.orchestrator, "answer", "agent:ag_x1", "Tabs.")
	post(t, x1, "task-done", "orchestrator", "done")
	if got := bodies(ask[[]agMessage](t, a.office, "agenties", "history", "--type",
		"question,answer")); !slices.Equal(got, []string{"Tabs?", "Tabs."}) {
		t.Errorf("of two types the history has %q", got)
	}
	all := a.must(t, "agenties", "history")
	if q, d := strings.Index(all, "Tabs?"), strings.Index(all, "done"); q < 0 || d < q {
		t.Errorf("the timeline is\n%s", all)
	}
}

func agExport(t *testing.T, o *office) {
	a := newAgency(t, o)
	x1 := a.join(t, "ag_x1")
	a.bulk(t, 5, "ag_x1", "message ")
	x1.must(t, "send_message", args{"type": "review-result", "to": "orchestrator", "body": "good", "subject": "Review",
		"metadata": args{"verdict": "approved"}, "issueId": "issue_1"})
	text := a.must(t, "agenties", "export", "json")
	all := decode[[]agMessage](t, text)
	if diff := cmp.Diff(a.log(t), all); diff != "" {
		t.Errorf("the export is not what the file has (-file +export):\n%s", diff)
	}
	b := *a.office
	b.env = append(slices.Clone(a.env), "PENNYPOST_ROOM="+a.room()+"-2")
	b.write(t, "export.json", text)
	b.must(t, "agents", "register", "ag_x1")
	b.must(t, "agenties", "import", "export.json")
	if diff := cmp.Diff(all, decode[[]agMessage](t, b.must(t, "agenties", "export", "json"))); diff != "" {
		t.Errorf("imported and exported again (-before +after):\n%s", diff)
	}
}
