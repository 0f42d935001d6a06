package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestP13_ReadTellsWhatIsOpen checks that an agent is told, along with its mail, which questions wait for its answer,
// read or not, and which of its own are open: by id alone, because any other part of a question must be fenced.
func TestP13_ReadTellsWhatIsOpen(t *testing.T) {
	room := openRoom(t)
	ask := func(from mail.Name, to, body string) mail.ID {
		sent, err := room.As(from).Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Type: "question",
			Subject: "secret", Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	own, asked := ask("ann", "bea", "why?"), ask("bea", "ann", "why?")
	ann := connectNative(t, room, "ann")
	use(t, ann, "mark_messages", `{"all":true,"mark":"archived"}`)
	text, failed := use(t, ann, "read_messages", `{}`)
	want := "No unread mail. Questions that wait for your answer: " + string(asked) +
		". You wait for an answer to: " +
		string(own) + "."
	if text != want || failed != "" {
		t.Errorf("read_messages = %q, %s; want %q", text, failed, want)
	}
	use(t, ann, "send_message", `{"to":"bea","type":"answer","body":"no","reply_to":"`+string(asked)+
		`","metadata":{"declined":true}}`)
	for i := range mail.MaxOpenIDs + 1 {
		ask("bea", "ann", fmt.Sprint("question ", i))
	}
	if text, _ := use(t, ann, "read_messages", `{"limit":1}`); strings.Contains(text, string(asked)) ||
		!strings.Contains(text, ", and more. You wait") {
		t.Errorf("after one was declined and many were asked: %s", text)
	}
	if err := room.As("bea").Withdraw(t.Context(), ask("bea", "ann", "how?")); err != nil {
		t.Fatal(err)
	}
	page, err := room.As("ann").Inbox(t.Context(), mail.InboxQuery{Newest: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := use(t, ann, "read_messages", `{"id":"`+string(page.Messages[0].ID)+`"}`); !strings.Contains(text,
		"no answer is needed") {
		t.Errorf("what was withdrawn is shown as %s", text)
	}
}

// counted counts the calls of a room's Inbox.
type counted struct {
	mail.Service
	looks int
}

func (c *counted) Inbox(ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	c.looks++
	return c.Service.Inbox(ctx, q)
}

func (c *counted) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	c.looks++
	return c.Service.History(ctx, q)
}

// TestReadLooksOnce checks that reading the inbox is one call, which also reports the open questions.
func TestReadLooksOnce(t *testing.T) {
	room := openRoom(t)
	if _, err := room.As("bea").Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"}, Type: "question",
		Body: "why?"}); err != nil {
		t.Fatal(err)
	}
	c := &counted{Service: room.As("ann")}
	box := Mailbox{Service: c, Room: "lab", Agent: "ann", Version: "test"}
	said, err := readInbox(t.Context(), box.call(&toolCall{}), readParams{})
	text := string(said)
	if err != nil || !strings.Contains(text, "wait for your answer") || c.looks != 1 {
		t.Errorf("after %d looks, %v: %s", c.looks, err, text)
	}
}
