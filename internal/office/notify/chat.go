package notify

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Chat is a service in which a bot of ours writes to people, and reads what they write to it. Ids are the service's
// own. Errors are for people and hold no secrets; a *ChatError says more.
//
// Another service is another file that implements this.
type Chat interface {
	// Bot returns who the bot is.
	Bot(ctx context.Context) (ChatBot, error)
	// Next waits for what people do behind a place, for a minute at most, and returns it in order; "" is the beginning
	// of what the service still has. What lies before the place has been dealt with, and the service may forget it.
	Next(ctx context.Context, after string) ([]ChatEvent, error)
	// Post shows a text in a chat and returns the id of the message.
	Post(ctx context.Context, chat string, p *ChatPost) (message string, err error)
	// Edit puts another text in place of a message, without buttons. The person is not disturbed.
	Edit(ctx context.Context, chat, message, text string) error
	// Pressed shows a word to the person who has pressed a button, and ends the press.
	Pressed(ctx context.Context, press, word string) error
}

// ChatBot is the bot that we are.
type ChatBot struct {
	ID   string // that no other bot of the service has
	Name string // by which people find it
	Link string // opens a chat with the bot when a code is added, and sends the bot that code; "": there is none
}

// ChatPost is what is shown in a chat. The service cuts a text that is too long.
type ChatPost struct {
	Text    string
	ReplyTo string   // the message below which it stands; "": none
	Buttons []Button // whose tokens have 64 bytes at most
}

// ChatEvent is what somebody does. Without a User it is nothing that concerns us.
type ChatEvent struct {
	Place   string // behind it, this event is dealt with
	Chat    string
	User    string
	Name    string // of the user, as people know them
	Direct  bool   // the chat is between that user and the bot alone
	Message string // what was written, or has the button
	ReplyTo string // the message that it replies to
	Text    string
	Press   string // of a button; "": none was pressed
	Token   string // of the button
}

// ChatError is why a service did not do what it was asked.
type ChatError struct {
	Msg   string
	After time.Duration // it does not want to be asked before; 0: it does not say
	Final bool          // it will not do it later either
}

func (e *ChatError) Error() string { return e.Msg }

const (
	maxChatButtons = 8
	maxChatShown   = 500                // messages of a chat of which is remembered what they are about
	chatWord       = 200                // characters of a word about a press
	botPause       = time.Second        // between two looks at a service that does not wait by itself
	botRetry       = 30 * time.Second   // when the service is asked again that did not do what it can do later
	maxBotRetry    = 24 * time.Hour     // the longest that a service may have us wait
	shownTime      = 7 * 24 * time.Hour // how long a message can be replied to
)

// chatter is the channel of a chat: what goes out, and what comes back. It obeys the chat that was paired, and no
// other.
type chatter struct {
	n    *Notifier
	l    *line
	chat Chat

	wanted pause.Nudge // somebody is to be listened to
	stale  pause.Nudge // messages are to be edited

	// posting is held while a message is posted and what it is about is noted: nobody answers it before.
	posting sync.Mutex

	// Guarded by Notifier.mu.
	*chatMemory
	pairing *pairing        // nil: none is under way
	edits   map[string]bool // questions, by room and id, that may be settled
}

var _ Channel = (*chatter)(nil)

// chatMemory is what is kept of a chat over restarts.
type chatMemory struct {
	Bot   string    `json:"bot"`            // the id of the bot; with another bot, nothing of this holds
	Chat  string    `json:"chat,omitempty"` // that is obeyed; "": none is
	User  string    `json:"user,omitempty"` // who alone is, in it
	Name  string    `json:"name,omitempty"`
	Since mail.Time `json:"since,omitzero"`
	Place string    `json:"place,omitempty"` // up to which what people did has been dealt with
	// Shown says what messages are about, by their ids.
	Shown map[string]*shownMessage `json:"shown,omitempty"`
}

// shownMessage is what a message in a chat is about. Of a digest that is nothing.
type shownMessage struct {
	Room    mail.RoomName `json:"room,omitempty"`
	ID      mail.ID       `json:"id,omitempty"`
	Dialog  bool          `json:"dialog,omitzero"`
	At      mail.Time     `json:"at"`
	Until   int64         `json:"until,omitzero"`   // the end of its buttons, as it stands in their tokens
	Buttons bool          `json:"buttons,omitzero"` // it shows them still
}

