package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// parse reads config.toml. Every error names the file and the line, and uses the terms key and section.
func (c *Config) parse(text []byte) error {
	text, err := plainText(c.Home.File(), text)
	if err != nil {
		return err
	}
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(c)
	if err == nil {
		return c.bareSpan(text)
	}
	var lines []string
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for _, e := range strict.Errors {
			lines = append(lines, c.unknownKey(&e))
		}
		return mail.Errorf(mail.Invalid, "%s", strings.Join(lines, "\n"))
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, col := e.Position()
		return mail.Errorf(mail.Invalid, "%s:%d:%d: %s", c.Home.File(), row, col, wrongKind(e))
	}
	return mail.Errorf(mail.Invalid, "%s: %s", c.Home.File(), strings.TrimPrefix(err.Error(), "toml: "))
}

// wrongKind names a key whose value has the wrong type, and says what to write; otherwise it returns the parser's
// message.
func wrongKind(e *toml.DecodeError) string {
	said := strings.TrimPrefix(e.Error(), "toml: ")
	at := typeAt(e.Key())
	kind, mismatch := strings.CutPrefix(said, "cannot decode TOML ")
	kind, _, _ = strings.Cut(kind, " into ")
	switch {
	case strings.HasPrefix(said, "cannot store an array table"):
		kind, mismatch = "list of sections", true
	case strings.HasPrefix(said, "cannot store a table"):
		kind, mismatch = "table", true
	}
	if !mismatch || at == nil {
		return said
	}
	has := map[string]string{"string": "a string", "integer": "a whole number", "float": "a decimal number",
		"boolean": "true or false", "array": "a list", "table": "a section", "inline table": "a section"}[kind]
	if has == "" {
		has = "a " + kind
	}
	name := strings.Join(e.Key(), ".")
	return name + " is " + has + " here; write " + takes(at, name)
}

// takes says what to write for a value of a type.
func takes(t reflect.Type, name string) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return `a string, like "10m" or "7d"`
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "a string"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "a section for each, [[" + name + "]]"
	case t.Kind() == reflect.Slice:
		return `a list, like ["…", "…"]`
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
		return "a section, [" + name + "]"
	case t.Kind() == reflect.String:
		return "a string"
	}
	return "a whole number"
}

// typeAt returns the type at a key; nil if there is no such key.
func typeAt(key []string) reflect.Type {
	t := reflect.TypeFor[Config]()
	for _, word := range key {
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			var found reflect.Type
			for _, f := range reflect.VisibleFields(t) {
				if f.Tag.Get("toml") == word && word != "-" {
					found = f.Type
				}
			}
			if t = found; t == nil {
				return nil
			}
		default:
			return nil
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// bareSpan refuses a number as a span of time: the decoder would read it as nanoseconds, which is never intended.
func (c *Config) bareSpan(text []byte) error {
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		return err
	}
	var find func(key []string, said any) []string
	find = func(key []string, said any) []string {
		switch v := said.(type) {
		case map[string]any:
			for word, below := range v {
				if found := find(append(slices.Clone(key), word), below); found != nil {
					return found
				}
			}
		case int64:
			if typeAt(key) == reflect.TypeFor[Duration]() {
				return key
			}
		}
		return nil
	}
	if key := find(nil, all); key != nil {
		name := strings.Join(key, ".")
		return mail.Errorf(mail.Invalid, "%s: %s is a whole number here; write %s", c.Home.File(), name,
			takes(reflect.TypeFor[Duration](), name))
	}
	return nil
}

// unknownKey says that a key or section does not exist, and suggests a similar one.
func (c *Config) unknownKey(e *toml.DecodeError) string {
	row, col := e.Position()
	place := fmt.Sprintf("%s:%d:%d: ", c.Home.File(), row, col)
	k := slices.Clone(e.Key()) // below [rooms.x] the keys are those of [room]
	var room []string
	if len(k) > 2 && k[0] == "rooms" {
		room, k = k[:2], append([]string{"room"}, k[2:]...)
	}
	if len(k) == 4 && k[1] == "wake" {
		k = append(slices.Clone(k[:2]), anyone, k[3])
	}
	asked, all := strings.Join(k, "."), keys(reflect.TypeFor[Config](), "")
	if near := nearSection(k, all); near != "" {
		if room != nil {
			near = strings.Join(room, ".") + strings.TrimPrefix(near, "room")
		}
		return place + fmt.Sprintf("there is no section [%s]; did you mean [%s]?", strings.Join(e.Key(), "."), near)
	}
	said := place + fmt.Sprintf("there is no key %q", strings.Join(e.Key(), "."))
	if near := policy.Nearest(asked, all, 1); len(near) > 0 {
		return said + "; did you mean " + near[0] + "?"
	}
	return said + "; to see all keys: pennypost config print"
}

// nearSection returns the section that the nonexistent k probably means; "" if k is more similar to a key at the same
// level.
func nearSection(k, keys []string) string {
	above := strings.Join(k[:len(k)-1], ".")
	if above != "" {
		above += "."
	}
	var sections, words []string
	for _, key := range keys {
		rest, below := strings.CutPrefix(key, above)
		word, _, deeper := strings.Cut(rest, ".")
		switch {
		case !below:
		case deeper && !slices.Contains(sections, word):
			sections = append(sections, word)
		case !deeper:
			words = append(words, word)
		}
	}
	last := k[len(k)-1]
	near := policy.Nearest(last, append(slices.Clone(sections), words...), 1)
	if len(near) == 0 || !slices.Contains(sections, near[0]) || slices.Contains(words, near[0]) {
		return ""
	}
	return above + near[0]
}

// keys lists the dotted names of all keys of a section.
func keys(section reflect.Type, prefix string) []string {
	var out []string
	for f := range section.Fields() {
		name, t := f.Tag.Get("toml"), f.Type
		if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			t = t.Elem()
		}
		switch {
		case name == "-":
		case f.Anonymous:
			out = append(out, keys(t, prefix)...)
		case t.Kind() == reflect.Struct:
			out = append(out, keys(t, prefix+name+".")...)
		case t == reflect.TypeFor[map[string]Wake]():
			out = append(out, keys(t.Elem(), prefix+name+"."+anyone+".")...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}
