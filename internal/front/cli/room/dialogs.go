package room

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/wire/client"
)

const dialogsHelp = `List the dialogs of agents' clients that wait for you: permissions, plans, questions with
options. They are the clients' own dialogs, not mail: no agent reads them. With ID, or its beginning,
print the whole dialog, the model's own justification below it, and the answers that can be given here.

Text beside a bar is the dialog's text, complete; invisible characters are written out, such as ⟨U+202E⟩.
The model's justification is unchecked.

pennypost answer ID N gives the N-th answer immediately: it cannot be taken back. If the client shows its
dialog at the same time, the first answer wins. Only you can look and answer: on the pages, with your
phone, or in a terminal where you sit.`

func newDialogs(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "dialogs [ID]", Short: "list the dialogs of agents' clients that wait for you", Long: dialogsHelp,
		Example: "pennypost dialogs\npennypost dialogs d-k3x9\npennypost answer d-k3x9 1\npennypost dialogs --json",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.Usage("pennypost dialogs takes one id, and %q is another", args[1])
			case len(args) == 1 && !isDialog(args[0]):
				return cli.Hinted(cli.Usage("%q is not the id of a dialog: these begin with d-", args[0]),
					"to list them: pennypost dialogs")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.dialog(cmd.Context(), args[0])
			}
			return cli.Ask(cmd.Context(), a.App, a.userOffice, mail.Office.Dialogs, mail.DialogQuery{}, a.listDialogs)
		},
		ValidArgsFunction: func(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(given) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeDialogs(typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		},
	}
}

// userOffice is personsOffice for RunAt.
func (a *app) userOffice(context.Context) (mail.Office, error) { return a.personsOffice() }

// personsOffice returns the post office if the caller is the person. A caller named as an agent is not, wherever they
// type: no model may read the dialogs of agents' clients.
func (a *app) personsOffice() (*client.Office, error) {
	if err := a.OnlyUser("see what agents' clients ask, and answer it"); err != nil {
		return nil, err
	}
	return a.Post()
}

// isDialog reports whether a word names a dialog, not a message.
func isDialog(word string) bool { return strings.HasPrefix(word, "d-") }

// askedBy returns the one dialog that a word names, with all of its texts.
func (a *app) askedBy(ctx context.Context, word string) (mail.Office, *mail.Card, error) {
	office, err := a.personsOffice()
	if err != nil {
		return nil, nil, err
	}
	list, err := office.Dialogs(ctx, mail.DialogQuery{ID: mail.ID(word)})
	switch {
	case err != nil:
		return nil, nil, err
	case len(list.Cards) == 0:
		return nil, nil, cli.Hinted(mail.Errorf(mail.NotFound, "no open dialog is called %s: it was answered, or its "+
			"agent has gone. Nothing was done", word), "to list the open ones: pennypost dialogs")
	case len(list.Cards) == 1:
		return office, &list.Cards[0], nil
	}
	lines := ""
	for i := range list.Cards {
		c := &list.Cards[i]
		lines += "\n" + cli.OneLine(string(c.ID)) + "  " + cli.OneLine(string(c.Agent)) + "  " +
			cli.Shorten(cli.OneLine(triage.DialogGist(c)), cli.HeadlineWidth)
	}
	return nil, nil, cli.Hinted(cli.Usage("several dialogs begin with %q:%s", word, lines), "type more of the id")
}

func (a *app) dialog(ctx context.Context, word string) error {
	_, c, err := a.askedBy(ctx, word)
	return cli.Answer(a.App, c, err, a.showDialog)
}

func (a *app) listDialogs(list mail.Cards) error {
	if len(list.Cards) == 0 {
		a.Own("No agent has an open dialog.")
		return nil
	}
	rows := make([][]string, 0, len(list.Cards))
	for i := range list.Cards {
		c := &list.Cards[i]
		gist := cli.OneLine(triage.DialogGist(c))
		if !c.Here {
			gist = a.Out.Dim("in its terminal only: ") + gist
		}
		rows = append(rows, []string{cli.OneLine(string(c.ID)), a.Out.Ago(c.Since), cli.OneLine(string(c.Room)),
			cli.OneLine(string(c.Agent)), string(c.Kind), gist})
	}
	a.Out.List(rows, []cli.Step{
		cli.At(5, cli.AtMost(48)), cli.At(2, nil), cli.At(1, cli.Brief), cli.At(4, nil), cli.At(3, cli.AtMost(16)),
		cli.At(5, cli.AtMost(20)),
	}, 1)
	a.Out.Line("%s", a.Out.Dim("To see a dialog: pennypost dialogs ID. To answer it: pennypost answer ID N."))
	return nil
}

