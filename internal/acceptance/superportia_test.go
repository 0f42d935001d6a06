package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/office/dialect/superportia/contracttest"
)

func superportiaItems() []item {
	return []item{
		{id: "SP-01", says: "four tools, the same over stdio and over HTTP", holds: spTools,
			differs: "There is a fifth, agent_heartbeat, which the document's session boot calls."},
		{id: "SP-02", says: "mail persists across sessions and ships", holds: spPersists},
		{id: "SP-03", says: "13 identities, each unique", holds: spIdentities},
		{id: "SP-04", says: "send: to, subject, body, priority?, from_agent?", holds: spSend},
		{id: "SP-05", says: "to must match exactly", holds: spExact},
		{id: "SP-06", says: "the answer of send; ids are msg- and 12 hex digits", holds: spAnswer},
		{id: "SP-07", says: "the sender is known from the configuration", holds: spSender},
		{id: "SP-08", says: "check: agent_name?, unread_only?, include_archived?, limit?", holds: spCheck,
			also: spCheckAll},
		{id: "SP-09", says: "another agent's mailbox may be checked", holds: spOthers},
		{id: "SP-10", says: "the answer of check", holds: spListing,
			differs: "Each row has a body too. The document has no tool that shows one message: without bodies, " +
				"agents could not read their mail."},
		{id: "SP-11", says: "mark_message: read and unread", holds: spMark},
		{id: "SP-12", says: "archive_message hides, include_archived shows", holds: spArchive},
		{id: "SP-13", says: "nothing is ever deleted", holds: spNeverDeleted},
		{id: "SP-14", says: "session boot: heartbeat, mailbox, ask", holds: spBoot},
		{id: "SP-15", says: "the hook tells the time in Taipei, unread, urgent", holds: spHook},
		{id: "SP-16", says: "no attachments, groups, threads; body of 4 KB; no push", holds: spLimits},
		{id: "SP-17", says: "best practices (guidance)", holds: spPractices},
		{id: "SP-18", says: "the five use cases", holds: spUseCases, also: spCaptain},
	}
}

// spIdentity is an identity of the document's table.
type spIdentity struct {
	Identity string `json:"identity"`
	Ship     string `json:"ship"`
	Platform string `json:"platform"`
	Role     string `json:"role"`
}

func spTable() []spIdentity {
	const app, cli, engineer, assistant = "Claude Desktop App", "Claude Code CLI", "Chief Engineer", "Assistant"
	return []spIdentity{
		{"Mac App 小克", "SS1", app, engineer + " (App)"}, {"Mac CLI 小克", "SS1", cli, engineer + " (CLI)"},
		{"Mac App 小A", "SS1", app, assistant + " (App)"}, {"Mac CLI 小A", "SS1", cli, assistant + " (CLI)"},
		{"Win App 小克", "SS2", app, engineer + " (App)"}, {"Win CLI 小克", "SS2", cli, engineer + " (CLI)"},
		{"Win App 小A", "SS2", app, assistant + " (App)"}, {"Win CLI 小A", "SS2", cli, assistant + " (CLI)"},
		{"Web 小克", "SS3", "Web interface", engineer + " (Web)"}, {"小西", "Any", "Claude Chat", "Strategist"},
		{"夏哥", "Any", "Captain", "Captain"}, {"system:cron", "Any", "Automated", "Scheduled tasks"},
		{"system:webhook", "Any", "Automated", "Webhook triggers"},
	}
}

const (
	macApp = "Mac App 小克"
	macCLI = "Mac CLI 小克"
	winCLI = "Win CLI 小克"
)

// fleet is a room that knows the document's identities.
type fleet struct{ *office }

func newFleet(t *testing.T, o *office) fleet {
	t.Helper()
	f := fleet{o.project(t)}
	text, err := json.Marshal(spTable())
	if err != nil {
		t.Fatal(err)
	}
	f.load(t, text)
	return f
}

func (f fleet) load(t *testing.T, identities []byte) {
	t.Helper()
	f.write(t, "fleet.json", string(identities))
	f.must(t, "superportia", "identities", "load", "fleet.json")
}

