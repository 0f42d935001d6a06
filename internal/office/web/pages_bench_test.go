package web

import (
	"fmt"
	"net/url"
	"testing"

	"pennypost/internal/mail"
)

// largeRoom is a room of 40 agents and 5,000 messages, some of them questions, some stuck; id is the last of them.
func largeRoom(b *testing.B) (fixture *fixture, id mail.ID) {
	fixture = newFixture(b)
	const agents, messages = 40, 5_000
	name := func(i int) mail.Name { return mail.Name(fmt.Sprintf("agent-%d", i%agents)) }
	for i := range agents {
		fixture.register(mail.Presence{Name: name(i), Roles: []string{fmt.Sprintf("role-%d", i%7)},
			Tags: []string{fmt.Sprintf("project:p%d", i%5)}})
	}
	types := []string{"task-assigned", "task-done", "question", "answer", "status", "custom"}
	for i := range messages {
		d := mail.Draft{To: mail.Recipients{"agent:" + string(name(i*7+1))}, Type: types[i%len(types)],
			Subject: fmt.Sprint("subject ", i), Body: fmt.Sprint("a line of text\n\nmore of it ", i)}
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
		id = fixture.send(name(i), d)
	}
	for i := range agents - 4 { // the rest reads nothing
		page, err := fixture.as(name(i)).Inbox(b.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
		if err != nil {
			b.Fatal(err)
		}
		var ids []mail.ID
		for _, it := range page.Messages {
			ids = append(ids, it.ID)
		}
		if _, err := fixture.as(name(i)).Mark(b.Context(), mail.Marking{IDs: ids, Mark: mail.MarkRead}); err != nil {
			b.Fatal(err)
		}
	}
	return fixture, id
}

// BenchmarkPages is what each place costs in a large room.
func BenchmarkPages(b *testing.B) {
	fixture, id := largeRoom(b)
	for _, page := range []struct{ name, path string }{
		{"inbox", "/"}, {"letter", "/?" + url.Values{"m": {string(id)}}.Encode()}, {"agents", "/agents"},
		{"agent", "/agents/agent-39"},
		{"channels", "/channels"}, {"tag", "/channels/project:p1"}, {"role", "/channels/role:role-3"},
		{"history", "/history"}, {"search", "/history?q=line"}, {"thread", "/t/" + url.PathEscape(string(id))},
		{"flow", "/flow?w=all"}, {"talk", "/flow?w=all&view=talk"}, {"stuck", "/stuck"}, {"compose", "/compose"},
		{"palette", "/palette?q=ag"}, {"changes", "/changes"},
	} {
		b.Run(page.name, func(b *testing.B) {
			for b.Loop() {
				fixture.get(page.path, zipped).want(b, 200)
			}
		})
	}
	b.Run("changed", func(b *testing.B) { // something happened since: what is stuck is counted again
		for b.Loop() {
			fixture.site.stuck.forget("shop")
			fixture.get("/changes").want(b, 200)
		}
	})
}
