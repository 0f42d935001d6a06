package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// station is a dialect, or the room's own tools, as its own programs use it: one that sends and one that reads,
// through the dialect's tools and its files. TestPairs of the dialects checks what each member of a message becomes.
type station struct {
	name   string
	posts  []post
	views  []view
	answer func(h *hall, t *testing.T, l *pairLetter) // marks the letter as read
	// knows reports whether this station's sender learns of that. Nil: it does not.
	knows func(h *hall, t *testing.T, l *pairLetter) bool
	// only is the agent whose mail this station carries. "": everyone's.
	only string
}

// post is a way to send a text that is in no other letter.
type post struct {
	name string
	send func(h *hall, t *testing.T, to, text string)
}

// view is a way to read an agent's mail. Its answer has the texts of the letters.
type view struct {
	name string
	look func(h *hall, t *testing.T, reader string) string
}

// pairLetter is a letter on its way between two stations.
type pairLetter struct {
	id       mail.ID
	to, text string
}

// hall is a post office whose room keeps the files of all dialects.
type hall struct {
	*office
	team     string             // the team's directory
	sessions map[string]speaker // by name
	started  int
}

// speaker is an agent's process that speaks a dialect.
type speaker struct {
	*agent
	dialect string
}

func newHall(t *testing.T) *hall {
	t.Helper()
	o := newOffice(t)
	h := &hall{office: o, team: filepath.Join(o.root, "claude", "teams", "parser"), sessions: make(map[string]speaker)}
	o.env = []string{"CLAUDE_CONFIG_DIR=" + filepath.Join(o.root, "claude")}
	o.mustServe(t, loopback)
	for _, name := range []string{"reader", "mate"} {
		o.must(t, "agents", "register", name)
	}
	o.must(t, "agents", "register", "writer", "--role", "orchestrator") // only it writes to the user in Agenties
	o.must(t, "workspace", "add", "writer", o.dir)
	o.must(t, "team", "create", "parser", "--member", "reader,mate")
	for _, dialect := range []string{"agenties", "haak", "openalice"} {
		o.must(t, "bridge", "add", dialect, o.dir)
	}
	return h
}

// session returns a name's process in a dialect; a dialect of "" means none. The process stays until its name is
// wanted in another dialect: two live processes cannot have one name.
func (h *hall) session(t *testing.T, dialect, name string) *agent {
	t.Helper()
	last, ok := h.sessions[name]
	if ok && last.dialect == dialect {
		return last.agent
	}
	if ok {
		last.session.Close()
	}
	args := []string{"--as", name}
	if dialect != "" {
		args = append(args, "--dialect", dialect)
	}
	h.started++
	a, err := h.agent(eras()[h.started%2], args...)
	if err != nil {
		t.Fatal(err)
	}
	h.sessions[name] = speaker{a, dialect}
	return a
}

func (h *hall) close() {
	for _, s := range h.sessions {
		s.session.Close()
	}
}

// use calls a tool of a name's process, which must succeed, and returns its text.
func (h *hall) use(t *testing.T, dialect, name, tool string, args map[string]any) string {
	t.Helper()
	text, err := h.session(t, dialect, name).call(t.Context(), tool, args)
	if err != nil {
		t.Fatalf("%s %s of %s: %v", dialect, tool, name, err)
	}
	return text
}

// file returns the content of a file, "" if there is none.
func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// inFile is the view of a file below the working directory.
func inFile(path string) view {
	return view{path, func(h *hall, t *testing.T, _ string) string { return file(t, filepath.Join(h.dir, path)) }}
}

