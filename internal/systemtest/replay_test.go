package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// TestReplayTeams sends the captured conversations of agent teams again, each member being an MCP client with its
// own process, and then finds exactly the captured messages in every mailbox. PENNYPOST_TEAMS names another
// directory of teams.
func TestReplayTeams(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("PENNYPOST_TEAMS")
	if dir == "" {
		dir = fixture(t, "claude-teams")
	}
	teams := loadTeams(t, dir)
	if len(teams) < 2 {
		t.Fatalf("only %d teams in %s", len(teams), dir)
	}
	replayAll(t, teams)
}

// TestReplayLargeTeams replays made-up teams that are larger than the captured ones: their mailboxes take many
// pages, by count and by bytes, and their texts contain forms that are rare in real ones.
func TestReplayLargeTeams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		writeTeam(t, dir, fmt.Sprintf("large-%d", i), uint64(i))
	}
	teams := loadTeams(t, dir)
	if len(teams) != 2 || len(teams[0].letters()) != teamSize {
		t.Fatalf("loadTeams found %d teams with %d letters, want 2 with %d", len(teams), len(teams[0].letters()),
			teamSize)
	}
	replayAll(t, teams)
}

func replayAll(t *testing.T, teams []*team) {
	o := newOffice(t)
	// messages of hours are sent again in seconds
	limits := "[room.limits]\nexchanges = -1\nrepeat_window = \"never\"\nper_minute = -1\n"
	if longest(teams) > mail.MaxBody {
		limits = "[room]\nmax_body = 524288\n" + limits // the most that an MCP message holds in the worst spelling
	}
	writeConfig(t, o, limits)
	o.mustServe(t)
	for i, tm := range teams {
		era := eras()[i%2]
		t.Run(tm.name+"_"+era, func(t *testing.T) { replay(t, o, tm, "team-"+strconv.Itoa(i), era) })
	}
}

// longest returns the length of the longest text.
func longest(teams []*team) (n int) {
	for _, tm := range teams {
		for _, l := range tm.letters() {
			n = max(n, len(l.Text))
		}
	}
	return n
}

// address returns a team member's name for the post office. Only the person is no agent.
func address(member string) string {
	if member == string(mail.User) {
		return member
	}
	return "agent:" + member
}

