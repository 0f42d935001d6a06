package haak

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
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
				"(\"project:inscription\"), to \"all\" or to \"user\". Keep it under 500 words: this is mail, not a " +
				"document.",
			Input: `{"type":"object","properties":{` +
				`"to":{"type":["string","array"],"items":{"type":"string"},` +
				`"description":"session id, role, tag, all or user, or a list of them: each reader gets it once"},` +
				`"subject":{"type":"string","description":"one line"},` +
				`"body":{"type":"string","description":"Markdown"}},` +
				`"required":["to","subject","body"],"additionalProperties":false}`,
			Run: dialect.With(toolSend),
		},
		{
			Name:  "read_mailbox",
			Title: "Read the mailbox",
			Description: "Show your unread mail, oldest first, and mark it read. If there is more than an answer " +
				"holds (20 KB), call it again.",
			Input: `{"type":"object","properties":{},"additionalProperties":false}`,
			Run:   dialect.With(toolRead),
			Given: markGiven,
		},
	}
}

// toParam is a recipient as somebody types it behind --to; in JSON a list may stand as itself.
type toParam string

// UnmarshalJSON reads a string, or keeps a list of strings as it is.
func (t *toParam) UnmarshalJSON(b []byte) error {
	if listed(b) != nil {
		*t = toParam(b)
		return nil
	}
	return jsonx.Unmarshal(b, (*string)(t))
}

type sendParams struct {
	To      *toParam `json:"to"`
	Subject *string  `json:"subject"`
	Body    *string  `json:"body"`
}

func toolSend(ctx context.Context, c *dialect.Call, args sendParams) (any, error) {
	if args.To == nil || args.Subject == nil || args.Body == nil {
		return nil, mail.Errorf(mail.Invalid, "to, subject and body are all needed; nothing was sent")
	}
	all, err := send(ctx, c.Service, draft{to: string(*args.To), subject: *args.Subject, body: *args.Body})
	if err != nil {
		return nil, err
	}
	out, _, err := fence.FitJSON(min(len(all.Reaches), maxListed), func(k int) any {
		out := *all
		out.Recipient, out.Reaches = wording.Clip(all.Recipient, maxRecipient), all.Reaches[:k]
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
	Unread   int     `json:"unread"`         // those that are shown among them
	Note     string  `json:"note,omitempty"` // what to do about those that are not shown

	whole []mail.ID // of messages, those whose text is all there, or was handed over before
}

// letter is a message for an answer. One that is too long was cut.
type letter struct {
	mail.Item
	cut bool
}

// rank puts what was cut last.
func (l *letter) rank() int {
	if l.cut {
		return 1
	}
	return 0
}

func toolRead(ctx context.Context, c *dialect.Call, _ struct{}) (any, error) {
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
	if err == nil && k < len(letters) { // what was cut stays unread, and must not be in the way of the rest
		slices.SortStableFunc(letters, func(a, b letter) int { return cmp.Compare(a.rank(), b.rank()) })
		out, k, err = readoutOf(letters, r.known())
	}
	if err != nil {
		return nil, err
	}
	var handed []mail.ID
	for i := range letters[:k] {
		l := &letters[i]
		if !l.cut {
			handed = append(handed, l.ID)
		}
		if !l.cut || l.State == mail.Presented { // or its reader was handed the whole otherwise
			out.whole = append(out.whole, l.ID)
		}
	}
	c.Present(ctx, "mcp", handed)
	return out, nil
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
			out.Note = fmt.Sprintf("%d of %d are shown. For more call read_mailbox again. "+
				"pennypost haak check-mailbox prints them and marks them read.", k, len(letters))
		}
		return out
	})
}

// markGiven marks what a session was shown as read by it.
func markGiven(ctx context.Context, c *dialect.Call, answer any) error {
	ids := answer.(readout).whole
	if len(ids) == 0 {
		return nil
	}
	_, err := c.Service.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkRead})
	return err
}