// appends is a post by a foreign program that adds a line to a file; TO, TEXT and NOW are replaced.
func appends(path, line string) post {
	return post{path, func(h *hall, t *testing.T, to, text string) {
		t.Helper()
		line := strings.NewReplacer("TO", to, "TEXT", text, "NOW", now()).Replace(line)
		f, err := os.OpenFile(filepath.Join(h.dir, path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		check(t, err)
		_, err = f.WriteString(line + "\n")
		check(t, errors.Join(err, f.Close()))
	}}
}

func stations() []station {
	return []station{nativeStation(), agentiesStation(), haakStation(), superportiaStation(), openaliceStation(),
		teamsStation()}
}

func nativeStation() station {
	return station{
		name: "native",
		posts: []post{
			{"send_message", func(h *hall, t *testing.T, to, text string) {
				h.use(t, "", "writer", "send_message", map[string]any{"to": []string{to}, "body": text})
			}},
			{"pennypost send", func(h *hall, t *testing.T, to, text string) {
				h.must(t, "send", "--as", "writer", "--to", to, "--body", text)
			}},
		},
		views: []view{
			{"pennypost inbox", func(h *hall, t *testing.T, reader string) string {
				return h.must(t, "inbox", "--as", reader, "--all", "--limit", "1000", "--json")
			}},
		},
		answer: func(h *hall, t *testing.T, l *pairLetter) {
			if l.to == "user" {
				h.must(t, "mark", string(l.id), "--read")
				return
			}
			h.use(t, "", l.to, "mark_messages", map[string]any{"ids": []mail.ID{l.id}, "mark": "read"})
		},
		knows: func(h *hall, t *testing.T, l *pairLetter) bool {
			it := ask[mail.Page](t, h.office, "read", string(l.id)).Messages[0]
			return len(it.Deliveries) == 1 && it.Deliveries[0].State == mail.Read
		},
	}
}

func agentiesStation() station {
	const box = ".agenties/mailbox.jsonl"
	return station{
		name: "agenties",
		posts: []post{
			{"send_message", func(h *hall, t *testing.T, to, text string) {
				address := mail.AgentAddress(mail.Name(to))
				if to == "user" {
					address = mail.ToUser
				}
				h.use(t, "agenties", "writer", "send_message", map[string]any{"type": "custom", "to": address,
					"body": text})
			}},
			appends(box, `{"id":"msg_TEXT","type":"custom","from":"agent:writer","to":"agent:TO","body":"TEXT",`+
				`"read":false,"createdAt":"NOW"}`),
		},
		views: []view{
			inFile(box),
			{"read_messages", func(h *hall, t *testing.T, reader string) string {
				if reader == "user" {
					return h.must(t, "agenties", "history", "--limit", "1000")
				}
				return h.use(t, "agenties", reader, "read_messages", map[string]any{"limit": 100})
			}},
		},
		answer: func(h *hall, t *testing.T, l *pairLetter) {
			h.use(t, "agenties", l.to, "mark_read", map[string]any{"messageIds": []mail.ID{l.id}})
		},
		knows: func(h *hall, t *testing.T, l *pairLetter) bool {
			return hasLine(file(t, filepath.Join(h.dir, ".agenties/mailbox-reads.jsonl")), string(l.id), `"read":true`)
		},
	}
}

// hasLine reports whether one of the lines has all the words.
func hasLine(text string, words ...string) bool {
next:
	for line := range strings.Lines(text) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		return true
	}
	return false
}

func haakStation() station {
	const box = "data/agent-mailbox.jsonl"
	return station{
		name: "haak",
		posts: []post{
			{"haak mailbox send", func(h *hall, t *testing.T, to, text string) {
				h.must(t, "haak", "mailbox", "send", "--from", "writer", "--to", to, "--body", text)
			}},
			{"send_message", func(h *hall, t *testing.T, to, text string) {
				h.use(t, "haak", "writer", "send_message", map[string]any{"to": to, "subject": "a pair",
					"body": text})
			}},
			appends(box, `{"id":"TEXT","sender":"writer","recipient":"TO","timestamp":"NOW","content":"TEXT body",`+
				`"thread":null,"ttl_hours":24,"read_by":[]}`),
		},
		views: []view{
			inFile(box),
			{"haak mailbox list", func(h *hall, t *testing.T, _ string) string {
				return h.must(t, "haak", "mailbox", "list", "--all", "--json")
			}},
		},
		answer: func(h *hall, t *testing.T, l *pairLetter) { // the verb marks the mail that it prints
			text := h.must(t, "haak", "mailbox", "read", "--session-id", l.to, "--unread-only", "--json")
			if !strings.Contains(text, l.text) {
				t.Errorf("mailbox read does not show the letter: %s", text)
			}
		},
		knows: func(h *hall, t *testing.T, l *pairLetter) bool {
			return hasLine(file(t, filepath.Join(h.dir, "data/agent-mailbox-reads.jsonl")), string(l.id), l.to)
		},
	}
}

func superportiaStation() station {
	return station{
		name: "superportia",
		posts: []post{{"send_agent_message", func(h *hall, t *testing.T, to, text string) {
			h.use(t, "superportia", "writer", "send_agent_message", map[string]any{"to": to, "subject": "a pair",
				"body": text})
		}}},
		views: []view{{"check_agent_mailbox", func(h *hall, t *testing.T, reader string) string {
			return h.use(t, "superportia", reader, "check_agent_mailbox", map[string]any{"limit": 30})
		}}},
		answer: func(h *hall, t *testing.T, l *pairLetter) {
			h.use(t, "superportia", l.to, "mark_message", map[string]any{"msg_id": l.id})
		},
	}
}

func openaliceStation() station {
	const box = "data/inbox/entries.jsonl"
	return station{
		name: "openalice", only: "user",
		posts: []post{
			{"inbox_push", func(h *hall, t *testing.T, _, text string) {
				h.use(t, "openalice", "writer", "inbox_push", map[string]any{"comments": text})
			}},
			appends(box, `{"id":"TEXT","ts":1795000000000,"workspaceId":"writer","workspaceLabel":"Writer",`+
				`"comments":"TEXT body"}`),
		},
		views: []view{
			inFile(box),
			{"GET /api/inbox/history", func(h *hall, t *testing.T, _ string) string {
				a, err := h.socket("").do("GET", "/api/inbox/history?limit=1000", "")
				if err != nil || a.status != 200 {
					t.Fatalf("%d %s, %v", a.status, a.body, err)
				}
				return a.body
			}},
		},
		answer: func(h *hall, t *testing.T, l *pairLetter) {
			if a, err := h.socket("").do("PUT", "/api/inbox/"+string(l.id)+"/read", ""); err != nil ||
				a.status != 200 {
				t.Errorf("%d %s, %v", a.status, a.body, err)
			}
		},
		knows: func(h *hall, t *testing.T, l *pairLetter) bool {
			return strings.Contains(file(t, filepath.Join(h.dir, "data/inbox/read-state.json")), string(l.id))
		},
	}
}

func teamsStation() station {
	inbox := func(h *hall) string { return filepath.Join(h.team, "inboxes", "reader.json") }
	return station{
		name: "claudeteams", only: "reader",
		posts: []post{
			{"team send", func(h *hall, t *testing.T, to, text string) {
				h.must(t, "team", "send", "parser", to, text+" body", "--agent", "mate", "--summary", "a pair")
			}},
			{"inboxes/reader.json", func(h *hall, t *testing.T, _, text string) {
				h.rewrite(t, inbox(h), func(entries []map[string]any) []map[string]any {
					return append(entries, map[string]any{"from": "mate", "text": text, "timestamp": now(),
						"read": false})
				})
			}},
		},
		views: []view{
			{"inboxes/reader.json", func(h *hall, t *testing.T, _ string) string { return file(t, inbox(h)) }},
			{"team show", func(h *hall, t *testing.T, _ string) string {
				return h.must(t, "team", "show", "parser", "reader", "--json")
			}},
		},
		answer: func(h *hall, t *testing.T, l *pairLetter) { // as Claude Code does after the delivery
			h.rewrite(t, inbox(h), func(entries []map[string]any) []map[string]any {
				for _, e := range entries {
					e["read"] = e["read"] == true || strings.Contains(e["text"].(string), l.text)
				}
				return entries
			})
		},
	}
}

// rewrite changes an inbox under its lock, as Claude Code does.
func (h *hall) rewrite(t *testing.T, path string, change func([]map[string]any) []map[string]any) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	eventually(t, "the inbox's lock is free", func() bool { return os.Mkdir(path+".lock", 0o700) == nil })
	defer os.Remove(path + ".lock")
	var entries []map[string]any
	if text := file(t, path); text != "" {
		entries = decode[[]map[string]any](t, text)
	}
	text, err := json.Marshal(change(entries))
	check(t, err)
	check(t, os.WriteFile(path, text, 0o600))
}

