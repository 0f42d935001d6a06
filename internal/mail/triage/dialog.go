package triage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// DialogChoice is an answer to a dialog, given by a key press or with words.
type DialogChoice struct {
	Label  string
	Note   string
	Words  bool // the person may add words
	Lasts  bool // it applies beyond this one time
	Answer mail.DialogAnswer
}

// DialogChoices returns the answers to a dialog that one key press can give, in the order of their keys. Several
// questions, or one that takes several options, need a form.
func DialogChoices(c *mail.Card) (list []DialogChoice) {
	for _, o := range c.Offers {
		if o.Verdict == mail.SayAnswer {
			list = append(list, optionsOf(c)...)
			continue
		}
		label, note := refusing(c, &o)
		if o.Verdict == mail.SayAllow {
			label, note = allowing(c, &o)
		}
		if label != "" {
			list = append(list, DialogChoice{label, note, o.Words, o.Rule > 0,
				mail.DialogAnswer{Dialog: c.ID, Sum: c.Sum, Verdict: o.Verdict, Rule: o.Rule}})
		}
	}
	return list
}

// DialogAsks reports whether the questions of a dialog can be answered from elsewhere, and whether that takes a
// form: if there are several, or one that takes several options.
func DialogAsks(c *mail.Card) (asks, form bool) {
	asks = !c.Cut && len(c.Questions) > 0 && slices.ContainsFunc(c.Offers, func(o mail.Offer) bool {
		return o.Verdict == mail.SayAnswer
	})
	return asks, asks && (len(c.Questions) > 1 || c.Questions[0].Several)
}

// refusing describes a refusal.
func refusing(c *mail.Card, o *mail.Offer) (label, note string) {
	switch {
	case c.Kind == mail.AsksPlan:
		label = "Send it back"
	case c.Kind == mail.AsksQuestion:
		label = "Do not answer"
	default:
		label = "Deny"
	}
	if o.Words {
		label += ", and say why"
	}
	return label, o.Writes
}

// allowing describes a permission; label is "" if the dialog is not shown whole.
func allowing(c *mail.Card, o *mail.Offer) (label, note string) {
	switch {
	case c.Cut:
		return "", ""
	case c.Kind == mail.AsksPlan:
		return "Approve the plan", ""
	case o.Rule == 0:
		return "Allow once", "this " + thing(c) + ", this time"
	case o.Session:
		return "Allow for this session", o.Writes
	}
	return "Allow always", o.Writes
}

// optionsOf returns the options of a single question that takes one.
func optionsOf(c *mail.Card) (list []DialogChoice) {
	if asks, form := DialogAsks(c); !asks || form {
		return nil
	}
	for _, o := range c.Questions[0].Options {
		list = append(list, DialogChoice{Label: o.Label, Note: o.Note, Answer: mail.DialogAnswer{Dialog: c.ID,
			Sum: c.Sum, Verdict: mail.SayAnswer, Answers: []mail.QuestionAnswer{{Labels: []string{o.Label}}}}})
	}
	return list
}

// DialogTitle says in one line what a dialog asks.
func DialogTitle(c *mail.Card) string {
	switch {
	case c.Kind == mail.AsksQuestion && len(c.Questions) > 0:
		return c.Questions[0].Text
	case c.Kind == mail.AsksQuestion:
		return fmt.Sprintf("%s has a question for you in its terminal", c.Agent)
	case c.Kind == mail.AsksPlan:
		return fmt.Sprintf("Approve the plan of %s?", c.Agent)
	case c.Kind == mail.AsksForm:
		return fmt.Sprintf("A server of %s has a form for you", c.Agent)
	}
	switch c.Form {
	case mail.FormCommand:
		return fmt.Sprintf("May %s run this command?", c.Agent)
	case mail.FormPatch:
		return fmt.Sprintf("May %s change this?", c.Agent)
	case mail.FormContent:
		return fmt.Sprintf("May %s write this file?", c.Agent)
	case mail.FormURL:
		return fmt.Sprintf("May %s open this address?", c.Agent)
	}
	if c.Tool == "" {
		return fmt.Sprintf("%s needs your permission", c.Agent)
	}
	return fmt.Sprintf("May %s use %s?", c.Agent, c.Tool)
}

// DialogGist returns a dialog's line in a notification or a list: the request, without the agent.
func DialogGist(c *mail.Card) string {
	text := c.Text
	switch {
	case len(c.Questions) > 0:
		text = c.Questions[0].Text
	case c.Plan != "":
		text = c.Plan
	case c.Path != "":
		text = c.Path
	case text == "":
		text = c.Tool
	}
	line, _ := Exposed(strings.Join(strings.Fields(text), " "))
	return line
}

// thing names the thing to be allowed.
func thing(c *mail.Card) string {
	switch c.Form {
	case mail.FormCommand:
		return "command"
	case mail.FormPatch:
		return "change"
	case mail.FormContent:
		return "file"
	case mail.FormURL:
		return "address"
	}
	return "use"
}

// Exposed returns text with its invisible parts written out, such as ⟨U+202E⟩: all control characters but line ends
// and tabs, characters that reorder or join the text around them, and invalid bytes. hidden is their number.
func Exposed(text string) (shown string, hidden int) {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨byte %02X⟩", text[i])
			hidden++
		case r == '\n', r == '\t', unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) &&
			!unicode.Is(unicode.Variation_Selector, r):
			b.WriteString(text[i : i+size])
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			hidden++
		}
		i += size
	}
	return b.String(), hidden
}

// Extent describes the length of a text, and how much of it is invisible.
func Extent(text string) string {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	_, hidden := Exposed(text)
	out := plural(lines, "line") + ", " + plural(utf8.RuneCountInString(text), "character") + ", "
	if hidden == 0 {
		return out + "none hidden"
	}
	return out + strconv.Itoa(hidden) + " of them hidden, and written out here"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
