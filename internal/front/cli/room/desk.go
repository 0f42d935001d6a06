package room

import (
	"context"
	"slices"
	"strconv"

	"pennypost/internal/front/cli"

	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// inboxAllRooms lists the user's waiting mail in all rooms, by conversation.
func (a *app) inboxAllRooms(ctx context.Context, f inboxFlags) error {
	place, err := mail.ParsePlace(f.place)
	if err != nil {
		return err
	}
	if _, err := a.allRooms(oneRoom{"agent", f.q.Agent != ""}, oneRoom{"before", f.q.Before != 0},
		oneRoom{"newest", f.q.Newest}); err != nil {
		return err
	}
	q := mail.DeskQuery{Place: place, From: f.q.From, Limit: f.q.Limit, After: f.after,
		Unread: !f.q.All && place == ""}
	if f.q.Open {
		q.Part = mail.NeedsYou
	}
	return cli.Ask(ctx, a.App, a.AtOffice, (*client.Office).Desk, q, func(d mail.Desk) error {
		asks := place == mail.InInbox && len(a.SayWhoAsks(ctx)) > 0
		a.showDesk(&d, place, asks)
		if d.Next != "" {
			a.Out.Line("%s", a.Out.Dim("More: "+a.Onward("after", d.Next)))
		}
		return nil
	})
}

// showDesk lists the conversations that need the user, then the new ones. asks says that agents also wait for the
// user.
func (a *app) showDesk(d *mail.Desk, place mail.Place, asks bool) {
	a.sayTrouble(d.Trouble)
	a.sayTrouble(d.Degraded)
	for _, room := range d.Away {
		a.Out.Line("%s", a.Out.Red("Room "+cli.OneLine(string(room))+" cannot be read; see the log."))
	}
	if len(d.Needs)+len(d.Updates) == 0 {
		switch {
		case place != mail.InInbox:
			a.Out.Line("Nothing is %s.", place)
		case asks:
			a.Out.Line("No mail is waiting.")
		default:
			a.Out.Line("Nothing is waiting.")
		}
		return
	}
	list := make([]shownMessage, 0, len(d.Needs)+len(d.Updates))
	for _, c := range slices.Concat(d.Needs, d.Updates) {
		list = append(list, shownMessage{c.Room, c.ID, c.Seq})
	}
	numbers, least := a.number("", list), leastPrefix(list)
	if len(d.Needs) > 0 {
		a.Out.Line("%s", a.Out.Bold("Needs you: "+strconv.Itoa(d.Waiting)))
		a.listConversations(d.Needs, numbers, least)
	}
	if len(d.Updates) > 0 {
		title := "Updates: " + strconv.Itoa(d.Unread) + " unread"
		if place != mail.InInbox {
			title = "In all rooms, " + string(place)
		}
		a.Out.Line("%s", a.Out.Bold(title))
		a.listConversations(d.Updates, numbers[len(d.Needs):], least)
	}
}

// listConversations lists conversations by number; least is the bytes of an id kept in a narrow terminal.
func (a *app) listConversations(list []mail.Conversation, numbers []string, least int) {
	rows := make([][]string, len(list))
	for i := range list {
		c := &list[i]
		mark := " "
		switch {
		case c.Item.Open:
			mark = "?"
		case c.Unread > 0:
			mark = "●"
		}
		who, what := cli.Sender(&c.Message, a.nameWidth()), a.headlineOf(c)
		if c.Folded > 1 {
			who = a.Out.Dim(strconv.Itoa(c.Folded) + " reports")
			what += a.Out.Dim(" and other status reports")
		}
		rows[i] = []string{mark, numbers[i], string(c.ID), string(c.Room), who, a.Out.Ago(c.Sent), what}
	}
	a.Out.List(rows, []cli.Step{
		cli.At(2, cli.Beginning(least)), cli.At(5, cli.Brief), cli.At(3, cli.AtMost(16)), cli.At(4, cli.AtMost(20)),
		cli.At(2, nil), cli.At(4, cli.AtMost(12)), cli.At(3, cli.AtMost(10)), cli.At(5, nil),
	}, 5)
}

// headlineOf is the subject of a conversation, or the beginning of its text, and its number of messages.
func (a *app) headlineOf(c *mail.Conversation) string {
	it := c.Item
	it.Body = c.Preview
	text := a.headline(&it)
	if c.Messages > 1 && c.Folded == 0 {
		text += a.Out.Dim(" (" + strconv.Itoa(c.Messages) + ")")
	}
	return text
}