func replay(t *testing.T, o *office, tm *team, room, era string) {
	agents := make(map[string]*agent)
	for _, name := range tm.members() {
		agents[name] = o.mustAgent(t, era, "--as", name, "--room", room)
	}
	letters := tm.letters()
	for _, l := range letters {
		args := map[string]string{"to": address(l.to), "body": l.Text}
		if l.Summary != "" {
			args["subject"] = l.Summary
		}
		if sent := must[mail.Sent](t, agents[l.From], "send_message", args); len(sent.Recipients) != 1 ||
			string(sent.Recipients[0].Agent) != l.to {
			t.Fatalf("a letter to %s went to %+v", l.to, sent.Recipients)
		}
	}
	t.Logf("%d members, %d letters", len(agents), len(letters))
	for name, a := range agents {
		var want []received
		for _, e := range tm.inbox[name] {
			want = append(want, received{address(e.From), address(name), e.Summary, e.Text})
		}
		if diff := cmp.Diff(asShown(want), readByMCP(t, a, name)); diff != "" {
			t.Errorf("%s reads over MCP something else than was captured (-captured +read):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, readByCLI(t, o, name, room)); diff != "" {
			t.Errorf("pennypost inbox --as %s shows something else than was captured (-captured +shown):\n%s", name,
				diff)
		}
	}
}

// received is the part of a captured entry that must come back equal.
type received struct{ From, To, Subject, Body string }

// asShown returns entries as models see them: the subject is an attribute of the fence's tag.
func asShown(entries []received) (out []received) {
	for _, e := range entries {
		out = append(out, received{e.From, e.To, strings.NewReplacer(`"`, "'", "<", "‹", ">", "›").Replace(e.Subject),
			fence.Text(e.Body)})
	}
	return out
}

func receivedFrom(items []mail.Item) (out []received) {
	for _, it := range items {
		to := make([]string, len(it.To))
		for i, a := range it.To {
			to[i] = string(a)
		}
		out = append(out, received{string(it.From), strings.Join(to, " "), it.Subject, it.Body})
	}
	return out
}

// readByMCP reads a whole mailbox as an agent does, page by page and long texts in parts, and marks nothing. All its
// mail is for the agent.
func readByMCP(t *testing.T, a *agent, name string) []received {
	t.Helper()
	var all []received
	args := map[string]any{}
	for {
		letters, end := a.read(t, "read_messages", args)
		for _, l := range letters {
			for l.Part != "" {
				_, offset, more := strings.Cut(l.Part, "offset ")
				if !more {
					break
				}
				n, _, _ := strings.Cut(offset, " ")
				at, err := strconv.Atoi(n)
				if err != nil {
					t.Fatalf("a part says %q", l.Part)
				}
				next, _ := a.read(t, "read_messages", map[string]any{"id": l.ID, "offset": at})
				l.Body, l.Part = l.Body+next[0].Body, next[0].Part
			}
			all = append(all, received{string(l.From), address(name), l.Subject, l.Body})
		}
		_, after, more := strings.Cut(end, "after ")
		if !more {
			if want := fmt.Sprintf("%d unread in all.", len(all)); len(all) > 0 && end != want {
				t.Errorf("read_messages says %q, and has shown %d", end, len(all))
			}
			return all
		}
		n, err := strconv.Atoi(strings.TrimSuffix(after, "."))
		if err != nil {
			t.Fatalf("read_messages says %q", end)
		}
		args["after"] = n
	}
}

// readByCLI reads a whole mailbox as a script does.
func readByCLI(t *testing.T, o *office, name, room string) []received {
	t.Helper()
	var all []mail.Item
	for after := mail.Seq(0); ; {
		page := ask[mail.Page](t, o, "inbox", "--as", name, "--room", room, "--all", "--limit", "1000", "--after",
			strconv.FormatUint(uint64(after), 10))
		all = append(all, page.Messages...)
		if after = page.Next; !page.More {
			return receivedFrom(all)
		}
	}
}

// teamSize is how many letters a made-up team writes: ten times the largest captured number, and more than one page
// each.
const teamSize = 400

// writeTeam writes a made-up team in the layout of the captured ones.
func writeTeam(t *testing.T, dir, name string, seed uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	members := []string{"team-lead", "doc-writer-1", "doc writer 2", "小克 builder", "reviewer at home", "user"}
	inbox := map[string][]map[string]any{"silent": {}}
	at := time.Date(2026, 2, 7, 15, 20, 46, 348e6, time.UTC)
	for i := range teamSize {
		from, to := members[rnd.IntN(len(members))], members[rnd.IntN(3)] // some get many
		at = at.Add(time.Duration(rnd.IntN(3)) * time.Millisecond)        // some at the same time
		e := map[string]any{"from": from, "text": strangeText(rnd, i),
			"timestamp": at.Format("2006-01-02T15:04:05.000Z"), "read": i%3 == 0}
		if i%2 == 0 {
			e["summary"] = fmt.Sprintf("Letter %d – \"done\" ✓", i)
		}
		if i%5 == 0 {
			e["color"] = "blue"
		}
		inbox[to] = append(inbox[to], e)
	}
	if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
		t.Fatal(err)
	}
	for to, entries := range inbox {
		writeJSON(t, filepath.Join(dir, name, to+".json"), entries)
	}
	writeJSON(t, filepath.Join(dir, "config-"+name+".json"), map[string]any{"name": name, "members": []any{
		map[string]string{"name": "team-lead"}, map[string]string{"name": "never heard of"},
	}})
}

func writeJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// strangeText returns a text that reveals trimming, normalisation, escaping or cuts.
func strangeText(rnd *rand.Rand, i int) string {
	texts := []string{
		"Task complete.\n\n```rust\n//! doc\n```\n", "  leading and trailing space \t\n\n", "CRLF\r\nline\r\n",
		"same text", "same text",
		`{"type":"idle_notification","from":"x","idleReason":"available"}`, "e\u0301 is not é",
		"小克 ✓ 👩‍🚀 \u202eabc\u202c \u2028 \ufeff", "\x01\x02\x1b[31mred\x7f",
		"</message> <system> \"quoted\" \\u0000 \\n \\", "<b>&amp;</b>", "-", "null", "\n.\n",
		strings.Repeat("long ", 3000),
	}
	text := texts[rnd.IntN(len(texts))]
	if rnd.IntN(2) == 0 {
		text += fmt.Sprint(" ", i)
	}
	return text
}
