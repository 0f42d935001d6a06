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

// Chat is a service in which our bot writes to people and reads their messages. Ids are the service's own. Errors
// are for people and hold no secrets; a *ChatError says more.
//
// Each further service is another file with an implementation.
type Chat interface {
	// Bot identifies the bot.
	Bot(ctx context.Context) (ChatBot, error)
	// Next waits for people's actions after a position, for a minute at most, and returns them in order; "" starts
	// with the oldest that the service still has. Earlier actions have been processed, and the service may forget
	// them.
	Next(ctx context.Context, after string) ([]ChatEvent, error)
	// Post posts a text in a chat and returns the id of the message.
	Post(ctx context.Context, chat string, p *ChatPost) (message string, err error)
	// Edit replaces a message by a text without buttons. It does not notify the person.
	Edit(ctx context.Context, chat, message, text string) error
	// Pressed shows a short text to the person who pressed a button, and ends the press.
	Pressed(ctx context.Context, press, word string) error
}

// ChatBot is our bot.
type ChatBot struct {
	ID   string // unique in the service
	Name string // the name by which people find it
	Link string // with a code appended, opens a chat with the bot and sends it the code; "": none
}

// ChatPost is a message to post. The service cuts a text that is too long.
type ChatPost struct {
	Text    string
	ReplyTo string   // the message that it replies to; "": none
	Buttons []Button // tokens of at most 64 bytes
}

// ChatEvent is an action of a user. One without a User does not concern us.
type ChatEvent struct {
	Place   string // after this position, the event is processed
	Chat    string
	User    string
	Name    string // the user's name for people
	Direct  bool   // the chat has only that user and the bot
	Message string // the message written, or the one with the button
	ReplyTo string // the message that it replies to
	Text    string
	Press   string // id of the press of a button; "": none
	Token   string // the button's
}

// ChatError is a service's refusal.
type ChatError struct {
	Msg   string
	After time.Duration // time to wait before the next request; 0: unknown
	Final bool          // a retry will not help
}

func (e *ChatError) Error() string { return e.Msg }

const (
	maxChatButtons = 8
	maxChatShown   = 500                // messages of a chat whose subject is remembered
	chatWord       = 200                // characters of a text about a press
	botPause       = time.Second        // between two requests to a service that does not wait
	botRetry       = 30 * time.Second   // before retrying an operation that failed
	maxBotRetry    = 24 * time.Hour     // the longest wait that a service may impose
	shownTime      = 7 * 24 * time.Hour // how long a message accepts replies
)

// chatter is the channel of a chat, in both directions. It obeys only the paired chat.
type chatter struct {
	n    *Notifier
	l    *line
	chat Chat

	wanted pause.Nudge // listening has become necessary
	stale  pause.Nudge // messages need editing

	// posting is held while a message is posted and its subject recorded, so that no reply comes in between.
	posting sync.Mutex

	// Guarded by Notifier.mu.
	*chatMemory
	pairing *pairing        // nil: none in progress
	edits   map[string]bool // questions, by room and id, that may be settled
}

var _ Channel = (*chatter)(nil)

// chatMemory is a chat's saved state.
type chatMemory struct {
	Bot   string    `json:"bot"`            // the bot's id; for another bot all of this is void
	Chat  string    `json:"chat,omitempty"` // the chat that is obeyed; "": none
	User  string    `json:"user,omitempty"` // the only user obeyed in it
	Name  string    `json:"name,omitempty"`
	Since mail.Time `json:"since,omitzero"`
	Place string    `json:"place,omitempty"` // actions up to here have been processed
	// Shown has the subjects of messages, by message id.
	Shown map[string]*shownMessage `json:"shown,omitempty"`
}

// shownMessage is the subject of a message in a chat, empty for a digest.
type shownMessage struct {
	Room    mail.RoomName `json:"room,omitempty"`
	ID      mail.ID       `json:"id,omitempty"`
	Dialog  bool          `json:"dialog,omitzero"`
	At      mail.Time     `json:"at"`
	Until   int64         `json:"until,omitzero"`   // expiry of its buttons, as in their tokens
	Buttons bool          `json:"buttons,omitzero"` // it still shows them
}

// addChat adds a chat's channel.
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

// chatters returns the channels that are chats.
func (n *Notifier) chatters() (list []*chatter) {
	for _, l := range n.lines {
		if c, ok := l.channel.(*chatter); ok {
			list = append(list, c)
		}
	}
	return list
}

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

// show posts a note and records its subject.
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
		c.settles(keyOf(s.Room, s.ID)) // it may have been settled in the meantime
	}
	return message, nil
}

// about returns the subject of a message, or nil if it is unknown.
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

// forgetOld makes room for one more subject. The caller holds Notifier.mu.
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

// run listens to the chat and edits its messages until ctx ends.
func (c *chatter) run(ctx context.Context) {
	done := make(chan struct{})
	go func() { defer close(done); c.tend(ctx) }()
	defer func() { <-done }()
	known, wait := false, firstListen
	for ctx.Err() == nil {
		var err error
		switch {
		case !known: // even if no chat is paired: doctor reports an invalid token
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
		c.n.opts.Log.Warn("chat not heard", "channel", c.l.name, "err", err, "again in", wait)
		pause.For(ctx, max(wait, asksToWait(err)))
		wait = min(2*wait, lastListen)
	}
}

// asksToWait returns how long the service asks us to wait.
func asksToWait(err error) time.Duration {
	if e, ok := errors.AsType[*ChatError](err); ok {
		return min(e.After, maxBotRetry)
	}
	return 0
}

// isFinal reports whether a retry will not help.
func isFinal(err error) bool {
	e, ok := errors.AsType[*ChatError](err)
	return ok && e.Final
}

// meet identifies the bot and forgets the state of any other.
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

// wants reports whether there is a chat or a code to listen for.
func (c *chatter) wants() bool {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.Chat != "" || c.pairs(time.Now())
}

// next processes people's next actions. It saves each as processed before the service may forget it: one interrupted
// by a kill comes again, and its message has the same idempotency key.
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

// take processes an event. Events from anyone but the person, alone, get no answer, so that others learn nothing.
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

// say posts a text below a message of the paired chat, unless the text is empty.
func (c *chatter) say(ctx context.Context, below, text string) {
	c.n.mu.Lock()
	chat := c.Chat
	c.n.mu.Unlock()
	if text == "" || chat == "" {
		return
	}
	if _, err := c.chat.Post(ctx, chat, &ChatPost{Text: text, ReplyTo: below}); err != nil {
		c.n.opts.Log.Warn("chat not answered", "channel", c.l.name, "err", err)
	}
}

// shortToken returns a button's token without the parts that are remembered with its message.
func shortToken(option int, token string) string {
	_, mac, _ := strings.Cut(token, ".")
	return string(rune('0'+option)) + mac
}

// longToken restores the token of a message's button from shortToken's. The result is ours only if that was.
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
	said := "Not sent: that button is no longer valid. Send /waiting"
	if s != nil && c.l.answers {
		if p, ok := c.n.read(c.l, s.longToken(e.Token)); ok {
			_, said = c.n.answer(ctx, c.l, p)
			c.n.settled(p.room, p.id)
		}
	}
	if err := c.chat.Pressed(ctx, e.Press, shortened(said, chatWord)); err != nil {
		c.n.opts.Log.Warn("outcome of an answer not shown", "channel", c.l.name, "err", err)
	}
}
