package httpapi

import (
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// kind describes how the text of a parameter is read, and how OpenAPI documents it.
type kind struct {
	parse  func(string) (any, error)
	schema *schema
}

// fill sets the given fields of a struct.
func fill(given map[string]any, in reflect.Value) {
	for _, p := range wire.Params(in.Type()) {
		if v, ok := given[p.Name]; ok {
			f := in.FieldByIndex(p.Index)
			if f.Kind() == reflect.Pointer {
				f.Set(reflect.New(p.Type))
				f = f.Elem()
			}
			f.Set(reflect.ValueOf(v))
		}
	}
}

// parseQuery reads a raw query, which may have only the parameters in known, each at most once.
func parseQuery(raw string, known []wire.Param) (map[string]any, error) {
	if raw == "" {
		return nil, nil
	}
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, mail.Errorf(mail.Invalid,
			"invalid query in the URL: write name=value pairs joined by '&', percent-encoded")
	}
	q := make(map[string]any, len(given))
	for name, values := range given {
		i := slices.IndexFunc(known, func(p wire.Param) bool { return p.Name == name })
		switch {
		case i < 0:
			return nil, mail.Errorf(mail.Invalid, "unknown query parameter %q; %s",
				strings.ToValidUTF8(name, "\uFFFD"), takes(known))
		case len(values) > 1:
			return nil, mail.Errorf(mail.Invalid, "the query parameter %s is given %d times; it is allowed "+
				"once", name,
				len(values))
		case !utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0):
			return nil, mail.Errorf(mail.Invalid,
				"the query parameter %s is not percent-encoded UTF-8 text without NUL", name)
		}
		if q[name], err = paramKind(known[i].Type).parse(values[0]); err != nil {
			return nil, mail.Errorf(mail.Invalid, "invalid query parameter %s: %s", name, err.Error())
		}
	}
	return q, nil
}

func takes(known []wire.Param) string {
	if len(known) == 0 {
		return "this route accepts none"
	}
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.Name
	}
	return "this route accepts " + strings.Join(names, ", ")
}

// paramKind returns the kind of a parameter whose field has type t.
func paramKind(t reflect.Type) kind {
	switch t {
	case reflect.TypeFor[mail.ID]():
		return kind{parser(mail.ParseID), &schema{Type: "string"}}
	case reflect.TypeFor[bool]():
		return kind{parser(parseFlag), &schema{Type: "boolean"}}
	case reflect.TypeFor[int]():
		return kind{parser(parseCount), &schema{Type: "integer", Minimum: new(0)}}
	case reflect.TypeFor[mail.Seq]():
		return kind{parser(parseSeq), &schema{Type: "integer", Minimum: new(0)}}
	case reflect.TypeFor[mail.Time]():
		return kind{parser(mail.ParseTime), &schema{Type: "string", Format: "date-time"}}
	case reflect.TypeFor[mail.Place]():
		return kind{parser(mail.ParsePlace), &schema{Type: "string", Enum: []string{string(mail.InInbox),
			string(mail.InSnoozed), string(mail.InArchived)}}}
	case reflect.TypeFor[time.Duration]():
		return kind{parser(parseWait), &schema{Type: "string", Description: "seconds, or a number with unit such as " +
			"90s or 10m; at most " + maxWait.String()}}
	case reflect.TypeFor[mail.DeskPart]():
		return kind{parser(mail.ParseDeskPart), &schema{Type: "string", Enum: []string{"", string(mail.NeedsYou),
			string(mail.Updates)}}}
	case reflect.TypeFor[mail.FleetPart]():
		return kind{parser(mail.ParseFleetPart), &schema{Type: "string", Enum: []string{"",
			string(mail.FleetAgents), string(mail.FleetStuck), string(mail.FleetWaiting),
			string(mail.FleetClaims), string(mail.FleetAll)}}}
	case reflect.TypeFor[[]mail.RoomName]():
		return listKind("room", mail.ParseRoom)
	case reflect.TypeFor[[]mail.RoomPlace]():
		return listKind("position in a room", mail.ParseRoomPlace)
	case reflect.TypeFor[[]mail.Type]():
		return listKind("message type", mail.ParseType)
	case reflect.TypeFor[[]mail.DeliveryState]():
		return listKind("state of a delivery", mail.ParseDeliveryState)
	case reflect.TypeFor[[]mail.State]():
		return listKind("state of an agent", mail.ParseState)
	}
	text := func(s string) (any, error) { return reflect.ValueOf(s).Convert(t).Interface(), nil }
	return kind{text, &schema{Type: "string"}}
}

func parser[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(s string) (any, error) { return parse(s) }
}

func parseFlag(s string) (bool, error) {
	switch s {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, mail.Errorf(mail.Invalid, "%q is neither true nor false", s)
}

func parseCount(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, mail.Errorf(mail.Invalid, "%q is not a number from 0 to %d", s, math.MaxInt32)
	}
	return int(n), nil
}

func parseSeq(s string) (mail.Seq, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, mail.Errorf(mail.Invalid,
			"%q is not a sequence number; use a seq from an earlier answer, or 0 for the beginning", s)
	}
	return mail.Seq(n), nil
}

// listKind reads words joined by commas; what names each word.
func listKind[T any](what string, parseOne func(string) (T, error)) kind {
	parse := func(s string) (list []T, err error) {
		for word := range strings.SplitSeq(s, ",") {
			if word == "" {
				return nil, mail.Errorf(mail.Invalid, "write at least one %s, joined by commas", what)
			}
			one, err := parseOne(word)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	return kind{parser(parse), &schema{Type: "string", Description: "at least one " + what + ", joined by commas"}}
}

// parseWait reads "90", which is seconds, and "1m30s".
func parseWait(s string) (time.Duration, error) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		s = strconv.FormatUint(n, 10) + "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxWait {
		return 0, mail.Errorf(mail.Invalid, "%q is not a time from 0 to %s; write 90 or 90s or 1m30s", s, maxWait)
	}
	return d, nil
}
