package room

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

const replyHelp = `Reply to the sender of a message. A reply to a question answers it, and settles it. The message is
marked read. TEXT comes from the arguments, from --body, or, with neither or with "-", from standard
input.

` + whichHelp

const answerHelp = `Answer a question with one of its options, by number or by text, or a review-request with a
verdict: approved, changes-requested or blocked. pennypost read lists the options with their numbers.
Text after the option is added to the answer. A question without options takes any TEXT. The question is
marked read.

ID may also be that of a dialog, d-…, which an agent's client shows: see pennypost dialogs. OPTION is
then the number of an answer, its label, or allow or deny, and TEXT goes to the model where the answer
takes some. If there are several questions, give one argument for each: numbers or options, separated by
commas where several may be chosen, or your own words. The client gets the answer immediately.

` + whichHelp

type replyFlags struct {
	body   string
	urgent bool
	docs   []string
}

func newReply(a *app) *cobra.Command {
	var f replyFlags
	return cli.WithFlags(&cobra.Command{
		Use: "reply ID|last [TEXT...]", Short: "reply to the sender of a message", Long: replyHelp,
		Example: "pennypost reply last \"Yes, go on.\"\npennypost reply 2 Spaces\npennypost reply msg_V1StGX < " +
			"answer.md",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Hinted(cli.Usage("say which message you reply to"),
					"pennypost reply last TEXT; pennypost inbox lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed("body")
			if given && len(args) > 1 {
				return cli.Usage("give the text either after the id or with --body, not both")
			}
			if text := strings.Join(args[1:], " "); text != "" {
				f.body, given = text, true
			}
			return a.reply(cmd.Context(), args[0], f, given)
		},
		ValidArgsFunction: a.CompleteMessages(mail.InboxQuery{All: true}),
	},
		cli.Flag{Into: &f.body, Name: "body", About: "`TEXT` in Markdown; \"-\": standard input"},
		cli.Flag{Into: &f.urgent, Name: "urgent", About: "wake the recipient"},
		cli.Flag{Into: &f.docs, Name: "doc",
			About: "`PATH` or PATH@REVISION of a related document; repeatable", Each: true})
}

func (a *app) reply(ctx context.Context, word string, f replyFlags, given bool) error {
	svc, it, err := a.letter(ctx, word)
	if err != nil {
		return err
	}
	d, err := a.below(&it)
	if err != nil {
		return err
	}
	if f.urgent {
		d.Priority = string(mail.Urgent)
	}
	for _, doc := range f.docs {
		d.Docs = append(d.Docs, parseDoc(doc))
	}
	if d.Body = f.body; !given || f.body == "-" {
		if d.Body, err = a.readBody(); err != nil {
			return err
		}
	}
	return a.settle(ctx, svc, d, &it)
}

// settle sends a reply, and marks the message that it answers read, because the author of the reply has read it.
func (a *app) settle(ctx context.Context, svc mail.Service, d mail.Draft, below *mail.Item) error {
	err := a.post(ctx, svc, d, cli.Heading(below))
	if err == nil && below.State != "" && !below.Read { // the reply is sent, even if the mark fails
		_, _ = svc.Mark(ctx, mail.Marking{IDs: []mail.ID{below.ID}, Mark: mail.MarkRead})
	}
	return err
}

// below begins the caller's reply to a message.
func (a *app) below(it *mail.Item) (mail.Draft, error) {
	who, err := a.Who()
	if err != nil {
		return mail.Draft{}, err
	}
	d := it.Reply(who)
	d.Issue = it.Issue
	if len(d.To) == 0 {
		return d, cli.Hinted(mail.Errorf(mail.Invalid, "%s is from the post office, which takes no replies", it.ID),
			"pennypost send --to ADDRESS")
	}
	return d, nil
}

func newAnswer(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "answer ID|last OPTION [TEXT...]", Short: "answer a question with one of its options", Long: answerHelp,
		Example: "pennypost answer 1 2\npennypost answer last Spaces\npennypost answer 3 changes-requested \"See " +
			"the comments.\"\npennypost answer d-k3x9 allow\npennypost answer d-k3x9 deny \"Not in this branch.\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isDialog(args[0]) {
				return cli.Hinted(cli.Usage("pennypost answer %s needs an answer. Nothing was done", args[0]),
					"pennypost dialogs "+args[0]+" lists the answers")
			}
			if len(args) < 2 {
				return cli.Hinted(cli.Usage("pennypost answer needs a question and one of its options"),
					"to list the options: pennypost read ID")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDialog(args[0]) {
				return a.answerDialog(cmd.Context(), args[0], args[1:])
			}
			return a.answer(cmd.Context(), args[0], args[1:])
		},
		ValidArgsFunction: a.completeAnswer,
	}
}

