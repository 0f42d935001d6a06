package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/notify/telegramtest"
)

// answered writes a text in the chat, waits for one more message from the bot that contains want, and returns it.
func (d *chatDesk) answered(text string, replyTo int64, want string) telegramtest.Message {
	d.Helper()
	before := len(d.server.Messages(d.me.ID))
	d.me.Write(text, replyTo)
	d.server.Wait(d.T, fmt.Sprintf("%q is answered", text), func() bool {
		return len(d.server.Messages(d.me.ID)) > before
	})
	d.server.Dealt(d.T)
	list := d.server.Messages(d.me.ID)
	if m := list[len(list)-1]; !strings.Contains(m.Text, want) {
		d.Errorf("to %q it says %q, want %q", text, m.Text, want)
	}
	return list[len(list)-1]
}

// TestChatReply: a reply goes below the shown message's letter, once, however often its update comes, and settles a
// question; it is data, not an act of the person; and a reply to a message without a letter is not sent.
func TestChatReply(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	id, shown := d.ask(portQuestion("Which port?"))
	kept, err := os.ReadFile(d.file)
	d.must(err)
	ok := d.answered("Neither: *use* <b>7000</b>", shown.ID, "Sent to")
	if ok.ReplyTo == 0 {
		t.Errorf("the confirmation %+v stands below nothing", ok)
	}
	a := d.item(d.item(id).Settled.Answer)
	if a.Body != "Neither: *use* <b>7000</b>" || a.Type != mail.Answer || a.ReplyTo != id || a.By != mail.ByChat ||
		a.IsUsers() || a.Metadata.Text("via") != "telegram" {
		t.Errorf("the answer is %+v", a)
	}
	d.server.Shows(t, d.me.ID, "Answered\n\nann asks: Which port?")

	// As if the post office had been killed before it recorded the reply.
	d.stop()
	d.must(os.WriteFile(d.file, kept, 0o600))
	again := fmt.Sprintf(`{"message_id":%d,"from":{"id":77},"chat":{"id":77,"type":"private"},`+
		`"text":"Neither: *use* <b>7000</b>","reply_to_message":{"message_id":%d}}`, ok.ReplyTo, shown.ID)
	d.server.Add("message", json.RawMessage(again))
	d.start()
	d.server.Dealt(t)
	if n := len(d.sent()); n != 1 {
		t.Errorf("%d messages were sent, want 1", n)
	}
	d.refusals()
	if n := len(d.sent()); n != 1 {
		t.Errorf("%d messages were sent, want 1 still", n)
	}
}

// refusals writes texts that are not sent.
func (d *chatDesk) refusals() {
	d.Helper()
	d.answered("hello", 0, "Nothing was sent: reply to one of my messages")
	d.answered("hello", 999999, "I no longer know")
	d.answered("/erase everything", 0, "Nothing was done")
	d.answered("", 0, "only text")
	d.answered("/pair ABCDEFGH", 0, "This chat is paired.")
	d.answered("/help", 0, "A button answers immediately.")
	d.answered("/help@desk_bot", 0, "/waiting")
	d.server.Add("edited_message", map[string]any{"message_id": 5, "from": map[string]any{"id": 77},
		"chat": map[string]any{"id": 77, "type": "private"}, "text": "edited"})
	for _, subject := range []string{"One", "Two"} {
		d.tellAlso(subject)
	}
}

// tellAlso sends the chat a digest and replies to it.
func (d *chatDesk) tellAlso(subject string) {
	d.Helper()
	note := &Note{Subject: "2 questions", Text: subject, Letters: []Letter{{Room: "lab", ID: "a"}, {Room: "lab"}}}
	if _, err := d.notify.lines[0].channel.Send(d.Context(), note); err != nil {
		d.Fatal(err)
	}
	m := d.server.Shows(d.T, d.me.ID, subject)
	d.answered("yes", m.ID, "not about one message")
	note.Letters = []Letter{{Room: "lab", ID: "dialog_1", Dialog: true}}
	note.Text = "the dialog " + subject
	if _, err := d.notify.lines[0].channel.Send(d.Context(), note); err != nil {
		d.Fatal(err)
	}
	m = d.server.Shows(d.T, d.me.ID, note.Text)
	d.answered("yes", m.ID, "a dialog of an agent's client")
}

