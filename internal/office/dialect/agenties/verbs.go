package agenties

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// verbs are the document's chat commands as verbs, and the import of their export.
func verbs() []dialect.Verb {
	return []dialect.Verb{
		{
			Path: "history", Short: "show the mailbox as a timeline",
			Long: "Show all messages of the project, even archived ones, in order of arrival. With --json, as a " +
				"JSON array in the form of Agenties.",
			Example: "pennypost agenties history --type question,answer\npennypost agenties history --limit 20 --json",
			Flags: []dialect.Flag{
				{Name: "type", Usage: "only messages of this `TYPE`, or of several, separated by commas"},
				{Name: "limit", Usage: "only the newest `N`; 0 means all", Kind: dialect.Number, Default: "0"},
			},
			Run: historyVerb,
		},
		{
			Path: "export", Short: "write all messages as JSON",
			Long: "Write all messages of the project, even archived ones, as a JSON array in the form of Agenties. " +
				"json is the only format.",
			Example: "pennypost agenties export json > mailbox.json", Args: "[json]", MaxArgs: 1,
			Run: exportVerb,
		},
		{
			Path: "import", Short: "import exported messages, or a mailbox.jsonl",
			Long: "Import the messages of FILE, with their own ids and times. FILE is from agenties export, or a " +
				"mailbox.jsonl; \"-\" reads standard input. Messages whose id is known are skipped.",
			Example: "pennypost agenties import mailbox.json\npennypost agenties import " +
				".agenties/mailbox-archive/2026-05.jsonl",
			Args: "FILE", MinArgs: 1, MaxArgs: 1, Writes: true,
			Run: dialect.ForUser(importVerb),
		},
	}
}

func historyVerb(ctx context.Context, v *dialect.Invocation) error {
	types, err := dialect.ParseTypes(v.Text("type"))
	if err != nil {
		return err
	}
	limit := v.Number("limit")
	if limit < 0 {
		return mail.Errorf(mail.Invalid, "limit %d is out of range: use a number of messages, or 0 for all",
			limit)
	}
	messages, err := messagesFor(ctx, v, types, limit)
	switch {
	case err != nil:
		return err
	case v.JSON:
		return encodeAll(v.Stdout, messages)
	case len(messages) == 0:
		_, err := fmt.Fprintln(v.Stdout, "No matching messages.")
		return err
	}
	return timeline(v.Stdout, messages)
}

func exportVerb(ctx context.Context, v *dialect.Invocation) error {
	if len(v.Args) > 0 {
		if err := checkFormat(v.Args[0]); err != nil {
			return err
		}
	}
	messages, err := messagesFor(ctx, v, nil, 0)
	if err != nil {
		return err
	}
	return encodeAll(v.Stdout, messages)
}

func checkFormat(s string) error {
	if s != "" && s != "json" {
		return mail.Errorf(mail.Invalid,
			"%q is not a format; use json. For Markdown: pennypost export --format markdown", s)
	}
	return nil
}

func messagesFor(ctx context.Context, v *dialect.Invocation, types []mail.Type, limit int) ([]message, error) {
	svc, _, err := v.Room(ctx)
	if err != nil {
		return nil, err
	}
	return everything(ctx, svc, types, limit)
}

func importVerb(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	text, err := readInput(v)
	if err != nil {
		return err
	}
	items, bad, err := decodeAll(text)
	if err != nil {
		return err
	}
	lead, err := findLeaders(ctx, svc)
	if err != nil {
		return err
	}
	for i := range items {
		cast(&items[i], lead.first())
	}
	done, err := svc.Import(ctx, items)
	if err != nil {
		return err
	}
	return v.Say(struct {
		Added    int `json:"added"`
		Skipped  int `json:"skipped"`
		Rejected int `json:"rejected"`
	}{done.Added, done.Skipped, bad}, "%d messages imported, %d already known, %d invalid.", done.Added,
		done.Skipped, bad)
}

func readInput(v *dialect.Invocation) ([]byte, error) {
	if v.Args[0] == "-" {
		return io.ReadAll(v.Stdin)
	}
	path := v.Path(v.Args[0])
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &mail.Error{Code: mail.NotFound, Msg: fmt.Sprintf("%s cannot be read; nothing was imported", path),
			Err: err}
	}
	return text, nil
}

// prompts are the same commands for an MCP client's chat.
func prompts() []dialect.Prompt {
	return []dialect.Prompt{
		{
			Name: "history", Description: "The mailbox as a timeline, newest last",
			Arguments: []dialect.Argument{
				{Name: "type", Description: "message types, separated by commas (default: all)"},
				{Name: "limit", Description: "how many (default 50)"},
			},
			Run: historyPrompt,
		},
		{
			Name: "export", Description: "All messages as JSON",
			Arguments: []dialect.Argument{{Name: "format", Description: "json, the only format"}},
			Run:       exportPrompt,
		},
	}
}

func historyPrompt(ctx context.Context, c *dialect.Call, args map[string]string) (string, error) {
	types, err := dialect.ParseTypes(args["type"])
	if err != nil {
		return "", err
	}
	limit, err := dialect.ParseLimit(args["limit"], defaultLimit)
	if err != nil {
		return "", err
	}
	messages, err := everything(ctx, c.Service, types, limit)
	if err != nil {
		return "", err
	}
	for i := range messages {
		messages[i].Body = wording.Clip(messages[i].Body, maxInTimeline)
	}
	f := fence.New()
	text, _ := fence.Fit(len(messages), func(k int) string {
		var b strings.Builder
		err = timeline(&b, messages[len(messages)-k:])
		return fmt.Sprintf("The last %d messages of room %s, newest last.\n", k, c.Room) +
			f.Around(strings.TrimRight(b.String(), "\n"))
	})
	return text, err
}

// maxInTimeline is how much of a body, in bytes, the prompt shows, so that the newest message always fits.
const maxInTimeline = 2500

func exportPrompt(ctx context.Context, c *dialect.Call, args map[string]string) (string, error) {
	if err := checkFormat(args["format"]); err != nil {
		return "", err
	}
	messages, err := everything(ctx, c.Service, nil, 0)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = encodeAll(&b, messages)
	text := fence.EscapeJSON(b.String())
	if err == nil && fence.Sent(text) > fence.Budget {
		err = mail.Errorf(mail.TooLarge, "the mailbox has %d messages, too many for a chat. To write all to a "+
			"file: pennypost agenties export json > FILE", len(messages))
	}
	return text, err
}
