package hook

import (
	"maps"
	"slices"
	"strconv"

	"pennypost/internal/mail"
)

// formCopilotAsks is a form with questions, as Copilot's tool ask_user builds it, with the schemas of MCP elicitations
// (modelcontextprotocol.io, 2025-11-25).
type formCopilotAsks struct {
	Message string `json:"message"`
	Schema  struct {
		Properties map[string]field `json:"properties"`
	} `json:"requestedSchema"`
}

// field is a member of such a form.
type field struct {
	Type  string   `json:"type"`
	Title string   `json:"title"`
	About string   `json:"description"`
	Enum  []string `json:"enum"`
	Names []string `json:"enumNames"`
	OneOf []choice `json:"oneOf"`
	Items struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
}

type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// names returns the names of the form's members, in the order in which they are asked.
func (f *formCopilotAsks) names() []string { return slices.Sorted(maps.Keys(f.Schema.Properties)) }

// questions returns the questions of a form; none if it has an unknown member.
func (f *formCopilotAsks) questions() (list []mail.AskedQuestion) {
	names := f.names()
	for _, name := range names {
		p := f.Schema.Properties[name]
		q := mail.AskedQuestion{Header: p.Title, Text: f.Message, Several: p.Type == "array"}
		if q.Header == "" {
			q.Header = name
		}
		if len(names) > 1 || f.Message == "" {
			q.Text = q.Header
		}
		if p.About != "" {
			q.Text += "\n" + p.About
		}
		for _, c := range p.choices() {
			q.Options = append(q.Options, mail.Choice{Label: c.Title})
		}
		switch {
		case len(q.Options) > 0:
		case p.Type == "string", p.Type == "number", p.Type == "integer":
			q.Free = true
		default:
			return nil
		}
		list = append(list, q)
	}
	return list
}

// choices returns the values that a member may have; none: it has no list of them.
func (p *field) choices() (list []choice) {
	if p.Type == "boolean" {
		return []choice{{"true", "Yes"}, {"false", "No"}}
	}
	list = slices.Concat(p.OneOf, p.Items.AnyOf)
	for i, value := range slices.Concat(p.Enum, p.Items.Enum) {
		title := value
		if i < len(p.Names) {
			title = p.Names[i]
		}
		list = append(list, choice{value, title})
	}
	return list
}

// content returns the filled-in form; nil if an answer does not fit.
func (f *formCopilotAsks) content(a *mail.DialogAnswer) map[string]any {
	out := make(map[string]any)
	for i, name := range f.names() {
		p := f.Schema.Properties[name]
		value := p.value(a.Answers[i])
		if value == nil {
			return nil
		}
		out[name] = value
	}
	return out
}

// value returns the value of a member; nil: the answer does not fit.
func (p *field) value(a mail.QuestionAnswer) any {
	var values []string
	for _, c := range p.choices() {
		if slices.Contains(a.Labels, c.Title) {
			values = append(values, c.Const)
		}
	}
	switch {
	case p.Type == "array":
		return values
	case p.Type == "number", p.Type == "integer":
		n, err := strconv.ParseFloat(a.Words, 64)
		if err != nil || p.Type == "integer" && n != float64(int64(n)) {
			return nil
		}
		return n
	case len(values) == 0 && len(p.choices()) > 0:
		return nil
	case len(values) == 0:
		return a.Words
	case p.Type == "boolean":
		return values[0] == "true"
	}
	return values[0]
}
