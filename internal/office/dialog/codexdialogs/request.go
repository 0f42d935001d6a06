package codexdialogs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/appserver"
	"pennypost/internal/office/hook"
)

// request is one that the server wants its person to answer.
type request struct {
	hook.Asked             // as it is on the desk
	id         jsonx.Value // by which the server knows it
	item       string      // of the turn, which is the use of the tool; "": the server does not say
	// reply returns what an answer that fits is to the server; nil: nothing that it would understand.
	reply func(*mail.DialogAnswer) any

	card   mail.ID
	shown  string             // what the person is shown, as Held.Shown has it
	leave  context.CancelFunc // ends the wait for the person; nil: nobody waits
	sent   mail.Verdict       // the person's, which the server was given; "": none was
	missed time.Time          // since when it is not on the desk, while it stands

	over     time.Time // since when it is known not to stand; zero: it does
	resolved bool      // the server has an answer, of us or another
	done     bool      // its item is
	declined bool      // and that because the answer was no
}

// readRequest reads a request; nil: nobody is to be asked for it here.
func readRequest(m *appserver.Message, changes map[string][]change) *request {
	read := map[string]func(*request, jsonx.Value) bool{
		"item/commandExecution/requestApproval": (*request).readCommand,
		"item/fileChange/requestApproval": func(r *request, params jsonx.Value) bool {
			return r.readPatch(params, changes)
		},
		"item/permissions/requestApproval": (*request).readPermissions,
		"item/tool/requestUserInput":       (*request).readQuestions,
		"mcpServer/elicitation/request":    (*request).readElicitation,
	}[m.Method]
	if read == nil {
		return nil
	}
	r := &request{id: slices.Clone(m.ID)}
	r.Beside = true
	if !read(r, m.Params) || len(r.item) > mail.MaxName {
		return nil
	}
	r.Use = r.item
	r.bound(m.Params)
	sum := sha256.New()
	fmt.Fprintf(sum, "codex\x00%s\x00%s\x00%s\x00%s", m.Method, m.ID, m.Params, r.Text)
	r.Sum = hex.EncodeToString(sum.Sum(nil))
	return r
}

// bound makes what is asked such as the desk and the room take it. What of it is not shown as it is cannot be allowed.
func (r *request) bound(params jsonx.Value) {
	if r.Cut = r.Cut || !utf8.Valid(params); len(params) > mail.MaxAsk {
		if r.Cut = true; len(r.Questions) > 0 {
			r.Questions, r.Form, r.Text = nil, mail.FormJSON, string(params)
		}
		r.Offers = slices.DeleteFunc(r.Offers, func(o mail.Offer) bool { return o.Verdict != mail.SayDeny })
	}
	for _, text := range []*string{&r.Text, &r.Says, &r.Dir} {
		r.shorten(text, mail.MaxAsk)
	}
	tool := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, r.Tool)
	r.Cut, r.Tool = r.Cut || tool != r.Tool, tool
	r.shorten(&r.Tool, mail.MaxName)
}

// shorten has a text be valid, and have no more bytes than most.
func (r *request) shorten(text *string, most int) {
	is := mail.Begins(strings.ToValidUTF8(*text, "\uFFFD"), most)
	r.Cut, *text = r.Cut || is != *text, is
}

// complete makes a dialog on the desk that of the request. What a hook told of it counts no more.
func (r *request) complete(h *hook.Held) {
	use, worker, who := h.Use, h.Worker, h.Who
	id, since, doubt := h.ID, h.Since, h.Doubt
	h.Asked = r.Asked
	h.ID, h.Since, h.Doubt, h.Worker, h.Who = id, since, doubt, worker, who
	if h.Use == "" {
		h.Use = use
	}
}

// answer returns what the person's answer is to the server, if it is one to what stands on the desk.
func (r *request) answer(a *mail.DialogAnswer) any {
	if r.reply == nil || r.Fits(a) != nil {
		return nil
	}
	return r.reply(a)
}

// tells reports whether the server may tell of a request that was declined.
func (r *request) tells() bool { return r.item != "" && r.Kind == mail.AsksPermission }

// patience is how long the server may take to say how it ended.
func (r *request) patience() time.Duration {
	if r.sent != "" && !r.denies() {
		return saidTime
	}
	return toldTime
}