const adoptHelp = `Answer a question in the words of a suggestion. An answer from an agent that was not asked is a
suggestion: it does not settle the question until the user, or an agent that was asked, adopts it.
pennypost read shows the suggestions below the question.`

func newAdopt(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "adopt SUGGESTION-ID", Short: "answer a question in the words of a suggestion", Long: adoptHelp,
		Example: "pennypost adopt msg_V1StGXR8_Z5jdHi6B-myT", Args: cli.NArgs(1, "the id of one suggestion"),
		RunE: cli.RunOne(a.adopt),
	}
}

func (a *app) adopt(ctx context.Context, word string) error {
	svc, it, err := a.letter(ctx, word)
	if err != nil {
		return err
	}
	if !it.Suggests {
		return cli.Hinted(mail.Errorf(mail.Invalid, "%s is not a suggestion. Nothing was sent", it.ID),
			"to see the suggestions for a question: pennypost read ID")
	}
	q, err := svc.Message(ctx, it.ReplyTo)
	if err != nil {
		return err
	}
	question, err := a.question(&q)
	if err != nil {
		return err
	}
	d, err := question.Adopt(&it)
	if err != nil {
		return err
	}
	return a.settle(ctx, svc, d, &q)
}

func (a *app) answer(ctx context.Context, word string, said []string) error {
	svc, question, err := a.asked(ctx, word)
	if err != nil {
		return err
	}
	it := question.Item
	if err := question.Waits(); err != nil {
		return cli.Hinted(err, "pennypost reply "+word+" TEXT still replies to it")
	}
	d, err := a.below(it)
	if err != nil {
		return err
	}
	options := it.Choices()
	if d.Body = strings.Join(said, " "); len(options) > 0 {
		chosen, more, err := choose(options, said)
		if err != nil {
			return cli.Hinted(err, "pennypost reply "+word+" TEXT answers in your own words")
		}
		answer := it.Choose(question.By, chosen.Answer)
		d.Type, d.Body, d.Metadata = answer.Type, answer.Body, answer.Metadata
		if more != "" {
			d.Body += "\n\n" + more
		}
	}
	return a.settle(ctx, svc, d, it)
}

// question is a message for the caller to answer.
func (a *app) question(it *mail.Item) (triage.Question, error) {
	who, err := a.Who()
	return triage.Question{Item: it, By: who, As: string(it.ID)}, err
}

// asked returns the message that a word names, for the caller to answer.
func (a *app) asked(ctx context.Context, word string) (mail.Service, triage.Question, error) {
	svc, it, err := a.letter(ctx, word)
	if err != nil {
		return nil, triage.Question{}, err
	}
	q, err := a.question(&it)
	return svc, q, err
}

// choose returns the option that the caller typed, by its text or number, and the rest of the words.
func choose(options []mail.Option, said []string) (chosen mail.Option, more string, err error) {
	for i := len(said); i > 0; i-- { // the text may have been typed without quotes
		text, more := strings.Join(said[:i], " "), strings.Join(said[i:], " ")
		found := -1
		for n, o := range options {
			if !strings.EqualFold(o.Answer, text) && strconv.Itoa(n+1) != text {
				continue
			}
			if found >= 0 {
				return chosen, "", cli.Usage(
					"%q is the text of one option and the number of another. Nothing was sent", text)
			}
			found = n
		}
		if found >= 0 {
			return options[found], more, nil
		}
	}
	lines := ""
	for n, o := range options {
		lines += "\n" + strconv.Itoa(n+1) + "  " + cli.OneLine(o.Answer)
	}
	return chosen, "", cli.Usage("%q is not one of the options. Nothing was sent. They are:%s",
		strings.Join(said, " "),
		lines)
}

// letter returns the message that a word names.
func (a *app) letter(ctx context.Context, word string) (mail.Service, mail.Item, error) {
	svc, id, err := a.theOne(ctx, word)
	if err != nil {
		return nil, mail.Item{}, err
	}
	it, err := svc.Message(ctx, id)
	return svc, it, err
}

// completeQuestion offers open questions, and after one its options.
func (a *app) completeQuestion(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) != 1 {
		return a.CompleteMessages(mail.InboxQuery{Open: true})(cmd, given, typed)
	}
	it, _ := cli.AtOnce(a.App, func(ctx context.Context, _ mail.Service) (mail.Item, error) {
		_, it, err := a.letter(ctx, given[0])
		return it, err
	})
	var words []string
	for i, o := range it.Choices() {
		words = append(words, strconv.Itoa(i+1)+"\t"+cli.OneLine(o.Answer))
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
