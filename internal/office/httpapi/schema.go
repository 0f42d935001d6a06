package httpapi

import (
	"reflect"
	"strings"

	"pennypost/internal/mail"
)

// schema is the part of JSON Schema 2020-12 that our types need.
type schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        string             `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	OneOf       []*schema          `json:"oneOf,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	// Closed is set on types that we read, where an unknown member is refused. Types that we write may grow.
	Closed *bool `json:"additionalProperties,omitempty"`
}

// schemas collects the schemas of named structs under #/components/schemas.
type schemas map[string]*schema

// of returns the schema of jsonx's output for a value of type t.
func (s schemas) of(t reflect.Type) *schema {
	if known := wellKnown(t); known != nil {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return &schema{Type: "array", Items: s.of(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &schema{Type: "integer"}
	case reflect.Uint64:
		return &schema{Type: "integer", Minimum: new(0)}
	case reflect.Struct:
		return s.structOf(t)
	}
	return &schema{Type: "string", Enum: enumOf(t)}
}

// wellKnown returns the schema of a type that encodes itself.
func wellKnown(t reflect.Type) *schema {
	switch t {
	case reflect.TypeFor[mail.Time]():
		return &schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[mail.Metadata]():
		return &schema{Type: "object"}
	case reflect.TypeFor[mail.Recipients]():
		one := &schema{Type: "string"}
		return &schema{OneOf: []*schema{one, {Type: "array", Items: one}}}
	}
	return nil
}

func (s schemas) structOf(t reflect.Type) *schema {
	name := nameOf(t)
	ref := &schema{Ref: "#/components/schemas/" + name}
	if strings.HasPrefix(t.Name(), "optional[") {
		return &schema{OneOf: []*schema{s.of(t.Field(0).Type), {Type: "null"}}}
	}
	if s[name] != nil {
		return ref
	}
	o := &schema{Type: "object", Properties: make(map[string]*schema)}
	s[name] = o
	s.fields(o, t)
	return ref
}

// fields adds the members of t, including those of embedded structs, as encoding/json/v2 sees them.
func (s schemas) fields(o *schema, t reflect.Type) {
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(o, f.Type)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		o.Properties[name] = s.of(f.Type)
		if !strings.Contains(opts, "omit") {
			o.Required = append(o.Required, name)
		}
	}
}

// nameOf returns the name of a struct's schema.
func nameOf(t reflect.Type) string {
	if t == reflect.TypeFor[mail.Problem]() {
		return "LineProblem" // HTTP's errors have the name Problem
	}
	return t.Name()
}

// close marks the schema of t as one that refuses unknown members. A map takes any.
func (s schemas) close(t reflect.Type) {
	if t.Kind() == reflect.Struct {
		s[nameOf(t)].Closed = new(false)
	}
}

// enumOf lists the words of a named string type with few words.
func enumOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[mail.Type]():
		return words(mail.Types())
	case reflect.TypeFor[mail.State]():
		return words(mail.States())
	case reflect.TypeFor[mail.Mark]():
		return words([]mail.Mark{mail.MarkNotified, mail.MarkTold, mail.MarkUntold, mail.MarkPresented, mail.MarkRead,
			mail.MarkUnread, mail.MarkArchived, mail.MarkUnarchived, mail.MarkSnoozed})
	case reflect.TypeFor[mail.DeliveryState]():
		return append(words(mail.DeliveryStates()), string(mail.NotSent), string(mail.KeptHere))
	case reflect.TypeFor[mail.Code]():
		return words(
			[]mail.Code{
				mail.Invalid,
				mail.NotFound,
				mail.Denied,
				mail.Unconfirmed,
				mail.Unknown,
				mail.Conflict,
				mail.TooLarge,
				mail.Limited,
				mail.Timeout,
				mail.Unavailable,
				mail.Internal,
			},
		)
	}
	return nil
}

func words[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