// denies reports whether the server was given a refusal of which it tells when it has taken it.
func (r *request) denies() bool { return r.sent == mail.SayDeny && r.tells() }

// took reports whether the answer that was sent is what became of the request, as far as the server tells: another may
// have been faster. What was allowed may run for hours before that shows; what was declined is done at once.
func (r *request) took() bool {
	switch {
	case r.sent == "" || !r.resolved:
		return false
	case r.denies():
		return r.done && r.declined
	}
	return !r.done || r.declined == (r.sent == mail.SayDeny)
}

// how returns how it ended.
func (r *request) how() mail.DialogOutcome {
	switch {
	case r.declined:
		return mail.DialogDenied
	case r.took():
		return map[mail.Verdict]mail.DialogOutcome{mail.SayAllow: mail.DialogAllowed, mail.SayDeny: mail.DialogDenied,
			mail.SayAnswer: mail.DialogAnswered}[r.sent]
	case r.resolved && r.done && r.tells():
		return mail.DialogAllowed
	}
	return mail.DialogEnded
}

// The answers that Codex takes. No text goes with a refusal.
var (
	once   = mail.Offer{Verdict: mail.SayAllow}
	refuse = mail.Offer{Verdict: mail.SayDeny, Writes: "Codex takes no words with it: write them as mail"}
)

// decision is the reply to a request of approval.
type decision struct {
	Decision any `json:"decision"`
}

const (
	accept  = "accept"
	session = "acceptForSession"
	decline = "decline"
)

// readCommand reads whether a command may run.
func (r *request) readCommand(params jsonx.Value) bool {
	var p struct {
		Kind      string        `json:"kind"`
		Item      string        `json:"itemId"`
		Reason    string        `json:"reason"`
		Command   *string       `json:"command"`
		Dir       string        `json:"cwd"`
		Network   jsonx.Value   `json:"networkApprovalContext"`
		More      jsonx.Value   `json:"additionalPermissions"`
		Available []jsonx.Value `json:"availableDecisions"`
	}
	if jsonx.UnmarshalLenient(params, &p) != nil || p.Item == "" {
		return false
	}
	r.Kind, r.Tool, r.item, r.Dir, r.Says = mail.AsksPermission, "Bash", p.Item, p.Dir, p.Reason
	if p.Command == nil || p.Kind != "" && p.Kind != "command" || given(p.Network) || given(p.More) {
		// The person sees all of it, and allows it where the client explains it.
		r.Form, r.Text, r.Offers = mail.FormJSON, hook.Indented(params), []mail.Offer{refuse}
	} else {
		r.Form, r.Text, r.Offers = mail.FormCommand, script(*p.Command), commandOffers(p.Available)
	}
	r.reply = func(a *mail.DialogAnswer) any {
		switch {
		case a.Verdict == mail.SayDeny:
			return decision{decline}
		case a.Rule > 0:
			return decision{p.Available[a.Rule-1]}
		}
		return decision{accept}
	}
	return true
}

func given(v jsonx.Value) bool { return len(v) > 0 && string(v) != "null" }

// commandOffers returns the answers about a command among those that the client shows.
func commandOffers(available []jsonx.Value) (offers []mail.Offer) {
	if len(available) == 0 {
		return []mail.Offer{once, refuse}
	}
	for i, raw := range available {
		var name string
		var rule struct {
			Rule *struct {
				Words []string `json:"execpolicy_amendment"`
			} `json:"acceptWithExecpolicyAmendment"`
		}
		switch {
		case jsonx.UnmarshalLenient(raw, &name) == nil && name == accept:
			offers = append(offers, once)
		case name == session:
			offers = append(offers, mail.Offer{Verdict: mail.SayAllow, Rule: i + 1, Session: true,
				Writes: "this command, until this session ends"})
		case jsonx.UnmarshalLenient(raw, &rule) == nil && rule.Rule != nil && len(rule.Rule.Words) > 0:
			writes := "commands that begin with " + quoted(rule.Rule.Words) + ", always: rules/default.rules of Codex"
			offers = append(offers, mail.Offer{Verdict: mail.SayAllow, Rule: i + 1, Writes: writes})
		}
	}
	return append(offers, refuse)
}

