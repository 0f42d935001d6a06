package notify

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/notify/telegramtest"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// chatDesk is a room with a Notifier that speaks to Telegram's stand-in, in real time.
type chatDesk struct {
	*testing.T
	server *telegramtest.Server
	me     telegramtest.Person
	file   string
	tell   config.Telling
	mute   bool // answers nothing
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

// ask has ann ask the user something, and returns the message in the chat.
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

// sent returns what the user has sent.
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

// TestTelegram asks through Telegram, presses a button there and reads the answer: once, as the user, with the proof
// of a button; and the message says what became of it.
func TestTelegram(t *testing.T) {
	d := newChatDesk(t)
	d.pair()
	id, shown := d.ask(portQuestion("Which port?"))
	if strings.Contains(shown.Text, "secret") || !strings.Contains(shown.Text, "https://box.example/@lab/?m="+string(id)) ||
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
	if d.server.Pressed(press) != "Answered: 9090" || d.server.Pressed(late) != "Not sent: it was settled before" {
		t.Errorf("told %q, then %q", d.server.Pressed(press), d.server.Pressed(late))
	}
	d.server.Wait(t, "the message says it", func() bool {
		m := d.server.Messages(d.me.ID)[1]
		return m.Text == "Answered: 9090\n\nann asks: Which port?" && len(m.Buttons) == 0
	})
}