// local is an identity's session over stdio ("Local UBI"), cloud one over HTTP ("Cloud UB").
func (f fleet) local(t *testing.T, identity string) *client {
	t.Helper()
	return f.overStdio(t, []string{"SP_AGENT_ID=" + identity}, "--dialect", "superportia")
}

func (f fleet) cloud(t *testing.T, identity string) *client {
	t.Helper()
	return f.overHTTP(t, "/dialect/superportia/mcp", f.token(t, identity))
}

// spMailbox is the answer of check_agent_mailbox.
type spMailbox struct {
	Unread, Total int
	Messages      []spMessage
}

type spMessage struct {
	MsgID     string `json:"msg_id"`
	From      string `json:"from"`
	To        string `json:"to"`
	Subject   string `json:"subject"`
	Priority  string `json:"priority"`
	Read      bool   `json:"read"`
	Archived  bool   `json:"archived"`
	CreatedAt string `json:"created_at"`
	Body      string `json:"body"`
}

func (b spMailbox) subjects() (all []string) {
	for _, m := range b.Messages {
		all = append(all, m.Subject)
	}
	return all
}

// mailbox looks into a mailbox.
func mailbox(t *testing.T, c *client, how args) spMailbox {
	t.Helper()
	return decode[spMailbox](t, c.must(t, "check_agent_mailbox", how))
}

// dispatch sends a message and returns its id.
func dispatch(t *testing.T, c *client, to, subject string) string {
	t.Helper()
	return decode[spMessage](t, c.must(t, "send_agent_message", args{"to": to, "subject": subject,
		"body": "The text."})).MsgID
}

// spSession is a session for the contract.
type spSession struct {
	t *testing.T
	c *client
}

// Tools implements contracttest.Session.
func (s spSession) Tools() (names []string, err error) {
	for name := range s.c.tools(s.t) {
		names = append(names, name)
	}
	return names, nil
}

// Call implements contracttest.Session.
func (s spSession) Call(tool string, arguments []byte) ([]byte, error) {
	text, refused := s.c.call(s.t, tool, json.RawMessage(arguments))
	if refused {
		return nil, errors.New(text)
	}
	return []byte(text), nil
}

// spTools checks every way to the tools against one contract. The ways differ in how the n-th session of a case
// connects.
func spTools(t *testing.T, o *office) {
	type way func(f fleet, t *testing.T, n int, identity string) *client
	as := func(f fleet, t *testing.T, _ int, identity string) *client {
		return f.overStdio(t, nil, "--dialect", "superportia", "--as", identity)
	}
	local := func(f fleet, t *testing.T, _ int, identity string) *client { return f.local(t, identity) }
	cloud := func(f fleet, t *testing.T, _ int, identity string) *client { return f.cloud(t, identity) }
	remote := func(f fleet, t *testing.T, _ int, identity string) *client {
		elsewhere := filepath.Join(f.root, "elsewhere")
		env := []string{"PENNYPOST_HOME=" + elsewhere, "PENNYPOST_TOKEN=" + f.token(t, identity)}
		c := f.overStdio(t, env, "--dialect", "superportia", "--remote", f.running.HTTP)
		if _, err := os.Stat(elsewhere); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a session with a remote post office leaves something in %s", elsewhere)
		}
		return c
	}
	mixed := func(f fleet, t *testing.T, n int, identity string) *client {
		return []way{as, cloud, remote, local}[n%4](f, t, n, identity)
	}
	for name, connect := range map[string]way{
		"stdio": local, "HTTP": cloud, "remote": remote, "both": mixed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contracttest.Run(t, func(t *testing.T, identities []byte) contracttest.Connect {
				f, n := fleet{o.project(t)}, -1
				f.load(t, identities)
				return func(t *testing.T, identity string) contracttest.Session {
					n++
					return spSession{t, connect(f, t, n, identity)}
				}
			})
		})
	}
}

func spPersists(t *testing.T, o *office) {
	f := newFleet(t, o)
	a := f.local(t, macApp)
	id := dispatch(t, a, winCLI, "Over to you")
	a.session.Close()
	box := mailbox(t, f.cloud(t, winCLI), nil)
	if len(box.Messages) != 1 || box.Messages[0].MsgID != id || box.Messages[0].From != macApp {
		t.Errorf("after the sender's process has ended, the other ship has %+v", box)
	}
}

