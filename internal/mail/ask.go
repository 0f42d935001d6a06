package mail

import (
	"slices"
	"unicode/utf8"
)

// MaxAsk is how much, in bytes, of what a dialog asks is held. Of what is longer the person sees the beginning, and
// cannot allow it from the desk.
const MaxAsk = 1 << 20

// Ask is what a dialog asks. The post office of the machine where it stands holds it until it is settled.
type Ask struct {
	// Form says what Text is: a command, a patch, the content of a file, a URL, or what a tool is given, as JSON. All
	// but the last are as the client has them, byte for byte.
	Form AskForm `json:"form,omitempty"`
	Text string  `json:"text,omitempty"`
	Path string  `json:"path,omitempty"` // of the file that is to be written
	Dir  string  `json:"dir,omitempty"`  // in which the client works
	Who  string  `json:"who,omitempty"`  // the subagent that asks, as its client calls it; "": the session itself
	// Says is how the model justifies it. Nobody has checked that.
	Says      string          `json:"says,omitempty"`
	Plan      string          `json:"plan,omitempty"` // Markdown
	Questions []AskedQuestion `json:"questions,omitempty"`
	// Cut says that there is more than is shown: it is longer than MaxAsk, or the client did not say all of it.
	Cut bool `json:"cut,omitzero"`
	// Offers are the answers that the client takes from elsewhere, in its order. None: it takes none.
	Offers []Offer `json:"offers,omitempty"`
}

// AskForm is what the text of an Ask is.
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
	Several bool     `json:"several,omitzero"` // of Options may be chosen
	Free    bool     `json:"free,omitzero"`    // words of one's own are an answer
	Secret  bool     `json:"secret,omitzero"`  // the answer is not to be shown
}

// Choice is an option of a question.
type Choice struct {
	Label string `json:"label"`
	Note  string `json:"note,omitempty"`
}

// Offer is an answer that a client takes.
type Offer struct {
	Verdict Verdict `json:"verdict"`
	// Rule numbers, from 1, what the answer makes the client do from then on, among what it has suggested; 0: it
	// counts once.
	Rule int `json:"rule,omitzero"`
	// Writes is that rule in words: what it allows, and how long or where it is written. Of a refusal that takes no
	// words it says how to tell the model why.
	Writes  string `json:"writes,omitempty"`
	Session bool   `json:"session,omitzero"` // it lasts until the session ends
	Words   bool   `json:"words,omitzero"`   // a text may go along, which the model reads
}

// Verdict is what an answer says.
type Verdict string

// The verdicts. Of a plan, SayAllow approves it, and SayDeny sends it back.
const (
	SayAllow  Verdict = "allow"
	SayDeny   Verdict = "deny"
	SayAnswer Verdict = "answer" // of questions
)

// DialogAnswer is the person's answer to a dialog.
type DialogAnswer struct {
	Dialog  ID      `json:"dialog"`
	Sum     string  `json:"sum"` // as of the dialog that the person saw
	Verdict Verdict `json:"verdict"`
	Rule    int     `json:"rule,omitzero"`
	Words   string  `json:"words,omitempty"`
	// Answers are those of the questions, in their order.
	Answers []QuestionAnswer `json:"answers,omitempty"`
}

// QuestionAnswer answers one question: by labels of its options, by words, or by both.
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
	// Here says that it can be answered from here; if not, Why says why.
	Here bool   `json:"here,omitzero"`
	Why  string `json:"why,omitempty"`
	// Beside says that the client shows its own dialog meanwhile: the first answer wins.
	Beside bool `json:"beside,omitzero"`
	// Behind are agents that wait for Agent, those that have waited longest first.
	Behind []Waiting `json:"behind,omitempty"`
}

// DialogQuery says which dialogs to return.
type DialogQuery struct {
	Rooms []RoomName `query:"room" about:"only these rooms; default: all"`
	ID    ID         `query:"id" about:"only this one, with all of its text; or what its id begins with"`
}

// Cards answers a DialogQuery: those that have waited longest first.
type Cards struct {
	Cards []Card `json:"dialogs"`
}

// maxListed is how much of a text is in a list, in bytes.
const maxListed = 8 << 10

// Short returns a for a list: without the rest of long texts.
func (a Ask) Short() Ask {
	for _, text := range []*string{&a.Text, &a.Plan, &a.Says} {
		if len(*text) > maxListed {
			*text, a.Cut = Begins(*text, maxListed), true
		}
	}
	return a
}

// Begins returns the first bytes of a text, in whole characters.
func Begins(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Fits says why an answer is none to what is asked. Nothing of which a part is not shown can be allowed.
func (a *Ask) Fits(d *DialogAnswer) error {
	if !slices.ContainsFunc(a.Offers, func(o Offer) bool {
		return o.Verdict == d.Verdict && o.Rule == d.Rule && (o.Words || d.Words == "")
	}) {
		return Errorf(Invalid, "the client does not take this answer: nothing was done")
	}
	if a.Cut && d.Verdict != SayDeny {
		return Errorf(Denied, "not all of what is asked can be shown here, so it cannot be allowed here: nothing was "+
			"done. Answer at the client's own dialog, or deny it")
	}
	if d.Verdict != SayAnswer {
		return nil
	}
	if len(d.Answers) != len(a.Questions) {
		return Errorf(Invalid, "%d questions are asked, and %d are answered: nothing was done", len(a.Questions),
			len(d.Answers))
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
			return Errorf(Invalid, "%q is not among the options of %q: nothing was done", label, q.Text)
		}
	}
	switch {
	case len(a.Labels) == 0 && a.Words == "":
		return Errorf(Invalid, "%q is not answered: nothing was done", q.Text)
	case a.Words != "" && !q.Free:
		return Errorf(Invalid, "%q takes one of its options: nothing was done", q.Text)
	case len(a.Labels) > 1 && !q.Several:
		return Errorf(Invalid, "%q takes one option: nothing was done", q.Text)
	}
	return nil
}