// TestPairs sends in each dialect through a process or a file, and reads and marks in each through another process
// and the files, in one room that keeps the files of all. Members that a dialect does not have must not turn up in
// it.
func TestPairs(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	defer h.close()
	for i, a := range stations() {
		for j, b := range stations() {
			for k, p := range a.posts {
				t.Run(a.name+" to "+b.name+" by "+p.name, func(t *testing.T) {
					h.pair(t, &a, &b, p, fmt.Sprintf("pair-%d-%d-%d", i, j, k))
				})
			}
		}
	}
}

// pair sends with p, which is a's, and reads in b.
func (h *hall) pair(t *testing.T, a, b *station, p post, text string) {
	l := &pairLetter{to: "reader", text: text}
	if a.only != "" {
		l.to = a.only
	} else if b.only != "" {
		l.to = b.only
	}
	p.send(h, t, l.to, text)
	eventually(t, "the letter is in the room", func() bool { l.id = h.inRoom(t, text); return l.id != "" })
	h.inStep(t)
	carried := b.only == "" || b.only == l.to
	for _, v := range b.views {
		if shown := v.look(h, t, l.to); strings.Contains(shown, text) != carried {
			t.Errorf("whether %s of %s has the letter should be %v: %.3000s", v.name, b.name, carried, shown)
		}
	}
	if !carried {
		return
	}
	if a.knows != nil && a.knows(h, t, l) {
		t.Errorf("%s says that it was read before it was", a.name)
	}
	b.answer(h, t, l)
	eventually(t, "the room knows that it was read", func() bool { return stations()[0].knows(h, t, l) })
	h.inStep(t)
	if a.knows != nil {
		eventually(t, a.name+" knows that it was read", func() bool { return a.knows(h, t, l) })
	}
	if id := h.inRoom(t, text); id != l.id {
		t.Errorf("in the end the letter is %q, and was %q", id, l.id)
	}
}

// inRoom returns the id of the one letter of that text, "" if there is none yet.
func (h *hall) inRoom(t *testing.T, text string) (id mail.ID) {
	t.Helper()
	for _, it := range ask[mail.Page](t, h.office, "history", "--limit", "1000").Messages {
		if strings.Contains(it.Body, text) {
			if id != "" {
				t.Fatalf("%s and %s are the same letter", id, it.ID)
			}
			id = it.ID
		}
	}
	return id
}