// quoted are words, each in quotation marks.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, " ")
}

// change is that of a file.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		Move string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// readPatch reads whether files may be changed. The request does not name them: that does the item which the thread's
// listeners have been told of.
func (r *request) readPatch(params jsonx.Value, changes map[string][]change) bool {
	var p struct {
		Item   string      `json:"itemId"`
		Reason string      `json:"reason"`
		Root   jsonx.Value `json:"grantRoot"`
	}
	if jsonx.UnmarshalLenient(params, &p) != nil || p.Item == "" {
		return false
	}
	r.Kind, r.Tool, r.item, r.Says = mail.AsksPermission, "apply_patch", p.Item, p.Reason
	r.Form, r.Text = mail.FormPatch, patch(changes[p.Item])
	r.Cut = r.Text == ""
	r.Offers = []mail.Offer{once, {Verdict: mail.SayAllow, Rule: 1, Session: true,
		Writes: "changes of these files, until this session ends"}, refuse}
	if given(p.Root) { // it grants more than these changes
		r.Offers, r.Says = []mail.Offer{refuse}, strings.TrimSpace(p.Reason+"\ngrantRoot: "+string(p.Root))
	}
	r.reply = func(a *mail.DialogAnswer) any {
		switch {
		case a.Verdict == mail.SayDeny:
			return decision{decline}
		case a.Rule > 0:
			return decision{session}
		}
		return decision{accept}
	}
	return true
}

// patch shows changes of files in the form that models write them.
func patch(changes []change) string {
	var b strings.Builder
	for _, c := range changes {
		switch c.Kind.Type {
		case "add", "delete":
			head, mark := "*** Add File: ", "+"
			if c.Kind.Type == "delete" {
				head, mark = "*** Delete File: ", "-"
			}
			b.WriteString(head + onLine(c.Path) + "\n")
			for line := range strings.Lines(c.Diff) {
				b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
			}
		default:
			b.WriteString("*** Update File: " + onLine(c.Path) + "\n")
			if c.Kind.Move != "" {
				b.WriteString("*** Move to: " + onLine(c.Kind.Move) + "\n")
			}
			b.WriteString(strings.TrimSuffix(c.Diff, "\n") + "\n")
		}
	}
	return b.String()
}

// onLine is the path of a file on one line.
func onLine(p string) string {
	if strings.ContainsFunc(p, unicode.IsControl) {
		return strconv.Quote(p)
	}
	return p
}

// readPermissions reads whether a model may do more from now on. That is answered in the terminal.
func (r *request) readPermissions(params jsonx.Value) bool {
	var p struct {
		Item   string `json:"itemId"`
		Dir    string `json:"cwd"`
		Reason string `json:"reason"`
	}
	if jsonx.UnmarshalLenient(params, &p) != nil {
		return false
	}
	r.Kind, r.Tool, r.item, r.Dir, r.Says = mail.AsksPermission, "request_permissions", p.Item, p.Dir, p.Reason
	r.Form, r.Text = mail.FormJSON, hook.Indented(params)
	return true
}

// readQuestions reads questions with options.
func (r *request) readQuestions(params jsonx.Value) bool {
	var p struct {
		Item      string `json:"itemId"`
		Questions []struct {
			ID       string `json:"id"`
			Header   string `json:"header"`
			Question string `json:"question"`
			Other    bool   `json:"isOther"`
			Secret   bool   `json:"isSecret"`
			Options  []struct {
				Label       string `json:"label"`
				Description string `json:"description"`
			} `json:"options"`
		} `json:"questions"`
	}
	if jsonx.UnmarshalLenient(params, &p) != nil || p.Item == "" || len(p.Questions) == 0 {
		return false
	}
	r.Kind, r.Tool, r.item = mail.AsksQuestion, "request_user_input", p.Item
	ids := make(map[string]bool)
	for _, q := range p.Questions {
		ids[q.ID] = true
		asked := mail.AskedQuestion{Header: q.Header, Text: q.Question, Secret: q.Secret,
			Free: q.Other || len(q.Options) == 0}
		for _, o := range q.Options {
			asked.Options = append(asked.Options, mail.Choice{Label: o.Label, Note: o.Description})
		}
		r.Questions = append(r.Questions, asked)
	}
	if len(ids) != len(p.Questions) {
		return true // answers could not be told apart
	}
	r.Offers = []mail.Offer{{Verdict: mail.SayAnswer}}
	r.reply = func(a *mail.DialogAnswer) any {
		type said struct {
			Answers []string `json:"answers"`
		}
		answers := make(map[string]said)
		for i, q := range p.Questions {
			answers[q.ID] = said{wordsOf(&a.Answers[i], len(q.Options) > 0)}
		}
		return struct {
			Answers map[string]said `json:"answers"`
		}{answers}
	}
	return true
}

