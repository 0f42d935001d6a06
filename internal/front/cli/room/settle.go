package room

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const declineHelp = `Decline to answer a question or to review. The sender gets your refusal as the answer, and is
woken by it as by any answer. Use it for "not now" and "decide yourself". Marking or archiving a question
does not settle it.

` + whichHelp

const withdrawHelp = `Withdraw a question that you no longer want answered. Its recipients see that it was withdrawn;
it no longer counts as unread, and wakes no agent. Only its sender, and the user, may withdraw a
question.`

const waitingHelp = `List who waits for whom because of open questions, reviews, plans and permissions, the longest
wait first. If the one who should answer also waits, the whole chain is shown; a circle is named,
whichever of its questions closes it. --all-rooms lists all rooms, for you only, not for agents; closed
rooms are listed as they were.`

func newDecline(a *app) *cobra.Command {
	reason := mail.DeclinedBody
	return cli.WithFlags(&cobra.Command{
		Use: "decline ID", Short: "decline to answer a question; its sender is told", Long: declineHelp,
		Example: "pennypost decline msg_V1StGXR8_Z5jdHi6B-myT --reason \"Not now\"",
		Args:    cli.NArgs(1, "the id of one question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decline(cmd.Context(), args[0], reason)
		},
		ValidArgsFunction: a.CompleteMessages(mail.InboxQuery{Open: true}),
	}, cli.Flag{Into: &reason, Name: "reason", About: "`TEXT` for the sender"})
}

func (a *app) decline(ctx context.Context, arg, reason string) error {
	svc, question, err := a.asked(ctx, arg)
	if err != nil {
		return err
	}
	d, err := question.Decline(reason)
	if err != nil {
		return cli.Hinted(err, "to list open questions: pennypost inbox --open")
	}
	return a.settle(ctx, svc, d, question.Item)
}

func newWithdraw(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "withdraw ID", Short: "withdraw an open question", Long: withdrawHelp,
		Example: "pennypost withdraw msg_V1StGXR8_Z5jdHi6B-myT", Args: cli.NArgs(1, "the id of one question"),
		RunE:              cli.RunOne(a.withdraw),
		ValidArgsFunction: a.CompleteOwnQuestions,
	}
}

func (a *app) withdraw(ctx context.Context, arg string) error {
	svc, id, err := a.theOne(ctx, arg)
	if err == nil {
		err = svc.Withdraw(ctx, id)
	}
	return a.Said(err, struct {
		Withdrawn mail.ID `json:"withdrawn"`
	}{id}, "%s is withdrawn.", cli.OneLine(string(id)))
}

func newWaiting(a *app) *cobra.Command {
	var q mail.WaitingQuery
	var all bool
	return cli.WithFlags(&cobra.Command{
		Use: "waiting", Short: "list who waits for whom", Long: waitingHelp, Example: "pennypost waiting",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			if all {
				return a.waitingAllRooms(cmd.Context(), q)
			}
			return a.waiting(cmd.Context(), q)
		},
	}, allRoomsFlag(&all, "who waits for whom in all rooms"),
		cli.Flag{Into: &q.Limit, Name: "limit", About: "at most `N` rows, up to 1000; default 50"})
}

func (a *app) waiting(ctx context.Context, q mail.WaitingQuery) error {
	return cli.Ask(ctx, a.App, a.Existing, mail.Service.Waiting, q, func(list mail.WaitingList) error {
		if len(list.Waiting) == 0 {
			a.nothing(ctx, "No one is waiting for an answer", "waiting", waitsElsewhere)
			return nil
		}
		return a.showWaiting(list)
	})
}

func (a *app) showWaiting(list mail.WaitingList) error {
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	questions := make([]shownMessage, len(list.Waiting))
	for i := range list.Waiting {
		questions[i] = shownMessage{Room: room, ID: list.Waiting[i].Question}
	}
	numbers, least := a.number(room, questions), leastPrefix(questions)
	rows := make([][]string, 0, len(list.Waiting))
	for i := range list.Waiting {
		w := &list.Waiting[i]
		rows = append(rows, []string{numbers[i], waitWords(w), a.Out.Ago(w.Since), string(w.Type),
			cli.OneLine(string(w.Question)), cli.OneLine(w.Subject)})
	}
	a.Out.List(rows, []cli.Step{
		cli.At(4, cli.Beginning(least)), cli.At(3, cli.AtMost(8)), cli.At(2, cli.Brief), cli.At(4, nil),
		cli.At(3, nil), cli.At(1, cli.AtMost(28)), cli.At(2, nil), cli.At(1, cli.AtMost(16)),
	}, 2)
	if list.Rest > 0 {
		a.Out.Line("%s", a.Out.Dim("And "+strconv.Itoa(list.Rest)+" more: "+a.Onward("limit", "1000")))
	}
	return nil
}

// waitWords says who waits for whom.
func waitWords(w *mail.Waiting) string {
	words := cli.Joined(w.Chain, " → ")
	if len(w.Chain) == 0 {
		words = cli.OneLine(string(w.Asker)) + " → " + cli.Addressees([]mail.Address{w.Address})
	}
	if w.Circle {
		words += " (a circle)"
	}
	if w.Suggestions > 0 {
		words += " (" + wording.Plural(w.Suggestions, "suggestion") + ")"
	}
	return words
}
