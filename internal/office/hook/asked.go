package hook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Asked is a dialog that an event opens.
type Asked struct {
	mail.Dialog // but for its id
	mail.Ask
	Use string // the id of the tool's use; "": the client does not say
	// Beside says that the client shows its dialog while the hook waits, so that the first answer wins. Else it is
	// shown only when the hook has ended.
	Beside bool
	// Unseen says that the client does not tell of every way in which its dialog ends.
	Unseen bool
	// Told says that the client tells when the dialog is over, so that other tools of the session say nothing of it:
	// they may run at the same time.
	Told bool
	// Later says that the client tells again when it shows its dialog, so that now only somebody who waits is told.
	Later bool
}

// Held is a dialog that is open.
type Held struct {
	Asked
	Room    mail.RoomName
	Agent   mail.Name
	Client  string
	Session string
	Process string // that runs the session, as package process names it
	Opened  time.Time
	// Known is the sum by which the room knows the dialog, where more was learnt of it since; "": it is Sum.
	Known string
}

// Shown is the hash of all that the person is shown of a dialog, and of the answers that are offered: an answer is for
// that, and for nothing else.
func (h *Held) Shown() string {
	text, err := jsonx.Marshal(struct {
		Kind mail.DialogKind
		Tool string
		Ask  mail.Ask
	}{h.Kind, h.Tool, h.Ask})
	if err != nil {
		text = []byte(err.Error()) // which no answer is for
	}
	return sumOf("", text)
}

// sumOf is the hash by which a use of a tool is found again.
func sumOf(tool string, given jsonx.Value) string {
	h := sha256.New()
	h.Write([]byte(tool + "\x00"))
	h.Write(given)
	return hex.EncodeToString(h.Sum(nil))
}

// quick is how long after a dialog has opened its session may begin to use other tools at the same time.
const quick = 2 * time.Second

// Settles reports whether e shows that a dialog of its session is not open any more, and how it ended.
func (e *Event) Settles(d *Held) (how mail.DialogOutcome, over bool) {
	switch {
	case e.Asks != nil, e.Untold: // the moment of it is none
		return "", false
	case e.Given:
		return cmp.Or(e.Outcome, mail.DialogEnded), e.Worker == d.Worker && e.Sum() == d.Sum
	case e.Moment == mail.SessionEnd, e.Moment == mail.SessionStart && !e.Compacted:
		return mail.DialogEnded, e.Worker == ""
	case e.Moment == mail.TurnStart && !e.Within, e.Moment == mail.TurnEnd:
		return mail.DialogEnded, e.Worker == "" && (d.Worker == "" || e.endsWorkers())
	case e.Worker != d.Worker:
		return "", false
	case e.LeftWorker:
		return mail.DialogEnded, true
	}
	return e.settlesByUse(d)
}

// endsWorkers reports whether the subagents of a session have ended with the turn before. Those of Claude Code go on
// in the background, or tell of their end.
func (e *Event) endsWorkers() bool { return e.Moment == mail.TurnStart && e.Client != "claude" }

// settlesByUse is Settles for what e tells of the use of a tool.
func (e *Event) settlesByUse(d *Held) (how mail.DialogOutcome, over bool) {
	switch {
	case d.Tool == "":
		return mail.DialogEnded, e.Moment != ""
	case e.uses(d):
		// Qwen Code asks before it tells of the use
		return Used(d.Kind), e.Moment == mail.AfterTool || e.Moment == mail.BeforeTool && e.Client == "qwen"
	case e.Moment == mail.BeforeTool && !d.Told && (d.Worker != "" || e.Client != "claude"):
		return mail.DialogEnded, time.Since(d.Opened) > quick
	}
	return "", false
}

// Used is how a dialog of a kind ended if what it asked for was done.
func Used(k mail.DialogKind) mail.DialogOutcome {
	if k == mail.AsksQuestion || k == mail.AsksForm {
		return mail.DialogAnswered
	}
	return mail.DialogAllowed
}

// uses reports whether e is of the use of a tool for which a dialog asks.
func (e *Event) uses(d *Held) bool {
	if e.ToolUse != "" && d.Use != "" {
		return e.ToolUse == d.Use
	}
	return e.Tool == d.Tool && e.Sum() == d.Sum
}

// Sum is the hash of the tool and what it is given.
func (e *Event) Sum() string {
	if e.sumBy != nil {
		return e.sumBy(e.Tool, e.Input)
	}
	return sumOf(e.Tool, e.Input)
}

// asks makes e the event that opens a dialog about the use of its tool.
func (e *Event) asks(kind mail.DialogKind, offers ...mail.Offer) *Asked {
	a := &Asked{Dialog: mail.Dialog{Kind: kind, Tool: e.Tool, Sum: e.Sum(), Worker: e.Worker}, Use: e.ToolUse}
	a.Offers, a.Dir = offers, e.Session.Dir
	a.shows(e.Input)
	a.readable()
	if !e.Given {
		e.Asks = a
	}
	return a
}

