package mcpserver

import (
	"context"
	"fmt"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func prompts() []dialect.Prompt {
	return []dialect.Prompt{
		{Name: "inbox", Description: "Your unread mail", Run: inboxPrompt},
		{
			Name: "history", Description: "The room's messages, newest last", Run: historyPrompt,
			Arguments: []dialect.Argument{{Name: "types", Description: "message types, separated by commas"},
				{Name: "limit", Description: "how many (default 20)"}},
		},
		{Name: "checkpoint", Description: "Report your progress and check your mail, during a task",
			Run: checkpointPrompt},
		{Name: "bye", Description: "Send what is left, check your mail once more, and leave", Run: byePrompt},
	}
}

func inboxPrompt(ctx context.Context, c *dialect.Call, _ map[string]string) (string, error) {
	return mailAfter(ctx, c, "")
}

// mailAfter shows the unread mail after start. It marks nothing: a client may ask for all prompts at start-up, only
// to list them (opencode 1.18.33 does).
func mailAfter(ctx context.Context, c *dialect.Call, start string) (string, error) {
	page, err := c.Service.Inbox(ctx, mail.InboxQuery{Bytes: fence.Budget})
	if err != nil {
		return "", err
	}
	if len(page.Messages) == 0 {
		return start + "No unread mail in the mailbox of " + fence.Text(string(c.Caller)) + ".", nil
	}
	text, _ := render(c, view{
		start: fmt.Sprintf("%s%d unread in the mailbox of %s.\n", start, page.Unread, fence.Text(string(c.Caller))),
		items: page.Messages,
		end: func(shown []mail.Item) string {
			end := "Handle each, then mark it with mark_messages."
			if page.More || len(shown) < len(page.Messages) {
				return "There is more: call read_messages.\n" + end
			}
			return end
		},
	})
	return text, nil
}

func historyPrompt(ctx context.Context, c *dialect.Call, args map[string]string) (string, error) {
	types, err := dialect.ParseTypes(args["types"])
	if err != nil {
		return "", err
	}
	limit, err := dialect.ParseLimit(args["limit"], 20)
	if err != nil {
		return "", err
	}
	page, err := c.Service.History(ctx, mail.HistoryQuery{Types: types, Limit: limit})
	if err != nil {
		return "", err
	}
	text, _ := render(c, view{
		start: fmt.Sprintf("The last messages of room %s.\n", c.Room), items: page.Messages, newest: true,
		end: func(shown []mail.Item) string {
			if len(shown) < len(page.Messages) {
				return fmt.Sprintf("%d of %d shown.", len(shown), len(page.Messages))
			}
			return ""
		},
	})
	return text, nil
}

func checkpointPrompt(ctx context.Context, c *dialect.Call, _ map[string]string) (string, error) {
	return mailAfter(ctx, c, "Checkpoint. Report your task with set_presence, send a status if an agent waits for "+
		"one, then check your mail.\n\n")
}

func byePrompt(ctx context.Context, c *dialect.Call, _ map[string]string) (string, error) {
	return mailAfter(ctx, c,
		"You are about to leave. Send what you still owe: results as task-done, open points as question. "+
			"Handle the mail below or say who should. Then call set_presence with state gone.\n\n")
}
