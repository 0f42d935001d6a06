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

// Filters are the filters in a page's address.
type Filters map[string]string

// FilterNames are the filters in order, with their labels.
var FilterNames = []struct{ Name, Label string }{
	{"q", "text"}, {"type", "type"}, {"agent", "agent"}, {"from", "from"}, {"to", "to"}, {"issue", "issue"},
	{"state", "state"},
	{"since", "since"}, {"until", "until"}, {"thread", "thread"}, {"archive", "with the archive"},
}

// FiltersOf parses the filters of a query. The search text may contain more.
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

// typed matches the parts of a search: words and phrases, optionally after a filter's name.
var typed = regexp.MustCompile(`(?:[A-Za-z]+:)?"[^"]*"|\S+`)

// takeWords moves words of the text that name filters into those: from:, to:, agent:, type:, issue:, since:, until:
// and on: with a value, and today and yesterday by themselves. Double quotes keep them as text.
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

// Without returns the filters except one.
func (f Filters) Without(name string) Filters {
	out := make(Filters)
	for n, value := range f {
		if n != name {
			out[n] = value
		}
	}
	return out
}

// Href returns a path with these filters and more keys and values in its query.
func (f Filters) Href(path string, more ...string) string {
	for _, n := range slices.Sorted(maps.Keys(f)) {
		path = Query(path, n, f[n])
	}
	return Address(path, more...)
}

// Query converts the filters into a query of the room.
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

// parsed parses a list separated by commas or spaces.
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
