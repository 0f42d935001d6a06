package haak

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// tools are those of HAAK's later runner, agent-runner §7: their names and parameters are all that is known of them.
func tools() []dialect.Tool {
	return []dialect.Tool{
		{
			Name:  "send_message",
			Title: "Send a message",
			Description: "Send mail to another agent: to a session by its id, to whoever holds a role " +
				"(\"architect\"), to all who carry a tag " +
				"(\"project:inscription\"; several with commas between them), to \"all\", or to \"user\". Keep it " +
				"under 500 words: this is mail, not a document.",
			Input: `{"type":"object","properties":{` +
				`"to":{"type":"string","description":"session id, role, tag, all or user"},` +
				`"subject":{"type":"string","description":"one line"},` +
				`"body":{"type":"string","description":"Markdown"}},` +
				`"required":["to","subject","body"],"additionalProperties":false}`,
			Run: toolSend,
		},
		{
			Name:  "read_mailbox",
			Title: "Read the mailbox",
			Description: "Show your unread mail, oldest first. It stays unread. Of more than an answer holds (20 " +
				"KB) it shows what you have not seen yet: call it again.",
			Input:      `{"type":"object","properties":{},"additionalProperties":false}`,
			ReadOnly:   true,
			Idempotent: true,
			Run:        toolRead,
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
	all, err := send(ctx, c.Service, draft{to: *args.To, subject: *args.Subject, body: *args.Body})
	if err != nil {
		return nil, err
	}
	out, _, err := fence.FitJSON(min(len(all.Reaches), maxListed), func(k int) any {
		out := *all
		out.Recipient, out.Reaches = fence.Clip(all.Recipient, maxRecipient), all.Reaches[:k]
		return struct {
			posted
			Others int `json:"others,omitzero"` // how many it reaches that are not listed
		}{out, len(all.Reaches) - k}
	})
	return out, err
}

const (
	// maxListed is how many sessions an answer lists that a message reaches.
	maxListed = 20
	// maxRecipient is how much of the recipient it repeats, in bytes: a hundred addresses may have been given.
	maxRecipient = 500
)

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

// readout answers read_mailbox.
type readout struct {
	Messages []shown `json:"messages"`
	Unread   int     `json:"unread"`
	Note     string  `json:"note,omitempty"` // what to do about those that are not shown
}

// letter is a message for an answer. One that is too long was cut.
type letter struct {
	mail.Item
	cut bool
}

// rank puts what its reader has not been shown before what it has, and what was cut, which a tool cannot show, between
// them. So whoever calls again and again is shown everything once.
func (l *letter) rank() int {
	switch {
	case l.State != mail.Queued && l.State != mail.Notified:
		return 2
	case l.cut:
		return 1
	}
	return 0
}

func toolRead(ctx context.Context, c *dialect.Call) (any, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	r, err := readRoster(ctx, c.Service)
	if err != nil {
		return nil, err
	}
	items, err := inbox(ctx, c.Service, false)
	// one that is not on the roster yet: nobody can have written to it
	if err != nil && mail.CodeOf(err) != mail.NotFound {
		return nil, err
	}
	letters := make([]letter, len(items))
	for i := range items {
		letters[i].Item, letters[i].cut = fence.Abridge(items[i], c.Caller)
	}
	out, k, err := readoutOf(letters, r.known())
	if err == nil && k < len(letters) {
		slices.SortStableFunc(letters, func(a, b letter) int { return cmp.Compare(a.rank(), b.rank()) })
		out, k, err = readoutOf(letters, r.known())
	}
	if err != nil {
		return nil, err
	}
	return out, present(ctx, c, letters[:k])
}

// readoutOf shows as many letters as an answer holds.
func readoutOf(letters []letter, known sessions) (readout, int, error) {
	var list []shown
	return fence.FitJSON(len(letters), func(k int) readout {
		for i := len(list); i < k; i++ {
			m := &letters[i].Message
			list = append(list, shown{
				ID: m.ID, From: string(m.From.Signer()), To: spellAll(m.To, known), Subject: m.Subject,
				Body:      content(m),
				Timestamp: stamp(m.Sent), Thread: m.ReplyTo,
			})
		}
		out := readout{Messages: append([]shown{}, list[:k]...), Unread: len(letters)}
		if k < len(letters) {
			out.Note = fmt.Sprintf("%d of %d are shown, those that you have not seen before the others. For more "+
				"call read_mailbox again. "+
				"pennypost haak check-mailbox prints them and marks them read.", k, len(letters))
		}
		return out
	})
}

// present records that letters which are whole were handed over.
func present(ctx context.Context, c *dialect.Call, letters []letter) error {
	var ids []mail.ID
	for i := range letters {
		if letters[i].rank() == 0 {
			ids = append(ids, letters[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := c.Service.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkPresented, Door: "mcp"})
	return err
}