// Permission is a dialog about the use of a tool, but for what identifies it and the answers to it.
func Permission(tool string, given jsonx.Value) Asked {
	a := Asked{Dialog: mail.Dialog{Kind: mail.AsksPermission, Tool: mail.Begins(tool, mail.MaxName)}}
	a.shows(given)
	a.readable()
	return a
}

// readable has all texts be UTF-8, and at most as long as is held. What is changed by that is not whole any more.
func (a *Asked) readable() {
	for _, text := range []*string{&a.Text, &a.Path, &a.Plan, &a.Says, &a.Dir} {
		if s := mail.Begins(strings.ToValidUTF8(*text, "\uFFFD"), mail.MaxAsk); s != *text {
			*text, a.Cut = s, true
		}
	}
}

// given is what tools are given whose members have a meaning that we know.
type given struct {
	Command     string      `json:"command"`
	Description string      `json:"description"`
	FilePath    string      `json:"file_path"`
	URL         string      `json:"url"`
	Content     *string     `json:"content"`
	Old         *string     `json:"old_string"`
	New         *string     `json:"new_string"`
	Plan        string      `json:"plan"`
	Questions   []formulary `json:"questions"`

	members map[string]jsonx.Value
}

// formulary is a question as Claude Code, Codex, Qwen Code and opencode have it.
type formulary struct {
	Header      string `json:"header"`
	Question    string `json:"question"`
	MultiSelect bool   `json:"multiSelect"`
	Multiple    bool   `json:"multiple"`
	IsOther     *bool  `json:"isOther"`
	Custom      *bool  `json:"custom"`
	IsSecret    bool   `json:"isSecret"`
	Options     []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// shows fills in what a person has to see of what a tool is given: all of it. Members that this does not know are
// shown as JSON.
func (a *Asked) shows(raw jsonx.Value) {
	if len(raw) > mail.MaxAsk {
		a.Form, a.Text, a.Cut = mail.FormJSON, mail.Begins(string(raw), mail.MaxAsk), true
		return
	}
	var g given
	if jsonx.UnmarshalLenient(raw, &g) != nil {
		g = given{}
	}
	_ = jsonx.UnmarshalLenient(raw, &g.members)
	switch {
	case a.Kind == mail.AsksQuestion && len(g.Questions) > 0:
		for _, q := range g.Questions {
			a.Questions = append(a.Questions, q.asked())
		}
	case a.Kind == mail.AsksPlan:
		a.Plan, a.Cut = g.Plan, g.Plan == "" && !g.only() // without a file the client shows none either
	case !a.showsText(&g):
		a.Form, a.Text, a.Path, a.Says = mail.FormJSON, Indented(raw), g.FilePath, g.Description
	}
}

// showsText is shows for what is one text, byte for byte. It reports whether that is all that the tool is given.
func (a *Asked) showsText(g *given) bool {
	switch {
	case g.Command != "" && a.Tool == "apply_patch" && g.only("command"):
		a.Form, a.Text = mail.FormPatch, g.Command
	case g.Command != "" && g.only("command", "description", "timeout", "is_background", "run_in_background"):
		a.Form, a.Text, a.Says = mail.FormCommand, g.Command, g.Description
	case g.Content != nil && g.only("file_path", "content"):
		a.Form, a.Text, a.Path = mail.FormContent, *g.Content, g.FilePath
	case g.Old != nil && g.New != nil && g.only("file_path", "old_string", "new_string"):
		a.Form, a.Text, a.Path = mail.FormPatch, asPatch(*g.Old, *g.New), g.FilePath
	case g.URL != "" && g.only("url"):
		a.Form, a.Text = mail.FormURL, g.URL
	default:
		return false
	}
	return true
}

// only reports whether the tool is given nothing but these.
func (g *given) only(names ...string) bool {
	for name := range g.members {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

func (q *formulary) asked() mail.AskedQuestion {
	out := mail.AskedQuestion{Header: q.Header, Text: q.Question, Several: q.MultiSelect || q.Multiple,
		Free: (q.IsOther == nil || *q.IsOther) && (q.Custom == nil || *q.Custom), Secret: q.IsSecret}
	for _, o := range q.Options {
		out.Options = append(out.Options, mail.Choice{Label: o.Label, Note: o.Description})
	}
	return out
}

// maxDepth is how deep JSON may be that is shown with lines: each level is paid for in each line.
const maxDepth = 32

// Indented is JSON for people to read.
func Indented(raw jsonx.Value) string {
	depth, deepest := 0, 0
	for _, b := range raw { // brackets in texts count too, which does no harm
		switch b {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	if deepest > maxDepth {
		return string(raw)
	}
	return string(jsonx.AppendIndented(nil, raw, 0))
}

// asPatch shows that a text is replaced by another.
func asPatch(old, with string) string {
	var b strings.Builder
	for _, part := range []struct{ mark, text string }{{"-", old}, {"+", with}} {
		for line := range strings.Lines(part.text) {
			b.WriteString(part.mark + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return b.String()
}

// The answers that most clients take.
var (
	once   = mail.Offer{Verdict: mail.SayAllow}
	refuse = mail.Offer{Verdict: mail.SayDeny, Words: true}
	answer = mail.Offer{Verdict: mail.SayAnswer}
)
