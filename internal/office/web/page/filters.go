package page

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// Filters are the conditions that the address of the page names.
type Filters map[string]string

// FilterNames are the filters in their order, with what a person calls them.
var FilterNames = []struct{ Name, Label string }{
	{"q", "text"}, {"type", "type"}, {"agent", "agent"}, {"from", "from"}, {"to", "to"}, {"issue", "issue"},
	{"state", "state"},
	{"since", "since"}, {"until", "until"}, {"thread", "thread"}, {"archive", "with the archive"},
}

// FiltersOf reads the filters of an address. What is typed as text may name others.
func FiltersOf(q url.Values) Filters {
	f := make(Filters)
	for _, n := range FilterNames {
		if value := strings.TrimSpace(strings.Join(q[n.Name], ",")); strings.Trim(value, ",") != "" {
			f[n.Name] = value
		}
	}
	f.takeWords()
	return f
}

// typed are the parts of a search: words and phrases, some behind the name of a filter.
var typed = regexp.MustCompile(`(?:[A-Za-z]+:)?"[^"]*"|\S+`)

// takeWords makes filters of the words in the text that name them: from:, to:, agent:, type:, issue:, since:, until:
// and on: with what is meant behind the colon, and today and yesterday alone. In double quotes all of them are text.
func (f Filters) takeWords() {
	text := typed.ReplaceAllStringFunc(f["q"], func(word string) string {
		name, value, named := strings.Cut(word, ":")
		value = strings.Trim(value, `"`)
		switch name = strings.ToLower(name); {
		case !named && (name == "today" || name == "yesterday"):
			f["since"], f["until"] = name, name
		case name == "on" && value != "":
			f["since"], f["until"] = value, value
		case value != "" && slices.Contains([]string{"from", "to", "agent", "type", "issue", "since", "until"}, name):
			f[name] = value
		default:
			return word
		}
		return ""
	})
	if delete(f, "q"); strings.TrimSpace(text) != "" {
		f["q"] = strings.TrimSpace(text)
	}
}

// Without returns all of them but one.
func (f Filters) Without(name string) Filters {
	out := make(Filters)
	for n, value := range f {
		if n != name {
			out[n] = value
		}
	}
	return out
}

// Href returns the address of the history, or of its path, with these filters and more: keys and values.
func (f Filters) Href(path string, more ...string) string {
	for _, n := range slices.Sorted(maps.Keys(f)) {
		path = Query(path, n, f[n])
	}
	return Address(path, more...)
}

// Query returns what the filters ask of the room.
func (f Filters) Query(now time.Time) (mail.HistoryQuery, error) {
	q := mail.HistoryQuery{
		Search: f["q"], Agent: mail.Name(f["agent"]), From: f["from"], To: f["to"], Issue: f["issue"],
		Thread: mail.ID(f["thread"]), Archive: f["archive"] != "",
	}
	var err error
	if q.Types, err = parsed(f["type"], mail.ParseType); err != nil {
		return q, err
	}
	if q.States, err = parsed(f["state"], mail.ParseDeliveryState); err != nil {
		return q, err
	}
	if q.Since, err = mail.ParseWhen(f["since"], now, mail.Since); err != nil {
		return q, err
	}
	q.Until, err = mail.ParseWhen(f["until"], now, mail.Until)
	return q, err
}

// parsed reads a list with commas or spaces between.
func parsed[T any](list string, parse func(string) (T, error)) (out []T, err error) {
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		one, err := parse(word)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
