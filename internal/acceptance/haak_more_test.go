package acceptance

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func haakMore() []item {
	return []item{
		{id: "HK-21", says: "an agent with the tag sees the message when it looks", holds: hkTagAtRead},
		{id: "HK-22", says: "several tags are a union", holds: hkUnion},
		{id: "HK-23", says: "four namespaces, no groups, no subscriptions", holds: hkNamespaces},
		{id: "HK-24", says: "over 1,000 messages, older ones go to the archive", holds: hkArchive},
		{id: "HK-25", says: "viewer: recent, pending, threads", holds: hkViewer},
		{id: "HK-26", says: "the user reads, and intervenes", holds: hkIntervenes},
		{id: "HK-27", says: "the board is complementary", holds: hkNoBoard},
		{id: "HK-28", says: "rows for the entity graph", holds: hkEntities},
		{id: "HK-29", says: "/bye and /checkpoint send what is pending", holds: hkBye},
		{id: "HK-30", says: "console: tags are channels", holds: hkChannels},
	}
}

func hkTagAtRead(t *testing.T, o *office) {
	h := newHaak(t, o, "s", "joins")
	h.register(t, "leaves", "--tags", "project:x")
	h.send(t, "s", "project:x", "m")
	h.must(t, "haak", "roster", "update", "--session-id", "joins", "--tags", "project:x")
	h.must(t, "haak", "roster", "update", "--session-id", "leaves", "--tags", "project:other")
	h.polls(t, "joins", "m")
	h.polls(t, "leaves")
}

func hkUnion(t *testing.T, o *office) {
	h := newHaak(t, o, "s", "none")
	h.register(t, "a", "--tags", "project:a")
	h.register(t, "b", "--tags", "concern:b")
	h.register(t, "both", "--tags", "project:a,concern:b")
	h.send(t, "s", "project:a,concern:b", "m")
	for _, session := range []string{"a", "b", "both"} {
		h.polls(t, session, "m")
	}
	h.polls(t, "none")
}

func hkNamespaces(t *testing.T, o *office) {
	h := newHaak(t, o, "s")
	if r := h.run("haak", "mailbox", "send", "--from", "s", "--to", "foo:bar", "--body", "m"); r.code == 0 {
		t.Errorf("mail to foo:bar is sent: %+v", r)
	}
	if r := h.run("haak", "roster", "update", "--session-id", "s", "--tags", "foo:bar"); r.code == 0 {
		t.Errorf("the tag foo:bar is taken: %+v", r)
	}
	if text := h.read(t, hkMailbox); text != "" {
		t.Errorf("stored is %s", text)
	}
	for _, tag := range []string{"project:a", "concern:a", "domain:a", "role:a"} {
		h.send(t, "s", tag, "m")
	}
}

// hkOld are expired lines of March and April.
func hkOld(n int) (all []string) {
	for i := range n {
		at := time.Date(2026, time.March+time.Month(i%2), 16, 14, 30, 0, 0, time.UTC)
		all = append(all, hkLine(fmt.Sprint("old-", i), "alice", "bob", fmt.Sprint("expired ", i), at))
	}
	return all
}

func hkArchive(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	all := hkOld(1000)
	h.add(t, hkMailbox, strings.Join(all, "\n"))
	h.must(t, "haak", "mailbox", "archive")
	if n := len(h.log(t)); n != 1000 {
		t.Errorf("of 1,000 messages %d stay", n)
	}
	h.send(t, "alice", "bob", "fresh")
	h.must(t, "haak", "mailbox", "archive")
	if log := h.log(t); len(log) != 1 || log[0].Content != "fresh" {
		t.Errorf("of 1,001 messages %d stay", len(log))
	}
	for _, month := range []string{"2026-03", "2026-04"} {
		if n := strings.Count(h.read(t, "data/agent-mailbox-archive/"+month+".jsonl"), "\n"); n != 500 {
			t.Errorf("%d lines are in the archive of %s", n, month)
		}
	}
	if out := h.must(t, "haak", "mailbox", "query", "--archive", "expired 998"); !strings.Contains(out,
		"expired 998") {
		t.Errorf("the archive is not found: %q", out)
	}
	h.polls(t, "bob", "fresh")
	hkArchiveKilled(t)
}

// hkArchiveKilled kills the post office while it archives, again and again.
func hkArchiveKilled(t *testing.T) {
	t.Helper()
	h := openHaak(t, newOffice(t), "alice", "bob")
	h.stop(t)
	all := append(hkOld(1500), hkLine("role-1", "alice", "architect", "waits", time.Now()))
	h.add(t, hkMailbox, strings.Join(all, "\n"))
	for i := range 4 {
		h.serve(t)
		time.Sleep(time.Duration(20*i*i) * time.Millisecond)
		h.kill()
	}
	h.serve(t)
	eventually(t, "the mailbox is archived", func() bool { return len(h.log(t)) <= 1000 })
	h.must(t, "haak", "mailbox", "archive")
	seen := make(map[string]int)
	files, err := filepath.Glob(h.path("data/agent-mailbox-archive/2026-??.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, h.path(hkMailbox)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			seen[strings.TrimSuffix(line, "\n")]++
		}
	}
	for _, line := range all {
		if seen[line] != 1 {
			t.Fatalf("after kill -9 this line is there %d times: %s", seen[line], line)
		}
	}
}

