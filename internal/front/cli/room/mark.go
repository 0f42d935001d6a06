package room

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const markHelp = `Mark messages in your mailbox, by ID or all of them. Give exactly one mark. Marking a message again
changes nothing. If a message does not exist, the others are marked and the exit status is 3.

Archived mail no longer waits, but stays in the history. Snoozed mail is unread, and stays out of your
inbox until TIME, which is 2h, tomorrow, "monday 14:00", 2026-05-10 or "2026-05-10 14:00"; a day without
a time begins at nine. Reading or archiving the message ends that. Agents cannot snooze.

` + whichHelp

func newMark(a *app) *cobra.Command {
	var all bool
	var snoozed string
	marks := []mail.Mark{mail.MarkRead, mail.MarkUnread, mail.MarkArchived, mail.MarkUnarchived}
	given := make([]bool, len(marks))
	flags := []cli.Flag{cli.Flag{Into: &all, Name: "all", About: "every message that the mark would change"},
		cli.Flag{Into: &snoozed, Name: "snoozed", About: "put off until `TIME`"}}
	for i, m := range marks {
		flags = append(flags, cli.Flag{Into: &given[i], Name: string(m), About: "mark as " + string(m)})
	}
	return cli.WithFlags(&cobra.Command{
		Use:   "mark ID...|--all --read|--unread|--archived|--unarchived|--snoozed TIME",
		Short: "mark messages read, unread, archived or snoozed", Long: markHelp,
		Example: "pennypost mark msg_V1StGXR8_Z5jdHi6B-myT --read\npennypost mark --all --archived --as " +
			"builder\npennypost mark msg_V1StGXR8_Z5jdHi6B-myT --snoozed tomorrow",
		RunE: func(cmd *cobra.Command, ids []string) error {
			until, err := mail.ParseWhen(snoozed, a.Out.Now, mail.Ahead)
			if err != nil {
				return err
			}
			var chosen []mail.Mark
			for i, g := range given {
				if g {
					chosen = append(chosen, marks[i])
				}
			}
			if snoozed != "" {
				chosen = append(chosen, mail.MarkSnoozed)
			}
			if len(chosen) != 1 {
				return cli.Usage("give exactly one mark: --read, --unread, --archived, --unarchived or --snoozed")
			}
			return a.mark(cmd.Context(), ids, mail.Marking{All: all, Mark: chosen[0], Until: until})
		},
		ValidArgsFunction: a.CompleteMessages(mail.InboxQuery{All: true}),
	}, flags...)
}

func (a *app) mark(ctx context.Context, words []string, q mail.Marking) error {
	if q.All == (len(words) > 0) {
		return cli.Usage("name the messages: either their ids or --all")
	}
	svc, ids, err := a.which(ctx, words)
	if err != nil {
		return err
	}
	q.IDs = ids
	done, err := svc.Mark(ctx, q)
	if done.Marked == nil {
		done.Marked = []mail.ID{}
	}
	err = cli.Answer(a.App, done, err, func(done mail.Marked) error { return a.showMarked(&done, q.Mark) })
	if err == nil && len(done.NotFound) > 0 { // the others are marked, and a script must know
		err = mail.Errorf(mail.NotFound, "there is no message %q here", done.NotFound[0])
	}
	return err
}

func (a *app) showMarked(done *mail.Marked, mark mail.Mark) error {
	a.Out.Line("%s marked %s.", wording.Plural(len(done.Marked), "message"), mark)
	for _, list := range []struct {
		ids  []mail.ID
		what string
	}{{done.Already, "already marked"}, {done.NotYours, "not in your mailbox"}} {
		if len(list.ids) > 0 {
			a.Out.Line("%s: %s", list.what, cli.Joined(list.ids, " "))
		}
	}
	if n := len(done.Open); n > 0 {
		a.Out.Line("Still open until answered: %s. To decline: pennypost decline ID",
			cli.Joined(done.Open[:min(n, mail.MaxOpenIDs)], " ")+andMore(n-mail.MaxOpenIDs))
	}
	return nil
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return " and " + strconv.Itoa(n) + " more"
}
