package room_test

import (
	"context"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/room"
	"pennypost/internal/office/web/sitetest"
)

func (b *fixture) mark(as mail.Name, mark mail.Mark, door string, ids ...mail.ID) {
	b.T.Helper()
	if _, err := b.As(as).Mark(context.Background(), mail.Marking{IDs: ids, Mark: mark, Door: door}); err != nil {
		b.T.Fatal(err)
	}
}

func TestThread(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder-1"}, mail.Presence{Name: "builder-2"})
	root := b.Send("builder-1", mail.Draft{To: mail.Recipients{"builder-2"}, Subject: "Light the lamp", Issue: "LH-1",
		Docs: []mail.Doc{{Path: "docs/lamp.md"}}})
	b.mark("builder-2", mail.MarkPresented, "hook", root)
	b.mark("builder-2", mail.MarkRead, "", root)
	first := b.Send("builder-2", mail.Draft{To: mail.Recipients{"builder-1"}, Body: "With which oil?", ReplyTo: root})
	b.Send("builder-1", mail.Draft{To: mail.Recipients{"builder-2"}, Body: "Rape.", ReplyTo: first})
	second := b.Send("builder-2", mail.Draft{Subject: "May I buy oil?", Type: "question", ReplyTo: root})

	for _, id := range []mail.ID{root, first, second} {
		a := b.Get("/@shop/t/"+string(id)).Want(t, 200, "Light the lamp", "4 messages", "LH-1", "docs/lamp.md",
			"With which oil?", `id="m-`+string(second)+`"`,
			"Mark one message to you as read", `action="/@shop/t/`+string(root)+`/read"`, "May I buy oil?")
		if !regexp.MustCompile(`delivered \d\d:\d\d, read \d\d:\d\d`).MatchString(a.Body) {
			t.Errorf("the receipts are not told:\n%s", a.Body)
		}
		// The box answers the last message of another sender, which asks.
		a.Want(t, 200, `name="reply_to" value="`+string(second)+`"`, `name="type" value="answer"`,
			`name="to" value="agent:builder-2"`)
	}
	if it, err := b.As(mail.User).Message(context.Background(), second); err != nil || it.Read {
		t.Errorf("looking marked it read: %+v, %v", it, err)
	}

	b.Get("/@shop/t/"+string(root)+"?reply="+string(root)).Want(t, 200, `name="reply_to" value="`+string(root)+`"`,
		`name="to" value="agent:builder-1"`, "Light the lamp")
	b.Part("/@shop/t/"+string(root)+"?reply="+string(first), "writing").Want(t, 200, `id="writing"`,
		`name="reply_to" value="`+string(first)+`"`).Without(t, `id="thread"`)
	b.Part("/@shop/t/"+string(root), "thread").Want(t, 200, `id="thread"`).Without(t, "<html", `id="writing"`)

	if a := b.Post("/@shop/t/"+string(root)+"/read", url.Values{}); a.Code != 303 ||
		a.Header.Get("Location") != "/@shop/t/"+string(root) {
		t.Errorf("%d to %q", a.Code, a.Header.Get("Location"))
	}
	if it, err := b.As(mail.User).Message(context.Background(), second); err != nil || !it.Read {
		t.Errorf("not read: %+v, %v", it, err)
	}
	b.Post("/@shop/t/"+string(root)+"/read", url.Values{}, sitetest.AsScript("section#thread")).Want(t, 200,
		`id="thread"`).Without(t, "messages to you as read", "<html")
}

// TestThreadTree tests that a reply is indented below its parent down to a limit, that deeper ones are still shown,
// and that each says what it answers.
func TestThreadTree(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder-1"}, mail.Presence{Name: "builder-2"})
	root := b.Send("builder-1", mail.Draft{Subject: "Root"})
	last := root
	for i := range 9 {
		last = b.Send("builder-2", mail.Draft{Body: "reply " + strconv.Itoa(i), ReplyTo: last})
	}
	aside := b.Send("builder-2", mail.Draft{Body: "aside", ReplyTo: root})
	page := b.Get("/@shop/t/"+string(last)).Want(t, 200, "11 messages",
		`<p class="hidden">answering <bdi>builder-2</bdi></p>`,
		`<p class="answers-whom faint">answering <bdi>builder-1</bdi></p>`).Body
	depth, deepestSeen, posts, at := 0, 0, 0, map[string]int{}
	tags := regexp.MustCompile(`<ul role="list"|</ul></li>|</ul></div>|<article class="post[^"]*" id="m-([^"]*)"`)
	_, tree, _ := strings.Cut(page, `<div class="branches">`)
	tree, _, _ = strings.Cut(tree, "</section>")
	for _, tag := range tags.FindAllStringSubmatch(tree, -1) {
		switch {
		case tag[0] == `<ul role="list"`:
			depth++
			deepestSeen = max(deepestSeen, depth)
		case tag[1] != "":
			posts++
			at[tag[1]] = depth
		default:
			depth--
		}
	}
	if posts != 11 || deepestSeen != room.Deepest+1 || depth != 0 {
		t.Errorf("%d posts, %d levels that end at %d; want 11, %d, 0", posts, deepestSeen, depth, room.Deepest+1)
	}
	if at[string(root)] != 1 || at[string(aside)] != 2 || at[string(last)] != room.Deepest+1 {
		t.Errorf("the root stands at level %d, what answers it at %d, the deepest at %d", at[string(root)],
			at[string(aside)], at[string(last)])
	}
}

