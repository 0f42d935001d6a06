package notify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/notify/telegramtest"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// chatDesk is a room with a Notifier that uses Telegram's stand-in, in real time.
type chatDesk struct {
	*testing.T
	server *telegramtest.Server
	me     telegramtest.Person
	file   string
	tell   config.Telling
	mute   bool // answers are off
	cards  []mail.Card
	room   *mailroom.Room
	notify *Notifier
	stop   func()
}

func newChatDesk(t *testing.T) *chatDesk {
	var store journaltest.Store
	room, err := mailroom.Open(t.Context(), "lab", store.Open(), mailroom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &chatDesk{T: t, server: telegramtest.New(t), file: filepath.Join(t.TempDir(), "notify.json"), room: room,
		stop: func() {}, tell: config.Telling{URL: "https://box.example"}}
	d.me = telegramtest.Person{ID: 77, Server: d.server}
	d.start()
	t.Cleanup(func() { d.stop(); _ = room.Close() })
	return d
}

func (d *chatDesk) start() {
	d.notify = newNotifier(Options{File: d.file,
		Use: func(_ context.Context, _ mail.RoomName, use func(Room) error) error { return use(d.room) },
		Desk: func(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
			q, _ = q.Checked()
			desk, err := d.room.As(mail.User).Desk(ctx, q)
			return desk, err
		},
		Dialogs: func(context.Context) (mail.Cards, error) { return mail.Cards{Cards: d.cards}, nil },
	})
	d.notify.addChat("telegram", NewTelegram(&Telegram{Server: d.server.URL,
		Token: func() (string, error) { return telegramtest.Token, nil }}), d.tell, !d.mute)
	d.notify.lines[0].gather, d.notify.lines[0].apart = 0, 0
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.notify.Run(ctx) })
	running.Go(func() { _ = d.notify.Follow(ctx, d.room) })
	d.stop = func() { cancel(); running.Wait() }
}

