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
		text              func(*Native, context.Context, map[string]string) (string, error)
	}{
		{"inbox", "What waits in your mailbox", nil, (*Native).inboxPrompt},
		{"history", "The room's messages, newest last", []*mcp.PromptArgument{
			{Name: "types", Description: "message types, with commas between them"},
			{Name: "limit", Description: "how many (default 20)"},
		}, (*Native).historyPrompt},
		{"checkpoint", "Report where you stand and look for mail, in the middle of a task", nil,
			(*Native).checkpointPrompt},
		{"bye", "Send what is left to say, look for mail a last time, and leave", nil, (*Native).byePrompt},
	} {
		n.Server.AddPrompt(&mcp.Prompt{Name: p.name, Description: p.description, Arguments: p.arguments},
			func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				at, err := n.of(ctx, req.Params.Meta)
				if err != nil {
					return nil, err
				}
				text, err := p.text(at, ctx, req.Params.Arguments)
				if err != nil {
					return nil, err
				}
				return &mcp.GetPromptResult{Description: p.description,
					Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
			})
	}
}

func (n *Native) inboxPrompt(ctx context.Context, _ map[string]string) (string, error) {
	return n.mailAfter(ctx, "")
}

// mailAfter shows what is unread behind start. It marks nothing: a client may ask for all prompts when it starts, only
// to list them (opencode 1.18.33 does).
func (n *Native) mailAfter(ctx context.Context, start string) (string, error) {
	page, err := n.box.Service.Inbox(ctx, mail.InboxQuery{Bytes: fence.Budget})
	if err != nil {
		return "", err
	}
	if len(page.Messages) == 0 {
		return start + "Nothing unread waits in the mailbox of " + fence.Text(string(n.box.Agent)) + ".", nil
	}
	text, _ := n.render(view{
		start: fmt.Sprintf("%s%d unread in the mailbox of %s.\n", start, page.Unread, fence.Text(string(n.box.Agent))),
		items: page.Messages,
		end: func(shown []mail.Item) string {
			end := "Deal with each, then mark it with mark_messages."
			if page.More || len(shown) < len(page.Messages) {
				return "There is more: call read_messages.\n" + end
			}
			return end
		},
	})
	return text, nil
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
	text, _ := n.render(view{
		start: fmt.Sprintf("The last messages of room %s.\n", n.box.Room), items: page.Messages, newest: true,
		end: func(shown []mail.Item) string {
			if len(shown) < len(page.Messages) {
				return fmt.Sprintf("%d of %d are shown.", len(shown), len(page.Messages))
			}
			return ""
		},
	})
	return text, nil
}

func (n *Native) checkpointPrompt(ctx context.Context, _ map[string]string) (string, error) {
	return n.mailAfter(ctx, "Checkpoint. Say with set_presence what you are working on, send a status if somebody "+
		"waits for one, then look at your mail.\n\n")
}

func (n *Native) byePrompt(ctx context.Context, _ map[string]string) (string, error) {
	return n.mailAfter(ctx,
		"You are about to leave. Send what you still owe: results as task-done, open points as question. "+
			"Deal with what waits below or say to whom it should go. Then call set_presence with state gone.\n\n")
}
