package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Answers come back without a connection to this machine: a button writes its token to a reply topic, which we read.
// A token names a question, one of its options and an expiry, and is authenticated with a secret key. So a reader of
// the topic can press the buttons shown there, and nothing else: no other question, no other words. An answer
// settles the question, and then none of its buttons counts.

// replier is a channel that brings answers back.
type replier interface {
	// Listen passes to take the messages on the reply topic after a position, until the connection ends or take
	// returns false. It also calls take now and then without a message.
	Listen(ctx context.Context, after string, take func(place, text string) (more bool)) error
	// Update replaces a sent note if the other side can do that, and else sends another.
	Update(ctx context.Context, id, subject, text string) error
}

const (
	buttonTime  = 24 * time.Hour  // how long a button is valid
	firstListen = 2 * time.Second // pauses before listening again
	lastListen  = 5 * time.Minute
	maxSaid     = 1000 // questions for which the outcome shown is remembered
)

// addButtons adds to the note about a question buttons for its options. If there are too many, it leaves room for
// the button that opens the letter.
func (n *Notifier) addButtons(note *Note, l *line) {
	letter := &note.Letters[0]
	show := letter.options
	if len(show) > l.buttons {
		show = show[:l.buttons-1]
		note.Text += fmt.Sprintf("\n%d more answers are on the page.", len(letter.options)-len(show))
	}
	until := time.Now().Add(buttonTime)
	note.until = until
	for i, option := range show {
		note.Buttons = append(note.Buttons, Button{shortened(option, maxLabel), n.token(l, letter, i, until)})
	}
}

// token returns the token for an option of a question.
func (n *Notifier) token(l *line, letter *Letter, option int, until time.Time) string {
	what := choice(until.Unix(), option, letter.ID, letter.Room)
	return base64.RawURLEncoding.EncodeToString([]byte(what)) + "." + n.seal(l, what)
}

// choice is the content of a token, before it is sealed.
func choice(until int64, option int, id mail.ID, room mail.RoomName) string {
	return fmt.Sprintf("%d %d %s %s", until, option, id, room)
}

func (n *Notifier) seal(l *line, what string) string {
	mac := hmac.New(sha256.New, n.kept.Key)
	fmt.Fprintf(mac, "answer\x00%s\x00%s", l.name, what)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// pressed is the content of a token.
type pressed struct {
	room   mail.RoomName
	id     mail.ID
	option int
	late   bool // the button has expired
}

// read verifies and parses a token. ok is false if it is not ours.
func (n *Notifier) read(l *line, token string) (p pressed, ok bool) {
	encoded, mac, _ := strings.Cut(token, ".")
	what, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !hmac.Equal([]byte(mac), []byte(n.seal(l, string(what)))) {
		return p, false
	}
	parts := strings.SplitN(string(what), " ", 4)
	if len(parts) != 4 {
		return p, false
	}
	until, err1 := strconv.ParseInt(parts[0], 10, 64)
	option, err2 := strconv.Atoi(parts[1])
	return pressed{mail.RoomName(parts[3]), mail.ID(parts[2]), option, time.Now().Unix() > until},
		err1 == nil && err2 == nil
}

// asking reports whether any buttons are valid.
func (n *Notifier) asking(l *line) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := mail.TimeOf(time.Now())
	for key, until := range l.Asked {
		if until > now {
			return true
		}
		delete(l.Asked, key)
	}
	return false
}

// listen receives pressed buttons while any are valid, until ctx ends.
func (n *Notifier) listen(ctx context.Context, l *line, r replier) {
	wait := firstListen
	for ctx.Err() == nil {
		if !n.asking(l) {
			select {
			case <-ctx.Done():
			case <-l.asked:
			}
			continue
		}
		began := time.Now()
		err := r.Listen(ctx, n.heard(l), func(place, text string) bool {
			if text != "" {
				n.press(ctx, l, r, text)
				n.mu.Lock()
				l.Heard = place
				n.mu.Unlock()
			}
			n.hears(l, nil)
			return n.asking(l)
		})
		if err == nil || ctx.Err() != nil {
			continue
		}
		if time.Since(began) > time.Minute {
			wait = firstListen
		}
		n.opts.Log.Warn("answers not heard", "channel", l.name, "err", err, "again in", wait)
		n.hears(l, err)
		pause.For(ctx, wait)
		wait = min(2*wait, lastListen)
	}
}

// hears records whether answers are received, and if not, why.
func (n *Notifier) hears(l *line, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.deaf = ""; err != nil {
		l.deaf = "answers are not received: " + err.Error()
	}
}

// heard returns the position of the last answer.
func (n *Notifier) heard(l *line) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return l.Heard
}

// press answers the question whose button was pressed, and shows the outcome in the note.
func (n *Notifier) press(ctx context.Context, l *line, r replier, token string) {
	p, ok := n.read(l, token)
	if !ok {
		n.opts.Log.Warn("not an answer on the reply topic", "channel", l.name, "bytes", len(token))
		return
	}
	letter, said := n.answer(ctx, l, p)
	n.settled(p.room, p.id)
	n.save()
	key := keyOf(p.room, p.id)
	n.mu.Lock()
	again := n.said[key]
	if len(n.said) >= maxSaid {
		clear(n.said)
	}
	n.said[key] = true
	n.mu.Unlock()
	if said == "" || again {
		return
	}
	if err := r.Update(ctx, noteID(l.name, key), said, letter.headline()); err != nil {
		n.opts.Log.Warn("outcome of an answer not shown", "channel", l.name, "err", err)
	}
}

// answer sends a button's answer as the user, and returns the outcome to show the person.
func (n *Notifier) answer(ctx context.Context, l *line, p pressed) (letter Letter, said string) {
	err := n.opts.Use(ctx, p.room, func(r Room) error {
		user := r.AsUser(mail.ByButton)
		it, err := user.Message(ctx, p.id)
		if err != nil {
			return err
		}
		letter = letterOf(p.room, &it)
		switch {
		case !it.Open:
			said = "Not sent: it was already settled"
			return nil
		case p.late:
			said = "Not sent: the button is more than a day old. Answer on the page"
			return nil
		case p.option < 0 || p.option >= len(letter.options):
			return mail.Errorf(mail.NotFound, "the question has no such option")
		}
		chosen := letter.options[p.option]
		sent, err := user.Send(ctx, reply(&it, chosen, l.name))
		if err != nil {
			return err
		}
		said = "Answered: " + shortened(chosen, maxLabel)
		n.opts.Log.Info("answered", "room", p.room, "question", p.id, "answer", sent.ID, "channel", l.name)
		_, err = user.Mark(ctx, mail.Marking{IDs: []mail.ID{p.id}, Mark: mail.MarkRead})
		return err
	})
	if err != nil && said == "" {
		n.opts.Log.Error("answer not sent", "room", p.room, "question", p.id, "err", err)
		said = "Not sent. Answer on the page"
	}
	return letter, said
}

// reply drafts the answer to a question. Its metadata names the channel. Its idempotency key makes repeated presses
// one message.
func reply(it *mail.Item, chosen, via string) mail.Draft {
	d := it.Choose(mail.User, chosen)
	d.Key = "answer-" + string(it.ID)
	metadata := map[string]string{"via": via}
	if v := d.Metadata.Text("verdict"); v != "" {
		metadata["verdict"] = v
	}
	d.Metadata, _ = jsonx.Marshal(metadata) // strings always encode
	return d
}
