package mail

import (
	"slices"
	"unicode/utf8"
)

// MaxAsk is the limit, in bytes, on the stored text of a dialog. Of a longer one the person sees the beginning, and
// cannot allow it from the desk.
const MaxAsk = 1 << 20

// Ask is the content of a dialog. The post office of its machine holds it until it is settled.
type Ask struct {
	// Form says what Text is: a command, a patch, the content of a file, a URL, or a tool's input as JSON. All but
	// the last are byte for byte as the client has them.
	Form AskForm `json:"form,omitempty"`
	Text string  `json:"text,omitempty"`
	Path string  `json:"path,omitempty"` // of the file to be written
	Dir  string  `json:"dir,omitempty"`  // the client's working directory
	Who  string  `json:"who,omitempty"`  // the subagent that asks, as its client calls it; "": the session itself
	// Says is the model's justification. It is not verified.
	Says      string          `json:"says,omitempty"`
	Plan      string          `json:"plan,omitempty"` // Markdown
	Questions []AskedQuestion `json:"questions,omitempty"`
	// Cut says that the content is incomplete: it exceeds MaxAsk, or the client did not report all of it.
	Cut bool `json:"cut,omitzero"`
	// Offers are the answers that the client accepts from elsewhere, in its order. None: it accepts none.
	Offers []Offer `json:"offers,omitempty"`
}

// AskForm is the kind of an Ask's text.
type AskForm string

// The forms.
const (
	FormCommand AskForm = "command"
	FormPatch   AskForm = "patch"
	FormContent AskForm = "content"
	FormURL     AskForm = "url"
	FormJSON    AskForm = "json"
)

// AskedQuestion is one question of a dialog.
type AskedQuestion struct {
	Header  string   `json:"header,omitempty"`
	Text    string   `json:"text"`
	Options []Choice `json:"options,omitempty"`
	Several bool     `json:"several,omitzero"` // several Options may be chosen
	Free    bool     `json:"free,omitzero"`    // free text is an answer
	Secret  bool     `json:"secret,omitzero"`  // the answer must not be shown
}

// Choice is an option of a question.
type Choice struct {
	Label string `json:"label"`
	Note  string `json:"note,omitempty"`
}

// Offer is an answer that a client accepts.
type Offer struct {
	Verdict Verdict `json:"verdict"`
	// Rule is the number, from 1, of the client's suggested rule that the answer puts in force; 0: the answer
	// counts once.
	Rule int `json:"rule,omitzero"`
	// Writes describes that rule: what it allows, and how long it lasts or where it is written. For a refusal
	// without words it says how to tell the model why.
	Writes  string `json:"writes,omitempty"`
	Session bool   `json:"session,omitzero"` // it lasts until the session ends
	Words   bool   `json:"words,omitzero"`   // a text may be added, which the model reads
}

// Verdict is what an answer says.
type Verdict string

// The verdicts. SayAllow approves a plan, and SayDeny sends it back.
const (
	SayAllow  Verdict = "allow"
	SayDeny   Verdict = "deny"
	SayAnswer Verdict = "answer" // to questions
)

// DialogAnswer is the person's answer to a dialog.
type DialogAnswer struct {
	Dialog  ID      `json:"dialog"`
	Sum     string  `json:"sum"` // as in the dialog that the person saw
	Verdict Verdict `json:"verdict"`
	Rule    int     `json:"rule,omitzero"`
	Words   string  `json:"words,omitempty"`
	// Answers are the answers to the questions, in their order.
	Answers []QuestionAnswer `json:"answers,omitempty"`
}

// QuestionAnswer answers one question with labels of its options, with words, or with both.
type QuestionAnswer struct {
	Labels []string `json:"labels,omitempty"`
	Words  string   `json:"words,omitempty"`
}

// Card is a dialog as the person sees it.
type Card struct {
	Room   RoomName `json:"room"`
	Agent  Name     `json:"agent"`
	Client string   `json:"client,omitempty"`
	Dialog
	Ask
	// Here says that it can be answered from here; if not, Why gives the reason.
	Here bool   `json:"here,omitzero"`
	Why  string `json:"why,omitempty"`
	// Beside says that the client also shows its own dialog: the first answer wins.
	Beside bool `json:"beside,omitzero"`
	// Waiters are agents that wait for Agent, longest wait first.
	Waiters []Waiting `json:"waiters,omitempty"`
}

// DialogQuery selects dialogs.
type DialogQuery struct {
	Rooms []RoomName `query:"room" about:"only these rooms; default: all"`
	ID    ID         `query:"id" about:"only the dialog whose id is this or begins with it, with its whole text"`
}

// Cards answers a DialogQuery, longest wait first.
type Cards struct {
	Cards []Card `json:"dialogs"`
}

// maxListed is the limit on a text in a list, in bytes.
const maxListed = 8 << 10

// Short returns a for a list: long texts are truncated.
func (a Ask) Short() Ask {
	for _, text := range []*string{&a.Text, &a.Plan, &a.Says} {
		if len(*text) > maxListed {
			*text, a.Cut = Begins(*text, maxListed), true
		}
	}
	return a
}

// Begins returns at most the first most bytes of text, in whole characters.
func Begins(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Fits returns an error if the answer d does not fit the dialog. Nothing that is shown only in part can be allowed.
func (a *Ask) Fits(d *DialogAnswer) error {
	if !slices.ContainsFunc(a.Offers, func(o Offer) bool {
		return o.Verdict == d.Verdict && o.Rule == d.Rule && (o.Words || d.Words == "")
	}) {
		return Errorf(Invalid, "the client does not accept this answer: nothing was done")
	}
	if a.Cut && d.Verdict != SayDeny {
		return Errorf(Denied, "parts of the dialog cannot be shown here, so it cannot be allowed here: nothing was "+
			"done. Answer at the client's own dialog, or deny it")
	}
	if d.Verdict != SayAnswer {
		return nil
	}
	if len(d.Answers) != len(a.Questions) {
		return Errorf(Invalid, "the dialog has %d questions, and the answer covers %d: nothing was done",
			len(a.Questions), len(d.Answers))
	}
	for i := range a.Questions {
		if err := a.Questions[i].fits(&d.Answers[i]); err != nil {
			return err
		}
	}
	return nil
}

func (q *AskedQuestion) fits(a *QuestionAnswer) error {
	for _, label := range a.Labels {
		if !slices.ContainsFunc(q.Options, func(c Choice) bool { return c.Label == label }) {
			return Errorf(Invalid, "%q is not an option of %q: nothing was done", label, q.Text)
		}
	}
	switch {
	case len(a.Labels) == 0 && a.Words == "":
		return Errorf(Invalid, "%q has no answer: nothing was done", q.Text)
	case a.Words != "" && !q.Free:
		return Errorf(Invalid, "%q takes one of its options: nothing was done", q.Text)
	case len(a.Labels) > 1 && !q.Several:
		return Errorf(Invalid, "%q takes only one option: nothing was done", q.Text)
	}
	return nil
}
