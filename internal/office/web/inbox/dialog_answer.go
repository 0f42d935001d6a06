package inbox

import (
	"strconv"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
)

// maxQuestions limits the questions of a form.
const maxQuestions = 64

// answerDialog sends the person's answer to the client immediately; it cannot be undone. After an error the page
// still has the typed text.
func answerDialog(v *page.View) error {
	form := v.R.PostForm
	a := mail.DialogAnswer{Dialog: mail.ID(form.Get("dialog")), Sum: form.Get("sum"),
		Verdict: mail.Verdict(form.Get("verdict")), Words: typedWords(form.Get("words"))}
	var err error
	if rule := form.Get("rule"); rule != "" {
		if a.Rule, err = strconv.Atoi(rule); err != nil {
			return mail.Errorf(mail.Invalid, "%q is not a rule of the client; nothing was done", rule)
		}
	}
	if a.Verdict == mail.SayAnswer {
		if a.Answers, err = questionAnswers(v, a.Dialog); err != nil {
			return err
		}
	}
	if err := v.Site.Office.AnswerDialog(v.Ctx(), a); err != nil {
		return err
	}
	d := page.Toast{View: v, Text: saidText[a.Verdict], Done: "settled", MS: 6000}
	if a.Rule > 0 {
		d.Text += "; its rule applies from now on"
	}
	return acted(v, d)
}

var saidText = map[mail.Verdict]string{mail.SayAllow: "Allowed", mail.SayDeny: "Denied",
	mail.SayAnswer: "Answered"}

// typedWords trims typed text and turns the CRLF of browsers into LF.
func typedWords(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

// questionAnswers parses a form's answers. Options are numbers, since browsers change line ends in labels.
func questionAnswers(v *page.View, id mail.ID) ([]mail.QuestionAnswer, error) {
	c, _, err := cardOf(v, id)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return nil, mail.Errorf(mail.NotFound, "this dialog is no longer open: it was answered, or its agent has "+
			"ended. Nothing was done")
	case len(c.Questions) > maxQuestions:
		return nil, mail.Errorf(mail.TooLarge, "it has %d questions: answer in its terminal", len(c.Questions))
	}
	list := make([]mail.QuestionAnswer, len(c.Questions))
	for i, q := range c.Questions {
		list[i].Words = typedWords(v.R.PostForm.Get("w" + strconv.Itoa(i)))
		for _, text := range v.R.PostForm["q"+strconv.Itoa(i)] {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n >= len(q.Options) {
				return nil, mail.Errorf(mail.Invalid, "%q has no option %s; nothing was done", q.Text, text)
			}
			list[i].Labels = append(list[i].Labels, q.Options[n].Label)
		}
	}
	return list, nil
}
