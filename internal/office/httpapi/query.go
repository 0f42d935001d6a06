package httpapi

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// param is a query parameter of a route.
type param struct {
	name  string
	kind  kind
	about string
}

// kind says how the text of a parameter is read, and how OpenAPI describes it.
type kind struct {
	parse  func(string) (any, error)
	schema *schema
}

// query holds the parameters that were given, parsed.
type query map[string]any

// get returns a parameter, or the zero value if it was not given.
func get[T any](q query, name string) T {
	v, _ := q[name].(T)
	return v
}

// parseQuery reads a raw query, in which only the parameters in known may stand, each once.
func parseQuery(raw string, known []param) (query, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, mail.Errorf(mail.Invalid,
			"the query of the URL cannot be read: write name=value pairs joined by '&', percent-encoded")
	}
	q := make(query, len(given))
	for name, values := range given {
		p := find(known, name)
		switch {
		case p == nil:
			return nil, mail.Errorf(mail.Invalid, "unknown query parameter %q; %s",
				strings.ToValidUTF8(name, "\uFFFD"), takes(known))
		case len(values) > 1:
			return nil, mail.Errorf(mail.Invalid, "the query parameter %s is given %d times; give it once", name,
				len(values))
		case !utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0):
			return nil, mail.Errorf(mail.Invalid,
				"the query parameter %s is not percent-encoded UTF-8 text without NUL", name)
		}
		if q[name], err = p.kind.parse(values[0]); err != nil {
			return nil, mail.Errorf(mail.Invalid, "the query parameter %s is wrong: %s", name, err.Error())
		}
	}
	return q, nil
}

func find(known []param, name string) *param {
	for i := range known {
		if known[i].name == name {
			return &known[i]
		}
	}
	return nil
}

func takes(known []param) string {
	if len(known) == 0 {
		return "this route takes none"
	}
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	return "this route takes " + strings.Join(names, ", ")
}

// The kinds of parameter.

func textKind() kind {
	return kind{func(s string) (any, error) { return s, nil }, &schema{Type: "string"}}
}

func nameKind() kind {
	return kind{func(s string) (any, error) { return mail.Name(s), nil }, &schema{Type: "string"}}
}

func idKind() kind {
	parse := func(s string) (any, error) { return mail.ParseID(s) }
	return kind{parse, &schema{Type: "string"}}
}

func flagKind() kind {
	parse := func(s string) (any, error) {
		switch s {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, mail.Errorf(mail.Invalid, "%q is neither true nor false", s)
	}
	return kind{parse, &schema{Type: "boolean"}}
}

func countKind() kind {
	parse := func(s string) (any, error) {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return nil, mail.Errorf(mail.Invalid, "%q is not a number from 0 to %d", s, math.MaxInt32)
		}
		return int(n), nil
	}
	return kind{parse, &schema{Type: "integer", Minimum: new(0)}}
}

func seqKind() kind {
	parse := func(s string) (any, error) { return parseSeq(s) }
	return kind{parse, &schema{Type: "integer", Minimum: new(0)}}
}

func parseSeq(s string) (mail.Seq, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, mail.Errorf(mail.Invalid,
			"%q is not a place in the journal; use a seq that was answered before, or 0 for the beginning", s)
	}
	return mail.Seq(n), nil
}

func timeKind() kind {
	parse := func(s string) (any, error) { return mail.ParseTime(s) }
	return kind{parse, &schema{Type: "string", Format: "date-time"}}
}

func typesKind() kind { return listKind("message type", mail.ParseType) }

func statesKind() kind { return listKind("state of a delivery", mail.ParseDeliveryState) }

// listKind reads words joined by commas, each of which is a what.
func listKind[T any](what string, parseOne func(string) (T, error)) kind {
	parse := func(s string) (any, error) {
		var list []T
		for word := range strings.SplitSeq(s, ",") {
			if word == "" {
				return nil, mail.Errorf(mail.Invalid, "write one %s or more, joined by commas", what)
			}
			one, err := parseOne(word)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	return kind{parse, &schema{Type: "string", Description: "one " + what + " or more, joined by commas"}}
}

func placeKind() kind {
	parse := func(s string) (any, error) { return mail.ParsePlace(s) }
	return kind{parse, &schema{Type: "string", Enum: []string{string(mail.InInbox), string(mail.InSnoozed),
		string(mail.InArchived)}}}
}

// durationKind reads "90", which is seconds, and "1m30s".
func durationKind(atMost time.Duration) kind {
	parse := func(s string) (any, error) {
		if n, err := strconv.ParseUint(s, 10, 31); err == nil {
			s = strconv.FormatUint(n, 10) + "s"
		}
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > atMost {
			return nil, mail.Errorf(mail.Invalid, "%q is not a time from 0 to %s; write 90 or 90s or 1m30s", s, atMost)
		}
		return d, nil
	}
	return kind{parse, &schema{Type: "string",
		Description: "seconds, or a number with unit such as 90s or 10m; at most " + atMost.String()}}
}
