package haak

import (
	"context"
	"fmt"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// tools are those of HAAK's later runner, agent-runner §7, which documents only their names and parameters.
func tools() []dialect.Tool {
	return []dialect.Tool{
		{
			Name:  "send_message",
			Title: "Send a message",
			Description: "Send mail to another agent: to a session by its id, to the holders of a role " +
				"(\"architect\"), to all with a tag (\"project:inscription\"), to \"all\" or to \"user\". Keep it " +
				"under 500 words: this is mail, not a document.",
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
			Description: "Show your unread mail, oldest first, and mark it read. If one answer (20 KB, or one " +
				"longer letter) does not hold all, call it again.",
			Input:   `{"type":"object","properties":{},"additionalProperties":false}`,
			Letters: true, Run: dialect.With(toolRead),
			Given: markGiven,
		},
	}
}

// toParam is a recipient in the form of --to; in JSON it may be a list.
type toParam string

// UnmarshalJSON decodes a string, or keeps a list of strings as it is.
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
		return nil, mail.Errorf(mail.Invalid, "to, subject and body are required; nothing was sent")
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
			Others int `json:"others,omitzero"` // number of recipients not listed
		}{out, len(all.Reaches) - k}
	})
	return out, err
}

const (
	// maxListed is how many reached sessions an answer lists.
	maxListed = 20
	// maxRecipient is how much of the recipient it repeats, in bytes: there may be a hundred addresses.
	maxRecipient = 500
)

// shown is a message as read_mailbox returns it.
type shown struct {
	ID        mail.ID `json:"id"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Subject   string  `json:"subject"`
	Body      string  `json:"body"`
	Timestamp string  `json:"timestamp"`
	Thread    mail.ID `json:"thread,omitzero"`
}

// readout is the answer of read_mailbox.
type readout struct {
	Messages []shown `json:"messages"`
	Unread   int     `json:"unread"`         // including the messages shown
	Note     string  `json:"note,omitempty"` // how to get the messages not shown

	whole []mail.ID // messages whose whole text is here or was delivered before
}

func toolRead(ctx context.Context, c *dialect.Call, _ struct{}) (any, error) {
	r, err := readRoster(ctx, c.Service)
	if err != nil {
		return nil, err
	}
	items, err := inbox(ctx, c.Service, false)
	// a caller not yet on the roster has no mail
	if err != nil && mail.CodeOf(err) != mail.NotFound {
		return nil, err
	}
	out, whole, err := readoutOf(ctx, c, items, r.known())
	var handed []mail.ID
	for i := range whole {
		handed = append(handed, whole[i].ID)
	}
	out.whole = handed
	for i := range items { // the whole text was delivered some other way
		if items[i].State == mail.Presented && slices.ContainsFunc(out.Messages, func(s shown) bool {
			return s.ID == items[i].ID
		}) {
			out.whole = append(out.whole, items[i].ID)
		}
	}
	c.Present(ctx, "mcp", handed)
	return out, err
}

// readoutOf returns as many letters as an answer holds, and those that it shows whole. A letter that does not fit
// with others comes alone and whole, after all of them.
func readoutOf(ctx context.Context, c *dialect.Call, items []mail.Item, known sessions) (readout, []mail.Item, error) {
	answer := func(s fence.Shown) readout {
		out := readout{Messages: make([]shown, len(s.Items)), Unread: len(items)}
		for i := range s.Items {
			out.Messages[i] = shownOf(&s.Items[i].Message, known)
		}
		if n := len(s.Items); n < len(items) || s.AnyCut() {
			out.Note = fmt.Sprintf("%d of %d shown. For more, call read_mailbox again; a long letter comes last, "+
				"alone. pennypost haak check-mailbox prints them and marks them read.", n, len(items))
		}
		return out
	}
	var short []mail.Item
	for i := range items {
		if fence.Beside(items[i]) {
			short = append(short, items[i])
		}
	}
	if len(short) > 0 || len(items) == 0 {
		out, k, err := fence.FitJSON(len(short), func(k int) readout {
			return answer(fence.Shown{Items: short[:k]})
		})
		return out, short[:k], err
	}
	letters := fence.Letters{Reader: c.Caller, Most: c.LongestBody(ctx)}
	for i := range items {
		letters.Items = items[i : i+1]
		out, s, err := fence.FitLetters(letters, answer)
		if err != nil || !s.AnyCut() {
			return out, s.Items, err
		}
	}
	letters.Items = items
	out, _, err := fence.FitLetters(letters, answer)
	return out, nil, err
}

func shownOf(m *mail.Message, known sessions) shown {
	return shown{
		ID: m.ID, From: string(m.From.Signer()), To: spellAll(m.To, known), Subject: m.Subject, Body: content(m),
		Timestamp: stamp(m.Sent), Thread: m.ReplyTo,
	}
}

// markGiven marks the shown messages as read.
func markGiven(ctx context.Context, c *dialect.Call, answer any) error {
	ids := answer.(readout).whole
	if len(ids) == 0 {
		return nil
	}
	_, err := c.Service.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkRead})
	return err
}
