package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const markHelp = `Mark messages in your mailbox, by ID or all of them. Exactly one mark is given. Marking again changes
nothing. Archived mail no longer waits; it stays in the history.`

func newMark(a *app) *cobra.Command {
	var all bool
	marks := []mail.Mark{mail.MarkRead, mail.MarkUnread, mail.MarkArchived, mail.MarkUnarchived}
	given := make([]bool, len(marks))
	cmd := &cobra.Command{
		Use: "mark ID...|--all --read|--unread|--archived|--unarchived", Short: "mark messages read, unread or archived", Long: markHelp,
		Example: "pennypost mark msg_V1StGXR8_Z5jdHi6B-myT --read\npennypost mark --all --archived --as builder",
		RunE: func(cmd *cobra.Command, ids []string) error {
			var chosen []mail.Mark
			for i, g := range given {
				if g {
					chosen = append(chosen, marks[i])
				}
			}
			if len(chosen) != 1 {
				return usage("say which mark: exactly one of --read, --unread, --archived and --unarchived")
			}
			return a.mark(cmd.Context(), ids, all, chosen[0])
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every message that the mark would change")
	for i, m := range marks {
		cmd.Flags().BoolVar(&given[i], string(m), false, "mark as "+string(m))
	}
	return cmd
}

func (a *app) mark(ctx context.Context, ids []string, all bool, m mail.Mark) error {
	if all == (len(ids) > 0) {
		return usage("say which messages: either their ids or --all")
	}
	q := mail.Marking{All: all, Mark: m}
	for _, id := range ids {
		parsed, err := mail.ParseID(id)
		if err != nil {
			return err
		}
		q.IDs = append(q.IDs, parsed)
	}
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	done, err := svc.Mark(ctx, q)
	if err != nil {
		return err
	}
	if a.json {
		if done.Marked == nil {
			done.Marked = []mail.ID{}
		}
		a.out.value(done)
		return nil
	}
	a.out.line("%s marked %s.", plural(len(done.Marked), "message"), m)
	for _, list := range []struct {
		ids  []mail.ID
		what string
	}{{done.Already, "marked before"}, {done.NotFound, "not found"}, {done.NotYours, "not in your mailbox"}} {
		if len(list.ids) > 0 {
			a.out.line("%s: %s", list.what, joinIDs(list.ids))
		}
	}
	return nil
}

func joinIDs(ids []mail.ID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = oneLine(string(id))
	}
	return strings.Join(words, " ")
}
