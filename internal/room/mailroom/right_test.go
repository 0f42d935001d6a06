package mailroom

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/check"
)

// TestP13_RightIsTheRoomsRule checks that anyone settles a question while a machine of an earlier version follows the
// room, that only those asked do once all have said that they know the rule, and that settled questions stay so, on
// every machine and after compaction.
func TestP13_RightIsTheRoomsRule(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		f := newFleet(t, 2, Options{})
		old := func(c mail.MachineChange) {
			t.Helper()
			c.Name = "old"
			_, err := f.posts[0].commit(f.Context(), mail.Event{Machine: &c})
			f.must("the old machine", err)
			f.settle()
		}
		ask := func(body string) mail.ID {
			t.Helper()
			sent, err := f.posts[0].As("dave").Send(f.Context(),
				mail.Draft{To: mail.Recipients{"user"}, Type: "question", Body: body})
			f.must("ask", err)
			f.settle()
			return sent.ID
		}
		answer := func(q mail.ID, want bool) {
			t.Helper()
			sent, err := f.posts[1].As("mallory").Send(f.Context(),
				mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "yes to " + string(q), ReplyTo: q})
			f.must("answer", err)
			f.settle()
			for _, p := range f.posts {
				it, err := p.As(mail.User).Message(f.Context(), q)
				f.must("look", err)
				if it.Open == want || (sent.AskedOf == nil) != want {
					t.Errorf("on %s the question is open %v; want it settled: %v", p.opts.Machine, it.Open, want)
				}
			}
		}
		answer(ask("all know"), false)
		old(mail.MachineChange{Follows: true})
		answer(ask("one does not"), true)
		old(mail.MachineChange{Rules: mail.RulesOfRight})
		last := ask("it learned")
		answer(last, false)
		old(mail.MachineChange{Left: true})
		old(mail.MachineChange{Follows: true})
		answer(ask("it came back"), true)
		old(mail.MachineChange{Left: true})
		_, err := f.posts[0].writeCheckpoint(context.Background())
		f.must("checkpoint", err)
		f.settle()
		answer(ask("it has left"), false)
	})
}

