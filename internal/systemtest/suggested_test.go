package systemtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// reply is how an agent that was not asked answers writer's question in a dialect. Its letter has the text.
type reply struct {
	name     string
	suggests bool // it is recognised as an answer to the question; otherwise it is an ordinary letter
	send     func(h *hall, t *testing.T, question mail.ID, text string)
}

// replies returns every kind. The tools of Agenties let only the orchestrator answer, and its lines name a question
// only as Pennypost writes them; in HAAK's file a reply has no type; in superportia and openalice nothing is a
// reply, and no frame of a team is one to a question of the room.
func replies() []reply {
	line := func(path, line string) func(*hall, *testing.T, mail.ID, string) {
		return func(h *hall, t *testing.T, question mail.ID, text string) {
			appends(path, strings.ReplaceAll(line, "QUESTION", string(question))).send(h, t, "writer", text)
		}
	}
	const agenties, haak = ".agenties/mailbox.jsonl", "data/agent-mailbox.jsonl"
	return []reply{
		{"native, send_message", true, func(h *hall, t *testing.T, question mail.ID, text string) {
			h.use(t, "", "mate", "send_message", map[string]any{"to": []string{"writer"}, "type": "answer",
				"reply_to": question, "body": text})
		}},
		{"agenties, a line of the file", true, line(agenties, `{"id":"msg_TEXT","type":"answer","from":"agent:mate",`+
			`"to":"agent:TO","body":"TEXT","metadata":{"pennypost":{"replyTo":"QUESTION"}},"read":false,"createdAt":"NOW"}`)},
		{"haak, a line of the file", false, line(haak, `{"id":"TEXT","sender":"mate","recipient":"TO","timestamp":"NOW",`+
			`"content":"TEXT","thread":"QUESTION","ttl_hours":24,"read_by":[]}`)},
		{"haak, mailbox send", true, func(h *hall, t *testing.T, question mail.ID, text string) {
			h.must(t, "haak", "mailbox", "send", "--from", "mate", "--to", "writer", "--body", text, "--thread",
				string(question))
		}},
		{"haak, the user of the file", false, line(haak, `{"id":"TEXT","sender":"user","recipient":"TO","timestamp":"NOW",`+
			`"content":"TEXT","thread":"QUESTION","ttl_hours":24,"read_by":[]}`)},
		{"agenties, the user of the file", true, line(agenties, `{"id":"msg_TEXT","type":"answer","from":"user",`+
			`"to":"agent:TO","body":"TEXT","metadata":{"pennypost":{"replyTo":"QUESTION"}},"read":false,"createdAt":"NOW"}`)},
		{"superportia, send_agent_message", false, func(h *hall, t *testing.T, _ mail.ID, text string) {
			h.use(t, "superportia", "mate", "send_agent_message", map[string]any{"to": "writer", "subject": "answer",
				"body": text})
		}},
		{"claudeteams, team send", false, func(h *hall, t *testing.T, _ mail.ID, text string) {
			h.must(t, "team", "send", "parser", "reader", text, "--agent", "mate", "--summary", "an answer")
		}},
	}
}

// TestP13_SuggestedInEveryDialect makes an agent that was not asked answer, in each dialect, an agent's question to
// the user: the letter arrives in the form of the dialect, and the question stays open until the user answers. A
// recognised reply is on the card as a suggestion, with its author.
func TestP13_SuggestedInEveryDialect(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	defer h.close()
	for i, r := range replies() {
		t.Run(r.name, func(t *testing.T) {
			question := ask[mail.Sent](t, h.office, "send", "--as", "writer", "--to", "user", "--type", "question",
				"--body", fmt.Sprintf("May I, %d?", i)).ID
			h.inStep(t)
			text := fmt.Sprintf("suggested-%d", i)
			r.send(h, t, question, text)
			answer := h.arrives(t, text)
			it := ask[mail.Page](t, h.office, "read", string(question)).Messages[0]
			if !it.Open {
				t.Fatalf("the question is settled: %+v", it)
			}
			reply := ask[mail.Page](t, h.office, "read", string(answer)).Messages[0]
			if got := len(it.Suggestions) == 1 && it.Suggestions[0].From == reply.From && reply.Suggests &&
				strings.Contains(it.Suggestions[0].Body, text); got != r.suggests {
				t.Errorf("the card has %+v of %+v; want a suggestion: %v", it.Suggestions, reply, r.suggests)
			}
			h.must(t, "answer", string(question), "no")
			if it := ask[mail.Page](t, h.office, "read", string(question)).Messages[0]; it.Open {
				t.Error("the user's answer does not settle it")
			}
		})
	}
}

// TestP13_TheUserAnswersInAFile holds that a question over a bridge is settled by the user of its files.
func TestP13_TheUserAnswersInAFile(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	defer h.close()
	const box = ".agenties/mailbox.jsonl"
	h.must(t, "send", "--as", "mate", "--to", "reader", "--body", "the file is there")
	h.inStep(t)
	appends(box, `{"id":"msg_TEXT","type":"question","from":"agent:mate","to":"user","body":"TEXT",`+
		`"read":false,"createdAt":"NOW"}`).send(h, t, "user", "asked")
	question := h.arrives(t, "asked")
	appends(box, `{"id":"msg_TEXT","type":"answer","from":"user","to":"agent:mate","body":"TEXT",`+
		`"metadata":{"pennypost":{"replyTo":"`+string(question)+`"}},"read":false,"createdAt":"NOW"}`).send(h, t, "mate", "answered")
	eventually(t, "it is settled", func() bool {
		return !ask[mail.Page](t, h.office, "read", string(question)).Messages[0].Open
	})
}

// TestP13_FramesOfATeam makes a teammate who was not asked approve another's plan, in the team's files, and then the
// one who was.
func TestP13_FramesOfATeam(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	defer h.close()
	h.must(t, "team", "add", "parser", "third")
	write := func(to, from, frame string) {
		t.Helper()
		h.rewrite(t, filepath.Join(h.team, "inboxes", to+".json"), func(all []map[string]any) []map[string]any {
			return append(all, map[string]any{"from": from, "text": frame, "timestamp": now(), "read": false})
		})
	}
	write("reader", "mate", `{"type":"plan_approval_request","requestId":"p1","from":"mate","plan":"THE-PLAN"}`)
	request := h.arrives(t, "THE-PLAN")
	look := func() mail.Item { return ask[mail.Page](t, h.office, "read", string(request)).Messages[0] }
	if !look().Open {
		t.Fatalf("the request is %+v", look())
	}
	const approved = `{"type":"plan_approval_response","requestId":"p1","approved":true,"feedback":"FROM"}`
	write("mate", "third", strings.Replace(approved, "FROM", "of the third", 1))
	eventually(t, "what the third says is a suggestion", func() bool { return len(look().Suggestions) == 1 })
	if it := look(); !it.Open || it.Suggestions[0].From != "agent:third" {
		t.Errorf("approved by the third, the plan is %+v", it)
	}
	write("mate", "reader", strings.Replace(approved, "FROM", "of the reader", 1))
	eventually(t, "it is settled", func() bool { return !look().Open })
}

// arrives waits until the room has a letter of that text.
func (h *hall) arrives(t *testing.T, text string) (id mail.ID) {
	t.Helper()
	eventually(t, text+" is in the room", func() bool { id = h.inRoom(t, text); return id != "" })
	return id
}