// TestThreadBySent tests that replies are sorted by time sent, even if they arrived backwards, and that a reply with
// an earlier time than its parent is still below it.
func TestThreadBySent(t *testing.T) {
	b := newFixture(t)
	item := func(id, body string, minute int, replyTo mail.ID) mail.Item {
		it := mail.Item{Message: mail.Message{ID: mail.ID(id), Type: "custom", From: "agent:x",
			To: []mail.Address{"all"}, Body: body, ReplyTo: replyTo,
			Sent: mail.Time(1_700_000_000_000 + minute*60_000)}}
		if replyTo != "" {
			it.Thread = "root"
		}
		return it
	}
	if _, err := b.As(mail.User).Import(context.Background(), []mail.Item{item("late", "the second reply", 5, "root"),
		item("odd", "below the second", 1, "late"), item("early", "the first reply", 2, "root"),
		item("root", "the question", 0, "")}); err != nil {
		t.Fatal(err)
	}
	page := b.Get("/@shop/t/late").Want(t, 200, `<h1 id="thread-title"><bdi>the question</bdi>`).Body
	var got []string
	for _, m := range regexp.MustCompile(`<article class="post" id="m-([^"]*)"`).FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
	}
	if want := "root early late odd"; strings.Join(got, " ") != want {
		t.Errorf("the tree is %q, want %q", got, want)
	}
}

func TestThreadErrors(t *testing.T) {
	b := newFixture(t)
	id := b.Send("builder-1", mail.Draft{})
	b.Get("/@shop/t/nothing").Want(t, 404, "there is no message nothing")
	b.Get("/@shop/t/"+string(id)+"?reply=nothing").Want(t, 404, "there is no message nothing in this conversation")
	b.Post("/@shop/t/nothing/read", nil).Want(t, 404)
	b.Post("/@shop/t/"+string(id), nil).Want(t, 404)
}

// TestThreadHostile tests that foreign ids, and replies to missing messages or in cycles, are each shown once.
func TestThreadHostile(t *testing.T) {
	b := newFixture(t)
	ids := []mail.ID{`a/b "><img src=x>`, "toasts", "c?d#e%2f"}
	items := []mail.Item{
		{Message: mail.Message{ID: ids[0], Type: "custom", From: "agent:x", To: []mail.Address{"user"},
			Subject: sitetest.HostileText, Body: sitetest.HostileText, ReplyTo: ids[1], Issue: `"><i>`,
			Docs: []mail.Doc{{Path: `"><u>`}}}},
		{Message: mail.Message{ID: ids[1], Type: "custom", From: "agent:y", To: []mail.Address{"user"}, Body: "second",
			Thread: ids[0], ReplyTo: ids[0]}},
		{Message: mail.Message{ID: ids[2], Type: "custom", From: "agent:z", To: []mail.Address{"user"}, Body: "third",
			Thread: ids[0], ReplyTo: ids[2]}},
	}
	for i := range items {
		items[i].Sent = mail.Time(1_700_000_000_000 + i*1000)
	}
	if _, err := b.As(mail.User).Import(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		a := b.Get("/@shop/t/"+url.PathEscape(string(id))).Want(t, 200, "second", "third", "3 messages").Without(t,
			"<script>alert", "<img", `"><i>`, `"><u>`, `id="toasts" data-seq`)
		if n := strings.Count(a.Body, `<article class="post`); n != 3 {
			t.Errorf("%s: %d posts", id, n)
		}
		b.Get("/@shop/t/"+url.PathEscape(string(id))+"?reply="+url.QueryEscape(string(ids[0]))).Want(t, 200).Without(t,
			"<img")
	}
	b.Post("/@shop/t/"+url.PathEscape(string(ids[0]))+"/read", url.Values{}).Want(t, 303)
}
