package mail

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

const (
	maxOptions = 12  // more is a form to fill in, not a choice
	maxOption  = 500 // bytes per option
)

// Option is an answer that a question offers.
type Option struct {
	Answer string // the text to send
	Note   string // the asker's comment on it
}

// Options parses the member "options": a list of strings, or of objects with a label and an optional description,
// as in agents' own forms of questions. Anything else is ignored: the person can always write an answer.
func (m Metadata) Options() []Option {
	var members map[string]json.RawMessage
	var list []json.RawMessage
	if len(m) == 0 || json.Unmarshal(m, &members) != nil || json.Unmarshal(members["options"], &list) != nil {
		return nil
	}
	var out []Option
	for _, raw := range list {
		o, ok := readOption(raw)
		if ok && !slices.ContainsFunc(out, func(other Option) bool { return other.Answer == o.Answer }) {
			out = append(out, o)
		}
		if len(out) == maxOptions {
			break
		}
	}
	return out
}

// Without returns m without a member; nil if that was the only one. A value that is no object is returned
// unchanged.
func (m Metadata) Without(name string) Metadata {
	var members map[string]json.RawMessage
	if json.Unmarshal(m, &members) != nil || members[name] == nil {
		return m
	}
	if delete(members, name); len(members) == 0 {
		return nil
	}
	text, err := json.Marshal(members)
	if err != nil {
		return m
	}
	return text
}

func readOption(raw json.RawMessage) (Option, bool) {
	var o Option
	if json.Unmarshal(raw, &o.Answer) != nil {
		o = Option{Answer: Metadata(raw).Text("label"), Note: Metadata(raw).Text("description")}
	}
	visible := strings.ContainsFunc(o.Answer, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
	if !visible || len(o.Answer) > maxOption || strings.ContainsRune(o.Answer, 0) {
		return Option{}, false
	}
	if len(o.Note) > maxOption {
		o.Note = ""
	}
	return o, true
}
