package openalice

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// needs returns the items that need the user, with the answers that they offer.
func (b *fixture) needs() (out []string) {
	b.T.Helper()
	desk, err := b.As(mail.User).Desk(b.T.Context(), mail.DeskQuery{})
	if err != nil {
		b.T.Fatal(err)
	}
	for _, c := range desk.Needs {
		words := c.Preview
		for _, o := range c.Choices() {
			words += "|" + o.Answer
		}
		out = append(out, words)
	}
	return out
}

func TestPushAsks(t *testing.T) {
	b := newFixture(t)
	t.Run("it stands under Needs you until it is answered, and the answer goes to the session", func(t *testing.T) {
		p := b.push("ws-abc", `{"comments":"Ship it?","needs":"decision","options":["Yes","Not yet"]}`)
		b.says("ws-abc", "no question")
		if got := b.needs(); !slices.Equal(got, []string{"Ship it?|Yes|Not yet"}) {
			t.Fatalf("%q need the user", got)
		}
		if got := b.file("entries.jsonl"); !strings.HasPrefix(got, `{"id":"`+string(p.EntryID)+`","ts":`+
			strconv.FormatInt(p.TS, 10)+`,"workspaceId":"ws-abc","workspaceLabel":"Macro thesis","comments":"Ship it?",`+
			`"needs":"decision","options":["Yes","Not yet"]}`+"\n") {
			t.Errorf("entries.jsonl says %s", got)
		}
		user := b.As(mail.User)
		for _, mark := range []mail.Mark{mail.MarkRead, mail.MarkArchived} {
			if _, err := user.Mark(t.Context(), mail.Marking{IDs: []mail.ID{p.EntryID}, Mark: mark}); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.needs(); len(got) != 1 {
			t.Errorf("after it was read and archived, %q need the user", got)
		}
		it, err := user.Message(t.Context(), p.EntryID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := user.Send(t.Context(), it.Choose(mail.User, "Yes")); err != nil {
			t.Fatal(err)
		}
		if got := b.needs(); len(got) > 0 {
			t.Errorf("after the answer, %q need the user", got)
		}
		box, err := b.As("ws-abc").Inbox(t.Context(), mail.InboxQuery{})
		if err != nil || len(box.Messages) != 1 || box.Messages[0].Type != mail.Answer ||
			box.Messages[0].Body != "Yes" || box.Messages[0].ReplyTo != p.EntryID {
			t.Errorf("the workspace has %+v, %v", box.Messages, err)
		}
	})
	t.Run("what is wrong is refused", func(t *testing.T) {
		for _, args := range []string{`{"comments":"c","needs":"money"}`, `{"comments":"c","options":["Yes"]}`,
			`{"comments":"c","needs":"decision","options":["Yes","Yes"]}`, `{"needs":"decision"}`,
			`{"comments":"c","needs":"decision","options":[" "]}`} {
			if p := b.push("ws-abc", args); p.OK || p.Error == "" {
				t.Errorf("inbox_push(%s) = %+v", args, p)
			}
		}
	})
	t.Run("in and out of the file", func(t *testing.T) {
		b := newFixture(t)
		at := strconv.FormatInt(b.Now().UnixMilli(), 10)
		text := `{"id":"one","ts":` + at + `,"workspaceId":"ws-far","workspaceLabel":"F","docs":[{"path":"plan.md"}],` +
			`"needs":"decision","options":[{"label":"Go","description":"now"}],"x":1}` + "\n" +
			`{"id":"two","ts":` + at + `,"workspaceId":"ws-far","workspaceLabel":"F","comments":"c","needs":["rest"],` +
			`"options":"theirs"}` + "\n"
		b.write("entries.jsonl", text)
		b.Sync()
		if got := b.needs(); !slices.Equal(got, []string{"plan.md|Go"}) {
			t.Errorf("%q need the user", got)
		}
		b.Send("ws-def", mail.Draft{To: mail.Recipients{"user"}, Type: "question", Body: "Which?",
			Metadata: mail.Metadata(`{"options":["A","B"],"k":1}`)})
		got := b.file("entries.jsonl")
		own, found := strings.CutPrefix(got, text)
		if !found || !strings.HasSuffix(own, `"comments":"Which?","needs":"decision","options":["A","B"]}`+"\n") {
			t.Errorf("entries.jsonl says %s", got)
		}
		for line := range strings.Lines(text) {
			it, err := readItem([]byte(line))
			label, _ := labelOf(&it.Message, nil)
			again := entryOf(&it.Message, label)
			back, _ := again.encode()
			if err != nil || string(back)+"\n" != line {
				t.Errorf("%s\nbecomes\n%s\n%v", line, back, err)
			}
		}
		if diff := cmp.Diff(3, len(strings.Split(strings.TrimSpace(b.route(200, "GET", "/api/inbox/history", "")),
			`"workspaceId"`))-1); diff != "" {
			t.Error(diff)
		}
	})
}
