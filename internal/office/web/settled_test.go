package web

import (
	"context"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// TestSettledChip tests that every list shows how, by whom and when a question was settled.
func TestSettledChip(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "bob"})
	asked := func(to, subject string) mail.ID {
		return b.Send("ann", mail.Draft{To: mail.Recipients{to}, Type: "question", Subject: subject})
	}
	mine, his, dropped := asked("user", "Which port?"), asked("bob", "Which oil?"), asked("bob", "Which lamp?")
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", ReplyTo: mine, Body: "8080"})
	b.Send("bob", mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", ReplyTo: his, Body: "No.",
		Metadata: []byte(`{"declined":true}`)})
	if err := b.As("ann").Withdraw(context.Background(), dropped); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id     mail.ID
		as, by string
		path   string
	}{
		{mine, "answered", "user", "/"},
		{mine, "answered", "user", "/?m=" + string(mine)},
		{mine, "answered", "user", "/t/" + string(mine)},
		{his, "declined", "bob", "/history"},
		{his, "declined", "bob", "/t/" + string(his)},
		{his, "declined", "bob", "/agents/bob"},
		{dropped, "withdrawn", "ann", "/history"},
		{dropped, "withdrawn", "ann", "/agents/ann"},
	} {
		it, err := b.As(mail.User).Message(context.Background(), tt.id)
		if err != nil || it.Settled == nil {
			t.Fatalf("%s is not settled: %+v, %v", tt.id, it, err)
		}
		b.Get("/@shop"+tt.path).Want(t, 200, `<span class="badge settled `+tt.as+`" title="`+tt.as+` by `+tt.by+` `+
			words.Clock(it.Settled.At)+`">`+tt.as+`<span class="by"> by <bdi>`+tt.by+`</bdi> `+words.Clock(it.Settled.At)+
			`</span>`)
	}
	b.Get("/@shop/flow").Want(t, 200, ">withdrawn by ann ", ">answered by user ")
}
