package jsonl

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// needsHead begins what a line says, directly behind its time, by which a newer Pennypost keeps older ones out: what
// else it writes would be misread by whoever does not know it. What an older one may pass over is written without.
const needsHead = `,"needs":{`

// machineKeys is the feature of a room of which only that counts which one of its machines has signed: a version that
// signs nothing would show what counts nowhere else, its own mail first.
const machineKeys = "machine-keys"

// knows are the features that a journal may need of this version.
var knows = []string{machineKeys}

// needs is what such a line says.
type needs struct {
	Features []string `json:"features"`
	By       string   `json:"by"` // the version that wrote it
}

// needsOf returns what a line needs that this version does not know, nil if there is nothing.
func needsOf(covered []byte) *needs {
	var line struct {
		Needs needs `json:"needs"`
	}
	if err := jsonx.UnmarshalLenient(closeObject(bytes.Clone(covered)), &line); err != nil {
		return &needs{Features: []string{"something"}} // said in a way that is newer still
	}
	n := line.Needs
	n.Features = slices.DeleteFunc(n.Features, func(f string) bool { return slices.Contains(knows, f) })
	if len(n.Features) == 0 {
		return nil
	}
	return &n
}

// Newer returns why what text says must not be placed in a Copy, nil if it may be: in it a newer Pennypost says what
// one must know to read whole, which is where it comes from, in words for people.
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

// refuse is the refusal of a journal that a newer version wrote. Nothing was changed by then.
func (n *needs) refuse(whole string) error {
	return mail.Errorf(mail.Conflict, "%s was written by a newer Pennypost, %s, and this one does not "+
		"know %s, without which it would be misread. Nothing was changed. Install the newer one by pennypost update; "+
		"or, if you have just gone back from it, by pennypost update --back", whole,
		cmp.Or(n.By, "which does not say its version"), strings.Join(n.Features, ", "))
}
