package agenties

import (
	"cmp"
	"context"
	"slices"

	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

type readParams struct {
	To         string `json:"to"`
	Since      string `json:"since"`
	UnreadOnly *bool  `json:"unreadOnly"`
	Limit      *int   `json:"limit"`
}

// found is the answer of read_messages.
type found struct {
	Messages []message `json:"messages"`
	HasMore  bool      `json:"hasMore"`
	Note     string    `json:"note,omitempty"` // how to get bodies that were cut
}

const defaultLimit = 50

func readMessages(ctx context.Context, c *dialect.Call, p readParams) (out found, err error) {
	since, err := parseSince(p.Since)
	if err != nil {
		return out, err
	}
	limit := defaultLimit
	if p.Limit != nil {
		limit = *p.Limit
	}
	if limit < 1 {
		return out, mail.Errorf(mail.Invalid,
			"limit %d is out of range: use at least 1, or omit it for %d", limit, defaultLimit)
	}
	unread := p.UnreadOnly == nil || *p.UnreadOnly
	items, err := look(ctx, c, p.To, unread)
	if err != nil {
		return out, err
	}
	if p.Since != "" {
		items = slices.DeleteFunc(items, func(it mail.Item) bool { return it.Sent <= since })
	}
	lead, err := findLeaders(ctx, c.Service)
	if err != nil {
		return out, err
	}
	items, more := items[:min(limit, len(items))], len(items) > limit
	letters := fence.Letters{Items: items, Reader: c.Caller, Most: c.LongestBody(ctx),
		How: func(i int) string { return asking(items, i, p) }}
	out, shown, err := fence.FitLetters(letters, func(s fence.Shown) found {
		out := found{Messages: make([]message, len(s.Items)), HasMore: more || len(s.Items) < len(items)}
		for i := range s.Items {
			out.Messages[i] = fromItem(&s.Items[i].Message, s.Items[i].Read, lead)
		}
		if s.AnyCut() {
			out.Note = noteOfCut
		}
		return out
	})
	if err == nil {
		present(ctx, c, shown.Whole())
	}
	return out, err
}

// noteOfCut is the note of an answer with a cut body.
const noteOfCut = "Bodies that end in [Cut: …] are not complete. A single message is: limit 1, with since if it is " +
	"not the first. Fewer messages have longer bodies."

// asking returns the arguments with which read_messages returns the i-th message alone, given the present ones, or
// "" if another message has the same time.
func asking(items []mail.Item, i int, p readParams) string {
	how := "limit 1"
	switch {
	case i > 0 && items[i-1].Sent == items[i].Sent:
		return ""
	case i > 0:
		how += ", since " + spellTime(items[i].Sent-1)
	case p.Since != "":
		how += ", since " + p.Since
	}
	if p.To != "" {
		how += ", to " + wording.Clip(p.To, mail.MaxName)
	}
	if p.UnreadOnly != nil && !*p.UnreadOnly {
		how += ", unreadOnly false"
	}
	return how
}

func parseSince(s string) (mail.Time, error) {
	if s == "" {
		return 0, nil
	}
	return mail.ParseTime(s)
}

// look returns the messages that a caller sees, by sent time. Their read flag is the caller's own (A2).
func look(ctx context.Context, c *dialect.Call, to string, unread bool) ([]mail.Item, error) {
	var items []mail.Item
	var err error
	if to == "" || to == string(c.Caller) && c.Caller != mail.Orchestrator && c.Caller != mail.User {
		items, err = mailbox(ctx, c, unread)
	} else {
		items, err = addressed(ctx, c, to, unread)
	}
	// The room has the order of arrival, in which messages from old files come late (A10).
	slices.SortStableFunc(items, func(a, b mail.Item) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
	})
	return items, err
}

// mailbox returns the caller's mail: direct, by role, and broadcasts. The orchestrator is no recipient of broadcasts
// (A13): it can ask for "broadcast".
func mailbox(ctx context.Context, c *dialect.Call, unread bool) ([]mail.Item, error) {
	return dialect.Inbox(ctx, c.Service, mail.InboxQuery{All: !unread})
}

// addressed returns the room's messages to any recipient.
func addressed(ctx context.Context, c *dialect.Call, to string, unread bool) ([]mail.Item, error) {
	a, bare, err := mail.ParseAddress(to, mail.TagNamespaces())
	if err != nil {
		return nil, err
	}
	if bare {
		a = mail.Address("agent:" + to)
	}
	q := mail.HistoryQuery{To: string(a)}
	items, err := dialect.History(ctx, c.Service, q, 0)
	if mail.CodeOf(err) == mail.NotFound {
		return nil, mail.Errorf(mail.NotFound, "no agent called %q in this project: %s", a.Value(), forms)
	}
	if err != nil {
		return nil, err
	}
	// Only the caller's own view has its read flags.
	q.Agent = c.Caller
	own, err := dialect.History(ctx, c.Service, q, 0)
	if err != nil && mail.CodeOf(err) != mail.NotFound { // an agent not on the roster has no mailbox
		return nil, err
	}
	mine := make(map[mail.ID]mail.Item, len(own))
	for _, it := range own {
		mine[it.ID] = it
	}
	items = slices.DeleteFunc(items, func(it mail.Item) bool {
		my := mine[it.ID]
		return unread && (my.Read || my.State == mail.Expired)
	})
	for i, it := range items {
		if my, ok := mine[it.ID]; ok {
			items[i] = my
		}
	}
	return items, nil
}

// present marks as presented the caller's messages that were not.
func present(ctx context.Context, c *dialect.Call, items []mail.Item) {
	var ids []mail.ID
	for _, it := range items {
		if it.State == mail.Queued || it.State == mail.Notified {
			ids = append(ids, it.ID)
		}
	}
	c.Present(ctx, "mcp", ids)
}
