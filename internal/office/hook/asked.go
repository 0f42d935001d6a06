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
	mail.Dialog // without its id
	mail.Ask
	Use string // the id of the tool call; "": the client does not send one
	// Beside says that the client shows its dialog while the hook waits, so that the first answer wins. Otherwise the
	// dialog appears only after the hook has ended.
	Beside bool
	// Unseen says that the dialog can end in ways that the client does not report.
	Unseen bool
	// Told says that the client reports the end of the dialog, so that other tool calls of the session, which may run
	// at the same time, do not imply it.
	Told bool
	// Later says that the client sends another event when it shows its dialog, so this event counts only if its hook
	// waits for an answer.
	Later bool
}

// Held is an open dialog.
type Held struct {
	Asked
	Room    mail.RoomName
	Agent   mail.Name
	Client  string
	Session string
	Process string // the process that runs the session, as package process names it
	Opened  time.Time
	// Known is the sum under which the room knows the dialog, if more has been learnt since; "": it is Sum.
	Known string
}

// Shown is the hash of the dialog as the person sees it, with the answers offered. An answer counts for that hash
// only.
func (h *Held) Shown() string {
	text, err := jsonx.Marshal(struct {
		Kind mail.DialogKind
		Tool string
		Ask  mail.Ask
	}{h.Kind, h.Tool, h.Ask})
	if err != nil {
		text = []byte(err.Error()) // no answer matches this
	}
	return sumOf("", text)
}

// sumOf is the hash that identifies a tool call.
func sumOf(tool string, given jsonx.Value) string {
	h := sha256.New()
	h.Write([]byte(tool + "\x00"))
	h.Write(given)
	return hex.EncodeToString(h.Sum(nil))
}

// quick is how long after a dialog opens other tool calls of its session may still start in parallel.
const quick = 2 * time.Second

// Settles reports whether e shows that a dialog of its session is no longer open, and how it ended.
func (e *Event) Settles(d *Held) (how mail.DialogOutcome, over bool) {
	switch {
	case e.Asks != nil, e.Untold: // these settle no dialog
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

// endsWorkers reports whether e shows that the subagents of the turn before have ended. Those of Claude Code continue
// in the background, or report their end.
func (e *Event) endsWorkers() bool { return e.Moment == mail.TurnStart && e.Client != "claude" }

// settlesByUse is Settles for events about a tool call.
func (e *Event) settlesByUse(d *Held) (how mail.DialogOutcome, over bool) {
	switch {
	case d.Tool == "":
		return mail.DialogEnded, e.Moment != ""
	case e.uses(d):
		// Qwen Code asks before it reports the call
		return Used(d.Kind), e.Moment == mail.AfterTool || e.Moment == mail.BeforeTool && e.Client == "qwen"
	case e.Moment == mail.BeforeTool && !d.Told && (d.Worker != "" || e.Client != "claude"):
		return mail.DialogEnded, time.Since(d.Opened) > quick
	}
	return "", false
}

// Used returns the outcome of a dialog whose tool was then used.
func Used(k mail.DialogKind) mail.DialogOutcome {
	if k == mail.AsksQuestion || k == mail.AsksForm {
		return mail.DialogAnswered
	}
	return mail.DialogAllowed
}

// uses reports whether e is about the tool call that the dialog asks about.
func (e *Event) uses(d *Held) bool {
	if e.ToolUse != "" && d.Use != "" {
		return e.ToolUse == d.Use
	}
	return e.Tool == d.Tool && e.Sum() == d.Sum
}

// Sum is the hash of the tool and its input.
func (e *Event) Sum() string {
	if e.sumBy != nil {
		return e.sumBy(e.Tool, e.Input)
	}
	return sumOf(e.Tool, e.Input)
}

// asks makes e the event that opens a dialog about its tool call.
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

// Permission returns a dialog about a tool call, without its identity and offers.
func Permission(tool string, given jsonx.Value) Asked {
	a := Asked{Dialog: mail.Dialog{Kind: mail.AsksPermission, Tool: mail.Begins(tool, mail.MaxName)}}
	a.shows(given)
	a.readable()
	return a
}

// readable makes all texts valid UTF-8 and cuts them to mail.MaxAsk. A changed text counts as cut.
func (a *Asked) readable() {
	for _, text := range []*string{&a.Text, &a.Path, &a.Plan, &a.Says, &a.Dir} {
		if s := mail.Begins(strings.ToValidUTF8(*text, "\uFFFD"), mail.MaxAsk); s != *text {
			*text, a.Cut = s, true
		}
	}
}

// given has the tool input members that we understand.
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

// formulary is a question in the format of Claude Code, Codex, Qwen Code and opencode.
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

// shows fills in the whole tool input for the person. Input that it does not understand is shown as JSON.
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
		a.Plan, a.Cut = g.Plan, g.Plan == "" && !g.only() // without a plan file the client shows no plan either
	case !a.showsText(&g):
		a.Form, a.Text, a.Path, a.Says = mail.FormJSON, Indented(raw), g.FilePath, g.Description
	}
}

// showsText shows input that is one text, byte for byte. It reports whether that text is the whole input.
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

// only reports whether the input has no members other than these.
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

// maxDepth is the deepest JSON that is shown indented: each level costs space in every line.
const maxDepth = 32

// Indented formats JSON for people.
func Indented(raw jsonx.Value) string {
	depth, deepest := 0, 0
	for _, b := range raw { // brackets inside strings count too, which does no harm
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

// asPatch shows the replacement of one text by another as a patch.
func asPatch(old, with string) string {
	var b strings.Builder
	for _, part := range []struct{ mark, text string }{{"-", old}, {"+", with}} {
		for line := range strings.Lines(part.text) {
			b.WriteString(part.mark + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return b.String()
}

// The answers that most clients accept.
var (
	once   = mail.Offer{Verdict: mail.SayAllow}
	refuse = mail.Offer{Verdict: mail.SayDeny, Words: true}
	answer = mail.Offer{Verdict: mail.SayAnswer}
)