// showDialog prints a dialog whole.
func (a *app) showDialog(c *mail.Card) error {
	a.Out.Line("%s", a.Out.Bold(cli.OneLine(triage.DialogTitle(c))))
	a.Out.Line("%s", a.Out.Dim(whoAsks(c)+" · since "+a.Out.Moment(c.Since)))
	if c.Doubt {
		a.Out.Line("It may have been answered at its client already: the post office would not know.")
	}
	if c.Cut {
		a.Out.Line("The text is incomplete, so it cannot be allowed here. Its terminal shows the rest.")
	}
	if c.Path != "" {
		a.Out.Line("%s", cli.OneLine(c.Path))
	}
	for _, text := range []string{c.Text, c.Plan} {
		if text != "" {
			a.Out.Barred(exposed(strings.TrimSuffix(text, "\n")))
			a.Out.Line("%s", a.Out.Dim(cli.OneLine(givenTo(c)+triage.Extent(text))))
		}
	}
	if c.Says != "" {
		a.Out.Line("The model says (unchecked):")
		a.Out.Barred(exposed(c.Says))
	}
	a.showQuestions(c)
	for i := range c.Waiters {
		w := &c.Waiters[i]
		a.Out.Line("%s", a.Out.Dim("Next: "+cli.OneLine(string(w.Asker))+", since "+a.Out.Moment(w.Since)+
			": "+cli.OneLine(w.Subject)))
	}
	a.showAnswers(c)
	return nil
}

// whoAsks names the asker, and where.
func whoAsks(c *mail.Card) string {
	who := cli.OneLine(string(c.Agent))
	if c.Who != "" {
		who += ", its " + cli.OneLine(c.Who)
	}
	for _, part := range []string{c.Client, string(c.Room), string(c.ID)} {
		if part != "" {
			who += " · " + cli.OneLine(part)
		}
	}
	return who
}

// givenTo names the tool that gets a text, and where.
func givenTo(c *mail.Card) (out string) {
	if out = c.Tool; c.Dir != "" {
		out += ", in " + c.Dir
	}
	if out != "" {
		out += " · "
	}
	return out
}

func exposed(text string) string {
	text, _ = triage.Exposed(text)
	return text
}

// choiceName is the command-line name of the n-th answer: its number, unless the numbers are those of a form's
// options.
func choiceName(c *mail.Card, n int, o *triage.DialogChoice) string {
	if _, form := triage.DialogAsks(c); form {
		return string(o.Answer.Verdict)
	}
	return strconv.Itoa(n + 1)
}

// showQuestions prints the questions whose options showAnswers does not number.
func (a *app) showQuestions(c *mail.Card) {
	asks, form := triage.DialogAsks(c)
	single := c.Here && asks && !form
	for i := range c.Questions {
		q := &c.Questions[i]
		if i > 0 || len(c.Questions) > 1 {
			a.Out.Line("%d of %d: %s", i+1, len(c.Questions), cli.OneLine(q.Text))
		} else if cli.OneLine(q.Text) != cli.OneLine(triage.DialogTitle(c)) {
			a.Out.Line("%s", cli.OneLine(q.Text))
		}
		for n, o := range q.Options {
			if !single {
				a.answerLine(strconv.Itoa(n+1), o.Label, o.Note)
			}
		}
		if more := questionTakes(q); more != "" {
			a.Out.Line("%s", a.Out.Dim(more))
		}
	}
}

// questionTakes says which answers a question takes other than one option.
func questionTakes(q *mail.AskedQuestion) string {
	switch {
	case q.Several && q.Free:
		return "One or more, separated by commas, or your own words."
	case q.Several:
		return "One or more, separated by commas."
	case q.Free:
		return "Or your own words."
	}
	return ""
}

// showAnswers lists the answers that can be given here, and how.
func (a *app) showAnswers(c *mail.Card) {
	if !c.Here {
		a.Out.Line("It cannot be answered from here: %s.", cli.OneLine(c.Why))
		return
	}
	id := cli.OneLine(string(c.ID))
	for i, o := range triage.DialogChoices(c) {
		a.answerLine(choiceName(c, i, &o), o.Label, o.Note)
	}
	how := "pennypost answer " + id + " N, then text where the answer takes some."
	if _, form := triage.DialogAsks(c); form {
		how = "pennypost answer " + id + " " + strings.TrimSpace(strings.Repeat("ANSWER ", len(c.Questions))) +
			": numbers, options or words, one argument per question."
	}
	if c.Beside {
		how += " Its client shows the dialog too: the first answer wins."
	}
	a.Out.Line("%s", a.Out.Dim(how))
}

func (a *app) answerLine(name, label, note string) {
	line := "  " + a.Out.Bold(name) + "  " + cli.OneLine(label)
	if note != "" {
		line += "  " + a.Out.Dim(cli.OneLine(note))
	}
	a.Out.Line("%s", line)
}

// completeDialogs offers the ids of dialogs, each with its gist. It offers none in an agent's shell.
func (a *app) completeDialogs(typed string) (words []string) {
	list, _ := a.dialogsAtOnce(typed)
	for i := range list {
		c := &list[i]
		words = append(words, string(c.ID)+"\t"+strings.ReplaceAll(cli.OneLine(string(c.Agent))+": "+
			cli.Shorten(cli.OneLine(triage.DialogGist(c)), cli.HeadlineWidth), "\t", " "))
	}
	return words
}

// dialogsAtOnce fetches dialogs for a person who pressed Tab. It starts no post office.
func (a *app) dialogsAtOnce(begins string) ([]mail.Card, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cli.CompletionPatience)
	defer cancel()
	_, office, err := a.RunningOffice()
	if err != nil {
		return nil, err
	}
	list, err := office.Dialogs(ctx, mail.DialogQuery{ID: mail.ID(begins)})
	return list.Cards, err
}
