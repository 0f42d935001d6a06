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

// request is a request of the server to its person.
type request struct {
	hook.Asked             // as shown on the desk
	id         jsonx.Value // the server's id of it
	item       string      // the id of the turn's item, which is the tool call; "": the server does not say
	// reply turns a fitting answer into the server's format; nil: it has no such format.
	reply func(*mail.DialogAnswer) any

	card   mail.ID
	shown  string             // the question shown to the person, as Held.Shown has it
	leave  context.CancelFunc // ends the wait for the person; nil: there is no wait
	sent   mail.Verdict       // the person's verdict sent to the server; "": none
	missed time.Time          // since when it is missing from the desk while still open

	over     time.Time // since when it is known to be over; zero: it is open
	resolved bool      // the server has an answer, from us or another client
	done     bool      // its item is completed
	declined bool      // because the answer was no
}

// readRequest parses a request; nil: it is not shown here.
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

// bound limits the request to the sizes that the desk and the room accept. A request that is not shown exactly cannot
// be allowed.
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

// shorten makes a text valid UTF-8, and cuts it to most bytes.
func (r *request) shorten(text *string, most int) {
	is := mail.Begins(strings.ToValidUTF8(*text, "\uFFFD"), most)
	r.Cut, *text = r.Cut || is != *text, is
}

// complete gives a dialog on the desk the contents of the request, instead of those from a hook.
func (r *request) complete(h *hook.Held) {
	use, worker, who := h.Use, h.Worker, h.Who
	id, since, doubt := h.ID, h.Since, h.Doubt
	h.Asked = r.Asked
	h.ID, h.Since, h.Doubt, h.Worker, h.Who = id, since, doubt, worker, who
	if h.Use == "" {
		h.Use = use
	}
}

// answer returns the person's answer in the server's format, if it fits the question on the desk.
func (r *request) answer(a *mail.DialogAnswer) any {
	if r.reply == nil || r.Fits(a) != nil {
		return nil
	}
	return r.reply(a)
}

// tells reports whether the server may report that the request was declined.
func (r *request) tells() bool { return r.item != "" && r.Kind == mail.AsksPermission }

// patience is how long the server may take to report the outcome.
func (r *request) patience() time.Duration {
	if r.sent != "" && !r.denies() {
		return saidTime
	}
	return toldTime
}

// denies reports whether we sent a refusal whose effect the server reports.
func (r *request) denies() bool { return r.sent == mail.SayDeny && r.tells() }

// took reports whether our answer decided the request, as far as the server tells: another one may have been faster.
// An allowed action may run for hours before it completes; a declined one completes immediately.
func (r *request) took() bool {
	switch {
	case r.sent == "" || !r.resolved:
		return false
	case r.denies():
		return r.done && r.declined
	}
	return !r.done || r.declined == (r.sent == mail.SayDeny)
}

// how returns the outcome.
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

// The answers that Codex accepts. A refusal has no text.
var (
	once   = mail.Offer{Verdict: mail.SayAllow}
	refuse = mail.Offer{Verdict: mail.SayDeny, Writes: "Codex accepts no text with an answer: send the text as mail"}
)

// decision is the reply to an approval request.
type decision struct {
	Decision any `json:"decision"`
}

const (
	accept  = "accept"
	session = "acceptForSession"
	decline = "decline"
)

// readCommand parses a request to run a command.
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
		// The person sees everything, and allows it in the client, which explains it.
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

// commandOffers returns the answers to a command request from those that the client shows.
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

// quoted puts each word in quotation marks.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, " ")
}

// change is a change of a file.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		Move string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// readPatch parses a request to change files. Only the item sent to the thread's listeners names them.
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
	if given(p.Root) { // this grants more than these changes
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

// patch shows file changes in the format that models write.
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

// onLine returns a file's path on one line.
func onLine(p string) string {
	if strings.ContainsFunc(p, unicode.IsControl) {
		return strconv.Quote(p)
	}
	return p
}

// readPermissions parses a request for more permissions. It is answered in the terminal.
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

// readQuestions parses questions with options.
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
		return true // the answers would be ambiguous
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

// wordsOf returns an answer in the format of Codex's own dialog.
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

// elicited is the reply to a question from an MCP server, or from Codex about one of its tools.
type elicited struct {
	Action  string `json:"action"`
	Content any    `json:"content"`
	Meta    any    `json:"_meta"`
}

// readElicitation parses a form from an MCP server, or a request to use one of its tools.
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
	var lasting []string // the value of persist for each rule
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

// empty reports whether a schema describes a form without fields.
func empty(schema jsonx.Value) bool {
	var s struct {
		Type       string                 `json:"type"`
		Properties map[string]jsonx.Value `json:"properties"`
		Required   []string               `json:"required"`
	}
	return jsonx.UnmarshalLenient(schema, &s) == nil && s.Type == "object" && len(s.Properties) == 0 &&
		len(s.Required) == 0
}
