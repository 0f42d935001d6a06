package web

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"pennypost/internal/mail"
)

// BenchmarkPages is what each place costs in a large room: 40 agents and 5,000 messages, some of them questions, some stuck.
func BenchmarkPages(b *testing.B) {
	bed := newBed(b)
	const agents, messages = 40, 5_000
	name := func(i int) mail.Name { return mail.Name(fmt.Sprintf("agent-%d", i%agents)) }
	for i := range agents {
		bed.register(mail.Presence{Name: name(i), Roles: []string{fmt.Sprintf("role-%d", i%7)}, Tags: []string{fmt.Sprintf("project:p%d", i%5)}})
	}
	types := []string{"task-assigned", "task-done", "question", "answer", "status", "custom"}
	var id mail.ID
	for i := range messages {
		d := mail.Draft{To: mail.Recipients{"agent:" + string(name(i*7+1))}, Type: types[i%len(types)], Subject: fmt.Sprint("subject ", i), Body: fmt.Sprint("a line of text\n\nmore of it ", i)}
		switch i % 10 {
		case 0, 1:
			d.To = mail.Recipients{"user"}
		case 2:
			d.To = mail.Recipients{fmt.Sprintf("project:p%d", i%5)}
		case 3:
			d.To = mail.Recipients{fmt.Sprintf("role:role-%d", i%7)}
		case 4:
			d.ReplyTo = id
		}
		id = bed.send(name(i), d)
	}
	for i := range agents - 4 { // the rest reads nothing
		page, err := bed.as(name(i)).Inbox(context.Background(), mail.InboxQuery{Limit: mail.MaxLimit})
		if err != nil {
			b.Fatal(err)
		}
		var ids []mail.ID
		for _, it := range page.Messages {
			ids = append(ids, it.ID)
		}
		if _, err := bed.as(name(i)).Mark(context.Background(), mail.Marking{IDs: ids, Mark: mail.MarkRead}); err != nil {
			b.Fatal(err)
		}
	}
	letter, err := bed.as(mail.User).Inbox(context.Background(), mail.InboxQuery{Newest: true, Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{
		"/", "/?m=" + url.QueryEscape(string(letter.Messages[0].ID)), "/agents", "/agents/agent-3", "/agents/agent-39", "/channels", "/channels/project:p1", "/channels/role:role-3",
		"/history", "/history?q=line", "/flow?w=all", "/flow?w=all&view=talk", "/stuck", "/t/" + url.PathEscape(string(id)), "/compose", "/palette?q=ag", "/changes",
	} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				bed.get(path).want(b, 200)
			}
		})
	}
	b.Run("events", func(b *testing.B) { // what each change costs for each page that is open
		for i := 0; b.Loop(); i++ {
			bed.site.stuck.forget("shop")
			bed.get("/changes").want(b, 200)
		}
	})
}
