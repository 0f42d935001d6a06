package notify

import (
	"context"
	"fmt"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

const (
	chatInbox   = 10 // conversations that /inbox lists
	chatWaiting = 5  // messages that /waiting shows
	chatHelp    = "/waiting shows what needs you, one message each\n/inbox lists your mail\n" +
		"/help shows this\n\nReply to one of my messages to answer it or write below it."
	chatHelpButtons = "\nA button answers immediately."
	chatHelpOff     = "\nTo answer from this chat, set answers = true in its section of config.toml."
)

// heard returns the answer to a text from the person.
func (c *chatter) heard(ctx context.Context, e *ChatEvent) string {
	text := strings.TrimSpace(e.Text)
	command, _, _ := strings.Cut(text, " ")
	command, _, _ = strings.Cut(command, "@") // drop the bot's name
	switch {
	case text == "":
		return "I can read only text."
	case command == "/inbox":
		return c.inbox(ctx)
	case command == "/waiting":
		return c.waiting(ctx)
	case command == "/pair":
		return "This chat is paired."
	case command == "/help", command == "/start":
		if c.l.answers {
			return chatHelp + chatHelpButtons
		}
		return chatHelp + chatHelpOff
	case strings.HasPrefix(text, "/"):
		return "Nothing was done: unknown command. See /help."
	case e.ReplyTo == "":
		return "Nothing was sent: reply to one of my messages. See /help."
	}
	return c.reply(ctx, e, text)
}

// reply sends a text as the user below the letter that a message shows.
func (c *chatter) reply(ctx context.Context, e *ChatEvent, text string) string {
	s := c.about(e.ReplyTo)
	switch {
	case !c.l.answers:
		return "Nothing was sent." + chatHelpOff
	case s == nil:
		return "Nothing was sent: I no longer know what that message is about. Send /waiting."
	case s.Dialog:
		return "Nothing was sent: that is a dialog of an agent's client. Answer on the pages or in a terminal, " +
			"where you see all of it."
	case s.ID == "":
		return "Nothing was sent: that message is not about one message. Send /waiting, and reply to one of those."
	}
	said := ""
	err := c.n.opts.Use(ctx, s.Room, func(r Room) error {
		user := r.AsUser(mail.ByChat)
		it, err := user.Message(ctx, s.ID)
		if err != nil {
			return err
		}
		d, err := triage.Question{Item: &it, By: mail.User, As: "it"}.Write(text)
		if err != nil {
			return err
		}
		// Repeated events give one message.
		d.Key = fmt.Sprintf("%s-%s-%s", c.l.name, e.Chat, e.Message)
		d.Metadata, _ = jsonx.Marshal(map[string]string{"via": c.l.name}) // strings always encode
		sent, err := user.Send(ctx, d)
		if err != nil {
			return err
		}
		if said = "Sent to " + strings.Join(d.To, ", ") + "."; sent.Settled != nil {
			said += " The question was already settled."
		}
		c.n.opts.Log.Info("replied", "room", s.Room, "to", s.ID, "reply", sent.ID, "channel", c.l.name)
		_, err = user.Mark(ctx, mail.Marking{IDs: []mail.ID{s.ID}, Mark: mail.MarkRead})
		return err
	})
	if err != nil && said == "" {
		c.n.opts.Log.Warn("reply not sent", "room", s.Room, "to", s.ID, "err", err)
		said = "Not sent: " + err.Error()
	}
	return said
}

// inbox lists the person's mail.
func (c *chatter) inbox(ctx context.Context) string {
	desk, err := c.n.desk(ctx, mail.DeskQuery{Limit: chatInbox})
	if err != nil {
		return "Your mail cannot be listed: " + err.Error()
	}
	list := desk.Needs
	if len(list) < chatInbox {
		list = append(list, desk.Updates[:min(len(desk.Updates), chatInbox-len(list))]...)
	}
	lines := []string{fmt.Sprintf("%d waiting for you, %d unread", desk.Waiting, desk.Unread)}
	for i := range list {
		l := c.letter(&list[i])
		lines = append(lines, "• "+l.listed()+" ("+string(l.Room)+")")
	}
	return strings.Join(append(lines, unseen(&desk)...), "\n")
}

// letter returns a row of the desk as a letter, with a preview only if the chat may have one.
func (c *chatter) letter(row *mail.Conversation) Letter {
	l := letterOf(row.Room, &row.Item)
	if l.Preview = ""; c.l.text {
		l.Preview = row.Preview
	}
	return l
}

// unseen names the rooms that the desk could not read.
func unseen(desk *mail.Desk) (lines []string) {
	for _, room := range desk.Away {
		lines = append(lines, "Room "+string(room)+" is not available.")
	}
	return lines
}

// waiting shows the items that need the person, each as a message that can be answered.
func (c *chatter) waiting(ctx context.Context) string {
	desk, err := c.n.desk(ctx, mail.DeskQuery{Part: mail.NeedsYou, Limit: chatWaiting})
	if err != nil {
		return "What needs you cannot be listed: " + err.Error()
	}
	shown := 0
	for i := range desk.Needs {
		row := &desk.Needs[i]
		if err := c.showRow(ctx, row); err != nil {
			c.n.opts.Log.Warn("waiting mail not shown in the chat", "channel", c.l.name, "err", err)
			break
		}
		shown++
	}
	lines := unseen(&desk)
	if more := desk.Waiting - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more waiting for you.", more))
	}
	lines = append(lines, c.dialogs(ctx)...)
	if shown == 0 && len(lines) == 0 {
		return "Nothing needs you."
	}
	c.n.save()
	return strings.Join(lines, "\n")
}

