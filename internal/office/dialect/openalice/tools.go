package openalice

import (
	"context"
	"strconv"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

const inboxPushDescription = `Put an entry into the Inbox of the person who runs this workspace. It is how your ` +
	`work reaches them when they are not looking at this session.

Push when there is something they should see:
- You finished a piece of work that they asked for: point to the report with docs.
- You are blocked on a decision that only they can make: ask in comments, with needs "decision". It stays open in ` +
	`their sight until they answer, which comes to this session as mail, or decline.
- A long-running job is due for a status check-in: a short summary in comments, with what exists so far in docs.

Do not push internal steps: single tool calls, scratch files, debugging output. Those belong in this session. One ` +
	`entry for one occasion; an Inbox full of noise is not read.

docs are pointers, not copies: each path is relative to the workspace's root, and the person sees the file as it ` +
	`is when they open the entry. comments is Markdown, in your own voice, and is shown below the documents. ` +
	`At least one of the two must be present. The entry shows this workspace's name automatically.`

const inboxPushInput = `{"type":"object","properties":{` +
	`"docs":{"type":"array","description":"Files of this workspace to show, in this order.",` +
	`"items":{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Path relative to the workspace's root, such as research/report.md."}},` +
	`"required":["path"],"additionalProperties":false}},` +
	`"comments":{"type":"string","description":"Markdown: what you did, or what you want to know."},` +
	`"needs":{"type":"string","enum":["decision"],"description":"When you cannot continue until they decide."},` +
	`"options":{"type":"array","items":{"type":"string"},"description":"With needs: the answers that they can ` +
	`give with one key, such as Yes and No."}},` +
	`"additionalProperties":false}`

func inboxPush() dialect.Tool {
	return dialect.Tool{
		Name: "inbox_push", Title: "Push to the Inbox", Description: inboxPushDescription, Input: inboxPushInput,
		Run: dialect.With(push),
	}
}

// pushed is the answer to a push, even a refused one: the original returns no errors to the agent.
type pushed struct {
	OK      bool    `json:"ok"`
	EntryID mail.ID `json:"entryId,omitempty"`
	TS      int64   `json:"ts,omitzero"`
	Error   string  `json:"error,omitempty"`
}

// refused is the answer to a refused push. Its text may quote the push, so it has a limit.
func refused(why string) pushed { return pushed{Error: wording.Clip(why, fence.MaxError)} }

type pushParams struct {
	Docs []struct {
		Path string `json:"path"`
	} `json:"docs"`
	Comments string   `json:"comments"`
	Needs    string   `json:"needs"`
	Options  []string `json:"options"`
}

// asks returns the type of a push and its members beyond the document's, or an error text.
func (p *pushParams) asks() (t mail.Type, more []jsonx.Member, why string) {
	switch {
	case p.Needs == "" && len(p.Options) == 0:
		return mail.Custom, nil, ""
	case p.Needs != decision && p.Needs != "":
		return "", nil, "inbox_push: needs can be " + strconv.Quote(decision) + " only"
	case p.Needs == "":
		return "", nil, "inbox_push: options belong to a push with needs: " + strconv.Quote(decision)
	}
	var options jsonx.Value
	if len(p.Options) > 0 {
		options, _ = jsonx.Marshal(p.Options) // strings always encode
	}
	more = asking(options)
	if got := metadata("", more).Options(); len(got) != len(p.Options) {
		return "", nil, "inbox_push: options must be up to 12 different texts of at most 500 bytes"
	}
	return mail.Question, more, ""
}

func push(ctx context.Context, c *dialect.Call, args pushParams) (any, error) {
	var docs []mail.Doc
	for _, d := range args.Docs {
		docs = append(docs, mail.Doc{Path: d.Path})
	}
	if why := checkPush(docs, args.Comments); why != "" {
		return refused(why), nil
	}
	kind, more, why := args.asks()
	if why != "" {
		return refused(why), nil
	}
	labels, err := labels(ctx, c.Service)
	if err != nil {
		return nil, err
	}
	label := labels[c.Caller]
	if label == "" { // the workspace was removed after the door admitted it
		label = string(c.Caller)
	}
	return answer(ctx, c, mail.Draft{
		Type: string(kind), Body: args.Comments, Docs: docs, Metadata: metadata(label, more),
	})
}

// answer sends a push to the user and answers as the original does.
func answer(ctx context.Context, c *dialect.Call, d mail.Draft) (any, error) {
	id, at, err := deliver(ctx, c, d)
	switch mail.CodeOf(err) {
	case "":
		return pushed{OK: true, EntryID: id, TS: int64(at)}, nil
	case mail.Invalid, mail.TooLarge, mail.Limited:
		return refused(err.Error()), nil
	}
	return nil, err
}

// deliver sends a draft to the user and returns the message's id and time.
func deliver(ctx context.Context, c *dialect.Call, d mail.Draft) (mail.ID, mail.Time, error) {
	d.To, d.IDForm = mail.Recipients{string(mail.ToUser)}, mail.IDUUID
	sent, err := c.Service.Send(mail.Unkept(ctx), d)
	if err != nil {
		return "", 0, err
	}
	it, err := c.Service.Message(ctx, sent.ID)
	if err != nil { // it was sent anyway
		return sent.ID, mail.TimeOf(c.Now), nil
	}
	return sent.ID, it.Sent, nil
}

const notifyUserDescription = `Deprecated. Show the person who runs this system a one-shot notification. It exists ` +
	`for automations from before workspaces (heartbeats, scheduled jobs). Inside a workspace use inbox_push ` +
	`instead: notifications have no documents, and do not appear in the Inbox.`

const notifyUserInput = `{"type":"object","properties":{"text":{"type":"string",` +
	`"description":"What to say, in Markdown. It is kept as it is now."}},"required":["text"],` +
	`"additionalProperties":false}`

func notifyUser() dialect.Tool {
	return dialect.Tool{
		Name: "notify_user", Title: "Notify the user (deprecated)", Description: notifyUserDescription,
		Input: notifyUserInput, Run: dialect.With(notify),
	}
}

type notifyParams struct {
	Text string `json:"text"`
}

func notify(ctx context.Context, c *dialect.Call, args notifyParams) (any, error) {
	id, at, err := deliver(ctx, c, mail.Draft{Type: string(mail.Status), Body: args.Text,
		Metadata: mail.Metadata(notification)})
	if err != nil {
		return nil, err
	}
	return struct {
		OK bool    `json:"ok"`
		ID mail.ID `json:"id"`
		TS int64   `json:"ts"`
	}{true, id, int64(at)}, nil
}