func spIdentities(t *testing.T, o *office) {
	f := newFleet(t, o)
	list := ask[[]spIdentity](t, f.office, "superportia", "identities")
	order := func(a, b spIdentity) int { return strings.Compare(a.Identity, b.Identity) }
	want := spTable()
	slices.SortFunc(list, order)
	slices.SortFunc(want, order)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("identities (-loaded +listed):\n%s", diff)
	}
	twice := []spIdentity{want[0], want[0]}
	text, err := json.Marshal(twice)
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, "twice.json", string(text))
	if r := f.run("superportia", "identities", "load", "twice.json"); r.code == 0 {
		t.Errorf("an identity is taken twice: %+v", r)
	}
}

func spSend(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.cloud(t, macApp)
	names, required := properties(t, c.tools(t)["send_agent_message"])
	slices.Sort(names)
	slices.Sort(required)
	if !slices.Equal(names, []string{"body", "from_agent", "priority", "subject", "to"}) ||
		!slices.Equal(required, []string{"body", "subject", "to"}) {
		t.Errorf("send_agent_message takes %q and requires %q", names, required)
	}
	whole := func() args { return args{"to": macCLI, "subject": "s", "body": "**b**"} }
	for _, missing := range required {
		a := whole()
		delete(a, missing)
		c.refused(t, "send_agent_message", a)
	}
	bad := whole()
	bad["priority"] = "high"
	c.refused(t, "send_agent_message", bad)
	for i, priority := range []any{nil, "normal", "urgent"} {
		a := whole()
		if a["subject"] = fmt.Sprint("message ", i); priority != nil {
			a["priority"] = priority
		}
		c.must(t, "send_agent_message", a)
	}
	var priorities []string
	for _, m := range mailbox(t, c, args{"agent_name": macCLI}).Messages {
		priorities = append(priorities, m.Priority)
	}
	slices.Sort(priorities)
	if !slices.Equal(priorities, []string{"normal", "normal", "urgent"}) {
		t.Errorf("the priorities are %q", priorities)
	}
}

func spExact(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.cloud(t, macApp)
	for _, to := range []string{"mac cli 小克", macCLI + " ", "Mac CLI 小Ｋ", "Mac CLI", "小克", "", "Mac  CLI 小克"} {
		said := c.refused(t, "send_agent_message", args{"to": to, "subject": "s", "body": "b"})
		if to != "" && !strings.Contains(said, "unknown_recipient") {
			t.Errorf("to %q: %s", to, said)
		}
	}
	if said := c.refused(t, "send_agent_message", args{"to": "mac cli 小克", "subject": "s",
		"body": "b"}); !strings.Contains(said, macCLI) {
		t.Errorf("the nearest identity is not named: %s", said)
	}
	for _, id := range spTable() {
		if box := mailbox(t, c, args{"agent_name": id.Identity}); box.Total != 0 {
			t.Errorf("%s has got %+v", id.Identity, box)
		}
	}
}

func spAnswer(t *testing.T, o *office) {
	f := newFleet(t, o)
	got := decode[map[string]any](t, f.local(t, macApp).must(t, "send_agent_message", args{"to": macCLI,
		"subject": "Research complete — docs", "body": "b"}))
	at, err := time.Parse(time.RFC3339, fmt.Sprint(got["timestamp"]))
	if !matches(`^msg-[0-9a-f]{12}$`, fmt.Sprint(got["msg_id"])) || err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("the answer is %v", got)
	}
	delete(got, "msg_id")
	delete(got, "timestamp")
	want := map[string]any{"to": macCLI, "from": macApp, "subject": "Research complete — docs", "delivered": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
}

func spSender(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.local(t, macApp)
	dispatch(t, c, macCLI, "from the configuration")
	c.must(t, "send_agent_message", args{"to": macCLI, "subject": "said too", "body": "b", "from_agent": macApp})
	c.refused(t, "send_agent_message", args{"to": macCLI, "subject": "forged", "body": "b", "from_agent": winCLI})
	for _, m := range mailbox(t, c, args{"agent_name": macCLI}).Messages {
		if m.From != macApp || m.Subject == "forged" {
			t.Errorf("there is %+v", m)
		}
	}
}