// TestChatOutsiders: only the person in the paired chat is obeyed or answered: not others in chats of their own, not
// others' presses in the person's chat, no group, and no one after unpairing.
func TestChatOutsiders(t *testing.T) {
	d := newChatDesk(t)
	mallory := telegramtest.Person{ID: 666, Server: d.server}
	mallory.Write("/start", 0)
	d.pair()
	id, shown := d.ask(portQuestion("Which port?"))
	group := map[string]any{"id": -100, "type": "supergroup", "title": "all"}
	fake := map[string]any{"id": 77, "type": "private"}
	for _, text := range []string{"8080", "/inbox", "/waiting", "/pair AAAAAAAA", "/help", "/unpair"} {
		mallory.Write(text, shown.ID)
		mallory.WriteIn(group, text, shown.ID)
		mallory.WriteIn(fake, text, shown.ID)
		d.me.WriteIn(group, text, shown.ID)
	}
	for _, chat := range []int64{666, 77, -100} {
		mallory.Press(chat, shown.ID, shown.Buttons[0].Data)
	}
	d.me.Press(666, shown.ID, shown.Buttons[0].Data)
	d.server.Add("channel_post", map[string]any{"message_id": 9, "chat": fake, "text": "/inbox"})
	forged := d.me.Press(77, shown.ID, shown.Buttons[0].Data+"x")
	swapped := d.me.Press(77, shown.ID, "9"+shown.Buttons[0].Data[1:])
	other := d.me.Press(77, shown.ID+1000, shown.Buttons[0].Data)
	none := d.me.Press(77, shown.ID, "")
	d.server.Dealt(t)
	for _, press := range []string{forged, swapped, other, none} {
		if said := d.server.Pressed(press); !strings.HasPrefix(said, "Not sent: that button is no longer valid") {
			t.Errorf("a forged press is told %q", said)
		}
	}
	for _, chat := range []int64{666, -100} {
		if got := d.server.Messages(chat); len(got) > 0 {
			t.Errorf("%d is told %+v", chat, got)
		}
	}
	if !d.item(id).Open || len(d.sent()) > 0 || len(d.server.Messages(77)) != 2 {
		t.Errorf("sent %+v, shown %+v", d.sent(), d.server.Messages(77))
	}

	d.must(d.notify.Unpair(t.Context(), "telegram"))
	d.me.Press(77, shown.ID, shown.Buttons[0].Data)
	d.me.Write("8080", shown.ID)
	d.me.Write("/inbox", 0)
	p, err := d.notify.Pair(t.Context(), "telegram") // makes it listen
	d.must(err)
	d.server.Dealt(t)
	if !d.item(id).Open || len(d.server.Messages(77)) != 2 {
		t.Errorf("after unpairing, shown %+v", d.server.Messages(77))
	}
	if got := d.notify.Troubles(); len(got) != 1 || !strings.Contains(got[0], "pennypost notify pair telegram") {
		t.Errorf("troubles %q", got)
	}
	d.me.Write("/start "+strings.ToLower(p.Code), 0)
	d.server.Wait(t, "it is paired again", func() bool { return len(d.server.Messages(77)) == 3 })
	again := d.me.Press(77, shown.ID, shown.Buttons[0].Data) // from the previous pairing
	d.server.Dealt(t)
	if said := d.server.Pressed(again); !d.item(id).Open || !strings.HasPrefix(said, "Not sent") {
		t.Errorf("a button of the pairing before says %q", said)
	}
}

// TestChatCodes: a code works once, and not after ten wrong ones; another chat takes over; and the saved state is
// private to its owner.
func TestChatCodes(t *testing.T) {
	d := newChatDesk(t)
	mallory := telegramtest.Person{ID: 666, Server: d.server}
	p, err := d.notify.Pair(t.Context(), "telegram")
	d.must(err)
	if p.Bot != "@desk_bot" || p.Link != "https://t.me/desk_bot?start="+p.Code || len(p.Code) != codeLength ||
		!d.notify.Busy() {
		t.Errorf("the pairing is %+v", p)
	}
	for i := range maxWrongCode {
		mallory.Write(fmt.Sprintf("/pair WRONG%03d", i), 0)
	}
	d.me.Write("/pair "+p.Code, 0)
	d.server.Wait(t, "the code is void", func() bool { return !d.notify.Busy() })
	p2, err := d.notify.Pair(t.Context(), "telegram")
	d.must(err)
	d.me.Write("/pair "+p.Code, 0)
	d.server.Dealt(t)
	if got := d.server.Messages(77); len(got) > 0 {
		t.Fatalf("a void code pairs: %+v", got)
	}
	group := map[string]any{"id": -100, "type": "group"}
	d.me.WriteIn(group, "/pair "+p2.Code, 0)
	d.me.Write("/pair "+p2.Code, 0)
	d.server.Shows(t, 77, "This chat is paired")
	mallory.Write("/pair "+p2.Code, 0)
	d.server.Dealt(t)
	if got := d.server.Messages(666); len(got) > 0 {
		t.Fatalf("a code pairs twice: %+v", got)
	}
	if info, err := os.Stat(d.file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if raw, _ := os.ReadFile(d.file); bytes.Contains(raw, []byte(p2.Code)) ||
		bytes.Contains(raw, []byte(telegramtest.Token)) {
		t.Errorf("kept: %s", raw)
	}
	phone := telegramtest.Person{ID: 78, Server: d.server}
	p3, err := d.notify.Pair(t.Context(), "telegram")
	d.must(err)
	phone.Write("/pair "+p3.Code, 0)
	d.server.Shows(t, 78, "This chat is paired")
	d.server.Shows(t, 77, "Another chat was paired")
	if c := d.notify.Channels()[0]; c.Paired != "P78" || !c.Pairs || c.PairedSince == 0 {
		t.Errorf("the channel is %+v", c)
	}
	if _, err := d.notify.Pair(t.Context(), "fax"); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("Pair of no chat = %v", err)
	}
}

