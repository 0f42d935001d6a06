package room

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"pennypost/internal/front/cli"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// whichHelp explains how to name messages in a command.
const whichHelp = `ID is the id of a message or the beginning of one, its number in the last list on this terminal
(for 12 hours), or "last": the newest message of your mailbox that this terminal has shown, or else the
newest that came.`

// candidates is how many messages are named if several ids begin with the same text.
const candidates = 5

// which returns the messages that words name, and their room.
func (a *app) which(ctx context.Context, words []string) (mail.Service, []mail.ID, error) {
	ids := make([]mail.ID, len(words))
	var from mail.RoomName // the numbers' room
	for i, word := range words {
		m, err := a.numbered(word)
		if err != nil {
			return nil, nil, err
		}
		if m.ID != "" && cmp.Or(from, m.Room) != m.Room {
			return nil, nil, cli.Usage("these messages are in several rooms: name those of one room at a time")
		}
		ids[i], from = m.ID, cmp.Or(from, m.Room)
	}
	if from != "" {
		a.Room = string(from)
	}
	svc, err := a.Existing(ctx)
	for i := 0; i < len(ids) && err == nil; i++ {
		switch {
		case ids[i] != "":
		case words[i] == "last":
			ids[i], err = a.newest(ctx, svc)
		default:
			ids[i], err = begunBy(ctx, svc, words[i])
		}
	}
	return svc, ids, err
}

// theOne is which for one word.
func (a *app) theOne(ctx context.Context, word string) (mail.Service, mail.ID, error) {
	svc, ids, err := a.which(ctx, []string{word})
	if err != nil {
		return nil, "", err
	}
	return svc, ids[0], nil
}

// numbered returns the message with a number in the list that the terminal was shown; none if word is not a number,
// or no valid list was shown.
func (a *app) numbered(word string) (shownMessage, error) {
	if !isNumber(word) {
		return shownMessage{}, nil
	}
	s := a.lastShown()
	if len(s.Messages) == 0 {
		return shownMessage{}, nil
	}
	n, _ := strconv.Atoi(word)
	if n < 1 || n > len(s.Messages) {
		return shownMessage{}, cli.Hinted(mail.Errorf(mail.NotFound,
			"there is no number %d: the last list on this terminal has %s", n, wording.Plural(len(s.Messages),
				"message")),
			"to list your mail: pennypost inbox")
	}
	m := s.Messages[n-1]
	here, err := a.RoomName()
	if err == nil && s.Room != "" && s.Room != here {
		return m, cli.Hinted(mail.Errorf(mail.Conflict,
			"number %d is from a list of room %s, and this command is for room %s. Nothing was "+
				"done", n, s.Room, here), "add --room "+string(s.Room)+
			", or list the mail here: pennypost inbox")
	}
	return m, err
}

// here returns the caller, and its room.
func (a *app) here() (who mail.Name, room mail.RoomName, err error) {
	if who, err = a.Who(); err == nil {
		room, err = a.RoomName()
	}
	return who, room, err
}

// newest returns the message that "last" means.
func (a *app) newest(ctx context.Context, svc mail.Service) (mail.ID, error) {
	who, room, err := a.here()
	if err != nil {
		return "", err
	}
	if s := a.lastShown(); s.Reader == who && s.Last.Room == room {
		return s.Last.ID, nil
	}
	page, err := svc.Inbox(ctx, mail.InboxQuery{All: true, Newest: true, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(page.Messages) == 0 {
		return "", cli.Hinted(mail.Errorf(mail.NotFound, "there is no last message: the mailbox is empty"),
			"to see the room's messages: pennypost history")
	}
	return page.Messages[0].ID, nil
}

// wholeID is the length of Pennypost's own ids.
const wholeID = len("msg_") + 21

// begunBy returns the message whose id is word, or begins with it. If there is none, the verb reports it.
func begunBy(ctx context.Context, svc mail.Service, word string) (mail.ID, error) {
	if isDialog(word) {
		return "", cli.Hinted(cli.Usage("%q is a dialog of an agent's client, not a message. Nothing was done", word),
			"pennypost dialogs "+word+" to see it, pennypost answer "+word+" N to answer it")
	}
	id, err := mail.ParseID(word)
	if err != nil || strings.HasPrefix(word, "msg_") && len(word) >= wholeID {
		return id, err
	}
	if _, err := svc.Message(ctx, id); mail.CodeOf(err) != mail.NotFound {
		return id, err
	}
	if isNumber(word) {
		return "", cli.Hinted(mail.Errorf(mail.NotFound,
			"there is no number %s: this terminal has shown no list of messages in the last 12 "+
				"hours", word), "to list your mail: pennypost inbox; or use the id of the message")
	}
	q := mail.HistoryQuery{ID: word, Limit: candidates + 1}
	page, err := svc.History(ctx, q)
	if err == nil && len(page.Messages) == 0 {
		q.Archive = true
		page, err = svc.History(ctx, q)
	}
	switch {
	case err != nil:
		return "", err
	case len(page.Messages) == 0:
		return id, nil
	case len(page.Messages) == 1:
		return page.Messages[0].ID, nil
	}
	lines := ""
	for i := range page.Messages[:min(len(page.Messages), candidates)] {
		it := &page.Messages[i]
		lines += "\n" + cli.OneLine(string(it.ID)) + "  " + cli.Shorten(cli.Heading(it), cli.HeadlineWidth)
	}
	if page.More || len(page.Messages) > candidates {
		lines += "\nand more"
	}
	return "", cli.Hinted(cli.Usage("several ids begin with %q:%s", word, lines), "type more of the id")
}

// isNumber reports whether word can be a number in a list.
func isNumber(word string) bool {
	return len(word) <= len(strconv.Itoa(mail.MaxLimit)) && strings.Trim(word, "0123456789") == ""
}