func spCheck(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.cloud(t, macCLI)
	names, required := properties(t, c.tools(t)["check_agent_mailbox"])
	slices.Sort(names)
	if !slices.Equal(names, []string{"agent_name", "include_archived", "limit", "unread_only"}) || len(required) > 0 {
		t.Errorf("check_agent_mailbox takes %q and requires %q", names, required)
	}
	f.bulk(t, 31, macCLI, "message ")
	if box := mailbox(t, c, nil); len(box.Messages) != 30 || box.Total != 31 || box.Unread != 31 {
		t.Errorf("of 31 messages %d are listed, of %d", len(box.Messages), box.Total)
	}
	newest := mailbox(t, c, args{"limit": 2}).Messages
	if len(newest) != 2 || newest[0].Body != "message 30" || newest[1].Body != "message 29" {
		t.Errorf("the newest two are %+v", newest)
	}
	c.must(t, "mark_message", args{"msg_id": newest[0].MsgID})
	c.must(t, "archive_message", args{"msg_id": newest[1].MsgID})
	for total, how := range map[int]args{30: {"limit": 50}, 29: {"limit": 50, "unread_only": true},
		31: {"limit": 50, "include_archived": true}} {
		if box := mailbox(t, c, how); len(box.Messages) != total {
			t.Errorf("with %v %d are listed, want %d", how, len(box.Messages), total)
		}
	}
}

// spCheckAll: long bodies hide no row, and an urgent message is above newer ones.
func spCheckAll(t *testing.T, o *office) {
	f := newFleet(t, o)
	a := f.cloud(t, macApp)
	text := strings.Repeat("A long report. ", 250)
	send := func(subject, priority string) {
		a.must(t, "send_agent_message", args{"to": macCLI, "subject": subject, "body": subject + text,
			"priority": priority})
	}
	send("disk full", "urgent")
	for i := range 35 {
		send(fmt.Sprint("report ", i), "normal")
	}
	text, refused := f.cloud(t, macCLI).call(t, "check_agent_mailbox", nil)
	box := decode[spMailbox](t, text)
	if refused || len(box.Messages) != 30 || box.Messages[0].Subject != "disk full" ||
		slices.Contains(box.subjects(), "") {
		t.Errorf("of 36 long messages these are listed: %q", box.subjects())
	}
	if !strings.Contains(text, `"more"`) {
		t.Error("it does not say that there are more, and how to go on")
	}
}

func spOthers(t *testing.T, o *office) {
	f := newFleet(t, o)
	a, b := f.local(t, macApp), f.cloud(t, macCLI)
	dispatch(t, a, macCLI, "for the CLI")
	if box := mailbox(t, a, args{"agent_name": macCLI, "unread_only": true}); len(box.Messages) != 1 {
		t.Errorf("another's mailbox has %+v", box)
	}
	if box := mailbox(t, b, nil); box.Unread != 1 {
		t.Errorf("looking has marked it: %+v", box)
	}
	a.refused(t, "check_agent_mailbox", args{"agent_name": "Mac CLI"})
}

func spListing(t *testing.T, o *office) {
	f := newFleet(t, o)
	a, b := f.cloud(t, macApp), f.cloud(t, macCLI)
	for i := range 3 {
		dispatch(t, a, macCLI, fmt.Sprint("message ", i))
	}
	b.must(t, "mark_message", args{"msg_id": mailbox(t, b, nil).Messages[0].MsgID})
	text := b.must(t, "check_agent_mailbox", args{"limit": 1})
	box := decode[map[string]any](t, text)
	if box["unread"] != 2.0 || box["total"] != 3.0 {
		t.Errorf("two of three are unread, and it says %v of %v", box["unread"], box["total"])
	}
	row := box["messages"].([]any)[0].(map[string]any)
	for _, key := range []string{"msg_id", "from", "to", "subject", "priority", "read", "archived", "created_at",
		"body"} {
		if _, ok := row[key]; !ok {
			t.Errorf("a row lacks %s: %v", key, row)
		}
	}
	if row["subject"] != "message 2" || row["read"] != true || row["archived"] != false || row["from"] != macApp ||
		row["to"] != macCLI {
		t.Errorf("the newest row is %v", row)
	}
}