// TestChatSettledElsewhere: a message shows that its question was settled, even while no post office ran, and a
// press made then is processed.
func TestChatSettledElsewhere(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	id, shown := d.ask(portQuestion("Withdrawn?"))
	d.must(d.room.As("ann").Withdraw(t.Context(), id))
	d.server.Shows(t, 77, "Withdrawn by ann\n\nann asks: Withdrawn?")
	id, _ = d.ask(portQuestion("By another?"))
	it := d.item(id)
	d.stop()
	_, err := d.room.AsUser(mail.ByPages).Send(t.Context(), it.Choose(mail.User, "8080"))
	d.must(err)
	d.start()
	d.server.Shows(t, 77, "Answered: 8080\n\nann asks: By another?")
	id, shown = d.ask(portQuestion("While away?"))
	if !d.notify.Busy() {
		t.Error("not busy while a button can be pressed")
	}
	d.stop()
	d.me.Press(77, shown.ID, shown.Buttons[1].Data)
	d.start()
	d.server.Shows(t, 77, "Answered: 9090\n\nann asks: While away?")
	if a := d.item(d.item(id).Settled.Answer); a.Body != "9090" {
		t.Errorf("the answer is %+v", a)
	}
	d.server.Dealt(t)
	if n := d.server.Called("editMessageText"); n != 3 {
		t.Errorf("%d edits, want 3", n)
	}
}

// TestChatLists: /inbox lists mail and /waiting shows items that can be answered, without texts unless these are
// included, and dialogs without a way to answer them.
func TestChatLists(t *testing.T) {
	d := newChatDesk(t)
	d.tell.What = "urgent" // so that only requested items are sent
	d.stop()
	d.start()
	d.pair()
	d.answered("/waiting", 0, "Nothing needs you.")
	draft := portQuestion("Which port?")
	draft.To = mail.Recipients{"user"}
	first, err := d.room.As("ann").Send(t.Context(), draft)
	d.must(err)
	for i := range chatWaiting {
		draft.Subject = fmt.Sprintf("Question %d", i)
		_, err := d.room.As("ann").Send(t.Context(), draft)
		d.must(err)
	}
	card := command("dialog_1", "rm -rf secret")
	card.Room, card.Agent = "lab", "bob"
	d.cards = []mail.Card{card}
	list := d.answered("/inbox", 0, "6 waiting for you")
	if !strings.Contains(list.Text, "• ann asks: Which port? (lab)") || strings.Contains(list.Text, "secret") {
		t.Errorf("/inbox lists %q", list.Text)
	}
	last := d.answered("/waiting", 0, "1 more waiting for you.")
	if !strings.Contains(last.Text, "bob") || strings.Contains(last.Text, "secret") || len(last.Buttons) > 0 {
		t.Errorf("/waiting ends with %+v", last)
	}
	shown := d.server.Shows(t, 77, "ann asks: Which port?")
	if strings.Contains(shown.Text, "secret") || len(shown.Buttons) != 2 {
		t.Errorf("/waiting shows %+v", shown)
	}
	d.answered("8081", shown.ID, "Sent to")
	if a := d.item(d.item(first.ID).Settled.Answer); a.Body != "8081" {
		t.Errorf("the answer is %+v", a)
	}
	yes := true
	d.tell.Text = &yes
	d.stop()
	d.start()
	d.answered("/waiting", 0, "May bob run this command? rm -rf secret")
	d.server.Shows(t, 77, "a secret")
}

// TestChatAnswersOff: without answers turned on nothing is answered, not even by an earlier button.
func TestChatAnswersOff(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	id, shown := d.ask(portQuestion("Which port?"))
	d.stop()
	d.mute = true
	d.start()
	press := d.me.Press(77, shown.ID, shown.Buttons[0].Data)
	d.answered("8080", shown.ID, "Nothing was sent.")
	if said := d.server.Pressed(press); !d.item(id).Open || !strings.HasPrefix(said, "Not sent") {
		t.Errorf("the press is told %q", said)
	}
}

// TestChatOtherBot: state saved for one bot does not apply to another.
func TestChatOtherBot(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	d.stop()
	d.notify.kept.Chats["telegram"].Bot = "1"
	d.notify.save()
	d.start()
	d.server.Wait(t, "the pairing is forgotten", func() bool { return d.notify.Channels()[0].Paired == "" })
}