func (d *chatDesk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// pair pairs the person's chat.
func (d *chatDesk) pair() {
	d.Helper()
	p, err := d.notify.Pair(d.Context(), "telegram")
	d.must(err)
	d.me.Write("/pair "+p.Code, 0)
	d.server.Shows(d.T, d.me.ID, "This chat is paired")
}

// ask sends a question from ann to the user, and returns the message in the chat.
func (d *chatDesk) ask(draft mail.Draft) (mail.ID, telegramtest.Message) {
	d.Helper()
	draft.To = mail.Recipients{"user"}
	sent, err := d.room.As("ann").Send(d.Context(), draft)
	d.must(err)
	shown := d.server.Shows(d.T, d.me.ID, "ann asks: "+draft.Subject)
	d.server.Wait(d.T, "that it is noted as told", func() bool { return d.notify.Channels()[0].Waiting == 0 })
	return sent.ID, shown
}

func (d *chatDesk) item(id mail.ID) mail.Item {
	d.Helper()
	it, err := d.room.As(mail.User).Message(d.Context(), id)
	d.must(err)
	return it
}

// sent returns the user's sent messages.
func (d *chatDesk) sent() []mail.Item {
	d.Helper()
	page, err := d.room.As(mail.User).History(d.Context(), mail.HistoryQuery{From: "user"})
	d.must(err)
	return page.Messages
}

func portQuestion(subject string) mail.Draft {
	return mail.Draft{Type: "question", Subject: subject, Body: "a secret",
		Metadata: mail.Metadata(`{"options":["8080","9090"]}`)}
}

// TestTelegram asks through Telegram, presses a button there and checks the answer: once, as the user, by means of a
// button; and the message shows the outcome.
func TestTelegram(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	id, shown := d.ask(portQuestion("Which port?"))
	link := "https://box.example/@lab/?m=" + string(id)
	if strings.Contains(shown.Text, "secret") || !strings.Contains(shown.Text, link) ||
		len(shown.Buttons) != 2 || shown.Buttons[1].Text != "9090" {
		t.Fatalf("shown: %+v", shown)
	}
	press := d.me.Press(d.me.ID, shown.ID, shown.Buttons[1].Data)
	late := d.me.Press(d.me.ID, shown.ID, shown.Buttons[0].Data)
	d.server.Dealt(t)
	a := d.item(d.item(id).Settled.Answer)
	if a.Body != "9090" || a.By != mail.ByButton || a.IsUsers() || a.Metadata.Text("via") != "telegram" ||
		!d.item(id).Read || len(d.sent()) != 1 {
		t.Errorf("the answer is %+v, of %d sent", a, len(d.sent()))
	}
	if d.server.Pressed(press) != "Answered: 9090" || d.server.Pressed(late) != "Not sent: it was already settled" {
		t.Errorf("told %q, then %q", d.server.Pressed(press), d.server.Pressed(late))
	}
	d.server.Wait(t, "the message says it", func() bool {
		m := d.server.Messages(d.me.ID)[1]
		return m.Text == "Answered: 9090\n\nann asks: Which port?" && len(m.Buttons) == 0
	})
}

// TestTelegramBadInput: torn, huge and foreign answers are refused as a whole, and replayed updates and those
// without a number are dropped; later ones are read.
func TestTelegramBadInput(t *testing.T) {
	s := telegramtest.New(t)
	tg := NewTelegram(&Telegram{Server: s.URL, Token: func() (string, error) { return telegramtest.Token, nil }})
	place := fmt.Sprintf("870000000.%d", time.Now().Unix())
	result := func(list string) string { return `{"ok":true,"result":[` + list + `]}` }
	const replayed = `{"update_id":869999999,"message":{"message_id":1,"from":{"id":7}}}`
	for _, answer := range []string{``, `<html>`, `{"ok":true,"result":[{"update_id":870000`, `{"ok":true,"result":{}}`,
		`{"ok":true}`, `{"result":[]}`, `[]`, result(`"` + strings.Repeat("x", maxTelegram) + `"`),
		result(`{"message":{"message_id":1}}`), result(`{"update_id":"870000009"}`), result(`7,null,[]`),
		result(replayed), result(`{"update_id":870000000}`)} {
		s.Break(answer)
		if events, err := tg.Next(t.Context(), place); err == nil {
			t.Errorf("%.80q is read as %+v", answer, events)
		}
	}
	telegramtest.Person{ID: 7, Server: s}.Write("hello", 0)
	if events, err := tg.Next(t.Context(), place); err != nil || len(events) != 1 || events[0].Text != "hello" {
		t.Errorf("read %+v, %v", events, err)
	}
}

// TestTelegramUpdates: updates are read in order, each once, not if already processed, and all after a week of
// silence, when Telegram restarts its numbers.
func TestTelegramUpdates(t *testing.T) {
	s := telegramtest.New(t)
	tg := NewTelegram(&Telegram{Server: s.URL, Token: func() (string, error) { return telegramtest.Token, nil }})
	text := func(n int) string {
		return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"from":{"id":7,"first_name":"J\u0007o","username":"jo"},`+
			`"chat":{"id":7,"type":"private"},"text":"t%d"}}`, n, n)
	}
	answer := `{"ok":true,"result":[` + strings.Join([]string{text(12), text(11), text(12), text(10), text(9),
		`{"update_id":13,"message":"none"}`, `{"update_id":14,"callback_query":{"id":"1","from":{"id":7},"data":"x"}}`,
		`{"update_id":15,"poll":{}}`, `{"update_id":16,"message":{"message_id":1,"chat":{"id":7,"type":"private"}}}`},
		",") + `]}`
	s.Break(answer, answer)
	read := func(place string) (texts []string) {
		events, err := tg.Next(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.User != "" && (e.User != "7" || !e.Direct || e.Name != "J o @jo") {
				t.Errorf("the event is %+v", e)
			}
			texts = append(texts, e.Text)
		}
		return texts
	}
	now := time.Now().Unix()
	if got := read(fmt.Sprintf("10.%d", now)); strings.Join(got, " ") != "t11 t12    " {
		t.Errorf("read %q", got)
	}
	if got := read(fmt.Sprintf("999.%d", now-7*24*3600)); strings.Join(got, " ") != "t9 t10 t11 t12    " {
		t.Errorf("after a week read %q", got)
	}
	s.Break(answer)
	if events, err := tg.Next(t.Context(), fmt.Sprintf("16.%d", now)); err == nil {
		t.Errorf("what was dealt with is read again: %+v", events)
	}
}

// TestTelegramText: a text is shown as it is, cut to Telegram's limit, and a button's label and token fit the
// limits.
func TestTelegramText(t *testing.T) {
	s := telegramtest.New(t)
	tg := NewTelegram(&Telegram{Server: s.URL, Token: func() (string, error) { return telegramtest.Token, nil }})
	for _, text := range []string{"<b>*_[x](http://x)`\\", strings.Repeat("x", 4096), strings.Repeat("x", 4097),
		strings.Repeat("🙂", 2048), strings.Repeat("🙂", 2049), "x" + strings.Repeat("🙂", 2048),
		strings.Repeat("ä", 5000)} {
		if _, err := tg.Post(t.Context(), "7", &ChatPost{Text: text}); err != nil {
			t.Errorf("Post of %d bytes: %v", len(text), err)
		}
		list := s.Messages(7)
		got, cut := strings.CutSuffix(list[len(list)-1].Text, "…")
		if units := len(utf16.Encode([]rune(got))); !strings.HasPrefix(text, got) || !cut && got != text ||
			cut && units < 4094 {
			t.Errorf("%d bytes are shown as %d", len(text), len(got))
		}
	}
	for _, id := range []string{"", "@all", "7.5", "99999999999999999999"} {
		if _, err := tg.Post(t.Context(), id, &ChatPost{Text: "x"}); !isFinal(err) {
			t.Errorf("Post to %q = %v", id, err)
		}
	}
}

