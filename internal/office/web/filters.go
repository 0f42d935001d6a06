package web

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// filters are the conditions that the address of the page names.
type filters map[string]string

// filterNames are the filters in their order, with what a person calls them.
var filterNames = []struct{ name, label string }{
	{"q", "text"}, {"type", "type"}, {"agent", "agent"}, {"from", "from"}, {"to", "to"}, {"issue", "issue"},
	{"state", "state"},
	{"since", "since"}, {"until", "until"}, {"thread", "thread"}, {"archive", "with the archive"},
}

func filtersOf(q url.Values) filters {
	f := make(filters)
	for _, n := range filterNames {
		if value := strings.TrimSpace(strings.Join(q[n.name], ",")); strings.Trim(value, ",") != "" {
			f[n.name] = value
		}
	}
	return f
}

func (f filters) without(name string) filters {
	out := make(filters)
	for n, value := range f {
		if n != name {
			out[n] = value
		}
	}
	return out
}

// address returns the part of an address that names the filters, and more.
func (f filters) address(more map[string]string) string {
	q := make(url.Values)
	for n, value := range f {
		q.Set(n, value)
	}
	for n, value := range more {
		q.Set(n, value)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// query returns what the filters ask of the room.
func (f filters) query(now time.Time) (mail.HistoryQuery, error) {
	q := mail.HistoryQuery{
		Search: f["q"], Agent: mail.Name(f["agent"]), From: f["from"], To: f["to"], Issue: f["issue"],
		Thread: mail.ID(f["thread"]), Archive: f["archive"] != "",
	}
	for _, word := range words(f["type"]) {
		t, err := mail.ParseType(word)
		if err != nil {
			return q, err
		}
		q.Types = append(q.Types, t)
	}
	for _, word := range words(f["state"]) {
		s, err := mail.ParseDeliveryState(word)
		if err != nil {
			return q, err
		}
		q.States = append(q.States, s)
	}
	var err error
	if q.Since, err = parseWhen(f["since"], now, false); err != nil {
		return q, err
	}
	q.Until, err = parseWhen(f["until"], now, true)
	return q, err
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// parseWhen reads a time, a day, or how long ago. "" is no time. As an end, a day ends with its last moment.
func parseWhen(text string, now time.Time, end bool) (mail.Time, error) {
	if text == "" {
		return 0, nil
	}
	if t, err := mail.ParseTime(text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		return mail.TimeOf(t), nil
	}
	if t, ok := localTime(text, now); ok {
		return t, nil
	}
	if d, ok := span(text); ok {
		return mail.TimeOf(now.Add(-d)), nil
	}
	return 0, mail.Errorf(mail.Invalid, "%q is not a time: write it like 2026-05-10, 2026-05-10 14:00, or 2h for "+
		"two hours ago (m, h, d and w are known)", text)
}

// span reads a length of time: "30m", "2h", "7d", "1w".
func span(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
	unit := units[text[len(text)-1]]
	d := time.Duration(n) * unit
	return d, err == nil && unit != 0 && d/unit == time.Duration(n) // more than 290 years do not fit
}