func spMark(t *testing.T, o *office) {
	f := newFleet(t, o)
	a, b := f.cloud(t, macApp), f.local(t, macCLI)
	id := dispatch(t, a, macCLI, "toggle me")
	for _, read := range []bool{true, false, true} {
		b.must(t, "mark_message", args{"msg_id": id, "read": read})
		if box := mailbox(t, a, args{"agent_name": macCLI}); box.Messages[0].Read != read ||
			(box.Unread == 0) != read {
			t.Errorf("marked read=%t, and it is %+v", read, box)
		}
	}
	a.refused(t, "mark_message", args{"msg_id": id, "read": false})
	b.refused(t, "mark_message", args{"msg_id": "msg-000000000000"})
}

func spArchive(t *testing.T, o *office) {
	f := newFleet(t, o)
	a, b := f.cloud(t, macApp), f.cloud(t, macCLI)
	id := dispatch(t, a, macCLI, "done with")
	b.must(t, "archive_message", args{"msg_id": id})
	b.must(t, "archive_message", args{"msg_id": id})
	if box := mailbox(t, b, nil); box.Total != 0 || box.Unread != 0 || len(box.Messages) != 0 {
		t.Errorf("what is archived is in %+v", box)
	}
	if box := mailbox(t, b, args{"include_archived": true}); len(box.Messages) != 1 || !box.Messages[0].Archived {
		t.Errorf("with include_archived there is %+v", box)
	}
}

func spNeverDeleted(t *testing.T, o *office) {
	f := newFleet(t, o)
	a, b := f.cloud(t, macApp), f.cloud(t, macCLI)
	id := decode[spMessage](t, a.must(t, "send_agent_message", args{"to": macCLI, "subject": "s",
		"body": "a body that stays for good"})).MsgID
	b.must(t, "mark_message", args{"msg_id": id})
	b.must(t, "archive_message", args{"msg_id": id})
	b.must(t, "mark_message", args{"msg_id": id, "read": false})
	for name := range b.tools(t) {
		if strings.Contains(name, "delete") || strings.Contains(name, "erase") {
			t.Errorf("there is a tool %s", name)
		}
	}
	if box := mailbox(t, b, args{"include_archived": true}); box.Total != 1 {
		t.Errorf("after all operations there is %+v", box)
	}
	journal, err := os.ReadFile(filepath.Join(f.home, "rooms", f.room(), "mailbox.jsonl"))
	if err != nil || !strings.Contains(string(journal), "a body that stays for good") {
		t.Errorf("the body is not in the store (%v)", err)
	}
}

func spBoot(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.local(t, macCLI)
	beat := decode[map[string]any](t, c.must(t, "agent_heartbeat", args{"current_task": "WO-7"}))
	if beat["current_task"] != "WO-7" || beat["ship"] != "SS1" {
		t.Errorf("a heartbeat answers %v", beat)
	}
	dispatch(t, c, winCLI, "your turn")
	r := f.pipe("", []string{"SP_AGENT_ID=" + winCLI}, "superportia", "boot")
	if r.code != 0 || !strings.Contains(r.stdout, "Unread: 1") || !strings.Contains(r.stdout, "ask the Captain") {
		t.Errorf("boot ends with %+v", r)
	}
	if list := f.must(t, "superportia", "identities"); !matches(winCLI+`.* online`, list) ||
		!matches("Web 小克.* offline", list) {
		t.Errorf("after that the fleet is\n%s", list)
	}
}

func spHook(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.cloud(t, macApp)
	dispatch(t, c, macCLI, "when you can")
	for _, subject := range []string{"disk full", "UB down"} {
		c.must(t, "send_agent_message", args{"to": macCLI, "subject": subject, "body": "b", "priority": "urgent"})
	}
	r := f.pipe("", []string{"SP_AGENT_ID=" + macCLI}, "superportia", "boot")
	var at string
	urgent := 0
	for line := range strings.Lines(r.stdout) {
		if rest, ok := strings.CutPrefix(line, "Taipei time: "); ok {
			at, _, _ = strings.Cut(rest, " ")
		}
		if strings.HasPrefix(line, "URGENT: ") {
			urgent++
		}
	}
	when, err := time.Parse("2006-01-02T15:04:05+08:00", at)
	if _, offset := when.Zone(); err != nil || time.Until(when.Add(-8*time.Hour)).Abs() > time.Minute || offset != 0 {
		t.Errorf("the time in Taipei is %q: %v", at, err)
	}
	if urgent != 2 || !strings.Contains(r.stdout, "Unread: 3\n") || !strings.Contains(r.stdout, "disk full") ||
		strings.Contains(r.stdout, "when you can") {
		t.Errorf("the hook prints\n%s", r.stdout)
	}
}

