package jsonl

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// needsHead begins a member directly after the time of a line. With it a newer Pennypost keeps out older ones, which
// would misread its other lines. Lines that older versions may skip are written without it.
const needsHead = `,"needs":{`

// machineKeys is the feature of a room in which only events count that one of its machines has signed. A version that
// signs nothing would show events that count on no other machine, its own mail first.
const machineKeys = "machine-keys"

// knows are the features that this version has of those that a journal may require.
var knows = []string{machineKeys}

// needs is the value of that member.
type needs struct {
	Features []string `json:"features"`
	By       string   `json:"by"` // the version that wrote it
}

// needsOf returns the features that a line requires and this version lacks, nil if there are none.
func needsOf(covered []byte) *needs {
	var line struct {
		Needs needs `json:"needs"`
	}
	if err := jsonx.UnmarshalLenient(closeObject(bytes.Clone(covered)), &line); err != nil {
		return &needs{Features: []string{"something"}} // written in a still newer form
	}
	n := line.Needs
	n.Features = slices.DeleteFunc(n.Features, func(f string) bool { return slices.Contains(knows, f) })
	if len(n.Features) == 0 {
		return nil
	}
	return &n
}

// Newer returns the error for a text that must not be placed in a Copy, because a newer Pennypost requires features
// that this version lacks; otherwise nil. whole names the text's source to the person.
func Newer(text []byte, whole string) error {
	const at = len(atHead) + len(timeForm) + len(`"`)
	if len(text) < at || !bytes.HasPrefix(text[at:], []byte(needsHead)) {
		return nil
	}
	n := needsOf(text[:len(text)-1])
	if n == nil {
		return nil
	}
	return n.refuse(whole)
}

// refuse returns the error for a journal of a newer version. Nothing has been changed at that point.
func (n *needs) refuse(whole string) error {
	return mail.Errorf(mail.Conflict, "%s was written by a newer Pennypost (%s) and needs %s, which this version "+
		"does not support. Nothing was changed. Install the newer version: pennypost update. If you have just gone "+
		"back to this one, undo that: pennypost update --back", whole,
		cmp.Or(n.By, "unknown version"), strings.Join(n.Features, ", "))
}
