package room

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// answerDialog gives the typed answer.
func (a *app) answerDialog(ctx context.Context, word string, said []string) error {
	office, c, err := a.askedBy(ctx, word)
	if err != nil {
		return err
	}
	if !c.Here {
		return mail.Errorf(mail.Conflict, "it cannot be answered from here: %s. Nothing was done", c.Why)
	}
	answer, what, err := dialogAnswer(c, said)
	if err != nil {
		return err
	}
	err = office.AnswerDialog(ctx, answer)
	return a.Said(err, struct {
		Answered mail.ID           `json:"answered"`
		Agent    mail.Name         `json:"agent"`
		As       mail.DialogAnswer `json:"as"`
	}{c.ID, c.Agent, answer}, "%s has your answer: %s.", cli.OneLine(string(c.Agent)), cli.OneLine(what))
}

// dialogAnswer parses an answer: its number or label, or allow or deny, and words after it; for questions one
// argument each: numbers or labels separated by commas, or words of one's own. what is the answer for the
// confirmation.
func dialogAnswer(c *mail.Card, said []string) (answer mail.DialogAnswer, what string, err error) {
	for i := len(said); i > 0; i-- { // a label may have been typed without quotes
		o, err := choiceCalled(c, strings.Join(said[:i], " "))
		if o == nil && err == nil {
			continue
		}
		words := strings.Join(said[i:], " ")
		switch {
		case err != nil:
			return answer, "", err
		case words != "" && !o.Words:
			return answer, "", cli.Usage("%q takes no further text, and %q follows it. Nothing was done", o.Label,
				words)
		}
		o.Answer.Words = words
		return o.Answer, o.Label, nil
	}
	if asks, _ := triage.DialogAsks(c); !asks {
		return answer, "", cli.Usage("%q is not one of the answers. Nothing was done. They are:%s", said[0],
			choiceLines(c))
	}
	if len(c.Questions) == 1 {
		said = []string{strings.Join(said, " ")}
	}
	if len(said) != len(c.Questions) {
		return answer, "", cli.Hinted(cli.Usage("%d questions are asked, and %d answered: give one argument for "+
			"each, in quotes if it has spaces. Nothing was done", len(c.Questions), len(said)),
			"pennypost dialogs "+string(c.ID)+" prints them")
	}
	answer = mail.DialogAnswer{Dialog: c.ID, Sum: c.Sum, Verdict: mail.SayAnswer}
	var given []string
	for i := range c.Questions {
		q, err := questionAnswer(c, i, said[i])
		if err != nil {
			return answer, "", err
		}
		answer.Answers = append(answer.Answers, q)
		if given = append(given, cmp.Or(strings.Join(q.Labels, ", "), q.Words)); c.Questions[i].Secret {
			given[i] = "…"
		}
	}
	return answer, strings.Join(given, "; "), nil
}

// choiceCalled returns the answer with a label or a name, or the one that allow or deny means; nil: there is none.
func choiceCalled(c *mail.Card, text string) (*triage.DialogChoice, error) {
	var found *triage.DialogChoice
	choices := triage.DialogChoices(c)
	for i := range choices {
		o := &choices[i]
		verdict := !o.Lasts && o.Answer.Verdict != mail.SayAnswer && strings.EqualFold(text, string(o.Answer.Verdict))
		if !strings.EqualFold(text, o.Label) && !verdict && text != choiceName(c, i, o) {
			continue
		}
		if found != nil {
			return nil, cli.Usage("%q matches two of the answers. Nothing was done. They are:%s", text,
				choiceLines(c))
		}
		found = o
	}
	return found, nil
}

// choiceLines lists the answers, for an error.
func choiceLines(c *mail.Card) (lines string) {
	for i, o := range triage.DialogChoices(c) {
		lines += "\n" + choiceName(c, i, &o) + "  " + cli.OneLine(o.Label)
	}
	return lines
}

// questionAnswer parses the answer to the n-th question.
func questionAnswer(c *mail.Card, n int, text string) (out mail.QuestionAnswer, err error) {
	q := &c.Questions[n]
	if o := optionCalled(q, text); o != "" { // its label may contain commas
		return mail.QuestionAnswer{Labels: []string{o}}, nil
	}
	parts := strings.Split(text, ",")
	for _, part := range parts {
		o := optionCalled(q, strings.TrimSpace(part))
		if o != "" && !slices.Contains(out.Labels, o) {
			out.Labels = append(out.Labels, o)
		}
		if o == "" {
			out.Labels = nil
			break
		}
	}
	lines := ""
	for i, o := range q.Options {
		lines += "\n" + strconv.Itoa(i+1) + "  " + cli.OneLine(o.Label)
	}
	switch {
	case len(out.Labels) > 1 && !q.Several:
		return out, cli.Usage("%q takes only one of its options. Nothing was done. They are:%s", cli.OneLine(q.Text),
			lines)
	case len(out.Labels) > 0:
		return out, nil
	case strings.TrimSpace(text) == "":
		return out, cli.Usage("%q is not answered. Nothing was done. The options are:%s", cli.OneLine(q.Text), lines)
	case !q.Free || isNumber(text) && len(q.Options) > 0: // a number always means an option
		return out, cli.Usage("%q is not one of the options of %q. Nothing was done. They are:%s", text,
			cli.OneLine(q.Text), lines)
	}
	return mail.QuestionAnswer{Words: text}, nil
}

// optionCalled returns the option of a question with this label or number; "": there is none, or one option's label
// is another's number.
func optionCalled(q *mail.AskedQuestion, text string) (found string) {
	for i, o := range q.Options {
		switch {
		case !strings.EqualFold(text, o.Label) && text != strconv.Itoa(i+1):
		case found != "":
			return ""
		default:
			found = o.Label
		}
	}
	return found
}

// completeChoices offers the answers to a dialog.
func (a *app) completeChoices(given []string) (words []string) {
	list, _ := a.dialogsAtOnce(given[0])
	if len(list) != 1 || !list[0].Here {
		return nil
	}
	c := &list[0]
	_, form := triage.DialogAsks(c)
	if n := len(given) - 1; form && n < len(c.Questions) {
		for i, o := range c.Questions[n].Options {
			words = append(words, strconv.Itoa(i+1)+"\t"+cli.OneLine(o.Label))
		}
	}
	if len(given) > 1 {
		return words
	}
	for i, o := range triage.DialogChoices(c) {
		words = append(words, choiceName(c, i, &o)+"\t"+strings.TrimSpace(cli.OneLine(o.Label+" "+o.Note)))
	}
	return words
}

// completeAnswer offers the person's dialogs and questions, and after one of them its answers.
func (a *app) completeAnswer(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(given) > 0 && isDialog(given[0]) {
		return a.completeChoices(given), directive
	}
	words, _ := a.completeQuestion(cmd, given, typed)
	if len(given) == 0 && (typed == "" || isDialog(typed) || typed == "d") {
		words = append(a.completeDialogs(typed), words...)
	}
	return words, directive
}