// TestTelegramRefused: an error says why Telegram refuses and how long it asks us to wait, without the token; and an
// invalid token is found before there is anything to tell.
func TestTelegramRefused(t *testing.T) {
	s := telegramtest.New(t)
	const secret = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, tt := range []struct{ server, token, want string }{
		{s.URL, secret, "answered 401 Unauthorized: " + telegramUnknown},
		{"http://127.0.0.1:1", secret, "refused"},
		{s.URL, "AAAA/../x", "does not contain a bot token"},
	} {
		tg := NewTelegram(&Telegram{Server: tt.server, Token: func() (string, error) { return tt.token, nil }})
		_, err := tg.Bot(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.token) {
			t.Errorf("Bot = %v, want %q", err, tt.want)
		}
	}
	tg := NewTelegram(&Telegram{Server: s.URL, Token: func() (string, error) { return telegramtest.Token, nil }})
	s.Flood("sendMessage", 1)
	_, err := tg.Post(t.Context(), "7", &ChatPost{Text: "x"})
	if err == nil || asksToWait(err) != time.Second || isFinal(err) ||
		!strings.HasPrefix(err.Error(), "answered 429") {
		t.Errorf("Post = %v, to wait %v", err, asksToWait(err))
	}
	if err := tg.Edit(t.Context(), "7", "1", "x"); !isFinal(err) {
		t.Errorf("Edit of nothing = %v", err)
	}
	n := newNotifier(Options{})
	n.addChat("telegram", NewTelegram(&Telegram{Server: s.URL, Token: func() (string, error) { return secret, nil }}),
		config.Telling{}, true)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { n.Run(ctx) })
	s.Wait(t, "the token is found to be none", func() bool {
		got := n.Troubles()
		return len(got) == 1 && strings.Contains(got[0], "token not valid")
	})
	stop()
	running.Wait()
	if _, err := n.Pair(t.Context(), "telegram"); mail.CodeOf(err) != mail.Unavailable ||
		strings.Contains(err.Error(), secret) {
		t.Errorf("Pair = %v", err)
	}
}

// TestTelegramTaken: it is reported when another program reads the bot's messages.
func TestTelegramTaken(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	d.server.Dealt(t)
	ctx, stop := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() { _, _ = d.notify.chatters()[0].chat.Next(ctx, "") })
	d.server.Wait(t, "it is told", func() bool {
		got := d.notify.Troubles()
		return len(got) == 1 && strings.Contains(got[0], telegramTaken)
	})
	stop()
	other.Wait()
}

// FuzzTelegramUpdate: every update is parsed or belongs to no one, and a user in a chat with others is not taken as
// alone.
func FuzzTelegramUpdate(f *testing.F) {
	f.Add([]byte(`{"message":{"message_id":1,"from":{"id":7},"chat":{"id":7,"type":"private"},"text":"/pair X"}}`))
	f.Add([]byte(`{"message":{"message_id":1,"from":{"id":7},"chat":{"id":-7,"type":"group"},"text":"x"}}`))
	f.Add([]byte(`{"callback_query":{"id":"1","from":{"id":7},"message":{"message_id":2,"chat":{"id":7,"type":"private"}},"data":"0x"}}`))
	f.Add([]byte(`{"callback_query":{"id":"","from":{"id":7},"message":null},"message":{"from":{"id":8}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := telegramEvent("1.2", raw)
		if e.Place != "1.2" || e.Direct && e.Chat != e.User || e.User == "" && e != (ChatEvent{Place: "1.2"}) {
			t.Errorf("%q is %+v", raw, e)
		}
	})
}