// addChat adds the channel of a chat.
func (n *Notifier) addChat(name string, chat Chat, tell config.Telling, answers bool) {
	c := &chatter{n: n, chat: chat, wanted: pause.NewNudge(), stale: pause.NewNudge(), chatMemory: n.kept.chat(name),
		edits: make(map[string]bool)}
	n.addLine(name, c, tell, false, answers)
	c.l = n.lines[len(n.lines)-1]
	c.l.buttons = maxChatButtons
	for _, s := range c.Shown {
		if s.Buttons {
			c.edits[keyOf(s.Room, s.ID)] = true
		}
	}
	c.stale.Give()
}

// chatters are the channels that are chats.
func (n *Notifier) chatters() (list []*chatter) {
	for _, l := range n.lines {
		if c, ok := l.channel.(*chatter); ok {
			list = append(list, c)
		}
	}
	return list
}

// Send implements Channel.
func (c *chatter) Send(ctx context.Context, note *Note) (string, error) {
	c.n.mu.Lock()
	chat := c.Chat
	c.n.mu.Unlock()
	if chat == "" {
		return "", errors.New(c.unpaired())
	}
	message, err := c.show(ctx, chat, note)
	return "message " + message, err
}

// show posts a note, and remembers what it is about.
func (c *chatter) show(ctx context.Context, chat string, note *Note) (message string, err error) {
	text := note.Subject + "\n\n" + note.Text
	if note.URL != "" {
		text += "\n\n" + note.URL
	}
	p := &ChatPost{Text: text}
	for i := range note.Buttons {
		p.Buttons = append(p.Buttons, Button{note.Buttons[i].Label, shortToken(i, note.Buttons[i].Token)})
	}
	c.posting.Lock()
	defer c.posting.Unlock()
	if message, err = c.chat.Post(ctx, chat, p); err != nil {
		return "", err
	}
	s := &shownMessage{At: mail.TimeOf(time.Now()), Buttons: len(p.Buttons) > 0}
	if len(note.Letters) == 1 && !note.Letters[0].Office {
		l := &note.Letters[0]
		s.Room, s.ID, s.Dialog = l.Room, l.ID, l.Dialog
		if s.Buttons {
			s.Until = note.until.Unix()
		}
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.forgetOld()
	if c.Chat == chat {
		c.Shown[message] = s
		c.settles(keyOf(s.Room, s.ID)) // it may have been, meanwhile
	}
	return message, nil
}

// about returns what a message is about, nil if that is not known.
func (c *chatter) about(message string) *shownMessage {
	c.posting.Lock()
	defer c.posting.Unlock()
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if s := c.Shown[message]; s != nil {
		found := *s
		return &found
	}
	return nil
}

// forgetOld makes room for what one more message is about. The caller holds Notifier.mu.
func (c *chatter) forgetOld() {
	now, oldest := time.Now(), ""
	for message, s := range c.Shown {
		if now.Sub(s.At.Std()) > shownTime {
			delete(c.Shown, message)
		} else if oldest == "" || s.At < c.Shown[oldest].At {
			oldest = message
		}
	}
	if len(c.Shown) >= maxChatShown {
		delete(c.Shown, oldest)
	}
}

// run listens to the chat, and edits what it shows, until ctx ends.
func (c *chatter) run(ctx context.Context) {
	done := make(chan struct{})
	go func() { defer close(done); c.tend(ctx) }()
	defer func() { <-done }()
	known, wait := false, firstListen
	for ctx.Err() == nil {
		var err error
		switch {
		case !known: // also if nobody is paired: doctor names a token that is none
			if err = c.meet(ctx); err == nil {
				known = true
			}
		case !c.wants():
			select {
			case <-ctx.Done():
			case <-c.wanted:
			}
			continue
		default:
			err = c.next(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if c.n.hears(c.l, err); err == nil {
			wait = firstListen
			continue
		}
		c.n.opts.Log.Warn("a chat is not heard", "channel", c.l.name, "err", err, "again in", wait)
		pause.For(ctx, max(wait, asksToWait(err)))
		wait = min(2*wait, lastListen)
	}
}

// asksToWait returns how long the service wants to be left alone.
func asksToWait(err error) time.Duration {
	if e, ok := errors.AsType[*ChatError](err); ok {
		return min(e.After, maxBotRetry)
	}
	return 0
}

// isFinal reports whether asking again does not help.
func isFinal(err error) bool {
	e, ok := errors.AsType[*ChatError](err)
	return ok && e.Final
}

// meet finds out who the bot is. What is kept of another is forgotten.
func (c *chatter) meet(ctx context.Context) error {
	bot, err := c.chat.Bot(ctx)
	if err != nil {
		return err
	}
	c.n.mu.Lock()
	if c.Bot != bot.ID {
		*c.chatMemory = chatMemory{Bot: bot.ID, Shown: make(map[string]*shownMessage)}
	}
	c.n.mu.Unlock()
	c.n.save()
	return nil
}

// wants reports whether somebody is to be listened to.
func (c *chatter) wants() bool {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.Chat != "" || c.pairs(time.Now())
}

// next takes what people do next. Each event is kept as dealt with before the service may forget it: one that a kill
// cuts short comes again, and what it sends has the same key.
func (c *chatter) next(ctx context.Context) error {
	c.n.mu.Lock()
	place := c.Place
	c.n.mu.Unlock()
	began := time.Now()
	events, err := c.chat.Next(ctx, place)
	if err != nil {
		return err
	}
	if len(events) == 0 && time.Since(began) < botPause { // it does not wait
		pause.For(ctx, botPause)
	}
	for i := range events {
		e := &events[i]
		c.take(ctx, e)
		if ctx.Err() != nil {
			return nil // it comes again
		}
		c.n.mu.Lock()
		c.Place = e.Place
		c.n.mu.Unlock()
		c.n.save()
	}
	return nil
}

// take does what an event asks for. What does not come from the person, and from them alone, is not answered: whoever
// tries learns nothing.
func (c *chatter) take(ctx context.Context, e *ChatEvent) {
	c.n.mu.Lock()
	obeyed := c.Chat != "" && e.Chat == c.Chat && e.User == c.User
	c.n.mu.Unlock()
	switch {
	case e.User == "" || !e.Direct:
	case !obeyed:
		c.pair(ctx, e)
	case e.Press != "":
		c.press(ctx, e)
	default:
		c.say(ctx, e.Message, c.heard(ctx, e))
	}
}

// say posts a text below a message of the paired chat. "" is nothing.
func (c *chatter) say(ctx context.Context, below, text string) {
	c.n.mu.Lock()
	chat := c.Chat
	c.n.mu.Unlock()
	if text == "" || chat == "" {
		return
	}
	if _, err := c.chat.Post(ctx, chat, &ChatPost{Text: text, ReplyTo: below}); err != nil {
		c.n.opts.Log.Warn("the chat is not answered", "channel", c.l.name, "err", err)
	}
}

// shortToken is a button's token without what is remembered of the message that has the button.
func shortToken(option int, token string) string {
	_, mac, _ := strings.Cut(token, ".")
	return string(rune('0'+option)) + mac
}

// longToken is the token of a button of a message, as shortToken has it. It is none of ours unless that was.
func (s *shownMessage) longToken(short string) string {
	if short == "" {
		return ""
	}
	what := choice(s.Until, int(short[0])-'0', s.ID, s.Room)
	return base64.RawURLEncoding.EncodeToString([]byte(what)) + "." + short[1:]
}

// press answers the question whose button was pressed.
func (c *chatter) press(ctx context.Context, e *ChatEvent) {
	s := c.about(e.Message)
	said := "Not sent: that button is not known any more. Send /waiting"
	if s != nil && c.l.answers {
		if p, ok := c.n.read(c.l, s.longToken(e.Token)); ok {
			_, said = c.n.answer(ctx, c.l, p)
			c.n.settled(p.room, p.id)
		}
	}
	if err := c.chat.Pressed(ctx, e.Press, shortened(said, chatWord)); err != nil {
		c.n.opts.Log.Warn("what became of an answer is not shown", "channel", c.l.name, "err", err)
	}
}