// TestP13_ASuggestionIsKept checks that a question is as open after retention, in a room that is opened again and in
// an exported copy as it was before, and that suggestions of an answer stay with it.
func TestP13_ASuggestionIsKept(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	opts := Options{Now: func() time.Time { return now }, Retention: policy.Retention{Age: time.Hour, Count: 1}}
	room, store := openRoom(t, "lab", opts)
	send := func(from mail.Name, d mail.Draft) mail.ID {
		t.Helper()
		sent, err := room.As(from).Send(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	user := room.As(mail.User)
	q := send("dave", mail.Draft{To: mail.Recipients{"user"}, Type: "question", Body: "may I?"})
	a := send("mallory", mail.Draft{To: mail.Recipients{"dave"}, Type: "answer", Body: "yes", ReplyTo: q})
	if _, err := room.As("dave").Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	want := func(where string, r *Room) {
		t.Helper()
		it, err := r.As(mail.User).Message(t.Context(), q)
		if err != nil || !it.Open || len(it.Suggestions) != 1 || it.Suggestions[0].ID != a {
			t.Errorf("%s the question is %+v, %v; want it open with a suggestion", where, it, err)
		}
	}
	want("at first", room)
	now = now.Add(30 * 24 * time.Hour)
	if _, err := user.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("behind retention", room)
	again := reopen(t, store, "lab", opts)
	defer again.Close()
	want("opened again", again)
	var items []mail.Item
	for it, err := range user.Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	other, _ := openRoom(t, "other", opts)
	if _, err := other.As(mail.User).Import(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	want("imported", other)
	send(mail.User, mail.Draft{To: mail.Recipients{"dave"}, Body: "no", ReplyTo: q})
	now = now.Add(30 * 24 * time.Hour)
	if _, err := user.Archive(t.Context()); err != nil || room.state.Records[a] != nil {
		t.Errorf("once the question is answered, its suggestion stays, %v", err)
	}
}

// TestP13_NoScriptSettles checks that a script's messages as the user neither answer nor withdraw agents' questions,
// and that it may send anything else.
func TestP13_NoScriptSettles(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	send := func(v mail.Service, d mail.Draft) (mail.ID, error) {
		sent, err := v.Send(t.Context(), d)
		return sent.ID, err
	}
	script, err := room.From(mail.User, check.Whence{Means: mail.ByScript})
	if err != nil {
		t.Fatal(err)
	}
	q, err := send(room.As("dave"), mail.Draft{To: mail.Recipients{"user"}, Type: "question", Body: "may I?"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []mail.Draft{{Type: "answer"}, {}, {Type: "answer", Metadata: mail.Metadata(`{"declined":true}`)}} {
		d.To, d.Body, d.ReplyTo = mail.Recipients{"dave"}, "yes", q
		if _, err := send(script, d); mail.CodeOf(err) != mail.Denied ||
			!strings.Contains(err.Error(), "pennypost open") {
			t.Errorf("a script sends %+v: %v", d, err)
		}
	}
	if err := script.Withdraw(t.Context(), q); mail.CodeOf(err) != mail.Denied {
		t.Errorf("a script withdraws the question of an agent: %v", err)
	}
	note, err := send(script, mail.Draft{To: mail.Recipients{"dave"}, Type: "status", Body: "built", ReplyTo: q})
	if err != nil {
		t.Error(err)
	}
	own, err := send(script, mail.Draft{To: mail.Recipients{"dave"}, Type: "question", Body: "done?"})
	if err != nil {
		t.Error(err)
	}
	if err := script.Withdraw(t.Context(), own); err != nil {
		t.Errorf("a script withdraws its own question: %v", err)
	}
	for id, by := range map[mail.ID]mail.Means{note: mail.ByScript, q: ""} {
		if it, err := room.As("dave").Message(t.Context(), id); err != nil || it.By != by {
			t.Errorf("%s is by %q, %v; want %q", id, it.By, err, by)
		}
	}
	page, err := room.From(mail.User, check.Whence{Means: mail.ByPages})
	if err != nil {
		t.Fatal(err)
	}
	a, err := send(page, mail.Draft{To: mail.Recipients{"dave"}, Body: "no", ReplyTo: q})
	if err != nil {
		t.Fatal(err)
	}
	it, err := room.As("dave").Message(t.Context(), a)
	if err != nil || !it.IsUsers() {
		t.Errorf("the person's answer is %+v, %v", it, err)
	}
	other, _ := openRoom(t, "other", Options{})
	if _, err := other.As(mail.User).Import(t.Context(), []mail.Item{it}); err != nil {
		t.Fatal(err)
	}
	if it, err := other.As("dave").Message(t.Context(), a); err != nil || it.By != "" || it.IsUsers() {
		t.Errorf("imported, it is %+v, %v; want that nobody takes it for the person's own words", it, err)
	}
}

// TestP13_TheUserOfAFile checks that the user's words in a foreign file settle questions that were asked in that
// file, and nothing else, even if both are found at the same time.
func TestP13_TheUserOfAFile(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	sent, err := room.As("dave").Send(t.Context(),
		mail.Draft{To: mail.Recipients{"user"}, Type: "question", Body: "may I?"})
	if err != nil {
		t.Fatal(err)
	}
	item := func(id, from, to, typ, replyTo, via string) mail.Item {
		return mail.Item{Message: mail.Message{ID: mail.ID(id), From: mail.Address(from),
			To: []mail.Address{mail.Address(to)}, Type: mail.Type(typ), Body: id, ReplyTo: mail.ID(replyTo), Via: via,
			Sent: 1, By: mail.ByTerminal}}
	}
	if _, err := room.ForFiles().Import(t.Context(), []mail.Item{
		item("msg_1", "agent:eve", "user", "question", "", "haak"),
		item("msg_2", "agent:eve", "user", "question", "", "haak"),
		item("msg_3", "user", "agent:eve", "answer", "msg_1", "haak"),
		item("msg_4", "user", "agent:eve", "answer", "msg_2", "agenties"),
		item("msg_5", "agent:mallory", "agent:eve", "answer", "msg_2", "haak"),
		item("msg_6", "user", "agent:dave", "answer", string(sent.ID), "haak"),
	}); err != nil {
		t.Fatal(err)
	}
	for id, open := range map[mail.ID]bool{"msg_1": false, "msg_2": true, sent.ID: true} {
		it, err := room.As(mail.User).Message(t.Context(), id)
		if err != nil || it.Open != open {
			t.Errorf("%s is open %v, %v; want %v", id, it.Open, err, open)
		}
	}
	var suggested []mail.ID
	it, err := room.As(mail.User).Message(t.Context(), "msg_2")
	for _, s := range it.Suggestions {
		suggested = append(suggested, s.ID)
	}
	if want := []mail.ID{"msg_4", "msg_5"}; err != nil || !slices.Equal(suggested, want) {
		t.Errorf("suggested is %q, %v; want %q, of files that name no thread", suggested, err, want)
	}
	if it, err := room.As("eve").Message(t.Context(), "msg_3"); err != nil || it.By != "" || it.IsUsers() {
		t.Errorf("what a file says in the user's name is %+v, %v", it, err)
	}
}

// TestP13_AnAliasOfTheUserInAFile checks that a name which leads to the user has no more effect in a file than "user"
// does.
func TestP13_AnAliasOfTheUserInAFile(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "captain"}); err != nil {
		t.Fatal(err)
	}
	if _, err := user.Merge(t.Context(), "captain", mail.User); err != nil {
		t.Fatal(err)
	}
	sent, err := room.As("dave").Send(t.Context(),
		mail.Draft{To: mail.Recipients{"captain"}, Type: "question", Body: "may I?"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := room.ForFiles().Import(t.Context(), []mail.Item{{Message: mail.Message{ID: "msg_1",
		From: "agent:captain", To: []mail.Address{"agent:dave"}, Type: mail.Answer, Body: "yes", ReplyTo: sent.ID,
		Via: "haak", Sent: 1, By: mail.ByTerminal}}}); err != nil {
		t.Fatal(err)
	}
	if it, err := user.Message(t.Context(), sent.ID); err != nil || !it.Open || len(it.Suggestions) != 1 {
		t.Errorf("what the captain was asked is open %v with %d suggestions, %v", it.Open, len(it.Suggestions), err)
	}
	if it, err := room.As("dave").Message(t.Context(), "msg_1"); err != nil || it.From != mail.ToUser || it.IsUsers() {
		t.Errorf("what the file says in the captain's name is %+v, %v", it, err)
	}
	if _, err := user.Register(t.Context(), mail.Presence{Name: "captain", State: mail.Frozen}); mail.CodeOf(
		err) != mail.Invalid {
		t.Errorf("the user was frozen: %v", err)
	}
}
