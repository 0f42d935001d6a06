package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

type readParams struct {
	ID     mail.ID  `json:"id"`
	Offset int      `json:"offset"`
	Thread mail.ID  `json:"thread"`
	Since  string   `json:"since"`
	To     string   `json:"to"`
	Query  string   `json:"query"`
	After  mail.Seq `json:"after"`
	Before mail.Seq `json:"before"`
	Limit  int      `json:"limit"`
}

// ofInbox reports whether the call asks for unread mail and nothing else.
func (p *readParams) ofInbox() bool {
	return p.Thread == "" && p.Since == "" && p.To == "" && p.Query == ""
}

func readMessages(ctx context.Context, c *dialect.Call, p readParams) (dialect.Prose, error) {
	switch {
	case p.ID != "":
		return readOne(ctx, c, p)
	case p.Offset != 0:
		return "", mail.Errorf(mail.Invalid, "offset needs the id of a message")
	case p.ofInbox():
		return readInbox(ctx, c, p)
	}
	return readHistory(ctx, c, p)
}

// readOne shows a message from an offset in its text, and at offset 0 also the state of its deliveries.
func readOne(ctx context.Context, c *dialect.Call, p readParams) (dialect.Prose, error) {
	it, err := c.Service.Message(ctx, p.ID)
	if err != nil {
		return "", err
	}
	l := letter(c, it)
	if p.Offset < 0 || p.Offset > 0 && p.Offset >= len(l.Body) {
		return "", mail.Errorf(mail.Invalid, "offset %d is outside %s, whose text has %d bytes", p.Offset, it.ID,
			len(l.Body))
	}
	end := ""
	if p.Offset == 0 {
		if end, err = became(it.Deliveries); err != nil {
			return "", err
		}
	}
	text, whole := onePart("", l, p.Offset, end)
	if whole {
		present(ctx, c, []mail.Item{it}, toolDoor)
	}
	return dialect.Prose(text), nil
}

// became is a line with the state of each delivery of a message.
func became(ds []mail.Delivery) (string, error) {
	if len(ds) == 0 {
		return "", nil
	}
	const share = fence.Budget / 4 // the message itself is more
	for k := min(len(ds), maxListed); ; k /= 2 {
		line, err := fence.JSON(struct {
			Recipients []mail.Delivery            `json:"recipients"`
			Others     map[mail.DeliveryState]int `json:"others,omitempty"`
		}{ds[:k], mail.CountStates(ds[k:])})
		if err != nil || k == 0 || fence.Sent(line) <= share {
			return line, err
		}
	}
}

func readInbox(ctx context.Context, c *dialect.Call, p readParams) (dialect.Prose, error) {
	page, err := c.Service.Inbox(ctx, mail.InboxQuery{After: p.After, Before: p.Before, Limit: p.Limit,
		Bytes: fence.Budget})
	if err != nil {
		return "", err
	}
	open := open(&page)
	if len(page.Messages) == 0 && page.Unread == 0 {
		return dialect.Prose("No unread mail." + open), nil
	}
	var news, given []mail.Item
	for _, it := range page.Messages {
		if it.Given {
			given = append(given, it)
		} else {
			news = append(news, it)
		}
	}
	return show(ctx, c, view{items: news, end: func(shown []mail.Item) string {
		last, more := mail.Seq(0), page.More
		switch {
		case len(shown) < len(news):
			more = true
			if len(shown) > 0 {
				last = shown[len(shown)-1].Seq
			}
		case len(page.Messages) > 0:
			last = page.Messages[len(page.Messages)-1].Seq
		}
		end := fmt.Sprintf("%d unread in all.", page.Unread) + givenBefore(given, last) + open
		if last != 0 && more {
			end += fmt.Sprintf(" There is more: read_messages with after %d.", last)
		}
		return end
	}}, toolDoor), nil
}

// maxGiven limits the messages that an answer names as given before.
const maxGiven = 100

// givenBefore names, after a space, the messages up to a sequence number that this session was given before: its
// model has their text, and pays for it with every request.
func givenBefore(given []mail.Item, last mail.Seq) string {
	var ids []string
	more := 0
	for i := range given {
		switch {
		case given[i].Seq > last:
		case len(ids) == maxGiven:
			more++
		default:
			ids = append(ids, string(given[i].ID))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	if more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return " Already given in this session (read again with id): " + strings.Join(ids, ", ") + "."
}

// open lists, after a space, the questions that wait for the agent's answer and the agent's own open questions, and
// says if the page is stale.
func open(p *mail.Page) string {
	list := func(start string, n int, ids []mail.ID) string {
		if n == 0 {
			return ""
		}
		words := make([]string, len(ids))
		for i, id := range ids {
			words[i] = string(id)
		}
		if n > len(ids) {
			words = append(words, "and more")
		}
		return start + strings.Join(words, ", ") + "."
	}
	said := list(" Questions that wait for your answer: ", p.Open, p.OpenIDs) +
		list(" You wait for an answer to: ", p.Own, p.OwnIDs)
	if p.Trouble != "" {
		said += " This is " + p.Trouble + "."
	}
	return said
}

// readHistory shows the messages of the room that match: the newest or, after a cursor, the first.
func readHistory(ctx context.Context, c *dialect.Call, p readParams) (dialect.Prose, error) {
	q := mail.HistoryQuery{Thread: p.Thread, To: p.To, Search: p.Query, After: p.After, Before: p.Before,
		Limit: p.Limit}
	if p.Thread == "" && p.To == "" {
		q.Agent = c.Caller
	}
	if p.Since != "" {
		var err error
		if q.Since, err = mail.ParseTime(p.Since); err != nil {
			return "", err
		}
	}
	page, err := c.Service.History(ctx, q)
	if err != nil {
		return "", err
	}
	if len(page.Messages) == 0 {
		return dialect.Prose(cmp.Or(page.Partly, "No such message")) + ".", nil
	}
	newest := p.After == 0
	return show(ctx, c, view{items: page.Messages, newest: newest, end: func(shown []mail.Item) string {
		var end []string
		if ids := unreadOf(shown); ids != "" {
			end = append(end, "Unread of these: "+ids+".")
		}
		if len(shown) > 0 && (page.More || len(shown) < len(page.Messages)) {
			cursor := fmt.Sprintf("after %d", shown[len(shown)-1].Seq)
			if newest {
				cursor = fmt.Sprintf("before %d", shown[0].Seq)
			}
			end = append(end, "There is more: read_messages with the same arguments and "+cursor+".")
		}
		if page.Partly != "" {
			end = append(end, page.Partly+".")
		}
		return strings.Join(end, " ")
	}}, toolDoor), nil
}

func unreadOf(items []mail.Item) string {
	var ids []string
	for i := range items {
		if s := items[i].State; s == mail.Queued || s == mail.Notified || s == mail.Presented {
			ids = append(ids, string(items[i].ID))
		}
	}
	return strings.Join(ids, ", ")
}
