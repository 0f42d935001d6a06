package notify

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// A code pairs a chat: the person gets it from a command here and sends it to the bot there. Only both together
// prove whose chat it is. The code is only in memory: a restart voids it.

const (
	pairTime     = 10 * time.Minute // how long a code is valid
	maxWrongCode = 10               // wrong codes, from anyone, that void it
	codeLength   = 8                // letters, out of 32: forty bits
)

// pairing is a code that pairs one chat.
type pairing struct {
	code  string
	until time.Time
	wrong int // wrong codes so far
}

// pairs reports whether a code is valid. The caller holds Notifier.mu.
func (c *chatter) pairs(now time.Time) bool { return c.pairing != nil && now.Before(c.pairing.until) }

// unpaired tells how to pair a chat.
func (c *chatter) unpaired() string {
	return "no chat is paired with the bot; pair yours with: pennypost notify pair " + c.l.name
}

// chatNamed returns the channel of the chat called name.
func (n *Notifier) chatNamed(name string) (*chatter, error) {
	var names []string
	for _, c := range n.chatters() {
		if c.l.name == name {
			return c, nil
		}
		names = append(names, c.l.name)
	}
	if len(names) == 0 {
		return nil, mail.Errorf(mail.Invalid, "no chat is configured; nothing was done. Add a section "+
			"[notify.telegram] to the configuration (docs/telegram.md), then: pennypost stop")
	}
	return nil, mail.Errorf(mail.Invalid, "%q is not a chat; nothing was done. Configured chats: %s", name,
		strings.Join(names, ", "))
}

// Pair makes a code that pairs a chat, and voids any earlier one. The present chat stays paired until the code is
// used.
func (n *Notifier) Pair(ctx context.Context, name string) (wire.NotifyPairing, error) {
	c, err := n.chatNamed(name)
	if err != nil {
		return wire.NotifyPairing{}, err
	}
	bot, err := c.chat.Bot(ctx)
	if err != nil {
		return wire.NotifyPairing{}, mail.Errorf(mail.Unavailable, "%s did not identify the bot, so no chat can be "+
			"paired: %w", name, err)
	}
	p := &pairing{code: rand.Text()[:codeLength], until: time.Now().Add(pairTime)}
	n.mu.Lock()
	c.pairing = p
	n.mu.Unlock()
	c.wanted.Give()
	out := wire.NotifyPairing{Channel: name, Code: p.code, Until: mail.TimeOf(p.until), Bot: bot.Name}
	if bot.Link != "" {
		out.Link = bot.Link + p.code
	}
	return out, nil
}

// Unpair makes the chat obeyed no longer, and voids any code.
func (n *Notifier) Unpair(_ context.Context, name string) error {
	c, err := n.chatNamed(name)
	if err != nil {
		return err
	}
	n.mu.Lock()
	c.pairing = nil
	*c.chatMemory = chatMemory{Bot: c.Bot, Place: c.Place, Shown: make(map[string]*shownMessage)}
	clear(c.edits)
	clear(c.l.Asked)
	n.mu.Unlock()
	if err := n.saved(); err != nil {
		return mail.Errorf(mail.Internal, "the chat is unpaired, but a restart may pair it again because that could "+
			"not be saved: %w", err)
	}
	return nil
}

// pair pairs the chat of an event that sends the code. Other events get no answer.
func (c *chatter) pair(ctx context.Context, e *ChatEvent) {
	if e.Press != "" || !c.matches(e.Text) {
		return
	}
	c.n.mu.Lock()
	before := *c.chatMemory
	*c.chatMemory = chatMemory{Bot: before.Bot, Chat: e.Chat, User: e.User, Name: shortened(e.Name, maxShown),
		Since: mail.TimeOf(time.Now()), Place: e.Place, Shown: make(map[string]*shownMessage)}
	clear(c.l.Asked)
	c.n.mu.Unlock()
	if err := c.n.saved(); err != nil {
		c.n.mu.Lock()
		*c.chatMemory = before
		c.n.mu.Unlock()
		c.n.opts.Log.Error("chat not paired; cannot save", "channel", c.l.name, "err", err)
		return
	}
	c.n.opts.Log.Info("chat paired", "channel", c.l.name, "with", e.Name)
	c.say(ctx, e.Message, "This chat is paired with your post office. /help lists the commands.")
	c.n.reached(c.l) // deliver the waiting letters now
	if before.Chat != "" && before.Chat != e.Chat {
		_, _ = c.chat.Post(ctx, before.Chat, &ChatPost{Text: "Another chat was paired. This one no longer is."})
	}
}

// matches reports whether a text is the code, and uses it up. Too many wrong ones void it.
func (c *chatter) matches(text string) bool {
	command, code, _ := strings.Cut(strings.TrimSpace(text), " ")
	if code = strings.ToUpper(strings.TrimSpace(code)); command != "/pair" && command != "/start" || code == "" {
		return false
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if !c.pairs(time.Now()) {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(code), []byte(c.pairing.code)) == 1 {
		c.pairing = nil
		return true
	}
	if c.pairing.wrong++; c.pairing.wrong >= maxWrongCode {
		c.pairing = nil
		c.n.opts.Log.Warn("pairing code voided after wrong codes", "channel", c.l.name)
	}
	return false
}