func hkViewer(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	root := h.send(t, "alice", "bob", "Two are read.", "--subject", "Stones")
	h.send(t, "bob", "alice", "And the third?", "--thread", root.ID)
	p := h.page(t)
	recent, pending := p.get(t, "/@"+h.room()+"/agents/bob"), p.get(t, "/@"+h.room()+"/history?state=queued")
	thread := p.get(t, "/@"+h.room()+"/history?thread="+root.ID)
	for name, page := range map[string]string{"the agent's page": recent, "the list of pending mail": pending,
		"the thread": thread} {
		if !strings.Contains(page, "Stones") && !strings.Contains(page, "Two are read.") {
			t.Errorf("%s lacks the message", name)
		}
		if !strings.Contains(page, "And the third?") {
			t.Errorf("%s lacks the reply", name)
		}
	}
	h.poll(t, "bob")
	if pending = p.get(t, "/@"+h.room()+"/history?state=queued"); strings.Contains(pending, "Stones") {
		t.Error("what was read is listed as pending")
	}
}

func hkIntervenes(t *testing.T, o *office) {
	h := newHaak(t, o, "bob")
	h.page(t).post(t, "/@"+h.room()+"/send", url.Values{"to": {"bob"}, "body": {"Never mind the third."}})
	if log := h.log(t); len(log) != 1 || log[0].Sender != "user" {
		t.Errorf("the file has %+v", log)
	}
	h.polls(t, "bob", "Never mind the third.")
}

func hkNoBoard(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	h.send(t, "alice", "bob", "You should do Y.")
	h.poll(t, "bob")
	entries, err := os.ReadDir(h.path("data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "agent-") {
			t.Errorf("mail has made %s", e.Name())
		}
	}
}

func hkEntities(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	m := h.send(t, "alice", "bob", "The text.")
	graph := strings.Join(strings.Fields(h.must(t, "haak", "entities", m.ID)), " ")
	situation := "situation:mailbox-msg-" + m.ID
	for _, want := range []string{
		"entity: " + situation, "type: situation", "agent:alice belongs-to " + situation + ` quality: "actor"`,
		"agent:bob belongs-to " + situation + ` quality: "actor"`, "belongs-to " + situation +
			` quality: "materialization"`,
	} {
		if !strings.Contains(graph, want) {
			t.Errorf("the rows lack %q:\n%s", want, graph)
		}
	}
}

func hkBye(t *testing.T, o *office) {
	h := newHaak(t, o, "alice", "bob")
	for verb, state := range map[string]string{"checkpoint": "frozen", "bye": "dead"} {
		session := "one-who-says-" + verb
		h.register(t, session)
		h.must(t, "haak", "mailbox", "send", "--from", session, "--to", "alice", "--body", "draft of "+verb, "--later")
		if strings.Contains(h.read(t, hkMailbox), "draft of "+verb) {
			t.Errorf("what is kept for %s is sent at once", verb)
		}
		h.send(t, "bob", session, "a last word")
		if out := h.must(t, "haak", verb, "--session-id", session); !strings.Contains(out, "a last word") {
			t.Errorf("%s does not print the last mail: %s", verb, out)
		}
		if !strings.Contains(h.read(t, hkMailbox), "draft of "+verb) {
			t.Errorf("%s does not send what was kept", verb)
		}
		if entry := h.must(t, "haak", "roster", "show", "--session-id", session, "--json"); !strings.Contains(entry,
			`"state":"`+state+`"`) {
			t.Errorf("after %s the session is %s", verb, entry)
		}
	}
}

func hkChannels(t *testing.T, o *office) {
	h := newHaak(t, o, "alice")
	h.register(t, "builder", "--tags", "project:inscription,concern:governance")
	h.send(t, "alice", "project:inscription", "Two are read.")
	for _, want := range []string{"#inscription", "#governance"} {
		if out := h.must(t, "haak", "channels"); !slices.Contains(strings.Fields(out), want) {
			t.Errorf("there is no channel %s: %s", want, out)
		}
	}
	p := h.page(t)
	channel := "/@" + h.room() + "/channels/project:inscription"
	if list := p.get(t, "/@"+h.room()+"/channels"); !strings.Contains(list, "inscription") ||
		!strings.Contains(list, "governance") {
		t.Error("the page of channels lacks them")
	}
	p.post(t, "/@"+h.room()+"/send", url.Values{"to": {"project:inscription"}, "body": {"The third is a forgery."}})
	if page := p.get(t, channel); !strings.Contains(page, "Two are read.") ||
		!strings.Contains(page, "The third is a forgery.") {
		t.Error("the channel does not show what was said in it")
	}
	if log := h.log(t); log[len(log)-1].Recipient != "project:inscription" || log[len(log)-1].Sender != "user" {
		t.Errorf("the last line of the file is %+v", log[len(log)-1])
	}
}
