package haak

import (
	"context"

	"pennypost/internal/dialect"
	"pennypost/internal/mail"
)

// tools are those of HAAK's later runner, agent-runner §7: their names and parameters are all that is known of them.
func tools() []dialect.Tool {
	return []dialect.Tool{
		{
			Name:  "send_message",
			Title: "Send a message",
			Description: "Send mail to another agent: to a session by its id, to whoever holds a role (\"architect\"), to all who carry a tag " +
				"(\"project:inscription\"; several with commas between them), to \"all\", or to \"user\". Keep it under 500 words: this is mail, not a document.",
			Input: `{"type":"object","properties":{` +
				`"to":{"type":"string","description":"session id, role, tag, all or user"},` +
				`"subject":{"type":"string","description":"one line"},` +
				`"body":{"type":"string","description":"Markdown"}},` +
				`"required":["to","subject","body"],"additionalProperties":false}`,
			Run: toolSend,
		},
		{
			Name:        "read_mailbox",
			Title:       "Read the mailbox",
			Description: "Show your unread mail, oldest first. It stays unread.",
			Input:       `{"type":"object","properties":{},"additionalProperties":false}`,
			ReadOnly:    true,
			Idempotent:  true,
			Run:         toolRead,
		},
	}
}

func toolSend(ctx context.Context, c *dialect.Call) (any, error) {
	var args struct {
		To      *string `json:"to"`
		Subject *string `json:"subject"`
		Body    *string `json:"body"`
	}
	if err := c.Decode(&args); err != nil {
		return nil, err
	}
	if args.To == nil || args.Subject == nil || args.Body == nil {
		return nil, mail.Errorf(mail.Invalid, "to, subject and body are all needed; nothing was sent")
	}
	return send(ctx, c.Service, draft{to: *args.To, subject: *args.Subject, body: *args.Body})
}

// shown is a message as a reader of the mailbox sees it.
type shown struct {
	ID        mail.ID `json:"id"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Subject   string  `json:"subject"`
	Body      string  `json:"body"`
	Timestamp string  `json:"timestamp"`
	Thread    mail.ID `json:"thread,omitzero"`
}

func toolRead(ctx context.Context, c *dialect.Call) (any, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	out := struct {
		Messages []shown `json:"messages"`
		Unread   int     `json:"unread"`
	}{Messages: []shown{}}
	r, err := readRoster(ctx, c.Service)
	if err != nil {
		return nil, err
	}
	page, err := c.Service.Inbox(ctx, mail.InboxQuery{Bytes: mail.MaxBody})
	if mail.CodeOf(err) == mail.NotFound {
		return out, nil // it is not on the roster yet: nobody can have written to it
	}
	if err != nil {
		return nil, err
	}
	out.Unread = page.Unread
	var ids []mail.ID
	for i := range page.Messages {
		m := &page.Messages[i].Message
		out.Messages = append(out.Messages, shown{
			ID: m.ID, From: string(m.From.Signer()), To: spellAll(m.To, r.known()), Subject: m.Subject, Body: content(m),
			Timestamp: stamp(m.Sent), Thread: m.ReplyTo,
		})
		ids = append(ids, m.ID)
	}
	if len(ids) > 0 {
		if _, err := c.Service.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkPresented, Door: "mcp"}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