// showRow shows a row of the desk as a message.
func (c *chatter) showRow(ctx context.Context, row *mail.Conversation) error {
	letter := c.letter(row)
	note := compose(noteID(c.l.name, letter.key(), "asked"), []Letter{letter}, c.n.base(c.l), c.l.text)
	if letter.Question && c.l.answers {
		c.n.addButtons(note, c.l)
	}
	c.n.mu.Lock()
	chat := c.Chat
	if len(note.Buttons) > 0 {
		c.l.Asked[letter.key()] = mail.TimeOf(note.until)
	}
	c.n.mu.Unlock()
	_, err := c.show(ctx, chat, note)
	return err
}

// dialogs lists the questions of agents' clients.
func (c *chatter) dialogs(ctx context.Context) (lines []string) {
	if c.n.opts.Dialogs == nil {
		return nil
	}
	list, err := c.n.opts.Dialogs(ctx)
	if err != nil {
		return []string{"The dialogs of agents' clients cannot be listed."}
	}
	for i := range list.Cards {
		l := letterOfDialog(&list.Cards[i])
		if !c.l.text {
			l.Preview = ""
		}
		lines = append(lines, "• "+l.listed()+" ("+string(l.Room)+") Answer on the pages or in a terminal.")
	}
	return lines
}

// desk returns the user's desk across all rooms.
func (n *Notifier) desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	if n.opts.Desk == nil {
		return mail.Desk{}, mail.Errorf(mail.Unavailable, "not available here")
	}
	return n.opts.Desk(ctx, q)
}

// settles marks messages with buttons of a question for another look. The caller holds Notifier.mu.
func (c *chatter) settles(key string) {
	for _, s := range c.Shown {
		if s.Buttons && keyOf(s.Room, s.ID) == key {
			c.edits[key] = true
			c.stale.Give()
		}
	}
}

// tend edits the messages of settled questions, wherever they were settled, until ctx ends.
func (c *chatter) tend(ctx context.Context) {
	for ctx.Err() == nil {
		c.n.mu.Lock()
		key := ""
		for key = range c.edits {
			break
		}
		delete(c.edits, key)
		c.n.mu.Unlock()
		if key == "" {
			select {
			case <-ctx.Done():
			case <-c.stale:
			}
			continue
		}
		if err := c.retell(ctx, key); err != nil && ctx.Err() == nil {
			c.n.opts.Log.Warn("outcome of a question not shown", "channel", c.l.name, "err", err)
			c.n.mu.Lock()
			c.edits[key] = true
			c.n.mu.Unlock()
			pause.For(ctx, max(botRetry, asksToWait(err)))
		}
	}
}

// retell replaces the messages about a settled question by its outcome, without buttons.
func (c *chatter) retell(ctx context.Context, key string) error {
	room, id, _ := strings.Cut(key, "/")
	text := "It no longer exists."
	err := c.n.opts.Use(ctx, mail.RoomName(room), func(r Room) error {
		user := r.As(mail.User)
		it, err := user.Message(ctx, mail.ID(id))
		if err != nil {
			return err
		}
		text = ""
		if s := it.Settled; s != nil {
			letter := letterOf(mail.RoomName(room), &it)
			letter.Question = true
			text = outcome(ctx, user, &it) + "\n\n" + letter.headline()
		}
		return nil
	})
	if text == "" || err != nil && mail.CodeOf(err) != mail.NotFound {
		return err
	}
	c.n.mu.Lock()
	chat, messages := c.Chat, []string{}
	for message, s := range c.Shown {
		if s.Buttons && keyOf(s.Room, s.ID) == key {
			messages = append(messages, message)
		}
	}
	c.n.mu.Unlock()
	for _, message := range messages {
		if err := c.chat.Edit(ctx, chat, message, text); err != nil && !isFinal(err) {
			return err
		}
		c.n.mu.Lock()
		if s := c.Shown[message]; s != nil {
			s.Buttons = false
		}
		c.n.mu.Unlock()
	}
	c.n.save()
	return nil
}

// outcome says how a question was settled. It quotes the answer only if the question offered it.
func outcome(ctx context.Context, user mail.Service, it *mail.Item) string {
	s := it.Settled
	said := strings.ToUpper(string(s.As[:1])) + string(s.As[1:])
	if s.By != mail.ToUser {
		said += " by " + shortened(string(s.By.Signer()), maxShown)
	}
	if s.Answer == "" {
		return said
	}
	answer, err := user.Message(ctx, s.Answer)
	for _, o := range it.Choices() {
		if err == nil && o.Answer == answer.Body {
			return said + ": " + shortened(o.Answer, maxLabel)
		}
	}
	return said
}
