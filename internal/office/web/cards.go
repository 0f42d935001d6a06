package web

import (
	"slices"
	"strings"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

const (
	maxOptions = 12  // buttons on a card: more is a form to fill in, not a choice
	maxOption  = 500 // bytes of one
)

// option is an answer that a question offers.
type option struct {
	Answer string // what is sent
	Note   string // what the agent says of it
}

// options reads metadata.options: a list of texts, or of objects with a label and perhaps a description, as agents'
// own forms of questions have them. What is neither cannot be a button and is left out, and so is all that is no list:
// the person can always write.
func options(m mail.Metadata) []option {
	var members struct {
		Options []jsonx.Value `json:"options"`
	}
	if len(m) == 0 || jsonx.Unmarshal(m, &members) != nil {
		return nil
	}
	var out []option
	for _, raw := range members.Options {
		o, ok := readOption(raw)
		if ok && !slices.ContainsFunc(out, func(other option) bool { return other.Answer == o.Answer }) {
			out = append(out, o)
		}
		if len(out) == maxOptions {
			break
		}
	}
	return out
}

func readOption(raw jsonx.Value) (option, bool) {
	var o struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	}
	if jsonx.Unmarshal(raw, &o.Label) != nil && jsonx.Unmarshal(raw, &o) != nil {
		return option{}, false
	}
	visible := strings.ContainsFunc(o.Label, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
	if !visible || len(o.Label) > maxOption || strings.ContainsRune(o.Label, 0) {
		return option{}, false
	}
	if len(o.Description) > maxOption {
		o.Description = ""
	}
	return option{Answer: o.Label, Note: o.Description}, true
}