func spLimits(t *testing.T, o *office) {
	f := newFleet(t, o)
	c := f.cloud(t, macApp)
	send := func(more args) args {
		a := args{"to": macCLI, "subject": "s", "body": "b"}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	for _, bad := range []args{
		{"to": []string{macCLI, winCLI}}, {"to": "all"}, {"to": macCLI + ", " + winCLI},
		{"attachments": []string{"x"}},
		{"thread": "msg-000000000000"}, {"reply_to": "msg-000000000000"},
	} {
		c.refused(t, "send_agent_message", send(bad))
	}
	c.must(t, "send_agent_message", send(args{"body": strings.Repeat("a", 4096)}))
	if said := c.refused(t, "send_agent_message", send(args{"body": strings.Repeat("a",
		4097)})); !strings.Contains(said,
		"4096") || !strings.Contains(said, "UB") {
		t.Errorf("a body that is too long is refused without the limit and the way around it: %s", said)
	}
	if box := mailbox(t, c, args{"agent_name": macCLI}); box.Total != 1 {
		t.Errorf("stored are %d messages", box.Total)
	}
	for name := range c.tools(t) {
		if strings.Contains(name, "wait") || strings.Contains(name, "subscribe") {
			t.Errorf("there is a tool %s", name)
		}
	}
}

func spPractices(t *testing.T, o *office) {
	tools := newFleet(t, o).cloud(t, macApp).tools(t)
	said, err := json.Marshal(tools["send_agent_message"])
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"subject", "urgent"} {
		if !strings.Contains(strings.ToLower(string(said)), word) {
			t.Errorf("the tool does not speak of %s: %s", word, said)
		}
	}
	if said := tools["archive_message"].Description; !strings.Contains(strings.ToLower(said), "act") {
		t.Errorf("nothing says to archive what was acted on: %s", said)
	}
}

func spUseCases(t *testing.T, o *office) {
	f := newFleet(t, o)
	ss1, ss2 := f.local(t, macCLI), f.cloud(t, winCLI)
	dispatch(t, ss1, winCLI, "a dependency of yours")
	dispatch(t, ss2, macCLI, "your turn to implement")
	dispatch(t, ss1, "夏哥", "done with WO-7")
	dispatch(t, ss1, macApp, "for the App on the same ship")
	r := f.pipe("", []string{"SP_AGENT_ID=system:webhook"}, "superportia", "send", "--all", "--priority", "urgent",
		"--subject", "disk full", "--body", "b")
	if r.code != 0 {
		t.Errorf("an alert to all ends with %+v", r)
	}
	for identity, want := range map[string][]string{
		winCLI: {"a dependency of yours"}, macCLI: {"your turn to implement"}, "夏哥": {"done with WO-7"},
		macApp: {"for the App on the same ship"}, "小西": nil,
	} {
		got := mailbox(t, ss1, args{"agent_name": identity}).subjects()
		if want = append(want, "disk full"); len(got) != len(want) || !slices.Contains(got, want[0]) ||
			!slices.Contains(got, "disk full") {
			t.Errorf("%s has %q, want %q", identity, got, want)
		}
	}
}

// spCaptain: the Captain is the person, and their mail is on the person's desk.
func spCaptain(t *testing.T, o *office) {
	f := newFleet(t, o)
	f.cloud(t, macCLI).must(t, "send_agent_message", args{"to": "夏哥", "subject": "reactor", "body": "It leaks.",
		"priority": "urgent"})
	if desk := f.must(t, "inbox"); !strings.Contains(desk, "reactor") {
		t.Errorf("an urgent letter to the Captain is not on the person's desk: %s", desk)
	}
	client := f.session(t, "s-captain")
	if r := client.does(t, "send", "--as", "夏哥", "--to", macCLI, "--body", "forged"); r.code == 0 {
		t.Errorf("a session speaks as the Captain: %+v", r)
	}
}
