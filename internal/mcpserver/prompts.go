package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

func (n *Native) addPrompts() {
	for _, p := range []struct {
		name, description string
		arguments         []*mcp.PromptArgument
		text              func(context.Context, map[string]string) (string, error)
	}{
		{"inbox", "What waits in your mailbox", nil, n.inboxPrompt},
		{"history", "The room's messages, newest last", []*mcp.PromptArgument{
			{Name: "types", Description: "message types, with commas between them"},
			{Name: "limit", Description: "how many (default 20)"},
		}, n.historyPrompt},
		{"checkpoint", "Report where you stand and look for mail, in the middle of a task", nil, n.checkpointPrompt},
		{"bye", "Send what is left to say, look for mail a last time, and leave", nil, n.byePrompt},
	} {
		n.Server.AddPrompt(&mcp.Prompt{Name: p.name, Description: p.description, Arguments: p.arguments},
			func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text, err := p.text(ctx, req.Params.Arguments)
				if err != nil {
					return nil, err
				}
				return &mcp.GetPromptResult{Description: p.description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
			})
	}
}

// inboxPrompt marks nothing: a client may ask for all prompts when it starts, only to list them (opencode 1.18.33 does).
func (n *Native) inboxPrompt(ctx context.Context, _ map[string]string) (string, error) {
	page, err := n.box.Service.Inbox(ctx, mail.InboxQuery{Bytes: readBudget})
	if err != nil {
		return "", err
	}
	if len(page.Messages) == 0 {
		return "Nothing unread waits in the mailbox of " + fence.Text(string(n.box.Agent)) + ".", nil
	}
	f := fence.New()
	text := fmt.Sprintf("%d unread in the mailbox of %s. %s\n\n%s",
		page.Unread, fence.Text(string(n.box.Agent)), f.Notice(), letters(f, page.Messages))
	if page.More {
		text += "\nThere is more: call read_messages."
	}
	return text + "\nDeal with each, then mark it with mark_messages.", nil
}

func (n *Native) historyPrompt(ctx context.Context, args map[string]string) (string, error) {
	q := mail.HistoryQuery{Limit: 20}
	for t := range strings.FieldsFuncSeq(args["types"], func(r rune) bool { return r == ',' || r == ' ' }) {
		typ, err := mail.ParseType(t)
		if err != nil {
			return "", err
		}
		q.Types = append(q.Types, typ)
	}
	if s := args["limit"]; s != "" {
		if _, err := fmt.Sscan(s, &q.Limit); err != nil || q.Limit < 1 {
			return "", mail.Errorf(mail.Invalid, "the limit %q is not a positive number", s)
		}
	}
	page, err := n.box.Service.History(ctx, q)
	if err != nil {
		return "", err
	}
	page = withinBudget(page)
	f := fence.New()
	return fmt.Sprintf("The last %d messages of room %s. %s\n\n%s",
		len(page.Messages), n.box.Room, f.Notice(), addressed(f, page.Messages)), nil
}

func (n *Native) checkpointPrompt(ctx context.Context, args map[string]string) (string, error) {
	inbox, err := n.inboxPrompt(ctx, args)
	return "Checkpoint. Say with set_presence what you are working on, send a status if somebody waits for one, then look at your mail.\n\n" + inbox, err
}

func (n *Native) byePrompt(ctx context.Context, args map[string]string) (string, error) {
	inbox, err := n.inboxPrompt(ctx, args)
	return "You are about to leave. Send what you still owe: results as task-done, open points as question. Deal with what waits below or say to whom it should go. Then call set_presence with state gone.\n\n" + inbox, err
}

// letters renders messages, one after the other.
func letters(f fence.Fence, items []mail.Item) string {
	var b strings.Builder
	for i := range items {
		b.WriteString(f.Message(&items[i]) + "\n")
	}
	return b.String()
}

// addressed renders messages with whom they are for.
func addressed(f fence.Fence, items []mail.Item) string {
	var b strings.Builder
	for i := range items {
		to := make([]string, len(items[i].To))
		for j, a := range items[i].To {
			to[j] = string(a)
		}
		b.WriteString("To " + fence.Text(strings.Join(to, ", ")) + ":\n" + f.Message(&items[i]) + "\n")
	}
	return b.String()
}

// readBudget is how many bytes of bodies one call returns.
const readBudget = fence.Budget

// withinBudget cuts a page where the bodies exceed the budget, keeping at least one message.
func withinBudget(page mail.Page) mail.Page {
	bytes := 0
	for i := range page.Messages {
		if bytes += len(page.Messages[i].Body); bytes > readBudget && i > 0 {
			page.Messages, page.More, page.Next = page.Messages[:i], true, page.Messages[i-1].Seq
			break
		}
	}
	return page
}