// wordsOf is an answer as Codex's own dialog gives it.
func wordsOf(a *mail.QuestionAnswer, options bool) []string {
	out := slices.Clone(a.Labels)
	if len(out) == 0 && options {
		out = []string{"None of the above"}
	}
	if a.Words != "" {
		out = append(out, "user_note: "+a.Words)
	}
	return out
}

// elicited is the reply to what an MCP server wants to know, or Codex about one of its tools.
type elicited struct {
	Action  string `json:"action"`
	Content any    `json:"content"`
	Meta    any    `json:"_meta"`
}

// readElicitation reads a form of an MCP server, or whether one of its tools may be used.
func (r *request) readElicitation(params jsonx.Value) bool {
	var p struct {
		Server  string `json:"serverName"`
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Meta    struct {
			Kind    string      `json:"codex_approval_kind"`
			Tool    string      `json:"tool_name"`
			Params  jsonx.Value `json:"tool_params"`
			Persist []string    `json:"persist"`
		} `json:"_meta"`
		Schema jsonx.Value `json:"requestedSchema"`
	}
	if jsonx.UnmarshalLenient(params, &p) != nil {
		return false
	}
	var lasting []string // what each rule has Codex remember
	switch {
	case p.Mode == "form" && p.Meta.Kind == "mcp_tool_call" && empty(p.Schema):
		r.Kind, r.Tool = mail.AsksPermission, "mcp__"+p.Server+"__"+p.Meta.Tool
		r.Form, r.Text = mail.FormJSON, hook.Indented(p.Meta.Params)
		r.Offers = []mail.Offer{once}
		for _, to := range []struct{ name, writes string }{{"session", "this tool, until this session ends"},
			{"always", "this tool, always: config.toml of Codex"}} {
			if slices.Contains(p.Meta.Persist, to.name) {
				lasting = append(lasting, to.name)
				r.Offers = append(r.Offers, mail.Offer{Verdict: mail.SayAllow, Rule: len(lasting), Writes: to.writes,
					Session: to.name == "session"})
			}
		}
	case p.Mode == "form":
		r.Kind, r.Tool, r.Says = mail.AsksForm, "form of "+p.Server, p.Message
		if r.Form, r.Text = mail.FormJSON, hook.Indented(p.Schema); empty(p.Schema) {
			r.Offers = []mail.Offer{once}
		}
	case p.Mode == "url":
		r.Kind, r.Tool, r.Says, r.Form, r.Text = mail.AsksForm, "form of "+p.Server, p.Message, mail.FormURL, p.URL
	default:
		r.Kind, r.Tool, r.Says, r.Form = mail.AsksForm, "form of "+p.Server, p.Message, mail.FormJSON
		r.Text = hook.Indented(params)
		return true
	}
	r.Offers = append(r.Offers, refuse)
	r.reply = func(a *mail.DialogAnswer) any {
		switch {
		case a.Verdict == mail.SayDeny:
			return elicited{Action: decline}
		case a.Rule > 0:
			return elicited{accept, struct{}{}, map[string]string{"persist": lasting[a.Rule-1]}}
		}
		return elicited{accept, struct{}{}, nil}
	}
	return true
}

// empty reports whether a schema is that of a form in which there is nothing to fill in.
func empty(schema jsonx.Value) bool {
	var s struct {
		Type       string                 `json:"type"`
		Properties map[string]jsonx.Value `json:"properties"`
		Required   []string               `json:"required"`
	}
	return jsonx.UnmarshalLenient(schema, &s) == nil && s.Type == "object" && len(s.Properties) == 0 &&
		len(s.Required) == 0
}
