package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/notify/telegramtest"
)

// telegramOffice is a post office that writes to the person through Telegram's stand-in.
func telegramOffice(t *testing.T, o *office, what string) (*telegramtest.Server, telegramtest.Person) {
	t.Helper()
	server := telegramtest.New(t)
	token := filepath.Join(o.root, "bot-token")
	if err := os.WriteFile(token, []byte(telegramtest.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, o, fmt.Sprintf("[notify.telegram]\nserver = %q\ntoken_file = %q\nanswers = true\nwhat = %q\n",
		server.URL, token, what))
	return server, telegramtest.Person{ID: 77, Server: server}
}

// pairing is the answer of pennypost notify pair.
type pairing struct{ Code, Bot string }

func (o *office) pairChat(t *testing.T, server *telegramtest.Server, me telegramtest.Person) {
	t.Helper()
	me.Write("/pair "+ask[pairing](t, o, "notify", "pair", "telegram").Code, 0)
	server.Shows(t, me.ID, "This chat is paired")
}

// question makes ann ask the user something, and returns the message in the chat.
func (o *office) question(t *testing.T, server *telegramtest.Server, subject string) (mail.ID, telegramtest.Message) {
	t.Helper()
	id := ask[mail.Sent](t, o, "send", "--as", "ann", "--to", "user", "--type", "question", "--subject", subject,
		"--body", "Which?", "--option", "8080", "--option", "9090").ID
	telegramtest.Person{ID: 77, Server: server}.Write("/waiting", 0)
	return id, server.Shows(t, 77, "ann asks: "+subject)
}

// users returns the mail that was sent in the user's name.
func (o *office) users(t *testing.T) []mail.Item {
	t.Helper()
	return ask[mail.Page](t, o, "history", "--from", "user").Messages
}

// TestP5_Chat holds that an outsider's chat cannot be the user: it cannot pair or answer, and is told nothing; that
// no agent, script or process without a terminal can have one paired; and that text from the person's own chat is
// not taken for an act of the person by a model.
func TestP5_Chat(t *testing.T) {
	s := newTheatre(t)
	s.must("stop")
	server, me := telegramOffice(t, s.office, "questions")
	s.mustServe(t)
	mallory := telegramtest.Person{ID: 666, Server: server}
	s.noCodes(t)
	code := ask[pairing](t, s.office, "notify", "pair", "telegram").Code
	for _, last := range []string{"0", "1", "8", "9", ""} { // no code has those characters
		mallory.Write("/pair "+code[:len(code)-1]+last, 0)
	}
	me.Write("/pair "+code, 0)
	server.Shows(t, 77, "This chat is paired")
	id, shown := s.question(t, server, "Which port?")
	group := map[string]any{"id": -5, "type": "group"}
	for _, text := range []string{"/pair " + code, "/start " + code, "/inbox", "/waiting", "9090"} {
		mallory.Write(text, shown.ID)
		mallory.WriteIn(group, text, shown.ID)
		mallory.WriteIn(map[string]any{"id": 77, "type": "private"}, text, shown.ID)
	}
	for _, chat := range []int64{666, -5, 77} {
		mallory.Press(chat, shown.ID, shown.Buttons[0].Data)
	}
	server.Dealt(t)
	if sent := s.users(t); len(sent) > 0 || len(server.Messages(666))+len(server.Messages(-5)) > 0 {
		t.Fatalf("an outsider has sent %+v, and is told %+v", sent, server.Messages(666))
	}
	me.Press(77, shown.ID, shown.Buttons[1].Data)
	server.Shows(t, 77, "Answered: 9090")
	me.Write("Do as mallory says", shown.ID)
	server.Shows(t, 77, "Sent to")
	sent := s.users(t)
	if len(sent) != 2 || sent[0].ReplyTo != id || sent[0].By != mail.ByButton || sent[1].By != mail.ByChat {
		t.Errorf("the user has sent %+v", sent)
	}
	if got := s.must("read", "--as", "ann"); strings.Count(got, "the user's program") < 2 {
		t.Errorf("ann reads:\n%s", got)
	}
	s.must("notify", "unpair", "telegram")
	me.Write("Go on", shown.ID)
	s.must("notify", "pair", "telegram") // that makes it listen
	server.Dealt(t)
	if sent := s.users(t); len(sent) != 2 {
		t.Errorf("a chat that is unpaired has sent %+v", sent[2:])
	}
	s.noSecrets(t, code)
}

// noCodes holds that only the person gets a code.
func (s *theatre) noCodes(t *testing.T) {
	t.Helper()
	nightly, _, bob := s.credentials()
	for name, script := range map[string]string{
		"without a terminal":   `$PP notify pair telegram`,
		"as an agent":          `$PP notify pair telegram --as ann`,
		"in an agent's shell":  `PENNYPOST_AGENT=ann $PP notify pair telegram`,
		"by a script's":        `PENNYPOST_TOKEN=` + nightly + ` $PP notify pair telegram`,
		"by an agent's token":  `PENNYPOST_TOKEN=` + bob + ` $PP notify pair telegram`,
		"unpairing as a agent": `PENNYPOST_AGENT=ann $PP notify unpair telegram`,
	} {
		if r := s.shell("sh", script, ""); r.code == 0 || strings.Contains(r.stdout, "/pair") {
			t.Errorf("%s: exit %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
	}
}

// noSecrets holds that neither the bot's token nor a code is stored, logged or printed.
func (s *theatre) noSecrets(t *testing.T, code string) {
	t.Helper()
	printed := s.must("config", "print") + s.must("notify") + s.must("status") + s.run("doctor").stdout
	for _, secret := range []string{telegramtest.Token, code} {
		files, err := grep(s.home, secret)
		if err != nil || len(files) > 0 || strings.Contains(printed, secret) {
			t.Errorf("%q is in %q, %v, or printed", secret, files, err)
		}
	}
	if !strings.Contains(s.run("doctor").stdout, "pennypost notify pair telegram") {
		t.Errorf("doctor does not say that no chat is paired")
	}
}

// TestTelegramKill9 kills the post office while it handles the person's acts in the chat: each press and each reply
// becomes one message.
func TestTelegramKill9(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	server, me := telegramOffice(t, o, "urgent") // questions come immediately
	d := o.mustServe(t)
	o.must(t, "agents", "register", "ann")
	o.pairChat(t, server, me)
	const rounds = 12
	for i := range rounds {
		id, shown := o.question(t, server, fmt.Sprintf("Question %d?", i))
		server.Dealt(t)
		if i%2 == 0 {
			me.Press(77, shown.ID, shown.Buttons[0].Data)
		} else {
			me.Write("8080", shown.ID)
		}
		time.Sleep(rand.N(12 * time.Millisecond)) // the kill may hit any moment
		d.kill()
		d = o.mustServe(t)
		server.Dealt(t)
		eventually(t, "the question is settled", func() bool {
			return ask[mail.Page](t, o, "history", "--thread", string(id)).Messages[0].Settled != nil
		})
		if sent := o.users(t); len(sent) != i+1 {
			t.Fatalf("after %d questions the user has sent %d messages", i+1, len(sent))
		}
	}
}
